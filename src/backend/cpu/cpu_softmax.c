/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and log-softmax.
 *
 * Rows along the axis. Rows of adjacent floats, and columns of floats that lie
 * side by side (an axis that is not the innermost in memory), run in place;
 * others are brought to scratch memory first, in blocks of columns. double has
 * a path of its own; half and bfloat16 compute in float. */
#include <math.h>

#include "backend/cpu/cpu_block.h"
#include "base/isa.h"

#define UNIT 8192 /* elements */
/* Rows up to this length are done as columns, where these go side by side in
 * vectors; and in plain C. */
#define SHORT_ROW 64
#define SHORT_ROW_SCALAR 16
#define FEW_ROWS 16 /* so few are done one by one */
#define NARROW 4    /* columns that are done in place */

typedef enum mode { ROWS, COLUMNS, BLOCKS } mode;

typedef struct softmax {
  bsm_cpu_impl base;
  mode mode;
  bool log;
  const bsm_k_rows *rows;
  bsm_cpu_space space; /* of the rows; 0: output, 1: input */
  bsm_cpu_space axis;
  bsm_cpu_view in, out;
  int64_t n, x_stride, y_stride, unit_rows, width;
} softmax;

static void prepare_blocks(softmax *s, const bsm_plan_tensor *x,
                           const bsm_plan_tensor *y) {
  const bool is_double = bsm_cpu_class_of(x->dtype) == BSM_CPU_F64;
  const bsm_cpu_class piece = is_double ? BSM_CPU_F64 : BSM_CPU_F32;
  const int64_t room = bsm_cpu_max(s->n, BSM_CPU_BLOCK_ROOM);
  s->axis = (bsm_cpu_space){.rank = 1, .operands = 2, .count = s->n};
  s->axis.dims[0] = s->n;
  s->axis.strides[0][0] = s->y_stride;
  s->axis.strides[1][0] = s->x_stride;
  s->in = (bsm_cpu_view){&s->space, &s->axis, 1,       x->dtype,
                         piece,     room,     s->rows, &s->base.elements};
  s->out = (bsm_cpu_view){&s->space, &s->axis, 0,       y->dtype,
                          piece,     room,     s->rows, &s->base.elements};
  s->width = bsm_cpu_block_width(&s->space, &s->axis, 2);
  s->width = bsm_cpu_min(s->width, room / s->n);
  if (is_double) s->width = 1;
}

static mode mode_of(const softmax *s, uint32_t isa, const bsm_plan_tensor *x,
                    const bsm_plan_tensor *y) {
  const bsm_cpu_space *k = &s->space;
  const int32_t last = k->rank - 1;
  if (x->dtype != BSM_DTYPE_FLOAT || y->dtype != BSM_DTYPE_FLOAT) return BLOCKS;
  if (s->x_stride == 1 && s->y_stride == 1) {
    const int64_t most = isa == BSM_ISA_SCALAR ? SHORT_ROW_SCALAR : SHORT_ROW;
    return s->n > most || k->count <= FEW_ROWS ? ROWS : BLOCKS;
  }
  return k->strides[0][last] == 1 && k->strides[1][last] == 1 &&
                 k->dims[last] >= NARROW
             ? COLUMNS
             : BLOCKS;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int32_t axis = p->step->params->softmax.axis;
  softmax *s = BSM_NEW(p->arena, softmax);
  BSM_TRY_ALLOC(s);
  s->base.elements = bsm_cpu_elements_of(p->isa);
  s->base.slots = p->threads;
  s->log = p->step->params->softmax.log != 0;
  s->rows = bsm_k_rows_select(p->isa);
  bsm_plan_tensor rest_x = *x, rest_y = *y;
  rest_x.dims.d[axis] = rest_y.dims.d[axis] = 1;
  bsm_cpu_space_init(&s->space, (const bsm_plan_tensor *[]){&rest_y, &rest_x},
                     2);
  s->n = x->dims.d[axis];
  s->x_stride = x->strides[axis];
  s->y_stride = y->strides[axis];
  if (s->n == 1) s->x_stride = s->y_stride = 1;
  s->mode = mode_of(s, p->isa, x, y);
  s->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, s->n));
  if (s->mode == COLUMNS) s->unit_rows = bsm_cpu_round_up(s->unit_rows, 16);
  uint64_t bytes = 0;
  if (s->mode == BLOCKS && s->n > 0) {
    prepare_blocks(s, x, y);
    s->unit_rows = bsm_cpu_round_up(s->unit_rows, s->width);
    bytes = 2 * bsm_cpu_block_bytes(s->in.room);
  }
  s->base.description = s->mode == ROWS      ? s->rows->name
                        : s->mode == COLUMNS ? "columns"
                                             : "blocks";
  out->impl = s;
  return bsm_cpu_set_scratch(out, 0, bytes, s->base.slots);
}

