/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms as products of real numbers by matrices of cosines and
 * sines, for split_complex: of n points n times n products, which a GPU does at
 * once, in place of a few kernels that wait for each other. A spectrogram is a
 * convolution whose windows are its frames, its inverse a deconvolution.
 *
 * Products are of float64, so that sums of many terms are as exact as those of
 * a fast transform, and no precision that is asked for narrows them. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "lowering/passes/fourier_matrix.h"

/* Of all matrices of a graph: compiling takes some three times as much memory,
 * of which a model of few bytes has 60 MiB. What is left stays a fast transform
 * of the reference library. */
#define USUAL_BYTES (INT64_C(17) << 20)
#define MAX_BYTES (INT64_C(70) << 20)
/* Frames of a large inverse that a sample may be in. */
#define MAX_OVERLAP 32

enum { BY_NOTHING, BY_ROOT_N, BY_N };

static double factor(int64_t by, int64_t n) {
  return by == BY_NOTHING  ? 1
         : by == BY_ROOT_N ? 1 / sqrt((double)n)
                           : 1 / (double)n;
}

/* ---- along dims ---- */

/* A dim of `size` elements: cut, or filled up by zeros. */
static bsm_status resize(const bsm_node_emitter *e, bsm_value *x, int32_t dim,
                         int64_t size, bsm_value **out) {
  const bsm_dims dims = x->type->dims;
  int64_t pads[2 * BSM_MAX_RANK] = {0};
  bsm_value *in[3] = {x, NULL, NULL};
  *out = x;
  if (dims.d[dim] > size) return bsm_ir_slice(e, x, dim, 0, size, 1, out);
  if (dims.d[dim] == size) return BSM_OK;
  const size_t count = 2 * (size_t)(dims.rank - dim);
  pads[count - 1] = size - dims.d[dim];
  BSM_TRY(bsm_ir_ints(e, pads, count, &in[1]));
  BSM_TRY(bsm_ir_int(e, 0, &in[2]));
  return bsm_ir_op(e, "aten::constant_pad_nd", in, 3, out);
}

/* Along the last dim, or the pairs in it, in float64. */
static bsm_status by_matrix(bsm_complex_parts *p, const bsm_node_emitter *e,
                            const bsm_transform *t, bsm_value *x,
                            bsm_value **out) {
  bsm_dims dims = x->type->dims;
  const int32_t last = dims.rank - 1 - (t->kind != BSM_REAL_TO_COMPLEX);
  const bsm_dtype dtype = x->type->dtype;
  bsm_value *in[2];
  dims.rank = last + 1;
  dims.d[last] = bsm_transform_numbers_in(t);
  BSM_TRY(bsm_ir_reshape(e, x, dims, &x));
  BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_DOUBLE, &in[0]));
  BSM_TRY(bsm_fourier_make(p, e, t, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::matmul", in, 2, &x));
  BSM_TRY(bsm_ir_cast(e, x, dtype, &x));
  dims.d[last] = t->kind == BSM_COMPLEX_TO_REAL ? t->n : t->bins;
  if (t->kind != BSM_COMPLEX_TO_REAL) dims.d[dims.rank++] = 2;
  return bsm_ir_reshape(e, x, dims, out);
}

/* Transforms x along a dim, of real numbers or of parts. */
static bsm_status along(bsm_complex_parts *p, const bsm_node_emitter *e,
                        const bsm_transform *t, int32_t dim, bsm_value *x,
                        bsm_value **out) {
  const bsm_dtype dtype = x->type->dtype;
  const bool from_pair = t->kind != BSM_REAL_TO_COMPLEX;
  BSM_TRY(resize(e, x, dim, from_pair ? t->bins : t->n, &x));
  const int32_t last = x->type->dims.rank - 1 - from_pair;
  bool fits;
  if (dim != last) BSM_TRY(bsm_ir_transpose(e, x, dim, last, &x));
  if (bsm_transform_is_large(t, &fits)) {
    BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_DOUBLE, &x));
    BSM_TRY(bsm_fourier_steps(p, e, t, x, &x));
    BSM_TRY(bsm_ir_cast(e, x, dtype, out));
  } else {
    BSM_TRY(by_matrix(p, e, t, x, out));
  }
  return dim == last ? BSM_OK : bsm_ir_transpose(e, *out, dim, last, out);
}

