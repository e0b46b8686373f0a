/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise ops, normalisations, softmax, pooling and attention as plans of
 * one step. */
#include "runtime/program/fast_elements.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "bessemer/network.h"
#include "runtime/program/one_step.h"

/* Fewer elements are not worth the way. */
#define MIN_ELEMENTS 256
/* Windows whose numbers are larger are left to the library. */
#define MAX_WINDOW (1 << 20)

typedef struct fast_call {
  bsm_fast_calls *calls;
  const bsm_ivalue *args;
  bsm_arena *arena;
  int32_t code; /* of the row */
  bsm_ivalue *out;
  bool *done;
} fast_call;

/* ---- arguments ---- */

static bsm_tensor *float_tensor(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR && v->u.tensor->dtype == BSM_DTYPE_FLOAT &&
                 !bsm_tensor_is_meta(v->u.tensor) &&
                 bsm_tensor_numel(v->u.tensor) > 0
             ? v->u.tensor
             : NULL;
}

static bool is_number(const bsm_ivalue *v, double *out) {
  if (v->tag == BSM_IVALUE_INT) *out = (double)v->u.i;
  if (v->tag == BSM_IVALUE_DOUBLE) *out = v->u.d;
  return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE;
}

static bool is_one(const bsm_ivalue *v) {
  double x = 0;
  return is_number(v, &x) && !(x < 1) && !(x > 1);
}

static bool is_false(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_BOOL && !v->u.b;
}

/* A list of one or `count` ints, from `low` on. */
static bool get_ints(const bsm_ivalue *v, int32_t count, int64_t low,
                     int64_t *out) {
  const bool single = v->tag == BSM_IVALUE_INT;
  const size_t n = v->tag == BSM_IVALUE_LIST ? v->u.list->len : 0;
  if (!single && n != 1 && n != (size_t)count) return false;
  for (int32_t i = 0; i < count; i++) {
    const bsm_ivalue *item =
        single ? v : &v->u.list->items[n == 1 ? 0 : (size_t)i];
    if (item->tag != BSM_IVALUE_INT || item->u.i < low ||
        item->u.i > MAX_WINDOW) {
      return false;
    }
    out[i] = item->u.i;
  }
  return true;
}

/* ---- results ---- */

static bool is_channels_last(const bsm_tensor *t) {
  int64_t stride = t->sizes.d[1];
  if (t->sizes.rank < 3 || t->strides[1] != 1) return false;
  for (int32_t i = t->sizes.rank - 1; i >= 2; i--) {
    if (t->strides[i] != stride) return false;
    stride *= t->sizes.d[i];
  }
  return t->strides[0] == stride;
}

/* A result, with adjacent channels when `like` is given and has them; NULL when
 * it is too large: the library says so. */
static bsm_status new_result(const fast_call *f, bsm_dims dims,
                             const bsm_tensor *like, bsm_tensor **out) {
  int64_t n;
  *out = NULL;
  *f->done = false;
  if (!bsm_dims_numel(dims, &n) || n < 1 ||
      (uint64_t)n > f->calls->max_tensor_bytes / sizeof(float)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_tensor_new(f->arena, BSM_DTYPE_FLOAT, dims, false, out));
  if (like && dims.rank == like->sizes.rank && is_channels_last(like)) {
    bsm_tensor *y = *out;
    int64_t stride = dims.d[1];
    y->strides[1] = 1;
    for (int32_t i = dims.rank - 1; i >= 2; i--) {
      y->strides[i] = stride;
      stride *= dims.d[i];
    }
    y->strides[0] = stride;
  }
  return BSM_OK;
}

static bool broadcast(bsm_dims a, bsm_dims b, bsm_dims *out) {
  const bsm_dims wide = a.rank >= b.rank ? a : b;
  const bsm_dims other = a.rank >= b.rank ? b : a;
  const int32_t shift = wide.rank - other.rank;
  *out = wide;
  for (int32_t i = shift; i < wide.rank; i++) {
    const int64_t d = other.d[i - shift];
    if (wide.d[i] != d && wide.d[i] != 1 && d != 1) return false;
    out->d[i] = wide.d[i] == 1 ? d : wide.d[i];
  }
  return true;
}

/* ---- element-wise ---- */

static bsm_step_ew_instruction instruction(int32_t kind, int32_t code,
                                           int32_t dst, int32_t a, int32_t b) {
  return (bsm_step_ew_instruction){.kind = kind,
                                   .code = code,
                                   .dst = dst,
                                   .a = a,
                                   .b = b,
                                   .dtype = BSM_DTYPE_FLOAT};
}

