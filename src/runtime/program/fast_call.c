/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions as plans of one step. */
#include "runtime/program/fast_call.h"

#include <string.h>

#include "base/checked.h"
#include "runtime/program/fast_elements.h"
#include "runtime/program/one_step.h"

/* Products smaller than this are not worth the way. */
#define MIN_WORK 4096
/* Strides, paddings and groups above this are left to the library. */
#define MAX_WINDOW (1 << 24)

/* ---- weights ---- */

/* One packed form of a constant: the same weights may be used in several ways.
 */
typedef struct packed_weights {
  bsm_step_kind kind;
  bsm_step_params params;
  int64_t in_maps;
  bsm_dims dims;
  bool transposed;
  void *data;
  struct packed_weights *next;
} packed_weights;

/* More forms of one constant are not kept. */
#define MAX_FORMS 4

static bool is_form(const packed_weights *p, const bsm_one_step *s,
                    int64_t in_maps, const bsm_tensor *values,
                    bool transposed) {
  return p->kind == s->step.kind && p->in_maps == in_maps &&
         p->transposed == transposed &&
         bsm_dims_equal(p->dims, values->sizes) &&
         memcmp(&p->params, &s->params, sizeof(p->params)) == 0;
}

/* The values packed for the step; kept when they are a constant's. */
static bsm_status pack(bsm_one_step *s, int64_t in_maps,
                       const bsm_tensor *values, bool transposed) {
  bsm_fast_calls *c = s->calls;
  const void *data = bsm_tensor_data(values);
  const bool constant = bsm_ptrmap_get(&c->constants, data) != NULL;
  uint64_t size;
  BSM_TRY(c->target->ops->pack(c->target, &s->step, in_maps, data,
                               sizeof(float), transposed, NULL, &size));
  packed_weights *first = constant ? bsm_ptrmap_get(&c->packed, data) : NULL;
  size_t forms = 0;
  for (const packed_weights *p = first; p; p = p->next, forms++) {
    if (!is_form(p, s, in_maps, values, transposed)) continue;
    bsm_one_step_weights(s, 0, p->data, size);
    return BSM_OK;
  }
  const bool keep = constant && forms < MAX_FORMS;
  bsm_arena *arena = keep ? c->own : s->arena;
  void *packed = bsm_arena_alloc(arena, (size_t)size + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(packed);
  BSM_TRY(c->target->ops->pack(c->target, &s->step, in_maps, data,
                               sizeof(float), transposed, packed, &size));
  bsm_one_step_weights(s, 0, packed, size);
  if (!keep) return BSM_OK;
  packed_weights *p = BSM_NEW(arena, packed_weights);
  BSM_TRY_ALLOC(p);
  *p = (packed_weights){.kind = s->step.kind,
                        .params = s->params,
                        .in_maps = in_maps,
                        .dims = values->sizes,
                        .transposed = transposed,
                        .data = packed,
                        .next = first};
  BSM_TRY_ALLOC(bsm_ptrmap_set(c->own, &c->packed, data, p));
  return BSM_OK;
}

/* Kernels read biases at any multiple of 64 alone. */
static bsm_status set_bias(bsm_one_step *s, const bsm_tensor *bias) {
  const size_t size = (size_t)bsm_tensor_numel(bias) * sizeof(float);
  const void *data = bsm_tensor_data(bias);
  if ((uintptr_t)data % BSM_ALIGNMENT) {
    void *copy = bsm_arena_alloc(s->arena, size + 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(copy);
    memcpy(copy, data, size);
    data = copy;
  }
  bsm_one_step_weights(s, 1, data, size);
  return BSM_OK;
}

/* ---- arguments ---- */

static bsm_tensor *float_tensor(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR && v->u.tensor->dtype == BSM_DTYPE_FLOAT &&
                 !bsm_tensor_is_meta(v->u.tensor) &&
                 bsm_tensor_numel(v->u.tensor) > 0
             ? v->u.tensor
             : NULL;
}

/* A float vector of `size`, or None: then *out is NULL. */
static bool get_bias(const bsm_ivalue *v, int64_t size, bsm_tensor **out) {
  *out = NULL;
  if (v->tag == BSM_IVALUE_NONE) return true;
  *out = float_tensor(v);
  return *out && (*out)->sizes.rank == 1 && (*out)->sizes.d[0] == size &&
         bsm_tensor_is_contiguous(*out);
}

static bool get_ints(const bsm_ivalue *v, int32_t count, int64_t *out) {
  if (v->tag == BSM_IVALUE_INT) {
    for (int32_t i = 0; i < count; i++) out[i] = v->u.i;
    return true;
  }
  const size_t n = v->tag == BSM_IVALUE_LIST ? v->u.list->len : 0;
  if (n != 1 && n != (size_t)count) return false;
  for (int32_t i = 0; i < count; i++) {
    const bsm_ivalue *item = &v->u.list->items[n == 1 ? 0 : (size_t)i];
    if (item->tag != BSM_IVALUE_INT) return false;
    out[i] = item->u.i;
  }
  return true;
}

/* A result that the limit allows; NULL in *out when it does not. */
static bsm_status new_result(bsm_fast_calls *c, bsm_arena *arena, bsm_dims dims,
                             bsm_tensor **out) {
  int64_t n;
  *out = NULL;
  if (!bsm_dims_numel(dims, &n) ||
      (uint64_t)n > c->max_tensor_bytes / sizeof(float)) {
    return BSM_OK; /* the library says what is wrong */
  }
  return bsm_tensor_new(arena, BSM_DTYPE_FLOAT, dims, false, out);
}

/* Whether so many multiplications are worth it; false when they overflow. */
static bool is_work(int64_t a, int64_t b, int64_t c) {
  int64_t n;
  return bsm_i64_mul(a, b, &n) && bsm_i64_mul(n, c, &n) && n >= MIN_WORK;
}

/* ---- products ---- */

/* x [.., K] times weight [N, K], or [K, N] when `plain`. */
static bsm_status product_with_weights(bsm_fast_calls *c, bsm_arena *arena,
                                       bsm_tensor *x, bsm_tensor *weight,
                                       const bsm_ivalue *bias_value, bool plain,
                                       bsm_ivalue *out, bool *done) {
  if (weight->sizes.rank != 2 || x->sizes.rank < 1 ||
      !bsm_tensor_is_contiguous(weight)) {
    return BSM_OK;
  }
  const int64_t k = weight->sizes.d[plain ? 0 : 1];
  const int64_t n = weight->sizes.d[plain ? 1 : 0];
  bsm_tensor *bias, *y, rows, flat;
  if (x->sizes.d[x->sizes.rank - 1] != k || !get_bias(bias_value, n, &bias) ||
      !is_work(bsm_tensor_numel(x), n, 1)) {
    return BSM_OK;
  }
  bsm_dims dims = x->sizes;
  dims.d[dims.rank - 1] = n;
  BSM_TRY(new_result(c, arena, dims, &y));
  if (!y) return BSM_OK;
  BSM_TRY(bsm_tensor_contiguous(arena, x, &x));
  bsm_one_step *s = bsm_one_step_new(c, arena, BSM_STEP_MATRIX_MULTIPLY);
  BSM_TRY_ALLOC(s);
  rows = *x;
  rows.sizes = (bsm_dims){2, {bsm_tensor_numel(x) / k, k}};
  rows.strides[0] = k;
  rows.strides[1] = 1;
  flat = *y;
  flat.sizes = (bsm_dims){2, {rows.sizes.d[0], n}};
  flat.strides[0] = n;
  flat.strides[1] = 1;
  s->params.matrix_multiply =
      (bsm_step_matrix_multiply){.constant_b = 1, .k = k, .n = n, .scale = 1};
  bsm_one_step_input(s, &rows);
  bsm_one_step_output(s, &flat);
  BSM_TRY(pack(s, k, weight, !plain));
  if (bias) BSM_TRY(set_bias(s, bias));
  *out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, done);
}

static bsm_status linear(bsm_fast_calls *c, const bsm_ivalue *args,
                         bsm_arena *arena, bsm_ivalue *out, bool *done) {
  bsm_tensor *x = float_tensor(&args[0]), *w = float_tensor(&args[1]);
  return x && w
             ? product_with_weights(c, arena, x, w, &args[2], false, out, done)
             : BSM_OK;
}

/* beta * self + alpha * mat1 mat2, with both 1. */
static bsm_status addmm(bsm_fast_calls *c, const bsm_ivalue *args,
                        bsm_arena *arena, bsm_ivalue *out, bool *done) {
  bsm_tensor *x = float_tensor(&args[1]), *w = float_tensor(&args[2]);
  for (int i = 3; i < 5; i++) {
    const bsm_ivalue *v = &args[i];
    const bool one =
        v->tag == BSM_IVALUE_INT
            ? v->u.i == 1
            : v->tag == BSM_IVALUE_DOUBLE && !(v->u.d < 1) && !(v->u.d > 1);
    if (!one) return BSM_OK;
  }
  if (!x || !w || x->sizes.rank != 2) return BSM_OK;
  return product_with_weights(c, arena, x, w, &args[0], true, out, done);
}

/* The dims of the batch, broadcast; false when they do not fit. */
static bool broadcast_batch(const bsm_tensor *a, const bsm_tensor *b,
                            bsm_dims *out) {
  const int32_t rank =
      a->sizes.rank > b->sizes.rank ? a->sizes.rank : b->sizes.rank;
  out->rank = rank;
  for (int32_t i = 0; i < rank - 2; i++) {
    const int32_t ia = i - (rank - a->sizes.rank);
    const int32_t ib = i - (rank - b->sizes.rank);
    const int64_t da = ia < 0 ? 1 : a->sizes.d[ia];
    const int64_t db = ib < 0 ? 1 : b->sizes.d[ib];
    if (da != db && da != 1 && db != 1) return false;
    out->d[i] = da == 1 ? db : da;
  }
  return true;
}

/* A view of the matrix over the whole batch. */
static bsm_tensor over_batch(const bsm_tensor *t, bsm_dims batch) {
  bsm_tensor v = *t;
  const int32_t shift = batch.rank - t->sizes.rank;
  v.sizes.rank = batch.rank;
  for (int32_t i = batch.rank - 1; i >= 0; i--) {
    const int32_t k = i - shift;
    const bool matrix = i >= batch.rank - 2;
    v.sizes.d[i] = matrix ? t->sizes.d[k] : batch.d[i];
    v.strides[i] =
        matrix || (k >= 0 && t->sizes.d[k] == batch.d[i]) ? t->strides[k] : 0;
  }
  return v;
}

static bsm_status product(bsm_fast_calls *c, bsm_tensor *a, bsm_tensor *b,
                          double scale, bsm_arena *arena, bsm_ivalue *out,
                          bool *done) {
  bsm_dims dims;
  bsm_tensor *y;
  if (a->sizes.rank < 2 || b->sizes.rank < 2 || !broadcast_batch(a, b, &dims)) {
    return BSM_OK;
  }
  const int64_t m = a->sizes.d[a->sizes.rank - 2];
  const int64_t k = a->sizes.d[a->sizes.rank - 1];
  const int64_t n = b->sizes.d[b->sizes.rank - 1];
  if (b->sizes.d[b->sizes.rank - 2] != k || !is_work(m, k, n)) return BSM_OK;
  dims.d[dims.rank - 2] = m;
  dims.d[dims.rank - 1] = n;
  BSM_TRY(new_result(c, arena, dims, &y));
  if (!y) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(c, arena, BSM_STEP_MATRIX_MULTIPLY);
  BSM_TRY_ALLOC(s);
  s->params.matrix_multiply =
      (bsm_step_matrix_multiply){.k = k, .n = n, .scale = scale};
  const bsm_tensor left = over_batch(a, dims), right = over_batch(b, dims);
  bsm_one_step_input(s, &left);
  bsm_one_step_input(s, &right);
  bsm_one_step_output(s, y);
  *out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, done);
}