/* A call of a transform: dims, of which a real one is the last. */
typedef struct call {
  int32_t dims[BSM_MAX_RANK];
  int64_t sizes[BSM_MAX_RANK]; /* of points */
  size_t count;
  bsm_transform_kind kind;
  bool onesided, inverse;
  int64_t by;
} call;

/* "backward", "ortho" and "forward" of torch.fft, for each direction. */
static bool read_norm(const bsm_value *value, bool inverse, int64_t *by) {
  const bsm_ivalue *text = bsm_value_constant(value);
  *by = inverse ? BY_N : BY_NOTHING;
  if (bsm_value_is_none(value)) return true;
  if (!text || text->tag != BSM_IVALUE_STRING) return false;
  const bsm_str name = *text->u.s;
  if (bsm_str_eq(name, BSM_STR("ortho"))) {
    *by = BY_ROOT_N;
  } else if (bsm_str_eq(name, BSM_STR("forward"))) {
    *by = inverse ? BY_NOTHING : BY_N;
  } else {
    return bsm_str_eq(name, BSM_STR("backward"));
  }
  return true;
}

/* The dims of a call from a constant, each once, and how long they are. */
static bool read_dims(const bsm_node *node, size_t index, call *c) {
  const bsm_dims *own = &bsm_node_in(node, 0)->type->dims;
  int64_t dims[BSM_MAX_RANK];
  uint32_t seen = 0;
  if (!bsm_value_ints(bsm_node_in(node, index), dims, &c->count)) return false;
  for (size_t i = 0; i < c->count; i++) {
    if (own->rank == 0 || !bsm_ir_wrap_dim(&dims[i], own->rank) ||
        seen & 1u << dims[i]) {
      return false;
    }
    seen |= 1u << dims[i];
    c->dims[i] = (int32_t)dims[i];
    c->sizes[i] = own->d[dims[i]];
  }
  return c->count > 0;
}

/* fft_rfft(self, n, dim, norm) and its like; the forms of two dims have sizes
 * and dims in the same places. */
static bool read_torch_fft(const bsm_node *node, call *c) {
  const char *name = node->kind + strlen("aten::fft_");
  int64_t sizes[BSM_MAX_RANK];
  size_t given = 0;
  c->inverse = *name == 'i';
  if (c->inverse) name++;
  const bool real = *name == 'r';
  c->kind = !real        ? BSM_COMPLEX
            : c->inverse ? BSM_COMPLEX_TO_REAL
                         : BSM_REAL_TO_COMPLEX;
  c->onesided = real;
  if (!read_dims(node, 2, c) ||
      !read_norm(bsm_node_in(node, 3), c->inverse, &c->by)) {
    return false;
  }
  if (c->kind == BSM_COMPLEX_TO_REAL) {
    c->sizes[c->count - 1] = 2 * (c->sizes[c->count - 1] - 1);
  }
  if (bsm_value_is_none(bsm_node_in(node, 1))) return true;
  if (!bsm_value_ints(bsm_node_in(node, 1), sizes, &given) ||
      given != c->count) {
    return false;
  }
  for (size_t i = 0; i < given; i++) {
    if (sizes[i] >= 0) c->sizes[i] = sizes[i];
  }
  return true;
}

/* _fft_r2c(self, dim, normalization, onesided), _fft_c2r(self, dim,
 * normalization, last_dim_size), _fft_c2c(self, dim, normalization, forward) */
static bool read_exported_fft(const bsm_node *node, call *c) {
  const char *name = node->kind + strlen("aten::_fft_");
  bool flag = false;
  c->kind = name[0] == 'r'   ? BSM_REAL_TO_COMPLEX
            : name[2] == 'r' ? BSM_COMPLEX_TO_REAL
                             : BSM_COMPLEX;
  if (!read_dims(node, 1, c) || !bsm_value_int(bsm_node_in(node, 2), &c->by) ||
      c->by < BY_NOTHING || c->by > BY_N) {
    return false;
  }
  if (c->kind == BSM_COMPLEX_TO_REAL) {
    c->inverse = true;
    return bsm_value_int(bsm_node_in(node, 3), &c->sizes[c->count - 1]);
  }
  if (!bsm_value_bool(bsm_node_in(node, 3), &flag)) return false;
  c->onesided = flag && c->kind == BSM_REAL_TO_COMPLEX;
  c->inverse = !flag && c->kind == BSM_COMPLEX;
  return true;
}

