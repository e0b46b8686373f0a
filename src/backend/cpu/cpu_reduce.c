/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any axes.
 *
 * Paths: `rows`, floats whose reduced elements are one contiguous row;
 * `short rows`, the same where there are few of them in each of many rows,
 * which are turned into columns, as a call for each row takes longer than its
 * sum; `columns`, floats with a contiguous kept dimension inside the reduced
 * ones (a spatial mean of a channels-last image), which adds rows of columns in
 * chunks; `truth`, any and all of contiguous rows of bool; `integers`, sums and
 * extremes of contiguous rows of these; `blocks`, anything else. */
#include "backend/cpu/cpu_reduce.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/lanes/lanes.h"

#define UNIT 8192   /* reduced elements of a unit */
#define COLUMNS 64  /* columns of a unit */
#define SUM_ROWS 64 /* rows added in float before they go to double */
/* Shorter rows are done in blocks. */
#define SHORT_ROW 8
/* Rows up to this are turned, TURNED of them at a time. */
#define LONG_ROW 24
#define TURNED 32
#define SHORT_INTEGERS 16

typedef bsm_cpu_reduce reduce;
typedef bsm_cpu_reduce_work work;

/* ---- prepare ---- */

static void swap_operands(bsm_cpu_space *s) {
  for (int32_t i = 0; i < BSM_MAX_RANK; i++) {
    const int64_t t = s->strides[0][i];
    s->strides[0][i] = s->strides[1][i];
    s->strides[1][i] = t;
  }
}

static void make_spaces(reduce *r, const bsm_step_reduce *p,
                        const bsm_plan_tensor *x, const bsm_plan_tensor *y) {
  int32_t at = 0;
  r->kept.operands = r->reduced.operands = 2;
  for (int32_t i = 0; i < x->dims.rank; i++) {
    const bool reduced = p->axes >> i & 1u;
    bsm_cpu_space *s = reduced ? &r->reduced : &r->kept;
    s->dims[s->rank] = x->dims.d[i];
    s->strides[1][s->rank] = x->strides[i];
    /* The order of the reduced dimensions is that of the input. */
    s->strides[0][s->rank] = reduced ? x->strides[i] : y->strides[at];
    s->rank++;
    if (!reduced || p->keep_dims) at++;
  }
  bsm_cpu_space_reduce(&r->reduced, true);
  /* There is more to read than to write: in the order of the input. */
  swap_operands(&r->kept);
  bsm_cpu_space_reduce(&r->kept, true);
  swap_operands(&r->kept);
}

static bool is_summed(int32_t operation) {
  return operation == BSM_REDUCE_SUM || operation == BSM_REDUCE_AVG;
}

