/* SPDX-License-Identifier: Apache-2.0 */
/* Double and integer products with AVX2 and FMA. */
#include <immintrin.h>

#include "backend/cpu/kernels/typed_gemm/typed_gemm_body.inl"

#define FMA(a, b, c) \
  ((f64_vec)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))

TYPED_GEMM(f64, double, 32, 16, 3, FMA)
TYPED_GEMM(i32, uint32_t, 32, 16, 6, PLAIN_MADD)
TYPED_GEMM(i64, uint64_t, 32, 8, 3, PLAIN_MADD)

const bsm_k_typed_gemm bsm_k_typed_gemm_avx2 = {
    {TYPED_ROW(f64, "avx2_3x16 double", 3),
     TYPED_ROW(i32, "avx2_6x16 int32", 6),
     TYPED_ROW(i64, "avx2_3x16 int64", 3)}};