static bool is_real(const bsm_value *x) {
  bsm_dims dims;
  bsm_dtype dtype;
  return bsm_value_dims(x, &dims, &dtype) && dims.rank < BSM_MAX_RANK &&
         (dtype == BSM_DTYPE_FLOAT || dtype == BSM_DTYPE_DOUBLE);
}

static bsm_transform transform_of(const call *c, bsm_transform_kind how,
                                  size_t i) {
  const int64_t n = c->sizes[i];
  const bool half =
      how != BSM_COMPLEX && (c->onesided || how == BSM_COMPLEX_TO_REAL);
  return (bsm_transform){.kind = how,
                         .n = n,
                         .bins = half ? n / 2 + 1 : n,
                         .inverse = c->inverse,
                         .scale = factor(c->by, n)};
}

/* How dim `i` of a call is transformed. */
static bsm_transform_kind kind_of(const call *c, bool real, size_t i) {
  if (i + 1 != c->count) return BSM_COMPLEX;
  return real                             ? BSM_REAL_TO_COMPLEX
         : c->kind == BSM_COMPLEX_TO_REAL ? BSM_COMPLEX_TO_REAL
                                          : BSM_COMPLEX;
}

static bool read_call(const bsm_node *node, call *c) {
  const bsm_value *x = bsm_node_in(node, 0);
  *c = (call){.count = 0};
  const bool read = node->kind[strlen("aten::")] == '_'
                        ? read_exported_fft(node, c)
                        : read_torch_fft(node, c);
  if (!read || (!bsm_value_is_complex(x) && !is_real(x)) ||
      (c->kind == BSM_REAL_TO_COMPLEX && bsm_value_is_complex(x)) ||
      (c->kind == BSM_COMPLEX_TO_REAL && !bsm_value_is_complex(x))) {
    return false;
  }
  const bool real = !bsm_value_is_complex(x);
  for (size_t i = 0; i < c->count; i++) {
    bool fits;
    if (c->sizes[i] < 1) return false;
    const bsm_transform t = transform_of(c, kind_of(c, real, i), i);
    if (bsm_transform_is_large(&t, &fits), !fits) return false;
  }
  return true;
}

static bool is_small(const bsm_node *node) {
  call c;
  return read_call(node, &c);
}

/* Along dim `i` of a call. */
static bsm_status step(bsm_complex_parts *p, const bsm_node_emitter *e,
                       const call *c, bsm_transform_kind how, size_t i,
                       bsm_value **x) {
  const bsm_transform t = transform_of(c, how, i);
  return along(p, e, &t, c->dims[i], *x, x);
}

static bsm_status fft(bsm_complex_parts *p, const bsm_node_emitter *e,
                      bsm_node *node, bsm_value **out) {
  bsm_value *x = bsm_node_in(node, 0);
  call c;
  if (!read_call(node, &c)) {
    return BSM_FAIL(BSM_INTERNAL, "a transform that was read is another");
  }
  const size_t last = c.count - 1;
  size_t rest = c.kind == BSM_COMPLEX ? c.count : last;
  if (bsm_value_is_complex(x)) {
    BSM_TRY(bsm_parts_of(p, e, x, &x));
  } else {
    /* The first one makes pairs of real numbers. */
    BSM_TRY(step(p, e, &c, BSM_REAL_TO_COMPLEX, last, &x));
    if (c.kind == BSM_COMPLEX) rest = last;
  }
  for (size_t i = 0; i < rest; i++) {
    BSM_TRY(step(p, e, &c, BSM_COMPLEX, i, &x));
  }
  if (c.kind == BSM_COMPLEX_TO_REAL) {
    BSM_TRY(step(p, e, &c, BSM_COMPLEX_TO_REAL, last, &x));
  }
  *out = x;
  return BSM_OK;
}

/* ---- spectrograms ---- */

typedef struct frames {
  int64_t n, hop, win; /* n_fft, hop_length, win_length */
  bsm_value *window;   /* of win elements; NULL: ones */
  bool center, normalized, onesided;
  const char *pad; /* the op that makes room at both ends */
} frames;

