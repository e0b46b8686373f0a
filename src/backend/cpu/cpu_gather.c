/* SPDX-License-Identifier: Apache-2.0 */
/* Gather along an axis (numpy.take), element by element (torch.gather), and by
 * index tuples.
 *
 * The first and the last are one thing: every index tuple picks a slice, copied
 * whole. All indices are checked before anything is written, and again when
 * used: a plan from outside may let the output lie over them. */
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_strided.h"
#include "backend/cpu/kernels/lanes/take.h"

#define UNIT 16384 /* elements */
#define CHUNK 256  /* indices loaded at once */

typedef struct gather {
  bsm_cpu_impl base;
  int32_t mode, axis;
  bool wraps; /* negative indices count from the end */
  bsm_dtype index_dtype;
  int64_t element;
  /* Slices: outer x tuples x inner; operands 0: output, 1: data. */
  bsm_cpu_space outer, inner;
  bsm_cpu_rows tuples, to; /* offsets in the indices, in the output */
  int64_t tuple_count, tuple_length, tuple_stride;
  int64_t size[BSM_MAX_RANK], stride[BSM_MAX_RANK]; /* indexed dims of data */
  bool single; /* slices of one element, and indices of one dimension */
  /* Elements: 0: output, 1: data without the axis, 2: indices. And the indices
   * alone, each of those that are repeated once. */
  bsm_cpu_space elements, alone;
} gather;

/* ---- prepare ---- */

static void set_dim(bsm_cpu_space *s, int64_t size, int64_t to, int64_t from) {
  s->dims[s->rank] = size;
  s->strides[0][s->rank] = to;
  s->strides[1][s->rank] = from;
  s->rank++;
}

static void prepare_slices(gather *g, const bsm_plan_tensor *x,
                           const bsm_plan_tensor *i, const bsm_plan_tensor *y) {
  const bool nd = g->mode == BSM_GATHER_ND;
  const int32_t first = nd ? 0 : g->axis;
  const int32_t index_rank = i->dims.rank - (nd ? 1 : 0);
  g->tuple_length = nd ? i->dims.d[index_rank] : 1;
  g->tuple_stride = nd ? i->strides[index_rank] : 0;
  for (int32_t d = 0; d < g->tuple_length; d++) {
    g->size[d] = x->dims.d[first + d];
    g->stride[d] = x->strides[first + d];
  }
  bsm_cpu_rows_init(&g->tuples, index_rank, i->dims.d, i->strides);
  bsm_cpu_rows_init(&g->to, index_rank, i->dims.d, y->strides + first);
  g->tuple_count = 1;
  for (int32_t d = 0; d < index_rank; d++) g->tuple_count *= i->dims.d[d];
  g->outer.operands = g->inner.operands = 2;
  for (int32_t d = 0; d < first; d++) {
    set_dim(&g->outer, x->dims.d[d], y->strides[d], x->strides[d]);
  }
  const int32_t rest = first + (int32_t)g->tuple_length;
  for (int32_t d = rest; d < x->dims.rank; d++) {
    set_dim(&g->inner, x->dims.d[d], y->strides[first + index_rank + d - rest],
            x->strides[d]);
  }
  bsm_cpu_space_reduce(&g->outer, false);
  bsm_cpu_space_reduce(&g->inner, true);
  g->single = g->inner.count == 1 && g->tuple_length == 1 &&
              g->tuples.rank == 1 && g->to.rank == 1 && bsm_k_takes(g->element);
}

