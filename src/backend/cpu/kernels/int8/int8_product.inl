/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of a product of bytes. The file that includes this defines
 *   VECTOR        a vector of LANES int32
 *   LOAD(p), STORE(p, v), SPLAT(p)   of vectors; SPLAT repeats 4 bytes
 *   DOT(sums, a, b)   sums + the four products of uint8 a and int8 b of a lane
 *   PANELS        how many panels at once: 1 or 2
 *   ROWS          rows of the largest tile: 12, 8, 6 or 4
 *   SPLIT         LANES when DOT needs safe pairs (int8.h), or 0
 *   PRODUCT, NAME  the table that is defined here, and its text
 *   DEPTHWISE     its kernel of maps by themselves, or NULL
 * A tile of fewer rows is made of smaller ones. */
#include "backend/cpu/kernels/int8/int8.h"
#include "backend/cpu/kernels/simd/unroll.h"

/* What sums begin with: the offset, or ZERO where that is defined. */
#ifdef ZERO
#define START(t, column) ZERO
#else
#define START(t, column) LOAD((t)->offset + (column))
#endif

#define VECTORS (BSM_K_INT8_PANEL / LANES)

static inline __attribute__((always_inline)) void multiply(
    const bsm_k_int8_tile *t, int64_t first, int64_t panel, const int rows,
    const int panels) {
  VECTOR sums[ROWS][PANELS * VECTORS];
  const int8_t *b = t->b + panel * t->b_panel;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels * VECTORS; j++) {
      sums[i][j] = START(t, panel * BSM_K_INT8_PANEL + j * LANES);
    }
  }
  for (int64_t tap = 0; tap < t->taps; tap++) {
    const uint8_t *const *a = t->a + tap * t->rows + first;
    for (int64_t k = 0; k < t->groups * BSM_K_INT8_DEPTH;
         k += BSM_K_INT8_DEPTH) {
      VECTOR columns[PANELS * VECTORS];
      UNROLL for (int j = 0; j < panels * VECTORS; j++) {
        columns[j] = LOAD(b + j / VECTORS * t->b_panel +
                          j % VECTORS * LANES * BSM_K_INT8_DEPTH);
      }
      UNROLL for (int i = 0; i < rows; i++) {
        const VECTOR x = SPLAT(a[i] + k);
        UNROLL for (int j = 0; j < panels * VECTORS; j++) {
          sums[i][j] = DOT(sums[i][j], x, columns[j]);
        }
      }
      b += BSM_K_INT8_PANEL * BSM_K_INT8_DEPTH;
    }
  }
  UNROLL for (int j = 0; SPLIT && j < panels * VECTORS; j++) {
    const int32_t *at = t->rest.first + panel * VECTORS + j;
    for (int32_t e = at[0]; e < at[1]; e++) {
      const bsm_k_int8_place *p = t->rest.places + e;
      const VECTOR column =
          LOAD(t->rest.b + (int64_t)e * LANES * BSM_K_INT8_DEPTH);
      UNROLL for (int i = 0; i < rows; i++) {
        const VECTOR x = SPLAT(t->a[p->tap * t->rows + first + i] + p->offset);
        sums[i][j] = DOT(sums[i][j], x, column);
      }
    }
  }
  int32_t *to =
      t->sums + first * BSM_K_INT8_MAX_COLUMNS + panel * BSM_K_INT8_PANEL;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels * VECTORS; j++) {
      STORE(to + i * BSM_K_INT8_MAX_COLUMNS + j * LANES, sums[i][j]);
    }
  }
}

/* All rows for the panels from `panel` on. */
static inline __attribute__((always_inline)) void multiply_rows(
    const bsm_k_int8_tile *t, int64_t panel, const int panels) {
  int64_t row = 0;
  for (; row + ROWS <= t->rows; row += ROWS) {
    multiply(t, row, panel, ROWS, panels);
  }
  for (; ROWS > 4 && row + 4 <= t->rows; row += 4) {
    multiply(t, row, panel, 4, panels);
  }
  for (; row < t->rows; row++) multiply(t, row, panel, 1, panels);
}

static void tile(const bsm_k_int8_tile *t) {
  int64_t panel = 0;
  if (PANELS == 2 && t->panels == 2) {
    multiply_rows(t, 0, PANELS);
    return;
  }
  for (; panel < t->panels; panel++) multiply_rows(t, panel, 1);
}

const bsm_k_int8_product PRODUCT = {NAME, SPLIT, false, NULL, tile, DEPTHWISE};
