/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's transforms: the avx512 instances of winograd_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
