/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of 6 x 16, for the simd_*.h included before. BSM_K_SUFFIX: the
 * instruction set. */
#include "backend/cpu/kernels/gemm/gemm_f32_body.inl"

/* clang-format off */
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)
HALF(1) HALF(2) HALF(3) HALF(4) HALF(5) HALF(6)
THIN(1, 4) THIN(2, 2) THIN(3, 2) THIN(4, 1)
#define ROWS \
  {tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
const bsm_k_gemm JOIN(bsm_k_gemm_, BSM_K_SUFFIX) = {
    .name = TEXT(BSM_K_SUFFIX) "_6x16",
    .max_rows = 6,
    .columns = 16,
    .fetch_steps = FETCH_STEPS,
    .full = ROWS,
    .single = ROWS,
    .half = {half_1, half_2, half_3, half_4, half_5, half_6},
    .thin_columns = BSM_K_PANEL * THIN_PANELS,
    .thin = {thin_1, thin_2, thin_3, thin_4}};
/* clang-format on */