/* mm and bmm: as matmul, for operands of one rank and one batch. */
static bsm_status matmul(bsm_fast_calls *c, const bsm_ivalue *args,
                         bsm_arena *arena, bsm_ivalue *out, bool *done);

static bsm_status strict_product(bsm_fast_calls *c, const bsm_ivalue *args,
                                 int32_t rank, bsm_arena *arena,
                                 bsm_ivalue *out, bool *done) {
  const bsm_tensor *a = float_tensor(&args[0]), *b = float_tensor(&args[1]);
  const bool fits = a && b && a->sizes.rank == rank && b->sizes.rank == rank &&
                    (rank < 3 || a->sizes.d[0] == b->sizes.d[0]);
  return fits ? matmul(c, args, arena, out, done) : BSM_OK;
}

static bsm_status mm(bsm_fast_calls *c, const bsm_ivalue *args,
                     bsm_arena *arena, bsm_ivalue *out, bool *done) {
  return strict_product(c, args, 2, arena, out, done);
}

static bsm_status bmm(bsm_fast_calls *c, const bsm_ivalue *args,
                      bsm_arena *arena, bsm_ivalue *out, bool *done) {
  return strict_product(c, args, 3, arena, out, done);
}

static bsm_status matmul(bsm_fast_calls *c, const bsm_ivalue *args,
                         bsm_arena *arena, bsm_ivalue *out, bool *done) {
  const bsm_ivalue none = bsm_iv_none();
  bsm_tensor *a = float_tensor(&args[0]), *b = float_tensor(&args[1]);
  if (!a || !b) return BSM_OK;
  if (b->sizes.rank == 2 && a->sizes.rank >= 2 &&
      bsm_ptrmap_get(&c->constants, bsm_tensor_data(b))) {
    BSM_TRY(product_with_weights(c, arena, a, b, &none, true, out, done));
    if (*done) return BSM_OK;
  }
  return product(c, a, b, 1, arena, out, done);
}

