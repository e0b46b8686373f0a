/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of tensors: fft_*, the older _fft_*, frequencies and
 * shifts. stft and the windows are in aten_stft.c. */
#include "aten/fft.h"

#include "aten/complex_math.h"
#include "aten/fft_ops.h"
#include "aten/packed/aten_fft.h"

/* ---- one dim ---- */

/* Rows along `dim`: the view with that dim last. */
static bsm_status rows_along(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                             bsm_tensor **out) {
  return bsm_op_transpose(cx, t, dim, t->sizes.rank - 1, out);
}

static double scale_of(int64_t normalization, double points) {
  if (normalization == BSM_FFT_BY_ROOT_N) return 1.0 / sqrt(points);
  return normalization == BSM_FFT_BY_N ? 1.0 / points : 1.0;
}

/* Rows (the last dim) of two tensors of the same other dims, some at a time. */
typedef struct row_groups {
  bsm_iter it;
  int64_t done; /* of the iterator's run of rows */
  int64_t left; /* of all rows */
  size_t points;
  bsm_fft_rows from, to;
  const bsm_fft_kernels *kernels; /* for the rows of the group */
} row_groups;

static bsm_fft_rows rows_of(const bsm_tensor *t) {
  const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
  return (bsm_fft_rows){
      .is_float = bsm_dtype_value_type(t->dtype) == BSM_DTYPE_FLOAT,
      .is_real = !bsm_dtype_is_complex(t->dtype),
      .step = t->strides[t->sizes.rank - 1] * size,
      .imaginary = size / 2,
      .scale = 1.0};
}

/* Real numbers by twos, as the parts of half as many complex ones. */
static void pair_up(bsm_fft_rows *rows) {
  rows->is_real = false;
  rows->imaginary = rows->step;
  rows->step *= 2;
}

/* `n`: points of the transforms. Returns the width that plans need. */
static int start_rows(row_groups *g, size_t n, const bsm_tensor *a,
                      const bsm_tensor *b) {
  bsm_tensor heads[2] = {*a, *b};
  const bsm_tensor *both[2] = {&heads[0], &heads[1]};
  heads[0].sizes.rank--;
  heads[1].sizes.rank--;
  bsm_iter_init(&g->it, heads[0].sizes, both, 2);
  g->done = g->it.count; /* asks for the first run of rows */
  g->left = bsm_tensor_numel(&heads[0]);
  g->points = n;
  g->from = rows_of(a);
  g->to = rows_of(b);
  return bsm_fft_choose(n, g->left)->width;
}

/* The next rows; false at the end. What is read beyond them is the first. */
static bool next_rows(row_groups *g) {
  if (g->left == 0) return false;
  g->kernels = bsm_fft_choose(g->points, g->left);
  const int width = g->kernels->width;
  const int count = g->left < width ? (int)g->left : width;
  for (int i = 0; i < count; i++, g->done++) {
    if (g->done >= g->it.count) {
      (void)bsm_iter_next(&g->it);
      g->done = 0;
    }
    g->from.row[i] = g->it.ptr[0] + g->done * g->it.step[0];
    g->to.row[i] = g->it.ptr[1] + g->done * g->it.step[1];
  }
  for (int i = count; i < width; i++) g->from.row[i] = g->from.row[0];
  g->from.count = g->to.count = count;
  g->left -= count;
  return true;
}

/* Transforms of rows of n elements do some n log n, of odd lengths more. */
static bsm_status charge(bsm_op_ctx *cx, const bsm_tensor *from,
                         const bsm_tensor *to) {
  return bsm_op_charge(cx, bsm_tensor_numel(from) + bsm_tensor_numel(to), 32,
                       1);
}

static bsm_status new_blocks(bsm_op_ctx *cx, size_t n, int width, double **x,
                             double **y) {
  *x = bsm_fft_blocks(cx->arena, n, width);
  *y = bsm_fft_blocks(cx->arena, n, width);
  BSM_TRY_ALLOC(*x);
  BSM_TRY_ALLOC(*y);
  return BSM_OK;
}

