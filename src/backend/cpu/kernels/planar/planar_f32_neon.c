/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of planes: the neon instances of planar_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/planar/planar_f32_body.inl"
