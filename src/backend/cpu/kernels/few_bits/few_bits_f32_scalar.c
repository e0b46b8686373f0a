/* SPDX-License-Identifier: Apache-2.0 */
/* Products with matrices of few bits: the scalar instances of
 * few_bits_f32_body.inl.
 */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/few_bits/few_bits_f32_body.inl"
