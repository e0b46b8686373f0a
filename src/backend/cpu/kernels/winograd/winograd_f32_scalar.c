/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's transforms: the scalar instances of winograd_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/winograd/winograd_f32_body.inl"
