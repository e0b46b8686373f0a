/* SPDX-License-Identifier: Apache-2.0 */
/* Vector mathematics: the neon instances of vector_math_body.inl. */
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/simd/doubles_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/math/vector_math_body.inl"
