/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 with AVX2. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/half/half_body.inl"
