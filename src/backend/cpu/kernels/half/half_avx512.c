/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 with AVX-512. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#include "backend/cpu/kernels/half/half.h"

extern const struct bsm_k_int8_product bsm_k_half_dot_avx512_bf16;

extern bsm_k_half_finish_fn *const bsm_k_half_finish_avx512_bf16;

extern bsm_k_half_rows_fn *const bsm_k_half_rows_amx;

#define BSM_K_SUFFIX avx512
#define DOT &bsm_k_half_dot_avx512_bf16
#define DOT_FINISH &bsm_k_half_finish_avx512_bf16
#define DOT_ISA BSM_K_ISA_AVX512_BF16
#define TILES &bsm_k_half_rows_amx
#define TILES_ISA BSM_K_ISA_AMX
#include "backend/cpu/kernels/half/half_body.inl"
