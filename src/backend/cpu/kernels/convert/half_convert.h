/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of half and bfloat16 arrays, rounding to nearest even as IEEE
 * 754 says: every NaN becomes the quiet one, large values infinity, small ones
 * denormals. All instruction sets give the same bits. `to` may be `from` in the
 * rounding functions. */
#ifndef BSM_KERNELS_HALF_CONVERT_H_
#define BSM_KERNELS_HALF_CONVERT_H_

#include "backend/cpu/kernels/kernel_isa.h"

typedef void bsm_k_widen(const uint16_t *from, int64_t n, float *to);
typedef void bsm_k_narrow(const float *from, int64_t n, uint16_t *to);
/* Floats rounded to what the narrow format holds. */
typedef void bsm_k_round(const float *from, int64_t n, float *to);

/* `rows` rows of n elements, which are `stride` elements apart in 16 bits, and
 * as floats follow each other. */
typedef void bsm_k_widen_rows(const uint16_t *from, int64_t stride,
                              int64_t rows, int64_t n, float *to);
typedef void bsm_k_narrow_rows(const float *from, int64_t rows, int64_t n,
                               uint16_t *to, int64_t stride);

typedef struct bsm_k_convert {
  bsm_k_widen *half_to_float, *bfloat_to_float;
  bsm_k_narrow *float_to_half, *float_to_bfloat;
  bsm_k_round *round_to_half, *round_to_bfloat;
  bsm_k_widen_rows *widen_half_rows, *widen_bfloat_rows;
  bsm_k_narrow_rows *narrow_half_rows, *narrow_bfloat_rows;
} bsm_k_convert;

BSM_K_FAMILY(convert)

#endif /* BSM_KERNELS_HALF_CONVERT_H_ */
