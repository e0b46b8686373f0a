/* SPDX-License-Identifier: Apache-2.0 */
/* Spectrograms: stft, istft and window functions. */
#include "aten/packed/aten_stft.h"
#include "aten/complex_math.h"
#include "aten/fft_ops.h"

/* ---- stft ---- */

static const int64_t MOST_POINTS = (int64_t)1 << 40;

typedef struct frames {
  int64_t n_fft, hop, win;
  bsm_tensor *window; /* n_fft wide; NULL: ones */
} frames;

/* n_fft, hop_length?, win_length?, window? at args[1..4]; the window padded
 * with zeros on both sides to n_fft. */
static bsm_status read_frames(bsm_op_ctx *cx, const bsm_ivalue *args,
                              const char *name, bsm_dtype dtype, frames *f) {
  f->n_fft = op_int(&args[1]);
  f->hop = op_int_or(&args[2], f->n_fft >> 2);
  f->win = op_int_or(&args[3], f->n_fft);
  f->window = op_tensor(&args[4]);
  if (f->n_fft < 1 || f->hop < 1 || f->win < 1 || f->win > f->n_fft) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: expected n_fft > 0, hop_length > 0 and 0 < win_length "
                    "<= n_fft, but got n_fft=%lld, hop_length=%lld, "
                    "win_length=%lld",
                    name, (long long)f->n_fft, (long long)f->hop,
                    (long long)f->win);
  }
  if (f->n_fft > MOST_POINTS) {
    return BSM_FAIL(BSM_LIMIT, "%s: n_fft=%lld; at most %lld is supported",
                    name, (long long)f->n_fft, (long long)MOST_POINTS);
  }
  if (f->window &&
      (f->window->sizes.rank != 1 || f->window->sizes.d[0] != f->win)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: expected a 1D window tensor of size equal to "
                    "win_length=%lld, but got window with size %s",
                    name, (long long)f->win, bsm_dims_str(f->window->sizes));
  }
  if (f->win == f->n_fft) return BSM_OK;
  bsm_tensor *padded, *middle;
  if (f->window) dtype = f->window->dtype;
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(f->n_fft), &padded));
  BSM_TRY(
      bsm_op_narrow(cx, padded, 0, (f->n_fft - f->win) / 2, f->win, &middle));
  if (!cx->meta) {
    bsm_tensor *one;
    BSM_TRY(bsm_tensor_from_int(cx->arena, dtype, 1, &one));
    BSM_TRY(bsm_tensor_copy(middle, f->window ? f->window : one));
  }
  f->window = padded;
  return BSM_OK;
}

/* Where sample `i` of a signal of n samples comes from, `pad` being put before
 * it and after it; -1: a zero. */
static bsm_status padded_index(bsm_str mode, int64_t pad, int64_t n, int64_t i,
                               int64_t *out) {
  const int64_t at = i - pad;
  *out = at;
  if (at >= 0 && at < n) return BSM_OK;
  if (bsm_str_eq(mode, BSM_STR("constant"))) {
    *out = -1;
  } else if (bsm_str_eq(mode, BSM_STR("reflect"))) {
    *out = at < 0 ? -at : 2 * (n - 1) - at;
  } else if (bsm_str_eq(mode, BSM_STR("replicate"))) {
    *out = at < 0 ? 0 : n - 1;
  } else if (bsm_str_eq(mode, BSM_STR("circular"))) {
    *out = at < 0 ? at + n : at - n;
  } else {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Unrecognised padding mode %.*s",
                    (int)mode.len, mode.data);
  }
  return BSM_OK;
}