/* Truth values are only counted. */
static bool has_integer_rows(const reduce *r) {
  const bsm_cpu_space *d = &r->reduced;
  if (r->accumulate != BSM_CPU_I64 || d->rank != 1 || d->strides[1][0] != 1 ||
      d->count < SHORT_INTEGERS || bsm_cpu_class_of(r->to) != BSM_CPU_I64) {
    return false;
  }
  if (r->operation == BSM_REDUCE_SUM) return true;
  return (r->operation == BSM_REDUCE_MAX || r->operation == BSM_REDUCE_MIN) &&
         r->from != BSM_DTYPE_BOOL;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_reduce *params = &p->step->params->reduce;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  reduce *r = BSM_NEW(p->arena, reduce);
  BSM_TRY_ALLOC(r);
  r->base.elements = bsm_cpu_elements_of(p->isa);
  r->base.slots = p->threads;
  r->operation = params->operation;
  r->correction = params->correction;
  r->from = x->dtype;
  r->to = y->dtype;
  r->rows = bsm_k_rows_select(p->isa);
  r->accumulate = bsm_cpu_is_integral(bsm_cpu_class_of(x->dtype)) &&
                          bsm_cpu_is_integral(bsm_cpu_class_of(y->dtype))
                      ? BSM_CPU_I64
                      : BSM_CPU_F64;
  make_spaces(r, params, x, y);
  const bool floats =
      x->dtype == BSM_DTYPE_FLOAT && y->dtype == BSM_DTYPE_FLOAT;
  const bsm_cpu_space *k = &r->kept, *d = &r->reduced;
  const bool extreme =
      r->operation == BSM_REDUCE_MAX || r->operation == BSM_REDUCE_MIN;
  const bool squares =
      r->operation == BSM_REDUCE_VARIANCE || r->operation == BSM_REDUCE_L2;
  uint64_t bytes = 0;
  const bool short_rows = d->count <= SHORT_ROW && k->count > SHORT_ROW;
  if (floats && d->rank == 1 && d->strides[1][0] == 1 && d->count > 0 &&
      !short_rows && (is_summed(r->operation) || extreme || squares)) {
    const bool turned =
        d->count <= LONG_ROW && k->dims[k->rank - 1] >= TURNED / 2;
    r->mode = turned ? BSM_CPU_REDUCE_SHORT_ROWS : BSM_CPU_REDUCE_ROWS;
  } else if (floats && k->strides[1][k->rank - 1] == 1 &&
             k->strides[0][k->rank - 1] == 1 && k->dims[k->rank - 1] >= 8 &&
             d->count > 0 && (is_summed(r->operation) || squares || extreme)) {
    r->mode = BSM_CPU_REDUCE_COLUMNS;
  } else if (x->dtype == BSM_DTYPE_BOOL && y->dtype == BSM_DTYPE_BOOL &&
             d->rank == 1 && (d->strides[1][0] == 1 || d->count == 1) &&
             (r->operation == BSM_REDUCE_ANY ||
              r->operation == BSM_REDUCE_ALL)) {
    r->mode = BSM_CPU_REDUCE_TRUTH;
  } else if (has_integer_rows(r)) {
    r->mode = BSM_CPU_REDUCE_INTEGERS;
  } else {
    r->mode = BSM_CPU_REDUCE_BLOCKS;
    bsm_cpu_reduce_prepare_blocks(r, &bytes);
  }
  static const char *const descriptions[] = {"rows",  "short rows", "columns",
                                             "truth", "integers",   "blocks"};
  r->base.description = descriptions[r->mode];
  r->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, d->count));
  out->impl = r;
  return bsm_cpu_set_scratch(out, 0, bytes, r->base.slots);
}

/* ---- run: variances of floats ---- */

/* Whether a mean of floats is too coarse for squares of distances from it, as
 * its rounding is not small beside them. */
static bool is_far(double squares, double mean, int64_t n) {
  return squares > 0.0 && squares < 6e-8 * mean * mean * (double)n;
}

/* The sum of x, or of squares of distances from a mean, in double. */
static double sum_exactly(const reduce *r, const float *x, const double *mean) {
  const bsm_cpu_space *d = &r->reduced;
  const int64_t stride = d->strides[1][d->rank - 1];
  double sum = 0.0;
  bsm_cpu_cursor c;
  bsm_cpu_seek(d, 0, &c);
  for (int64_t i = 0, run; i < d->count; i += run) {
    run = bsm_cpu_row_left(d, &c);
    for (int64_t j = 0; j < run; j++) {
      const double v = (double)x[c.offset[1] + j * stride];
      sum += mean ? (v - *mean) * (v - *mean) : v;
    }
    bsm_cpu_advance(d, &c, run);
  }
  return sum;
}

static double squares_of_far(const reduce *r, const float *x) {
  const double mean = sum_exactly(r, x, NULL) / (double)r->reduced.count;
  return sum_exactly(r, x, &mean);
}

/* ---- run: float rows ---- */

static float reduce_row(const reduce *r, const float *x, int64_t n) {
  const double size = (double)n;
  switch (r->operation) {
    case BSM_REDUCE_SUM:
      return r->rows->sum(x, n);
    case BSM_REDUCE_AVG:
      return (float)((double)r->rows->sum(x, n) / size);
    case BSM_REDUCE_MAX:
      return r->rows->max(x, n);
    case BSM_REDUCE_MIN:
      return r->rows->min(x, n);
    case BSM_REDUCE_L2:
      return sqrtf(r->rows->sum_squares(x, n, 0.0f));
    default: {
      const float mean = (float)((double)r->rows->sum(x, n) / size);
      const double divisor = size - r->correction;
      double squares = (double)r->rows->sum_squares(x, n, mean);
      if (is_far(squares, (double)mean, n)) squares = squares_of_far(r, x);
      return (float)(squares / (divisor > 0.0 ? divisor : 0.0));
    }
  }
}

