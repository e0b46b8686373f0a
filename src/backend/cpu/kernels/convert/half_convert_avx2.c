/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, with F16C and AVX2. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/convert/half_convert_body.inl"
