/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic modulo 2^255 - 19. */
#include "trust/field25519.h"

#include <string.h>

#define LIMBS BSM_FE_LIMBS

void bsm_fe_add(bsm_fe *out, const bsm_fe *a, const bsm_fe *b) {
  for (int i = 0; i < LIMBS; i++) out->limb[i] = a->limb[i] + b->limb[i];
}

void bsm_fe_sub(bsm_fe *out, const bsm_fe *a, const bsm_fe *b) {
  for (int i = 0; i < LIMBS; i++) out->limb[i] = a->limb[i] - b->limb[i];
}

/* Leaves 16 bits in each limb; what is above the last is worth 38 times as
 * much at the first, as 2^256 = 38. The first limb may be too long, or
 * negative, for another turn or two. */
static void carry(bsm_fe *a) {
  for (int i = 0; i < LIMBS; i++) {
    const int64_t high =
        a->limb[i] >> 16; /* rounds down, as all compilers do */
    a->limb[i] -= high * 65536;
    if (i + 1 < LIMBS) {
      a->limb[i + 1] += high;
    } else {
      a->limb[0] += 38 * high;
    }
  }
}

void bsm_fe_mul(bsm_fe *out, const bsm_fe *a, const bsm_fe *b) {
  int64_t product[2 * LIMBS] = {0};
  for (int i = 0; i < LIMBS; i++) {
    for (int j = 0; j < LIMBS; j++) {
      product[i + j] += a->limb[i] * b->limb[j];
    }
  }
  for (int i = 0; i < LIMBS; i++) {
    out->limb[i] = product[i] + 38 * product[i + LIMBS];
  }
  carry(out);
  carry(out);
}

/* a^e, where e has ones at the bits 0 to `top`, but at those of `zeros`. */
static void power(bsm_fe *out, const bsm_fe *a, int top, uint32_t zeros) {
  bsm_fe result = *a; /* the bit at the top */
  for (int bit = top - 1; bit >= 0; bit--) {
    bsm_fe_mul(&result, &result, &result);
    if (bit >= 32 || !(zeros >> bit & 1)) bsm_fe_mul(&result, &result, a);
  }
  *out = result;
}

void bsm_fe_invert(bsm_fe *out, const bsm_fe *a) {
  power(out, a, 254, 1u << 2 | 1u << 4); /* 2^255 - 21 */
}

void bsm_fe_root_power(bsm_fe *out, const bsm_fe *a) {
  power(out, a, 251, 1u << 1); /* 2^252 - 3 */
}

void bsm_fe_swap(bsm_fe *a, bsm_fe *b, uint32_t bit) {
  const int64_t mask = -(int64_t)bit;
  for (int i = 0; i < LIMBS; i++) {
    const int64_t both = mask & (a->limb[i] ^ b->limb[i]);
    a->limb[i] ^= both;
    b->limb[i] ^= both;
  }
}

/* Subtracts p when the number, of 16 bits in each limb, is p or more. */
static void subtract_p(bsm_fe *a) {
  bsm_fe less;
  int64_t borrow = 0;
  for (int i = 0; i < LIMBS; i++) {
    const int64_t p = i == 0 ? 0xffed : i == LIMBS - 1 ? 0x7fff : 0xffff;
    const int64_t limb = a->limb[i] - p - borrow;
    borrow = limb >> 16 & 1;
    less.limb[i] = limb & 0xffff;
  }
  bsm_fe_swap(a, &less, (uint32_t)(1 - borrow));
}

void bsm_fe_encode(uint8_t out[32], const bsm_fe *a) {
  bsm_fe number = *a;
  for (int turn = 0; turn < 3; turn++) carry(&number);
  /* Below 2^256, which is 2 p + 38. */
  for (int turn = 0; turn < 3; turn++) subtract_p(&number);
  for (int i = 0; i < LIMBS; i++) {
    out[2 * i] = (uint8_t)number.limb[i];
    out[2 * i + 1] = (uint8_t)(number.limb[i] >> 8);
  }
}

void bsm_fe_decode(bsm_fe *out, const uint8_t bytes[32]) {
  for (int i = 0; i < LIMBS; i++) {
    out->limb[i] = bytes[2 * i] | bytes[2 * i + 1] << 8;
  }
  out->limb[LIMBS - 1] &= 0x7fff;
}

bool bsm_fe_equal(const bsm_fe *a, const bsm_fe *b) {
  uint8_t x[32], y[32];
  bsm_fe_encode(x, a);
  bsm_fe_encode(y, b);
  return memcmp(x, y, sizeof(x)) == 0;
}

uint32_t bsm_fe_is_odd(const bsm_fe *a) {
  uint8_t bytes[32];
  bsm_fe_encode(bytes, a);
  return bytes[0] & 1u;
}
