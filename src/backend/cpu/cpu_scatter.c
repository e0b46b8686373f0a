/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter: a copy of the data with updates written to the places that indices
 * name, single elements (torch.scatter) or slices.
 *
 * Updates that may meet in one place are always applied by one task and in
 * row-major order of the indices, so the result does not depend on threads.
 * Work is therefore split where places differ for sure: elements, by the rows
 * along the axis; slices, by what lies before and inside of them.
 *
 * All indices are checked before anything is written. They are looked at again
 * when used, because a plan from outside may let the output lie over them. */
#include <math.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_strided.h"
#include "backend/cpu/kernels/lanes/take.h"
#include "backend/cpu/kernels/math/vector_math.h"

#define UNIT 16384 /* elements */
#define CHUNK 256  /* of an inner row, for one task */
#define BLOCK 64   /* elements converted at once */
#define VECTORS 8  /* neighbours from which on kernels reduce them */

typedef struct scatter {
  bsm_cpu_impl base;
  bsm_step_scatter p;
  bsm_dtype dtype, index_dtype;
  int64_t element;
  bsm_k_binary_f32 *combine; /* reduces neighbouring floats; NULL: no floats */
  bool same_layout;          /* of data and output */
  bool puts;          /* elements that are added or replace, by kernels */
  bsm_cpu_space copy; /* 0: output, 1: data */
  /* Elements: rows along the axis; 0: output, 1: updates, 2: indices.
   * Slices: the dimensions in front of them; 0: output, 1: updates. */
  bsm_cpu_space outer;
  bsm_cpu_space inner;  /* of a slice; 0: output, 1: updates */
  bsm_cpu_space tuples; /* 0: indices, 1: updates; in their own order */
  int64_t depth, depth_stride;
  int64_t size[BSM_MAX_RANK], stride[BSM_MAX_RANK]; /* of the named dims */
} scatter;

/* ---- prepare ---- */

static void add_dim(bsm_cpu_space *s, int64_t size, int64_t a, int64_t b) {
  s->dims[s->rank] = size;
  s->strides[0][s->rank] = a;
  s->strides[1][s->rank] = b;
  s->rank++;
}

static void prepare_slices(scatter *s, const bsm_plan_tensor *i,
                           const bsm_plan_tensor *u, const bsm_plan_tensor *y) {
  const int32_t axis = s->p.axis, index_rank = i->dims.rank - 1;
  const int32_t rest = axis + (int32_t)i->dims.d[index_rank];
  s->depth = i->dims.d[index_rank];
  s->depth_stride = i->strides[index_rank];
  for (int32_t d = 0; d < s->depth; d++) {
    s->size[d] = y->dims.d[axis + d];
    s->stride[d] = y->strides[axis + d];
  }
  s->outer.operands = s->inner.operands = s->tuples.operands = 2;
  for (int32_t d = 0; d < axis; d++) {
    add_dim(&s->outer, y->dims.d[d], y->strides[d], u->strides[d]);
  }
  for (int32_t d = 0; d < index_rank; d++) {
    add_dim(&s->tuples, i->dims.d[d], i->strides[d], u->strides[axis + d]);
  }
  for (int32_t d = rest; d < y->dims.rank; d++) {
    add_dim(&s->inner, y->dims.d[d], y->strides[d],
            u->strides[axis + index_rank + d - rest]);
  }
  bsm_cpu_space_reduce(&s->outer, true);
  bsm_cpu_space_reduce(&s->tuples, false);
  bsm_cpu_space_reduce(&s->inner, true);
}

static void prepare_elements(scatter *s, const bsm_plan_tensor *i,
                             const bsm_plan_tensor *u,
                             const bsm_plan_tensor *y) {
  const int32_t axis = s->p.axis;
  s->outer.operands = 3;
  for (int32_t d = 0; d < y->dims.rank; d++) {
    if (d == axis) continue;
    s->outer.strides[2][s->outer.rank] = i->strides[d];
    add_dim(&s->outer, i->dims.d[d], y->strides[d], u->strides[d]);
  }
  bsm_cpu_space_reduce(&s->outer, true);
  s->tuples.operands = 2;
  add_dim(&s->tuples, i->dims.d[axis], i->strides[axis], u->strides[axis]);
  s->tuples.count = i->dims.d[axis];
  s->depth = 1;
  s->size[0] = y->dims.d[axis];
  s->stride[0] = y->strides[axis];
}