/* Complex to complex, `from` and `to` of one shape; may be the same tensor. */
static bsm_status transform_complex(bsm_op_ctx *cx, bsm_tensor *from,
                                    bsm_tensor *to, bool inverse,
                                    double scale) {
  const size_t n = (size_t)from->sizes.d[from->sizes.rank - 1];
  row_groups g;
  bsm_fft *fft;
  double *x, *y;
  BSM_TRY(charge(cx, from, to));
  const int width = start_rows(&g, n, from, to);
  BSM_TRY(bsm_fft_create(cx->arena, (int64_t)n, width, &fft));
  BSM_TRY(new_blocks(cx, n, width, &x, &y));
  g.from.swapped = g.to.swapped = inverse;
  g.to.scale = scale;
  while (next_rows(&g)) {
    g.kernels->load(&g.from, n, x);
    bsm_fft_run(fft, g.kernels, x, y);
    g.kernels->store(&g.to, n, y);
  }
  return BSM_OK;
}

/* Real to complex; a result of full length repeats the conjugates. `window`: n
 * elements as a row has them, or NULL. */
static bsm_status transform_real(bsm_op_ctx *cx, bsm_tensor *from,
                                 const bsm_tensor *window, bsm_tensor *to,
                                 double scale) {
  const size_t n = (size_t)from->sizes.d[from->sizes.rank - 1];
  const size_t m = (size_t)to->sizes.d[to->sizes.rank - 1];
  row_groups g;
  bsm_rfft *fft;
  double *x, *y;
  BSM_TRY(charge(cx, from, to));
  const int width = start_rows(&g, n, from, to);
  BSM_TRY(bsm_rfft_create(cx->arena, (int64_t)n, width, &fft));
  BSM_TRY(new_blocks(cx, n, width, &x, &y));
  const bool halved = bsm_rfft_is_halved(fft);
  if (halved) pair_up(&g.from);
  if (window) g.from.window = bsm_tensor_data(window);
  g.to.scale = scale;
  while (next_rows(&g)) {
    g.kernels->load(&g.from, halved ? n / 2 : n, x);
    bsm_rfft_forward(fft, g.kernels, x, y);
    if (m > n / 2 + 1) bsm_fft_mirror(y, n, g.kernels->width, false);
    g.kernels->store(&g.to, m, y);
  }
  return BSM_OK;
}

static bsm_status transform_to_real(bsm_op_ctx *cx, bsm_tensor *from,
                                    bsm_tensor *to, double scale) {
  const size_t n = (size_t)to->sizes.d[to->sizes.rank - 1];
  row_groups g;
  bsm_rfft *fft;
  double *x, *y;
  BSM_TRY(charge(cx, from, to));
  const int width = start_rows(&g, n, from, to);
  BSM_TRY(bsm_rfft_create(cx->arena, (int64_t)n, width, &fft));
  BSM_TRY(new_blocks(cx, n + 1, width, &x, &y));
  const bool halved = bsm_rfft_is_halved(fft);
  if (halved) pair_up(&g.to);
  g.from.swapped = !halved;
  g.to.swapped = true;
  g.to.scale = scale;
  while (next_rows(&g)) {
    g.kernels->load(&g.from, n / 2 + 1, x);
    bsm_rfft_inverse(fft, g.kernels, x, y);
    g.kernels->store(&g.to, halved ? n / 2 : n, y);
  }
  return BSM_OK;
}

/* ---- the primitives ---- */

static double points_of(bsm_dims sizes, bsm_dims dims) {
  double n = 1.0;
  for (int32_t i = 0; i < dims.rank; i++) n *= (double)sizes.d[dims.d[i]];
  return n;
}

static bsm_status wrap_dims(bsm_dims *dims, int32_t rank) {
  uint32_t seen = 0;
  for (int32_t i = 0; i < dims->rank; i++) {
    int dim;
    BSM_TRY(bsm_op_wrap_dim(dims->d[i], rank, &dim));
    if (rank == 0) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "Dimension specified as %d but tensor has no dimensions",
                      dim);
    }
    if (seen & 1u << dim) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "FFT dims must be unique");
    }
    seen |= 1u << dim;
    dims->d[i] = dim;
  }
  return BSM_OK;
}

bsm_status bsm_op_fft_c2c(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims dims,
                          int64_t normalization, bool forward,
                          bsm_tensor **out) {
  bsm_tensor *from, *to;
  BSM_TRY(wrap_dims(&dims, t->sizes.rank));
  if (!bsm_dtype_is_complex(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "_fft_c2c expects a complex tensor, but got %s",
                    bsm_op_type_name(t->dtype));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, out));
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  if (dims.rank == 0) return bsm_tensor_copy(*out, t);
  double scale = scale_of(normalization, points_of(t->sizes, dims));
  for (int32_t i = dims.rank - 1; i >= 0; i--) {
    const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
    BSM_TRY(rows_along(cx, t, (int)dims.d[i], &from));
    BSM_TRY(rows_along(cx, *out, (int)dims.d[i], &to));
    BSM_TRY(transform_complex(cx, from, to, !forward, scale));
    bsm_arena_rewind(cx->arena, mark);
    t = *out;
    scale = 1.0;
  }
  return BSM_OK;
}

