/* SPDX-License-Identifier: Apache-2.0 */
/* Double and integer products with NEON, which multiplies no int64. */
#include <arm_neon.h>

#include "backend/cpu/kernels/typed_gemm/typed_gemm_body.inl"

#define FMA(a, b, c) \
  ((f64_vec)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))

TYPED_GEMM(f64, double, 16, 8, 6, FMA)
TYPED_GEMM(i32, uint32_t, 16, 16, 6, PLAIN_MADD)
TYPED_GEMM(i64, uint64_t, 16, 8, 2, PLAIN_MADD)

const bsm_k_typed_gemm bsm_k_typed_gemm_neon = {
    {TYPED_ROW(f64, "neon_6x16 double", 6),
     TYPED_ROW(i32, "neon_6x16 int32", 6),
     TYPED_ROW(i64, "neon_2x16 int64", 2)}};
