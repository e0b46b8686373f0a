/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 by tiles (AMX): blocks of 32 x 32 sums. */
#include "backend/cpu/kernels/half/half.h"
#include "backend/cpu/kernels/simd/simd_amx.h"

#define PANEL_STEP ((int64_t)TILE_ROWS * TILE_BYTES) /* bytes of B */
#define GROUPS (TILE_BYTES / BSM_K_HALF_PAIR)        /* of a step along K */

/* Where a block of up to two by two tiles is. */
typedef struct block {
  const uint8_t *a;
  const int8_t *b;
  float *sums;
} block;

/* Adds `steps` steps along K to what is in `sums`, or to zero; `tall` and
 * `wide`: two tiles in this direction. */
static inline __attribute__((always_inline)) void add_steps(
    const bsm_k_half_rows *t, block k, int64_t steps, const int adds,
    const int tall, const int wide) {
  const int64_t row = t->sums_stride * (int64_t)sizeof(float);
  float *lower = k.sums + TILE_ROWS * t->sums_stride;
  if (adds) {
    TILE_LOAD(0, k.sums, row);
    if (wide) TILE_LOAD(1, k.sums + TILE_COLUMNS, row);
    if (tall) TILE_LOAD(2, lower, row);
    if (tall && wide) TILE_LOAD(3, lower + TILE_COLUMNS, row);
  } else {
    TILE_ZERO(0);
    if (wide) TILE_ZERO(1);
    if (tall) TILE_ZERO(2);
    if (tall && wide) TILE_ZERO(3);
  }
  for (int64_t i = 0; i < steps; i++) {
    TILE_LOAD(4, k.a, t->a_stride);
    TILE_LOAD(6, k.b, TILE_BYTES);
    TILE_ADD_BF16(0, 4, 6);
    if (wide) {
      TILE_LOAD(7, k.b + t->b_panel, TILE_BYTES);
      TILE_ADD_BF16(1, 4, 7);
    }
    if (tall) {
      TILE_LOAD(5, k.a + TILE_ROWS * t->a_stride, t->a_stride);
      TILE_ADD_BF16(2, 5, 6);
    }
    if (tall && wide) TILE_ADD_BF16(3, 5, 7);
    k.a += TILE_BYTES;
    k.b += PANEL_STEP;
  }
  TILE_STORE(0, k.sums, row);
  if (wide) TILE_STORE(1, k.sums + TILE_COLUMNS, row);
  if (tall) TILE_STORE(2, lower, row);
  if (tall && wide) TILE_STORE(3, lower + TILE_COLUMNS, row);
}

/* All panels for rows of one height. */
static inline __attribute__((always_inline)) void add_panels(
    const bsm_k_half_rows *t, block k, int64_t steps, const int adds,
    const int tall) {
  int64_t panel = 0;
  for (; panel + 2 <= t->panels; panel += 2) {
    add_steps(t, k, steps, adds, tall, 1);
    k.b += 2 * t->b_panel;
    k.sums += 2 * TILE_COLUMNS;
  }
  if (panel < t->panels) add_steps(t, k, steps, adds, tall, 0);
}

/* What fills no step along K is a step of its own, of tiles of less depth. */
static inline __attribute__((always_inline)) void multiply(
    const bsm_k_half_rows *t, int64_t row, int rows, const int tall) {
  const int64_t steps = t->groups / GROUPS, rest = t->groups % GROUPS;
  block k = {t->a + row * t->a_stride, t->b, t->sums + row * t->sums_stride};
  if (steps || !rest) {
    tiles_begin(rows, TILE_BYTES);
    add_panels(t, k, steps, 0, tall);
    tiles_end();
  }
  if (!rest) return;
  tiles_wait();
  tiles_begin(rows, (int)rest * BSM_K_HALF_PAIR);
  k.a += steps * TILE_BYTES;
  k.b += steps * PANEL_STEP;
  if (steps) {
    add_panels(t, k, 1, 1, tall);
  } else {
    add_panels(t, k, 1, 0, tall);
  }
  tiles_end();
}

static void rows_of_tiles(const bsm_k_half_rows *t) {
  if (t->rows == 2 * TILE_ROWS) {
    multiply(t, 0, TILE_ROWS, 1);
    return;
  }
  for (int64_t row = 0; row < t->rows; row += TILE_ROWS) {
    const int64_t rest = t->rows - row;
    multiply(t, row, rest < TILE_ROWS ? (int)rest : TILE_ROWS, 0);
  }
  tiles_wait();
}

extern bsm_k_half_rows_fn *const bsm_k_half_rows_amx;
bsm_k_half_rows_fn *const bsm_k_half_rows_amx = rows_of_tiles;
