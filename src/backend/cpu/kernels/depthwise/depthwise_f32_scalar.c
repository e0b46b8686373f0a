/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: the scalar instances of depthwise_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/depthwise/depthwise_f32_body.inl"