/* [batch, n] to [batch, n + 2 pad]. */
static bsm_status pad_signal(bsm_op_ctx *cx, bsm_tensor **t, int64_t pad,
                             bsm_str mode) {
  const int64_t batch = (*t)->sizes.d[0], n = (*t)->sizes.d[1];
  const int64_t wide = n + 2 * pad;
  bsm_tensor *out;
  int64_t from;
  BSM_TRY(padded_index(mode, 1, n, 0, &from)); /* the mode is known */
  if ((bsm_str_eq(mode, BSM_STR("reflect")) && pad >= n) ||
      (from >= 0 && pad > n && bsm_str_eq(mode, BSM_STR("circular")))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Padding size should be less than the corresponding input "
                    "dimension, but got: padding (%lld, %lld) at dimension 2 "
                    "of input %s",
                    (long long)pad, (long long)pad, bsm_dims_str((*t)->sizes));
  }
  BSM_TRY(bsm_op_new(cx, (*t)->dtype, op_dims2(batch, wide), &out));
  const bsm_tensor *src = *t;
  *t = out;
  if (cx->meta) return BSM_OK;
  bsm_tensor *middle;
  BSM_TRY(bsm_op_narrow(cx, out, 1, pad, n, &middle));
  BSM_TRY(bsm_tensor_copy(middle, src));
  const size_t item = bsm_dtype_size(src->dtype);
  for (int64_t i = 0; i < 2 * pad; i++) {
    const int64_t at = i < pad ? i : n + i;
    BSM_TRY(padded_index(mode, pad, n, at, &from));
    for (int64_t b = 0; b < batch && from >= 0; b++) {
      memcpy((char *)bsm_tensor_data(out) + (size_t)(b * wide + at) * item,
             (const char *)bsm_tensor_data(src) +
                 (size_t)(b * src->strides[0] + from * src->strides[1]) * item,
             item);
    }
  }
  return BSM_OK;
}

typedef struct stft_options {
  bool center;
  bsm_str pad_mode;
  const bsm_ivalue *tail; /* normalized, onesided?, return_complex?, align? */
} stft_options;

static bsm_status check_signal(const bsm_tensor *t, const frames *f,
                               const stft_options *o) {
  const bool is_complex = bsm_dtype_is_complex(t->dtype) ||
                          (f->window && bsm_dtype_is_complex(f->window->dtype));
  if (op_none(&o->tail[2]) && !is_complex) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stft requires the return_complex parameter be given for "
                    "real inputs, and will further require that "
                    "return_complex=True in a future PyTorch release.");
  }
  if (t->sizes.rank != 1 && t->sizes.rank != 2) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "stft: expected a 1D or 2D tensor, but got a %d-dimensional "
        "one",
        (int)t->sizes.rank);
  }
  if (o->center && !op_none(&o->tail[3])) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stft only supports align_to_window for center = false");
  }
  const bsm_dtype value = bsm_dtype_value_type(t->dtype);
  if (value != BSM_DTYPE_FLOAT && value != BSM_DTYPE_DOUBLE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stft: expected a tensor of floating point or complex "
                    "values, but got %s",
                    bsm_op_type_name(t->dtype));
  }
  return BSM_OK;
}

/* [batch, n] to [batch, frames, n_fft]: a view, still to be multiplied by the
 * window unless that is NULL then. */
static bsm_status cut_frames(bsm_op_ctx *cx, bsm_tensor **t, frames *f,
                             bool align) {
  int64_t n = (*t)->sizes.d[1];
  int64_t count = 1 + (n - f->n_fft) / f->hop;
  if (align) {
    count = 1 + (n - f->win) / f->hop;
    BSM_TRY(pad_signal(cx, t, (f->n_fft - f->win) / 2, BSM_STR("constant")));
    n = (*t)->sizes.d[1];
  }
  if (n < f->n_fft || (count - 1) * f->hop + f->n_fft > n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stft: expected 0 < n_fft < %lld, but got n_fft=%lld",
                    (long long)n, (long long)f->n_fft);
  }
  if (f->window && !cx->meta && (*t)->strides[1] != 1) {
    /* The window is read as a frame is. */
    BSM_TRY(bsm_tensor_contiguous(cx->arena, *t, t));
  }
  const int64_t *s = (*t)->strides;
  const int64_t strides[3] = {s[0], count > 1 ? f->hop * s[1] : 0, s[1]};
  BSM_TRY(bsm_tensor_view(cx->arena, *t,
                          op_dims3((*t)->sizes.d[0], count, f->n_fft), strides,
                          (*t)->offset, t));
  if (!f->window) return BSM_OK;
  if (f->window->dtype == (*t)->dtype && !bsm_dtype_is_complex((*t)->dtype)) {
    return bsm_tensor_contiguous(cx->arena, f->window, &f->window);
  }
  BSM_TRY(bsm_op_mul(cx, *t, f->window, t));
  f->window = NULL;
  return BSM_OK;
}

