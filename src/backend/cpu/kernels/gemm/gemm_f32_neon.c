/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication with NEON: tiles of 6 x 16. 24 accumulators, four
 * vectors of B and a broadcast use 29 of 32 vector registers. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/gemm/gemm_f32_6x16.inl"
