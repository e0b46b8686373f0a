/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of planes: the avx2 instances of planar_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/planar/planar_f32_body.inl"
