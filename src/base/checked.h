/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic for sizes and dimensions. Each returns false, and leaves
 * *out alone, when the result does not fit. */
#ifndef BSM_BASE_CHECKED_H_
#define BSM_BASE_CHECKED_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool bsm_size_add(size_t a, size_t b, size_t *out) {
  size_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

static inline bool bsm_size_mul(size_t a, size_t b, size_t *out) {
  size_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

/* Rounds up to a multiple of `alignment`, a power of two. */
static inline bool bsm_size_align(size_t a, size_t alignment, size_t *out) {
  size_t r;
  if (__builtin_add_overflow(a, alignment - 1, &r)) return false;
  *out = r & ~(alignment - 1);
  return true;
}

static inline bool bsm_i64_add(int64_t a, int64_t b, int64_t *out) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

static inline bool bsm_i64_sub(int64_t a, int64_t b, int64_t *out) {
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

static inline bool bsm_i64_mul(int64_t a, int64_t b, int64_t *out) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

/* The greatest common divisor of the magnitudes, 0 for two zeros. It fits but
 * for INT64_MIN and 0 or itself, which give INT64_MIN, as in PyTorch. */
static inline int64_t bsm_i64_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? (uint64_t)0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? (uint64_t)0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return (int64_t)x;
}

#endif /* BSM_BASE_CHECKED_H_ */