/* n_fft, hop_length, win_length and window, arguments 1 to 4. */
static bool read_frames(const bsm_node *node, bsm_dtype dtype, frames *f) {
  bsm_value *hop = bsm_node_in(node, 2), *win = bsm_node_in(node, 3);
  bsm_value *window = bsm_node_in(node, 4);
  bsm_dims dims;
  bsm_dtype own;
  if (!bsm_value_int(bsm_node_in(node, 1), &f->n) || f->n < 1) return false;
  f->hop = f->n >> 2;
  f->win = f->n;
  if ((!bsm_value_is_none(hop) && !bsm_value_int(hop, &f->hop)) ||
      (!bsm_value_is_none(win) && !bsm_value_int(win, &f->win)) || f->hop < 1 ||
      f->win < 1 || f->win > f->n) {
    return false;
  }
  if (bsm_value_is_none(window)) return true;
  f->window = window;
  return bsm_value_dims(window, &dims, &own) && own == dtype &&
         dims.rank == 1 && dims.d[0] == f->win;
}

/* An optional bool. */
static bool read_flag(const bsm_value *value, bool fallback, bool *out) {
  *out = fallback;
  return bsm_value_is_none(value) || bsm_value_bool(value, out);
}

static bsm_transform of_frames(const frames *f) {
  return (bsm_transform){.kind = BSM_REAL_TO_COMPLEX,
                         .n = f->n,
                         .bins = f->onesided ? f->n / 2 + 1 : f->n,
                         .scale = f->normalized ? factor(BY_ROOT_N, f->n) : 1,
                         .transposed = true};
}

/* stft(self, n_fft, hop_length, win_length, window, normalized, onesided,
 * return_complex, align_to_window); stft.center has center and pad_mode before
 * normalized. */
static bool read_stft(const bsm_node *node, frames *f) {
  const bsm_value *x = bsm_node_in(node, 0);
  const bool centers =
      strcmp(node->schema->qualified, "aten::stft.center") == 0;
  const size_t tail = centers ? 7 : 5;
  bool returns = true, align = false;
  *f = (frames){.center = false};
  if (!is_real(x) || !read_frames(node, x->type->dtype, f) ||
      !bsm_value_bool(bsm_node_in(node, tail), &f->normalized) ||
      !read_flag(bsm_node_in(node, tail + 1), true, &f->onesided) ||
      bsm_value_is_none(bsm_node_in(node, tail + 2)) ||
      !read_flag(bsm_node_in(node, tail + 2), true, &returns) ||
      !read_flag(bsm_node_in(node, tail + 3), false, &align) || align) {
    return false;
  }
  bool fits;
  const bsm_transform t = of_frames(f);
  if (bsm_transform_is_large(&t, &fits), !fits) return false;
  const bsm_dims *dims = &x->type->dims;
  int64_t room = dims->rank ? dims->d[dims->rank - 1] : 0;
  if (centers && !bsm_value_bool(bsm_node_in(node, 5), &f->center))
    return false;
  if (f->center) {
    const bsm_ivalue *mode = bsm_value_constant(bsm_node_in(node, 6));
    if (!mode || mode->tag != BSM_IVALUE_STRING) return false;
    const bool mirror = bsm_str_eq(*mode->u.s, BSM_STR("reflect"));
    f->pad = mirror ? "aten::reflection_pad1d" : "aten::constant_pad_nd";
    if ((mirror && f->n / 2 >= room) ||
        (!mirror && !bsm_str_eq(*mode->u.s, BSM_STR("constant")))) {
      return false;
    }
    room += f->n / 2 * 2;
  }
  return (dims->rank == 1 || dims->rank == 2) && room >= f->n && dims->d[0] > 0;
}

static bool has_frames(const bsm_node *node) {
  frames f;
  return read_stft(node, &f);
}

/* The window of n elements in float64; NULL: all are one. */
static bsm_status whole_window(bsm_complex_parts *p, const bsm_node_emitter *e,
                               const frames *f, bsm_value **out) {
  const int64_t before = (f->n - f->win) / 2;
  const int64_t pads[2] = {before, f->n - f->win - before};
  bsm_value *in[3] = {f->window, NULL, NULL};
  *out = NULL;
  if (!f->window && f->win == f->n) return BSM_OK;
  if (!f->window) {
    bsm_tensor *ones;
    BSM_TRY(bsm_tensor_new(p->graph->cx->arena, BSM_DTYPE_DOUBLE,
                           (bsm_dims){1, {f->win}}, false, &ones));
    double *one = bsm_tensor_data(ones);
    for (int64_t i = 0; i < f->win; i++) one[i] = 1;
    BSM_TRY(bsm_ir_tensor(e, ones, &in[0]));
  }
  if (f->win < f->n) {
    BSM_TRY(bsm_ir_ints(e, pads, 2, &in[1]));
    BSM_TRY(bsm_ir_int(e, 0, &in[2]));
    BSM_TRY(bsm_ir_op(e, "aten::constant_pad_nd", in, 3, &in[0]));
  }
  return bsm_ir_cast(e, in[0], BSM_DTYPE_DOUBLE, out);
}

