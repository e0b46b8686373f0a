/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of recurrent cells: the avx2 instances of recurrent_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#define TILE(rows) ((rows) == 1 ? 4 : (rows) <= 3 ? 2 : 1)
#define SPLIT 1
#include "backend/cpu/kernels/recurrent/recurrent_f32_body.inl"
