/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a key file: PEM (RFC 7468) around the one DER encoding that
 * RFC 8410 has for an Ed25519 key. */
#ifndef BSM_SIGNING_KEY_TEXT_H_
#define BSM_SIGNING_KEY_TEXT_H_

#include <stdint.h>

#include "base/strings.h"

typedef enum bsm_key_kind { BSM_KEY_SECRET, BSM_KEY_PUBLIC } bsm_key_kind;

enum { BSM_KEY_PEM_BYTES = 256, BSM_KEY_TEXT_LIMIT = 4096 };
typedef struct bsm_key_pem {
  char data[BSM_KEY_PEM_BYTES]; /* ends with zero */
} bsm_key_pem;

/* BSM_CORRUPT: not the text of a key of that kind, or no valid public key. */
BSM_NODISCARD bsm_status bsm_key_parse(bsm_str text, bsm_key_kind kind,
                                       uint8_t out[32]);
void bsm_key_write(const uint8_t key[32], bsm_key_kind kind, bsm_key_pem *out);

#endif /* BSM_SIGNING_KEY_TEXT_H_ */
