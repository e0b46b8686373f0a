/* SPDX-License-Identifier: Apache-2.0 */
/* BLAKE2b (RFC 7693): what whole files are hashed with, as it takes half the
 * time of SHA-512; `b2sum` computes it too. */
#ifndef BSM_TRUST_BLAKE2B_H_
#define BSM_TRUST_BLAKE2B_H_

#include <stddef.h>
#include <stdint.h>

enum { BSM_BLAKE2B_MAX_BYTES = 64, BSM_BLAKE2B_MAX_KEY = 64 };

typedef struct bsm_blake2b {
  uint64_t state[8];
  uint64_t size; /* bytes that were compressed */
  size_t used, length;
  uint8_t block[128];
} bsm_blake2b;

/* `length` bytes of hash, 1 to 64. With a key of 1 to 64 bytes, the hash is a
 * message authentication code. */
void bsm_blake2b_init(bsm_blake2b *hash, size_t length, const void *key,
                      size_t key_size);
void bsm_blake2b_add(bsm_blake2b *hash, const void *data, size_t size);
/* Also wipes the state. */
void bsm_blake2b_finish(bsm_blake2b *hash, uint8_t *out);

#endif /* BSM_TRUST_BLAKE2B_H_ */
