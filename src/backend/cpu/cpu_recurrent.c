/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: LSTM, GRU and plain RNN, one or two directions.
 *
 * The sequence is taken in chunks of steps. The products of a chunk's inputs
 * are one matrix product over all its steps and samples. Then the steps follow
 * each other: the product of the state with some columns, and at once the
 * gates of the hidden units that these columns belong to (see cpu_recurrent.h
 * for their order). With few samples one kernel does both, panel by panel, at
 * the speed at which the matrix is read; with more, blocks of columns are
 * matrix products whose gates follow while they are in the cache. States are
 * double buffered: a step reads one and writes the other.
 *
 * Directions and samples do not depend on each other, so threads take
 * (direction, samples) and meet once a chunk. Where that leaves threads without
 * work, or has each of them read the whole matrix, they take columns instead:
 * each keeps its part of the matrix in its own cache, and they meet after each
 * step, which costs little as they do not leave the job.
 *
 * A matrix that exceeds the cache would be read anew by every step. Steps pass
 * over the columns in turns from both ends, so that each finds what the one
 * before it read last.
 *
 * Samples of different lengths are padded: behind its end a sample's products
 * are computed and dropped.
 *
 * None of this changes the order in which one element is summed. */
#include "backend/cpu/cpu_recurrent_steps.h"
#include "base/checked.h"

/* Floats of input products in a chunk; at least so many rows. */
#define CHUNK_FLOATS (512 * 1024)
#define CHUNK_ROWS 32
/* Between rows of states and products: no two rows start in one cache set. */
#define ROW_PAD 16
/* Multiply-adds in a nanosecond, with few rows (B from the cache) and many; and
 * what meeting another thread costs, in nanoseconds. For choosing only. */
#define THIN_RATE 20.0
#define FULL_RATE 45.0
#define MEETING 200.0
#define EXCHANGE_RATE 5.0 /* bytes in a nanosecond, from another core */

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  bsm_cpu_recurrent_shape s;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  if (dtype != BSM_DTYPE_FLOAT) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a recurrent step of %s",
                    bsm_dtype_name(dtype));
  }
  BSM_TRY(bsm_check_recurrent(plan, step, dtype));
  BSM_TRY(bsm_cpu_recurrent_shape_of(p, &s));
  return bsm_check_weights(
      plan, step, 0,
      (uint64_t)s.size * sizeof(float) * (uint64_t)p->directions);
}

/* ---- prepare ---- */

static const bsm_k_recurrent_cell *cell_of(const bsm_k_recurrent *k,
                                           int32_t operation) {
  switch ((bsm_recurrent_operation)operation) {
    case BSM_RECURRENT_LSTM:
      return &k->lstm;
    case BSM_RECURRENT_GRU:
      return &k->gru;
    case BSM_RECURRENT_TANH:
      return &k->tanh;
    case BSM_RECURRENT_RELU:
      break;
  }
  return &k->relu;
}

static void set_tensors(const bsm_cpu_prepare *p, bsm_cpu_recurrent *r) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  r->length = x->dims.d[0];
  r->batch = x->dims.d[1];
  bsm_cpu_rows_init(&r->x_rows, 2, x->dims.d, x->strides);
  r->x_k = x->strides[2];
  r->y_step = y->strides[0];
  r->y_row = y->strides[1];
}

/* Does not depend on the threads: the ends of chunks may decide which kernels
 * run, and so the bits. */
static void choose_chunk(bsm_cpu_recurrent *r) {
  const int64_t batch = bsm_cpu_max(1, r->batch);
  const int64_t step = r->directions * batch * r->shape.columns;
  r->chunk =
      bsm_cpu_max(CHUNK_FLOATS / step, bsm_cpu_div_up(CHUNK_ROWS, batch));
  r->chunk = bsm_cpu_max(1, bsm_cpu_min(r->chunk, r->length));
}

static void plan_gemms(const bsm_cpu_prepare *p, bsm_cpu_recurrent *r) {
  const bsm_cpu_gemm base = {
      .kernels = bsm_k_gemm_select(p->isa),
      .epilogue = bsm_cpu_make_epilogue(&(bsm_step_epilogue){0}, NULL),
      .scale = 1.0f,
      .taps = 1};
  const int64_t stride = r->x_rows.strides[r->x_rows.rank - 1];
  r->from_x = r->from_h = r->project = base;
  r->from_x.rows = r->chunk * r->batch;
  r->from_x.columns = r->shape.columns;
  r->from_x.kc = r->input;
  r->from_x.packs = (r->x_k != 1 && r->input > 1) ||
                    (r->from_x.rows > BSM_K_GEMM_MAX_THIN && r->input >= 256 &&
                     stride != 0 && stride % 512 == 0);
  bsm_cpu_gemm_plan(&r->from_x, p->threads, r->directions);
  r->from_h.rows = r->project.rows = r->batch;
  r->from_h.columns = r->shape.columns;
  r->from_h.kc = r->shape.state;
  bsm_cpu_gemm_plan(&r->from_h, 1, 1);
  r->project.columns = r->shape.state;
  r->project.kc = r->hidden;
  bsm_cpu_gemm_plan(&r->project, 1, 1);
}

