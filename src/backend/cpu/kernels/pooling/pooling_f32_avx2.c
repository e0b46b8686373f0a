/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling kernels: the avx2 instances of pooling_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/pooling/pooling_f32_body.inl"