/* x times the window, in its last dim. */
static bsm_status by_window(bsm_complex_parts *p, const bsm_node_emitter *e,
                            const frames *f, bsm_value *x, bsm_value **out) {
  bsm_value *both[2] = {x, NULL};
  BSM_TRY(whole_window(p, e, f, &both[1]));
  *out = x;
  return both[1] ? bsm_ir_op(e, "aten::mul.Tensor", both, 2, out) : BSM_OK;
}

/* The matrix of a transform times the window, whose numbers are those of time:
 * weights [pairs, 1, n]. */
static bsm_status make_weights(bsm_complex_parts *p, const bsm_node_emitter *e,
                               const bsm_transform *t, const frames *f,
                               bsm_value **out) {
  BSM_TRY(bsm_fourier_make(p, e, t, out));
  return by_window(p, e, f, *out, out);
}

/* conv1d, or conv_transpose1d, of windows `hop` apart. */
static bsm_status convolve(const bsm_node_emitter *e, const char *name,
                           bsm_value *x, bsm_value *weights, int64_t hop,
                           bsm_value **out) {
  const int64_t one = 1, none = 0;
  const bool inverse = strcmp(name, "aten::conv1d") != 0;
  bsm_value *in[8] = {x, weights}, *ones;
  BSM_TRY(bsm_ir_none(e, &in[2]));
  BSM_TRY(bsm_ir_ints(e, &hop, 1, &in[3]));
  BSM_TRY(bsm_ir_ints(e, &none, 1, &in[4]));
  BSM_TRY(bsm_ir_ints(e, &one, 1, &ones));
  if (!inverse) {
    in[5] = ones;
    BSM_TRY(bsm_ir_int(e, 1, &in[6]));
    return bsm_ir_op(e, name, in, 7, out);
  }
  in[5] = in[4];
  BSM_TRY(bsm_ir_int(e, 1, &in[6]));
  in[7] = ones;
  return bsm_ir_op(e, name, in, 8, out);
}

/* [batch, 1, samples] to [batch, bins, count, 2]: each frame is a row. */
static bsm_status frames_by_steps(bsm_complex_parts *p,
                                  const bsm_node_emitter *e,
                                  const bsm_transform *t, const frames *f,
                                  bsm_dtype dtype, bsm_value *x,
                                  bsm_value **out) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const bsm_dims dims = x->type->dims;
  bsm_value *in[4];
  BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){2, {dims.d[0], dims.d[2]}}, &in[0]));
  BSM_TRY(bsm_ir_int(e, 1, &in[1]));
  BSM_TRY(bsm_ir_int(e, f->n, &in[2]));
  BSM_TRY(bsm_ir_int(e, f->hop, &in[3]));
  BSM_TRY(bsm_ir_op(e, "aten::unfold", in, 4, &x));
  BSM_TRY(by_window(p, e, f, x, &x));
  BSM_TRY(bsm_fourier_steps(p, e, t, x, &x));
  BSM_TRY(bsm_ir_cast(e, x, dtype, &x));
  return bsm_ir_permute(e, x, order, 4, out);
}