static bsm_status stft(bsm_op_ctx *cx, const bsm_ivalue *args,
                       const stft_options *o, bsm_tensor **out) {
  bsm_tensor *t = op_tensor(&args[0]);
  const bool flat = t->sizes.rank == 1;
  frames f;
  BSM_TRY(read_frames(cx, args, "stft", t->dtype, &f));
  BSM_TRY(check_signal(t, &f, o));
  if (flat) BSM_TRY(bsm_op_unsqueeze(cx, t, 0, &t));
  if (o->center) BSM_TRY(pad_signal(cx, &t, f.n_fft / 2, o->pad_mode));
  BSM_TRY(
      cut_frames(cx, &t, &f, !op_none(&o->tail[3]) && op_bool(&o->tail[3])));
  const bool is_complex = bsm_dtype_is_complex(t->dtype);
  const bool onesided =
      op_none(&o->tail[1]) ? !is_complex : op_bool(&o->tail[1]);
  const int64_t mode = op_bool(&o->tail[0]) ? BSM_FFT_BY_ROOT_N : BSM_FFT_PLAIN;
  if (is_complex && onesided) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Cannot have onesided output if window or input is "
                    "complex");
  }
  BSM_TRY(is_complex ? bsm_op_fft_c2c(cx, t, op_dims1(2), mode, true, out)
                     : bsm_op_fft_windowed(cx, t, f.window, op_dims1(2), mode,
                                           onesided, out));
  BSM_TRY(bsm_op_transpose(cx, *out, 1, 2, out));
  if (flat) BSM_TRY(bsm_op_select(cx, *out, 0, 0, out));
  const bool return_complex = op_none(&o->tail[2]) || op_bool(&o->tail[2]);
  return return_complex ? BSM_OK : bsm_op_view_as_real(cx, *out, out);
}

/* stft(self, n_fft, hop, win, window, normalized, onesided, return_complex,
 * align_to_window); .center has center and pad_mode before normalized. */
static bsm_status op_stft(OP_PARAMS) {
  stft_options o = {false, BSM_STR("reflect"), &args[5]};
  bsm_tensor *out;
  if (self->variant) {
    o = (stft_options){op_bool(&args[5]), op_str(&args[6]), &args[7]};
  }
  BSM_TRY(stft(cx, args, &o, &out));
  return op_return(outs, out);
}

/* ---- istft ---- */

/* Adds up frames (or the squares of the window), `hop` apart. `frame` has room
 * for one. */
static void overlap_add(const bsm_tensor *y, const double *window,
                        const frames *f, int64_t count, int64_t length,
                        bsm_c128 *frame, bsm_c128 *sum, double *envelope) {
  const int64_t n = f->n_fft, batch = y->sizes.d[0];
  const int64_t item = (int64_t)bsm_dtype_size(y->dtype);
  const char *row = bsm_tensor_data(y);
  for (int64_t k = 0; k < batch * count; k++, row += n * item) {
    bsm_c128 *to = &sum[k / count * length + k % count * f->hop];
    bsm_load_c128(y->dtype, row, item, (size_t)n, frame);
    for (int64_t i = 0; i < n; i++) {
      const double w = window ? window[i] : 1.0;
      to[i] = bsm_c_add(to[i], bsm_c_scale(frame[i], w));
    }
  }
  for (int64_t k = 0; k < count; k++) {
    for (int64_t i = 0; i < n; i++) {
      const double w = window ? window[i] : 1.0;
      envelope[k * f->hop + i] += w * w;
    }
  }
}

