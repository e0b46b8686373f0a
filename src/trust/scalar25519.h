/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers modulo L = 2^252 + 27742317777372353535851937790883648493, the order
 * of Ed25519's base point, in constant time. */
#ifndef BSM_TRUST_SCALAR25519_H_
#define BSM_TRUST_SCALAR25519_H_

#include <stdbool.h>
#include <stdint.h>

/* 64 bytes, little-endian, modulo L. */
void bsm_scalar_reduce(uint8_t out[32], const uint8_t wide[64]);
/* a b + c modulo L, for any a, and b and c below L. */
void bsm_scalar_multiply_add(uint8_t out[32], const uint8_t a[32],
                             const uint8_t b[32], const uint8_t c[32]);
/* Whether the number is below L. */
bool bsm_scalar_is_reduced(const uint8_t scalar[32]);

#endif /* BSM_TRUST_SCALAR25519_H_ */
