/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication with AVX2 and FMA: tiles of 6 x 16. 12 accumulators,
 * two vectors of B and a broadcast use 15 of 16 vector registers. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/gemm/gemm_f32_6x16.inl"
