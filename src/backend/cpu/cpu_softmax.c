/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and log-softmax.
 *
 * Rows along the axis. Rows of adjacent floats, and columns of floats that lie
 * side by side (an axis that is not the innermost in memory), run in place;
 * others are brought to scratch memory first. double has a path of its own;
 * half and bfloat16 compute in float. */
#include <math.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

#define UNIT 8192 /* elements */
#define SIDE 16   /* rows brought at once */

typedef struct softmax {
  bsm_cpu_impl base;
  bool log, direct, columns, is_double;
  bsm_dtype from, to;
  const bsm_k_rows *rows;
  bsm_cpu_space space; /* of the rows; 0: output, 1: input */
  int64_t n, x_stride, y_stride, unit_rows;
} softmax;

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int32_t axis = p->step->params->softmax.axis;
  softmax *s = BSM_NEW(p->arena, softmax);
  BSM_TRY_ALLOC(s);
  s->base.slots = p->threads;
  s->log = p->step->params->softmax.log != 0;
  s->rows = bsm_k_rows_select(p->isa);
  s->from = x->dtype;
  s->to = y->dtype;
  s->is_double = bsm_cpu_class_of(x->dtype) == BSM_CPU_F64;
  bsm_plan_tensor rest_x = *x, rest_y = *y;
  rest_x.dims.d[axis] = rest_y.dims.d[axis] = 1;
  bsm_cpu_space_init(&s->space, (const bsm_plan_tensor *[]){&rest_y, &rest_x},
                     2);
  s->n = x->dims.d[axis];
  s->x_stride = x->strides[axis];
  s->y_stride = y->strides[axis];
  if (s->n == 1) s->x_stride = s->y_stride = 1;
  s->direct = s->from == BSM_DTYPE_FLOAT && s->to == BSM_DTYPE_FLOAT &&
              s->x_stride == 1 && s->y_stride == 1;
  s->unit_rows =
      bsm_cpu_round_up(bsm_cpu_max(1, UNIT / bsm_cpu_max(1, s->n)), SIDE);
  if (s->direct) s->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, s->n));
  const int32_t last = s->space.rank - 1;
  s->columns = !s->direct && s->from == BSM_DTYPE_FLOAT &&
               s->to == BSM_DTYPE_FLOAT && s->space.strides[0][last] == 1 &&
               s->space.strides[1][last] == 1;
  s->base.description = s->direct    ? s->rows->name
                        : s->columns ? "columns"
                                     : "gathered rows";
  out->impl = s;
  return bsm_cpu_set_scratch(
      out, 0,
      s->direct || s->columns ? 0 : (uint64_t)s->n * SIDE * sizeof(double) * 2,
      s->base.slots);
}

typedef struct work {
  const softmax *s;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

static void direct_unit(void *arg, int64_t unit, int slot) {
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

static void softmax_f64(double *x, int64_t n, bool log_too) {
  double most = x[0], total = 0.0;
  for (int64_t i = 1; i < n; i++) {
    if (!(most >= x[i]) && most == most) most = x[i];
  }
  for (int64_t i = 0; i < n; i++) total += exp(x[i] - most);
  const double l = log(total);
  for (int64_t i = 0; i < n; i++) {
    x[i] = log_too ? x[i] - most - l : exp(x[i] - most) / total;
  }
}

/* `count` rows that lie `x_side` and `y_side` elements apart. */
static void gathered_rows(const work *w, const bsm_cpu_cursor *c, int64_t count,
                          uint8_t *scratch) {
  const softmax *s = w->s;
  const int32_t last = s->space.rank - 1;
  const int64_t x_side = s->space.strides[1][last];
  const int64_t y_side = s->space.strides[0][last];
  const bsm_cpu_class from = bsm_cpu_class_of(s->from);
  const int64_t size = (int64_t)bsm_cpu_class_size(from);
  char *loaded = (char *)scratch;
  char *cast = loaded + s->n * SIDE * 8;
  const char *x = w->x + c->offset[1] * (int64_t)bsm_dtype_size(s->from);
  char *y = w->y + c->offset[0] * (int64_t)bsm_dtype_size(s->to);
  /* [count][n]: one column of neighbours at a time. */
  for (int64_t i = 0; i < s->n; i++) {
    double column[SIDE];
    bsm_cpu_load(s->from,
                 x + i * s->x_stride * (int64_t)bsm_dtype_size(s->from), x_side,
                 count, column);
    for (int64_t j = 0; j < count; j++) {
      char *to = loaded + (j * s->n + i) * size;
      if (size == 4) {
        *(float *)(void *)to = ((const float *)(const void *)column)[j];
      } else {
        *(double *)(void *)to = column[j];
      }
    }
  }
  for (int64_t j = 0; j < count; j++) {
    void *row = loaded + j * s->n * size;
    if (s->is_double) {
      softmax_f64(row, s->n, s->log);
    } else {
      (s->log ? s->rows->log_softmax : s->rows->softmax)(row, row, s->n);
    }
  }
  bsm_cpu_cast(from, loaded, s->to, cast, count * s->n);
  const int64_t cast_size =
      (int64_t)bsm_cpu_class_size(bsm_cpu_class_of(s->to));
  for (int64_t i = 0; i < s->n; i++) {
    double column[SIDE];
    for (int64_t j = 0; j < count; j++) {
      const char *from_place = cast + (j * s->n + i) * cast_size;
      if (cast_size == 4) {
        ((float *)(void *)column)[j] = *(const float *)(const void *)from_place;
      } else {
        column[j] = *(const double *)(const void *)from_place;
      }
    }
    bsm_cpu_store(s->to, y + i * s->y_stride * (int64_t)bsm_dtype_size(s->to),
                  y_side, count, column);
  }
}

static void gathered_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const softmax *s = w->s;
  const int64_t first = unit * s->unit_rows;
  const int64_t end = bsm_cpu_min(first + s->unit_rows, s->space.count);
  bsm_cpu_cursor c;
  bsm_cpu_seek(&s->space, first, &c);
  for (int64_t i = first; i < end;) {
    const int64_t n = bsm_cpu_min(bsm_cpu_min(SIDE, end - i),
                                  bsm_cpu_row_left(&s->space, &c));
    gathered_rows(w, &c, n, w->scratch + (size_t)slot * w->slot_size);
    bsm_cpu_advance(&s->space, &c, n);
    i += n;
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
                   s->direct    ? direct_unit
                   : s->columns ? columns_unit
                                : gathered_unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_SOFTMAX = {bsm_check_softmax, NULL, prepare, run};
