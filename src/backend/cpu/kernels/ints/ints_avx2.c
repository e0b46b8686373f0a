/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arrays: the avx2 instances of ints_body.inl. */
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/simd/doubles_avx2.h"

#define BSM_K_SUFFIX avx2
#include "backend/cpu/kernels/ints/ints_body.inl"
