/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 by constants; convolutions with groups of few
 * maps are in cpu_half_depthwise.c.
 *
 * A unit is a block of rows and of columns. Where the machine multiplies pairs
 * of bfloat16, tiles read both operands as they are stored; those that are
 * registers (AMX) want rows evenly apart, and other windows are copied.
 * Elsewhere the constant is widened when the step is prepared, and each tile
 * widens its rows, for the kernels of float products. K is never cut, so that
 * every element is summed in one order however the work is cut. */
#include <string.h>

#include "backend/cpu/cpu_byte_windows.h"
#include "backend/cpu/cpu_half_results.h"
#include "backend/cpu/cpu_matrix_shapes.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"

#define ROWS BSM_K_HALF_MAX_ROWS /* of a tile */
#define MOST_ROWS BSM_K_HALF_TILE_ROWS
#define COLUMNS BSM_K_HALF_MAX_COLUMNS
#define PAIR BSM_K_HALF_PAIR
#define ELEMENT ((int64_t)sizeof(uint16_t))

/* Bytes of the constant that a unit goes over again and again. */
#define BLOCK_BYTES ((int64_t)512 << 10)
/* Columns whose sums stay in the first-level cache. */
#define TILE_COLUMNS 256
/* Floats between widened rows: no two in the same sets of a cache. */
#define ROW_PAD 16

typedef struct product {
  bsm_cpu_half_impl half;
  const bsm_k_half *kernels;
  bsm_k_half_rows_fn *tiles;     /* NULL: there are none */
  const bsm_k_int8_product *dot; /* NULL, both: operands are widened */
  int64_t tile_rows;
  const bsm_k_gemm *gemm;
  bsm_cpu_half_results results;
  bsm_k_half_type type;
  bool widens;            /* operands */
  bool is_matrix, copies; /* rows of a matrix */
  int64_t stride; /* bytes between rows that are evenly apart; 0: copied */
  bsm_cpu_matrix_shapes shapes;
  bsm_cpu_byte_windows windows;
  bsm_cpu_rows y_rows, residual_rows;
  bool has_residual;
  int64_t rows, groups, ci, co, taps; /* maps of a group */
  int64_t k;                          /* elements of a row, in whole pairs */
  const uint8_t *b;
  const float *widened; /* the same as floats, where operands are widened */
  int64_t row_block, column_block;
  uint64_t rows_size, a_size; /* bytes of scratch */
} product;

/* ---- check ---- */

static bsm_status check_matrix(const bsm_plan *plan,
                               const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  BSM_TRY(bsm_check_matrices(plan, step, dtype));
  if (!p->constant_b) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a product of two tensors of %s",
                    bsm_dtype_name(dtype));
  }
  uint64_t size;
  BSM_TRY(bsm_cpu_packed_half_size(step, p->k, &size));
  return bsm_check_weights(plan, step, 0, size);
}

/* ---- prepare ---- */

static void pixel_rows(bsm_cpu_rows *rows, const bsm_plan_tensor *t,
                       int32_t spatial) {
  const bsm_image i = bsm_image_of(t, spatial);
  bsm_cpu_rows_init(
      rows, 4, (int64_t[]){i.n, i.size[0], i.size[1], i.size[2]},
      (int64_t[]){i.n_stride, i.stride[0], i.stride[1], i.stride[2]});
}

/* Whether the pixels that a convolution of one tap reads are evenly apart. */
static bool find_stride(product *c, const bsm_step_window *w,
                        const bsm_image *x) {
  bsm_cpu_rows rows;
  int64_t dims[4] = {x->n}, strides[4] = {x->n_stride};
  if (c->windows.copies) return false;
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] != 1 || w->pre_padding[d] || w->post_padding[d]) {
      return false;
    }
    dims[1 + d] = c->windows.y_size[d];
    strides[1 + d] = x->stride[d] * w->stride[d];
  }
  bsm_cpu_rows_init(&rows, 4, dims, strides);
  c->stride = rows.rank == 1 ? rows.strides[0] * ELEMENT : 0;
  return c->stride != 0;
}

