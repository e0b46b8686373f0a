/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arrays: the avx512 instances of ints_body.inl. */
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/simd/doubles_avx512.h"

#define BSM_K_SUFFIX avx512
#include "backend/cpu/kernels/ints/ints_body.inl"
