/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution, avx2: products of 6 tiles by 16: 12 accumulators,
 * two vectors of U and a broadcast use 15 of 16 registers. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#define BSM_K_WINOGRAD_ROWS 6
#define BSM_K_WINOGRAD_PANELS 1
#define BSM_K_WINOGRAD_EACH(X, p) \
  X(1, p) X(2, p) X(3, p) X(4, p) X(5, p) X(6, p)
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