static bsm_k_binary_f32 *combine_of(const bsm_k_math *math, const scatter *s) {
  if (s->dtype != BSM_DTYPE_FLOAT) return NULL;
  switch (s->p.reduction) {
    case BSM_SCATTER_ADD:
      return math->sum;
    case BSM_SCATTER_MUL:
      return math->prod;
    case BSM_SCATTER_MIN:
      return math->min;
    default:
      return math->max;
  }
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *i = bsm_step_input(p->plan, p->step, 1);
  const bsm_plan_tensor *u = bsm_step_input(p->plan, p->step, 2);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  scatter *s = BSM_NEW(p->arena, scatter);
  BSM_TRY_ALLOC(s);
  s->base.elements = bsm_cpu_elements_of(p->isa);
  s->base.slots = p->threads;
  s->p = p->step->params->scatter;
  s->dtype = y->dtype;
  s->index_dtype = i->dtype;
  s->element = (int64_t)bsm_dtype_size(y->dtype);
  s->combine = combine_of(bsm_k_math_select(p->isa), s);
  s->same_layout = true;
  for (int32_t d = 0; d < y->dims.rank; d++) {
    if (y->dims.d[d] > 1 && x->strides[d] != y->strides[d]) {
      s->same_layout = false;
    }
  }
  bsm_cpu_space_init(&s->copy, (const bsm_plan_tensor *[]){y, x}, 2);
  if (s->p.mode == BSM_SCATTER_ELEMENT) {
    prepare_elements(s, i, u, y);
    s->puts = s->p.reduction == BSM_SCATTER_ASSIGN
                  ? bsm_k_takes(s->element)
                  : s->p.reduction == BSM_SCATTER_ADD && s->p.include_self &&
                        s->dtype == BSM_DTYPE_FLOAT;
    s->base.description = "elements";
  } else {
    prepare_slices(s, i, u, y);
    s->base.description = "slices";
  }
  out->impl = s;
  return BSM_OK;
}

/* ---- reductions ---- */

#define EACH(expression)                          \
  for (int64_t i = 0; i < n; i++) {               \
    a[i * as] = expression(a[i * as], b[i * bs]); \
  }                                               \
  return
/* NaN stays, and comes in. */
#define LESSER(x, y) ((y) < (x) || (y) != (y) ? (y) : (x))
#define GREATER(x, y) ((y) > (x) || (y) != (y) ? (y) : (x))
#define PLUS(x, y) ((x) + (y))
#define TIMES(x, y) ((x) * (y))
#define WRAPPED_PLUS(x, y) ((int64_t)((uint64_t)(x) + (uint64_t)(y)))
#define WRAPPED_TIMES(x, y) ((int64_t)((uint64_t)(x) * (uint64_t)(y)))
#define OR(x, y) ((uint8_t)((x) | (y)))
#define AND(x, y) ((uint8_t)((x) & (y)))

/* a = a op b */
#define APPLY(name, type, plus, times, lesser, greater)                   \
  static void name(int32_t reduction, type *a, int64_t as, const type *b, \
                   int64_t bs, int64_t n) {                               \
    switch (reduction) {                                                  \
      case BSM_SCATTER_ADD:                                               \
        EACH(plus);                                                       \
      case BSM_SCATTER_MUL:                                               \
        EACH(times);                                                      \
      case BSM_SCATTER_MIN:                                               \
        EACH(lesser);                                                     \
      default:                                                            \
        EACH(greater);                                                    \
    }                                                                     \
  }
APPLY(apply_f32, float, PLUS, TIMES, LESSER, GREATER)
APPLY(apply_f64, double, PLUS, TIMES, LESSER, GREATER)
APPLY(apply_i64, int64_t, WRAPPED_PLUS, WRAPPED_TIMES, LESSER, GREATER)
APPLY(apply_u8, uint8_t, OR, AND, AND, OR)

