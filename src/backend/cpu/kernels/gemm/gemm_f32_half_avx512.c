/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of half a panel for AVX-512: vectors of 8 floats in any of its 32
 * registers. A whole vector of 16 would multiply zeros by half, on machines
 * that take two steps for one. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#include "backend/cpu/kernels/gemm/gemm_f32_body.inl"
#include "backend/cpu/kernels/gemm/gemm_f32_half_avx512.h"

#define X(rows)                                                  \
  void bsm_k_gemm_half_avx512_##rows(const bsm_k_gemm_args *t) { \
    gemm_tile(t, rows, 1);                                       \
  }
BSM_K_GEMM_HALF_AVX512(X)
#undef X