static bsm_status stft(bsm_complex_parts *p, const bsm_node_emitter *e,
                       bsm_node *node, bsm_value **out) {
  static const int64_t order[4] = {0, 1, 3, 2};
  bsm_value *x = bsm_node_in(node, 0), *in[3], *weights;
  const bsm_dims dims = x->type->dims;
  const bsm_dtype dtype = x->type->dtype;
  const bool flat = dims.rank == 1;
  frames f;
  bool fits;
  if (!read_stft(node, &f)) {
    return BSM_FAIL(BSM_INTERNAL, "a spectrogram that was read is another");
  }
  const int64_t batch = flat ? 1 : dims.d[0], half = f.n / 2;
  const int64_t pads[2] = {half, half};
  BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){3, {batch, 1, dims.d[dims.rank - 1]}},
                         &x));
  if (f.center) {
    in[0] = x;
    BSM_TRY(bsm_ir_ints(e, pads, 2, &in[1]));
    BSM_TRY(bsm_ir_int(e, 0, &in[2]));
    const bool filled = strcmp(f.pad, "aten::constant_pad_nd") == 0;
    BSM_TRY(bsm_ir_op(e, f.pad, in, filled ? 3 : 2, &x));
  }
  const bsm_transform t = of_frames(&f);
  BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_DOUBLE, &x));
  if (bsm_transform_is_large(&t, &fits)) {
    BSM_TRY(frames_by_steps(p, e, &t, &f, dtype, x, &x));
  } else {
    BSM_TRY(make_weights(p, e, &t, &f, &weights));
    BSM_TRY(convolve(e, "aten::conv1d", x, weights, f.hop, &x));
    BSM_TRY(bsm_ir_cast(e, x, dtype, &x));
    const int64_t count = x->type->dims.d[2];
    BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){4, {batch, t.bins, 2, count}}, &x));
    BSM_TRY(bsm_ir_permute(e, x, order, 4, &x));
  }
  const int64_t count = x->type->dims.d[2];
  *out = x;
  return flat ? bsm_ir_reshape(e, *out, (bsm_dims){3, {t.bins, count, 2}}, out)
              : BSM_OK;
}

/* ---- and back ---- */

typedef struct inverse {
  frames f;
  int64_t count, length; /* of frames; of all samples */
  int64_t start, end;    /* samples that are kept */
} inverse;

static bsm_transform of_inverse(const inverse *v) {
  const int64_t n = v->f.n;
  return (bsm_transform){.kind = BSM_COMPLEX_TO_REAL,
                         .n = n,
                         .bins = n / 2 + 1,
                         .inverse = true,
                         .scale = factor(v->f.normalized ? BY_ROOT_N : BY_N, n),
                         .transposed = true};
}

/* Frames of large transforms are added up in pieces of a hop. */
static bool adds_up(const inverse *v) {
  bool fits;
  const bsm_transform t = of_inverse(v);
  return !bsm_transform_is_large(&t, &fits) ||
         (fits && v->f.n % v->f.hop == 0 && v->f.n / v->f.hop <= MAX_OVERLAP);
}

/* istft(self, n_fft, hop_length, win_length, window, center, normalized,
 * onesided, length, return_complex), by a window that is known. */
static bool read_istft(const bsm_node *node, inverse *v) {
  const bsm_value *x = bsm_node_in(node, 0);
  const bsm_dims *dims = &x->type->dims;
  frames *f = &v->f;
  bool returns = true;
  int64_t length;
  *v = (inverse){.count = 0};
  if ((dims->rank != 2 && dims->rank != 3) ||
      !read_frames(node, bsm_dtype_value_type(x->type->dtype), f) ||
      (f->window && !bsm_value_tensor(f->window)) || f->hop > f->win ||
      !bsm_value_bool(bsm_node_in(node, 5), &f->center) ||
      !bsm_value_bool(bsm_node_in(node, 6), &f->normalized) ||
      !read_flag(bsm_node_in(node, 7), dims->d[dims->rank - 2] != f->n,
                 &f->onesided) ||
      !f->onesided || dims->d[dims->rank - 2] != f->n / 2 + 1 ||
      !bsm_value_bool(bsm_node_in(node, 9), &returns) || returns) {
    return false;
  }
  v->count = dims->d[dims->rank - 1];
  if (!adds_up(v) || v->count < 1 || dims->d[0] < 1 ||
      !bsm_i64_mul(v->count - 1, f->hop, &v->length) ||
      !bsm_i64_add(v->length, f->n, &v->length)) {
    return false;
  }
  v->start = f->center ? f->n / 2 : 0;
  v->end = f->center ? v->length - f->n / 2 : v->length;
  if (!bsm_value_is_none(bsm_node_in(node, 8)) &&
      (!bsm_value_int(bsm_node_in(node, 8), &length) || length < 0 ||
       !bsm_i64_add(v->start, length, &v->end))) {
    return false;
  }
  return v->end > v->start;
}