bsm_status bsm_op_fft_windowed(bsm_op_ctx *cx, bsm_tensor *t,
                               const bsm_tensor *window, bsm_dims dims,
                               int64_t normalization, bool onesided,
                               bsm_tensor **out) {
  bsm_tensor *from, *to;
  BSM_TRY(wrap_dims(&dims, t->sizes.rank));
  if (dims.rank == 0 ||
      (t->dtype != BSM_DTYPE_FLOAT && t->dtype != BSM_DTYPE_DOUBLE)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "_fft_r2c expects a float or double tensor and a dim, but "
                    "got %s and %d dims",
                    bsm_op_type_name(t->dtype), (int)dims.rank);
  }
  const int last = (int)dims.d[dims.rank - 1];
  const double scale = scale_of(normalization, points_of(t->sizes, dims));
  bsm_dims shape = t->sizes;
  if (onesided) shape.d[last] = shape.d[last] / 2 + 1;
  BSM_TRY(bsm_op_new(cx, bsm_dtype_complex_type(t->dtype), shape, out));
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  BSM_TRY(rows_along(cx, t, last, &from));
  BSM_TRY(rows_along(cx, *out, last, &to));
  BSM_TRY(transform_real(cx, from, window, to, scale));
  for (int32_t i = 0; i < dims.rank - 1; i++) {
    BSM_TRY(rows_along(cx, *out, (int)dims.d[i], &to));
    BSM_TRY(transform_complex(cx, to, to, false, 1.0));
  }
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

bsm_status bsm_op_fft_r2c(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims dims,
                          int64_t normalization, bool onesided,
                          bsm_tensor **out) {
  return bsm_op_fft_windowed(cx, t, NULL, dims, normalization, onesided, out);
}

bsm_status bsm_op_fft_c2r(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims dims,
                          int64_t normalization, int64_t last_size,
                          bsm_tensor **out) {
  bsm_tensor *from, *to;
  BSM_TRY(wrap_dims(&dims, t->sizes.rank));
  if (dims.rank == 0 || !bsm_dtype_is_complex(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "_fft_c2r expects a complex tensor and a dim");
  }
  const int last = (int)dims.d[dims.rank - 1];
  bsm_dims shape = t->sizes;
  shape.d[last] = last_size;
  if (last_size < 1 || t->sizes.d[last] < last_size / 2 + 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Invalid number of data points (%lld) specified",
                    (long long)last_size);
  }
  BSM_TRY(bsm_op_new(cx, bsm_dtype_value_type(t->dtype), shape, out));
  if (cx->meta || bsm_tensor_numel(*out) == 0) return BSM_OK;
  const double scale = scale_of(normalization, points_of(shape, dims));
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  dims.rank--;
  if (dims.rank > 0) BSM_TRY(bsm_op_fft_c2c(cx, t, dims, 0, false, &t));
  BSM_TRY(rows_along(cx, t, last, &from));
  BSM_TRY(rows_along(cx, *out, last, &to));
  BSM_TRY(transform_to_real(cx, from, to, scale));
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* _fft_r2c(self, dim, normalization, onesided) */
static bsm_status op_r2c(OP_PARAMS) {
  bsm_dims dims;
  bsm_tensor *out;
  (void)self;
  BSM_TRY(bsm_op_dims(&args[1], &dims));
  BSM_TRY(bsm_op_fft_r2c(cx, op_tensor(&args[0]), dims, op_int(&args[2]),
                         op_bool(&args[3]), &out));
  return op_return(outs, out);
}

/* _fft_c2r(self, dim, normalization, last_dim_size) */
static bsm_status op_c2r(OP_PARAMS) {
  bsm_dims dims;
  bsm_tensor *out;
  (void)self;
  BSM_TRY(bsm_op_dims(&args[1], &dims));
  BSM_TRY(bsm_op_fft_c2r(cx, op_tensor(&args[0]), dims, op_int(&args[2]),
                         op_int(&args[3]), &out));
  return op_return(outs, out);
}

