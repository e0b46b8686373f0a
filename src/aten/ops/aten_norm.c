/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation: batch, layer, group, instance, RMS, weight norm; softmax. */
#include "aten/packed/aten_norm.h"
#include "aten/op_kit.h"

static bsm_status need_float(const bsm_tensor *t, const char *name) {
  if (bsm_dtype_is_floating(t->dtype)) return BSM_OK;
  return BSM_FAIL(op_refusal_of(t), "\"%s\" not implemented for '%s'", name,
                  bsm_op_type_name(t->dtype));
}

/* Mean and biased variance. */
static void moments(const double *x, size_t n, double *mean, double *var) {
  double s = 0.0, q = 0.0;
  for (size_t i = 0; i < n; i++) s += x[i];
  *mean = s / (double)n;
  for (size_t i = 0; i < n; i++) q += (x[i] - *mean) * (x[i] - *mean);
  *var = q / (double)n;
}

/* Values of an optional parameter of `n` elements, of an operator on `x`; *out
 * NULL when None. */
static bsm_status load_optional(bsm_op_ctx *cx, const bsm_tensor *x,
                                const bsm_tensor *t, int64_t n,
                                const char *what, const double **out) {
  *out = NULL;
  if (!t) return BSM_OK;
  if (bsm_tensor_numel(t) != n) {
    return BSM_FAIL(op_refusal_of(x),
                    "%s should contain %lld elements not %lld", what,
                    (long long)n, (long long)bsm_tensor_numel(t));
  }
  BSM_TRY(bsm_op_real(t));
  if (cx->meta) return BSM_OK;
  *out = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* ---- batch and instance norm ---- */

typedef struct batch_params {
  bsm_tensor *weight, *bias, *mean, *var;
  bool use_input; /* statistics of the input */
  bool instance;  /* of each image on its own */
  double eps;
} batch_params;

/* Statistics of channel c, of image b or (b < 0) of all images. */
static void channel_moments(const double *x, int64_t batch, int64_t channels,
                            int64_t inner, int64_t b, int64_t c, double *mean,
                            double *var) {
  const int64_t low = b < 0 ? 0 : b, high = b < 0 ? batch : b + 1;
  const double n = (double)((high - low) * inner);
  double s = 0.0, q = 0.0;
  for (int64_t i = low; i < high; i++) {
    const double *plane = x + (i * channels + c) * inner;
    for (int64_t k = 0; k < inner; k++) s += plane[k];
  }
  *mean = s / n;
  for (int64_t i = low; i < high; i++) {
    const double *plane = x + (i * channels + c) * inner;
    for (int64_t k = 0; k < inner; k++) {
      q += (plane[k] - *mean) * (plane[k] - *mean);
    }
  }
  *var = q / n;
}

/* Normalises dim 1 of `t`; saved_mean and saved_invstd may be NULL. */
static bsm_status batch_norm(bsm_op_ctx *cx, bsm_tensor *t,
                             const batch_params *p, bsm_tensor **out,
                             double *saved_mean, double *saved_invstd) {
  if (t->sizes.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "batch_norm: expected input with at least 2 dimensions, "
                    "got %s",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(need_float(t, "batch_norm"));
  const int64_t batch = t->sizes.d[0], channels = t->sizes.d[1];
  int64_t inner = 1;
  for (int32_t i = 2; i < t->sizes.rank; i++) inner *= t->sizes.d[i];
  if (!p->use_input && (!p->mean || !p->var)) {
    return BSM_FAIL(op_refusal_of(t),
                    "running_mean must be defined in evaluation mode");
  }
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, out));
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const double *weight, *bias, *means, *vars;
  BSM_TRY(load_optional(cx, t, p->weight, channels, "weight", &weight));
  BSM_TRY(load_optional(cx, t, p->bias, channels, "bias", &bias));
  BSM_TRY(load_optional(cx, t, p->mean, channels, "running_mean", &means));
  BSM_TRY(load_optional(cx, t, p->var, channels, "running_var", &vars));
  if (cx->meta) return BSM_OK;
  double *x = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(x);
  for (int64_t i = 0; i < batch * channels; i++) {
    const int64_t c = i % channels;
    double mean, var;
    if (p->use_input && (p->instance || i < channels)) {
      channel_moments(x, batch, channels, inner,
                      p->instance ? i / channels : -1, c, &mean, &var);
    } else if (!p->use_input) {
      mean = means[c];
      var = vars[c];
    } else {
      continue; /* done with the first image */
    }
    double invstd = 1.0 / sqrt(var + p->eps);
    if (p->use_input) { /* PyTorch keeps them in the parameters' dtype */
      const bsm_dtype d = p->weight ? p->weight->dtype
                          : p->bias ? p->bias->dtype
                                    : t->dtype;
      bsm_round_f64(d, 1, &mean);
      bsm_round_f64(d, 1, &invstd);
    }
    if (saved_mean && i < channels) saved_mean[c] = mean;
    if (saved_invstd && i < channels) saved_invstd[c] = invstd;
    const double scale = invstd * (weight ? weight[c] : 1.0);
    const double shift = (bias ? bias[c] : 0.0) - mean * scale;
    const int64_t last =
        p->use_input && !p->instance ? batch : i / channels + 1;
    for (int64_t b = i / channels; b < last; b++) {
      double *plane = x + (b * channels + c) * inner;
      for (int64_t k = 0; k < inner; k++) plane[k] = plane[k] * scale + shift;
    }
  }
  bsm_op_store_all(*out, x);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static bsm_status refuse_training(const batch_params *p, bool training) {
  if (training && (p->mean || p->var)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "batch_norm in training mode updates its statistics, which "
                    "is not supported: call .eval() on the model before saving "
                    "it");
  }
  return BSM_OK;
}

