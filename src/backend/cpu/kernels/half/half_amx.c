/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 by tiles (AMX): blocks of 32 x 32 sums, or of 64 x 16,
 * which read each panel once. */
#include "backend/cpu/kernels/half/half.h"
#include "backend/cpu/kernels/simd/simd_amx.h"

#define PANEL_STEP ((int64_t)TILE_ROWS * TILE_BYTES) /* bytes of B */
#define GROUPS (TILE_BYTES / BSM_K_HALF_PAIR)        /* of a step along K */

/* Tiles 0 to 3 are sums, of `tall` by `wide` tiles. A whole step along K has A
 * in tile 4 and B in tile 6; what is left of a tap has them in 5 and 7, which
 * are not as deep. The lowest sums end with the last row, and may share rows
 * with those above them, which get the same numbers from both. */
typedef struct block {
  const uint8_t *a;
  const int8_t *b;
  float *sums;
  int64_t last; /* row at which the lowest sums begin */
} block;

#define INLINE static inline __attribute__((always_inline))

static void begin(int rows, int depth) {
  tile_sizes s = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    const int bytes = i & 1 ? depth : TILE_BYTES;
    s.rows[i] = (uint8_t)(i < 6 ? rows : bytes / 4);
    s.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? bytes : TILE_BYTES);
  }
  /* Compilers do not know that all of it is read. */
  __asm__ volatile("" : : "r"(&s) : "memory");
  _tile_loadconfig(&s);
}

/* One step along K, with A and B in tiles `A` and `B`. In blocks of two by two
 * the right panel stays for the lower rows. */
#define STEP(A, B)                                                         \
  do {                                                                     \
    const uint8_t *lowest = k.a + k.last * stride;                         \
    TILE_LOAD(A, k.a, stride);                                             \
    TILE_LOAD(B, k.b, TILE_BYTES);                                         \
    TILE_ADD_BF16(0, A, B);                                                \
    if (wide == 2) {                                                       \
      TILE_LOAD(B, k.b + t->b_panel, TILE_BYTES);                          \
      TILE_ADD_BF16(1, A, B);                                              \
      if (tall == 2) {                                                     \
        TILE_LOAD(A, lowest, stride);                                      \
        TILE_ADD_BF16(3, A, B);                                            \
        TILE_LOAD(B, k.b, TILE_BYTES);                                     \
        TILE_ADD_BF16(2, A, B);                                            \
      }                                                                    \
    } else if (tall > 1) {                                                 \
      TILE_LOAD(A, tall == 2 ? lowest : k.a + TILE_ROWS * stride, stride); \
      TILE_ADD_BF16(1, A, B);                                              \
      if (tall > 2) {                                                      \
        TILE_LOAD(A, tall == 3 ? lowest : k.a + 2 * TILE_ROWS * stride,    \
                  stride);                                                 \
        TILE_ADD_BF16(2, A, B);                                            \
      }                                                                    \
      if (tall > 3) {                                                      \
        TILE_LOAD(A, lowest, stride);                                      \
        TILE_ADD_BF16(3, A, B);                                            \
      }                                                                    \
    }                                                                      \
  } while (0)

INLINE void store(const bsm_k_half_rows *t, block k, const int tall,
                  const int wide) {
  const int64_t row = t->sums_stride * (int64_t)sizeof(float);
  float *lowest = k.sums + k.last * t->sums_stride;
  float *second = k.sums + TILE_ROWS * t->sums_stride;
  TILE_STORE(0, k.sums, row);
  if (wide == 2) {
    TILE_STORE(1, k.sums + TILE_COLUMNS, row);
    if (tall == 2) TILE_STORE(2, lowest, row);
    if (tall == 2) TILE_STORE(3, lowest + TILE_COLUMNS, row);
    return;
  }
  if (tall > 1) TILE_STORE(1, tall == 2 ? lowest : second, row);
  if (tall > 2) {
    TILE_STORE(2, tall == 3 ? lowest : second + TILE_ROWS * t->sums_stride,
               row);
  }
  if (tall > 3) TILE_STORE(3, lowest, row);
}

INLINE void add_block(const bsm_k_half_rows *t, block k, const int tall,
                      const int wide) {
  const int64_t steps = t->groups / GROUPS, stride = t->a_stride;
  const int64_t rest = t->groups % GROUPS * TILE_BYTES;
  const uint8_t *a = k.a;
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  for (int64_t tap = 0; tap < t->taps; tap++) {
    k.a = t->offset ? a + t->offset[tap] : a;
    for (int64_t i = 0; i < steps; i++) {
      STEP(4, 6);
      k.a += TILE_BYTES;
      k.b += PANEL_STEP;
    }
    if (rest) {
      STEP(5, 7);
      k.b += rest;
    }
  }
  store(t, k, tall, wide);
}

INLINE void add_pairs(const bsm_k_half_rows *t, block k, const int tall) {
  int64_t panel = 0;
  for (; panel + 2 <= t->panels; panel += 2) {
    add_block(t, k, tall, 2);
    k.b += 2 * t->b_panel;
    k.sums += 2 * TILE_COLUMNS;
  }
  if (panel < t->panels) add_block(t, k, tall, 1);
}

INLINE void add_panels(const bsm_k_half_rows *t, block k, const int tall) {
  for (int64_t panel = 0; panel < t->panels; panel++) {
    add_block(t, k, tall, 1);
    k.b += t->b_panel;
    k.sums += TILE_COLUMNS;
  }
}

static void rows_of_tiles(const bsm_k_half_rows *t) {
  const int rest = (int)(t->groups % GROUPS) * BSM_K_HALF_PAIR;
  const int rows = t->rows < TILE_ROWS ? (int)t->rows : TILE_ROWS;
  const block k = {t->a, t->b, t->sums, t->rows - rows};
  begin(rows, rest ? rest : TILE_BYTES);
  if (t->rows <= TILE_ROWS) {
    add_pairs(t, k, 1);
  } else if (t->rows <= 2 * TILE_ROWS) {
    add_pairs(t, k, 2);
  } else if (t->rows <= 3 * TILE_ROWS) {
    add_panels(t, k, 3);
  } else {
    add_panels(t, k, 4);
  }
  tiles_end();
  tiles_wait();
}

extern bsm_k_half_rows_fn *const bsm_k_half_rows_amx;
bsm_k_half_rows_fn *const bsm_k_half_rows_amx = rows_of_tiles;