/* ---- convolutions ---- */

typedef struct conv_args {
  const bsm_ivalue *stride, *padding, *dilation, *groups;
} conv_args;

static bool get_window(const conv_args *args, const bsm_tensor *weight,
                       bsm_step_convolution *out) {
  const int32_t spatial = weight->sizes.rank - 2;
  int64_t stride[3], padding[3], dilation[3];
  if (!get_ints(args->stride, spatial, stride) ||
      !get_ints(args->padding, spatial, padding) ||
      !get_ints(args->dilation, spatial, dilation) ||
      args->groups->tag != BSM_IVALUE_INT || args->groups->u.i < 1 ||
      args->groups->u.i > MAX_WINDOW) {
    return false;
  }
  bsm_step_window *w = &out->window;
  w->spatial = spatial;
  for (int32_t d = 0; d < 3; d++) {
    const int32_t i = d - (3 - spatial);
    w->kernel[d] = i < 0 ? 1 : weight->sizes.d[2 + i];
    w->stride[d] = i < 0 ? 1 : stride[i];
    w->dilation[d] = i < 0 ? 1 : dilation[i];
    w->pre_padding[d] = w->post_padding[d] = i < 0 ? 0 : padding[i];
    if (w->stride[d] < 1 || w->dilation[d] < 1 || w->pre_padding[d] < 0 ||
        w->stride[d] > MAX_WINDOW || w->dilation[d] > MAX_WINDOW ||
        w->pre_padding[d] > MAX_WINDOW) {
      return false;
    }
  }
  out->groups = args->groups->u.i;
  out->out_maps = weight->sizes.d[0];
  return true;
}

