/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels: the scalar instances of rows_body.inl. */
#include "backend/cpu/kernels/simd/simd_scalar.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/rows/rows_body.inl"
