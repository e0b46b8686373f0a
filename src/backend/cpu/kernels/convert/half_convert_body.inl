/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions over the vocabulary of simd_<isa>.h. What is left of a row
 * goes through a buffer. BSM_K_SUFFIX: the instruction set. */
#include "backend/cpu/kernels/convert/half_convert.h"

#define ROUNDED_half(x) vf_of_half(vh_half_of(x))
#define ROUNDED_bfloat16(x) vf_of_bfloat16(vh_bfloat16_of(x))

#define EACH(name, from_type, to_type, load, store, change)      \
  static void name(const from_type *from, int64_t n, to_type *to) { \
    int64_t i = 0;                                               \
    for (; i + VF_W <= n; i += VF_W) {                           \
      store(to + i, change(load(from + i)));                     \
    }                                                            \
    if (VF_W == 1 || i == n) return;                             \
    from_type rest[VF_W] = {0};                                  \
    to_type made[VF_W];                                          \
    for (int64_t k = i; k < n; k++) rest[k & (VF_W - 1)] = from[k]; \
    store(made, change(load(rest)));                             \
    for (int64_t k = i; k < n; k++) to[k] = made[k & (VF_W - 1)]; \
  }
EACH(widen_half, uint16_t, float, vh_load, vf_store, vf_of_half)
EACH(narrow_half, float, uint16_t, vf_load, vh_store, vh_half_of)
EACH(round_half, float, float, vf_load, vf_store, ROUNDED_half)
EACH(widen_bfloat, uint16_t, float, vh_load, vf_store, vf_of_bfloat16)
EACH(narrow_bfloat, float, uint16_t, vf_load, vh_store, vh_bfloat16_of)
EACH(round_bfloat, float, float, vf_load, vf_store, ROUNDED_bfloat16)

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
const bsm_k_convert JOIN(bsm_k_convert_, BSM_K_SUFFIX) = {
    widen_half,    widen_bfloat, narrow_half,
    narrow_bfloat, round_half,   round_bfloat};