/* batch_norm(input, weight, bias, running_mean, running_var, training,
 * momentum, eps, cudnn_enabled) */
static bsm_status op_batch_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  const batch_params p = {op_tensor(&args[1]), op_tensor(&args[2]),
                          op_tensor(&args[3]), op_tensor(&args[4]),
                          op_bool(&args[5]),   false,
                          op_double(&args[7])};
  BSM_TRY(refuse_training(&p, p.use_input));
  BSM_TRY(batch_norm(cx, op_tensor(&args[0]), &p, &out, NULL, NULL));
  return op_return(outs, out);
}

/* native_batch_norm: also the statistics, empty in evaluation. */
static bsm_status op_native_batch_norm(OP_PARAMS) {
  const bool legit = self->variant != 0; /* (..., momentum, eps), no training */
  bsm_tensor *t = op_tensor(&args[0]), *out, *saved[2];
  const batch_params p = {op_tensor(&args[1]),
                          op_tensor(&args[2]),
                          op_tensor(&args[3]),
                          op_tensor(&args[4]),
                          !legit && op_bool(&args[5]),
                          false,
                          op_double(&args[legit ? 6 : 7])};
  BSM_TRY(refuse_training(&p, p.use_input));
  if (p.use_input && bsm_tensor_numel(t) == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input tensor must have at least one element, but got "
                    "input_sizes = %s",
                    bsm_dims_str(t->sizes));
  }
  const int64_t n = p.use_input && t->sizes.rank > 1 ? t->sizes.d[1] : 0;
  double *stats = BSM_NEW_ARRAY(cx->arena, double, 2 * (size_t)n + 2);
  BSM_TRY_ALLOC(stats);
  BSM_TRY(batch_norm(cx, t, &p, &out, n ? stats : NULL, n ? stats + n : NULL));
  /* Statistics are of the dtype of the parameters. */
  bsm_dtype dtype = t->dtype;
  for (int i = 1; i < 5; i++) {
    if (!op_none(&args[i])) dtype = op_tensor(&args[i])->dtype;
  }
  outs[0] = bsm_iv_tensor(out);
  for (int i = 0; i < 2; i++) {
    BSM_TRY(bsm_op_new(cx, dtype, op_dims1(n), &saved[i]));
    if (!cx->meta) bsm_op_store_all(saved[i], stats + i * n);
    outs[1 + i] = bsm_iv_tensor(saved[i]);
  }
  return BSM_OK;
}

