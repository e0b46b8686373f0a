/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers modulo p = 2^255 - 19, in constant time: neither branches nor
 * addresses depend on values.
 *
 * Sixteen limbs of 16 bits, as in TweetNaCl (Bernstein et al.): products and
 * their sums fit 64 bits with much room, so that limbs may be negative or a few
 * bits too long, and only a product or an encoding brings them back. */
#ifndef BSM_TRUST_FIELD25519_H_
#define BSM_TRUST_FIELD25519_H_

#include <stdbool.h>
#include <stdint.h>

enum { BSM_FE_LIMBS = 16 };
typedef struct bsm_fe {
  int64_t limb[BSM_FE_LIMBS];
} bsm_fe;

/* The result may be an argument. Sums and differences are of results of
 * products, decodings or constants, or of one sum or difference of these. */
void bsm_fe_add(bsm_fe *out, const bsm_fe *a, const bsm_fe *b);
void bsm_fe_sub(bsm_fe *out, const bsm_fe *a, const bsm_fe *b);
void bsm_fe_mul(bsm_fe *out, const bsm_fe *a, const bsm_fe *b);
/* a^(p - 2): 1 / a, and 0 for 0. */
void bsm_fe_invert(bsm_fe *out, const bsm_fe *a);
/* a^((p - 5) / 8), of which square roots are made. */
void bsm_fe_root_power(bsm_fe *out, const bsm_fe *a);

/* Exchanges the two when `bit` is 1, not when it is 0. */
void bsm_fe_swap(bsm_fe *a, bsm_fe *b, uint32_t bit);

/* 32 bytes, little-endian. Encoding gives the number below p; decoding takes
 * any 255 bits and ignores the last bit. */
void bsm_fe_encode(uint8_t out[32], const bsm_fe *a);
void bsm_fe_decode(bsm_fe *out, const uint8_t bytes[32]);
bool bsm_fe_equal(const bsm_fe *a, const bsm_fe *b);
uint32_t bsm_fe_is_odd(const bsm_fe *a);

#endif /* BSM_TRUST_FIELD25519_H_ */
