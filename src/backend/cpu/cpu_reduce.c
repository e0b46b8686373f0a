/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any axes.
 *
 * Paths: `rows`, floats whose reduced elements are one contiguous row;
 * `columns`, floats with a contiguous kept dimension inside the reduced ones (a
 * spatial mean of a channels-last image), which adds rows of columns in chunks;
 * `truth`, any and all of contiguous rows of bool;
 * `any`, blocks of any dtype, accumulated in double or int64. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

#define UNIT 8192   /* reduced elements of a unit */
#define CHUNK 256   /* elements loaded at once */
#define COLUMNS 64  /* columns of a unit */
#define SUM_ROWS 64 /* rows added in float before they go to double */

typedef enum mode { ROWS, COLUMNS_MODE, TRUTH, ANY } mode;

typedef struct reduce {
  bsm_cpu_impl base;
  mode mode;
  int32_t operation;
  double correction;
  bsm_dtype from, to;
  bsm_cpu_class accumulate; /* F64 or I64 */
  const bsm_k_rows *rows;
  bsm_cpu_space kept, reduced; /* 0: output, 1: input */
  int64_t unit_rows;
} reduce;

/* ---- prepare ---- */

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
  bsm_cpu_space_reduce(&r->kept, true);
}

static bool is_summed(int32_t operation) {
  return operation == BSM_REDUCE_SUM || operation == BSM_REDUCE_AVG;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_reduce *params = &p->step->params->reduce;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  reduce *r = BSM_NEW(p->arena, reduce);
  BSM_TRY_ALLOC(r);
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
  if (floats && d->rank == 1 && d->strides[1][0] == 1 && d->count > 0 &&
      (is_summed(r->operation) || extreme || squares)) {
    r->mode = ROWS;
  } else if (floats && k->strides[1][k->rank - 1] == 1 &&
             k->strides[0][k->rank - 1] == 1 && k->dims[k->rank - 1] >= 8 &&
             d->count > 0 &&
             (is_summed(r->operation) || squares ||
              r->operation == BSM_REDUCE_MAX)) {
    r->mode = COLUMNS_MODE;
  } else if (x->dtype == BSM_DTYPE_BOOL && y->dtype == BSM_DTYPE_BOOL &&
             d->rank == 1 && (d->strides[1][0] == 1 || d->count == 1) &&
             (r->operation == BSM_REDUCE_ANY ||
              r->operation == BSM_REDUCE_ALL)) {
    r->mode = TRUTH;
  } else {
    r->mode = ANY;
  }
  r->base.description = r->mode == ROWS           ? "rows"
                        : r->mode == COLUMNS_MODE ? "columns"
                        : r->mode == TRUTH        ? "truth"
                                                  : "any";
  r->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, d->count));
  out->impl = r;
  return BSM_OK;
}

/* ---- run: float rows ---- */

typedef struct work {
  const reduce *r;
  const char *x;
  char *y;
} work;

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
      return (float)((double)r->rows->sum_squares(x, n, mean) /
                     (divisor > 0.0 ? divisor : 0.0));
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
      memset(part, 0, sizeof(part));
      for (int64_t j = 0; j < rows; j++) {
        r->rows->accumulate_squares(part, from + j * stride, mean, n);
      }
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
    const double value = total[j] / divisor;
    y[j] = (float)(r->operation == BSM_REDUCE_L2 ? sqrt(value) : value);
  }
}

