/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations. Batch norm with constant statistics is folded on the host,
 * in double, into one scale layer; the others are normalization layers. */
#include <float.h>
#include <math.h>

#include "conversion/emit.h"

/* A per-channel vector as [1, C, 1, ...] of `rank`. */
static bsm_itensor *per_channel(bsm_conversion_ctx *ctx, bsm_itensor *w,
                                int32_t rank) {
  bsm_dims dims = {0};
  if (!w) return NULL;
  dims.rank = rank;
  for (int32_t i = 0; i < rank; i++) dims.d[i] = 1;
  dims.d[1] = bsm_itensor_numel(w);
  return bsm_emit_reshape(ctx, w, dims);
}

/* (x - mean) / sqrt(var + eps) * weight + bias by element-wise layers, all of
 * them broadcasting to x; weight and bias may be NULL. */
static bsm_itensor *by_elements(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                bsm_itensor *mean, bsm_itensor *var, double eps,
                                bsm_itensor *weight, bsm_itensor *bias) {
  if (!x) return NULL;
  bsm_itensor *inverse = bsm_emit_unary(
      ctx,
      bsm_emit_binary(ctx, var, bsm_emit_scalar(ctx, x->dtype, eps),
                      BSM_ELEMENT_WISE_SUM),
      BSM_UNARY_RSQRT);
  bsm_itensor *out = bsm_emit_binary(ctx, x, mean, BSM_ELEMENT_WISE_SUB);
  out = bsm_emit_binary(ctx, out, inverse, BSM_ELEMENT_WISE_PROD);
  if (weight) out = bsm_emit_binary(ctx, out, weight, BSM_ELEMENT_WISE_PROD);
  if (bias) out = bsm_emit_binary(ctx, out, bias, BSM_ELEMENT_WISE_SUM);
  return out;
}

/* A value for each channel. Models have hundreds of them, read again for each
 * shape: floats, as nearly all are, directly. */
typedef struct channel_vector {
  const bsm_tensor *tensor; /* NULL: all `absent` */
  const float *floats;      /* its contiguous data, or NULL */
  double absent;
} channel_vector;

static channel_vector channels_of(const bsm_tensor *t, double absent) {
  channel_vector v = {t, NULL, absent};
  if (t && t->dtype == BSM_DTYPE_FLOAT && bsm_tensor_is_contiguous(t)) {
    v.floats = bsm_tensor_data(t);
  }
  return v;
}

static double channel(const channel_vector *v, int64_t i) {
  if (v->floats) return (double)v->floats[i];
  return v->tensor ? bsm_tensor_get_double(v->tensor, i) : v->absent;
}

typedef struct batch_norm_spec {
  const bsm_tensor *weight, *bias, *mean, *var; /* NULL: 1, 0, -, - */
  double eps;
} batch_norm_spec;

/* `count` values rounded to `dtype`, as weights. */
static bsm_status rounded(bsm_conversion_ctx *ctx, const double *values,
                          int64_t count, bsm_dtype dtype, bsm_weights *out) {
  const bsm_dims dims = {1, {count}};
  const bsm_array array = {(void *)(uintptr_t)values, BSM_DTYPE_DOUBLE, dims,
                           NULL};
  bsm_tensor *wide, *narrow;
  if (dtype == BSM_DTYPE_FLOAT) {
    BSM_TRY(bsm_tensor_new(ctx->impl->arena, dtype, dims, false, &narrow));
    float *to = bsm_tensor_data(narrow);
    for (int64_t i = 0; i < count; i++) to[i] = (float)values[i];
  } else {
    BSM_TRY(bsm_tensor_from_array(ctx->impl->arena, &array, true, &wide));
    BSM_TRY(bsm_tensor_to_dtype(ctx->impl->arena, wide, dtype, &narrow));
  }
  *out = bsm_weights_borrow(ctx, narrow);
  return BSM_OK;
}