static void prepare_elements(gather *g, const bsm_plan_tensor *x,
                             const bsm_plan_tensor *i,
                             const bsm_plan_tensor *y) {
  bsm_cpu_space *s = &g->elements;
  s->operands = 3;
  s->rank = y->dims.rank;
  for (int32_t d = 0; d < s->rank; d++) {
    s->dims[d] = y->dims.d[d];
    s->strides[0][d] = y->strides[d];
    s->strides[1][d] = d == g->axis ? 0 : x->strides[d];
    s->strides[2][d] = i->strides[d];
  }
  g->size[0] = x->dims.d[g->axis];
  g->stride[0] = x->strides[g->axis];
  g->alone.operands = 1;
  g->alone.rank = s->rank;
  for (int32_t d = 0; d < s->rank; d++) {
    g->alone.dims[d] = i->strides[d] == 0 ? 1 : i->dims.d[d];
    g->alone.strides[0][d] = i->strides[d];
  }
  bsm_cpu_space_reduce(&g->alone, true);
  bsm_cpu_space_reduce(s, true);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *i = bsm_step_input(p->plan, p->step, 1);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  gather *g = BSM_NEW(p->arena, gather);
  BSM_TRY_ALLOC(g);
  g->base.slots = p->threads;
  g->mode = p->step->params->gather.mode;
  g->axis = p->step->params->gather.axis;
  g->wraps = g->mode == BSM_GATHER_DEFAULT || g->mode == BSM_GATHER_ND;
  g->index_dtype = i->dtype;
  g->element = (int64_t)bsm_dtype_size(x->dtype);
  if (g->mode == BSM_GATHER_ELEMENT) {
    prepare_elements(g, x, i, y);
    g->base.description = "elements";
  } else {
    prepare_slices(g, x, i, y);
    g->base.description = g->single ? "single" : "slices";
  }
  out->impl = g;
  return BSM_OK;
}

/* ---- run ---- */

typedef struct work {
  const gather *g;
  const char *x, *indices;
  char *y;
  int64_t unit; /* slices */
} work;

static int64_t load_index(const gather *g, const char *indices,
                          int64_t offset) {
  return g->index_dtype == BSM_DTYPE_INT64
             ? ((const int64_t *)(const void *)indices)[offset]
             : ((const int32_t *)(const void *)indices)[offset];
}

static bsm_status bad_index(int64_t index, int64_t size) {
  return BSM_FAIL(BSM_OUT_OF_RANGE, "index %lld is out of range for size %lld",
                  (long long)index, (long long)size);
}

/* The place that an index names, or -1. */
static int64_t place_of(const gather *g, int64_t index, int64_t size) {
  if (index < 0) index = index < -size || !g->wraps ? -1 : index + size;
  return index < size ? index : -1;
}

/* The places of n indices of one dimension from an offset on; returns how many
 * are outside. */
static int64_t places_of(const gather *g, const char *indices, int64_t offset,
                         int64_t stride, int64_t n, int64_t *place) {
  return g->index_dtype == BSM_DTYPE_INT64
             ? bsm_k_places_i64((const int64_t *)(const void *)indices + offset,
                                stride, n, g->size[0], g->stride[0], g->wraps,
                                place)
             : bsm_k_places_i32((const int32_t *)(const void *)indices + offset,
                                stride, n, g->size[0], g->stride[0], g->wraps,
                                place);
}

/* Whether indices of one dimension name slices that there are. */
static bool are_inside(const work *w) {
  const gather *g = w->g;
  const int64_t stride = g->tuples.strides[0];
  int64_t place[CHUNK], outside = 0;
  if (g->tuple_length != 1 || g->tuples.rank != 1 || g->size[0] == 0) {
    return false;
  }
  for (int64_t t = 0; t < g->tuple_count && outside == 0; t += CHUNK) {
    outside = places_of(g, w->indices, t * stride, stride,
                        bsm_cpu_min(CHUNK, g->tuple_count - t), place);
  }
  return outside == 0;
}

static bsm_status check_slices(const work *w) {
  const gather *g = w->g;
  int64_t offsets[CHUNK];
  if (are_inside(w)) return BSM_OK;
  for (int64_t first = 0; first < g->tuple_count; first += CHUNK) {
    const int n = (int)bsm_cpu_min(CHUNK, g->tuple_count - first);
    bsm_cpu_rows_offsets(&g->tuples, first, n, offsets);
    for (int k = 0; k < n; k++) {
      for (int64_t d = 0; d < g->tuple_length; d++) {
        const int64_t i =
            load_index(g, w->indices, offsets[k] + d * g->tuple_stride);
        if (place_of(g, i, g->size[d]) < 0) return bad_index(i, g->size[d]);
      }
    }
  }
  return BSM_OK;
}

