/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arrays: the neon instances of ints_body.inl. */
#include "backend/cpu/kernels/ints/ints.h"
#include "backend/cpu/kernels/simd/doubles_neon.h"

#define BSM_K_SUFFIX neon
#include "backend/cpu/kernels/ints/ints_body.inl"
