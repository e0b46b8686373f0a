/* SPDX-License-Identifier: Apache-2.0 */
/* Padding and cropping: each output index of each dimension has a source index
 * or none, in tables made in prepare. Rows go in the memory order of the
 * output. */
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_strided.h"
#include "backend/cpu/kernels/lanes/take.h"

#define UNIT 16384 /* elements */

typedef struct pad {
  bsm_cpu_impl base;
  int32_t rank;
  int64_t dims[BSM_MAX_RANK]; /* of the output, innermost last */
  int64_t x_stride[BSM_MAX_RANK], y_stride[BSM_MAX_RANK];
  const int64_t *from[BSM_MAX_RANK]; /* source offsets (elements) or -1 */
  int64_t rows, row_length, unit_rows;
  /* The part of a row that comes from consecutive source indices. */
  int64_t run_first, run_length;
  int64_t element;
  bool takes;   /* each element of a row has a source */
  double value; /* the bytes of the element */
} pad;

static int64_t source(int32_t mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case BSM_PADDING_REFLECT:
      return i < 0 ? -i : 2 * (n - 1) - i;
    case BSM_PADDING_REPLICATE:
      return i < 0 ? 0 : n - 1;
    case BSM_PADDING_CIRCULAR:
      return i < 0 ? i + n : i - n;
    default:
      return -1;
  }
}

/* Dimensions by descending stride of the output. */
static void order_dims(const bsm_plan_tensor *y, int32_t *order) {
  for (int32_t i = 0; i < y->dims.rank; i++) order[i] = i;
  for (int32_t i = 1; i < y->dims.rank; i++) {
    for (int32_t j = i;
         j > 0 && y->strides[order[j - 1]] < y->strides[order[j]]; j--) {
      const int32_t t = order[j];
      order[j] = order[j - 1];
      order[j - 1] = t;
    }
  }
}

static bsm_status make_tables(const bsm_cpu_prepare *p, pad *d) {
  const bsm_step_pad *params = &p->step->params->pad;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  int32_t order[BSM_MAX_RANK];
  order_dims(y, order);
  d->rank = y->dims.rank;
  for (int32_t k = 0; k < d->rank; k++) {
    const int32_t i = order[k];
    d->dims[k] = y->dims.d[i];
    d->x_stride[k] = x->strides[i];
    d->y_stride[k] = y->strides[i];
    int64_t *table = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)d->dims[k] + 1);
    BSM_TRY_ALLOC(table);
    for (int64_t j = 0; j < d->dims[k]; j++) {
      const int64_t from =
          source(params->mode, params->start[i] + j, x->dims.d[i]);
      table[j] = from < 0 ? -1 : from * d->x_stride[k];
    }
    d->from[k] = table;
  }
  if (d->rank == 0) {
    static const int64_t zero;
    d->rank = 1;
    d->dims[0] = 1;
    d->from[0] = &zero;
  }
  return BSM_OK;
}

static void find_run(pad *d) {
  const int32_t last = d->rank - 1;
  const int64_t *table = d->from[last];
  int64_t i = 0;
  while (i < d->row_length && table[i] != 0) i++;
  while (i + 1 < d->row_length && table[i + 1] == 0) i++; /* replicated */
  if (d->x_stride[last] == 0) i = d->row_length;
  d->run_first = i;
  while (i < d->row_length &&
         table[i] == (i - d->run_first) * d->x_stride[last]) {
    i++;
  }
  d->run_length = i - d->run_first;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  pad *d = BSM_NEW(p->arena, pad);
  BSM_TRY_ALLOC(d);
  d->base.slots = p->threads;
  d->base.description = "rows";
  d->element = (int64_t)bsm_dtype_size(y->dtype);
  double value;
  const double fill = p->step->params->pad.fill_value;
  const bsm_cpu_elements elements = bsm_cpu_elements_of(p->isa);
  bsm_cpu_set(&elements, bsm_cpu_class_of(y->dtype), &value, 1, fill,
              y->dtype == BSM_DTYPE_BOOL ? fill != 0.0 : bsm_cpu_to_i64(fill));
  bsm_cpu_store(&elements, y->dtype, &d->value, 1, 1, &value);
  BSM_TRY(make_tables(p, d));
  d->row_length = d->dims[d->rank - 1];
  d->rows = 1;
  for (int32_t i = 0; i < d->rank - 1; i++) d->rows *= d->dims[i];
  if (d->row_length == 0) d->rows = 0;
  d->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, d->row_length));
  find_run(d);
  d->takes = bsm_k_takes(d->element);
  for (int64_t j = 0; j < d->row_length; j++) {
    d->takes = d->takes && d->from[d->rank - 1][j] >= 0;
  }
  out->impl = d;
  return BSM_OK;
}

typedef struct work {
  const pad *d;
  const char *x;
  char *y;
} work;

static void pad_elements(const pad *d, const char *x, char *y, int64_t first,
                         int64_t end) {
  const int32_t last = d->rank - 1;
  if (d->takes) {
    bsm_k_take(d->element, x, 0, d->from[last] + first, end - first,
               y + first * d->y_stride[last] * d->element, d->y_stride[last]);
    return;
  }
  for (int64_t j = first; j < end; j++) {
    const int64_t from = d->from[last][j];
    memcpy(y + j * d->y_stride[last] * d->element,
           from < 0 ? (const char *)&d->value : x + from * d->element,
           (size_t)d->element);
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const pad *d = w->d;
  const int32_t last = d->rank - 1;
  const int64_t end = bsm_cpu_min((index + 1) * d->unit_rows, d->rows);
  (void)slot;
  for (int64_t row = index * d->unit_rows; row < end; row++) {
    int64_t rest = row, from = 0, to = 0;
    bool inside = true;
    for (int32_t i = last - 1; i >= 0; i--) {
      const int64_t j = rest % d->dims[i];
      rest /= d->dims[i];
      to += j * d->y_stride[i];
      inside = inside && d->from[i][j] >= 0;
      from += d->from[i][j];
    }
    char *y = w->y + to * d->element;
    if (!inside) {
      bsm_cpu_repeat(d->element, (const char *)&d->value, y, d->y_stride[last],
                     d->row_length);
      continue;
    }
    const char *x = w->x + from * d->element;
    pad_elements(d, x, y, 0, d->run_first);
    bsm_cpu_copy_row(d->element, x, d->x_stride[last],
                     y + d->run_first * d->y_stride[last] * d->element,
                     d->y_stride[last], d->run_length);
    pad_elements(d, x, y, d->run_first + d->run_length, d->row_length);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const pad *d = prepared->impl;
  work w = {d, bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0)};
  bsm_cpu_parallel(r, d->base.slots, bsm_cpu_div_up(d->rows, d->unit_rows),
                   unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_PAD = {bsm_check_pad, NULL, prepare, run};
