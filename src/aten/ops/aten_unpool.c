/* SPDX-License-Identifier: Apache-2.0 */
/* Max-unpooling, fractional pooling, and grid sampling of volumes. */
#include "aten/packed/aten_unpool.h"
#include "aten/op_kit.h"

/* ---- max_unpool ---- */

/* max_unpool2d(self, indices, output_size), max_unpool3d(..., stride,
 * padding); the variant is the number of dims */
static bsm_status op_max_unpool(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[1]), *out;
  const int n = self->variant, rank = t->sizes.rank;
  int64_t size[3], area = 1, in_area = 1;
  BSM_TRY(bsm_op_ints(&args[2], n, NULL, "output_size", size));
  bool ok = (rank == n + 1 || rank == n + 2) &&
            index->dtype == BSM_DTYPE_INT64 &&
            bsm_dims_equal(t->sizes, index->sizes) &&
            op_list_len(&args[2]) == (size_t)n;
  bsm_dims dims = t->sizes;
  for (int i = 0; i < n && ok; i++) {
    in_area *= t->sizes.d[rank - n + i];
    dims.d[rank - n + i] = size[i];
    ok = size[i] >= 0 && bsm_i64_mul(area, size[i], &area);
  }
  for (int i = rank == n + 2 ? 1 : 0; i < rank && ok; i++) {
    ok = t->sizes.d[i] > 0;
  }
  if (n == 3 && ok) {
    int64_t stride[3], pad[3];
    BSM_TRY(bsm_op_ints(&args[3], 3, NULL, "stride", stride));
    BSM_TRY(bsm_op_ints(&args[4], 3, NULL, "padding", pad));
    ok = op_list_len(&args[3]) == 3 && op_list_len(&args[4]) == 3 &&
         stride[0] > 0 && stride[1] > 0 && stride[2] > 0;
  }
  if (!ok) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "max_unpool of %s with indices %s of dtype %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(index->sizes),
                    bsm_op_type_name(index->dtype));
  }
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t total = bsm_tensor_numel(t);
  const size_t bytes = bsm_dtype_size(t->dtype);
  bsm_tensor *dense, *places;
  if (cx->meta || total == 0) return BSM_OK;
  BSM_TRY(bsm_tensor_contiguous(cx->arena, t, &dense));
  BSM_TRY(bsm_tensor_contiguous(cx->arena, index, &places));
  const char *from = bsm_tensor_data(dense);
  const int64_t *at = bsm_tensor_data(places);
  char *to = bsm_tensor_data(out);
  for (int64_t i = 0; i < total; i++) {
    if (at[i] < 0 || at[i] >= area) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "Found an invalid max index: %lld of an output plane of "
                      "%lld elements",
                      (long long)at[i], (long long)area);
    }
    memcpy(to + (size_t)(i / in_area * area + at[i]) * bytes,
           from + (size_t)i * bytes, bytes);
  }
  return BSM_OK;
}

/* ---- fractional pooling ---- */

/* Where window i of `out` windows starts. */
static int64_t fraction_start(bsm_dtype d, double sample, int64_t in,
                              int64_t out, int64_t pool, int64_t i) {
  if (i == out - 1) return in - pool;
  double v[3] = {(double)(in - pool) / (double)(out - 1), 0.0, 0.0};
  bsm_round_f64(d, 1, v);
  v[1] = (double)i + sample;
  bsm_round_f64(d, 1, v + 1);
  v[1] *= v[0];
  v[2] = sample * v[0];
  bsm_round_f64(d, 2, v + 1);
  return (int64_t)v[1] - (int64_t)v[2];
}

typedef struct fraction {
  int n;
  int64_t in[3], out[3], pool[3];
  bsm_dtype dtype;
} fraction;

