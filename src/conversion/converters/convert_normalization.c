/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations. Batch norm with constant statistics is folded on the host,
 * in double, into one scale layer; the others are normalization layers. */
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

/* Mean and variance of the batch: axis 0 and the spatial ones. */
static bsm_itensor *of_batch(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_itensor *weight, bsm_itensor *bias,
                             double eps) {
  uint32_t axes = ((1u << (unsigned)bsm_rank(x)) - 1) & ~2u;
  bsm_itensor *mean = bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes, true);
  bsm_itensor *var = bsm_emit_reduce(ctx, x, BSM_REDUCE_VARIANCE, axes, true);
  return by_elements(ctx, x, mean, var, eps, weight, bias);
}

static bsm_status convert_batch_norm(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { INPUT, WEIGHT, BIAS, MEAN, VAR, TRAINING, MOMENTUM, EPS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  double eps = bsm_arg_unwrap_to_double(args, EPS);
  bool training = bsm_arg_unwrap_to_bool(args, TRAINING);
  if (!x) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(x);
  BSM_CHECK(rank >= 2, "batch_norm: an input with dims %s",
            bsm_dims_str(x->dims));
  int64_t channels = x->dims.d[1];
  bool statistics = !bsm_arg_is_none(args, MEAN) && !bsm_arg_is_none(args, VAR);
  BSM_CHECK(training || statistics,
            "Expected running_mean and running_var to be defined when training "
            "is False");
  if (!training && is_vector(args, WEIGHT, channels) &&
      is_vector(args, BIAS, channels) && is_vector(args, MEAN, channels) &&
      is_vector(args, VAR, channels)) {
    batch_norm_spec spec = {bsm_arg_unwrap_to_tensor_or_none(args, WEIGHT),
                            bsm_arg_unwrap_to_tensor_or_none(args, BIAS),
                            bsm_arg_unwrap_to_tensor(args, MEAN),
                            bsm_arg_unwrap_to_tensor(args, VAR), eps};
    return bsm_emit_output(ctx, node, 0, fold(ctx, x, &spec));
  }
  bsm_itensor *w[4];
  for (size_t i = 0; i < 4; i++) {
    w[i] = per_channel(
        ctx, bsm_arg_emit_or_none(ctx, args, WEIGHT + i, x->dtype), rank);
  }
  if (training) {
    BSM_LOG_WARNING(
        "batch_norm in training mode normalises by the batch; its running "
        "statistics are not updated");
    return bsm_emit_output(ctx, node, 0, of_batch(ctx, x, w[0], w[1], eps));
  }
  return bsm_emit_output(ctx, node, 0,
                         by_elements(ctx, x, w[2], w[3], eps, w[0], w[1]));
}

/* A normalization layer; scale and bias may be NULL. */
static bsm_itensor *normalize(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *scale, bsm_itensor *bias,
                              uint32_t axes, int64_t groups, double eps,
                              bool rms) {
  if (!x) return NULL;
  bsm_layer *layer =
      bsm_network_add_normalization(ctx->net, x, scale, bias, axes);
  bsm_normalization_set_epsilon(layer, eps);
  bsm_normalization_set_rms(layer, rms);
  if (groups != 1) bsm_normalization_set_groups(layer, groups);
  return bsm_emit(ctx, layer);
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
  return bsm_emit_output(
      ctx, node, 0,
      normalize(ctx, x, bsm_arg_emit_or_none(ctx, args, WEIGHT, x->dtype),
                bsm_arg_emit_or_none(ctx, args, BIAS, x->dtype), axes, 1,
                bsm_arg_unwrap_to_double(args, EPS), false));
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
  /* The default is the machine epsilon of the dtype. */
  double eps = x->dtype == BSM_DTYPE_DOUBLE     ? 0x1p-52
               : x->dtype == BSM_DTYPE_HALF     ? 0x1p-10
               : x->dtype == BSM_DTYPE_BFLOAT16 ? 0x1p-7
                                                : 0x1p-23;
  eps = bsm_arg_unwrap_to_double_or(args, EPS, eps);
  return bsm_emit_output(
      ctx, node, 0,
      normalize(ctx, x, bsm_arg_emit_or_none(ctx, args, WEIGHT, x->dtype), NULL,
                axes, 1, eps, true));
}

static bsm_status convert_group_norm(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { INPUT, NUM_GROUPS, WEIGHT, BIAS, EPS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  int64_t groups = bsm_arg_unwrap_to_int(args, NUM_GROUPS);
  if (!x) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(x);
  BSM_CHECK(rank >= 2 && groups > 0 && x->dims.d[1] % groups == 0,
            "Expected number of channels in input to be divisible by "
            "num_groups, but got input of shape %s and num_groups=%lld",
            bsm_dims_str(x->dims), (long long)groups);
  bsm_itensor *weight =
      per_channel(ctx, bsm_arg_emit_or_none(ctx, args, WEIGHT, x->dtype), rank);
  bsm_itensor *bias =
      per_channel(ctx, bsm_arg_emit_or_none(ctx, args, BIAS, x->dtype), rank);
  uint32_t axes = ((1u << (unsigned)rank) - 1) & ~1u;
  return bsm_emit_output(ctx, node, 0,
                         normalize(ctx, x, weight, bias, axes, groups,
                                   bsm_arg_unwrap_to_double(args, EPS), false));
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
     convert_batch_norm, 0},
    {"aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? "
     "weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
     "cudnn_enable=True) -> Tensor",
     convert_layer_norm, 0},
    {"aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? "
     "weight=None, float? eps=None) -> Tensor",
     convert_rms_norm, 0},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
     "Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
     "cudnn_enabled=True) -> Tensor",
     convert_group_norm, 0},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
     "float eps, bool cudnn_enabled) -> Tensor",
     convert_instance_norm, 0},
};
BSM_CONVERTER_TABLE(normalization, patterns);
