/* SPDX-License-Identifier: Apache-2.0 */
/* Double and integer products in vectors of 16 bytes: what every machine that
 * we build for has, and the compiler takes apart where it has not. */
#include "backend/cpu/kernels/typed_gemm/typed_gemm_body.inl"

TYPED_GEMM(f64, double, 16, 8, 3, PLAIN_MADD)
TYPED_GEMM(i32, uint32_t, 16, 16, 2, PLAIN_MADD)
TYPED_GEMM(i64, uint64_t, 16, 8, 2, PLAIN_MADD)

const bsm_k_typed_gemm bsm_k_typed_gemm_scalar = {
    {TYPED_ROW(f64, "scalar_3x16 double", 3),
     TYPED_ROW(i32, "scalar_2x16 int32", 2),
     TYPED_ROW(i64, "scalar_2x16 int64", 2)}};
