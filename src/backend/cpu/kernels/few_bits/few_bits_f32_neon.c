/* SPDX-License-Identifier: Apache-2.0 */
/* Products with matrices of few bits: the neon instances of
 * few_bits_f32_body.inl.
 */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/few_bits/few_bits_f32_body.inl"
