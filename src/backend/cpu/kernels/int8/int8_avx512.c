/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX-512, in tiles of 12 x 32. */
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/simd_avx512.h"

extern void bsm_k_int8_finish_avx512(const bsm_k_int8_finish *args);
#define FINISH bsm_k_int8_finish_avx512

#if defined(__x86_64__)
extern const bsm_k_int8_tile_product bsm_k_int8_product_amx;
#define TILES &bsm_k_int8_product_amx
#else
#define TILES NULL
#endif

#define BSM_K_SUFFIX avx512
#define ROWS 12
#define PANELS 2
#define VNNI_ISA BSM_K_ISA_AVX512_VNNI
#include "backend/cpu/kernels/int8/int8_pairs.inl"