static bsm_status init_convolution(const bsm_cpu_prepare *p, product *c) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const int32_t spatial = params->window.spatial;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const bsm_image out = bsm_image_of(y, spatial);
  c->groups = params->groups;
  c->ci = bsm_step_input(p->plan, p->step, 0)->dims.d[1] / c->groups;
  c->co = params->out_maps / c->groups;
  c->rows = out.n * out.size[0] * out.size[1] * out.size[2];
  BSM_TRY(bsm_cpu_byte_windows_init(p, &params->window, c->ci, 0, false,
                                    &c->windows));
  const bsm_image x =
      bsm_image_of(bsm_step_input(p->plan, p->step, 0), spatial);
  /* Tiles want rows that are evenly apart. */
  if (c->tiles && !find_stride(c, &params->window, &x)) {
    c->windows.copies = true;
  }
  c->taps = c->windows.copies ? 1 : c->windows.taps;
  c->k = c->windows.depth / ELEMENT;
  c->rows_size = bsm_cpu_byte_windows_scratch(&c->windows, c->tile_rows);
  pixel_rows(&c->y_rows, y, spatial);
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    pixel_rows(&c->residual_rows, bsm_step_input(p->plan, p->step, 1), spatial);
  }
  return BSM_OK;
}

static void init_matrix(const bsm_cpu_prepare *p, product *c) {
  bsm_cpu_matrix_shapes *s = &c->shapes;
  bsm_cpu_matrix_shapes_init(s, p->plan, p->step);
  c->is_matrix = true;
  c->groups = c->taps = 1;
  c->ci = s->k;
  c->co = s->n;
  c->rows = s->rows;
  c->k = bsm_cpu_round_up(s->k, PAIR / ELEMENT);
  c->copies = (s->a_k != 1 && s->k > 1) || s->k != c->k;
  if (c->tiles && !c->copies) {
    c->stride = s->a_rows.rank == 1 ? s->a_rows.strides[0] * ELEMENT : 0;
    c->copies = c->stride == 0;
  }
  c->rows_size =
      bsm_cpu_align(MOST_ROWS * sizeof(uint8_t *)) +
      (c->copies ? bsm_cpu_align((uint64_t)(c->tile_rows * c->k * ELEMENT))
                 : 0);
  c->y_rows = s->c_rows;
  c->residual_rows = s->residual_rows;
  c->has_residual = s->has_residual;
}

/* The constant as floats, for the runs of the context: widening it in each run
 * takes as long as multiplying a few rows. */
static bsm_status widen_constant(const bsm_cpu_prepare *p, product *c) {
  const int64_t panel = c->k * BSM_PANEL;
  const int64_t panels = c->groups * bsm_cpu_div_up(c->co, BSM_PANEL);
  const uint16_t *b = (const uint16_t *)(const void *)c->b;
  float *to = bsm_arena_alloc_array(p->arena, (size_t)(panels * panel) + 1,
                                    sizeof(float), BSM_ALIGNMENT);
  BSM_TRY_ALLOC(to);
  for (int64_t i = 0; i < panels; i++) {
    c->kernels->widen_panel[c->type](b + i * panel, c->k * ELEMENT / PAIR,
                                     to + i * panel);
  }
  c->widened = to;
  return BSM_OK;
}

/* Columns whose part of the constant stays in the second-level cache, and rows
 * in as many units as keep the threads busy. */
static void plan_blocks(product *c, int threads) {
  const int64_t size = c->widens ? (int64_t)sizeof(float) : ELEMENT;
  const int64_t tiles =
      bsm_cpu_max(1, BLOCK_BYTES / bsm_cpu_max(1, c->k * size * COLUMNS));
  const int64_t row_tiles =
      bsm_cpu_max(1, bsm_cpu_div_up(c->rows, c->tile_rows));
  c->column_block = bsm_cpu_max(
      COLUMNS, bsm_cpu_min(tiles * COLUMNS, bsm_cpu_round_up(c->co, COLUMNS)));
  if (c->tiles) c->column_block = bsm_cpu_min(c->column_block, TILE_COLUMNS);
  c->row_block = row_tiles * c->tile_rows;
  if (threads == 1) return;
  const int64_t wanted = 4 * (int64_t)threads;
  int64_t blocks = c->groups * bsm_cpu_div_up(c->co, c->column_block);
  const int64_t parts =
      bsm_cpu_max(1, bsm_cpu_min(row_tiles, bsm_cpu_div_up(wanted, blocks)));
  c->row_block = bsm_cpu_div_up(row_tiles, parts) * c->tile_rows;
  blocks *= parts;
  while (blocks < wanted && c->column_block >= 2 * COLUMNS) {
    c->column_block = bsm_cpu_round_up(c->column_block / 2, COLUMNS);
    blocks *= 2;
  }
}

