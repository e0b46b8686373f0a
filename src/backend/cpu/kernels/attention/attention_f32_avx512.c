/* SPDX-License-Identifier: Apache-2.0 */
/* Attention kernels: the avx512 instances of attention_f32_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/attention/attention_f32_body.inl"