/* Columns of whole panels of units that a full tile of the kernels divides. */
static int64_t column_grain(const bsm_cpu_recurrent *r) {
  const int64_t columns = r->shape.gates * BSM_PANEL;
  return columns % r->from_h.kernels->columns == 0 ? columns : 2 * columns;
}

/* Whether threads take columns (see above). */
static bool splits_columns(const bsm_cpu_recurrent *r, int threads,
                           int64_t sample_blocks) {
  if (threads == 1) return false;
  const double n = threads, few = r->from_h.thin;
  const double work = (double)(r->directions * r->batch) *
                      (double)r->shape.columns * (double)r->shape.state;
  const double time = work / (few != 0 ? THIN_RATE : FULL_RATE);
  const double tasks = (double)(r->directions * sample_blocks);
  const double rows = (double)bsm_cpu_div_up(r->batch, sample_blocks);
  /* With few rows, less is computed for each weight that is read. */
  const double waste = 1.0 + 4.0 / rows - 4.0 / (double)r->batch;
  const double by_samples = time * waste / (tasks < n ? tasks : n);
  /* Each reads what the others have written of the states. */
  const double states = (double)(r->directions * r->batch * r->shape.state) *
                        sizeof(float) * (n - 1.0) / n / EXCHANGE_RATE;
  const double by_columns =
      time / n + states + MEETING * n * (r->projects ? 2.0 : 1.0);
  return by_columns < 0.9 * by_samples;
}

/* Columns of a block: about `most`, in as many blocks for each of the tasks. */
static int64_t even_block(int64_t all, int64_t tasks, int64_t most,
                          int64_t grain) {
  const int64_t share = bsm_cpu_round_up(bsm_cpu_div_up(all, tasks), grain);
  int64_t block = grain;
  for (int64_t n = bsm_cpu_div_up(share, most); n <= share / grain; n++) {
    block = bsm_cpu_round_up(bsm_cpu_div_up(share, n), grain);
    const int64_t blocks = bsm_cpu_div_up(all, block);
    if (bsm_cpu_div_up(blocks, tasks) * block <= share) return block;
  }
  return block;
}

/* How the steps are cut for the threads. */
static void choose_tasks(const bsm_cpu_prepare *p, bsm_cpu_recurrent *r) {
  const int64_t most = bsm_cpu_div_up(p->threads, r->directions);
  const int64_t batch = bsm_cpu_max(1, r->batch);
  const int64_t blocks = r->fused ? 1 : bsm_cpu_min(most, batch);
  const int64_t grain = column_grain(r);
  const int64_t all = bsm_cpu_round_up(r->shape.columns, grain);
  int64_t columns = bsm_cpu_max(r->from_h.column_block / grain, 1) * grain;
  r->splits_columns = r->batch > 0 && splits_columns(r, p->threads, blocks);
  r->row_block = r->splits_columns ? batch : bsm_cpu_div_up(batch, blocks);
  r->column_tasks = 1;
  if (r->splits_columns) {
    r->column_tasks =
        bsm_cpu_min(most, r->fused ? r->shape.panels : all / grain);
    columns = even_block(all, r->column_tasks, columns, grain);
    r->project.column_block = bsm_cpu_round_up(
        bsm_cpu_div_up(r->shape.state, r->column_tasks), BSM_PANEL);
  }
  r->from_h.column_block = bsm_cpu_min(columns, all);
  r->from_h.row_block = r->project.row_block = r->row_block;
  r->project_blocks = bsm_cpu_div_up(r->shape.state, r->project.column_block);
  r->base.slots = p->threads;
}

