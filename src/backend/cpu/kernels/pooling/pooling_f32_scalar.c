/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling kernels: the scalar instances of pooling_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/pooling/pooling_f32_body.inl"
