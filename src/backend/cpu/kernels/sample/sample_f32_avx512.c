/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling at places: the avx512 instance of sample_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/sample/sample_f32_body.inl"
