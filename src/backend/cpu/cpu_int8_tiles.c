/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes in registers of tiles. Rows that lie
 * evenly in the input are read where they are; else windows of a block of rows
 * are copied, once for all columns. */
#include "backend/cpu/cpu_int8_convolution.h"

#define ROWS BSM_CPU_INT8_ROWS
#define COLUMNS BSM_K_INT8_MAX_COLUMNS
#define GROUP BSM_K_INT8_DEPTH
#define LINE ((int64_t)64) /* bytes of a cache line, and of a row of a tile */

typedef bsm_cpu_int8_convolution convolution;

/* ---- prepare ---- */

/* Bytes from one row to the next where windows are pixels that lie evenly; 0:
 * they do not. */
static int64_t find_even_rows(const bsm_cpu_byte_windows *w, int64_t rows) {
  if (w->taps != 1 || w->copies) return 0;
  int64_t dims[4] = {1}, strides[4] = {w->x.n_stride};
  for (int d = 0; d < 3; d++) {
    if (w->w.pre_padding[d] || w->w.post_padding[d]) return 0;
    dims[1 + d] = w->y_size[d];
    dims[0] *= w->y_size[d];
    strides[1 + d] = w->w.stride[d] * w->x.stride[d];
  }
  dims[0] = dims[0] ? rows / dims[0] : 0;
  bsm_cpu_rows even;
  bsm_cpu_rows_init(&even, 4, dims, strides);
  return even.rank == 1 ? even.strides[0] : 0;
}

uint64_t bsm_cpu_int8_plan_tiles(convolution *c) {
  bsm_cpu_int8_tiling *t = &c->tiling;
  const int64_t groups = c->windows.depth / GROUP;
  const int64_t tiles = bsm_cpu_max(1, bsm_cpu_div_up(c->rows, ROWS / 2));
  t->rows = (int32_t)bsm_cpu_max(1, bsm_cpu_div_up(c->rows, tiles));
  t->count = bsm_cpu_div_up(groups * GROUP, BSM_K_INT8_TILE_DEPTH);
  t->depth = bsm_cpu_div_up(groups, t->count) * GROUP;
  t->last = groups * GROUP - t->depth;
  t->a_row = find_even_rows(&c->windows, c->rows);
  t->copies = t->a_row == 0 || groups % t->count != 0;
  /* Room behind the last tile (kernels/int8/int8.h), and rows in all sets of
   * the cache. */
  t->copy_row = bsm_cpu_round_up(t->count * t->depth, LINE) + LINE;
  if (t->copy_row / LINE % 2 == 0) t->copy_row += LINE;
  return bsm_cpu_align((uint64_t)(ROWS * t->copy_row + LINE)) +
         2 * ROWS * COLUMNS * sizeof(float);
}

/* ---- run ---- */

/* The windows of rows in tiles: zeros after their bytes, and where the last
 * tile has bytes of the one before again. */
static void copy_windows(const convolution *c, const uint8_t *x, int64_t row,
                         int64_t rows, uint8_t *to) {
  const bsm_cpu_int8_tiling *t = &c->tiling;
  const int64_t at = (t->count - 1) * t->depth;
  const bsm_k_int8_tile_ends ends = {.to = to,
                                     .rows = rows,
                                     .to_row = t->copy_row,
                                     .size = c->windows.taps * c->windows.pixel,
                                     .at = at,
                                     .gap = at - t->last};
  bsm_cpu_byte_windows_copy(&c->windows, x, row, rows, to, t->copy_row,
                            c->tiles->copy);
  if (ends.gap || ends.size < c->windows.depth) c->tiles->fill_up(&ends);
}

/* The rows of A. Copies, where a tile reads more rows than there are. */
static bsm_k_int8_tiles find_rows(const bsm_cpu_int8_work *w, int64_t group,
                                  int64_t row, int64_t rows, uint8_t *scratch) {
  const convolution *c = w->c;
  const bsm_cpu_int8_tiling *t = &c->tiling;
  const uint8_t *x = w->x + group * c->ci;
  const bool two = rows > t->rows;
  const bool whole = rows == (two ? 2 : 1) * t->rows;
  bsm_k_int8_tiles a = {.a = x + row * t->a_row,
                        .a_row = t->a_row,
                        .rows = t->rows,
                        .two = two,
                        .depth = t->depth,
                        .count = t->count,
                        .last = t->last};
  if (t->copies || !whole) {
    copy_windows(c, x, row, rows, scratch);
    a.a = scratch;
    a.a_row = t->copy_row;
  }
  return a;
}

static void run_rows(const bsm_cpu_int8_work *w, const bsm_cpu_int8_part *part,
                     int64_t row, int64_t rows, uint8_t *scratch) {
  const convolution *c = w->c;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  uint8_t *after =
      scratch + bsm_cpu_align((uint64_t)(ROWS * c->tiling.copy_row + LINE));
  int32_t *sums = (int32_t *)(void *)after;
  bsm_k_int8_tiles t = find_rows(w, part->group, row, rows, scratch);
  bsm_cpu_int8_results results;
  results.count = 0;
  bsm_cpu_int8_point_to_results(w, row, rows, part->group * c->co, &results);
  t.sums = sums;
  t.b_panel = c->windows.depth * BSM_PANEL;
  const int64_t end = part->column + part->columns;
  for (int64_t j = part->column; j < end; j += COLUMNS) {
    const int64_t n = bsm_cpu_min(COLUMNS, end - j);
    t.b = c->kernel + (part->group * panels + j / BSM_PANEL) * t.b_panel;
    t.panels = bsm_cpu_div_up(n, BSM_PANEL);
    t.offset = c->offset + part->group * c->width + j;
    c->tiles->multiply(&t);
    bsm_cpu_int8_finish(c, &results, part->group, j, n, rows, sums,
                        (float *)(void *)(sums + ROWS * COLUMNS));
  }
}

void bsm_cpu_int8_run_tiles(const bsm_cpu_int8_work *w,
                            const bsm_cpu_int8_part *part, uint8_t *scratch) {
  const bsm_cpu_int8_tiling *t = &w->c->tiling;
  const int64_t rows = 2 * (int64_t)t->rows;
  w->c->tiles->begin(t->rows, t->depth);
  for (int64_t row = part->row; row < part->row_end; row += rows) {
    run_rows(w, part, row, bsm_cpu_min(rows, part->row_end - row), scratch);
  }
  w->c->tiles->end();
}