/* The size of each spatial dim of the output; false when there is none. */
static bool output_dims(const bsm_step_convolution *p, const bsm_tensor *x,
                        bsm_dims *out) {
  const bsm_step_window *w = &p->window;
  *out = x->sizes;
  out->d[1] = p->out_maps;
  for (int32_t i = 0; i < w->spatial; i++) {
    const int32_t d = i + 3 - w->spatial;
    int64_t reach, room;
    if (!bsm_i64_mul(w->dilation[d], w->kernel[d] - 1, &reach) ||
        !bsm_i64_add(x->sizes.d[2 + i], 2 * w->pre_padding[d], &room) ||
        room < reach + 1) {
      return false;
    }
    out->d[2 + i] = (room - reach - 1) / w->stride[d] + 1;
  }
  return true;
}

/* A result whose channels are adjacent. */
static bsm_status channels_last(bsm_fast_calls *c, bsm_arena *arena,
                                bsm_dims dims, bsm_tensor **out) {
  BSM_TRY(new_result(c, arena, dims, out));
  bsm_tensor *t = *out;
  if (!t) return BSM_OK;
  int64_t stride = dims.d[1];
  t->strides[1] = 1;
  for (int32_t i = dims.rank - 1; i >= 2; i--) {
    t->strides[i] = stride;
    stride *= dims.d[i];
  }
  t->strides[0] = stride;
  return BSM_OK;
}

