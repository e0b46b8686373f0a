/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing: nearest, linear, cubic, anti-aliased; grid sampling.
 *
 * All modes are separable: each output position of an axis is a weighted sum
 * of a few input positions of that axis. */
#include "aten/packed/aten_upsample.h"
#include "aten/op_kit.h"
#include "aten/resize_scales.h"

enum {
  UP_NEAREST,
  UP_NEAREST_EXACT,
  UP_LINEAR,
  UP_CUBIC,
  UP_LINEAR_AA,
  UP_CUBIC_AA
};

/* The taps of one axis: output i sums weight[k] * in[at[k]] for
 * first[i] <= k < first[i + 1]. */
typedef struct axis_taps {
  int64_t *first, *at;
  double *weight;
} axis_taps;

static double cubic_near(double x, double a) {
  return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
}
static double cubic_far(double x, double a) {
  return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}
static double filter(int mode, double x) {
  x = fabs(x);
  if (mode == UP_LINEAR_AA) return x < 1.0 ? 1.0 - x : 0.0;
  return x < 1.0 ? cubic_near(x, -0.5) : x < 2.0 ? cubic_far(x, -0.5) : 0.0;
}

/* How far the input moves for one output; `given` is a scale factor or 0. */
static double axis_scale(int64_t in, int64_t out, bool align, double given) {
  if (align) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0.0;
  return given > 0.0 ? 1.0 / given : (double)in / (double)out;
}

static int64_t clamp_index(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int64_t aa_taps(int mode, int64_t in, double scale, int64_t i,
                       int64_t *at, double *weight) {
  const double radius = mode == UP_LINEAR_AA ? 1.0 : 2.0;
  const double support = scale >= 1.0 ? radius * scale : radius;
  const double inverse = scale >= 1.0 ? 1.0 / scale : 1.0;
  const double center = scale * ((double)i + 0.5);
  int64_t low = (int64_t)(center - support + 0.5);
  int64_t high = (int64_t)(center + support + 0.5);
  if (center - support + 0.5 < 0.0) low = 0;
  if (high > in) high = in;
  double sum = 0.0;
  int64_t n = 0;
  for (int64_t j = low; j < high; j++, n++) {
    at[n] = j;
    weight[n] = filter(mode, ((double)j - center + 0.5) * inverse);
    sum += weight[n];
  }
  for (int64_t k = 0; k < n && sum != 0.0; k++) weight[k] /= sum;
  return n;
}

static int64_t point_taps(int mode, int64_t in, double scale, bool align,
                          int64_t i, int64_t *at, double *weight) {
  if (mode == UP_NEAREST || mode == UP_NEAREST_EXACT) {
    /* In float, as PyTorch rounds. */
    const float s = (float)scale;
    const float x = mode == UP_NEAREST
                        ? floorf((float)i * s)
                        : floorf((float)(((double)i + 0.5) * (double)s));
    at[0] = clamp_index((int64_t)x, in);
    weight[0] = 1.0;
    return 1;
  }
  double x = align ? scale * (double)i : scale * ((double)i + 0.5) - 0.5;
  if (mode == UP_LINEAR) {
    if (x < 0.0) x = 0.0;
    const int64_t low = clamp_index((int64_t)x, in);
    const double t = x - (double)low > 1.0 ? 1.0 : x - (double)low;
    at[0] = low;
    at[1] = low + (low < in - 1);
    weight[0] = 1.0 - t;
    weight[1] = t;
    return 2;
  }
  const double base = floor(x), t = x - base, a = -0.75;
  const double w[4] = {cubic_far(t + 1.0, a), cubic_near(t, a),
                       cubic_near(1.0 - t, a), cubic_far(2.0 - t, a)};
  for (int k = 0; k < 4; k++) {
    at[k] = clamp_index((int64_t)base - 1 + k, in);
    weight[k] = w[k];
  }
  return 4;
}

static bsm_status make_taps(bsm_op_ctx *cx, int mode, int64_t in, int64_t out,
                            bool align, double given, axis_taps *taps) {
  const double scale = axis_scale(in, out, align, given);
  int64_t most = 4;
  if (mode >= UP_LINEAR_AA) {
    const double reach = (scale > 1.0 ? scale : 1.0) * 4.0 + 3.0;
    most = reach < (double)in ? (int64_t)reach : in;
  }
  int64_t total;
  if (!bsm_i64_mul(most, out, &total)) return BSM_FAIL(BSM_LIMIT, "resize");
  taps->first = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)out + 1);
  taps->at = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)total + 4);
  taps->weight = BSM_NEW_ARRAY(cx->arena, double, (size_t)total + 4);
  BSM_TRY_ALLOC(taps->first);
  BSM_TRY_ALLOC(taps->at);
  BSM_TRY_ALLOC(taps->weight);
  int64_t n = 0;
  for (int64_t i = 0; i < out; i++) {
    taps->first[i] = n;
    n += mode >= UP_LINEAR_AA
             ? aa_taps(mode, in, scale, i, taps->at + n, taps->weight + n)
             : point_taps(mode, in, scale, align, i, taps->at + n,
                          taps->weight + n);
  }
  taps->first[out] = n;
  return BSM_OK;
}