static void choose_kernels(const bsm_cpu_prepare *p, product *c) {
  const bsm_dtype dtype = bsm_step_output(p->plan, p->step, 0)->dtype;
  const bool is_half = dtype == BSM_DTYPE_HALF;
  c->half.base.slots = p->threads;
  c->type = is_half ? BSM_K_HALF_F16 : BSM_K_HALF_BF16;
  c->gemm = bsm_k_gemm_select(p->isa);
  c->kernels = bsm_k_half_select(p->isa);
  if (!is_half && c->kernels->rows && (p->isa & c->kernels->rows_isa)) {
    c->tiles = *c->kernels->rows;
  } else if (!is_half && c->kernels->dot && (p->isa & c->kernels->dot_isa)) {
    c->dot = c->kernels->dot;
  }
  c->widens = !c->tiles && !c->dot;
  c->tile_rows = c->tiles ? MOST_ROWS : ROWS;
  c->b = bsm_cpu_weights(p, 0);
}

/* Tiles leave the sums of all columns of a block, others those of a few. */
static int64_t sums_stride(const product *c) {
  return c->tiles ? c->column_block : COLUMNS;
}

static bsm_status finish_prepare(const bsm_cpu_prepare *p, product *c,
                                 const bsm_step_epilogue *epilogue,
                                 bsm_prepared_step *out) {
  BSM_TRY(
      bsm_cpu_half_results_init(p, epilogue, c->groups, c->co, &c->results));
  if (c->is_matrix) {
    c->results.scale = (float)p->step->params->matrix_multiply.scale;
  }
  plan_blocks(c, p->threads);
  if (c->widens) {
    BSM_TRY(widen_constant(p, c));
    c->a_size =
        bsm_cpu_align((uint64_t)(ROWS * (c->k + ROW_PAD)) * sizeof(float));
  }
  c->half.base.description = bsm_arena_printf(p->arena, "%s %s%s",
                                              c->is_matrix        ? "gemm"
                                              : c->windows.copies ? "im2col"
                                                                  : "indirect",
                                              c->tiles ? "amx_bf16_32x32"
                                              : c->dot ? c->dot->name
                                                       : c->gemm->name,
                                              c->widens ? ", widens" : "");
  BSM_TRY_ALLOC(c->half.base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(
      out, 0,
      c->rows_size + c->a_size +
          (uint64_t)(c->tile_rows * sums_stride(c)) * sizeof(float),
      c->half.base.slots);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r);

bsm_status bsm_cpu_half_product_prepare(const bsm_cpu_prepare *p,
                                        bsm_prepared_step *out) {
  product *c = BSM_NEW(p->arena, product);
  BSM_TRY_ALLOC(c);
  c->half.run = run;
  choose_kernels(p, c);
  BSM_TRY(init_convolution(p, c));
  return finish_prepare(p, c, &p->step->params->convolution.epilogue, out);
}

static bsm_status prepare_matrix(const bsm_cpu_prepare *p,
                                 bsm_prepared_step *out) {
  product *c = BSM_NEW(p->arena, product);
  BSM_TRY_ALLOC(c);
  choose_kernels(p, c);
  init_matrix(p, c);
  return finish_prepare(p, c, &p->step->params->matrix_multiply.epilogue, out);
}

/* ---- run ---- */

typedef bsm_cpu_half_work work;

/* The scratch of a unit, and which part of the product it is. */
typedef struct unit_state {
  const work *w;
  int64_t group, column, columns;
  uint8_t *rows;
  float *a, *sums;
} unit_state;

/* Rows of a matrix, as they are, or copied in whole pairs. */
static const uint8_t *const *find_matrix_rows(const product *c,
                                              const uint8_t *x, int64_t row,
                                              int64_t rows, uint8_t *scratch) {
  const bsm_cpu_matrix_shapes *s = &c->shapes;
  const uint8_t **a = (const uint8_t **)(void *)scratch;
  uint8_t *copy = scratch + bsm_cpu_align(MOST_ROWS * sizeof(uint8_t *));
  int64_t offsets[MOST_ROWS];
  bsm_cpu_rows_offsets(&s->a_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++, copy += c->k * ELEMENT) {
    const uint8_t *from = x + offsets[i] * ELEMENT;
    a[i] = c->copies ? copy : from;
    if (!c->copies) continue;
    uint16_t *to = (uint16_t *)(void *)copy;
    const uint16_t *in = (const uint16_t *)(const void *)from;
    for (int64_t k = 0; k < s->k; k++) to[k] = in[k * s->a_k];
    if (s->k < c->k) to[s->k] = 0;
  }
  return a;
}

/* Widens the rows of a tile, whose taps follow each other. */
static void widen_rows(const product *c, const uint8_t *const *a, int64_t rows,
                       float *to) {
  const int64_t n = c->k / c->taps;
  for (int64_t t = 0; t < c->taps; t++) {
    for (int64_t i = 0; i < rows; i++) {
      c->results.halves.widen((const uint16_t *)(const void *)a[t * rows + i],
                              n, to + i * (c->k + ROW_PAD) + t * n);
    }
  }
}

/* The sums of `n` columns from `column` on, from widened operands. */
static void multiply_floats(const unit_state *u, int64_t rows, int64_t column,
                            int64_t n) {
  const product *c = u->w->impl;
  const bsm_k_gemm *g = c->gemm;
  const float *a[ROWS];
  float *sums[ROWS];
  const int64_t width = n > BSM_K_PANEL ? g->columns : BSM_K_PANEL;
  bsm_k_gemm_fn *const *kernels = n <= BSM_K_HALF_PANEL ? g->half
                                  : n <= BSM_K_PANEL    ? g->single
                                                        : g->full;
  bsm_k_gemm_args t = {.taps = 1, .kc = c->k, .b_panel = c->k * BSM_K_PANEL};
  const int64_t first = u->group * bsm_cpu_div_up(c->co, BSM_PANEL);
  for (int64_t i = 0; i < rows; i++) a[i] = u->a + i * (c->k + ROW_PAD);
  for (int64_t j = 0; j < n; j += width) {
    t.b = c->widened + (first + (column + j) / BSM_PANEL) * c->k * BSM_PANEL;
    t.n = bsm_cpu_min(width, n - j);
    for (int64_t row = 0, count; row < rows; row += count) {
      count = bsm_cpu_min(g->max_rows, rows - row);
      for (int64_t i = 0; i < count; i++) {
        sums[i] = u->sums + (row + i) * COLUMNS + j;
      }
      t.a = a + row;
      t.c = sums;
      kernels[count - 1](&t);
    }
  }
}

static void multiply_pairs(const unit_state *u, const uint8_t *const *a,
                           int64_t rows, int64_t column, int64_t n) {
  const product *c = u->w->impl;
  const int64_t panel = c->k * ELEMENT * BSM_PANEL;
  const int64_t first =
      u->group * bsm_cpu_div_up(c->co, BSM_PANEL) + column / BSM_PANEL;
  c->dot->tile(&(bsm_k_int8_tile){.a = a,
                                  .rows = rows,
                                  .taps = c->taps,
                                  .groups = c->k * ELEMENT / PAIR / c->taps,
                                  .b = (const int8_t *)c->b + first * panel,
                                  .b_panel = panel,
                                  .panels = bsm_cpu_div_up(n, BSM_PANEL),
                                  .sums = (int32_t *)(void *)u->sums});
}

/* The sums of all columns of the unit, of rows that are evenly apart. */
static void multiply_tiles(const unit_state *u, const uint8_t *a,
                           int64_t rows) {
  const product *c = u->w->impl;
  const int64_t panel = c->k * ELEMENT * BSM_PANEL;
  const int64_t first =
      u->group * bsm_cpu_div_up(c->co, BSM_PANEL) + u->column / BSM_PANEL;
  c->tiles(
      &(bsm_k_half_rows){.a = a,
                         .a_stride = c->stride ? c->stride : c->k * ELEMENT,
                         .rows = rows,
                         .taps = 1,
                         .groups = c->k * ELEMENT / PAIR,
                         .b = (const int8_t *)c->b + first * panel,
                         .b_panel = panel,
                         .panels = bsm_cpu_div_up(u->columns, BSM_PANEL),
                         .sums = u->sums,
                         .sums_stride = sums_stride(c)});
}

typedef struct row_pointers {
  uint16_t *y[MOST_ROWS];
  const uint16_t *residual[MOST_ROWS];
} row_pointers;

static void point_to_rows(const unit_state *u, int64_t row, int64_t rows,
                          row_pointers *out) {
  const work *w = u->w;
  const product *c = w->impl;
  const int64_t map = u->group * c->co;
  int64_t offsets[MOST_ROWS];
  bsm_cpu_rows_offsets(&c->y_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) out->y[i] = w->y + offsets[i] + map;
  if (!c->has_residual) return;
  bsm_cpu_rows_offsets(&c->residual_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) {
    out->residual[i] = w->residual + offsets[i] + map;
  }
}

static void finish(const unit_state *u, const row_pointers *p, int64_t rows,
                   int64_t column, int64_t n) {
  const product *c = u->w->impl;
  bsm_cpu_half_results_store(
      &c->results, &(bsm_cpu_half_block){.sums = u->sums,
                                         .sums_stride = sums_stride(c),
                                         .rows = rows,
                                         .group = u->group,
                                         .column = column,
                                         .columns = n,
                                         .y = p->y,
                                         .residual = p->residual});
}

static void run_tile(const unit_state *u, int64_t row, int64_t rows) {
  const work *w = u->w;
  const product *c = w->impl;
  const uint8_t *x = (const uint8_t *)w->x + u->group * c->ci * ELEMENT;
  const uint8_t *const *a =
      c->is_matrix
          ? find_matrix_rows(c, x, row, rows, u->rows)
          : bsm_cpu_byte_windows_find(&c->windows, x, row, rows, u->rows);
  row_pointers pointers;
  point_to_rows(u, row, rows, &pointers);
  if (c->tiles) {
    multiply_tiles(u, a[0], rows);
    finish(u, &pointers, rows, u->column, u->columns);
    return;
  }
  if (c->widens) widen_rows(c, a, rows, u->a);
  const int64_t end = u->column + u->columns;
  for (int64_t j = u->column; j < end; j += COLUMNS) {
    const int64_t n = bsm_cpu_min(COLUMNS, end - j);
    if (c->dot) {
      multiply_pairs(u, a, rows, j, n);
    } else {
      multiply_floats(u, rows, j, n);
    }
    finish(u, &pointers, rows, j, n);
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const product *c = w->impl;
  const int64_t row_blocks = bsm_cpu_div_up(c->rows, c->row_block);
  const int64_t column_blocks = bsm_cpu_div_up(c->co, c->column_block);
  const int64_t first = index % row_blocks * c->row_block;
  const int64_t end = bsm_cpu_min(first + c->row_block, c->rows);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  unit_state u = {
      .w = w,
      .group = index / row_blocks / column_blocks,
      .column = index / row_blocks % column_blocks * c->column_block,
      .rows = scratch};
  u.columns = bsm_cpu_min(c->column_block, c->co - u.column);
  u.a = (float *)(void *)(u.rows + c->rows_size);
  u.sums = u.a + c->a_size / sizeof(float);
  for (int64_t row = first; row < end; row += c->tile_rows) {
    run_tile(&u, row, bsm_cpu_min(c->tile_rows, end - row));
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const product *c = prepared->impl;
  work w = bsm_cpu_half_work_of(prepared, r, c->has_residual);
  bsm_cpu_parallel(r, c->half.base.slots,
                   c->groups * bsm_cpu_div_up(c->co, c->column_block) *
                       bsm_cpu_div_up(c->rows, c->row_block),
                   unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_half_matrix_multiply = {check_matrix, NULL,
                                                   prepare_matrix, run};
