/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication with NEON: tiles of 6 x 16. 24 accumulators, four
 * vectors of B and a broadcast use 29 of 32 vector registers. */
#include "backend/cpu/kernels/simd/simd_neon.h"

#include "backend/cpu/kernels/gemm/gemm_f32_body.inl"

/* clang-format off */
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)
HALF(1) HALF(2) HALF(3) HALF(4) HALF(5) HALF(6)
THIN(1, 4) THIN(2, 2) THIN(3, 2) THIN(4, 1)
#define ROWS \
  {tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1}

const bsm_k_gemm bsm_k_gemm_neon = {
    .name = "neon_6x16",
    .max_rows = 6,
    .columns = 16,
    .fetch_steps = FETCH_STEPS,
    .full = ROWS,
    .single = ROWS,
    .half = {half_1, half_2, half_3, half_4, half_5, half_6},
    .thin = {thin_1, thin_2, thin_3, thin_4}};
/* clang-format on */
