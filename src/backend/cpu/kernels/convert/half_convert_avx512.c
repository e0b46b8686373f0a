/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, with AVX-512. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/convert/half_convert_body.inl"