/* scale = weight / sqrt(var + eps), shift = bias - mean * scale. */
static bsm_itensor *fold(bsm_conversion_ctx *ctx, bsm_itensor *x,
                         const batch_norm_spec *spec) {
  const int64_t count = x->dims.d[1];
  const channel_vector weight = channels_of(spec->weight, 1);
  const channel_vector bias = channels_of(spec->bias, 0);
  const channel_vector mean = channels_of(spec->mean, 0);
  const channel_vector var = channels_of(spec->var, 1);
  bsm_weights w[2];
  double *scale = bsm_conversion_alloc(ctx, 2 * sizeof(double) * (size_t)count);
  bsm_status status = scale ? BSM_OK : BSM_FAIL_OOM();
  if (!status) {
    double *shift = scale + count;
    for (int64_t i = 0; i < count; i++) {
      scale[i] = channel(&weight, i) / sqrt(channel(&var, i) + spec->eps);
      shift[i] = channel(&bias, i) - channel(&mean, i) * scale[i];
    }
    status = rounded(ctx, scale, count, x->dtype, &w[0]);
    if (!status) status = rounded(ctx, shift, count, x->dtype, &w[1]);
  }
  if (status) {
    bsm_ctx_fail(ctx, status);
    return NULL;
  }
  return bsm_emit(ctx, bsm_network_add_scale(ctx->net, x, &w[1], &w[0], NULL));
}

static bool is_vector(const bsm_args *args, size_t i, int64_t channels) {
  if (bsm_arg_is_none(args, i)) return true;
  return bsm_arg_is_tensor(args, i) &&
         bsm_tensor_numel(bsm_arg_unwrap_to_tensor(args, i)) == channels;
}

/* All axes but that of the channels. */
static uint32_t batch_axes(const bsm_itensor *x) {
  return ((1u << (unsigned)bsm_rank(x)) - 1) & ~2u;
}

/* Outputs 1 and 2 of the native ops, where something uses them: mean and
 * 1 / sqrt(var + eps) over axes. */
static bsm_status moments(bsm_conversion_ctx *ctx, const bsm_node *node,
                          bsm_itensor *x, uint32_t axes, bool keep_dims,
                          double eps) {
  if (!bsm_output_is_used(node, 1) && !bsm_output_is_used(node, 2)) {
    return BSM_OK;
  }
  BSM_CHECK(x->dtype == BSM_DTYPE_FLOAT || x->dtype == BSM_DTYPE_DOUBLE,
            "the moments of %s", bsm_dtype_name(x->dtype));
  bsm_itensor *var =
      bsm_emit_reduce(ctx, x, BSM_REDUCE_VARIANCE, axes, keep_dims);
  if (!var) return bsm_ctx_take_error(ctx);
  var = bsm_emit_binary(ctx, var, bsm_emit_scalar(ctx, x->dtype, eps),
                        BSM_ELEMENT_WISE_SUM);
  BSM_TRY(bsm_emit_output(
      ctx, node, 1, bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes, keep_dims)));
  return bsm_emit_output(ctx, node, 2,
                         bsm_emit_unary(ctx, var, BSM_UNARY_RSQRT));
}

/* A normalization layer; scale and bias may be NULL. */
static bsm_itensor *normalize(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *scale, bsm_itensor *bias,
                              uint32_t axes, int64_t groups, double eps,
                              bool rms) {
  if (!x) return NULL;
  if (!(eps >= 0 && eps <= DBL_MAX)) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "a negative epsilon");
  }
  bsm_layer *layer =
      bsm_network_add_normalization(ctx->net, x, scale, bias, axes);
  bsm_normalization_set_epsilon(layer, eps);
  bsm_normalization_set_rms(layer, rms);
  if (groups != 1) bsm_normalization_set_groups(layer, groups);
  return bsm_emit(ctx, layer);
}