static void rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const int64_t first = unit * r->unit_rows;
  const int64_t end = bsm_cpu_min(first + r->unit_rows, r->kept.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&r->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const float *x = (const float *)(const void *)w->x + c.offset[1];
    ((float *)(void *)w->y)[c.offset[0]] = reduce_row(r, x, r->reduced.count);
    bsm_cpu_advance(&r->kept, &c, 1);
  }
}

/* ---- run: short rows of floats ---- */

/* y of the columns of `turned`, n rows of TURNED, of which the first `count`
 * are rows of x. Floats suffice: what is divided has been rounded to them
 * before. */
static void reduce_turned(const reduce *r, const float *x, int64_t stride,
                          const float *turned, int64_t count, float *y) {
  const int64_t n = r->reduced.count;
  float mean[TURNED] = {0}, divisor = (float)n;
  switch (r->operation) {
    case BSM_REDUCE_MAX:
      r->rows->max_columns(turned, TURNED, n, y, TURNED);
      return;
    case BSM_REDUCE_MIN:
      r->rows->min_columns(turned, TURNED, n, y, TURNED);
      return;
    case BSM_REDUCE_L2:
      r->rows->square_columns(turned, TURNED, n, mean, y, TURNED);
      for (int64_t i = 0; i < TURNED; i++) y[i] = sqrtf(y[i]);
      return;
    default:
      r->rows->sum_columns(turned, TURNED, n, y, TURNED);
  }
  if (r->operation == BSM_REDUCE_SUM) return;
  if (r->operation == BSM_REDUCE_VARIANCE) {
    for (int64_t i = 0; i < TURNED; i++) mean[i] = y[i] / divisor;
    r->rows->square_columns(turned, TURNED, n, mean, y, TURNED);
    for (int64_t i = 0; i < count; i++) {
      if (is_far((double)y[i], (double)mean[i], n)) {
        y[i] = (float)squares_of_far(r, x + i * stride);
      }
    }
    divisor = (float)fmax((double)n - r->correction, 0.0);
  }
  for (int64_t i = 0; i < TURNED; i++) y[i] /= divisor;
}

static void short_rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const bsm_cpu_space *k = &r->kept;
  const int64_t n = r->reduced.count, last = k->rank - 1;
  const int64_t x_stride = k->strides[1][last], y_stride = k->strides[0][last];
  const int64_t first = unit * r->unit_rows;
  const int64_t end = bsm_cpu_min(first + r->unit_rows, k->count);
  /* Where rows are missing there are zeros, or what was there before. */
  float turned[LONG_ROW * TURNED] = {0}, result[TURNED];
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(k, first, &c);
  for (int64_t i = first, count; i < end; i += count) {
    count = bsm_cpu_min(bsm_cpu_min(TURNED, end - i), bsm_cpu_row_left(k, &c));
    const float *x = (const float *)(const void *)w->x + c.offset[1];
    float *y = (float *)(void *)w->y + c.offset[0];
    r->rows->transpose(x, x_stride, turned, TURNED, n, count);
    reduce_turned(r, x, x_stride, turned, count, result);
    for (int64_t j = 0; j < count; j++) y[j * y_stride] = result[j];
    bsm_cpu_advance(k, &c, count);
  }
}

/* ---- run: float columns ---- */

/* Adds up n columns, or with `mean` the squares of their distances from it: of
 * up to SUM_ROWS rows in float, of these in double. */
static void add_columns(const reduce *r, const float *x, int64_t n,
                        const float *mean, double *total) {
  const bsm_cpu_space *d = &r->reduced;
  const int64_t stride = d->strides[1][d->rank - 1];
  float part[COLUMNS];
  bsm_cpu_cursor c;
  memset(total, 0, (size_t)n * sizeof(double));
  bsm_cpu_seek(d, 0, &c);
  for (int64_t i = 0; i < d->count;) {
    const int64_t rows = bsm_cpu_min(SUM_ROWS, bsm_cpu_row_left(d, &c));
    const float *from = x + c.offset[1];
    if (mean) {
      r->rows->square_columns(from, stride, rows, mean, part, n);
    } else {
      r->rows->sum_columns(from, stride, rows, part, n);
    }
    for (int64_t j = 0; j < n; j++) total[j] += (double)part[j];
    bsm_cpu_advance(d, &c, rows);
    i += rows;
  }
}