static void max_columns(const reduce *r, const float *x, int64_t n, float *y) {
  const bsm_cpu_space *d = &r->reduced;
  bsm_cpu_cursor c;
  bsm_cpu_seek(d, 0, &c);
  memcpy(y, x, (size_t)n * sizeof(float));
  for (int64_t i = 1; i < d->count; i++) {
    bsm_cpu_advance(d, &c, 1);
    r->rows->maximum(y, x + c.offset[1], n);
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
  if (r->operation == BSM_REDUCE_MAX) {
    max_columns(r, x, n, y);
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

/* ---- run: any dtype ---- */

typedef struct accumulator {
  double value, second; /* second: the mean, for the variance */
  int64_t integer;
  bool started;
} accumulator;

static void add_f64(const reduce *r, accumulator *a, const double *v,
                    int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double x = v[i];
    switch (r->operation) {
      case BSM_REDUCE_PROD:
        a->value *= x;
        break;
      case BSM_REDUCE_MAX:
        if (!a->started || (a->value == a->value && !(a->value >= x))) {
          a->value = x;
        }
        break;
      case BSM_REDUCE_MIN:
        if (!a->started || (a->value == a->value && !(a->value <= x))) {
          a->value = x;
        }
        break;
      case BSM_REDUCE_ANY:
        a->value = a->value != 0.0 || x != 0.0;
        break;
      case BSM_REDUCE_ALL:
        a->value = a->value != 0.0 && x != 0.0;
        break;
      case BSM_REDUCE_L2:
        a->value += x * x;
        break;
      case BSM_REDUCE_L1:
        a->value += fabs(x);
        break;
      case BSM_REDUCE_VARIANCE:
        a->value += (x - a->second) * (x - a->second);
        break;
      default:
        a->value += x;
        break;
    }
    a->started = true;
  }
}

static void add_i64(const reduce *r, accumulator *a, const int64_t *v,
                    int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const uint64_t x = (uint64_t)v[i];
    switch (r->operation) {
      case BSM_REDUCE_PROD:
        a->integer = (int64_t)((uint64_t)a->integer * x);
        break;
      case BSM_REDUCE_MAX:
        if (!a->started || v[i] > a->integer) a->integer = v[i];
        break;
      case BSM_REDUCE_MIN:
        if (!a->started || v[i] < a->integer) a->integer = v[i];
        break;
      case BSM_REDUCE_ANY:
        a->integer = a->integer != 0 || x != 0;
        break;
      case BSM_REDUCE_ALL:
        a->integer = a->integer != 0 && x != 0;
        break;
      case BSM_REDUCE_L2:
        a->integer = (int64_t)((uint64_t)a->integer + x * x);
        break;
      case BSM_REDUCE_L1:
        a->integer = (int64_t)((uint64_t)a->integer + (v[i] < 0 ? 0u - x : x));
        break;
      default:
        a->integer = (int64_t)((uint64_t)a->integer + x);
        break;
    }
    a->started = true;
  }
}

/* Passes over the reduced elements of one output. */
static void accumulate(const work *w, int64_t offset, accumulator *a) {
  const reduce *r = w->r;
  const bsm_cpu_space *d = &r->reduced;
  const int32_t last = d->rank - 1;
  const int64_t size = (int64_t)bsm_dtype_size(r->from);
  const bsm_cpu_class from = bsm_cpu_class_of(r->from);
  double loaded[CHUNK], value[CHUNK];
  bsm_cpu_cursor c;
  bsm_cpu_seek(d, 0, &c);
  for (int64_t i = 0; i < d->count;) {
    const int64_t n = bsm_cpu_min(CHUNK, bsm_cpu_row_left(d, &c));
    bsm_cpu_load(r->from, w->x + (offset + c.offset[1]) * size,
                 d->strides[1][last], n, loaded);
    bsm_cpu_convert(from, loaded, r->accumulate, value, n);
    if (r->accumulate == BSM_CPU_F64) {
      add_f64(r, a, value, n);
    } else {
      add_i64(r, a, (const int64_t *)(const void *)value, n);
    }
    bsm_cpu_advance(d, &c, n);
    i += n;
  }
}

/* The mean of the reduced elements of one output. */
static double mean_of(const work *w, int64_t offset) {
  reduce sum = *w->r;
  sum.operation = BSM_REDUCE_SUM;
  sum.accumulate = BSM_CPU_F64;
  const work of_sum = {&sum, w->x, w->y};
  accumulator a = {0};
  accumulate(&of_sum, offset, &a);
  return a.value / (double)sum.reduced.count;
}

static void finish(const reduce *r, accumulator *a, void *y) {
  const double n = (double)r->reduced.count;
  if (r->accumulate == BSM_CPU_I64) {
    if (r->operation == BSM_REDUCE_AVG && n > 0.0) {
      a->integer /= r->reduced.count;
    }
    int64_t cast;
    bsm_cpu_cast(BSM_CPU_I64, &a->integer, r->to, &cast, 1);
    bsm_cpu_store(r->to, y, 1, 1, &cast);
    return;
  }
  if (r->operation == BSM_REDUCE_AVG) a->value /= n;
  if (r->operation == BSM_REDUCE_L2) a->value = sqrt(a->value);
  if (r->operation == BSM_REDUCE_VARIANCE) {
    const double divisor = n - r->correction;
    a->value /= divisor > 0.0 ? divisor : 0.0;
  }
  double stored;
  bsm_cpu_cast(BSM_CPU_F64, &a->value, r->to, &stored, 1);
  bsm_cpu_store(r->to, y, 1, 1, &stored);
}

static void any_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const reduce *r = w->r;
  const int64_t first = unit * r->unit_rows;
  const int64_t end = bsm_cpu_min(first + r->unit_rows, r->kept.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&r->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const bool ones =
        r->operation == BSM_REDUCE_PROD || r->operation == BSM_REDUCE_ALL;
    accumulator a = {.value = ones ? 1.0 : 0.0, .integer = ones};
    if (r->operation == BSM_REDUCE_VARIANCE) {
      a.second = mean_of(w, c.offset[1]);
    }
    accumulate(w, c.offset[1], &a);
    finish(r, &a, w->y + c.offset[0] * (int64_t)bsm_dtype_size(r->to));
    bsm_cpu_advance(&r->kept, &c, 1);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *run) {
  const reduce *r = prepared->impl;
  work w = {r, bsm_cpu_input_address(prepared, run, 0),
            bsm_cpu_output_address(prepared, run, 0)};
  if (r->kept.count == 0) return BSM_OK;
  if (r->mode == COLUMNS_MODE) {
    const int64_t length = r->kept.dims[r->kept.rank - 1];
    bsm_cpu_parallel(run, r->base.slots,
                     r->kept.count / length * bsm_cpu_div_up(length, COLUMNS),
                     columns_unit, &w);
    return BSM_OK;
  }
  bsm_cpu_parallel(run, r->base.slots,
                   bsm_cpu_div_up(r->kept.count, r->unit_rows),
                   r->mode == ROWS    ? rows_unit
                   : r->mode == TRUTH ? truth_unit
                                      : any_unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_REDUCE = {bsm_check_reduce, NULL, prepare, run};
