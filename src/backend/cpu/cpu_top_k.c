/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest or smallest elements along an axis, sorted, with their indices.
 *
 * As in PyTorch NaN is greater than everything; among equals the lower index
 * comes first. A heap of the k best elements passes over each row. */
#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"

#define UNIT 8192
#define CHUNK 256 /* elements loaded at once */

typedef struct candidate {
  double value; /* or the bits of an int64 */
  int64_t index;
} candidate;

typedef struct top_k {
  bsm_cpu_impl base;
  bool largest, integers;
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
  t->base.description = "heap";
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
  t->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, t->n));
  out->impl = t;
  return bsm_cpu_set_scratch(out, 0,
                             bsm_cpu_align((uint64_t)t->n * sizeof(double)) +
                                 (uint64_t)t->k * sizeof(candidate),
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

static int64_t as_integer(double v) {
  union {
    double d;
    int64_t i;
  } u = {.d = v};
  return u.i;
}

/* Whether a comes before b in the result. */
static bool precedes(const top_k *t, const candidate *a, const candidate *b) {
  bool more, less;
  if (t->integers) {
    const int64_t x = as_integer(a->value), y = as_integer(b->value);
    more = x > y;
    less = x < y;
  } else {
    const bool x_nan = a->value != a->value, y_nan = b->value != b->value;
    more = (x_nan && !y_nan) || a->value > b->value;
    less = (!x_nan && y_nan) || a->value < b->value;
  }
  if (more) return t->largest;
  if (less) return !t->largest;
  return a->index < b->index;
}

/* The heap's root is the candidate that comes last. */
static void sift_down(const top_k *t, candidate *heap, int64_t n, int64_t i) {
  const candidate c = heap[i];
  for (;;) {
    int64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && precedes(t, &heap[child], &heap[child + 1])) child++;
    if (!precedes(t, &c, &heap[child])) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = c;
}

static void select_row(const top_k *t, const double *row, candidate *heap) {
  for (int64_t i = 0; i < t->k; i++) heap[i] = (candidate){row[i], i};
  for (int64_t i = t->k / 2 - 1; i >= 0; i--) sift_down(t, heap, t->k, i);
  for (int64_t i = t->k; i < t->n; i++) {
    const candidate c = {row[i], i};
    /* Most come behind the root; equals do, too. */
    if (!t->integers &&
        (t->largest ? c.value <= heap[0].value : c.value >= heap[0].value)) {
      continue;
    }
    if (precedes(t, &c, &heap[0])) {
      heap[0] = c;
      sift_down(t, heap, t->k, 0);
    }
  }
  for (int64_t n = t->k - 1; n > 0; n--) { /* heap sort: the last to the end */
    const candidate c = heap[0];
    heap[0] = heap[n];
    heap[n] = c;
    sift_down(t, heap, n, 0);
  }
}

static void row(const work *w, const bsm_cpu_cursor *c, uint8_t *scratch) {
  const top_k *t = w->t;
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  const bsm_cpu_class from = bsm_cpu_class_of(t->dtype);
  const bsm_cpu_class wide = t->integers ? BSM_CPU_I64 : BSM_CPU_F64;
  double *values = (double *)(void *)scratch;
  candidate *heap =
      (candidate *)(void *)(scratch +
                            bsm_cpu_align((uint64_t)t->n * sizeof(double)));
  for (int64_t i = 0; i < t->n; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, t->n - i);
    double loaded[CHUNK];
    bsm_cpu_load(t->dtype, w->x + (c->offset[1] + i * t->stride) * size,
                 t->stride, n, loaded);
    bsm_cpu_convert(from, loaded, wide, values + i, n);
  }
  select_row(t, values, heap);
  for (int64_t i = 0; i < t->k; i++) {
    double one;
    bsm_cpu_convert(wide, &heap[i].value, from, &one, 1);
    bsm_cpu_store(t->dtype,
                  w->values + (c->offset[0] + i * t->value_stride) * size, 1, 1,
                  &one);
    w->indices[c->offset[2] + i * t->index_stride] = heap[i].index;
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
                   bsm_cpu_div_up(t->space.count, t->unit_rows), unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_TOP_K = {bsm_check_top_k, NULL, prepare, run};