static bsm_status to_channels_last(bsm_fast_calls *c, bsm_arena *arena,
                                   bsm_tensor **x) {
  bsm_tensor *y;
  bool done = false;
  BSM_TRY(channels_last(c, arena, (*x)->sizes, &y));
  if (!y) return BSM_OK; /* as it is: kernels take other strides or refuse */
  if (memcmp(y->strides, (*x)->strides,
             (size_t)y->sizes.rank * sizeof(y->strides[0])) == 0) {
    return BSM_OK;
  }
  bsm_one_step *s = bsm_one_step_new(c, arena, BSM_STEP_COPY);
  BSM_TRY_ALLOC(s);
  bsm_one_step_input(s, *x);
  bsm_one_step_output(s, y);
  BSM_TRY(bsm_one_step_run(s, &done));
  if (!done) BSM_TRY(bsm_tensor_copy(y, *x));
  *x = y;
  return BSM_OK;
}

static bsm_status convolve(bsm_fast_calls *c, const bsm_ivalue *args,
                           const conv_args *window, bsm_arena *arena,
                           bsm_ivalue *out, bool *done) {
  bsm_tensor *x = float_tensor(&args[0]), *w = float_tensor(&args[1]);
  bsm_tensor *bias, *y;
  bsm_dims dims;
  int64_t maps;
  if (!x || !w || x->sizes.rank != w->sizes.rank || w->sizes.rank < 3 ||
      w->sizes.rank > 5 || !bsm_tensor_is_contiguous(w) ||
      !get_bias(&args[2], w->sizes.d[0], &bias)) {
    return BSM_OK;
  }
  bsm_one_step *s = bsm_one_step_new(c, arena, BSM_STEP_CONVOLUTION);
  BSM_TRY_ALLOC(s);
  bsm_step_convolution *p = &s->params.convolution;
  if (!get_window(window, w, p) || !output_dims(p, x, &dims) ||
      !bsm_i64_mul(w->sizes.d[1], p->groups, &maps) || x->sizes.d[1] != maps ||
      p->out_maps % p->groups != 0) {
    return BSM_OK;
  }
  BSM_TRY(channels_last(c, arena, dims, &y));
  if (!y) return BSM_OK;
  BSM_TRY(to_channels_last(c, arena, &x));
  bsm_one_step_input(s, x);
  bsm_one_step_output(s, y);
  BSM_TRY(pack(s, x->sizes.d[1], w, false));
  if (bias) BSM_TRY(set_bias(s, bias));
  *out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, done);
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups) */
static bsm_status conv(bsm_fast_calls *c, const bsm_ivalue *args,
                       bsm_arena *arena, bsm_ivalue *out, bool *done) {
  const conv_args window = {&args[3], &args[4], &args[5], &args[6]};
  return convolve(c, args, &window, arena, out, done);
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed,
 * output_padding, groups, ...) */
static bsm_status convolution(bsm_fast_calls *c, const bsm_ivalue *args,
                              bsm_arena *arena, bsm_ivalue *out, bool *done) {
  const conv_args window = {&args[3], &args[4], &args[5], &args[8]};
  if (args[6].tag != BSM_IVALUE_BOOL || args[6].u.b) return BSM_OK;
  return convolve(c, args, &window, arena, out, done);
}

/* ---- the table ---- */

typedef bsm_status (*fast_fn)(bsm_fast_calls *calls, const bsm_ivalue *args,
                              bsm_arena *arena, bsm_ivalue *out, bool *done);

static const struct {
  const char *op;
  fast_fn fn;
  size_t args;
} rows[] = {
    {"aten::linear", linear, 3},
    {"aten::addmm", addmm, 5},
    {"aten::matmul", matmul, 2},
    {"aten::mm", mm, 2},
    {"aten::bmm", bmm, 2},
    {"aten::conv1d", conv, 7},
    {"aten::conv2d", conv, 7},
    {"aten::conv3d", conv, 7},
    {"aten::convolution", convolution, 9},
    {"aten::_convolution", convolution, 9},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

bool bsm_fast_call_knows(const char *op) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (strcmp(rows[i].op, op) == 0) return true;
  }
  return bsm_fast_elements_knows(op);
}

bsm_status bsm_fast_call(bsm_fast_calls *calls, const char *op,
                         const bsm_ivalue *args, size_t n, bsm_arena *arena,
                         bsm_ivalue *out, bool *done) {
  *done = false;
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (strcmp(rows[i].op, op) == 0) {
      return n >= rows[i].args ? rows[i].fn(calls, args, arena, out, done)
                               : BSM_OK;
    }
  }
  return bsm_fast_elements_call(calls, op, args, n, arena, out, done);
}
