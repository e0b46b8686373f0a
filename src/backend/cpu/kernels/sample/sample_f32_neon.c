/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling at places: the neon instance of sample_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/sample/sample_f32_body.inl"