/* Resizes the middle of [outer, in, inner]. */
static bsm_status resize_axis(bsm_op_ctx *cx, const double *x, int64_t outer,
                              int64_t in, int64_t inner, int64_t out,
                              axis_taps *taps, double **result) {
  BSM_TRY(bsm_op_charge(cx, outer, taps->first[out] + out, inner + 2));
  double *y =
      BSM_NEW_ARRAY(cx->arena, double, (size_t)(outer * out * inner) + 1);
  BSM_TRY_ALLOC(y);
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t i = 0; i < out; i++) {
      double *row = y + (o * out + i) * inner;
      for (int64_t k = taps->first[i]; k < taps->first[i + 1]; k++) {
        const double *src = x + (o * in + taps->at[k]) * inner;
        const double w = taps->weight[k];
        for (int64_t c = 0; c < inner; c++) row[c] += w * src[c];
      }
    }
  }
  *result = y;
  return BSM_OK;
}

/* The taps of output i at one place become one tap. Only the few that are
 * points may have a place in common. */
static void merge_taps(axis_taps *taps, int64_t i) {
  if (taps->first[i + 1] - taps->first[i] > 4) return;
  for (int64_t k = taps->first[i]; k < taps->first[i + 1]; k++) {
    for (int64_t j = taps->first[i]; j < k; j++) {
      if (taps->at[j] != taps->at[k] || taps->weight[k] == 0.0) continue;
      taps->weight[j] += taps->weight[k];
      taps->weight[k] = 0.0;
    }
  }
}

/* As resize_axis, for bytes: PyTorch's weights are of 16 bits, and the results
 * of each axis are rounded to bytes. */
static bsm_status resize_bytes(bsm_op_ctx *cx, const double *x, int64_t outer,
                               int64_t in, int64_t inner, int64_t out,
                               axis_taps *taps, double **result) {
  double most = 0.0;
  for (int64_t i = 0; i < out; i++) {
    merge_taps(taps, i);
    for (int64_t k = taps->first[i]; k < taps->first[i + 1]; k++) {
      most = taps->weight[k] > most ? taps->weight[k] : most;
    }
  }
  int bits = 0; /* behind the point */
  while (bits < 22 && 0.5 + ldexp(most, bits + 1) < 32768.0) bits++;
  for (int64_t k = 0; k < taps->first[out]; k++) {
    taps->weight[k] = round(ldexp(taps->weight[k], bits));
  }
  BSM_TRY(resize_axis(cx, x, outer, in, inner, out, taps, result));
  for (int64_t k = 0; k < outer * out * inner; k++) {
    const double v = floor(ldexp((*result)[k], -bits) + 0.5);
    (*result)[k] = v < 0.0 ? 0.0 : v > 255.0 ? 255.0 : v;
  }
  return BSM_OK;
}