/* _fft_c2c(self, dim, normalization, forward) */
static bsm_status op_c2c(OP_PARAMS) {
  bsm_dims dims;
  bsm_tensor *out;
  (void)self;
  BSM_TRY(bsm_op_dims(&args[1], &dims));
  BSM_TRY(bsm_op_fft_c2c(cx, op_tensor(&args[0]), dims, op_int(&args[2]),
                         op_bool(&args[3]), &out));
  return op_return(outs, out);
}

/* ---- torch.fft ---- */

enum { FFT_FFT, FFT_IFFT, FFT_RFFT, FFT_IRFFT, FFT_HFFT, FFT_IHFFT };

static const char *const fft_names[] = {"fft",   "ifft", "rfft",
                                        "irfft", "hfft", "ihfft"};

static bool goes_forward(int32_t variant) {
  return variant == FFT_FFT || variant == FFT_RFFT || variant == FFT_HFFT;
}

static bsm_status read_norm(const bsm_ivalue *a, bool forward, int64_t *out) {
  const bsm_str norm = op_none(a) ? BSM_STR("backward") : op_str(a);
  *out = BSM_FFT_BY_ROOT_N;
  if (bsm_str_eq(norm, BSM_STR("ortho"))) return BSM_OK;
  *out = BSM_FFT_PLAIN;
  if (bsm_str_eq(norm, BSM_STR("backward"))) {
    if (!forward) *out = BSM_FFT_BY_N;
    return BSM_OK;
  }
  if (bsm_str_eq(norm, BSM_STR("forward"))) {
    if (forward) *out = BSM_FFT_BY_N;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "Invalid normalization mode: \"%.*s\"",
                  (int)norm.len, norm.data);
}

/* The input in a dtype that can be transformed. */
static bsm_status promote(bsm_op_ctx *cx, int32_t variant, bsm_tensor **t) {
  bsm_dtype d = (*t)->dtype;
  const bool real = variant == FFT_RFFT || variant == FFT_IHFFT ||
                    (variant == FFT_FFT && !bsm_dtype_is_complex(d));
  if (real && bsm_dtype_is_complex(d)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s expects a real input tensor, but got %s",
                    fft_names[variant], bsm_op_type_name(d));
  }
  if (bsm_dtype_is_integral(d, true)) d = BSM_DTYPE_FLOAT;
  const bsm_dtype value = bsm_dtype_value_type(d);
  if (value != BSM_DTYPE_FLOAT && value != BSM_DTYPE_DOUBLE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Unsupported dtype %s",
                    bsm_op_type_name(d));
  }
  return bsm_op_cast(cx, *t, real ? d : bsm_dtype_complex_type(d), t);
}

/* Cuts or pads with zeros to `sizes` at `dims`; -1 keeps a size. */
static bsm_status resize(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims dims,
                         bsm_dims sizes, bsm_tensor **out) {
  bsm_dims shape = t->sizes;
  bool grows = false;
  *out = t;
  for (int32_t i = 0; i < dims.rank; i++) {
    const int dim = (int)dims.d[i];
    const int64_t n = sizes.d[i];
    shape.d[dim] = n;
    if (n > t->sizes.d[dim]) grows = true;
    if (n < t->sizes.d[dim]) {
      BSM_TRY(bsm_op_narrow(cx, *out, dim, 0, n, out));
    }
  }
  if (!grows) return BSM_OK;
  bsm_tensor *wide, *part, *src = *out;
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &wide));
  *out = wide;
  if (cx->meta) return BSM_OK;
  BSM_TRY(
      bsm_tensor_view(cx->arena, wide, src->sizes, wide->strides, 0, &part));
  return bsm_tensor_copy(part, src);
}