/* By mean and variance of the batch: axis 0 and the spatial ones. */
static bsm_itensor *of_batch(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_itensor *weight, bsm_itensor *bias,
                             double eps) {
  uint32_t axes = batch_axes(x);
  if (x->dims.d[0] == 1 && bsm_rank(x) > 2) { /* as of each image on its own */
    return normalize(ctx, x, weight, bias, axes & ~1u, 1, eps, false);
  }
  bsm_itensor *mean = bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes, true);
  bsm_itensor *var = bsm_emit_reduce(ctx, x, BSM_REDUCE_VARIANCE, axes, true);
  return by_elements(ctx, x, mean, var, eps, weight, bias);
}

/* Where the forms of batch_norm have their arguments after BIAS. */
typedef struct batch_norm_form {
  size_t mean, training, eps; /* 0: there is none */
  bool empty_moments;         /* without training, outputs 1 and 2 are empty */
} batch_norm_form;

enum { BATCH_NORM, NATIVE_BATCH_NORM, NO_TRAINING, LEGIT, LEGIT_NO_STATS };
static const batch_norm_form batch_norm_forms[] = {
    [BATCH_NORM] = {3, 5, 7, false},    [NATIVE_BATCH_NORM] = {3, 5, 7, true},
    [NO_TRAINING] = {3, 0, 6, true},    [LEGIT] = {3, 5, 7, true},
    [LEGIT_NO_STATS] = {0, 3, 5, true},
};

/* Constant statistics and parameters: a scale layer. */
static bool is_folded(const bsm_args *args, const batch_norm_form *form,
                      int64_t channels) {
  return is_vector(args, 1, channels) && is_vector(args, 2, channels) &&
         is_vector(args, form->mean, channels) &&
         is_vector(args, form->mean + 1, channels);
}

static bsm_itensor *batch_norm(bsm_conversion_ctx *ctx, const bsm_args *args,
                               const batch_norm_form *form, bsm_itensor *x,
                               bool training) {
  enum { WEIGHT = 1, BIAS };
  const int32_t rank = bsm_rank(x);
  const double eps = bsm_arg_unwrap_to_double(args, form->eps);
  if (!training && is_folded(args, form, x->dims.d[1])) {
    batch_norm_spec spec = {bsm_arg_unwrap_to_tensor_or_none(args, WEIGHT),
                            bsm_arg_unwrap_to_tensor_or_none(args, BIAS),
                            bsm_arg_unwrap_to_tensor(args, form->mean),
                            bsm_arg_unwrap_to_tensor(args, form->mean + 1),
                            eps};
    return fold(ctx, x, &spec);
  }
  const size_t at[4] = {WEIGHT, BIAS, form->mean, form->mean + 1};
  bsm_itensor *w[4] = {NULL, NULL, NULL, NULL};
  for (size_t i = 0; i < (form->mean ? 4u : 2u); i++) {
    w[i] = per_channel(ctx, bsm_arg_emit_or_none(ctx, args, at[i], x->dtype),
                       rank);
  }
  if (!training) return by_elements(ctx, x, w[2], w[3], eps, w[0], w[1]);
  if (form->mean && !bsm_arg_is_none(args, form->mean)) {
    BSM_LOG_WARNING(
        "batch_norm in training mode normalises by the batch; its running "
        "statistics are not updated");
  }
  return of_batch(ctx, x, w[0], w[1], eps);
}

/* The dtype of a tensor argument; `absent` where it is None. */
static bsm_dtype dtype_of(const bsm_args *args, size_t i, bsm_dtype absent) {
  if (bsm_arg_is_itensor(args, i)) return bsm_arg_itensor(args, i)->dtype;
  if (bsm_arg_is_tensor(args, i)) {
    return bsm_arg_unwrap_to_tensor(args, i)->dtype;
  }
  return absent;
}

/* Whether all parameters from `first` on, `count` of them, have one dtype: the
 * input's, or float for an input of half or bfloat16. PyTorch takes no others.
 */
