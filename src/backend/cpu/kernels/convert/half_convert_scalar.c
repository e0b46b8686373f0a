/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, one element at a time without branches, so that the
 * compiler uses the vectors that every machine has. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/convert/half_convert_body.inl"
