/* SPDX-License-Identifier: Apache-2.0 */
/* Scans along an axis. All but integers are computed in double, which float's
 * sums need and which rounds once for narrower types; integers wrap. Where the
 * axis is not the innermost in memory, neighbouring rows go side by side. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/lanes/strided.h"

#define UNIT 8192
#define CHUNK 256 /* elements loaded at once */
#define NARROW 4  /* fewer rows do not go side by side */

typedef union number {
  double d;
  int64_t i;
} number;

typedef struct scan {
  bsm_cpu_impl base;
  int operation;
  bool has_indices;
  bsm_dtype dtype;
  bsm_cpu_class from, wide;
  int64_t n, unit_rows;
  int64_t strides[3];  /* of values, input and indices along the axis */
  bsm_cpu_space space; /* their rows, in this order */
  bool by_columns;     /* the rows' elements lie side by side */
} scan;

static bool lies_in_columns(const bsm_cpu_space *s, int operands) {
  const int32_t last = s->rank - 1;
  bool touches = last >= 0 && s->dims[last] >= NARROW;
  for (int k = 0; k < operands; k++) {
    touches = touches && s->strides[k][last] == 1;
  }
  return touches;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_scan *params = &p->step->params->scan;
  bsm_plan_tensor v = *bsm_step_output(p->plan, p->step, 0);
  bsm_plan_tensor x = *bsm_step_input(p->plan, p->step, 0);
  const bool has_indices = p->step->output_count > 1;
  bsm_plan_tensor i = has_indices ? *bsm_step_output(p->plan, p->step, 1) : v;
  const int32_t axis = params->axis;
  scan *s = BSM_NEW(p->arena, scan);
  BSM_TRY_ALLOC(s);
  s->base.elements = bsm_cpu_elements_of(p->isa);
  s->base.slots = p->threads;
  s->base.description = "rows";
  s->operation = params->operation;
  s->has_indices = has_indices;
  s->dtype = x.dtype;
  s->from = bsm_cpu_class_of(x.dtype);
  s->wide = bsm_cpu_is_integral(s->from) ? BSM_CPU_I64 : BSM_CPU_F64;
  s->n = x.dims.d[axis];
  bsm_plan_tensor *const all[] = {&v, &x, &i};
  for (int k = 0; k < 3; k++) {
    s->strides[k] = all[k]->strides[axis];
    all[k]->dims.d[axis] = 1;
  }
  bsm_cpu_space_init(&s->space, (const bsm_plan_tensor *[]){&v, &x, &i}, 3);
  s->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, s->n));
  s->by_columns = lies_in_columns(&s->space, 3);
  if (s->by_columns) {
    s->base.description = "columns";
    s->unit_rows = bsm_cpu_max(s->unit_rows, CHUNK / 4);
  }
  out->impl = s;
  return BSM_OK;
}

static double log_add_exp(double a, double b) {
  const double low = b < a || b != b ? b : a, high = b > a || b != b ? b : a;
  return low != high || isfinite(low) ? log1p(exp(low - high)) + high : a;
}

/* `a` is what came before `b`. */
static double join_real(int operation, double a, double b) {
  switch (operation) {
    case BSM_SCAN_SUM:
      return a + b;
    case BSM_SCAN_PROD:
      return a * b;
    default:
      return log_add_exp(a, b);
  }
}

static int64_t join_integer(int operation, int64_t a, int64_t b) {
  const uint64_t x = (uint64_t)a, y = (uint64_t)b;
  return (int64_t)(operation == BSM_SCAN_SUM ? x + y : x * y);
}

/* Whether `b`, which is behind `a`, takes its place as the greatest, or the
 * least: equals do, and NaN does. */
static bool takes_over(const scan *s, number a, number b) {
  const bool is_max = s->operation == BSM_SCAN_MAX;
  if (s->wide == BSM_CPU_I64) return is_max ? b.i >= a.i : b.i <= a.i;
  if (b.d != b.d) return true;
  return is_max ? b.d >= a.d : b.d <= a.d;
}

/* Scans values in place; `total` and `index` are what is known of the elements
 * before number `first`. */
static void scan_values(const scan *s, number *x, int64_t n, int64_t first,
                        number *total, int64_t *indices, int64_t *index) {
  for (int64_t k = 0; k < n; k++) {
    if (first + k == 0) {
      *total = x[0];
      *index = 0;
    } else if (s->has_indices) {
      if (takes_over(s, *total, x[k])) {
        *total = x[k];
        *index = first + k;
      }
    } else if (s->wide == BSM_CPU_I64) {
      total->i = join_integer(s->operation, total->i, x[k].i);
    } else {
      total->d = join_real(s->operation, total->d, x[k].d);
    }
    x[k] = *total;
    indices[k] = *index;
  }
}

typedef struct work {
  const scan *s;
  char *values;
  const char *x;
  int64_t *indices;
} work;

static void sum_row(const scan *s, const float *x, float *y) {
  double total = -0.0;
  for (int64_t i = 0; i < s->n; i++) {
    total += (double)x[i * s->strides[1]];
    y[i * s->strides[0]] = (float)total;
  }
}

static void prod_row(const scan *s, const float *x, float *y) {
  double total = 1.0;
  for (int64_t i = 0; i < s->n; i++) {
    total *= (double)x[i * s->strides[1]];
    y[i * s->strides[0]] = (float)total;
  }
}

