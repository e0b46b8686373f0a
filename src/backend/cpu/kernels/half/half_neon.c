/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 with NEON. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/half/half_body.inl"
