/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels: the avx512 instances of rows_body.inl. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/rows/rows_body.inl"
