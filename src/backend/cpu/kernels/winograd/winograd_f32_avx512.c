/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution, avx512: products of 12 tiles by 32 columns: 24
 * accumulators, two vectors of U and a broadcast use 27 of 32 registers. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#define BSM_K_WINOGRAD_ROWS 12
#define BSM_K_WINOGRAD_PANELS 2
/* clang-format off */
#define BSM_K_WINOGRAD_EACH(X, p)                               \
  X(1, p) X(2, p) X(3, p) X(4, p) X(5, p) X(6, p)               \
  X(7, p) X(8, p) X(9, p) X(10, p) X(11, p) X(12, p)
/* clang-format on */
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
