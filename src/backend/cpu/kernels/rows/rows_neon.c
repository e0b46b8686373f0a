/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels: the neon instances of rows_body.inl. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/rows/rows_body.inl"