/* The slices that n index tuples name, at one place of the outer dimensions. */
static void copy_slices(const work *w, const bsm_cpu_cursor *c, int64_t tuple,
                        int n) {
  const gather *g = w->g;
  const bsm_cpu_space *s = &g->inner;
  int64_t at[CHUNK], to[CHUNK];
  bsm_cpu_rows_offsets(&g->tuples, tuple, n, at);
  bsm_cpu_rows_offsets(&g->to, tuple, n, to);
  for (int i = 0; i < n; i++) {
    int64_t from = c->offset[1];
    bool inside = true;
    for (int64_t d = 0; d < g->tuple_length; d++) {
      const int64_t k =
          place_of(g, load_index(g, w->indices, at[i] + d * g->tuple_stride),
                   g->size[d]);
      inside = inside && k >= 0;
      from += k * g->stride[d];
    }
    if (!inside) continue;
    const char *x = w->x + from * g->element;
    char *y = w->y + (c->offset[0] + to[i]) * g->element;
    if (s->rank == 1) {
      bsm_cpu_copy_row(g->element, x, s->strides[1][0], y, s->strides[0][0],
                       s->dims[0]);
    } else {
      bsm_cpu_copy_space(s, g->element, x, y);
    }
  }
}

/* Elements at the same places of some outer rows. */
static void single_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const gather *g = w->g;
  const int64_t first = unit * w->unit;
  const int64_t end = bsm_cpu_min(first + w->unit, g->outer.count);
  const int64_t stride = g->to.strides[0];
  int64_t place[CHUNK];
  (void)slot;
  for (int64_t t = 0; t < g->tuple_count; t += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, g->tuple_count - t);
    bsm_cpu_cursor c;
    places_of(g, w->indices, t * g->tuples.strides[0], g->tuples.strides[0], n,
              place);
    const int direction = stride == 1 ? bsm_k_direction(place, n) : 0;
    bsm_cpu_seek(&g->outer, first, &c);
    for (int64_t i = first; i < end; i++) {
      const char *x = w->x + c.offset[1] * g->element;
      char *y = w->y + (c.offset[0] + t * stride) * g->element;
      if (direction > 0) {
        memmove(y, x + place[0] * g->element, (size_t)(n * g->element));
      } else if (direction < 0) {
        bsm_k_reverse(g->element, x + place[0] * g->element, n, y);
      } else {
        bsm_k_take(g->element, x, 0, place, n, y, stride);
      }
      bsm_cpu_advance(&g->outer, &c, 1);
    }
  }
}

static void slices_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const gather *g = w->g;
  const int64_t total = g->outer.count * g->tuple_count;
  const int64_t end = bsm_cpu_min((unit + 1) * w->unit, total);
  (void)slot;
  int64_t first = unit * w->unit;
  bsm_cpu_cursor c;
  bsm_cpu_seek(&g->outer, first / g->tuple_count, &c);
  while (first < end) {
    const int64_t tuple = first % g->tuple_count;
    const int64_t n =
        bsm_cpu_min(bsm_cpu_min(CHUNK, end - first), g->tuple_count - tuple);
    copy_slices(w, &c, tuple, (int)n);
    if (tuple + n == g->tuple_count) bsm_cpu_advance(&g->outer, &c, 1);
    first += n;
  }
}

/* Whether any of n indices, not more than CHUNK, are outside. */
static bool are_outside(const gather *g, const char *indices, int64_t offset,
                        int64_t n) {
  const int64_t stride = g->alone.strides[0][g->alone.rank - 1];
  int64_t place[CHUNK];
  if (g->index_dtype == BSM_DTYPE_INT64 && stride == 1) {
    return !bsm_k_are_inside((const int64_t *)(const void *)indices + offset, n,
                             g->size[0]);
  }
  return places_of(g, indices, offset, stride, n, place) != 0;
}