typedef struct span {
  int64_t start, end, length; /* what is kept; samples that there are */
} span;

static bsm_status divide(const bsm_tensor *out, const bsm_c128 *sum,
                         const double *envelope, span s) {
  const int64_t kept = out->sizes.d[1], batch = out->sizes.d[0];
  const size_t item = bsm_dtype_size(out->dtype);
  const int64_t end = s.end < s.length ? s.end : s.length;
  for (int64_t i = s.start; i < end; i++) {
    if (fabs(envelope[i]) < 1e-11) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "istft: window overlap add min: 1, the window is zero at "
                      "sample %lld",
                      (long long)i);
    }
  }
  for (int64_t b = 0; b < batch; b++) {
    char *p = (char *)bsm_tensor_data(out) + (size_t)(b * kept) * item;
    for (int64_t i = s.start; i < end; i++, p += item) {
      const bsm_c128 v = bsm_c_scale(sum[b * s.length + i], 1.0 / envelope[i]);
      bsm_store_c128(out->dtype, p, 0, 1, &v);
    }
  }
  return BSM_OK;
}

typedef struct istft_args {
  frames f;
  bool center, normalized, onesided, return_complex;
  int64_t count; /* of frames */
} istft_args;

static bsm_status read_istft(bsm_op_ctx *cx, const bsm_ivalue *args,
                             istft_args *a) {
  const bsm_tensor *t = op_tensor(&args[0]);
  const int32_t rank = t->sizes.rank;
  if (!bsm_dtype_is_complex(t->dtype) || (rank != 2 && rank != 3) ||
      bsm_tensor_numel(t) == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "istft requires a complex-valued, non-empty input tensor "
                    "of 2 or 3 dimensions matching the output from stft with "
                    "return_complex=True, but got %s of %s",
                    bsm_op_type_name(t->dtype), bsm_dims_str(t->sizes));
  }
  const int64_t height = t->sizes.d[rank - 2];
  BSM_TRY(
      read_frames(cx, args, "istft", bsm_dtype_value_type(t->dtype), &a->f));
  a->count = t->sizes.d[rank - 1];
  a->center = op_bool(&args[5]);
  a->normalized = op_bool(&args[6]);
  a->onesided = op_none(&args[7]) ? height != a->f.n_fft : op_bool(&args[7]);
  a->return_complex = op_bool(&args[9]);
  if (height != (a->onesided ? a->f.n_fft / 2 + 1 : a->f.n_fft)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "istft: expected the frequency dimension (3rd to the last) "
                    "of the input tensor to match n_fft=%lld when onesided=%s, "
                    "but got %lld",
                    (long long)a->f.n_fft, a->onesided ? "True" : "False",
                    (long long)height);
  }
  if (a->f.hop > a->f.win) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "istft: expected hop_length <= win_length");
  }
  if (a->return_complex && a->onesided) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cannot have onesided output if window or input is "
                    "complex");
  }
  if (a->f.window && bsm_dtype_is_complex(a->f.window->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "istft with a complex window");
  }
  return BSM_OK;
}

/* istft(self, n_fft, hop, win, window, center, normalized, onesided, length,
 * return_complex) */