typedef struct work {
  const softmax *s;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

static void rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const softmax *s = w->s;
  const int64_t first = unit * s->unit_rows;
  const int64_t end = bsm_cpu_min(first + s->unit_rows, s->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&s->space, first, &c);
  for (int64_t i = first; i < end; i++) {
    const float *x = (const float *)(const void *)w->x + c.offset[1];
    float *y = (float *)(void *)w->y + c.offset[0];
    (s->log ? s->rows->log_softmax : s->rows->softmax)(x, y, s->n);
    bsm_cpu_advance(&s->space, &c, 1);
  }
}

static void softmax_f64(const double *x, double *y, int64_t n, bool log_too) {
  double most = x[0], total = 0.0;
  for (int64_t i = 1; i < n; i++) {
    if (!(most >= x[i]) && most == most) most = x[i];
  }
  for (int64_t i = 0; i < n; i++) total += exp(x[i] - most);
  const double l = log(total);
  for (int64_t i = 0; i < n; i++) {
    y[i] = log_too ? x[i] - most - l : exp(x[i] - most) / total;
  }
}

/* A block, whose axis is one piece. */
static void run_block(const work *w, const bsm_cpu_block *block,
                      uint8_t *scratch) {
  const softmax *s = w->s;
  int64_t x_row, y_row;
  bsm_cpu_piece piece = {.most = s->n, .length = s->n, .inner = 1};
  piece.count = s->n;
  bsm_cpu_seek(&s->axis, 0, &piece.at);
  const void *x =
      bsm_cpu_block_load(&s->in, w->x, block, &piece, scratch, &x_row);
  void *y = bsm_cpu_block_place(&s->out, w->y, block, &piece, &y_row);
  void *to = y;
  if (!y) {
    to = scratch + bsm_cpu_block_bytes(s->in.room);
    y_row = block->width;
  }
  if (s->in.piece == BSM_CPU_F64) {
    softmax_f64(x, to, s->n, s->log);
  } else if (block->width == 1) {
    (s->log ? s->rows->log_softmax : s->rows->softmax)(x, to, s->n);
  } else {
    (s->log ? s->rows->log_softmax_columns : s->rows->softmax_columns)(
        x, x_row, to, y_row, s->n, block->width);
  }
  if (!y) bsm_cpu_block_store(&s->out, w->y, block, &piece, to);
}

static void blocks_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const softmax *s = w->s;
  const int64_t first = unit * s->unit_rows;
  const int64_t end = bsm_cpu_min(first + s->unit_rows, s->space.count);
  bsm_cpu_block block;
  for (int64_t i = first; i < end; i += s->width) {
    bsm_cpu_block_seek(&s->space, i, bsm_cpu_min(s->width, end - i), &block);
    run_block(w, &block, w->scratch + (size_t)slot * w->slot_size);
  }
}

static void columns_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const softmax *s = w->s;
  const int64_t first = unit * s->unit_rows;
  const int64_t end = bsm_cpu_min(first + s->unit_rows, s->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&s->space, first, &c);
  for (int64_t i = first; i < end;) {
    const int64_t n = bsm_cpu_min(end - i, bsm_cpu_row_left(&s->space, &c));
    const float *x = (const float *)(const void *)w->x + c.offset[1];
    float *y = (float *)(void *)w->y + c.offset[0];
    (s->log ? s->rows->log_softmax_columns : s->rows->softmax_columns)(
        x, s->x_stride, y, s->y_stride, s->n, n);
    bsm_cpu_advance(&s->space, &c, n);
    i += n;
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const softmax *s = prepared->impl;
  work w = {s, bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0), r->scratch,
            prepared->scratch_size / (size_t)s->base.slots};
  if (s->n == 0) return BSM_OK;
  bsm_cpu_parallel(r, s->base.slots,
                   bsm_cpu_div_up(s->space.count, s->unit_rows),
                   s->mode == ROWS      ? rows_unit
                   : s->mode == COLUMNS ? columns_unit
                                        : blocks_unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_SOFTMAX = {bsm_check_softmax, NULL, prepare, run};