/* Places the arrays in the shared scratch memory. */
static bsm_status place_arrays(bsm_cpu_recurrent *r) {
  const int64_t units = r->shape.panels * BSM_PANEL;
  const int64_t d = r->directions, b = r->batch;
  r->unit_stride = units + ROW_PAD;
  r->product_stride = r->shape.columns + ROW_PAD;
  r->state_stride = r->projects
                        ? bsm_cpu_round_up(r->shape.state, BSM_PANEL) + ROW_PAD
                        : r->unit_stride;
  const int64_t sizes[] = {r->state_stride * 2,
                           r->has_cell ? r->unit_stride : 0,
                           r->projects ? r->unit_stride : 0};
  int64_t *const places[] = {&r->states, &r->cells, &r->unprojected};
  int64_t at = 0, size, rows;
  bool ok = bsm_i64_mul(d, b, &rows);
  for (size_t i = 0; ok && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    *places[i] = at;
    ok = bsm_i64_mul(rows, sizes[i], &size) && bsm_i64_add(at, size, &at);
  }
  r->products = at;
  ok = ok && bsm_i64_mul(rows, r->chunk, &rows) &&
       bsm_i64_mul(rows, r->shape.columns, &size) &&
       bsm_i64_add(at, size, &at) && at < INT64_MAX / 64;
  if (!ok) return BSM_FAIL(BSM_LIMIT, "the scratch memory overflows");
  r->shared_size = bsm_cpu_align((uint64_t)at * sizeof(float));
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_recurrent *params = &p->step->params->recurrent;
  const bsm_k_recurrent *kernels = bsm_k_recurrent_select(p->isa);
  bsm_cpu_recurrent *r = BSM_NEW(p->arena, bsm_cpu_recurrent);
  BSM_TRY_ALLOC(r);
  BSM_TRY(bsm_cpu_recurrent_shape_of(params, &r->shape));
  const bsm_k_recurrent_cell *cell = cell_of(kernels, params->operation);
  r->cell = cell->cell;
  r->has_cell = params->operation == BSM_RECURRENT_LSTM;
  r->is_gru = params->operation == BSM_RECURRENT_GRU;
  r->projects = params->projection != 0;
  r->input = params->input;
  r->hidden = params->hidden;
  r->directions = params->directions;
  r->weights = bsm_cpu_weights(p, 0);
  r->lengths = bsm_cpu_weights(p, 1);
  set_tensors(p, r);
  choose_chunk(r);
  plan_gemms(p, r);
  if (r->batch > 0 && r->batch <= BSM_K_RECURRENT_ROWS) {
    r->fused = cell->step[r->batch - 1];
  }
  choose_tasks(p, r);
  BSM_TRY(place_arrays(r));
  const uint64_t sizes[] = {bsm_cpu_gemm_scratch(&r->from_x),
                            bsm_cpu_gemm_scratch(&r->from_h),
                            bsm_cpu_gemm_scratch(&r->project)};
  for (size_t i = 0; i < 3; i++) {
    if (bsm_cpu_align(sizes[i]) > r->gemm_size) {
      r->gemm_size = bsm_cpu_align(sizes[i]);
    }
  }
  /* Where samples that are over put their cells and states, or products. */
  int64_t products = 2 * r->unit_stride;
  if (!r->fused && (!bsm_i64_mul(r->row_block, r->product_stride, &products) ||
                    products > INT64_MAX / 64)) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory overflows");
  }
  r->base.description = bsm_arena_printf(
      p->arena, "%s %s, %lld steps at once%s", r->fused ? "fused" : "gemm",
      kernels->name, (long long)r->chunk,
      r->splits_columns ? ", columns split" : "");
  BSM_TRY_ALLOC(r->base.description);
  out->impl = r;
  return bsm_cpu_set_scratch(
      out, r->shared_size,
      r->gemm_size + bsm_cpu_align((uint64_t)products * sizeof(float)),
      r->base.slots);
}

/* ---- run ---- */

/* A in the sequence: row 0 is (step, sample) number `first`. */
typedef struct rows_of_x {
  const bsm_cpu_recurrent *r;
  const float *x;
  int64_t first;
} rows_of_x;

static void x_pointers(const void *self, int64_t row, int count, int64_t tap,
                       int64_t taps, const float **a) {
  const rows_of_x *s = self;
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  (void)tap;
  (void)taps;
  bsm_cpu_rows_offsets(&s->r->x_rows, s->first + row, count, offsets);
  for (int i = 0; i < count; i++) a[i] = s->x + offsets[i];
}

static void x_pack(const void *self, int64_t row, int count, int64_t k,
                   int64_t length, float *to, int64_t stride) {
  const rows_of_x *s = self;
  const int64_t step = s->r->x_k;
  const float *a[BSM_K_GEMM_MAX_ROWS];
  x_pointers(self, row, count, 0, 1, a);
  for (int i = 0; i < count; i++) {
    const float *from = a[i] + k * step;
    for (int64_t j = 0; j < length; j++) to[i * stride + j] = from[j * step];
  }
}