static bool are_alike(const bsm_args *args, size_t first, size_t count,
                      const bsm_itensor *x) {
  const bool narrow =
      x->dtype == BSM_DTYPE_HALF || x->dtype == BSM_DTYPE_BFLOAT16;
  bool own = true, wide = narrow;
  for (size_t i = first; i < first + count; i++) {
    const bsm_dtype dtype = dtype_of(args, i, BSM_DTYPE_UNDEFINED);
    own = own && (dtype == BSM_DTYPE_UNDEFINED || dtype == x->dtype);
    wide = wide && (dtype == BSM_DTYPE_UNDEFINED || dtype == BSM_DTYPE_FLOAT);
  }
  return own || wide;
}

/* The dtype of the moments. On the CPU PyTorch computes with float parameters
 * in float whatever the input is, and says so in the moments. */
static bsm_dtype moments_dtype(const bsm_args *args,
                               const batch_norm_form *form,
                               const bsm_itensor *x) {
  const size_t at[4] = {1, 2, form->mean, form->mean + 1};
  for (size_t i = 0; i < (form->mean ? 4u : 2u); i++) {
    if (dtype_of(args, at[i], x->dtype) != x->dtype) return BSM_DTYPE_FLOAT;
  }
  return x->dtype;
}

static bsm_status convert_batch_norm(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  const batch_norm_form *form = &batch_norm_forms[bsm_args_variant(args)];
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  const bool training =
      form->training && bsm_arg_unwrap_to_bool(args, form->training);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) >= 2, "batch_norm: an input with dims %s",
            bsm_dims_str(x->dims));
  BSM_CHECK(training || (form->mean && !bsm_arg_is_none(args, form->mean) &&
                         !bsm_arg_is_none(args, form->mean + 1)),
            "Expected running_mean and running_var to be defined when training "
            "is False");
  BSM_CHECK(are_alike(args, 1, form->mean ? 4 : 2, x),
            "batch_norm: parameters of other dtypes than the input");
  BSM_TRY(
      bsm_emit_output(ctx, node, 0, batch_norm(ctx, args, form, x, training)));
  if (training) {
    return moments(ctx, node, x, batch_axes(x), false,
                   bsm_arg_unwrap_to_double(args, form->eps));
  }
  for (size_t i = 1; form->empty_moments && i < 3; i++) {
    if (!bsm_output_is_used(node, i)) continue;
    bsm_itensor *empty =
        bsm_emit_fill(ctx, moments_dtype(args, form, x), (bsm_dims){1, {0}}, 0);
    BSM_TRY(bsm_emit_output(ctx, node, i, empty));
  }
  return BSM_OK;
}

/* The last dims of x must be `shape`; gives their axes. */
static bool last_axes(bsm_conversion_ctx *ctx, const bsm_itensor *x,
                      const int64_t *shape, size_t count, uint32_t *axes) {
  int32_t rank = bsm_rank(x);
  bool ok = count >= 1 && count <= (size_t)rank;
  *axes = 0;
  for (size_t i = 0; ok && i < count; i++) {
    int32_t axis = rank - (int32_t)count + (int32_t)i;
    ok = x->dims.d[axis] == shape[i];
    *axes |= 1u << (unsigned)axis;
  }
  if (!ok) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "Given normalized_shape=%s, expected input with shape [*, "
                  "those], but got input of size %s",
                  bsm_dims_str(bsm_dims_of(shape, count)),
                  bsm_dims_str(bsm_itensor_dims(x)));
  }
  return ok;
}

/* Args `first`.. are weight and bias. */
static bsm_itensor *layer_norm(bsm_conversion_ctx *ctx, const bsm_args *args,
                               size_t first, bsm_itensor *x, uint32_t axes,
                               double eps) {
  return normalize(ctx, x, bsm_arg_emit_or_none(ctx, args, first, x->dtype),
                   bsm_arg_emit_or_none(ctx, args, first + 1, x->dtype), axes,
                   1, eps, false);
}