/* Transforms `t` over `dims`; sizes has one for each, of the transform. */
static bsm_status transform_dims(bsm_op_ctx *cx, int32_t variant, bsm_tensor *t,
                                 bsm_dims dims, bsm_dims sizes,
                                 const bsm_ivalue *norm, bsm_tensor **out) {
  const bool forward = goes_forward(variant);
  const bool to_real = variant == FFT_IRFFT || variant == FFT_HFFT;
  const int32_t last = dims.rank - 1;
  const int64_t last_size = last >= 0 ? sizes.d[last] : 0;
  bsm_dims others = dims;
  int64_t mode;
  BSM_TRY(read_norm(norm, forward, &mode));
  BSM_TRY(promote(cx, variant, &t));
  for (int32_t i = 0; i < dims.rank; i++) {
    if (sizes.d[i] >= 1) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Invalid number of data points (%lld) specified",
                    (long long)sizes.d[i]);
  }
  if (last < 0 && variant > FFT_IFFT) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%sn must transform at least one axis", fft_names[variant]);
  }
  if (to_real) sizes.d[last] = last_size / 2 + 1;
  BSM_TRY(resize(cx, t, dims, sizes, &t));
  others.rank--;
  switch (variant) {
    case FFT_FFT:
      if (!bsm_dtype_is_complex(t->dtype) && last >= 0) {
        return bsm_op_fft_r2c(cx, t, dims, mode, false, out);
      }
      BSM_TRY(bsm_op_cast(cx, t, bsm_dtype_complex_type(t->dtype), &t));
      return bsm_op_fft_c2c(cx, t, dims, mode, true, out);
    case FFT_IFFT:
      return bsm_op_fft_c2c(cx, t, dims, mode, false, out);
    case FFT_RFFT:
      return bsm_op_fft_r2c(cx, t, dims, mode, true, out);
    case FFT_IRFFT:
      return bsm_op_fft_c2r(cx, t, dims, mode, last_size, out);
    case FFT_HFFT:
      /* The conjugate of an irfft of the conjugate, which is real. */
      if (others.rank > 0) {
        BSM_TRY(bsm_op_fft_c2c(cx, t, others, mode, true, &t));
      }
      BSM_TRY(bsm_op_conj(cx, t, &t));
      return bsm_op_fft_c2r(cx, t, (bsm_dims){1, {dims.d[last]}}, mode,
                            last_size, out);
    default:
      BSM_TRY(
          bsm_op_fft_r2c(cx, t, (bsm_dims){1, {dims.d[last]}}, mode, true, &t));
      BSM_TRY(bsm_op_conj(cx, t, out));
      if (others.rank == 0) return BSM_OK;
      return bsm_op_fft_c2c(cx, *out, others, mode, false, out);
  }
}

/* fft_fft(self, n?, dim, norm?) and its kin */
static bsm_status op_fft(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims dims = {1, {op_int(&args[2])}}, sizes = {1, {0}};
  const bool to_real = self->variant == FFT_IRFFT || self->variant == FFT_HFFT;
  BSM_TRY(wrap_dims(&dims, t->sizes.rank));
  const int64_t size = t->sizes.d[dims.d[0]];
  sizes.d[0] = op_int_or(&args[1], to_real ? 2 * (size - 1) : size);
  BSM_TRY(transform_dims(cx, self->variant, t, dims, sizes, &args[3], &out));
  return op_return(outs, out);
}

/* fft_fftn(self, s?, dim?, norm?), fft_fft2 and their kin */
static bsm_status op_fftn(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bool to_real = self->variant == FFT_IRFFT || self->variant == FFT_HFFT;
  const bool given = !op_none(&args[1]), chosen = !op_none(&args[2]);
  bsm_dims dims = {0}, sizes = {0};
  if (given) BSM_TRY(bsm_op_dims(&args[1], &sizes));
  if (chosen) {
    BSM_TRY(bsm_op_dims(&args[2], &dims));
    if (given && dims.rank != sizes.rank) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "When given, dim and shape arguments must have the same "
                      "length");
    }
  } else {
    dims.rank = given ? sizes.rank : t->sizes.rank;
    if (dims.rank > t->sizes.rank) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Got shape with %d values but input tensor only has %d "
                      "dimensions.",
                      (int)dims.rank, (int)t->sizes.rank);
    }
    for (int32_t i = 0; i < dims.rank; i++) {
      dims.d[i] = t->sizes.rank - dims.rank + i;
    }
  }
  BSM_TRY(wrap_dims(&dims, t->sizes.rank));
  sizes.rank = dims.rank;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (given && sizes.d[i] != -1) continue;
    const int64_t size = t->sizes.d[dims.d[i]];
    sizes.d[i] = to_real && i == dims.rank - 1 ? 2 * (size - 1) : size;
  }
  BSM_TRY(transform_dims(cx, self->variant, t, dims, sizes, &args[3], &out));
  return op_return(outs, out);
}

/* ---- frequencies and shifts ---- */

enum { FREQ_ALL, FREQ_HALF };

