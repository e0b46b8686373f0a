/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: the neon instances of depthwise_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/depthwise/depthwise_f32_body.inl"
