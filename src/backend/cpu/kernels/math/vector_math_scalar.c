/* SPDX-License-Identifier: Apache-2.0 */
/* Vector mathematics: the scalar instances of vector_math_body.inl. */
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/math/vector_math_body.inl"
