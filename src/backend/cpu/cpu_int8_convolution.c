/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes, channels last: matrix products whose rows
 * are the windows of the output's pixels (cpu_byte_windows.h).
 *
 * A tile of rows passes over all panels of its columns; sums go through a small
 * block, from which the epilogue makes the output. Sums are exact, so nothing
 * depends on how the work is cut. */
#include "backend/cpu/cpu_int8_convolution.h"
#include "aten/tensor.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_int8_relief.h"
#include "backend/cpu/cpu_pack.h"

#define ROWS BSM_K_INT8_MAX_ROWS
#define COLUMNS BSM_K_INT8_MAX_COLUMNS
#define DEPTH BSM_K_INT8_DEPTH
#define GROUP (BSM_PANEL * DEPTH) /* bytes of the kernel */

/* Bytes of the kernel that a unit goes over again and again. */
#define BLOCK_BYTES ((int64_t)512 << 10)

typedef bsm_cpu_int8_convolution convolution;

static bsm_status check_image(const bsm_plan_tensor *t, const char *what) {
  if (bsm_cpu_is_half(t->dtype) || bsm_dtype_is_float8(t->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the %s is %s", what,
                    bsm_dtype_name(t->dtype));
  }
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

/* Scales, biases and offsets, each group of maps in whole panels; or all maps
 * side by side, with as many columns behind them as a kernel reads. */
static bsm_status lay_out_columns(const bsm_cpu_prepare *p, convolution *c) {
  const float *scale = bsm_cpu_weights(p, 1);
  const int32_t *offset = bsm_cpu_weights(p, 2);
  const int64_t maps = c->groups * c->co;
  const size_t count = (size_t)(c->groups * c->width + COLUMNS);
  float *to = BSM_NEW_ARRAY(p->arena, float, 2 * count);
  int32_t *offsets = BSM_NEW_ARRAY(p->arena, int32_t, count);
  if (!to || !offsets) return BSM_FAIL_OOM();
  for (int64_t o = 0; o < maps; o++) {
    const int64_t at = o / c->co * c->width + o % c->co;
    to[at] = scale[o];
    to[(int64_t)count + at] = scale[maps + o];
    offsets[at] = offset[o];
  }
  c->scale = to;
  c->bias = to + count;
  c->offset = offsets;
  return BSM_OK;
}

/* What is cut into blocks of columns, one for each of `sets` groups. */
typedef struct columns {
  int64_t sets, maps;
  int64_t step;  /* computed at once */
  int64_t bytes; /* of the kernel for a step */
} columns;

static columns columns_of(const convolution *c) {
  return c->together ? (columns){1, c->groups * c->co, c->together * c->co,
                                 c->together * c->panel}
                     : (columns){c->groups, c->co, COLUMNS,
                                 COLUMNS / BSM_PANEL * c->panel};
}

static int64_t tile_rows(const convolution *c) {
  return c->product->levels ? ROWS : BSM_K_INT8_ROWS;
}

/* Columns whose part of the kernel stays in the second-level cache, and rows in
 * as many units as keep the threads busy. */
static void plan_blocks(convolution *c, int threads) {
  const columns all = columns_of(c);
  const int64_t steps = bsm_cpu_max(1, BLOCK_BYTES / all.bytes);
  c->column_block =
      bsm_cpu_min(steps * all.step, bsm_cpu_round_up(all.maps, all.step));
  const int64_t rows = c->tiles ? 2 * c->tiling.rows : tile_rows(c);
  c->row_block = bsm_cpu_round_up(c->rows, rows);
  if (threads == 1) return;
  const int64_t wanted = 4 * (int64_t)threads;
  int64_t blocks = all.sets * bsm_cpu_div_up(all.maps, c->column_block);
  const int64_t tiles = bsm_cpu_div_up(c->rows, rows);
  const int64_t parts =
      bsm_cpu_max(1, bsm_cpu_min(tiles, bsm_cpu_div_up(wanted, blocks)));
  c->row_block = bsm_cpu_div_up(tiles, parts) * rows;
  blocks *= parts;
  while (blocks < wanted && c->column_block >= 2 * all.step) {
    c->column_block = bsm_cpu_round_up(c->column_block / 2, all.step);
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
  /* Tiles of few columns are half empty, and their windows are copied. */
  const bool narrow = c->groups > 1 && c->co <= BSM_PANEL;
  if ((p->isa & BSM_K_ISA_AMX) && !c->depthwise && !narrow) {
    c->tiles = c->kernels->tiles;
  }
  c->kernel = bsm_cpu_weights(p, 0);
  c->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  BSM_TRY(bsm_cpu_byte_windows_init(p, &params->window, c->ci,
                                    (uint8_t)c->params->x_zero, c->depthwise,
                                    &c->windows));
  /* A panel of sums is stored for each group: the last one has to fit. */
  if (narrow && c->co > 0 && !c->windows.copies) {
    c->together = BSM_PANEL / c->co + 1;
  }
  c->panel = c->windows.depth * BSM_PANEL;
  c->width = c->together ? c->co : bsm_cpu_round_up(c->co, COLUMNS);
  return BSM_OK;
}

static bsm_cpu_int8_matrix matrix_of(const convolution *c) {
  const int64_t taps = c->windows.copies ? 1 : c->windows.taps;
  return (bsm_cpu_int8_matrix){
      .b = c->kernel,
      .panels = c->groups * bsm_cpu_div_up(c->co, BSM_PANEL),
      .taps = taps,
      .groups = c->windows.depth / DEPTH / taps};
}

/* Adds to an offset what sums of masked bytes lack; w: the first weight. */
static void add_lack(const int8_t *w, int64_t n, int64_t stride,
                     int32_t *offset) {
  uint32_t sum = (uint32_t)*offset; /* modulo 2^32 */
  for (int64_t k = 0; k < n; k++) {
    sum += (uint32_t)BSM_K_INT8_LACK(w[k * stride]);
  }
  *offset = (int32_t)sum;
}

/* The same of bytes i of groups, each column's of a packed matrix. */
static void add_lacks(const bsm_cpu_int8_matrix *m, convolution *c) {
  const int64_t panels = m->panels / c->groups, groups = m->taps * m->groups;
  for (int64_t i = 0; i < DEPTH * c->groups * c->co; i++) {
    const int64_t group = i / DEPTH / c->co, column = i / DEPTH % c->co;
    const int8_t *b = m->b +
                      (group * panels + column / BSM_PANEL) * groups * GROUP +
                      column % BSM_PANEL * DEPTH;
    add_lack(b + i % DEPTH, groups, GROUP,
             c->offset + group * c->width + column);
  }
}

static void plan_depthwise(convolution *c) {
  c->by_fours = c->product->depthwise && c->co >= COLUMNS &&
                c->windows.taps <= BSM_K_INT8_MAX_TAPS;
  for (int64_t i = 0; c->by_fours && c->product->split && i < c->co; i++) {
    add_lack(c->kernel + i, c->windows.taps, bsm_cpu_round_up(c->co, BSM_PANEL),
             c->offset + i);
  }
}

/* Sums of several groups in int16, masked bytes, or Winograd's algorithm. */
static bsm_status plan_levels(const bsm_cpu_prepare *p, convolution *c,
                              uint64_t *scratch) {
  const bsm_cpu_int8_matrix matrix = matrix_of(c);
  const bsm_cpu_int8_level level =
      bsm_cpu_int8_best_level(&matrix, c->rows, c->co);
  BSM_TRY(bsm_cpu_int8_plan_winograd(p, level.time, c, scratch));
  if (c->winograd.kernels) return BSM_OK;
  c->level = level.level;
  BSM_TRY(bsm_cpu_relieve_int8(&matrix, level.level, p->arena, &c->split));
  if (c->level == BSM_K_INT8_MASKED) {
    add_lacks(&matrix, c);
    c->panel *= 2;
  }
  if (c->split.rest.pieces) {
    *scratch += (uint64_t)((c->rows > 8 ? 32 : 16) * c->windows.depth);
  }
  return BSM_OK;
}

/* Makes the kernel smaller where sums of the product saturate. */
static bsm_status plan_sums(const bsm_cpu_prepare *p, convolution *c,
                            uint64_t *scratch) {
  if (c->depthwise) plan_depthwise(c);
  if (c->depthwise || !c->product->split) return BSM_OK;
  if (c->product->levels) {
    BSM_TRY(plan_levels(p, c, scratch));
  } else {
    const bsm_cpu_int8_matrix matrix = matrix_of(c);
    BSM_TRY(
        bsm_cpu_split_int8(&matrix, c->product->split, p->arena, &c->split));
  }
  if (!c->winograd.kernels) c->kernel = c->split.b;
  return BSM_OK;
}

static const char *way(const convolution *c) {
  if (c->depthwise) return "depthwise";
  if (c->winograd.kernels) return "winograd";
  const bool copies = c->tiles ? c->tiling.copies : c->windows.copies;
  return copies ? "im2col" : c->tiles ? "direct" : "indirect";
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  BSM_TRY(init(p, c));
  BSM_TRY(lay_out_columns(p, c));
  c->windows_size = bsm_cpu_byte_windows_scratch(&c->windows, ROWS);
  uint64_t scratch = c->windows_size + 2 * ROWS * COLUMNS * sizeof(float);
  if (c->tiles) {
    scratch = bsm_cpu_int8_plan_tiles(c);
  } else {
    BSM_TRY(plan_sums(p, c, &scratch));
  }
  plan_blocks(c, p->threads);
  c->is_tame = bsm_cpu_int8_is_tame(c);
  c->base.description = bsm_arena_printf(
      p->arena, "%s %s", way(c), c->tiles ? c->tiles->name : c->product->name);
  BSM_TRY_ALLOC(c->base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, scratch, c->base.slots);
}

/* ---- run ---- */

static void multiply_maps(const convolution *c, const uint8_t *const *a,
                          int64_t rows, int64_t column, int64_t n,
                          bsm_k_int8_depthwise_kernel *kernel, int32_t *sums) {
  kernel(&(bsm_k_int8_depthwise){.a = a,
                                 .rows = rows,
                                 .taps = c->windows.taps,
                                 .column = column,
                                 .n = n,
                                 .w = c->kernel,
                                 .w_tap = bsm_cpu_round_up(c->co, BSM_PANEL),
                                 .offset = c->offset + column,
                                 .sums = sums});
}

/* The last maps are computed with some before them. Returns where the sums of
 * the first of the `n` columns are. */
static int32_t *multiply_depthwise(const convolution *c,
                                   const uint8_t *const *a, int64_t rows,
                                   int64_t column, int64_t n, int32_t *sums) {
  const int64_t first = c->by_fours ? column + n - COLUMNS : column;
  multiply_maps(c, a, rows, first, column + n - first,
                c->by_fours ? c->product->depthwise : c->kernels->depthwise,
                sums);
  return sums + column - first;
}

/* Rows of a tile. What is arranged is behind the sums and the block of floats.
 */
static bsm_k_int8_tile tile_of(const convolution *c, const uint8_t *const *a,
                               int64_t rows, int32_t *sums) {
  const int64_t taps = c->windows.copies ? 1 : c->windows.taps;
  return (bsm_k_int8_tile){.a = a,
                           .rows = rows,
                           .taps = taps,
                           .groups = c->windows.depth / DEPTH / taps,
                           .b_panel = c->panel,
                           .level = c->level,
                           .arranged = (uint8_t *)(sums + 2 * ROWS * COLUMNS)};
}

static void point_to_group(const convolution *c, int64_t group, int64_t column,
                           bsm_k_int8_tile *t) {
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  const int64_t first = group * panels + column / BSM_PANEL;
  const int64_t unit = c->product->levels ? 1 : c->product->split;
  t->b = c->kernel + first * t->b_panel;
  t->offset = c->offset + group * c->width + column;
  t->rest = c->split.rest;
  if (t->rest.first) t->rest.first += first * BSM_PANEL / unit;
}

static void arrange(const convolution *c, bsm_k_int8_tile *t, int64_t group) {
  if (!c->split.rest.pieces) return;
  point_to_group(c, group, 0, t);
  c->product->arrange(t);
}

/* The sums of `n` columns, at most COLUMNS. */
static int32_t *multiply(const convolution *c, bsm_k_int8_tile *t,
                         int64_t group, int64_t column, int64_t n,
                         int32_t *sums) {
  if (c->depthwise) {
    return multiply_depthwise(c, t->a, t->rows, column, n, sums);
  }
  point_to_group(c, group, column, t);
  t->panels = bsm_cpu_div_up(n, BSM_PANEL);
  t->sums = sums;
  c->product->tile(t);
  return sums;
}

static void tile(const bsm_cpu_int8_work *w, const bsm_cpu_int8_part *part,
                 int64_t row, int64_t rows, uint8_t *scratch) {
  const convolution *c = w->c;
  int32_t *sums = (int32_t *)(void *)(scratch + c->windows_size);
  const uint8_t *const *a = bsm_cpu_byte_windows_find(
      &c->windows, w->x + part->group * c->ci, row, rows, scratch);
  bsm_k_int8_tile t = tile_of(c, a, rows, sums);
  arrange(c, &t, part->group);
  bsm_cpu_int8_results results;
  results.count = 0;
  bsm_cpu_int8_point_to_results(w, row, rows, part->group * c->co, &results);
  const int64_t end = part->column + part->columns;
  for (int64_t j = part->column; j < end; j += COLUMNS) {
    const int64_t n = bsm_cpu_min(COLUMNS, end - j);
    const int32_t *made = multiply(c, &t, part->group, j, n, sums);
    bsm_cpu_int8_finish(c, &results, part->group, j, n, rows, made,
                        (float *)(void *)(sums + ROWS * COLUMNS));
  }
}

/* Groups of few maps: windows are found once for all of them. */
static void tile_of_groups(const bsm_cpu_int8_work *w,
                           const bsm_cpu_int8_part *part, int64_t row,
                           int64_t rows, uint8_t *scratch) {
  const convolution *c = w->c;
  int32_t *sums = (int32_t *)(void *)(scratch + c->windows_size);
  int64_t group = part->column / c->co;
  const uint8_t **a = (const uint8_t **)(void *)scratch;
  bsm_cpu_byte_windows_find(&c->windows, w->x + group * c->ci, row, rows,
                            scratch);
  bsm_cpu_int8_results results;
  results.count = 0;
  bsm_cpu_int8_point_to_results(w, row, rows, 0, &results);
  const int64_t end = part->column + part->columns;
  const int64_t step = c->together * c->co;
  bsm_k_int8_tile t = tile_of(c, a, rows, sums);
  for (int64_t j = part->column; j < end; j += step) {
    const int64_t n = bsm_cpu_min(step, end - j);
    for (int64_t k = 0; k < n; k += c->co, group++) {
      arrange(c, &t, group);
      multiply(c, &t, group, 0, c->co, sums + k);
      for (int64_t i = 0; i < c->windows.taps * rows; i++) a[i] += c->ci;
    }
    bsm_cpu_int8_finish(c, &results, 0, j, n, rows, sums,
                        (float *)(void *)(sums + ROWS * COLUMNS));
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_int8_work *w = arg;
  const convolution *c = w->c;
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  if (c->winograd.kernels) {
    bsm_cpu_int8_run_winograd(w, index, scratch);
    return;
  }
  const int64_t maps = columns_of(c).maps;
  const int64_t row_blocks = bsm_cpu_div_up(c->rows, c->row_block);
  const int64_t column_blocks = bsm_cpu_div_up(maps, c->column_block);
  const int64_t first = index % row_blocks * c->row_block;
  const int64_t column = index / row_blocks % column_blocks * c->column_block;
  const bsm_cpu_int8_part part = {
      .group = index / row_blocks / column_blocks,
      .row = first,
      .row_end = bsm_cpu_min(first + c->row_block, c->rows),
      .column = column,
      .columns = bsm_cpu_min(c->column_block, maps - column)};
  if (c->tiles) {
    bsm_cpu_int8_run_tiles(w, &part, scratch);
    return;
  }
  for (int64_t row = first, n; row < part.row_end; row += n) {
    n = bsm_cpu_min(tile_rows(c), part.row_end - row);
    (c->together ? tile_of_groups : tile)(w, &part, row, n, scratch);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  bsm_cpu_int8_work w = {
      .c = c,
      .x = bsm_cpu_input_address(prepared, r, 0),
      .y = bsm_cpu_output_address(prepared, r, 0),
      .residual =
          c->has_residual ? bsm_cpu_input_address(prepared, r, 1) : NULL,
      .scratch = r->scratch,
      .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  const columns all = columns_of(c);
  const int64_t units = c->winograd.kernels
                            ? bsm_cpu_int8_winograd_units(c)
                            : all.sets *
                                  bsm_cpu_div_up(all.maps, c->column_block) *
                                  bsm_cpu_div_up(c->rows, c->row_block);
  bsm_cpu_parallel(r, c->base.slots, units, unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_INT8_CONVOLUTION = {check, NULL, prepare, run};