static bsm_status activate(const fast_call *f, int32_t type, double alpha,
                           double beta) {
  bsm_tensor *x = float_tensor(&f->args[0]), *y;
  if (!x || bsm_tensor_numel(x) < MIN_ELEMENTS) return BSM_OK;
  BSM_TRY(new_result(f, x->sizes, x, &y));
  if (!y) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_ELEMENT_WISE);
  BSM_TRY_ALLOC(s);
  bsm_step_element_wise *p = &s->params.element_wise;
  p->program[p->instruction_count++] =
      instruction(BSM_STEP_EW_ACTIVATION, type, 1, 0, 0);
  p->program[0].alpha = alpha;
  p->program[0].beta = beta;
  p->result = 1;
  bsm_one_step_input(s, x);
  bsm_one_step_output(s, y);
  *f->out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, f->done);
}

/* relu(self) and others without parameters; `code` is the activation. */
static bsm_status activation(const fast_call *f) {
  switch (f->code) {
    case BSM_ACTIVATION_HARD_SIGMOID:
      return activate(f, f->code, 1.0 / 6, 0.5);
    case BSM_ACTIVATION_CLIP: /* relu6 */
      return activate(f, f->code, 0, 6);
    default:
      return activate(f, f->code, 0, 0);
  }
}

/* gelu(self, approximate) */
static bsm_status gelu(const fast_call *f) {
  const bsm_ivalue *how = &f->args[1];
  if (how->tag != BSM_IVALUE_STRING) return BSM_OK;
  if (bsm_str_eq(*how->u.s, BSM_STR("none"))) {
    return activate(f, BSM_ACTIVATION_GELU_ERF, 0, 0);
  }
  return bsm_str_eq(*how->u.s, BSM_STR("tanh"))
             ? activate(f, BSM_ACTIVATION_GELU_TANH, 0, 0)
             : BSM_OK;
}

/* leaky_relu(self, slope), hardtanh(self, min, max) */
static bsm_status parameters(const fast_call *f) {
  double alpha, beta = 0;
  if (!is_number(&f->args[1], &alpha) ||
      (f->code == BSM_ACTIVATION_CLIP && !is_number(&f->args[2], &beta))) {
    return BSM_OK;
  }
  return activate(f, f->code, alpha, beta);
}

static bsm_status combine(const fast_call *f, bsm_tensor *a, bsm_tensor *b,
                          bsm_tensor **out) {
  bsm_dims dims;
  *out = NULL;
  if (!broadcast(a->sizes, b->sizes, &dims)) return BSM_OK;
  const bsm_tensor *like = bsm_dims_equal(a->sizes, dims) ? a : b;
  BSM_TRY(new_result(f, dims, like, out));
  if (!*out) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_ELEMENT_WISE);
  BSM_TRY_ALLOC(s);
  bsm_step_element_wise *p = &s->params.element_wise;
  p->program[p->instruction_count++] =
      instruction(BSM_STEP_EW_BINARY, f->code, 2, 0, 1);
  p->result = 2;
  bsm_one_step_input(s, a);
  bsm_one_step_input(s, b);
  bsm_one_step_output(s, *out);
  return bsm_one_step_run(s, f->done);
}

/* mul.Tensor(self, other), and add and sub with alpha 1 */
static bsm_status binary(const fast_call *f) {
  bsm_tensor *a = float_tensor(&f->args[0]), *b = float_tensor(&f->args[1]), *y;
  const bool scaled =
      f->code == BSM_ELEMENT_WISE_SUM || f->code == BSM_ELEMENT_WISE_SUB;
  if (!a || !b || (scaled && !is_one(&f->args[2])) ||
      (bsm_tensor_numel(a) < MIN_ELEMENTS &&
       bsm_tensor_numel(b) < MIN_ELEMENTS)) {
    return BSM_OK;
  }
  BSM_TRY(combine(f, a, b, &y));
  *f->out = bsm_iv_tensor(y);
  return BSM_OK;
}

/* ---- normalisation ---- */

/* A vector as [C, 1, ...], to be broadcast over images of this rank. */
static bsm_tensor over_channels(const bsm_tensor *t, int32_t rank) {
  bsm_tensor v = *t;
  v.sizes.rank = rank - 1;
  for (int32_t i = 1; i < rank - 1; i++) {
    v.sizes.d[i] = 1;
    v.strides[i] = 1;
  }
  return v;
}

