/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions of rows by those of BLOCK elements, a power of two, which
 * stand before: widen_half_block(from, to) and the others. What is left of a
 * row goes through a buffer of so many. BSM_K_SUFFIX: the instruction set. */
#include "backend/cpu/kernels/convert/half_convert.h"

#define EACH(name, from_type, to_type)                                 \
  static void name(const from_type *from, int64_t n, to_type *to) {    \
    int64_t i = 0;                                                     \
    for (; i + BLOCK <= n; i += BLOCK) name##_block(from + i, to + i); \
    if (i == n) return;                                                \
    from_type rest[BLOCK] = {0};                                       \
    to_type made[BLOCK];                                               \
    for (int64_t k = i; k < n; k++) rest[k & (BLOCK - 1)] = from[k];   \
    name##_block(rest, made);                                          \
    for (int64_t k = i; k < n; k++) to[k] = made[k & (BLOCK - 1)];     \
  }
EACH(widen_half, uint16_t, float)
EACH(narrow_half, float, uint16_t)
EACH(round_half, float, float)
EACH(widen_bfloat, uint16_t, float)
EACH(narrow_bfloat, float, uint16_t)
EACH(round_bfloat, float, float)

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
const bsm_k_convert JOIN(bsm_k_convert_, BSM_K_SUFFIX) = {
    widen_half,    widen_bfloat, narrow_half,
    narrow_bfloat, round_half,   round_bfloat};
