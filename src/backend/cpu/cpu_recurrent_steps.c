/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of recurrent layers. */
#include "backend/cpu/cpu_recurrent_steps.h"

#include <string.h>

/* A in a matrix with rows `stride` apart. */
typedef struct rows_of_a {
  const float *at;
  int64_t stride;
} rows_of_a;

static void plain_pointers(const void *self, int64_t row, int count,
                           int64_t tap, int64_t taps, const float **a) {
  const rows_of_a *s = self;
  (void)tap;
  (void)taps;
  for (int i = 0; i < count; i++) a[i] = s->at + (row + i) * s->stride;
}

/* Some samples of one step in one direction. */
typedef struct part {
  int64_t direction, step, row, rows;
  uint8_t *scratch;
} part;

/* The step of the sequence that a part is at. */
static int64_t time_of(const bsm_cpu_recurrent_work *w, const part *p) {
  return p->direction ? w->r->length - 1 - p->step : p->step;
}

/* Where the states of the step go in the output. */
static float *output_row(const bsm_cpu_recurrent_work *w, const part *p,
                         int64_t row) {
  const bsm_cpu_recurrent *r = w->r;
  return w->y + time_of(w, p) * r->y_step + row * r->y_row +
         p->direction * r->shape.state;
}

/* Whether a sample is over, or not yet begun, at the part's step. */
static bool is_padding(const bsm_cpu_recurrent_work *w, const part *p,
                       int64_t row) {
  return w->r->lengths && time_of(w, p) >= w->r->lengths[row];
}

static void copy_floats(float *to, const float *from, int64_t n) {
  memmove(to, from, (size_t)n * sizeof(float));
}

static float *cells_of(const bsm_cpu_recurrent_work *w, const part *p) {
  const bsm_cpu_recurrent *r = w->r;
  return w->shared + r->cells + p->direction * r->batch * r->unit_stride;
}

/* Where the cells' results go: the next states, or what is to be projected. */
static float *results_of(const bsm_cpu_recurrent_work *w, const part *p) {
  const bsm_cpu_recurrent *r = w->r;
  if (!r->projects) {
    return bsm_cpu_recurrent_state(w, p->direction, p->step + 1);
  }
  return w->shared + r->unprojected + p->direction * r->batch * r->unit_stride;
}

/* The products of the inputs of the step. */
static const float *inputs_of(const bsm_cpu_recurrent_work *w, const part *p) {
  const bsm_cpu_recurrent *r = w->r;
  const int64_t step =
      time_of(w, p) - bsm_cpu_recurrent_chunk_start(w, p->direction);
  return bsm_cpu_recurrent_products(w, p->direction) +
         step * r->batch * r->shape.columns;
}

/* Writes the states of units unit .. unit + units - 1 to the output; a sample
 * that is over keeps its state. */
static void put_states(const bsm_cpu_recurrent_work *w, const part *p,
                       const float *before, float *after, int64_t stride,
                       int64_t unit, int64_t units, int64_t padded_units) {
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t row = p->row + i, at = row * stride + unit;
    float *y = output_row(w, p, row) + unit;
    if (is_padding(w, p, row)) {
      copy_floats(after + at, before + at, padded_units);
      memset(y, 0, (size_t)units * sizeof(float));
    } else {
      copy_floats(y, after + at, units);
    }
  }
}

/* Panels of units of few samples, products and cells at once. */
static void run_panels(const bsm_cpu_recurrent_work *w, const part *p,
                       int64_t first, int64_t count) {
  const bsm_cpu_recurrent *r = w->r;
  const bsm_cpu_recurrent_shape *s = &r->shape;
  const float *weights = bsm_cpu_recurrent_weights(w, p->direction);
  const float *states = bsm_cpu_recurrent_state(w, p->direction, p->step);
  const float *x = inputs_of(w, p);
  float *cells = cells_of(w, p), *results = results_of(w, p);
  float *dropped = (float *)(void *)(p->scratch + r->gemm_size);
  const int64_t unit = first * BSM_PANEL, column = unit * s->gates;
  const float *all[BSM_K_RECURRENT_ROWS], *in[BSM_K_RECURRENT_ROWS];
  const float *before[BSM_K_RECURRENT_ROWS];
  float *cell[BSM_K_RECURRENT_ROWS], *after[BSM_K_RECURRENT_ROWS];
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t row = p->row + i;
    const bool over = is_padding(w, p, row);
    all[i] = states + row * r->state_stride;
    before[i] = all[i] + unit;
    in[i] = x + row * s->columns + column;
    cell[i] = over ? dropped : cells + row * r->unit_stride + unit;
    after[i] =
        over ? dropped + r->unit_stride : results + row * r->unit_stride + unit;
  }
  const bsm_k_recurrent_step step = {
      .state = s->state,
      .panels = count,
      .backwards = p->step & 1,
      .matrix = weights + s->recurrent + column * s->state,
      .bias = r->is_gru ? weights + s->state_bias + column : NULL,
      .all = all,
      .x = in,
      .before = before,
      .cell = cell,
      .after = after};
  r->fused(&step);
  if (r->projects) return;
  const int64_t units = bsm_cpu_min(count * BSM_PANEL, r->hidden - unit);
  put_states(w, p, states, results, r->unit_stride, unit, units,
             count * BSM_PANEL);
}

