/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest or smallest elements along an axis, sorted, with their indices.
 *
 * As in PyTorch NaN is greater than everything; among equals the lower index
 * comes first. Of floats in columns beside each other, the first alone is found
 * for many columns at once. */
#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/lanes/best.h"
#include "base/ordering.h"

#define UNIT 8192
#define CHUNK 256 /* elements loaded at once */

typedef struct top_k {
  bsm_cpu_impl base;
  bool largest, integers, columns;
  bsm_dtype dtype;
  int64_t k, n, stride, value_stride, index_stride, unit_rows;
  bsm_cpu_space space; /* 0: values, 1: input, 2: indices */
} top_k;

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_top_k *params = &p->step->params->top_k;
  bsm_plan_tensor x = *bsm_step_input(p->plan, p->step, 0);
  bsm_plan_tensor v = *bsm_step_output(p->plan, p->step, 0);
  bsm_plan_tensor i = *bsm_step_output(p->plan, p->step, 1);
  const int32_t axis = params->axis;
  top_k *t = BSM_NEW(p->arena, top_k);
  BSM_TRY_ALLOC(t);
  t->base.slots = p->threads;
  t->base.description = "keys";
  t->largest = params->largest != 0;
  t->dtype = x.dtype;
  t->integers = bsm_cpu_is_integral(bsm_cpu_class_of(x.dtype));
  t->k = params->k;
  t->n = x.dims.d[axis];
  t->stride = x.strides[axis];
  t->value_stride = v.strides[axis];
  t->index_stride = i.strides[axis];
  x.dims.d[axis] = v.dims.d[axis] = i.dims.d[axis] = 1;
  bsm_cpu_space_init(&t->space, (const bsm_plan_tensor *[]){&v, &x, &i}, 3);
  t->columns = t->k == 1 && t->dtype == BSM_DTYPE_FLOAT && t->n < INT32_MAX &&
               t->space.strides[1][t->space.rank - 1] == 1;
  if (t->columns) t->base.description = "columns";
  t->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, t->n));
  out->impl = t;
  return bsm_cpu_set_scratch(out, 0,
                             bsm_cpu_align((uint64_t)t->n * sizeof(double)) +
                                 2 * (uint64_t)t->n * sizeof(bsm_ordered),
                             t->base.slots);
}

typedef struct work {
  const top_k *t;
  const char *x;
  char *values;
  int64_t *indices;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* A double, or an integer of the same size. */
typedef union number {
  double d;
  int64_t i;
} number;

static bsm_ordered item_of(const top_k *t, const number *row, int64_t i) {
  const uint64_t key = t->integers ? bsm_order_of_integer(row[i].i)
                                   : bsm_order_of_double(row[i].d);
  return (bsm_ordered){t->largest ? ~key : key, i};
}

/* The first of a row, of which few are wanted. */
static const bsm_ordered *select_first(const top_k *t, const number *row,
                                       bsm_ordered *items) {
  const size_t k = (size_t)t->k;
  for (int64_t i = 0; i < t->k; i++) items[i] = item_of(t, row, i);
  bsm_order_begin(items, k);
  for (int64_t i = t->k; i < t->n; i++) {
    const double v = row[i].d, last = row[items[0].position].d;
    /* Most come behind the last; equals do, too. */
    if (!t->integers && (t->largest ? v <= last : v >= last)) continue;
    const bsm_ordered item = item_of(t, row, i);
    if (item.key < items[0].key) bsm_order_replace(items, k, item);
  }
  bsm_order_end(items, k);
  return items;
}

static const bsm_ordered *find_first(const top_k *t, const number *row,
                                     bsm_ordered *items) {
  if (t->k < t->n / BSM_ORDER_FEW) return select_first(t, row, items);
  for (int64_t i = 0; i < t->n; i++) items[i] = item_of(t, row, i);
  return bsm_order_first(items, (size_t)t->n, (size_t)t->k);
}

static void store_row(const work *w, const bsm_cpu_cursor *c, const number *row,
                      const bsm_ordered *first) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const bsm_cpu_class to = bsm_cpu_class_of(t->dtype);
  const bsm_cpu_class wide = t->integers ? BSM_CPU_I64 : BSM_CPU_F64;
  for (int64_t i = 0; i < t->k; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, t->k - i);
    number values[CHUNK], converted[CHUNK];
    for (int64_t j = 0; j < n; j++) {
      values[j] = row[first[i + j].position];
      w->indices[c->offset[2] + (i + j) * t->index_stride] =
          first[i + j].position;
    }
    bsm_cpu_convert(wide, values, to, converted, n);
    bsm_cpu_store(t->dtype,
                  w->values + (c->offset[0] + i * t->value_stride) * size,
                  t->value_stride, n, converted);
  }
}

