/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes, channels last: matrix products whose rows
 * are the windows of the output's pixels (cpu_byte_windows.h).
 *
 * A tile of rows passes over all panels of its columns; sums go through a small
 * block, from which the epilogue makes the output. Sums are exact, so nothing
 * depends on how the work is cut. */
#include <string.h>

#include "backend/cpu/cpu_byte_windows.h"
#include "backend/cpu/cpu_int8_split.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/int8/int8.h"

#define ROWS BSM_K_INT8_MAX_ROWS
#define COLUMNS BSM_K_INT8_MAX_COLUMNS
#define DEPTH BSM_K_INT8_DEPTH

/* Bytes of the kernel that a unit goes over again and again. */
#define BLOCK_BYTES ((int64_t)512 << 10)

typedef struct convolution {
  bsm_cpu_impl base;
  const bsm_k_int8 *kernels;
  const bsm_k_int8_product *product;
  const bsm_step_int8_convolution *params;
  bsm_cpu_byte_windows windows;
  bsm_cpu_rows y_rows, residual_rows; /* pixels */
  bool has_residual, residual_is_float, y_is_float;
  bool depthwise;
  int64_t rows, groups, ci, co;
  const int8_t *kernel;
  bsm_cpu_int8_split split; /* its halved pairs, where the product needs that */
  const float *scale, *bias; /* [groups][panels of a group][16] */
  const int32_t *offset;
  bsm_cpu_epilogue epilogue;
  int64_t row_block, column_block;
  uint64_t windows_size; /* bytes of scratch */
} convolution;

static bsm_status check_image(const bsm_plan_tensor *t, const char *what) {
  if (t->dims.d[1] <= 1 || t->strides[1] == 1) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "the channels of the %s are %lld apart", what,
                  (long long)t->strides[1]);
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *p = &step->params->int8_convolution.convolution;
  uint64_t size;
  BSM_TRY(bsm_check_int8_convolution(plan, step));
  BSM_TRY(check_image(bsm_step_input(plan, step, 0), "input"));
  BSM_TRY(check_image(bsm_step_output(plan, step, 0), "output"));
  if (p->epilogue.has_residual) {
    BSM_TRY(check_image(bsm_step_input(plan, step, 1), "residual"));
  }
  BSM_TRY(bsm_cpu_packed_int8_size(p, bsm_step_input(plan, step, 0)->dims.d[1],
                                   &size));
  return bsm_check_weights(plan, step, 0, size);
}

/* ---- prepare ---- */

static void pixel_rows(bsm_cpu_rows *rows, const bsm_image *i) {
  bsm_cpu_rows_init(
      rows, 4, (int64_t[]){i->n, i->size[0], i->size[1], i->size[2]},
      (int64_t[]){i->n_stride, i->stride[0], i->stride[1], i->stride[2]});
}

/* Scales, biases and offsets, each group of maps in whole panels. */
static bsm_status lay_out_columns(const bsm_cpu_prepare *p, convolution *c) {
  const float *scale = bsm_cpu_weights(p, 1);
  const int32_t *offset = bsm_cpu_weights(p, 2);
  const int64_t maps = c->groups * c->co;
  const int64_t width = bsm_cpu_round_up(c->co, COLUMNS);
  const size_t count = (size_t)(c->groups * width);
  float *to = BSM_NEW_ARRAY(p->arena, float, 2 * count);
  int32_t *offsets = BSM_NEW_ARRAY(p->arena, int32_t, count);
  if (!to || !offsets) return BSM_FAIL_OOM();
  for (int64_t o = 0; o < maps; o++) {
    const int64_t at = o / c->co * width + o % c->co;
    to[at] = scale[o];
    to[(int64_t)count + at] = scale[maps + o];
    offsets[at] = offset[o];
  }
  c->scale = to;
  c->bias = to + count;
  c->offset = offsets;
  return BSM_OK;
}

/* Columns whose part of the kernel stays in the second-level cache, and rows in
 * as many units as keep the threads busy. */
static void plan_blocks(convolution *c, int threads) {
  const int64_t pairs =
      bsm_cpu_max(1, BLOCK_BYTES / (c->windows.depth * COLUMNS));
  c->column_block =
      bsm_cpu_min(pairs * COLUMNS, bsm_cpu_round_up(c->co, COLUMNS));
  c->row_block = bsm_cpu_round_up(c->rows, ROWS);
  if (threads == 1) return;
  const int64_t wanted = 4 * (int64_t)threads;
  int64_t blocks = c->groups * bsm_cpu_div_up(c->co, c->column_block);
  const int64_t tiles = bsm_cpu_div_up(c->rows, ROWS);
  const int64_t parts =
      bsm_cpu_max(1, bsm_cpu_min(tiles, bsm_cpu_div_up(wanted, blocks)));
  c->row_block = bsm_cpu_div_up(tiles, parts) * ROWS;
  blocks *= parts;
  while (blocks < wanted && c->column_block >= 2 * COLUMNS) {
    c->column_block = bsm_cpu_round_up(c->column_block / 2, COLUMNS);
    blocks *= 2;
  }
}

