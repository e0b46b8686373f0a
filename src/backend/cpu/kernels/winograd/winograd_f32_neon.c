/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution, neon: products of 6 tiles by 16: 24 accumulators,
 * four vectors of U and a broadcast use 29 of 32 registers. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#define BSM_K_WINOGRAD_ROWS 6
#define BSM_K_WINOGRAD_PANELS 1
#define BSM_K_WINOGRAD_EACH(X, p) \
  X(1, p) X(2, p) X(3, p) X(4, p) X(5, p) X(6, p)
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
