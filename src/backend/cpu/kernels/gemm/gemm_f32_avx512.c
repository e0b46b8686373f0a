/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication with AVX-512: tiles of 12 x 32. 24 accumulators, two
 * vectors of B and a broadcast use 27 of 32 vector registers; 12 row pointers
 * fit the general registers. */
#include "backend/cpu/kernels/simd/simd_avx512.h"

#include "backend/cpu/kernels/gemm/gemm_f32_body.inl"
#include "backend/cpu/kernels/gemm/gemm_f32_half_avx512.h"

/* clang-format off */
#define ROWS(X, panels)                                           \
  X(1, panels) X(2, panels) X(3, panels) X(4, panels)             \
  X(5, panels) X(6, panels) X(7, panels) X(8, panels)             \
  X(9, panels) X(10, panels) X(11, panels) X(12, panels)
ROWS(TILE, 2)
ROWS(TILE, 1)
THIN(1, 4) THIN(2, 4) THIN(3, 2) THIN(4, 2)
#define NAME(rows, panels) tile_##rows##x##panels,
#define HALF_NAME(rows) bsm_k_gemm_half_avx512_##rows,

const bsm_k_gemm bsm_k_gemm_avx512 = {
    .name = "avx512_12x32",
    .max_rows = 12,
    .columns = 32,
    .fetch_steps = FETCH_STEPS,
    .full = {ROWS(NAME, 2)},
    .single = {ROWS(NAME, 1)},
    .half = {BSM_K_GEMM_HALF_AVX512(HALF_NAME)},
    .thin_columns = BSM_K_PANEL * THIN_PANELS,
    .thin = {thin_1, thin_2, thin_3, thin_4}};
/* clang-format on */