static bsm_status op_istft(OP_PARAMS) {
  (void)self;
  istft_args a;
  bsm_tensor *t = op_tensor(&args[0]), *y, *out;
  BSM_TRY(read_istft(cx, args, &a));
  const bool flat = t->sizes.rank == 2;
  const int64_t n = a.f.n_fft;
  if (flat) BSM_TRY(bsm_op_unsqueeze(cx, t, 0, &t));
  BSM_TRY(bsm_op_transpose(cx, t, 1, 2, &t));
  const int64_t mode = a.normalized ? BSM_FFT_BY_ROOT_N : BSM_FFT_BY_N;
  BSM_TRY(a.return_complex ? bsm_op_fft_c2c(cx, t, op_dims1(2), mode, false, &y)
                           : bsm_op_fft_c2r(cx, t, op_dims1(2), mode, n, &y));
  span s = {a.center ? n / 2 : 0, 0, 0};
  if (!bsm_i64_mul(a.count - 1, a.f.hop, &s.length) ||
      !bsm_i64_add(s.length, n, &s.length)) {
    return BSM_FAIL(BSM_LIMIT, "istft: %lld frames", (long long)a.count);
  }
  s.end = a.center ? s.length - n / 2 : s.length;
  if (!op_none(&args[8])) {
    const int64_t length = op_int(&args[8]);
    if (length < 0 || !bsm_i64_add(s.start, length, &s.end)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "istft: length %lld",
                      (long long)length);
    }
  }
  const int64_t kept = s.end > s.start ? s.end - s.start : 0;
  const int64_t batch = y->sizes.d[0];
  BSM_TRY(bsm_op_new(cx, y->dtype, op_dims2(batch, kept), &out));
  if (!cx->meta) {
    const double *window = a.f.window ? bsm_op_load_all(cx, a.f.window) : NULL;
    bsm_c128 *sum =
        BSM_NEW_ARRAY(cx->arena, bsm_c128, (size_t)(batch * s.length));
    double *envelope = BSM_NEW_ARRAY(cx->arena, double, (size_t)s.length);
    bsm_c128 *frame = BSM_NEW_ARRAY(cx->arena, bsm_c128, (size_t)n);
    BSM_TRY_ALLOC(frame);
    BSM_TRY_ALLOC(sum);
    BSM_TRY_ALLOC(envelope);
    if (a.f.window) BSM_TRY_ALLOC(window);
    overlap_add(y, window, &a.f, a.count, s.length, frame, sum, envelope);
    BSM_TRY(divide(out, sum, envelope, s));
  }
  if (flat) BSM_TRY(bsm_op_select(cx, out, 0, 0, &out));
  return op_return(outs, out);
}

/* ---- windows ---- */

enum {
  WINDOW_HANN,
  WINDOW_HAMMING,
  WINDOW_BLACKMAN,
  WINDOW_BARTLETT,
  WINDOW_KAISER
};

/* The modified Bessel function I0, by its power series. */
static double bessel_i0(double x) {
  const double q = x * x / 4.0;
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 1000 && term > sum * 1e-17; k++) {
    term *= q / ((double)k * (double)k);
    sum += term;
  }
  return sum;
}

/* At x in [0, 1]. */
static double window_at(int32_t kind, double x, double alpha, double beta) {
  switch (kind) {
    case WINDOW_BLACKMAN:
      return 0.42 - 0.5 * cos(2.0 * M_PI * x) + 0.08 * cos(4.0 * M_PI * x);
    case WINDOW_BARTLETT:
      return x <= 0.5 ? 2.0 * x : 2.0 - 2.0 * x;
    case WINDOW_KAISER: {
      const double y = 2.0 * x - 1.0, rest = 1.0 - y * y;
      return bessel_i0(beta * sqrt(rest > 0.0 ? rest : 0.0)) / bessel_i0(beta);
    }
    default:
      return alpha - beta * cos(2.0 * M_PI * x);
  }
}

/* hann_window(length, [periodic, [alpha, [beta]]], tail): the overload is told
 * by the number of args. */
