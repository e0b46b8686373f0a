/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying engine files. */
#include "trust/file_signature.h"

#include <stdio.h>
#include <string.h>

#include "trust/blake2b.h"
#include "trust/ed25519.h"

void bsm_file_digest(const bsm_file_piece *pieces, size_t count,
                     uint8_t out[BSM_FILE_DIGEST_BYTES]) {
  bsm_blake2b hash;
  bsm_blake2b_init(&hash, BSM_FILE_DIGEST_BYTES, NULL, 0);
  for (size_t i = 0; i < count; i++) {
    bsm_blake2b_add(&hash, pieces[i].data, pieces[i].size);
  }
  bsm_blake2b_finish(&hash, out);
}

void bsm_signed_message(const bsm_file_piece *pieces, size_t count,
                        uint8_t out[BSM_SIGNED_BYTES]) {
  const size_t prefix = sizeof(BSM_SIGNED_PREFIX) - 1;
  memcpy(out, BSM_SIGNED_PREFIX, prefix);
  bsm_file_digest(pieces, count, out + prefix);
}

bsm_status bsm_signature_verify(const void *data, size_t size,
                                const bsm_engine_signature *end) {
  uint8_t message[BSM_SIGNED_BYTES];
  const bsm_file_piece before = {data, size - sizeof(end->signature)};
  bsm_signed_message(&before, 1, message);
  if (bsm_ed25519_verify(end->public_key, message, sizeof(message),
                         end->signature)) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNTRUSTED,
                  "its signature with the key %s is not one of this file, "
                  "which was changed since it was signed",
                  bsm_key_digits_of(end->public_key).text);
}

bsm_key_digits bsm_key_digits_of(const uint8_t public_key[32]) {
  bsm_key_digits out;
  for (int i = 0; i < 32; i++) {
    snprintf(out.text + 2 * i, 3, "%02x", public_key[i]);
  }
  return out;
}
