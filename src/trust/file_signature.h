/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of engine files: what is hashed, and what is signed. */
#ifndef BSM_TRUST_FILE_SIGNATURE_H_
#define BSM_TRUST_FILE_SIGNATURE_H_

#include "base/file.h"
#include "engine/engine_file.h"

enum {
  BSM_FILE_DIGEST_BYTES = 64,
  BSM_SIGNED_BYTES = sizeof(BSM_SIGNED_PREFIX) - 1 + BSM_FILE_DIGEST_BYTES
};

/* BLAKE2b of the pieces, one after the other: the hash by which a file is
 * known. */
void bsm_file_digest(const bsm_file_piece *pieces, size_t count,
                     uint8_t out[BSM_FILE_DIGEST_BYTES]);
/* What is signed when these pieces are. */
void bsm_signed_message(const bsm_file_piece *pieces, size_t count,
                        uint8_t out[BSM_SIGNED_BYTES]);

/* Verifies the signature `end` that the file ends with.
 * BSM_UNTRUSTED: it is not one of these bytes. */
BSM_NODISCARD bsm_status bsm_signature_verify(const void *data, size_t size,
                                              const bsm_engine_signature *end);

/* A public key as messages print it: 64 digits. */
typedef struct bsm_key_digits {
  char text[65];
} bsm_key_digits;
bsm_key_digits bsm_key_digits_of(const uint8_t public_key[32]);

#endif /* BSM_TRUST_FILE_SIGNATURE_H_ */