typedef struct resize_params {
  int mode, dims;
  bool align;
  int64_t size[3];
  double scale[3]; /* scale factors, 0: from the sizes */
} resize_params;

static bsm_status resize(bsm_op_ctx *cx, bsm_tensor *t, const resize_params *p,
                         bsm_tensor **out) {
  const int32_t lead = t->sizes.rank - p->dims;
  BSM_TRY(bsm_op_real(t));
  bsm_dims shape = t->sizes;
  if (lead != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "It is expected input_size equals to %d, but got size %d",
                    p->dims + 2, (int)t->sizes.rank);
  }
  for (int i = 0; i < p->dims; i++) {
    shape.d[lead + i] = p->size[i];
    if (t->sizes.d[lead + i] <= 0 || p->size[i] <= 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Input and output sizes should be greater than 0, but "
                      "got input %s output %s",
                      bsm_dims_str(t->sizes), bsm_dims_str(shape));
    }
  }
  const bool bytes = t->dtype == BSM_DTYPE_UINT8;
  if (!bsm_dtype_is_floating(t->dtype) &&
      !(bytes && (p->mode <= UP_NEAREST_EXACT || p->dims == 2))) {
    /* What keeps its size, PyTorch copies. */
    const bool same = bsm_dims_equal(shape, t->sizes);
    return BSM_FAIL(bytes || same ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                    "\"compute_index_ranges_weights\" not implemented for '%s'",
                    bsm_op_type_name(t->dtype));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, out));
  if (cx->meta || bsm_tensor_numel(*out) == 0) return BSM_OK;
  double scales[3] = {p->scale[0], p->scale[1], p->scale[2]};
  const bool smooth = p->mode == UP_LINEAR || (bytes && p->mode == UP_CUBIC);
  if (smooth || p->mode == UP_NEAREST) {
    bsm_resize_drop_unused_scales(smooth, p->dims, &t->sizes.d[lead], p->size,
                                  scales);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  double *x = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(x);
  bsm_dims now = t->sizes;
  for (int i = p->dims - 1; i >= 0; i--) {
    const int32_t d = lead + i;
    int64_t outer = 1, inner = 1;
    for (int32_t k = 0; k < d; k++) outer *= now.d[k];
    for (int32_t k = d + 1; k < now.rank; k++) inner *= now.d[k];
    axis_taps taps;
    BSM_TRY(make_taps(cx, p->mode, now.d[d], shape.d[d], p->align, scales[i],
                      &taps));
    const bool fixed = bytes && p->mode > UP_NEAREST_EXACT;
    BSM_TRY((fixed ? resize_bytes : resize_axis)(cx, x, outer, now.d[d], inner,
                                                 shape.d[d], &taps, &x));
    now.d[d] = shape.d[d];
  }
  bsm_op_store_all(*out, x);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* Sizes from an int list or scale factors, exactly one of them. */
static bsm_status read_target(const bsm_tensor *t, const bsm_ivalue *size,
                              const bsm_ivalue *scales, resize_params *p) {
  const bool have_size = !op_none(size), have_scales = !op_none(scales);
  if (have_size == have_scales) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Must specify exactly one of output_size and "
                    "scale_factors");
  }
  if (have_size) {
    return bsm_op_ints(size, p->dims, NULL, "output_size", p->size);
  }
  if (op_list_len(scales) != (size_t)p->dims || t->sizes.rank != p->dims + 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "It is expected scale_factors equals to %d, but got size "
                    "%zu",
                    p->dims, op_list_len(scales));
  }
  for (int i = 0; i < p->dims; i++) {
    p->scale[i] = op_double(&scales->u.list->items[i]);
    p->size[i] =
        bsm_double_to_i64(floor((double)t->sizes.d[2 + i] * p->scale[i]));
  }
  return BSM_OK;
}