static bsm_status op_window(OP_PARAMS) {
  const int64_t n = op_int(&args[0]);
  const size_t given = cx->arg_count - 4;
  const bsm_ivalue *tail = &args[given];
  const bool periodic = given < 2 || op_bool(&args[1]);
  const bool hann = self->variant == WINDOW_HANN;
  const bool kaiser = self->variant == WINDOW_KAISER;
  double alpha = hann ? 0.5 : 0.54, beta = hann ? 0.5 : kaiser ? 12.0 : 0.46;
  if (given > 2) *(kaiser ? &beta : &alpha) = op_double(&args[2]);
  if (given > 3) beta = op_double(&args[3]);
  const bsm_dtype dtype = op_dtype_or(&tail[0], BSM_DTYPE_FLOAT);
  bsm_tensor *out;
  if (!bsm_dtype_is_floating(dtype) || n < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a window expects a floating point dtype and a "
                    "non-negative length, got: %s and %lld",
                    bsm_op_type_name(dtype), (long long)n);
  }
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &out));
  outs[0] = bsm_iv_tensor(out);
  /* The series of a large beta is long. */
  BSM_TRY(bsm_op_charge(cx, n, kaiser ? 1024 : 8, 1));
  if (cx->meta) return BSM_OK;
  const double last = (double)(periodic ? n : n - 1);
  char *p = bsm_tensor_data(out);
  for (int64_t k = 0; k < n; k++, p += bsm_dtype_size(dtype)) {
    const double v =
        n == 1 ? 1.0 : window_at(self->variant, (double)k / last, alpha, beta);
    bsm_store1_f64(dtype, p, v);
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::stft(Tensor self, int n_fft, int? hop_length=None, int? "
       "win_length=None, Tensor? window=None, bool normalized=False, bool? "
       "onesided=None, bool? return_complex=None, bool? align_to_window=None) "
       "-> "
       "Tensor",
       op_stft, 0, 0),
    OP("aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? "
       "win_length=None, Tensor? window=None, bool center=True, str "
       "pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, "
       "bool? "
       "return_complex=None, bool? align_to_window=None) -> Tensor",
       op_stft, 1, 0),
    OP("aten::istft(Tensor self, int n_fft, int? hop_length=None, int? "
       "win_length=None, Tensor? window=None, bool center=True, bool "
       "normalized=False, bool? onesided=None, int? length=None, bool "
       "return_complex=False) -> Tensor",
       op_istft, 0, 0),
    OP("aten::hann_window(int window_length, *, ScalarType? dtype=None, "
       "Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_window, WINDOW_HANN, 0),
    OP("aten::hann_window.periodic(int window_length, bool periodic, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_window, WINDOW_HANN, 0),
    OP("aten::hamming_window(int window_length, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_window, WINDOW_HAMMING, 0),
    OP("aten::hamming_window.periodic(int window_length, bool periodic, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_window, WINDOW_HAMMING, 0),
    OP("aten::hamming_window.periodic_alpha(int window_length, bool periodic, "
       "float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       op_window, WINDOW_HAMMING, 0),
    OP("aten::hamming_window.periodic_alpha_beta(int window_length, bool "
       "periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_window, WINDOW_HAMMING, 0),
    OP("aten::blackman_window(int window_length, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_window, WINDOW_BLACKMAN, 0),
    OP("aten::blackman_window.periodic(int window_length, bool periodic, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_window, WINDOW_BLACKMAN, 0),
    OP("aten::bartlett_window(int window_length, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_window, WINDOW_BARTLETT, 0),
    OP("aten::bartlett_window.periodic(int window_length, bool periodic, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_window, WINDOW_BARTLETT, 0),
    OP("aten::kaiser_window(int window_length, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
       "Tensor",
       op_window, WINDOW_KAISER, 0),
    OP("aten::kaiser_window.periodic(int window_length, bool periodic, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_window, WINDOW_KAISER, 0),
    OP("aten::kaiser_window.beta(int window_length, bool periodic, float beta, "
       "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       op_window, WINDOW_KAISER, 0),
};
BSM_ATEN_TABLE(stft, rows);