/* instance_norm(input, weight, bias, running_mean, running_var,
 * use_input_stats, momentum, eps, cudnn_enabled) */
static bsm_status op_instance_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  const batch_params p = {op_tensor(&args[1]), op_tensor(&args[2]),
                          op_tensor(&args[3]), op_tensor(&args[4]),
                          op_bool(&args[5]),   true,
                          op_double(&args[7])};
  BSM_TRY(refuse_training(&p, p.use_input));
  BSM_TRY(batch_norm(cx, op_tensor(&args[0]), &p, &out, NULL, NULL));
  return op_return(outs, out);
}

/* ---- layer, RMS and group norm ---- */

static bsm_status check_normalized(const bsm_tensor *t, bsm_dims shape,
                                   const bsm_tensor *weight) {
  const int32_t lead = t->sizes.rank - shape.rank;
  bool ok = shape.rank > 0 && lead >= 0;
  for (int32_t i = 0; i < shape.rank && ok; i++) {
    ok = shape.d[i] == t->sizes.d[lead + i];
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given normalized_shape=%s, expected input with shape [*, "
                    "...] ending in it, but got input of size%s",
                    bsm_dims_str(shape), bsm_dims_str(t->sizes));
  }
  if (weight && !bsm_dims_equal(weight->sizes, shape)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected weight to be of same shape as normalized_shape, "
                    "but got weight of shape %s and normalized_shape = %s",
                    bsm_dims_str(weight->sizes), bsm_dims_str(shape));
  }
  return BSM_OK;
}

typedef struct norm_params {
  bsm_tensor *weight, *bias;
  double eps;
  bool rms;
} norm_params;

/* Normalises rows of `row` elements; `stats`: mean and invstd of each. */
static bsm_status norm_rows(bsm_op_ctx *cx, bsm_tensor *t, int64_t row,
                            const norm_params *p, const bsm_tensor *out,
                            double *stats) {
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const double *weight, *bias;
  BSM_TRY(load_optional(cx, t, p->weight, row, "weight", &weight));
  BSM_TRY(load_optional(cx, t, p->bias, row, "bias", &bias));
  if (cx->meta) return BSM_OK;
  double *x = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(x);
  const int64_t n = bsm_tensor_numel(t);
  for (int64_t r = 0; r < n; r += row) {
    double mean = 0.0, var = 0.0;
    if (p->rms) {
      for (int64_t k = 0; k < row; k++) var += x[r + k] * x[r + k];
      var /= (double)row;
    } else {
      moments(x + r, (size_t)row, &mean, &var);
    }
    const double invstd = 1.0 / sqrt(var + p->eps);
    if (stats) {
      stats[r / row] = mean;
      stats[n / row + r / row] = invstd;
    }
    for (int64_t k = 0; k < row; k++) {
      const double v = (x[r + k] - mean) * invstd;
      x[r + k] = v * (weight ? weight[k] : 1.0) + (bias ? bias[k] : 0.0);
    }
  }
  bsm_op_store_all(out, x);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

bsm_status bsm_op_layer_norm(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims shape,
                             bsm_tensor *weight, bsm_tensor *bias, double eps,
                             bsm_tensor **out) {
  const norm_params p = {weight, bias, eps, false};
  int64_t row;
  BSM_TRY(need_float(t, "LayerNormKernelImpl"));
  BSM_TRY(check_normalized(t, shape, weight));
  BSM_TRY(check_normalized(t, shape, bias));
  if (!bsm_dims_numel(shape, &row)) return BSM_FAIL(BSM_LIMIT, "layer_norm");
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, out));
  if (bsm_tensor_numel(t) == 0) return BSM_OK;
  return norm_rows(cx, t, row, &p, *out, NULL);
}

/* layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable) */
static bsm_status op_layer_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_dims shape;
  BSM_TRY(bsm_op_dims(&args[1], &shape));
  BSM_TRY(bsm_op_layer_norm(cx, op_tensor(&args[0]), shape, op_tensor(&args[2]),
                            op_tensor(&args[3]), op_double(&args[4]), &out));
  return op_return(outs, out);
}

/* native_layer_norm: also mean and 1 / std, with unit dims. */
static bsm_status op_native_layer_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out, *mean, *invstd;
  bsm_dims shape;
  int64_t row;
  const norm_params p = {op_tensor(&args[2]), op_tensor(&args[3]),
                         op_double(&args[4]), false};
  BSM_TRY(bsm_op_dims(&args[1], &shape));
  BSM_TRY(need_float(t, "LayerNormKernelImpl"));
  BSM_TRY(check_normalized(t, shape, p.weight));
  BSM_TRY(check_normalized(t, shape, p.bias));
  if (!bsm_dims_numel(shape, &row)) return BSM_FAIL(BSM_LIMIT, "layer_norm");
  bsm_dims stat_dims = t->sizes;
  for (int32_t i = t->sizes.rank - shape.rank; i < t->sizes.rank; i++) {
    stat_dims.d[i] = 1;
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  BSM_TRY(bsm_op_new(cx, t->dtype, stat_dims, &mean));
  BSM_TRY(bsm_op_new(cx, t->dtype, stat_dims, &invstd));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(mean);
  outs[2] = bsm_iv_tensor(invstd);
  const int64_t n = bsm_tensor_numel(mean);
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  double *stats = BSM_NEW_ARRAY(cx->arena, double, 2 * (size_t)n);
  BSM_TRY_ALLOC(stats);
  BSM_TRY(norm_rows(cx, t, row, &p, out, stats));
  bsm_op_store_all(mean, stats);
  bsm_op_store_all(invstd, stats + n);
  return BSM_OK;
}

/* rms_norm(input, normalized_shape, weight, eps) */
static bsm_status op_rms_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims shape;
  int64_t row;
  norm_params p = {op_tensor(&args[2]), NULL, 0.0, true};
  BSM_TRY(need_float(t, "rms_norm"));
  if (op_none(&args[3])) {
    p.eps = t->dtype == BSM_DTYPE_DOUBLE ? 2.220446049250313e-16
                                         : 1.1920928955078125e-07;
  } else {
    p.eps = op_double(&args[3]);
  }
  BSM_TRY(bsm_op_dims(&args[1], &shape));
  BSM_TRY(check_normalized(t, shape, p.weight));
  if (!bsm_dims_numel(shape, &row)) return BSM_FAIL(BSM_LIMIT, "rms_norm");
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  if (bsm_tensor_numel(t) == 0) return BSM_OK;
  return norm_rows(cx, t, row, &p, out, NULL);
}