/* One by the sum of the squares of all windows over each sample that is kept;
 * false where there is nothing. */
static bool weigh(const inverse *v, double *out) {
  const bsm_tensor *window = v->f.window ? bsm_value_tensor(v->f.window) : NULL;
  const int64_t before = (v->f.n - v->f.win) / 2;
  const int64_t end = v->end < v->length ? v->end : v->length;
  for (int64_t i = v->start; i < end; i++) {
    double sum = 0;
    int64_t first = (i - before - v->f.win) / v->f.hop - 1;
    for (int64_t k = first < 0 ? 0 : first;
         k < v->count && k * v->f.hop + before <= i; k++) {
      const int64_t at = i - k * v->f.hop - before;
      if (at >= v->f.win) continue;
      const double w = window ? bsm_tensor_get_double(window, at) : 1;
      sum += w * w;
    }
    if (fabs(sum) < 1e-11) return false;
    if (out) out[i - v->start] = 1 / sum;
  }
  return true;
}

static bool has_inverse(const bsm_node *node) {
  inverse v;
  return read_istft(node, &v) && weigh(&v, NULL);
}

/* [batch, bins, count, 2] to [batch, 1, samples]: the `i`th pieces of all
 * frames lie i hops later. */
static bsm_status add_frames(bsm_complex_parts *p, const bsm_node_emitter *e,
                             const bsm_transform *t, const inverse *v,
                             bsm_value *x, bsm_value **out) {
  static const int64_t order[4] = {0, 2, 1, 3};
  const int64_t batch = x->type->dims.d[0], hop = v->f.hop, n = v->f.n;
  bsm_value *sum = NULL;
  BSM_TRY(bsm_ir_permute(e, x, order, 4, &x));
  BSM_TRY(bsm_fourier_steps(p, e, t, x, &x));
  BSM_TRY(by_window(p, e, &v->f, x, &x));
  for (int64_t i = 0; i < n / hop; i++) {
    const int64_t pads[4] = {0, 0, i, n / hop - 1 - i};
    bsm_value *in[3], *both[3];
    BSM_TRY(bsm_ir_slice(e, x, 2, i * hop, (i + 1) * hop, 1, &in[0]));
    BSM_TRY(bsm_ir_ints(e, pads, 4, &in[1]));
    BSM_TRY(bsm_ir_int(e, 0, &in[2]));
    BSM_TRY(bsm_ir_op(e, "aten::constant_pad_nd", in, 3, &both[1]));
    both[0] = sum;
    sum = both[1];
    if (i == 0) continue;
    BSM_TRY(bsm_ir_int(e, 1, &both[2]));
    BSM_TRY(bsm_ir_op(e, "aten::add.Tensor", both, 3, &sum));
  }
  return bsm_ir_reshape(e, sum, (bsm_dims){3, {batch, 1, v->length}}, out);
}

