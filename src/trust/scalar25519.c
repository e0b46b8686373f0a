/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic modulo the order of Ed25519's base point, bit by bit: a signature
 * takes some 800 turns, which are nothing beside its points. */
#include "trust/scalar25519.h"

#include "base/secret.h"

enum { WORDS = 8 };

typedef struct number {
  uint32_t word[WORDS];
} number;

static const number order = {
    {0x5cf5d3ed, 0x5812631a, 0xa2f79cd6, 0x14def9de, 0, 0, 0, 0x10000000}};

/* a - L; returns 1 when a is below L, else 0. */
static uint32_t subtract_order(number *out, const number *a) {
  uint64_t borrow = 0;
  for (int i = 0; i < WORDS; i++) {
    const uint64_t word = (uint64_t)a->word[i] - order.word[i] - borrow;
    out->word[i] = (uint32_t)word;
    borrow = word >> 63;
  }
  return (uint32_t)borrow;
}

/* a + b modulo L, both below L, where b counts when `bit` is 1. */
static void add(number *a, const number *b, uint32_t bit) {
  number less;
  uint64_t carry = 0;
  for (int i = 0; i < WORDS; i++) {
    carry += (uint64_t)a->word[i] + (b->word[i] & (0u - bit));
    a->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  const uint32_t keep = 0u - subtract_order(&less, a);
  for (int i = 0; i < WORDS; i++) {
    a->word[i] = (a->word[i] & keep) | (less.word[i] & ~keep);
  }
}

static number load(const uint8_t bytes[32]) {
  number out = {{0}};
  for (int i = 0; i < 32; i++) {
    out.word[i / 4] |= (uint32_t)bytes[i] << 8 * (i % 4);
  }
  return out;
}

static void store(uint8_t out[32], const number *a) {
  for (int i = 0; i < 32; i++) {
    out[i] = (uint8_t)(a->word[i / 4] >> 8 * (i % 4));
  }
}

static uint32_t bit_of(const uint8_t *bytes, int bit) {
  return (uint32_t)bytes[bit / 8] >> bit % 8 & 1u;
}

void bsm_scalar_reduce(uint8_t out[32], const uint8_t wide[64]) {
  const number one = {{1}};
  number sum = {{0}};
  for (int bit = 511; bit >= 0; bit--) {
    const number twice = sum;
    add(&sum, &twice, 1);
    add(&sum, &one, bit_of(wide, bit));
  }
  store(out, &sum);
  bsm_secret_wipe(&sum, sizeof(sum));
}

void bsm_scalar_multiply_add(uint8_t out[32], const uint8_t a[32],
                             const uint8_t b[32], const uint8_t c[32]) {
  number factor = load(b), term = load(c), sum = {{0}};
  for (int bit = 255; bit >= 0; bit--) {
    const number twice = sum;
    add(&sum, &twice, 1);
    add(&sum, &factor, bit_of(a, bit));
  }
  add(&sum, &term, 1);
  store(out, &sum);
  bsm_secret_wipe(&factor, sizeof(factor));
  bsm_secret_wipe(&term, sizeof(term));
  bsm_secret_wipe(&sum, sizeof(sum));
}

bool bsm_scalar_is_reduced(const uint8_t scalar[32]) {
  number less;
  const number a = load(scalar);
  return subtract_order(&less, &a) == 1;
}
