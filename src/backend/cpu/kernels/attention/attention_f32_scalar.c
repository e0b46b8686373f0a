/* SPDX-License-Identifier: Apache-2.0 */
/* Attention kernels: the scalar instances of attention_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/attention/attention_f32_body.inl"