/* A vector of this size, or None. */
static bool get_vector(const bsm_ivalue *v, int64_t size, bsm_tensor **out) {
  *out = NULL;
  if (v->tag == BSM_IVALUE_NONE) return true;
  *out = float_tensor(v);
  return *out && (*out)->sizes.rank == 1 && (*out)->sizes.d[0] == size;
}

static double element(const bsm_tensor *t, int64_t i, double otherwise) {
  return t ? (double)((const float *)bsm_tensor_data(t))[i * t->strides[0]]
           : otherwise;
}

/* batch_norm(input, weight, bias, mean, var, training, momentum, eps, ..) of an
 * evaluated model: scale * x + offset. */
static bsm_status batch_norm(const fast_call *f) {
  bsm_tensor *x = float_tensor(&f->args[0]), *v[4], *y;
  const bsm_ivalue *eps = &f->args[7];
  if (!x || x->sizes.rank < 2 || !is_false(&f->args[5]) ||
      eps->tag != BSM_IVALUE_DOUBLE) {
    return BSM_OK;
  }
  const int64_t c = x->sizes.d[1];
  for (int i = 0; i < 4; i++) {
    if (!get_vector(&f->args[1 + i], c, &v[i])) return BSM_OK;
  }
  if (!v[2] || !v[3]) return BSM_OK;
  bsm_tensor *scale, *offset;
  const bsm_dims dims = {1, {c}};
  BSM_TRY(bsm_tensor_new(f->arena, BSM_DTYPE_FLOAT, dims, false, &scale));
  BSM_TRY(bsm_tensor_new(f->arena, BSM_DTYPE_FLOAT, dims, false, &offset));
  float *to_scale = bsm_tensor_data(scale),
        *to_offset = bsm_tensor_data(offset);
  for (int64_t i = 0; i < c; i++) {
    const double a = element(v[0], i, 1) / sqrt(element(v[3], i, 1) + eps->u.d);
    to_scale[i] = (float)a;
    to_offset[i] = (float)(element(v[1], i, 0) - element(v[2], i, 0) * a);
  }
  BSM_TRY(new_result(f, x->sizes, x, &y));
  if (!y) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_ELEMENT_WISE);
  BSM_TRY_ALLOC(s);
  bsm_step_element_wise *p = &s->params.element_wise;
  p->program[0] =
      instruction(BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_PROD, 3, 0, 1);
  p->program[1] =
      instruction(BSM_STEP_EW_BINARY, BSM_ELEMENT_WISE_SUM, 3, 3, 2);
  p->instruction_count = 2;
  p->result = 3;
  const bsm_tensor a = over_channels(scale, x->sizes.rank);
  const bsm_tensor b = over_channels(offset, x->sizes.rank);
  bsm_one_step_input(s, x);
  bsm_one_step_input(s, &a);
  bsm_one_step_input(s, &b);
  bsm_one_step_output(s, y);
  *f->out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, f->done);
}

static bool ends_with(bsm_dims dims, const bsm_ivalue *shape) {
  if (shape->tag != BSM_IVALUE_LIST || shape->u.list->len == 0 ||
      shape->u.list->len > (size_t)dims.rank) {
    return false;
  }
  const int32_t n = (int32_t)shape->u.list->len;
  for (int32_t i = 0; i < n; i++) {
    const bsm_ivalue *item = &shape->u.list->items[i];
    if (item->tag != BSM_IVALUE_INT || item->u.i != dims.d[dims.rank - n + i]) {
      return false;
    }
  }
  return true;
}

/* layer_norm(input, normalized_shape, weight, bias, eps, ..) */
static bsm_status layer_norm(const fast_call *f) {
  bsm_tensor *x = float_tensor(&f->args[0]), *y;
  const bsm_ivalue *shape = &f->args[1], *eps = &f->args[4];
  if (!x || !ends_with(x->sizes, shape) || eps->tag != BSM_IVALUE_DOUBLE) {
    return BSM_OK;
  }
  const int32_t axes = (int32_t)shape->u.list->len;
  bsm_tensor *parts[2];
  for (int i = 0; i < 2; i++) {
    const bsm_ivalue *v = &f->args[2 + i];
    parts[i] = float_tensor(v);
    if (v->tag == BSM_IVALUE_NONE) continue;
    if (!parts[i] || parts[i]->sizes.rank != axes ||
        !ends_with(parts[i]->sizes, shape)) {
      return BSM_OK;
    }
  }
  BSM_TRY(bsm_tensor_contiguous(f->arena, x, &x));
  BSM_TRY(new_result(f, x->sizes, x, &y));
  bsm_one_step *s =
      bsm_one_step_new(f->calls, f->arena, BSM_STEP_NORMALIZATION);
  BSM_TRY_ALLOC(s);
  if (!y) return BSM_OK;
  s->params.normalization = (bsm_step_normalization){
      .axes = ((1u << axes) - 1u) << (x->sizes.rank - axes),
      .has_scale = parts[0] != NULL,
      .has_bias = parts[1] != NULL,
      .groups = 1,
      .epsilon = eps->u.d};
  bsm_one_step_input(s, x);
  for (int i = 0; i < 2; i++) {
    if (parts[i]) bsm_one_step_input(s, parts[i]);
  }
  bsm_one_step_output(s, y);
  *f->out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, f->done);
}

