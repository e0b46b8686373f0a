/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-512 (FIPS 180-4), which Ed25519 is defined with. */
#ifndef BSM_TRUST_SHA512_H_
#define BSM_TRUST_SHA512_H_

#include <stddef.h>
#include <stdint.h>

enum { BSM_SHA512_BYTES = 64 };

typedef struct bsm_sha512 {
  uint64_t state[8];
  uint64_t size;      /* bytes so far */
  uint8_t block[128]; /* the last of them that fill no block */
} bsm_sha512;

void bsm_sha512_init(bsm_sha512 *hash);
void bsm_sha512_add(bsm_sha512 *hash, const void *data, size_t size);
/* Also wipes the state. */
void bsm_sha512_finish(bsm_sha512 *hash, uint8_t out[BSM_SHA512_BYTES]);

#endif /* BSM_TRUST_SHA512_H_ */
