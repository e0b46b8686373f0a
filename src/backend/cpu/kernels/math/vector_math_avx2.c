/* SPDX-License-Identifier: Apache-2.0 */
/* Vector mathematics: the avx2 instances of vector_math_body.inl. */
#include "backend/cpu/kernels/math/vector_math.h"
#include "backend/cpu/kernels/simd/doubles_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/math/vector_math_body.inl"