static void integer_sum_row(const scan *s, const int64_t *x, int64_t *y) {
  uint64_t total = 0;
  for (int64_t i = 0; i < s->n; i++) {
    total += (uint64_t)x[i * s->strides[1]];
    y[i * s->strides[0]] = (int64_t)total;
  }
}

/* The most usual scans, without the steps between; false: it is none. */
static bool plain_row(const work *w, const bsm_cpu_cursor *c) {
  const scan *s = w->s;
  const void *x = w->x + c->offset[1] * (int64_t)bsm_dtype_size(s->dtype);
  void *y = w->values + c->offset[0] * (int64_t)bsm_dtype_size(s->dtype);
  if (s->dtype == BSM_DTYPE_FLOAT && s->operation == BSM_SCAN_SUM) {
    sum_row(s, x, y);
  } else if (s->dtype == BSM_DTYPE_FLOAT && s->operation == BSM_SCAN_PROD) {
    prod_row(s, x, y);
  } else if (s->dtype == BSM_DTYPE_INT64 && s->operation == BSM_SCAN_SUM) {
    integer_sum_row(s, x, y);
  } else {
    return false;
  }
  return true;
}

static void row(const work *w, const bsm_cpu_cursor *c) {
  const scan *s = w->s;
  const int64_t size = (int64_t)bsm_dtype_size(s->dtype);
  if (plain_row(w, c)) return;
  number total = {.i = 0};
  int64_t index = 0;
  for (int64_t i = 0; i < s->n; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, s->n - i);
    number loaded[CHUNK], values[CHUNK];
    int64_t indices[CHUNK];
    bsm_cpu_load(&s->base.elements, s->dtype,
                 w->x + (c->offset[1] + i * s->strides[1]) * size,
                 s->strides[1], n, loaded);
    bsm_cpu_convert(&s->base.elements, s->from, loaded, s->wide, values, n);
    scan_values(s, values, n, i, &total, indices, &index);
    bsm_cpu_convert(&s->base.elements, s->wide, values, s->from, loaded, n);
    bsm_cpu_store(&s->base.elements, s->dtype,
                  w->values + (c->offset[0] + i * s->strides[0]) * size,
                  s->strides[0], n, loaded);
    for (int64_t k = 0; s->has_indices && k < n; k++) {
      w->indices[c->offset[2] + (i + k) * s->strides[2]] = indices[k];
    }
  }
}

/* What the totals become by number i of each column; then they are copied.
 * `indices` stay what they are for the next numbers. */
static void join_columns(const scan *s, int64_t i, number *totals, number *x,
                         int64_t *indices, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    scan_values(s, x + k, 1, i, totals + k, indices + k, indices + k);
  }
}

/* `width` rows side by side. */
static void columns(const work *w, const bsm_cpu_cursor *c, int64_t width) {
  const scan *s = w->s;
  const int64_t size = (int64_t)bsm_dtype_size(s->dtype);
  const bool is_plain =
      s->dtype == BSM_DTYPE_FLOAT && s->operation == BSM_SCAN_SUM;
  number totals[CHUNK], loaded[CHUNK], values[CHUNK];
  double sums[CHUNK];
  int64_t indices[CHUNK];
  for (int64_t k = 0; k < width; k++) sums[k] = -0.0;
  for (int64_t i = 0; i < s->n; i++) {
    const char *from = w->x + (c->offset[1] + i * s->strides[1]) * size;
    char *to = w->values + (c->offset[0] + i * s->strides[0]) * size;
    if (is_plain) {
      bsm_k_running_sums((const float *)(const void *)from, width, sums,
                         (float *)(void *)to);
      continue;
    }
    bsm_cpu_load(&s->base.elements, s->dtype, from, 1, width, loaded);
    bsm_cpu_convert(&s->base.elements, s->from, loaded, s->wide, values, width);
    join_columns(s, i, totals, values, indices, width);
    bsm_cpu_convert(&s->base.elements, s->wide, values, s->from, loaded, width);
    bsm_cpu_store(&s->base.elements, s->dtype, to, 1, width, loaded);
    if (s->has_indices) {
      memcpy(w->indices + c->offset[2] + i * s->strides[2], indices,
             (size_t)width * sizeof(int64_t));
    }
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const scan *s = w->s;
  const int64_t first = index * s->unit_rows;
  const int64_t end = bsm_cpu_min(first + s->unit_rows, s->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&s->space, first, &c);
  for (int64_t i = first; i < end;) {
    int64_t n = 1;
    if (s->by_columns) {
      n = bsm_cpu_min(bsm_cpu_min(CHUNK, end - i),
                      bsm_cpu_row_left(&s->space, &c));
      columns(w, &c, n);
    } else {
      row(w, &c);
    }
    bsm_cpu_advance(&s->space, &c, n);
    i += n;
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const scan *s = prepared->impl;
  work w = {s, bsm_cpu_output_address(prepared, r, 0),
            bsm_cpu_input_address(prepared, r, 0),
            s->has_indices ? bsm_cpu_output_address(prepared, r, 1) : NULL};
  if (s->n == 0) return BSM_OK;
  bsm_cpu_parallel(r, s->base.slots,
                   bsm_cpu_div_up(s->space.count, s->unit_rows), unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_SCAN = {bsm_check_scan, NULL, prepare, run};
