/* SPDX-License-Identifier: Apache-2.0 */
/* Attention kernels: the neon instances of attention_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/attention/attention_f32_body.inl"
