/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling kernels: the neon instances of pooling_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/pooling/pooling_f32_body.inl"
