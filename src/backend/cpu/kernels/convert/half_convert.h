/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of half and bfloat16 arrays, rounding to nearest even as IEEE
 * 754 says: every NaN becomes the quiet one, large values infinity, small ones
 * denormals. Written without branches, so that the compiler uses the vectors
 * that every machine has. `to` may be `from` in the rounding functions. */
#ifndef BSM_KERNELS_HALF_CONVERT_H_
#define BSM_KERNELS_HALF_CONVERT_H_

#include <stdint.h>

void bsm_k_half_to_float(const uint16_t *from, int64_t n, float *to);
void bsm_k_float_to_half(const float *from, int64_t n, uint16_t *to);
void bsm_k_bfloat_to_float(const uint16_t *from, int64_t n, float *to);
void bsm_k_float_to_bfloat(const float *from, int64_t n, uint16_t *to);
/* Floats rounded to what the narrow format holds. */
void bsm_k_round_to_half(const float *from, int64_t n, float *to);
void bsm_k_round_to_bfloat(const float *from, int64_t n, float *to);

#endif /* BSM_KERNELS_HALF_CONVERT_H_ */
