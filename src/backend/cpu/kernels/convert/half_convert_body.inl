/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions over the vocabulary of simd_<isa>.h. What is left of a row
 * goes through a buffer. BSM_K_SUFFIX: the instruction set. */
#include "backend/cpu/kernels/convert/half_convert.h"

#define ROUNDED_half(x) vf_of_half(vh_half_of(x))
#define ROUNDED_bfloat16(x) vf_of_bfloat16(vh_bfloat16_of(x))

/* What is left of a row of more than a vector is done by the last vector of it,
 * a part of which is done again. */
#define ROW(name, from_type, to_type, load, store, change)          \
  VF_INLINE void row_##name(const from_type *from, int64_t n,       \
                            to_type *to) {                          \
    int64_t i = 0;                                                  \
    for (; i + VF_W <= n; i += VF_W) {                              \
      store(to + i, change(load(from + i)));                        \
    }                                                               \
    if (VF_W == 1 || i == n) return;                                \
    if (n > VF_W) {                                                 \
      store(to + n - VF_W, change(load(from + n - VF_W)));          \
      return;                                                       \
    }                                                               \
    from_type rest[VF_W] = {0};                                     \
    to_type made[VF_W];                                             \
    for (int64_t k = i; k < n; k++) rest[k & (VF_W - 1)] = from[k]; \
    store(made, change(load(rest)));                                \
    for (int64_t k = i; k < n; k++) to[k] = made[k & (VF_W - 1)];   \
  }

#define WIDEN(name, change)                                         \
  ROW(name, uint16_t, float, vh_load, vf_store, change)             \
  static void name##_rows(const uint16_t *from, int64_t stride,     \
                          int64_t rows, int64_t n, float *to) {     \
    for (int64_t i = 0; i < rows; i++, from += stride, to += n) {   \
      row_##name(from, n, to);                                      \
    }                                                               \
  }                                                                 \
  static void name(const uint16_t *from, int64_t n, float *to) {    \
    name##_rows(from, 0, 1, n, to);                                 \
  }
#define NARROW(name, change)                                          \
  ROW(name, float, uint16_t, vf_load, vh_store, change)               \
  static void name##_rows(const float *from, int64_t rows, int64_t n, \
                          uint16_t *to, int64_t stride) {             \
    for (int64_t i = 0; i < rows; i++, from += n, to += stride) {     \
      row_##name(from, n, to);                                        \
    }                                                                 \
  }                                                                   \
  static void name(const float *from, int64_t n, uint16_t *to) {      \
    name##_rows(from, 1, n, to, 0);                                   \
  }
#define ROUND(name, change)                                       \
  ROW(name, float, float, vf_load, vf_store, change)              \
  static void name(const float *from, int64_t n, float *to) {     \
    row_##name(from, n, to);                                      \
  }

WIDEN(widen_half, vf_of_half)
WIDEN(widen_bfloat, vf_of_bfloat16)
NARROW(narrow_half, vh_half_of)
NARROW(narrow_bfloat, vh_bfloat16_of)
ROUND(round_half, ROUNDED_half)
ROUND(round_bfloat, ROUNDED_bfloat16)

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
const bsm_k_convert JOIN(bsm_k_convert_, BSM_K_SUFFIX) = {
    widen_half,    widen_bfloat, narrow_half,
    narrow_bfloat, round_half,   round_bfloat, widen_half_rows, widen_bfloat_rows,
    narrow_half_rows, narrow_bfloat_rows};
