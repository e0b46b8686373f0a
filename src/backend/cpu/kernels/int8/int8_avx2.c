/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX2, in tiles of 4 x 16. */
#include "backend/cpu/kernels/simd/simd_avx2.h"

#define BSM_K_SUFFIX avx2
#define ROWS 4
#define PANELS 1
#define VNNI_ISA BSM_K_ISA_AVX_VNNI
#define TILES NULL
#define FINISH NULL
#include "backend/cpu/kernels/int8/int8_pairs.inl"