/* Variant: mode * 8 + dims; + 4 for the .vec overloads. */
#define UP(mode, dims) ((mode)*8 + (dims))
#define UP_VEC(mode, dims) ((mode)*8 + 4 + (dims))

/* upsample_x(self, output_size[, align_corners], scales...) and
 * upsample_x.vec(input, output_size?[, align_corners], scale_factors?) */
static bsm_status op_upsample(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  resize_params p = {.mode = self->variant / 8, .dims = self->variant % 4};
  const bool vec = (self->variant & 4) != 0;
  int next = 2;
  if (p.mode >= UP_LINEAR) p.align = op_bool(&args[next++]);
  if (vec) {
    BSM_TRY(read_target(t, &args[1], &args[next], &p));
  } else {
    BSM_TRY(bsm_op_ints(&args[1], p.dims, NULL, "output_size", p.size));
    for (int i = 0; i < p.dims; i++) {
      if (!op_none(&args[next + i])) p.scale[i] = op_double(&args[next + i]);
    }
  }
  BSM_TRY(resize(cx, t, &p, &out));
  return op_return(outs, out);
}

/* ---- interpolate of old archives ---- */

static bsm_status mode_of(bsm_str name, int dims, bool antialias, int *mode) {
  static const struct {
    const char *name;
    int dims, mode;
  } modes[] = {
      {"nearest", 0, UP_NEAREST},  {"nearest-exact", 0, UP_NEAREST_EXACT},
      {"linear", 1, UP_LINEAR},    {"bilinear", 2, UP_LINEAR},
      {"trilinear", 3, UP_LINEAR}, {"bicubic", 2, UP_CUBIC}};
  for (size_t i = 0; i < OP_COUNT(modes); i++) {
    if (!bsm_str_eq(name, bsm_str_of(modes[i].name))) continue;
    if (modes[i].dims && modes[i].dims != dims) break;
    *mode = modes[i].mode;
    if (antialias && dims == 2 && *mode == UP_LINEAR) *mode = UP_LINEAR_AA;
    if (antialias && *mode == UP_CUBIC) *mode = UP_CUBIC_AA;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "interpolate: mode '%.*s' for %d spatial dimensions",
                  (int)name.len, name.data, dims);
}

/* __interpolate(input, size?, scale_factor?, mode, align_corners?,
 * recompute_scale_factor?, antialias) */
static bsm_status op_interpolate(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  resize_params p = {.dims = t->sizes.rank - 2};
  if (p.dims < 1 || p.dims > 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "interpolate: input of shape %s",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(mode_of(op_str(&args[3]), p.dims, op_bool(&args[6]), &p.mode));
  p.align = !op_none(&args[4]) && op_bool(&args[4]);
  if (op_none(&args[1]) == op_none(&args[2])) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "only one of size or scale_factor should be defined");
  }
  if (!op_none(&args[1])) {
    BSM_TRY(bsm_op_ints(&args[1], p.dims, NULL, "size", p.size));
  }
  for (int i = 0; i < p.dims && !op_none(&args[2]); i++) {
    const bool list = args[2].tag == BSM_IVALUE_LIST;
    if (list && op_list_len(&args[2]) != (size_t)p.dims) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "scale_factor shape must match input shape");
    }
    const double s = op_double(list ? &args[2].u.list->items[i] : &args[2]);
    p.size[i] = bsm_double_to_i64(floor((double)t->sizes.d[2 + i] * s));
    /* The default of these archives recomputes scales from the sizes. */
    if (!op_none(&args[5]) && !op_bool(&args[5])) p.scale[i] = s;
  }
  BSM_TRY(resize(cx, t, &p, &out));
  return op_return(outs, out);
}

/* ---- grid sampling ---- */