static bsm_status convert_layer_norm(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { INPUT, NORMALIZED_SHAPE, WEIGHT, BIAS, EPS };
  size_t count;
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  const int64_t *shape =
      bsm_arg_unwrap_to_int_list(args, NORMALIZED_SHAPE, &count);
  if (!x || !shape || !last_axes(ctx, x, shape, count, &axes)) {
    return bsm_ctx_take_error(ctx);
  }
  const double eps = bsm_arg_unwrap_to_double(args, EPS);
  BSM_TRY(bsm_emit_output(ctx, node, 0,
                          layer_norm(ctx, args, WEIGHT, x, axes, eps)));
  return moments(ctx, node, x, axes, true, eps);
}

/* 1 / sqrt(mean(x * x) + eps), of float32 at least, as is its epsilon. */
static bsm_itensor *inverse_rms(bsm_conversion_ctx *ctx, const bsm_args *args,
                                size_t eps, bsm_itensor *x, uint32_t axes) {
  const bool wide = x->dtype == BSM_DTYPE_DOUBLE;
  const bsm_dtype dtype = wide ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  const double epsilon =
      bsm_arg_unwrap_to_double_or(args, eps, wide ? 0x1p-52 : 0x1p-23);
  x = bsm_emit_cast(ctx, x, dtype);
  bsm_itensor *squares = bsm_emit_binary(ctx, x, x, BSM_ELEMENT_WISE_PROD);
  squares = bsm_emit_reduce(ctx, squares, BSM_REDUCE_AVG, axes, true);
  squares = bsm_emit_binary(ctx, squares, bsm_emit_scalar(ctx, dtype, epsilon),
                            BSM_ELEMENT_WISE_SUM);
  return bsm_emit_unary(ctx, squares, BSM_UNARY_RSQRT);
}

static bsm_status convert_rms_norm(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, NORMALIZED_SHAPE, WEIGHT, EPS };
  size_t count;
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  const int64_t *shape =
      bsm_arg_unwrap_to_int_list(args, NORMALIZED_SHAPE, &count);
  if (!x || !shape || !last_axes(ctx, x, shape, count, &axes)) {
    return bsm_ctx_take_error(ctx);
  }
  /* The default is the machine epsilon of what it is computed in. */
  double eps = x->dtype == BSM_DTYPE_DOUBLE ? 0x1p-52 : 0x1p-23;
  eps = bsm_arg_unwrap_to_double_or(args, EPS, eps);
  bsm_itensor *weight = bsm_arg_emit_or_none(ctx, args, WEIGHT, x->dtype);
  BSM_TRY(bsm_emit_output(ctx, node, 0,
                          normalize(ctx, x, weight, NULL, axes, 1, eps, true)));
  return bsm_output_is_used(node, 1)
             ? bsm_emit_output(ctx, node, 1,
                               inverse_rms(ctx, args, EPS, x, axes))
             : BSM_OK;
}

static bsm_status convert_group_norm(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { INPUT, NUM_GROUPS, WEIGHT, BIAS, EPS };
  /* native_group_norm: weight, bias, N, C, HxW, group, eps */
  enum {
    NATIVE_WEIGHT = 1,
    NATIVE_BATCH = 3,
    NATIVE_CHANNELS,
    NATIVE_GROUPS = 6,
    NATIVE_EPS
  };
  const bool native = bsm_args_variant(args) != 0;
  const size_t first = native ? NATIVE_WEIGHT : WEIGHT;
  const double eps = bsm_arg_unwrap_to_double(args, native ? NATIVE_EPS : EPS);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  int64_t groups =
      bsm_arg_unwrap_to_int(args, native ? NATIVE_GROUPS : NUM_GROUPS);
  if (!x) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(x);
  BSM_CHECK(rank >= 2 && groups > 0 && x->dims.d[1] % groups == 0,
            "Expected number of channels in input to be divisible by "
            "num_groups, but got input of shape %s and num_groups=%lld",
            bsm_dims_str(x->dims), (long long)groups);
  BSM_CHECK(are_alike(args, first, 2, x),
            "group_norm: parameters of other dtypes than the input");
  BSM_CHECK(!native || bsm_itensor_numel(x) > 0, "moments of nothing");
  BSM_CHECK(
      !native || (bsm_arg_unwrap_to_int(args, NATIVE_BATCH) == x->dims.d[0] &&
                  bsm_arg_unwrap_to_int(args, NATIVE_CHANNELS) == x->dims.d[1]),
      "native_group_norm: sizes that are not the input's");
  bsm_itensor *w[2];
  for (size_t i = 0; i < 2; i++) {
    w[i] = per_channel(
        ctx, bsm_arg_emit_or_none(ctx, args, first + i, x->dtype), rank);
  }
  uint32_t axes = ((1u << (unsigned)rank) - 1) & ~1u;
  BSM_TRY(bsm_emit_output(
      ctx, node, 0, normalize(ctx, x, w[0], w[1], axes, groups, eps, false)));
  const int64_t rows = x->dims.d[0] * groups;
  bsm_dims grouped = {3, {x->dims.d[0], groups, 0}};
  if (rows > 0) grouped.d[2] = bsm_itensor_numel(x) / rows;
  return native ? moments(ctx, node, bsm_emit_reshape(ctx, x, grouped), 1u << 2,
                          false, eps)
                : BSM_OK;
}