static void apply(bsm_cpu_class c, int32_t reduction, void *a, int64_t as,
                  const void *b, int64_t bs, int64_t n) {
  switch (c) {
    case BSM_CPU_F32:
      apply_f32(reduction, a, as, b, bs, n);
      return;
    case BSM_CPU_F64:
      apply_f64(reduction, a, as, b, bs, n);
      return;
    case BSM_CPU_I64:
      apply_i64(reduction, a, as, b, bs, n);
      return;
    case BSM_CPU_U8:
      apply_u8(reduction, a, as, b, bs, n);
      return;
  }
}

/* n updates to n places; strides in elements. */
static void write_run(const scatter *s, char *y, int64_t y_stride,
                      const char *u, int64_t u_stride, int64_t n) {
  const bsm_cpu_class c = bsm_cpu_class_of(s->dtype);
  if (s->p.reduction == BSM_SCATTER_ASSIGN) {
    bsm_cpu_copy_row(s->element, u, u_stride, y, y_stride, n);
    return;
  }
  if (s->combine && n >= VECTORS && y_stride == 1 && u_stride == 1) {
    float *to = (float *)(void *)y;
    s->combine(to, (const float *)(const void *)u, to, n);
    return;
  }
  if (bsm_cpu_is_native(s->dtype) && c != BSM_CPU_U8) {
    apply(c, s->p.reduction, y, y_stride, u, u_stride, n);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t a[BLOCK], b[BLOCK]; /* large enough for any class */
    const int64_t m = bsm_cpu_min(BLOCK, n - i);
    char *to = y + i * y_stride * s->element;
    bsm_cpu_load(&s->base.elements, s->dtype, to, y_stride, m, a);
    bsm_cpu_load(&s->base.elements, s->dtype, u + i * u_stride * s->element,
                 u_stride, m, b);
    apply(c, s->p.reduction, a, 1, b, 1, m);
    bsm_cpu_store(&s->base.elements, s->dtype, to, y_stride, m, a);
  }
}

static int64_t least(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_BOOL:
      return 0;
    case BSM_DTYPE_INT8:
      return INT8_MIN;
    case BSM_DTYPE_INT16:
      return INT16_MIN;
    case BSM_DTYPE_INT32:
      return INT32_MIN;
    default:
      return INT64_MIN;
  }
}

/* n places get what any update replaces. */
static void clear_run(const scatter *s, char *y, int64_t y_stride, int64_t n) {
  const int64_t low = least(s->dtype);
  const int64_t high = s->dtype == BSM_DTYPE_BOOL    ? 1
                       : s->dtype == BSM_DTYPE_UINT8 ? UINT8_MAX
                                                     : -(low + 1);
  double value = 0;
  int64_t integer = 0, one[1];
  char bytes[8];
  if (s->p.reduction == BSM_SCATTER_MUL) value = 1, integer = 1;
  if (s->p.reduction == BSM_SCATTER_MIN) value = INFINITY, integer = high;
  if (s->p.reduction == BSM_SCATTER_MAX) value = -INFINITY, integer = low;
  bsm_cpu_set(&s->base.elements, bsm_cpu_class_of(s->dtype), one, 1, value,
              integer);
  bsm_cpu_store(&s->base.elements, s->dtype, bytes, 1, 1, one);
  bsm_cpu_repeat(s->element, bytes, y, y_stride, n);
}

/* ---- run ---- */

typedef struct work {
  const scatter *s;
  const char *x, *indices, *u;
  char *y;
  int64_t inner_rows, chunks, chunk; /* slices */
} work;

static int64_t load_index(const scatter *s, const char *indices,
                          int64_t offset) {
  return s->index_dtype == BSM_DTYPE_INT64
             ? ((const int64_t *)(const void *)indices)[offset]
             : ((const int32_t *)(const void *)indices)[offset];
}

/* The offset in the output of the tuple at `at`; false, with the component
 * that does not fit, when there is one. */
static bool place_of(const work *w, int64_t at, int64_t *offset, int64_t *d) {
  const scatter *s = w->s;
  int64_t sum = 0;
  for (*d = 0; *d < s->depth; ++*d) {
    const int64_t size = s->size[*d];
    int64_t k = load_index(s, w->indices, at + *d * s->depth_stride);
    if (k < 0 && s->p.wrap) k = k < -size ? -1 : k + size;
    if (k < 0 || k >= size) return false;
    sum += k * s->stride[*d];
  }
  *offset = sum;
  return true;
}

