/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling at places: the scalar instance of sample_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/sample/sample_f32_body.inl"