/* The largest element of the window at o[3]; NaN wins. */
static double fraction_max(const fraction *f, const double *plane,
                           const double *samples, const int64_t *o,
                           int64_t *where) {
  int64_t start[3], at[3];
  for (int d = 0; d < 3; d++) {
    /* The samples of 2-D pooling are those of the width, then the height. */
    const int s = f->n == 2 ? 2 - d : d; /* 2-D: d is 1 or 2 */
    start[d] = d < 3 - f->n ? 0
                            : fraction_start(f->dtype, samples[s], f->in[d],
                                             f->out[d], f->pool[d], o[d]);
  }
  double best = -INFINITY;
  *where = (start[0] * f->in[1] + start[1]) * f->in[2] + start[2];
  for (at[0] = start[0]; at[0] < start[0] + f->pool[0]; at[0]++) {
    for (at[1] = start[1]; at[1] < start[1] + f->pool[1]; at[1]++) {
      for (at[2] = start[2]; at[2] < start[2] + f->pool[2]; at[2]++) {
        const int64_t k = (at[0] * f->in[1] + at[1]) * f->in[2] + at[2];
        if (plane[k] > best || isnan(plane[k])) {
          best = plane[k];
          *where = k;
        }
      }
    }
  }
  return best;
}

/* fractional_max_pool2d(self, kernel_size, output_size, random_samples) */
static bsm_status op_fractional(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *samples = op_tensor(&args[3]), *out,
             *index;
  fraction f = {.n = self->variant,
                .in = {1, 1, 1},
                .out = {1, 1, 1},
                .pool = {1, 1, 1},
                .dtype = t->dtype};
  const int n = f.n, rank = t->sizes.rank, first = 3 - n;
  BSM_TRY(bsm_op_ints(&args[1], n, NULL, "kernel_size", f.pool + first));
  BSM_TRY(bsm_op_ints(&args[2], n, NULL, "output_size", f.out + first));
  bool ok = (rank == n + 1 || rank == n + 2) && samples->sizes.rank == 3 &&
            samples->dtype == t->dtype && bsm_dtype_is_floating(t->dtype);
  bsm_dims dims = t->sizes;
  int64_t planes = 1;
  for (int i = 0; i < rank - n && ok; i++) planes *= t->sizes.d[i];
  for (int i = 0; i < n && ok; i++) {
    f.in[first + i] = t->sizes.d[rank - n + i];
    dims.d[rank - n + i] = f.out[first + i];
    ok = f.out[first + i] > 0 && f.pool[first + i] > 0 && f.in[first + i] > 0 &&
         f.pool[first + i] < (int64_t)1 << 31 &&
         f.out[first + i] + f.pool[first + i] - 1 <= f.in[first + i];
  }
  ok =
      ok && bsm_tensor_numel(samples) == planes * n && samples->sizes.d[2] == n;
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "fractional_max_pool of %s with samples %s: the pools do "
                    "not fit",
                    bsm_dims_str(t->sizes), bsm_dims_str(samples->sizes));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, &out));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, dims, &index));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(index);
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(out), f.pool[0] * f.pool[1],
                        f.pool[2]));
  const double *x = bsm_op_load_all(cx, t), *s = bsm_op_load_all(cx, samples);
  double *y = bsm_op_load_all(cx, out);
  int64_t *where = bsm_tensor_data(index);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(s);
  BSM_TRY_ALLOC(y);
  const int64_t in_area = f.in[0] * f.in[1] * f.in[2],
                area = f.out[0] * f.out[1] * f.out[2];
  for (int64_t i = 0; i < planes * area; i++) {
    const int64_t c = i / area, k = i % area;
    const int64_t o[3] = {k / f.out[2] / f.out[1], k / f.out[2] % f.out[1],
                          k % f.out[2]};

    y[i] = fraction_max(&f, x + c * in_area, s + c * n, o, &where[i]);
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

/* ---- grid sampling of volumes ---- */

typedef struct volume {
  const double *data;
  int64_t size[3]; /* depth, height, width */
  bool nearest, align;
  int64_t padding; /* 0 zeros, 1 border, 2 reflection */
} volume;

static double reflect(double v, double low, double high) {
  const double span = high - low;
  if (span <= 0.0) return 0.0;
  v = fabs(v - low);
  const double extra = fmod(v, span);
  return fmod(floor(v / span), 2.0) == 0.0 ? extra + low : span - extra + low;
}

static double place(const volume *v, double g, int64_t n) {
  double x = v->align ? (g + 1.0) / 2.0 * (double)(n - 1)
                      : ((g + 1.0) * (double)n - 1.0) / 2.0;
  if (v->padding == 0) return x;
  if (v->padding == 2) {
    x = v->align ? reflect(x, 0.0, (double)(n - 1))
                 : reflect(x, -0.5, (double)n - 0.5);
  }
  return x > 0.0 ? (x < (double)(n - 1) ? x : (double)(n - 1)) : 0.0;
}

static double voxel(const volume *v, double z, double y, double x) {
  if (!(z >= 0.0 && z < (double)v->size[0] && y >= 0.0 &&
        y < (double)v->size[1] && x >= 0.0 && x < (double)v->size[2])) {
    return 0.0;
  }
  return v
      ->data[((int64_t)z * v->size[1] + (int64_t)y) * v->size[2] + (int64_t)x];
}

/* g: x, y, z */
static double sample_volume(const volume *v, const double *g) {
  const double x = place(v, g[0], v->size[2]), y = place(v, g[1], v->size[1]),
               z = place(v, g[2], v->size[0]);
  if (v->nearest) return voxel(v, nearbyint(z), nearbyint(y), nearbyint(x));
  const double z0 = floor(z), y0 = floor(y), x0 = floor(x);
  double sum = 0.0;
  for (int i = 0; i < 8; i++) {
    const double az = i & 4 ? z0 + 1.0 : z0, ay = i & 2 ? y0 + 1.0 : y0,
                 ax = i & 1 ? x0 + 1.0 : x0;
    const double w = (i & 4 ? z - z0 : 1.0 - (z - z0)) *
                     (i & 2 ? y - y0 : 1.0 - (y - y0)) *
                     (i & 1 ? x - x0 : 1.0 - (x - x0));
    const double inside = voxel(v, az, ay, ax);
    if (inside != 0.0) sum += w * inside;
  }
  return sum;
}

/* grid_sampler_3d(input, grid, interpolation_mode, padding_mode,
 * align_corners) */
static bsm_status op_grid_sampler_3d(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *grid = op_tensor(&args[1]), *out;
  volume v = {.nearest = op_int(&args[2]) == 1,
              .align = op_bool(&args[4]),
              .padding = op_int(&args[3])};
  bool ok = t->sizes.rank == 5 && grid->sizes.rank == 5 &&
            grid->sizes.d[4] == 3 && grid->sizes.d[0] == t->sizes.d[0] &&
            grid->dtype == t->dtype && bsm_dtype_is_floating(t->dtype) &&
            op_int(&args[2]) >= 0 && op_int(&args[2]) <= 1 && v.padding >= 0 &&
            v.padding <= 2;
  for (int i = 2; i < 5 && ok; i++) {
    v.size[i - 2] = t->sizes.d[i];
    ok = t->sizes.d[i] > 0;
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "grid_sampler(): expected 5D input and grid with same "
                    "batch size and dtype, bilinear or nearest, but got input "
                    "with sizes %s and grid with sizes %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(grid->sizes));
  }
  bsm_dims dims = grid->sizes;
  for (int i = 4; i > 1; i--) dims.d[i] = grid->sizes.d[i - 1];
  dims.d[1] = t->sizes.d[1];
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(out), 32, 1));
  const double *x = bsm_op_load_all(cx, t), *g = bsm_op_load_all(cx, grid);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(g);
  BSM_TRY_ALLOC(y);
  const int64_t area = dims.d[2] * dims.d[3] * dims.d[4],
                in_area = v.size[0] * v.size[1] * v.size[2];
  for (int64_t i = 0; i < bsm_tensor_numel(out); i++) {
    const int64_t plane = i / area, b = plane / dims.d[1];
    v.data = x + plane * in_area;
    y[i] = sample_volume(&v, g + 3 * (b * area + i % area));
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] "
       "output_size) -> Tensor",
       op_max_unpool, 2, 0),
    OP("aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] "
       "output_size, int[3] stride, int[3] padding) -> Tensor",
       op_max_unpool, 3, 0),
    OP("aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] "
       "output_size, Tensor random_samples) -> (Tensor, Tensor)",
       op_fractional, 2, 0),
    OP("aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] "
       "output_size, Tensor random_samples) -> (Tensor, Tensor)",
       op_fractional, 3, 0),
    OP("aten::grid_sampler_3d(Tensor input, Tensor grid, int "
       "interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       op_grid_sampler_3d, 0, 0),
};
BSM_ATEN_TABLE(unpool, rows);