/* ---- softmax and attention ---- */

static bsm_status soften(const fast_call *f, const bsm_tensor *x, int32_t axis,
                         bool log, bsm_tensor **out) {
  BSM_TRY(new_result(f, x->sizes, x, out));
  if (!*out) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_SOFTMAX);
  BSM_TRY_ALLOC(s);
  s->params.softmax = (bsm_step_softmax){axis, log};
  bsm_one_step_input(s, x);
  bsm_one_step_output(s, *out);
  return bsm_one_step_run(s, f->done);
}

/* softmax.int(self, dim, dtype), log_softmax.int; `code`: log */
static bsm_status softmax(const fast_call *f) {
  bsm_tensor *x = float_tensor(&f->args[0]), *y;
  const bsm_ivalue *dim = &f->args[1];
  if (!x || dim->tag != BSM_IVALUE_INT || dim->u.i < -x->sizes.rank ||
      dim->u.i >= x->sizes.rank || f->args[2].tag != BSM_IVALUE_NONE) {
    return BSM_OK;
  }
  const int64_t axis = dim->u.i < 0 ? dim->u.i + x->sizes.rank : dim->u.i;
  BSM_TRY(soften(f, x, (int32_t)axis, f->code != 0, &y));
  *f->out = bsm_iv_tensor(y);
  return BSM_OK;
}

/* scale * a b, with equal leading dims. */
static bsm_status multiply(const fast_call *f, const bsm_tensor *a,
                           const bsm_tensor *b, double scale,
                           bsm_tensor **out) {
  const int32_t rank = a->sizes.rank;
  bsm_dims dims = a->sizes;
  dims.d[rank - 1] = b->sizes.d[rank - 1];
  BSM_TRY(new_result(f, dims, NULL, out));
  if (!*out) return BSM_OK;
  bsm_one_step *s =
      bsm_one_step_new(f->calls, f->arena, BSM_STEP_MATRIX_MULTIPLY);
  BSM_TRY_ALLOC(s);
  s->params.matrix_multiply = (bsm_step_matrix_multiply){
      .k = a->sizes.d[rank - 1], .n = b->sizes.d[rank - 1], .scale = scale};
  bsm_one_step_input(s, a);
  bsm_one_step_input(s, b);
  bsm_one_step_output(s, *out);
  return bsm_one_step_run(s, f->done);
}

/* Heads of one rank and batch: q [.., T, K], k [.., S, K], v [.., S, V]. */
static bool are_heads(const bsm_tensor *q, const bsm_tensor *k,
                      const bsm_tensor *v) {
  const int32_t rank = q->sizes.rank;
  if (rank < 2 || k->sizes.rank != rank || v->sizes.rank != rank) return false;
  for (int32_t i = 0; i < rank - 2; i++) {
    if (k->sizes.d[i] != q->sizes.d[i] || v->sizes.d[i] != q->sizes.d[i]) {
      return false;
    }
  }
  return k->sizes.d[rank - 1] == q->sizes.d[rank - 1] &&
         k->sizes.d[rank - 2] == v->sizes.d[rank - 2];
}

/* An additive mask that leaves something of every row: where all is hidden,
 * PyTorch's answers differ between its kernels. */
static bool is_plain_mask(const bsm_tensor *mask, const bsm_tensor *scores) {
  bsm_dims dims;
  if (!broadcast(mask->sizes, scores->sizes, &dims) ||
      !bsm_dims_equal(dims, scores->sizes) || !bsm_tensor_is_contiguous(mask)) {
    return false;
  }
  const float *x = bsm_tensor_data(mask);
  const int64_t n = bsm_tensor_numel(mask);
  const int64_t row =
      mask->sizes.rank ? mask->sizes.d[mask->sizes.rank - 1] : 1;
  for (int64_t i = 0; i < n; i += row) {
    bool open = false;
    for (int64_t j = 0; j < row; j++) open = open || isfinite(x[i + j]);
    if (!open) return false;
  }
  return true;
}