/* Of n elements along the axis, from `at` on, the places; returns how many are
 * outside. */
static int64_t element_places(const work *w, int64_t at, int64_t n,
                              int64_t *place) {
  const scatter *s = w->s;
  const int64_t step = s->tuples.strides[0][0];
  const int wrap = s->p.wrap != 0;
  return s->index_dtype == BSM_DTYPE_INT64
             ? bsm_k_places_i64((const int64_t *)(const void *)w->indices + at,
                                step, n, s->size[0], s->stride[0], wrap, place)
             : bsm_k_places_i32((const int32_t *)(const void *)w->indices + at,
                                step, n, s->size[0], s->stride[0], wrap, place);
}

/* Whether all elements of a row are inside. */
static bool row_is_inside(const work *w, int64_t at) {
  int64_t place[CHUNK];
  const int64_t count = w->s->tuples.count, step = w->s->tuples.strides[0][0];
  if (w->s->size[0] == 0) return false;
  for (int64_t t = 0; t < count; t += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, count - t);
    if (element_places(w, at + t * step, n, place)) return false;
  }
  return true;
}

static bsm_status check_indices(const work *w) {
  const scatter *s = w->s;
  const bool elements = s->p.mode == BSM_SCATTER_ELEMENT;
  const int64_t rows = elements ? s->outer.count : 1;
  bsm_cpu_cursor c, row;
  if (elements) bsm_cpu_seek(&s->outer, 0, &row);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t base = elements ? row.offset[2] : 0;
    const bool good = elements && row_is_inside(w, base);
    bsm_cpu_seek(&s->tuples, 0, &c);
    for (int64_t t = 0; !good && t < s->tuples.count; t++) {
      int64_t offset, d;
      if (!place_of(w, base + c.offset[0], &offset, &d)) {
        const int64_t k =
            load_index(s, w->indices, base + c.offset[0] + d * s->depth_stride);
        return BSM_FAIL(BSM_OUT_OF_RANGE,
                        "index %lld is out of range for dimension %lld with "
                        "size %lld",
                        (long long)k, (long long)(s->p.axis + d),
                        (long long)s->size[d]);
      }
      bsm_cpu_advance(&s->tuples, &c, 1);
    }
    if (elements) bsm_cpu_advance(&s->outer, &row, 1);
  }
  return BSM_OK;
}

static void copy_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const scatter *s = w->s;
  const int64_t end = bsm_cpu_min((unit + 1) * UNIT, s->copy.count);
  const int32_t last = s->copy.rank - 1;
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&s->copy, unit * UNIT, &c);
  for (int64_t i = unit * UNIT; i < end;) {
    const int64_t n = bsm_cpu_min(bsm_cpu_row_left(&s->copy, &c), end - i);
    bsm_cpu_copy_row(s->element, w->x + c.offset[1] * s->element,
                     s->copy.strides[1][last], w->y + c.offset[0] * s->element,
                     s->copy.strides[0][last], n);
    bsm_cpu_advance(&s->copy, &c, n);
    i += n;
  }
}

/* All tuples, in order, on runs of n elements that start at the offsets `y`
 * and `u` and whose tuples start at `at`; `clear`: prepares the places. */
static void apply_tuples(const work *w, int64_t at, int64_t y, int64_t u,
                         int64_t n, bool clear) {
  const scatter *s = w->s;
  const bool slices = s->p.mode == BSM_SCATTER_ND;
  const int32_t last = s->inner.rank - 1;
  const int64_t y_stride = slices ? s->inner.strides[0][last] : 1;
  const int64_t u_stride = slices ? s->inner.strides[1][last] : 1;
  bsm_cpu_cursor c;
  bsm_cpu_seek(&s->tuples, 0, &c);
  for (int64_t t = 0; t < s->tuples.count; t++) {
    int64_t offset, d;
    if (place_of(w, at + c.offset[0], &offset, &d)) {
      char *to = w->y + (y + offset) * s->element;
      if (clear) {
        clear_run(s, to, y_stride, n);
      } else {
        write_run(s, to, y_stride, w->u + (u + c.offset[1]) * s->element,
                  u_stride, n);
      }
    }
    bsm_cpu_advance(&s->tuples, &c, 1);
  }
}