enum { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC };
enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

static double reflect(double x, double low2, double high2) {
  if (low2 == high2) return 0.0;
  const double low = low2 / 2.0, span = (high2 - low2) / 2.0;
  x = fabs(x - low);
  const double extra = fmod(x, span), flips = floor(x / span);
  return fmod(flips, 2.0) == 0.0 ? extra + low : span - extra + low;
}

static double grid_position(double g, int64_t n, int padding, bool align,
                            bool bounded) {
  double x = align ? (g + 1.0) / 2.0 * (double)(n - 1)
                   : ((g + 1.0) * (double)n - 1.0) / 2.0;
  if (!bounded) return x;
  if (padding == GRID_REFLECTION) {
    x = align ? reflect(x, 0.0, 2.0 * (double)(n - 1))
              : reflect(x, -1.0, 2.0 * (double)n - 1.0);
  }
  if (padding != GRID_ZEROS) {
    x = x < 0.0 ? 0.0 : x > (double)(n - 1) ? (double)(n - 1) : x;
    if (isnan(x)) x = 0.0;
  }
  return x;
}

typedef struct grid_params {
  int mode, padding;
  bool align;
  int64_t in[2];
} grid_params;

/* The pixel at whole coordinates, 0 outside. */
static double grid_pixel(const double *plane, const grid_params *p, double y,
                         double x) {
  if (p->mode == GRID_BICUBIC && p->padding != GRID_ZEROS) {
    if (p->padding == GRID_REFLECTION) {
      y = p->align ? reflect(y, 0.0, 2.0 * (double)(p->in[0] - 1))
                   : reflect(y, -1.0, 2.0 * (double)p->in[0] - 1.0);
      x = p->align ? reflect(x, 0.0, 2.0 * (double)(p->in[1] - 1))
                   : reflect(x, -1.0, 2.0 * (double)p->in[1] - 1.0);
    }
    y = y < 0.0 ? 0.0 : y > (double)(p->in[0] - 1) ? (double)(p->in[0] - 1) : y;
    x = x < 0.0 ? 0.0 : x > (double)(p->in[1] - 1) ? (double)(p->in[1] - 1) : x;
  }
  if (!(y >= 0.0 && y < (double)p->in[0] && x >= 0.0 && x < (double)p->in[1])) {
    return 0.0;
  }
  return plane[(int64_t)y * p->in[1] + (int64_t)x];
}

static double grid_value(const double *plane, const grid_params *p, double gy,
                         double gx) {
  const bool bounded = p->mode != GRID_BICUBIC;
  const double y = grid_position(gy, p->in[0], p->padding, p->align, bounded);
  const double x = grid_position(gx, p->in[1], p->padding, p->align, bounded);
  if (p->mode == GRID_NEAREST) {
    return grid_pixel(plane, p, nearbyint(y), nearbyint(x));
  }
  const double y0 = floor(y), x0 = floor(x), ty = y - y0, tx = x - x0;
  if (p->mode == GRID_BILINEAR) {
    return grid_pixel(plane, p, y0, x0) * (1.0 - ty) * (1.0 - tx) +
           grid_pixel(plane, p, y0, x0 + 1) * (1.0 - ty) * tx +
           grid_pixel(plane, p, y0 + 1, x0) * ty * (1.0 - tx) +
           grid_pixel(plane, p, y0 + 1, x0 + 1) * ty * tx;
  }
  const double a = -0.75;
  const double wy[4] = {cubic_far(ty + 1, a), cubic_near(ty, a),
                        cubic_near(1 - ty, a), cubic_far(2 - ty, a)};
  const double wx[4] = {cubic_far(tx + 1, a), cubic_near(tx, a),
                        cubic_near(1 - tx, a), cubic_far(2 - tx, a)};
  double sum = 0.0;
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 4; k++) {
      sum += wy[i] * wx[k] * grid_pixel(plane, p, y0 - 1 + i, x0 - 1 + k);
    }
  }
  return sum;
}

/* grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners) */
static bsm_status op_grid_sampler(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *grid = op_tensor(&args[1]), *out;
  grid_params p = {
      (int)op_int(&args[2]), (int)op_int(&args[3]), op_bool(&args[4]), {0, 0}};
  if (t->sizes.rank == 5) {
    return bsm_op_call(cx, "aten::grid_sampler_3d", args, 5, outs, 1);
  }
  if (t->sizes.rank != 4 || grid->sizes.rank != 4 || grid->sizes.d[3] != 2 ||
      grid->sizes.d[0] != t->sizes.d[0] || grid->dtype != t->dtype ||
      !bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "grid_sampler(): expected 4D input and grid with same "
                    "batch and dtype, but got input with sizes %s and grid "
                    "with sizes %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(grid->sizes));
  }
  p.in[0] = t->sizes.d[2];
  p.in[1] = t->sizes.d[3];
  if (p.in[0] <= 0 || p.in[1] <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "grid_sampler(): expected input to have non-empty spatial "
                    "dimensions, but input has sizes %s",
                    bsm_dims_str(t->sizes));
  }
  const int64_t batch = t->sizes.d[0], channels = t->sizes.d[1],
                h = grid->sizes.d[1], w = grid->sizes.d[2];
  BSM_TRY(bsm_op_new(cx, t->dtype, op_dims4(batch, channels, h, w), &out));
  outs[0] = bsm_iv_tensor(out);
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(out), 32, 1));
  if (cx->meta) return BSM_OK;
  const double *x = bsm_op_load_all(cx, t), *g = bsm_op_load_all(cx, grid);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(g);
  BSM_TRY_ALLOC(y);
  const int64_t n = batch * channels * h * w;
  for (int64_t i = 0; i < n; i++) {
    const int64_t plane = i / (h * w), b = plane / channels;
    const double *at = g + (b * h * w + i % (h * w)) * 2;
    y[i] = grid_value(x + plane * p.in[0] * p.in[1], &p, at[1], at[0]);
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

/* affine_grid_generator(theta, size, align_corners), two-dimensional */
static bsm_status op_affine_grid(OP_PARAMS) {
  (void)self;
  bsm_tensor *theta = op_tensor(&args[0]), *out;
  bsm_dims size;
  const bool align = op_bool(&args[2]);
  BSM_TRY(bsm_op_dims(&args[1], &size));
  if (size.rank == 5) {
    return BSM_FAIL(BSM_UNSUPPORTED, "affine_grid of volumes");
  }
  if (size.rank != 4 || theta->sizes.rank != 3 ||
      theta->sizes.d[0] != size.d[0] || theta->sizes.d[1] != 2 ||
      theta->sizes.d[2] != 3 || !bsm_dtype_is_floating(theta->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected a batch of 2D affine matrices of shape Nx2x3 for "
                    "size %s. Got %s.",
                    bsm_dims_str(size), bsm_dims_str(theta->sizes));
  }
  const int64_t h = size.d[2], w = size.d[3];
  BSM_TRY(bsm_op_new(cx, theta->dtype, op_dims4(size.d[0], h, w, 2), &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t n = bsm_tensor_numel(out);
  if (cx->meta || n == 0) return BSM_OK;
  const double *m = bsm_op_load_all(cx, theta);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(m);
  BSM_TRY_ALLOC(y);
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = i % 2, col = i / 2 % w, line = i / 2 / w % h;
    double gx = w > 1 ? -1.0 + 2.0 * (double)col / (double)(w - 1) : 0.0;
    double gy = h > 1 ? -1.0 + 2.0 * (double)line / (double)(h - 1) : 0.0;
    if (!align) {
      gx *= (double)(w - 1) / (double)w;
      gy *= (double)(h - 1) / (double)h;
    }
    const double *r = m + (i / 2 / w / h) * 6 + row * 3;
    y[i] = r[0] * gx + r[1] * gy + r[2];
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? "
       "scales=None) -> Tensor",
       op_upsample, UP(UP_NEAREST, 1), 0),
    OP("aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? "
       "scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_NEAREST, 2), 0),
    OP("aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? "
       "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_NEAREST, 3), 0),
    OP("aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST, 1), 0),
    OP("aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST, 2), 0),
    OP("aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST, 3), 0),
    OP("aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, "
       "float? scales=None) -> Tensor",
       op_upsample, UP(UP_NEAREST_EXACT, 1), 0),
    OP("aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, "
       "float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_NEAREST_EXACT, 2), 0),
    OP("aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, "
       "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> "
       "Tensor",
       op_upsample, UP(UP_NEAREST_EXACT, 3), 0),
    OP("aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? "
       "output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST_EXACT, 1), 0),
    OP("aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? "
       "output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST_EXACT, 2), 0),
    OP("aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? "
       "output_size, "
       "float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_NEAREST_EXACT, 3), 0),
    OP("aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool "
       "align_corners, float? scales=None) -> Tensor",
       op_upsample, UP(UP_LINEAR, 1), 0),
    OP("aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool "
       "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_LINEAR, 2), 0),
    OP("aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool "
       "align_corners, float? scales_d=None, float? scales_h=None, float? "
       "scales_w=None) -> Tensor",
       op_upsample, UP(UP_LINEAR, 3), 0),
    OP("aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool "
       "align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_LINEAR, 1), 0),
    OP("aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, "
       "bool "
       "align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_LINEAR, 2), 0),
    OP("aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, "
       "bool "
       "align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_LINEAR, 3), 0),
    OP("aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool "
       "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_CUBIC, 2), 0),
    OP("aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool "
       "align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_CUBIC, 2), 0),
    OP("aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
       "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_LINEAR_AA, 2), 0),
    OP("aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, "
       "bool align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_LINEAR_AA, 2), 0),
    OP("aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
       "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
       op_upsample, UP(UP_CUBIC_AA, 2), 0),
    OP("aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, "
       "bool align_corners, float[]? scale_factors) -> Tensor",
       op_upsample, UP_VEC(UP_CUBIC_AA, 2), 0),
    OP("aten::__interpolate(Tensor input, int? size=None, float? "
       "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, "
       "bool? "
       "recompute_scale_factor=None, bool antialias=False) -> Tensor",
       op_interpolate, 0, 0),
    OP("aten::__interpolate.size_list(Tensor input, int[]? size=None, float? "
       "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, "
       "bool? "
       "recompute_scale_factor=None, bool antialias=False) -> Tensor",
       op_interpolate, 0, 0),
    OP("aten::__interpolate.scale_list(Tensor input, int? size=None, float[]? "
       "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, "
       "bool? "
       "recompute_scale_factor=None, bool antialias=False) -> Tensor",
       op_interpolate, 0, 0),
    OP("aten::__interpolate.size_list_scale_list(Tensor input, int[]? "
       "size=None, "
       "float[]? scale_factor=None, str mode=\"nearest\", bool? "
       "align_corners=None, bool? recompute_scale_factor=None, bool "
       "antialias=False) -> Tensor",
       op_interpolate, 0, 0),
    OP("aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, "
       "int padding_mode, bool align_corners) -> Tensor",
       op_grid_sampler, 0, 0),
    OP("aten::grid_sampler_2d(Tensor input, Tensor grid, int "
       "interpolation_mode, "
       "int padding_mode, bool align_corners) -> Tensor",
       op_grid_sampler, 0, 0),
    OP("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool "
       "align_corners) -> Tensor",
       op_affine_grid, 0, 0),
};
BSM_ATEN_TABLE_CALLING(upsample, rows, &bsm_aten_ops_unpool);