/* fft_fftfreq(n, d, tail) */
static bsm_status op_fftfreq(OP_PARAMS) {
  const int64_t n = op_int(&args[0]);
  const bool half = self->variant == FREQ_HALF;
  const bsm_dtype dtype = op_dtype_or(&args[2], BSM_DTYPE_FLOAT);
  bsm_tensor *out;
  if (bsm_dtype_is_integral(dtype, true)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "fftfreq requires a floating point or complex dtype");
  }
  if (n < 0 || (n == 0 && !half)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "fftfreq of %lld points",
                    (long long)n);
  }
  const int64_t count = half ? n / 2 + 1 : n;
  BSM_TRY(bsm_op_new(cx, dtype, op_dims1(count), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const double scale = 1.0 / ((double)n * op_double(&args[1]));
  char *p = bsm_tensor_data(out);
  for (int64_t k = 0; k < count; k++, p += bsm_dtype_size(dtype)) {
    const int64_t at = half || k < (n + 1) / 2 ? k : k - n;
    const bsm_c128 v = {(double)at * scale, 0.0};
    bsm_store_c128(dtype, p, 0, 1, &v);
  }
  return BSM_OK;
}

/* fft_fftshift(self, dim?): rolls by half; the inverse rolls back. */
static bsm_status op_fftshift(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims dims = {t->sizes.rank, {0}};
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = i;
  if (!op_none(&args[1])) BSM_TRY(bsm_op_dims(&args[1], &dims));
  int64_t shift[BSM_MAX_RANK] = {0};
  for (int32_t i = 0; i < dims.rank; i++) {
    int dim;
    BSM_TRY(bsm_op_wrap_dim(dims.d[i], t->sizes.rank, &dim));
    if (t->sizes.rank == 0) break;
    const int64_t n = t->sizes.d[dim];
    if (n > 0) shift[dim] = (shift[dim] + (n + self->variant) / 2) % n;
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  BSM_TRY(bsm_tensor_contiguous(cx->arena, t, &t));
  const size_t item = bsm_dtype_size(t->dtype);
  const char *src = bsm_tensor_data(t);
  char *dst = bsm_tensor_data(out);
  const int64_t n = bsm_tensor_numel(t);
  for (int64_t i = 0; i < n; i++, src += item) {
    int64_t rest = i, at = 0;
    for (int32_t d = t->sizes.rank - 1; d >= 0; d--) {
      const int64_t size = t->sizes.d[d];
      at += (rest % size + shift[d]) % size * out->strides[d];
      rest /= size;
    }
    memcpy(dst + (size_t)at * item, src, item);
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) "
       "-> Tensor",
       op_fft, FFT_FFT, 0),
    OP("aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_FFT, 0),
    OP("aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_FFT, 0),
    OP("aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? "
       "norm=None) "
       "-> Tensor",
       op_fft, FFT_IFFT, 0),
    OP("aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? norm=None) -> Tensor",
       op_fftn, FFT_IFFT, 0),
    OP("aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_IFFT, 0),
    OP("aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? "
       "norm=None) "
       "-> Tensor",
       op_fft, FFT_RFFT, 0),
    OP("aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? norm=None) -> Tensor",
       op_fftn, FFT_RFFT, 0),
    OP("aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_RFFT, 0),
    OP("aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? "
       "norm=None) "
       "-> Tensor",
       op_fft, FFT_IRFFT, 0),
    OP("aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? norm=None) -> Tensor",
       op_fftn, FFT_IRFFT, 0),
    OP("aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, "
       "str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_IRFFT, 0),
    OP("aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? "
       "norm=None) "
       "-> Tensor",
       op_fft, FFT_HFFT, 0),
    OP("aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? norm=None) -> Tensor",
       op_fftn, FFT_HFFT, 0),
    OP("aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_HFFT, 0),
    OP("aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? "
       "norm=None) "
       "-> Tensor",
       op_fft, FFT_IHFFT, 0),
    OP("aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
       "str? norm=None) -> Tensor",
       op_fftn, FFT_IHFFT, 0),
    OP("aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, "
       "str? "
       "norm=None) -> Tensor",
       op_fftn, FFT_IHFFT, 0),
    OP("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool "
       "onesided) "
       "-> Tensor",
       op_r2c, 0, 0),
    OP("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt "
       "last_dim_size) -> Tensor",
       op_c2r, 0, 0),
    OP("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool "
       "forward) -> Tensor",
       op_c2c, 0, 0),
    OP("aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, "
       "Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_fftfreq, FREQ_ALL, 0),
    OP("aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, "
       "Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       op_fftfreq, FREQ_HALF, 0),
    OP("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
       op_fftshift, 0, 0),
    OP("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
       op_fftshift, 1, 0),
};
BSM_ATEN_TABLE(fft, rows);