/* scaled_dot_product_attention(query, key, value, attn_mask, dropout_p,
 * is_causal, scale, enable_gqa) */
static bsm_status attention(const fast_call *f) {
  bsm_tensor *q = float_tensor(&f->args[0]), *k = float_tensor(&f->args[1]),
             *v = float_tensor(&f->args[2]), *mask = NULL, *scores, *y;
  double drop = 1, scale = 0;
  if (!q || !k || !v || !are_heads(q, k, v) || !is_false(&f->args[5]) ||
      !is_number(&f->args[4], &drop) || drop > 0 || drop < 0 ||
      !is_false(&f->args[7])) {
    return BSM_OK;
  }
  const int32_t rank = q->sizes.rank;
  if (f->args[6].tag == BSM_IVALUE_NONE) {
    scale = 1 / sqrt((double)q->sizes.d[rank - 1]);
  } else if (!is_number(&f->args[6], &scale)) {
    return BSM_OK;
  }
  if (f->args[3].tag != BSM_IVALUE_NONE) {
    mask = float_tensor(&f->args[3]);
    if (!mask) return BSM_OK;
    BSM_TRY(bsm_tensor_contiguous(f->arena, mask, &mask));
  }
  bsm_tensor turned = *k;
  turned.sizes.d[rank - 1] = k->sizes.d[rank - 2];
  turned.sizes.d[rank - 2] = k->sizes.d[rank - 1];
  turned.strides[rank - 1] = k->strides[rank - 2];
  turned.strides[rank - 2] = k->strides[rank - 1];
  BSM_TRY(multiply(f, q, &turned, scale, &scores));
  if (*f->done && mask) {
    *f->done = false;
    if (!is_plain_mask(mask, scores)) return BSM_OK;
    BSM_TRY(combine(f, scores, mask, &scores));
  }
  if (!*f->done) return BSM_OK;
  BSM_TRY(soften(f, scores, rank - 1, false, &scores));
  if (!*f->done) return BSM_OK;
  BSM_TRY(multiply(f, scores, v, 1, &y));
  *f->out = bsm_iv_tensor(y);
  return BSM_OK;
}

/* ---- pooling ---- */

/* The size after a window, by PyTorch's rule; 0: none. */
static int64_t pooled(int64_t size, const bsm_step_window *w, int d,
                      bool round_up) {
  const int64_t room =
      size + 2 * w->pre_padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
  if (room < 0) return 0;
  int64_t n = (room + (round_up ? w->stride[d] - 1 : 0)) / w->stride[d] + 1;
  if (round_up && (n - 1) * w->stride[d] >= size + w->pre_padding[d]) n--;
  return n;
}

/* max_pool2d(self, kernel, stride, padding, dilation, ceil_mode) */
static bsm_status max_pool(const fast_call *f) {
  bsm_tensor *x = float_tensor(&f->args[0]), *y;
  const bsm_ivalue *stride = &f->args[2];
  const bool same = stride->tag == BSM_IVALUE_LIST && !stride->u.list->len;
  int64_t v[4][2];
  if (!x || x->sizes.rank != 4 || f->args[5].tag != BSM_IVALUE_BOOL ||
      !get_ints(&f->args[1], 2, 1, v[0]) ||
      !get_ints(same ? &f->args[1] : stride, 2, 1, v[1]) ||
      !get_ints(&f->args[3], 2, 0, v[2]) ||
      !get_ints(&f->args[4], 2, 1, v[3])) {
    return BSM_OK;
  }
  bsm_step_window w = {.spatial = 2,
                       .kernel = {1, v[0][0], v[0][1]},
                       .stride = {1, v[1][0], v[1][1]},
                       .dilation = {1, v[3][0], v[3][1]},
                       .pre_padding = {0, v[2][0], v[2][1]},
                       .post_padding = {0, v[2][0], v[2][1]}};
  bsm_dims dims = x->sizes;
  for (int i = 0; i < 2; i++) {
    const int64_t size = x->sizes.d[2 + i];
    if (v[2][i] > v[0][i] / 2 || size > INT32_MAX) return BSM_OK;
    dims.d[2 + i] = pooled(size, &w, 1 + i, f->args[5].u.b);
    if (dims.d[2 + i] < 1) return BSM_OK;
  }
  BSM_TRY(new_result(f, dims, x, &y));
  if (!y) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_POOLING);
  BSM_TRY_ALLOC(s);
  s->params.pooling = (bsm_step_pooling){.window = w, .type = BSM_POOLING_MAX};
  bsm_one_step_input(s, x);
  bsm_one_step_output(s, y);
  *f->out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, f->done);
}

