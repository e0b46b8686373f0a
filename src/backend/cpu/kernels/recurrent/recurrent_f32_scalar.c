/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of recurrent cells: the scalar instances of recurrent_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#define TILE(rows) 1
#define SPLIT 1
#include "backend/cpu/kernels/recurrent/recurrent_f32_body.inl"