static void reduce_columns(const reduce *r, const float *x, int64_t n,
                           float *y) {
  const double size = (double)r->reduced.count;
  double total[COLUMNS], divisor = 1.0;
  float mean[COLUMNS] = {0};
  if (r->operation == BSM_REDUCE_VARIANCE) {
    add_columns(r, x, n, NULL, total);
    for (int64_t j = 0; j < n; j++) mean[j] = (float)(total[j] / size);
    divisor = fmax(size - r->correction, 0.0);
  } else if (r->operation == BSM_REDUCE_AVG) {
    divisor = size;
  }
  add_columns(r, x, n, is_summed(r->operation) ? NULL : mean, total);
  for (int64_t j = 0; j < n; j++) {
    if (r->operation == BSM_REDUCE_VARIANCE &&
        is_far(total[j], (double)mean[j], r->reduced.count)) {
      total[j] = squares_of_far(r, x + j);
    }
    const double value = total[j] / divisor;
    y[j] = (float)(r->operation == BSM_REDUCE_L2 ? sqrt(value) : value);
  }
}

/* The greatest or least of each column, a run of rows after the other. */
static void extreme_columns(const reduce *r, const float *x, int64_t n,
                            float *y) {
  const bsm_cpu_space *d = &r->reduced;
  const bool max = r->operation == BSM_REDUCE_MAX;
  float both[2 * COLUMNS];
  bsm_cpu_cursor c;
  bsm_cpu_seek(d, 0, &c);
  for (int64_t i = 0; i < d->count;) {
    const int64_t rows = bsm_cpu_row_left(d, &c);
    float *part = i ? both + n : y;
    (max ? r->rows->max_columns : r->rows->min_columns)(
        x + c.offset[1], d->strides[1][d->rank - 1], rows, part, n);
    if (i) {
      memcpy(both, y, (size_t)n * sizeof(float));
      (max ? r->rows->max_columns : r->rows->min_columns)(both, n, 2, y, n);
    }
    bsm_cpu_advance(d, &c, rows);
    i += rows;
  }
}

/* COLUMNS neighbours of the kept space's last dimension. */
static void columns_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const bsm_cpu_space *k = &r->kept;
  const int64_t length = k->dims[k->rank - 1];
  const int64_t blocks = bsm_cpu_div_up(length, COLUMNS);
  const int64_t column = unit % blocks * COLUMNS;
  const int64_t n = bsm_cpu_min(COLUMNS, length - column);
  bsm_cpu_cursor at;
  (void)slot;
  bsm_cpu_seek(k, unit / blocks * length + column, &at);
  const float *x = (const float *)(const void *)w->x + at.offset[1];
  float *y = (float *)(void *)w->y + at.offset[0];
  if (r->operation == BSM_REDUCE_MAX || r->operation == BSM_REDUCE_MIN) {
    extreme_columns(r, x, n, y);
  } else {
    reduce_columns(r, x, n, y);
  }
}

/* ---- run: rows of truth ---- */

static bool any_true(const uint8_t *x, int64_t n) {
  uint8_t seen = 0;
  for (int64_t i = 0; i < n; i++) seen |= x[i];
  return seen != 0;
}

static void truth_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const int64_t first = unit * r->unit_rows;
  const int64_t end = bsm_cpu_min(first + r->unit_rows, r->kept.count);
  const int64_t n = r->reduced.count;
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&r->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const uint8_t *x = (const uint8_t *)w->x + c.offset[1];
    ((uint8_t *)w->y)[c.offset[0]] = r->operation == BSM_REDUCE_ANY
                                         ? any_true(x, n)
                                         : !memchr(x, 0, (size_t)n);
    bsm_cpu_advance(&r->kept, &c, 1);
  }
}

/* ---- run: rows of integers ---- */

/* Elements that are compared with as many others at once. */
#define BESIDE 128

/* The greatest or the least of a row, which few instruction sets find among
 * neighbours. */
