/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, with NEON. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/convert/half_convert_body.inl"