/* The products of the chunk's inputs: one unit of the matrix product. */
static void input_unit(void *arg, int64_t unit, int slot) {
  const bsm_cpu_recurrent_work *w = arg;
  const bsm_cpu_recurrent *r = w->r;
  bsm_cpu_gemm gemm = r->from_x;
  gemm.rows = w->count * r->batch;
  const int64_t units = bsm_cpu_gemm_units(&gemm), d = unit / units;
  const rows_of_x source = {r, w->x,
                            bsm_cpu_recurrent_chunk_start(w, d) * r->batch};
  const bsm_cpu_rows c_rows = {1, {gemm.rows}, {r->shape.columns}};
  const bsm_cpu_gemm_operands o = {
      .source = &source,
      .pointers = x_pointers,
      .pack = x_pack,
      .b = bsm_cpu_recurrent_weights(w, d),
      .b_panel = r->input * BSM_PANEL,
      .bias = bsm_cpu_recurrent_weights(w, d) + r->shape.bias,
      .c = bsm_cpu_recurrent_products(w, d),
      .c_rows = &c_rows};
  bsm_cpu_gemm_run(&gemm, &o, unit % units,
                   w->scratch + (size_t)slot * w->slot_size);
}

/* Copies [D, B, n] between a tensor and rows of scratch memory. */
static void copy_states(const bsm_cpu_recurrent *r, const bsm_plan_tensor *t,
                        float *tensor, float *rows, int64_t direction_stride,
                        int64_t row_stride, bool in) {
  const int64_t n = t->dims.d[2], k = t->strides[2];
  for (int64_t d = 0; d < r->directions; d++) {
    for (int64_t b = 0; b < r->batch; b++) {
      float *at = tensor + d * t->strides[0] + b * t->strides[1];
      float *row = rows + d * direction_stride + b * row_stride;
      if (in) {
        for (int64_t i = 0; i < n; i++) row[i] = at[i * k];
        for (int64_t i = n; i < row_stride; i++) row[i] = 0.0f;
      } else {
        for (int64_t i = 0; i < n; i++) at[i * k] = row[i];
      }
    }
  }
}

/* The states before the sequence, or those after it. */
static void exchange_states(const bsm_prepared_step *prepared,
                            const bsm_run *run, const bsm_cpu_recurrent_work *w,
                            bool in) {
  const bsm_cpu_recurrent *r = w->r;
  const bsm_plan *plan = prepared->plan;
  const bsm_plan_step *step = prepared->step;
  for (uint32_t i = 1; i < step->input_count; i++) {
    const bool cell = i == 2;
    copy_states(
        r, in ? bsm_step_input(plan, step, i) : bsm_step_output(plan, step, i),
        in ? bsm_cpu_input_address(prepared, run, i)
           : bsm_cpu_output_address(prepared, run, i),
        cell ? w->shared + r->cells
             : bsm_cpu_recurrent_state(w, 0, in ? 0 : r->length),
        cell ? r->batch * r->unit_stride : 2 * r->batch * r->state_stride,
        cell ? r->unit_stride : r->state_stride, in);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *run) {
  const bsm_cpu_recurrent *r = prepared->impl;
  bsm_cpu_recurrent_work w = {
      .r = r,
      .x = bsm_cpu_input_address(prepared, run, 0),
      .weights = r->weights,
      .y = bsm_cpu_output_address(prepared, run, 0),
      .shared = (float *)(void *)run->scratch,
      .scratch = run->scratch + r->shared_size,
      .slot_size = (prepared->scratch_size - (size_t)r->shared_size) /
                   (size_t)r->base.slots};
  if (r->batch == 0) return BSM_OK;
  exchange_states(prepared, run, &w, true);
  for (w.first = 0; w.first < r->length; w.first += r->chunk) {
    w.count = bsm_cpu_min(r->chunk, r->length - w.first);
    bsm_cpu_gemm gemm = r->from_x;
    gemm.rows = w.count * r->batch;
    bsm_cpu_parallel(run, r->base.slots,
                     bsm_cpu_gemm_units(&gemm) * r->directions, input_unit, &w);
    if (r->splits_columns) {
      bsm_parallel_phases(
          bsm_cpu_pool(run), r->base.slots, w.count * (r->projects ? 2 : 1),
          r->directions * r->column_tasks, bsm_cpu_recurrent_columns, &w);
    } else {
      bsm_cpu_parallel(run, r->base.slots,
                       r->directions * bsm_cpu_div_up(r->batch, r->row_block),
                       bsm_cpu_recurrent_samples, &w);
    }
  }
  exchange_states(prepared, run, &w, false);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_RECURRENT = {check, NULL, prepare, run};