static void row(const work *w, const bsm_cpu_cursor *c, uint8_t *scratch) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const bsm_cpu_class from = bsm_cpu_class_of(t->dtype);
  const bsm_cpu_class wide = t->integers ? BSM_CPU_I64 : BSM_CPU_F64;
  number *values = (number *)(void *)scratch;
  bsm_ordered *items =
      (bsm_ordered *)(void *)(scratch +
                              bsm_cpu_align((uint64_t)t->n * sizeof(double)));
  for (int64_t i = 0; i < t->n; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, t->n - i);
    number loaded[CHUNK];
    bsm_cpu_load(t->dtype, w->x + (c->offset[1] + i * t->stride) * size,
                 t->stride, n, loaded);
    bsm_cpu_convert(from, loaded, wide, values + i, n);
  }
  store_row(w, c, values, find_first(t, values, items));
}

/* n columns from the cursor on. */
static void find_columns(const work *w, const bsm_cpu_cursor *c, int64_t n) {
  const top_k *t = w->t;
  const int32_t last = t->space.rank - 1;
  const int64_t value_step = t->space.strides[0][last];
  const int64_t index_step = t->space.strides[2][last];
  float *values = (float *)(void *)w->values + c->offset[0];
  int64_t *indices = w->indices + c->offset[2];
  float best[CHUNK];
  int32_t index[CHUNK];
  (t->largest ? bsm_k_greatest : bsm_k_least)(
      (const float *)(const void *)w->x + c->offset[1], t->stride,
      (int32_t)t->n, n, best, index);
  for (int64_t i = 0; i < n; i++) {
    values[i * value_step] = best[i];
    indices[i * index_step] = index[i];
  }
}

static void columns_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const top_k *t = w->t;
  const int64_t end = bsm_cpu_min((unit + 1) * t->unit_rows, t->space.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&t->space, unit * t->unit_rows, &c);
  for (int64_t i = unit * t->unit_rows; i < end;) {
    const int64_t left = bsm_cpu_min(end - i, bsm_cpu_row_left(&t->space, &c));
    const int64_t n = bsm_cpu_min(CHUNK, left);
    find_columns(w, &c, n);
    bsm_cpu_advance(&t->space, &c, n);
    i += n;
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const top_k *t = w->t;
  const int64_t first = index * t->unit_rows;
  const int64_t end = bsm_cpu_min(first + t->unit_rows, t->space.count);
  bsm_cpu_cursor c;
  bsm_cpu_seek(&t->space, first, &c);
  for (int64_t i = first; i < end; i++) {
    row(w, &c, w->scratch + (size_t)slot * w->slot_size);
    bsm_cpu_advance(&t->space, &c, 1);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const top_k *t = prepared->impl;
  work w = {t,
            bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 1),
            r->scratch,
            prepared->scratch_size / (size_t)t->base.slots};
  if (t->k == 0) return BSM_OK;
  bsm_cpu_parallel(r, t->base.slots,
                   bsm_cpu_div_up(t->space.count, t->unit_rows),
                   t->columns ? columns_unit : unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_TOP_K = {bsm_check_top_k, NULL, prepare, run};