/* group_norm(input, num_groups, weight, bias, eps, cudnn_enabled) */
static bsm_status op_group_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_tensor *w = op_tensor(&args[2]), *b = op_tensor(&args[3]);
  const int64_t groups = op_int(&args[1]);
  const double eps = op_double(&args[4]);
  BSM_TRY(need_float(t, "GroupNormKernelImpl"));
  if (t->sizes.rank < 2 || groups <= 0 || t->sizes.d[1] % groups != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected number of channels in input to be divisible by "
                    "num_groups, but got input of shape %s and num_groups=%lld",
                    bsm_dims_str(t->sizes), (long long)groups);
  }
  const int64_t channels = t->sizes.d[1];
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const double *weight, *bias;
  BSM_TRY(load_optional(cx, t, w, channels, "weight", &weight));
  BSM_TRY(load_optional(cx, t, b, channels, "bias", &bias));
  const int64_t n = bsm_tensor_numel(t);
  if (cx->meta || n == 0) return BSM_OK;
  double *x = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(x);
  const int64_t row = n / t->sizes.d[0] / groups;
  const int64_t inner = n / t->sizes.d[0] / channels;
  for (int64_t r = 0; r < n; r += row) {
    double mean, var;
    moments(x + r, (size_t)row, &mean, &var);
    const double invstd = 1.0 / sqrt(var + eps);
    for (int64_t k = r; k < r + row; k++) {
      const int64_t c = k / inner % channels;
      x[k] = (x[k] - mean) * invstd * (weight ? weight[c] : 1.0) +
             (bias ? bias[c] : 0.0);
    }
  }
  bsm_op_store_all(out, x);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

/* ---- softmax ---- */

static void softmax_row(double *x, int64_t n, bool log_space, bool safe) {
  double max = -INFINITY, sum = 0.0;
  for (int64_t i = 0; i < n; i++) max = x[i] > max || isnan(x[i]) ? x[i] : max;
  if (safe && max == -INFINITY) { /* all masked: zeros */
    for (int64_t i = 0; i < n; i++) x[i] = 0.0;
    return;
  }
  for (int64_t i = 0; i < n; i++) sum += exp(x[i] - max);
  const double log_sum = log(sum);
  for (int64_t i = 0; i < n; i++) {
    x[i] = log_space ? x[i] - max - log_sum : exp(x[i] - max) / sum;
  }
}

static bsm_status softmax(bsm_op_ctx *cx, bsm_tensor *t, int64_t wanted,
                          bool log_space, bool safe, bsm_dtype dtype,
                          bsm_tensor **out) {
  int dim;
  BSM_TRY(bsm_op_wrap_dim(wanted, t->sizes.rank, &dim));
  if (!bsm_dtype_is_floating(dtype)) {
    return BSM_FAIL(op_refusal_of(t),
                    "\"%ssoftmax_lastdim_kernel_impl\" not implemented for "
                    "'%s'",
                    log_space ? "log_" : "", bsm_op_type_name(dtype));
  }
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_new(cx, dtype, t->sizes, out));
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  bsm_tensor *from, *to;
  const int last = t->sizes.rank > 0 ? t->sizes.rank - 1 : 0;
  BSM_TRY(bsm_op_cast(cx, t, dtype, &t));
  BSM_TRY(bsm_op_transpose(cx, t, dim, last, &from));
  BSM_TRY(bsm_op_transpose(cx, *out, dim, last, &to));
  double *x = bsm_op_load_all(cx, from);
  BSM_TRY_ALLOC(x);
  const int64_t n = t->sizes.rank > 0 ? from->sizes.d[last] : 1;
  const int64_t total = bsm_tensor_numel(t);
  for (int64_t r = 0; r < total; r += n) softmax_row(x + r, n, log_space, safe);
  bsm_op_store_all(to, x);
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

bsm_status bsm_op_softmax(bsm_op_ctx *cx, bsm_tensor *t, int64_t dim, bool log,
                          bsm_dtype dtype, bsm_tensor **out) {
  return softmax(cx, t, dim, log, false, dtype, out);
}

enum { SOFTMAX_PLAIN, SOFTMAX_LOG, SOFTMAX_SAFE, SOFTMAX_RAW = 4 };

/* softmax.int(self, dim, dtype?) and _softmax(self, dim, half_to_float) */
static bsm_status op_softmax(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dtype dtype = t->dtype;
  const int kind = self->variant % SOFTMAX_RAW;
  if (self->variant < SOFTMAX_RAW) {
    dtype = op_dtype_or(&args[2], t->dtype);
  } else if (op_bool(&args[2])) {
    dtype = BSM_DTYPE_FLOAT;
  }
  BSM_TRY(softmax(cx, t, op_int(&args[1]), kind == SOFTMAX_LOG,
                  kind == SOFTMAX_SAFE, dtype, &out));
  return op_return(outs, out);
}