/* Block `block` of columns: the product with the state, and the gates. */
static void run_block(const bsm_cpu_recurrent_work *w, const part *p,
                      int64_t block) {
  const bsm_cpu_recurrent *r = w->r;
  const bsm_cpu_recurrent_shape *s = &r->shape;
  const float *weights = bsm_cpu_recurrent_weights(w, p->direction);
  const float *before = bsm_cpu_recurrent_state(w, p->direction, p->step);
  bsm_cpu_gemm gemm = r->from_h;
  gemm.rows = p->rows;
  float *c = (float *)(void *)(p->scratch + r->gemm_size);
  const rows_of_a source = {before + p->row * r->state_stride, r->state_stride};
  const bsm_cpu_rows c_rows = {1, {p->rows}, {r->product_stride}};
  const bsm_cpu_gemm_operands o = {
      .source = &source,
      .pointers = plain_pointers,
      .b = weights + s->recurrent,
      .b_panel = s->state * BSM_PANEL,
      .bias = r->is_gru ? weights + s->state_bias : NULL,
      .c = c,
      .c_rows = &c_rows};
  bsm_cpu_gemm_run(&gemm, &o, block, p->scratch);

  const int64_t column = block * gemm.column_block;
  const int64_t columns = bsm_cpu_min(gemm.column_block, s->columns - column);
  const int64_t unit = column / s->gates,
                panels = columns / s->gates / BSM_PANEL;
  const float *x = inputs_of(w, p);
  float *cells = cells_of(w, p), *results = results_of(w, p);
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t row = p->row + i;
    if (is_padding(w, p, row)) continue;
    r->cell(x + row * s->columns + column, c + i * r->product_stride + column,
            before + row * r->state_stride + unit,
            cells + row * r->unit_stride + unit,
            results + row * r->unit_stride + unit, panels);
  }
  if (r->projects) return;
  put_states(w, p, before, results, r->unit_stride, unit,
             bsm_cpu_min(panels * BSM_PANEL, r->hidden - unit),
             panels * BSM_PANEL);
}

/* Parts of the columns of a direction that can be taken one by one. */
static int64_t count_columns(const bsm_cpu_recurrent *r) {
  return r->fused ? r->shape.panels
                  : bsm_cpu_div_up(r->shape.columns, r->from_h.column_block);
}

/* Forth in one step and back in the next. */
static void run_columns(const bsm_cpu_recurrent_work *w, const part *p,
                        int64_t first, int64_t count) {
  if (w->r->fused) {
    run_panels(w, p, first, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    run_block(w, p, first + (p->step & 1 ? count - 1 - i : i));
  }
}

/* Some blocks of the projections of the states just computed. */
static void run_projection(const bsm_cpu_recurrent_work *w, const part *p,
                           int64_t first, int64_t count) {
  const bsm_cpu_recurrent *r = w->r;
  bsm_cpu_gemm gemm = r->project;
  gemm.rows = p->rows;
  const float *before = bsm_cpu_recurrent_state(w, p->direction, p->step);
  float *after = bsm_cpu_recurrent_state(w, p->direction, p->step + 1);
  const rows_of_a source = {results_of(w, p) + p->row * r->unit_stride,
                            r->unit_stride};
  const bsm_cpu_rows c_rows = {1, {p->rows}, {r->state_stride}};
  const bsm_cpu_gemm_operands o = {
      .source = &source,
      .pointers = plain_pointers,
      .b = bsm_cpu_recurrent_weights(w, p->direction) + r->shape.projection,
      .b_panel = r->hidden * BSM_PANEL,
      .c = after + p->row * r->state_stride,
      .c_rows = &c_rows};
  for (int64_t i = first; i < first + count; i++) {
    bsm_cpu_gemm_run(&gemm, &o, i, p->scratch);
  }
  const int64_t unit = first * gemm.column_block;
  const int64_t units =
      bsm_cpu_min(count * gemm.column_block, r->shape.state - unit);
  put_states(w, p, before, after, r->state_stride, unit, units, units);
}

void bsm_cpu_recurrent_samples(void *arg, int64_t unit, int slot) {
  const bsm_cpu_recurrent_work *w = arg;
  const bsm_cpu_recurrent *r = w->r;
  const int64_t row_blocks = bsm_cpu_div_up(r->batch, r->row_block);
  part p = {.direction = unit / row_blocks,
            .row = unit % row_blocks * r->row_block,
            .scratch = w->scratch + (size_t)slot * w->slot_size};
  p.rows = bsm_cpu_min(r->row_block, r->batch - p.row);
  for (p.step = w->first; p.step < w->first + w->count; p.step++) {
    run_columns(w, &p, 0, count_columns(r));
    if (r->projects) run_projection(w, &p, 0, r->project_blocks);
  }
}

void bsm_cpu_recurrent_columns(void *arg, int64_t unit, int slot) {
  const bsm_cpu_recurrent_work *w = arg;
  const bsm_cpu_recurrent *r = w->r;
  const int64_t tasks = r->directions * r->column_tasks;
  const int64_t phase = unit / tasks, task = unit % tasks;
  const int64_t which = task % r->column_tasks;
  const bool projection = r->projects && phase % 2 == 1;
  const int64_t all = projection ? r->project_blocks : count_columns(r);
  const int64_t first = all * which / r->column_tasks;
  const int64_t count = all * (which + 1) / r->column_tasks - first;
  const part p = {.direction = task / r->column_tasks,
                  .step = w->first + (r->projects ? phase / 2 : phase),
                  .rows = r->batch,
                  .scratch = w->scratch + (size_t)slot * w->slot_size};
  if (count == 0) return;
  if (projection) {
    run_projection(w, &p, first, count);
  } else {
    run_columns(w, &p, first, count);
  }
}
