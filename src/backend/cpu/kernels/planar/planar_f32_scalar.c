/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of planes: the scalar instances of planar_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/planar/planar_f32_body.inl"