static bsm_status istft(bsm_complex_parts *p, const bsm_node_emitter *e,
                        bsm_node *node, bsm_value **out) {
  static const int64_t order[4] = {0, 1, 3, 2};
  const bsm_dims dims = bsm_node_in(node, 0)->type->dims;
  const bsm_dtype dtype = bsm_node_out(node, 0)->type->dtype;
  const bool flat = dims.rank == 2;
  bsm_value *x, *weights, *in[2];
  bsm_tensor *by;
  inverse v;
  bool fits;
  if (!read_istft(node, &v)) {
    return BSM_FAIL(BSM_INTERNAL, "a spectrogram that was read is another");
  }
  const int64_t batch = flat ? 1 : dims.d[0], bins = v.f.n / 2 + 1;
  const bsm_transform t = of_inverse(&v);
  BSM_TRY(bsm_parts_of(p, e, bsm_node_in(node, 0), &x));
  BSM_TRY(bsm_ir_reshape(e, x, (bsm_dims){4, {batch, bins, v.count, 2}}, &x));
  if (bsm_transform_is_large(&t, &fits)) {
    BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_DOUBLE, &x));
    BSM_TRY(add_frames(p, e, &t, &v, x, &x));
  } else {
    BSM_TRY(bsm_ir_permute(e, x, order, 4, &x));
    BSM_TRY(
        bsm_ir_reshape(e, x, (bsm_dims){3, {batch, 2 * bins, v.count}}, &x));
    BSM_TRY(bsm_ir_cast(e, x, BSM_DTYPE_DOUBLE, &x));
    BSM_TRY(make_weights(p, e, &t, &v.f, &weights));
    BSM_TRY(convolve(e, "aten::conv_transpose1d", x, weights, v.f.hop, &x));
  }
  const int64_t end = v.end < v.length ? v.end : v.length;
  BSM_TRY(bsm_ir_slice(e, x, 2, v.start, end, 1, &in[0]));
  BSM_TRY(bsm_tensor_new(p->graph->cx->arena, BSM_DTYPE_DOUBLE,
                         (bsm_dims){1, {end - v.start}}, false, &by));
  if (!weigh(&v, bsm_tensor_data(by))) {
    return BSM_FAIL(BSM_INTERNAL, "a window that is zero somewhere");
  }
  BSM_TRY(bsm_ir_tensor(e, by, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::mul.Tensor", in, 2, &x));
  BSM_TRY(bsm_ir_cast(e, x, dtype, &x));
  BSM_TRY(resize(e, x, 2, v.end - v.start, &x));
  return bsm_ir_reshape(e, x, bsm_node_out(node, 0)->type->dims, out);
}

/* ---- how much memory they take ---- */

/* The transforms of a node; how many. */
static size_t transforms_of(const bsm_complex_rule *rule, const bsm_node *node,
                            bsm_transform out[BSM_MAX_RANK]) {
  call c;
  frames f;
  inverse v;
  if (rule->emit == stft) {
    if (!read_stft(node, &f)) return 0;
    out[0] = of_frames(&f);
    return 1;
  }
  if (rule->emit == istft) {
    if (!read_istft(node, &v)) return 0;
    out[0] = of_inverse(&v);
    return 1;
  }
  if (!read_call(node, &c)) return 0;
  const bool real = !bsm_value_is_complex(bsm_node_in(node, 0));
  for (size_t i = 0; i < c.count; i++) {
    out[i] = transform_of(&c, kind_of(&c, real, i), i);
  }
  return c.count;
}

/* How much memory they may take. */
static int64_t room(const bsm_complex_parts *p) {
  const uint64_t all = p->graph->cx->limits.max_memory_bytes;
  const uint64_t share = all / 7 * 2;
  if (all == 0) return USUAL_BYTES;
  return share < (uint64_t)MAX_BYTES ? (int64_t)share : MAX_BYTES;
}

bsm_status bsm_fourier_reserve(bsm_complex_parts *p,
                               const bsm_complex_rule *rule,
                               const bsm_node *node, bool *fits) {
  /* The weights of frames are products with windows, which may be others. */
  const bool own = rule->emit == stft || rule->emit == istft;
  struct bsm_fourier_matrix *const before = p->matrices;
  const int64_t bytes = p->matrix_bytes;
  bsm_transform all[BSM_MAX_RANK];
  const size_t count = transforms_of(rule, node, all);
  for (size_t i = 0; i < count; i++) {
    bool can;
    if (bsm_transform_is_large(&all[i], &can)) {
      BSM_TRY(bsm_fourier_add_steps(p, &all[i]));
    } else {
      BSM_TRY(bsm_fourier_add(p, &all[i], own));
    }
  }
  *fits = p->matrix_bytes <= room(p);
  if (*fits) return BSM_OK;
  p->matrices = before;
  p->matrix_bytes = bytes;
  return BSM_OK;
}

const bsm_complex_rule bsm_fourier_rules[] = {
    {"aten::stft", has_frames, stft},
    {"aten::stft.center", has_frames, stft},
    {"aten::istft", has_inverse, istft},
    {"aten::fft_rfft", is_small, fft},
    {"aten::fft_irfft", is_small, fft},
    {"aten::fft_fft", is_small, fft},
    {"aten::fft_ifft", is_small, fft},
    {"aten::fft_rfft2", is_small, fft},
    {"aten::fft_irfft2", is_small, fft},
    {"aten::fft_fft2", is_small, fft},
    {"aten::fft_ifft2", is_small, fft},
    {"aten::_fft_r2c", is_small, fft},
    {"aten::_fft_c2r", is_small, fft},
    {"aten::_fft_c2c", is_small, fft},
};
const size_t bsm_fourier_rule_count =
    sizeof(bsm_fourier_rules) / sizeof(bsm_fourier_rules[0]);
