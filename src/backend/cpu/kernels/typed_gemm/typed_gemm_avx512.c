/* SPDX-License-Identifier: Apache-2.0 */
/* Double and integer products with AVX-512, which multiplies 64-bit integers
 * in one instruction. */
#include <immintrin.h>

#include "backend/cpu/kernels/typed_gemm/typed_gemm_body.inl"

#define FMA(a, b, c) \
  ((f64_vec)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))

TYPED_GEMM(f64, double, 64, 16, 8, FMA)
TYPED_GEMM(i32, uint32_t, 64, 16, 8, PLAIN_MADD)
TYPED_GEMM(i64, uint64_t, 64, 16, 8, PLAIN_MADD)

const bsm_k_typed_gemm bsm_k_typed_gemm_avx512 = {
    {TYPED_ROW(f64, "avx512_8x16 double", 8),
     TYPED_ROW(i32, "avx512_8x16 int32", 8),
     TYPED_ROW(i64, "avx512_8x16 int64", 8)}};