static bsm_status check_elements(const work *w) {
  const gather *g = w->g;
  const bsm_cpu_space *s = &g->alone;
  const int64_t stride = s->strides[0][s->rank - 1], size = g->size[0];
  bsm_cpu_cursor c;
  bsm_cpu_seek(s, 0, &c);
  for (int64_t i = 0; i < s->count;) {
    const int64_t n = bsm_cpu_min(CHUNK, bsm_cpu_row_left(s, &c));
    const bool bad = size == 0 || are_outside(g, w->indices, c.offset[0], n);
    for (int64_t j = 0; bad && j < n; j++) {
      const int64_t k = load_index(g, w->indices, c.offset[0] + j * stride);
      if (place_of(g, k, size) < 0) return bad_index(k, size);
    }
    bsm_cpu_advance(s, &c, n);
    i += n;
  }
  return BSM_OK;
}

static void take_wide(int64_t element, const char *x, int64_t x_stride, char *y,
                      int64_t y_stride, const int64_t *place, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    bsm_cpu_copy_row(element, x + (i * x_stride + place[i]) * element, 1,
                     y + i * y_stride * element, 1, 1);
  }
}

static void elements_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const gather *g = w->g;
  const bsm_cpu_space *s = &g->elements;
  const int32_t last = s->rank - 1;
  const int64_t end = bsm_cpu_min((unit + 1) * UNIT, s->count);
  /* Along the last axis, where all lies side by side. */
  const bool direct = g->index_dtype == BSM_DTYPE_INT64 && g->stride[0] == 1 &&
                      s->strides[0][last] == 1 && s->strides[1][last] == 0 &&
                      s->strides[2][last] == 1 && bsm_k_takes(g->element);
  const bool one = s->strides[2][last] == 0; /* index of all in a row */
  int64_t place[CHUNK];
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(s, unit * UNIT, &c);
  for (int64_t i = unit * UNIT; i < end;) {
    const int64_t left = bsm_cpu_min(end - i, bsm_cpu_row_left(s, &c));
    const int64_t n = one ? left : bsm_cpu_min(CHUNK, left);
    const char *x = w->x + c.offset[1] * g->element;
    char *y = w->y + c.offset[0] * g->element;
    if (one) {
      places_of(g, w->indices, c.offset[2], 0, 1, place);
      bsm_cpu_copy_row(g->element, x + place[0] * g->element,
                       s->strides[1][last], y, s->strides[0][last], n);
      bsm_cpu_advance(s, &c, n);
      i += n;
      continue;
    }
    if (direct) {
      bsm_k_take_at(g->element, x,
                    (const int64_t *)(const void *)w->indices + c.offset[2], n,
                    g->size[0], y);
      bsm_cpu_advance(s, &c, n);
      i += n;
      continue;
    }
    places_of(g, w->indices, c.offset[2], s->strides[2][last], n, place);
    if (bsm_k_takes(g->element)) {
      bsm_k_take(g->element, x, s->strides[1][last], place, n, y,
                 s->strides[0][last]);
    } else {
      take_wide(g->element, x, s->strides[1][last], y, s->strides[0][last],
                place, n);
    }
    bsm_cpu_advance(s, &c, n);
    i += n;
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const gather *g = prepared->impl;
  work w = {.g = g,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .indices = bsm_cpu_input_address(prepared, r, 1),
            .y = bsm_cpu_output_address(prepared, r, 0)};
  if (g->mode == BSM_GATHER_ELEMENT) {
    if (g->elements.count == 0) return BSM_OK;
    BSM_TRY(check_elements(&w));
    bsm_cpu_parallel(r, g->base.slots, bsm_cpu_div_up(g->elements.count, UNIT),
                     elements_unit, &w);
    return BSM_OK;
  }
  const int64_t total = g->outer.count * g->tuple_count;
  if (total == 0 || g->inner.count == 0) return BSM_OK;
  BSM_TRY(check_slices(&w));
  if (g->single) {
    w.unit = bsm_cpu_max(1, UNIT / g->tuple_count);
    bsm_cpu_parallel(r, g->base.slots, bsm_cpu_div_up(g->outer.count, w.unit),
                     single_unit, &w);
    return BSM_OK;
  }
  w.unit = bsm_cpu_max(1, UNIT / g->inner.count);
  bsm_cpu_parallel(r, g->base.slots, bsm_cpu_div_up(total, w.unit), slices_unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_GATHER = {bsm_check_gather, NULL, prepare, run};
