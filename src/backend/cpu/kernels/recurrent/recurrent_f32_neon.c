/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of recurrent cells: the neon instances of recurrent_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#define TILE(rows) ((rows) == 1 ? 4 : (rows) <= 3 ? 2 : 1)
#define SPLIT 1
#include "backend/cpu/kernels/recurrent/recurrent_f32_body.inl"
