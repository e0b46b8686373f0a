/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: the avx512 instances of depthwise_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/depthwise/depthwise_f32_body.inl"