static bsm_status convert_instance_norm(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum { INPUT, WEIGHT, BIAS, MEAN, VAR, USE_INPUT_STATS, MOMENTUM, EPS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  double eps = bsm_arg_unwrap_to_double(args, EPS);
  bsm_itensor *w[4];
  if (!x) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(x);
  BSM_CHECK(rank >= 2, "instance_norm: an input with dims %s",
            bsm_dims_str(x->dims));
  BSM_CHECK(are_alike(args, WEIGHT, 4, x),
            "instance_norm: parameters of other dtypes than the input");
  for (size_t i = 0; i < 4; i++) {
    w[i] = per_channel(
        ctx, bsm_arg_emit_or_none(ctx, args, WEIGHT + i, x->dtype), rank);
  }
  if (bsm_arg_unwrap_to_bool(args, USE_INPUT_STATS)) {
    uint32_t axes = ((1u << (unsigned)rank) - 1) & ~3u;
    return bsm_emit_output(ctx, node, 0,
                           normalize(ctx, x, w[0], w[1], axes, 1, eps, false));
  }
  BSM_CHECK(w[2] && w[3],
            "Expected running_mean and running_var to be defined when "
            "use_input_stats is false");
  return bsm_emit_output(ctx, node, 0,
                         by_elements(ctx, x, w[2], w[3], eps, w[0], w[1]));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool training, float momentum, float "
     "eps, bool cudnn_enabled) -> Tensor",
     convert_batch_norm, BATCH_NORM},
    {"aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor? running_mean, Tensor? running_var, bool training, float "
     "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     convert_batch_norm, NATIVE_BATCH_NORM},
    {"aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, "
     "Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
     "float eps) -> (Tensor, Tensor, Tensor)",
     convert_batch_norm, NO_TRAINING},
    {"aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? "
     "bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, "
     "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     convert_batch_norm, LEGIT},
    {"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, "
     "Tensor? bias, bool training, float momentum, float eps) -> (Tensor, "
     "Tensor, Tensor)",
     convert_batch_norm, LEGIT_NO_STATS},
    {"aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? "
     "weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
     "cudnn_enable=True) -> Tensor",
     convert_layer_norm, 0},
    {"aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? "
     "weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     convert_layer_norm, 0},
    {"aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? "
     "weight=None, float? eps=None) -> Tensor",
     convert_rms_norm, 0},
    {"aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? "
     "weight, float? eps) -> (Tensor, Tensor)",
     convert_rms_norm, 0},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
     "Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
     "cudnn_enabled=True) -> Tensor",
     convert_group_norm, 0},
    {"aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, "
     "SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, "
     "Tensor, Tensor)",
     convert_group_norm, 1},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
     "float eps, bool cudnn_enabled) -> Tensor",
     convert_instance_norm, 0},
};
BSM_CONVERTER_TABLE(normalization, patterns);
