/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 in plain C. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/half/half_body.inl"
