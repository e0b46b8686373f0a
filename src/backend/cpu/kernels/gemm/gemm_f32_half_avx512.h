/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of half a panel of the AVX-512 table, which are of shorter vectors
 * than the rest and so a file of their own. */
#ifndef BSM_KERNELS_GEMM_F32_HALF_AVX512_H_
#define BSM_KERNELS_GEMM_F32_HALF_AVX512_H_

#include "backend/cpu/kernels/gemm/gemm_f32.h"

#define BSM_K_GEMM_HALF_AVX512(X) \
  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

#define X(rows) void bsm_k_gemm_half_avx512_##rows(const bsm_k_gemm_args *t);
BSM_K_GEMM_HALF_AVX512(X)
#undef X

#endif /* BSM_KERNELS_GEMM_F32_HALF_AVX512_H_ */
