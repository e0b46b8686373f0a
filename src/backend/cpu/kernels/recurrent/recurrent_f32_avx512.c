/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of recurrent cells: the avx512 instances of recurrent_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#define TILE(rows) 4
#define SPLIT 2
#include "backend/cpu/kernels/recurrent/recurrent_f32_body.inl"
