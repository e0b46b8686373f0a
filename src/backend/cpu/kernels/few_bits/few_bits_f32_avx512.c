/* SPDX-License-Identifier: Apache-2.0 */
/* Products with matrices of few bits: the avx512 instances of
 * few_bits_f32_body.inl.
 */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/few_bits/few_bits_f32_body.inl"