/* ---- weight norm ---- */

/* _weight_norm(v, g, dim): v * g / norm of v over all dims but `dim` */
static bsm_status op_weight_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *v = op_tensor(&args[0]), *g = op_tensor(&args[1]), *out;
  int dim;
  BSM_TRY(need_float(v, "weight_norm"));
  BSM_TRY(bsm_op_new(cx, v->dtype, v->sizes, &out));
  outs[0] = bsm_iv_tensor(out);
  const bool whole = op_int(&args[2]) == -1;
  BSM_TRY(bsm_op_wrap_dim(whole ? 0 : op_int(&args[2]), v->sizes.rank, &dim));
  const int64_t groups = whole || v->sizes.rank == 0 ? 1 : v->sizes.d[dim];
  const double *scale;
  BSM_TRY(load_optional(cx, v, g, groups, "g", &scale));
  if (cx->meta || bsm_tensor_numel(v) == 0) return BSM_OK;
  double *x = bsm_op_load_all(cx, v);
  double *norms = BSM_NEW_ARRAY(cx->arena, double, (size_t)groups);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(norms);
  int64_t inner = 1;
  for (int32_t i = dim + 1; i < v->sizes.rank; i++) inner *= v->sizes.d[i];
  const int64_t n = bsm_tensor_numel(v);
  for (int64_t i = 0; i < n; i++) norms[i / inner % groups] += x[i] * x[i];
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = i / inner % groups;
    x[i] *= scale[k] / sqrt(norms[k]);
  }
  bsm_op_store_all(out, x);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
       "running_mean, Tensor? running_var, bool training, float momentum, "
       "float "
       "eps, bool cudnn_enabled) -> Tensor",
       op_batch_norm, 0, 0),
    OP("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
       "Tensor? running_mean, Tensor? running_var, bool training, float "
       "momentum, float eps) -> (Tensor, Tensor, Tensor)",
       op_native_batch_norm, 0, 0),
    OP("aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? "
       "weight, "
       "Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
       "float eps) -> (Tensor, Tensor, Tensor)",
       op_native_batch_norm, 1, 0),
    OP("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, "
       "Tensor? "
       "running_mean, Tensor? running_var, bool use_input_stats, float "
       "momentum, "
       "float eps, bool cudnn_enabled) -> Tensor",
       op_instance_norm, 0, 0),
    OP("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? "
       "weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
       "cudnn_enable=True) -> Tensor",
       op_layer_norm, 0, 0),
    OP("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, "
       "Tensor? "
       "weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
       op_native_layer_norm, 0, 0),
    OP("aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? "
       "weight=None, float? eps=None) -> Tensor",
       op_rms_norm, 0, 0),
    OP("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
       "Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
       "cudnn_enabled=True) -> Tensor",
       op_group_norm, 0, 0),
    OP("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> "
       "Tensor",
       op_softmax, SOFTMAX_PLAIN, 0),
    OP("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> "
       "Tensor",
       op_softmax, SOFTMAX_LOG, 0),
    OP("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> "
       "Tensor",
       op_softmax, SOFTMAX_SAFE, 0),
    OP("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> "
       "Tensor",
       op_softmax, SOFTMAX_PLAIN, 0),
    OP("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? "
       "dtype=None) -> Tensor",
       op_softmax, SOFTMAX_LOG, 0),
    OP("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
       op_softmax, SOFTMAX_RAW + SOFTMAX_PLAIN, 0),
    OP("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
       op_softmax, SOFTMAX_RAW + SOFTMAX_LOG, 0),
    OP("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
       op_weight_norm, 0, 0),
};
BSM_ATEN_TABLE(norm, rows);