static bsm_status init(const bsm_cpu_prepare *p, convolution *c) {
  c->params = &p->step->params->int8_convolution;
  const bsm_step_convolution *params = &c->params->convolution;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int32_t spatial = params->window.spatial;
  c->base.slots = p->threads;
  c->kernels = bsm_k_int8_select(p->isa);
  c->product = c->kernels->vnni_isa && (p->isa & c->kernels->vnni_isa)
                   ? c->kernels->vnni
                   : c->kernels->product;
  const int64_t in_maps = bsm_step_input(p->plan, p->step, 0)->dims.d[1];
  const bsm_image out = bsm_image_of(y, spatial);
  pixel_rows(&c->y_rows, &out);
  c->y_is_float = y->dtype == BSM_DTYPE_FLOAT;
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    const bsm_plan_tensor *r = bsm_step_input(p->plan, p->step, 1);
    const bsm_image residual = bsm_image_of(r, spatial);
    pixel_rows(&c->residual_rows, &residual);
    c->residual_is_float = r->dtype == BSM_DTYPE_FLOAT;
  }
  c->rows = out.n * out.size[0] * out.size[1] * out.size[2];
  c->depthwise = bsm_cpu_is_depthwise(params, in_maps);
  c->groups = c->depthwise ? 1 : params->groups;
  c->ci = in_maps / c->groups;
  c->co = out.c / c->groups;
  c->kernel = bsm_cpu_weights(p, 0);
  c->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  return bsm_cpu_byte_windows_init(p, &params->window, c->ci,
                                   (uint8_t)c->params->x_zero, c->depthwise,
                                   &c->windows);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  BSM_TRY(init(p, c));
  BSM_TRY(lay_out_columns(p, c));
  plan_blocks(c, p->threads);
  if (c->product->split && !c->depthwise) {
    const int64_t taps = c->windows.copies ? 1 : c->windows.taps;
    BSM_TRY(bsm_cpu_split_int8(
        &(bsm_cpu_int8_matrix){
            .b = c->kernel,
            .panels = c->groups * bsm_cpu_div_up(c->co, BSM_PANEL),
            .taps = taps,
            .groups = c->windows.depth / DEPTH / taps},
        c->product->split, p->arena, &c->split));
    c->kernel = c->split.b;
  }
  c->base.description = bsm_arena_printf(p->arena, "%s %s",
                                         c->depthwise        ? "depthwise"
                                         : c->windows.copies ? "im2col"
                                                             : "indirect",
                                         c->product->name);
  BSM_TRY_ALLOC(c->base.description);
  c->windows_size = bsm_cpu_byte_windows_scratch(&c->windows, ROWS);
  out->impl = c;
  return bsm_cpu_set_scratch(
      out, 0, c->windows_size + 2 * ROWS * COLUMNS * sizeof(float),
      c->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const convolution *c;
  const uint8_t *x;
  uint8_t *y;
  const uint8_t *residual;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* The rows of a tile in the output and the residual, at map `map`. */
typedef struct row_pointers {
  float *y[ROWS];
  uint8_t *y_bytes[ROWS];
  const float *residual[ROWS];
  const uint8_t *residual_bytes[ROWS];
} row_pointers;

static void point_to_rows(const work *w, int64_t row, int64_t rows, int64_t map,
                          row_pointers *out) {
  const convolution *c = w->c;
  int64_t offsets[ROWS];
  bsm_cpu_rows_offsets(&c->y_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) {
    out->y[i] = (float *)(void *)w->y + offsets[i] + map;
    out->y_bytes[i] = w->y + offsets[i] + map;
  }
  if (!c->has_residual) return;
  bsm_cpu_rows_offsets(&c->residual_rows, row, (int)rows, offsets);
  for (int64_t i = 0; i < rows; i++) {
    out->residual[i] =
        (const float *)(const void *)w->residual + offsets[i] + map;
    out->residual_bytes[i] = w->residual + offsets[i] + map;
  }
}

/* The epilogue of `n` columns from `column` of the group on. An activation that
 * is no clamp is computed on floats, in `block`. */
static void finish(const convolution *c, const row_pointers *p, int64_t group,
                   int64_t column, int64_t n, int64_t rows, const int32_t *sums,
                   float *block) {
  const int64_t at = group * bsm_cpu_round_up(c->co, COLUMNS) + column;
  const bsm_step_int8_convolution *q = c->params;
  const bool activates = c->epilogue.activation != NULL;
  float *blocks[ROWS];
  bsm_k_int8_finish f = {
      .sums = sums,
      .rows = rows,
      .n = n,
      .offset = c->offset + at,
      .scale = c->scale + at,
      .bias = c->bias + at,
      .column = column,
      .y_column = column,
      .residual = c->has_residual && c->residual_is_float ? p->residual : NULL,
      .residual_bytes =
          c->has_residual && !c->residual_is_float ? p->residual_bytes : NULL,
      .residual_scale = (float)q->residual_scale,
      .residual_zero = q->residual_zero,
      .lo = c->epilogue.lo,
      .hi = c->epilogue.hi,
      .y = c->y_is_float ? p->y : NULL,
      .y_bytes = p->y_bytes,
      .grid = {(float)q->y_inverse, q->y_zero, q->least, q->greatest}};
  if (!activates) {
    c->kernels->finish(&f);
    return;
  }
  for (int64_t i = 0; i < rows; i++) blocks[i] = block + i * COLUMNS;
  f.y = blocks;
  f.y_column = 0;
  c->kernels->finish(&f);
  for (int64_t i = 0; i < rows; i++) {
    float *v = block + i * COLUMNS;
    c->epilogue.activation(v, c->y_is_float ? p->y[i] + column : v, n,
                           c->epilogue.alpha, c->epilogue.beta);
    if (!c->y_is_float) {
      c->kernels->quantize(v, n, &f.grid, p->y_bytes[i] + column);
    }
  }
}

/* The sums of `n` columns, at most COLUMNS. */
static void multiply(const convolution *c, const uint8_t *const *a,
                     int64_t rows, int64_t group, int64_t column, int64_t n,
                     int32_t *sums) {
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  if (c->depthwise) {
    const bool whole = c->product->depthwise && n == COLUMNS &&
                       c->windows.taps <= BSM_K_INT8_MAX_TAPS;
    (whole ? c->product->depthwise : c->kernels->depthwise)(
        &(bsm_k_int8_depthwise){.a = a,
                                .rows = rows,
                                .taps = c->windows.taps,
                                .column = column,
                                .n = n,
                                .w = c->kernel,
                                .w_tap = panels * BSM_PANEL,
                                .sums = sums});
    return;
  }
  const int64_t panel = c->windows.depth * BSM_PANEL;
  const int64_t taps = c->windows.copies ? 1 : c->windows.taps;
  const int64_t first = group * panels + column / BSM_PANEL;
  bsm_k_int8_rest rest = c->split.rest;
  if (c->product->split) rest.first += first * BSM_PANEL / c->product->split;
  c->product->tile(&(bsm_k_int8_tile){.a = a,
                                      .rows = rows,
                                      .taps = taps,
                                      .groups = c->windows.depth / DEPTH / taps,
                                      .b = c->kernel + first * panel,
                                      .b_panel = panel,
                                      .panels = bsm_cpu_div_up(n, BSM_PANEL),
                                      .sums = sums,
                                      .rest = rest});
}

static void tile(const work *w, int64_t group, int64_t column, int64_t columns,
                 int64_t row, int64_t rows, uint8_t *scratch) {
  const convolution *c = w->c;
  int32_t *sums = (int32_t *)(void *)(scratch + c->windows_size);
  const uint8_t *const *a = bsm_cpu_byte_windows_find(
      &c->windows, w->x + group * c->ci, row, rows, scratch);
  row_pointers pointers;
  point_to_rows(w, row, rows, group * c->co, &pointers);
  for (int64_t j = column; j < column + columns; j += COLUMNS) {
    const int64_t n = bsm_cpu_min(COLUMNS, column + columns - j);
    multiply(c, a, rows, group, j, n, sums);
    finish(c, &pointers, group, j, n, rows, sums,
           (float *)(void *)(sums + ROWS * COLUMNS));
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const convolution *c = w->c;
  const int64_t row_blocks = bsm_cpu_div_up(c->rows, c->row_block);
  const int64_t column_blocks = bsm_cpu_div_up(c->co, c->column_block);
  const int64_t first = index % row_blocks * c->row_block;
  const int64_t end = bsm_cpu_min(first + c->row_block, c->rows);
  const int64_t column = index / row_blocks % column_blocks * c->column_block;
  const int64_t columns = bsm_cpu_min(c->column_block, c->co - column);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  for (int64_t row = first; row < end; row += ROWS) {
    tile(w, index / row_blocks / column_blocks, column, columns, row,
         bsm_cpu_min(ROWS, end - row), scratch);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .residual =
                c->has_residual ? bsm_cpu_input_address(prepared, r, 1) : NULL,
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  const int64_t units = c->groups * bsm_cpu_div_up(c->co, c->column_block) *
                        bsm_cpu_div_up(c->rows, c->row_block);
  bsm_cpu_parallel(r, c->base.slots, units, unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_INT8_CONVOLUTION = {check, NULL, prepare, run};