/* adaptive_avg_pool2d(self, output_size) */
static bsm_status adaptive_pool(const fast_call *f) {
  bsm_tensor *x = float_tensor(&f->args[0]), *y;
  int64_t size[2];
  if (!x || x->sizes.rank != 4 || !get_ints(&f->args[1], 2, 1, size)) {
    return BSM_OK;
  }
  bsm_dims dims = x->sizes;
  dims.d[2] = size[0];
  dims.d[3] = size[1];
  BSM_TRY(new_result(f, dims, x, &y));
  if (!y) return BSM_OK;
  bsm_one_step *s = bsm_one_step_new(f->calls, f->arena, BSM_STEP_POOLING);
  BSM_TRY_ALLOC(s);
  s->params.pooling = (bsm_step_pooling){
      .type = BSM_POOLING_AVERAGE, .count_excludes_padding = 1, .adaptive = 1};
  bsm_step_window *w = &s->params.pooling.window;
  w->spatial = 2;
  for (int i = 0; i < 3; i++) w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
  bsm_one_step_input(s, x);
  bsm_one_step_output(s, y);
  *f->out = bsm_iv_tensor(y);
  return bsm_one_step_run(s, f->done);
}

/* ---- the table ---- */

static const struct {
  const char *op;
  bsm_status (*fn)(const fast_call *f);
  size_t args;
  int32_t code;
} rows[] = {
    {"aten::relu", activation, 1, BSM_ACTIVATION_RELU},
    {"aten::relu6", activation, 1, BSM_ACTIVATION_CLIP},
    {"aten::sigmoid", activation, 1, BSM_ACTIVATION_SIGMOID},
    {"aten::tanh", activation, 1, BSM_ACTIVATION_TANH},
    {"aten::silu", activation, 1, BSM_ACTIVATION_SILU},
    {"aten::hardswish", activation, 1, BSM_ACTIVATION_HARD_SWISH},
    {"aten::hardsigmoid", activation, 1, BSM_ACTIVATION_HARD_SIGMOID},
    {"aten::leaky_relu", parameters, 2, BSM_ACTIVATION_LEAKY_RELU},
    {"aten::hardtanh", parameters, 3, BSM_ACTIVATION_CLIP},
    {"aten::gelu", gelu, 2, 0},
    {"aten::add.Tensor", binary, 3, BSM_ELEMENT_WISE_SUM},
    {"aten::sub.Tensor", binary, 3, BSM_ELEMENT_WISE_SUB},
    {"aten::mul.Tensor", binary, 2, BSM_ELEMENT_WISE_PROD},
    {"aten::div.Tensor", binary, 2, BSM_ELEMENT_WISE_DIV},
    {"aten::batch_norm", batch_norm, 8, 0},
    {"aten::layer_norm", layer_norm, 5, 0},
    {"aten::softmax.int", softmax, 3, 0},
    {"aten::log_softmax.int", softmax, 3, 1},
    {"aten::scaled_dot_product_attention", attention, 8, 0},
    {"aten::max_pool2d", max_pool, 6, 0},
    {"aten::adaptive_avg_pool2d", adaptive_pool, 2, 0},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

bool bsm_fast_elements_knows(const char *op) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (strcmp(rows[i].op, op) == 0) return true;
  }
  return false;
}

bsm_status bsm_fast_elements_call(bsm_fast_calls *calls, const char *op,
                                  const bsm_ivalue *args, size_t n,
                                  bsm_arena *arena, bsm_ivalue *out,
                                  bool *done) {
  *done = false;
  for (size_t i = 0; i < ROW_COUNT; i++) {
    if (strcmp(rows[i].op, op) || n < rows[i].args) continue;
    bsm_ivalue result = bsm_iv_none();
    const fast_call f = {calls, args, arena, rows[i].code, &result, done};
    BSM_TRY(rows[i].fn(&f));
    if (*done) *out = result;
    return BSM_OK;
  }
  return BSM_OK;
}