static int64_t extreme_row(const reduce *r, bsm_k_lanes_op op, const int64_t *x,
                           int64_t n) {
  int64_t most[BESIDE], at = BESIDE;
  if (n < 2 * BESIDE) return bsm_k_row_i64(op, x, n);
  memcpy(most, x, sizeof(most));
  for (; at + BESIDE <= n; at += BESIDE) {
    r->base.elements.ints->binary(
        op == BSM_K_LANES_MAX ? BSM_K_INTS_MAX : BSM_K_INTS_MIN, most, x + at,
        most, BESIDE);
  }
  const int64_t first = bsm_k_row_i64(op, most, BESIDE);
  if (at == n) return first;
  const int64_t pair[2] = {first, bsm_k_row_i64(op, x + at, n - at)};
  return bsm_k_row_i64(op, pair, 2);
}

static int64_t reduce_integers(const reduce *r, const void *x, int64_t n) {
  const bsm_k_lanes_op op = r->operation == BSM_REDUCE_SUM   ? BSM_K_LANES_SUM
                            : r->operation == BSM_REDUCE_MAX ? BSM_K_LANES_MAX
                                                             : BSM_K_LANES_MIN;
  switch (r->from) {
    case BSM_DTYPE_BOOL:
      return bsm_k_row_truth(x, n);
    case BSM_DTYPE_UINT8:
      return bsm_k_row_u8(op, x, n);
    case BSM_DTYPE_INT8:
      return bsm_k_row_i8(op, x, n);
    case BSM_DTYPE_INT16:
      return bsm_k_row_i16(op, x, n);
    case BSM_DTYPE_INT32:
      return bsm_k_row_i32(op, x, n);
    default:
      return op == BSM_K_LANES_SUM ? bsm_k_row_i64(op, x, n)
                                   : extreme_row(r, op, x, n);
  }
}

static void integers_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const int64_t first = unit * r->unit_rows;
  const int64_t end = bsm_cpu_min(first + r->unit_rows, r->kept.count);
  const int64_t from = (int64_t)bsm_dtype_size(r->from);
  const int64_t to = (int64_t)bsm_dtype_size(r->to);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&r->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const int64_t value =
        reduce_integers(r, w->x + c.offset[1] * from, r->reduced.count);
    bsm_cpu_store(&r->base.elements, r->to, w->y + c.offset[0] * to, 1, 1,
                  &value);
    bsm_cpu_advance(&r->kept, &c, 1);
  }
}

/* ---- run ---- */

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *run) {
  const reduce *r = prepared->impl;
  work w = {r, bsm_cpu_input_address(prepared, run, 0),
            bsm_cpu_output_address(prepared, run, 0), run->scratch,
            prepared->scratch_size / (size_t)r->base.slots};
  const int64_t length = r->kept.dims[r->kept.rank - 1];
  int64_t units = bsm_cpu_div_up(r->kept.count, r->unit_rows);
  if (r->kept.count == 0) return BSM_OK;
  switch (r->mode) {
    case BSM_CPU_REDUCE_ROWS:
      bsm_cpu_parallel(run, r->base.slots, units, rows_unit, &w);
      break;
    case BSM_CPU_REDUCE_SHORT_ROWS:
      bsm_cpu_parallel(run, r->base.slots, units, short_rows_unit, &w);
      break;
    case BSM_CPU_REDUCE_COLUMNS:
      units = r->kept.count / length * bsm_cpu_div_up(length, COLUMNS);
      bsm_cpu_parallel(run, r->base.slots, units, columns_unit, &w);
      break;
    case BSM_CPU_REDUCE_TRUTH:
      bsm_cpu_parallel(run, r->base.slots, units, truth_unit, &w);
      break;
    case BSM_CPU_REDUCE_INTEGERS:
      bsm_cpu_parallel(run, r->base.slots, units, integers_unit, &w);
      break;
    case BSM_CPU_REDUCE_BLOCKS:
      bsm_cpu_parallel(run, r->base.slots, bsm_cpu_reduce_units(r),
                       bsm_cpu_reduce_blocks_unit, &w);
      break;
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_REDUCE = {bsm_check_reduce, NULL, prepare, run};