static void update(const work *w, int64_t at, int64_t y, int64_t u, int64_t n) {
  const bsm_step_scatter *p = &w->s->p;
  if (!p->include_self && p->reduction != BSM_SCATTER_ASSIGN) {
    apply_tuples(w, at, y, u, n, true);
  }
  apply_tuples(w, at, y, u, n, false);
}

/* The elements of a row, of floats that are added or of any that replace. */
static void put_elements(const work *w, const bsm_cpu_cursor *c) {
  const scatter *s = w->s;
  const int64_t count = s->tuples.count;
  const int64_t step = s->tuples.strides[0][0], from = s->tuples.strides[1][0];
  char *y = w->y + c->offset[0] * s->element;
  const char *u = w->u + c->offset[1] * s->element;
  int64_t place[CHUNK];
  for (int64_t t = 0; t < count; t += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, count - t);
    const char *updates = u + t * from * s->element;
    if (element_places(w, c->offset[2] + t * step, n, place)) return;
    if (s->p.reduction == BSM_SCATTER_ADD) {
      bsm_k_add_at((const float *)(const void *)updates, from, place, n,
                   (float *)(void *)y);
    } else {
      bsm_k_put(s->element, updates, from, place, n, y);
    }
  }
}

static void elements_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const scatter *s = w->s;
  const int64_t first = unit * w->chunk;
  const int64_t end = bsm_cpu_min(first + w->chunk, s->outer.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&s->outer, first, &c);
  for (int64_t i = first; i < end; i++) {
    if (s->puts) {
      put_elements(w, &c);
    } else {
      update(w, c.offset[2], c.offset[0], c.offset[1], 1);
    }
    bsm_cpu_advance(&s->outer, &c, 1);
  }
}

/* A unit is a piece of one inner row, at one place of the outer dims. */
static void slices_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const scatter *s = w->s;
  const int32_t last = s->inner.rank - 1;
  const int64_t length = s->inner.dims[last];
  const int64_t begin = unit % w->chunks * w->chunk;
  const int64_t n = bsm_cpu_min(w->chunk, length - begin);
  bsm_cpu_cursor outer, inner;
  (void)slot;
  unit /= w->chunks;
  bsm_cpu_seek(&s->inner, unit % w->inner_rows * length + begin, &inner);
  bsm_cpu_seek(&s->outer, unit / w->inner_rows, &outer);
  update(w, 0, outer.offset[0] + inner.offset[0],
         outer.offset[1] + inner.offset[1], n);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const scatter *s = prepared->impl;
  work w = {.s = s,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .indices = bsm_cpu_input_address(prepared, r, 1),
            .u = bsm_cpu_input_address(prepared, r, 2),
            .y = bsm_cpu_output_address(prepared, r, 0)};
  const bool elements = s->p.mode == BSM_SCATTER_ELEMENT;
  const bool any = s->outer.count > 0 && s->tuples.count > 0;
  if (any) BSM_TRY(check_indices(&w));
  if (s->copy.count > 0 && !(s->same_layout && w.x == w.y)) {
    bsm_cpu_parallel(r, s->base.slots, bsm_cpu_div_up(s->copy.count, UNIT),
                     copy_unit, &w);
  }
  if (!any || s->copy.count == 0) return BSM_OK;
  if (elements) {
    w.chunk = bsm_cpu_max(1, UNIT / s->tuples.count);
    bsm_cpu_parallel(r, s->base.slots, bsm_cpu_div_up(s->outer.count, w.chunk),
                     elements_unit, &w);
    return BSM_OK;
  }
  if (s->inner.count == 0) return BSM_OK;
  const int64_t length = s->inner.dims[s->inner.rank - 1];
  w.chunk = CHUNK;
  w.chunks = bsm_cpu_div_up(length, CHUNK);
  w.inner_rows = s->inner.count / length;
  bsm_cpu_parallel(r, s->base.slots, s->outer.count * w.inner_rows * w.chunks,
                   slices_unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_SCATTER = {bsm_check_scatter, NULL, prepare, run};
