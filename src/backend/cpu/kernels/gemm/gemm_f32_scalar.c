/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication in plain C: tiles of 4 x 16, for any machine. The
 * inner loops are over the 16 columns, which compilers vectorise. */
#include "backend/cpu/kernels/gemm/gemm_f32.h"

static inline __attribute__((always_inline)) void tile(const bsm_k_gemm_args *t,
                                                       const int rows) {
  float acc[4][BSM_K_PANEL];
  const int n = (int)t->n;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < BSM_K_PANEL; j++) acc[i][j] = 0.0f;
    if (t->flags & BSM_K_GEMM_BIAS_FIRST) {
      for (int j = 0; j < n; j++) acc[i][j] = t->bias[j];
    }
    if (t->flags & BSM_K_GEMM_ACCUMULATE) {
      for (int j = 0; j < n; j++) acc[i][j] = t->from[i][j];
    }
  }
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const float *a[4];
    const float *b = t->b + (t->tap_list ? t->tap_list[tap] : tap) * t->b_tap;
    for (int i = 0; i < rows; i++) a[i] = t->a[tap * rows + i] + t->a_offset;
    for (int64_t k = 0; k < t->kc; k++) {
      for (int i = 0; i < rows; i++) {
        const float x = a[i][k];
        for (int j = 0; j < BSM_K_PANEL; j++) acc[i][j] += x * b[j];
      }
      b += BSM_K_PANEL;
    }
  }
  for (int i = 0; i < rows; i++) {
    float *c = t->c[i] + t->c_offset;
    for (int j = 0; j < n; j++) {
      float x = acc[i][j];
      if (t->flags & BSM_K_GEMM_SCALE) x *= t->scale;
      if (t->flags & BSM_K_GEMM_BIAS) x += t->bias[j];
      if (t->flags & BSM_K_GEMM_RESIDUAL) {
        x += t->residual[i][t->residual_offset + j];
      }
      if (t->flags & BSM_K_GEMM_CLAMP) {
        x = x < t->lo ? t->lo : x;
        x = x > t->hi ? t->hi : x;
      }
      c[j] = x;
    }
  }
}

static void tile_1(const bsm_k_gemm_args *t) {
  tile(t, 1);
}
static void tile_2(const bsm_k_gemm_args *t) {
  tile(t, 2);
}
static void tile_3(const bsm_k_gemm_args *t) {
  tile(t, 3);
}
static void tile_4(const bsm_k_gemm_args *t) {
  tile(t, 4);
}

const bsm_k_gemm bsm_k_gemm_scalar = {
    .name = "scalar_4x16",
    .max_rows = 4,
    .columns = 16,
    .full = {tile_1, tile_2, tile_3, tile_4},
    .single = {tile_1, tile_2, tile_3, tile_4},
    .half = {tile_1, tile_2, tile_3, tile_4},
    .thin_columns = BSM_K_PANEL,
    .thin = {tile_1, tile_2, tile_3, tile_4}};
