/* SPDX-License-Identifier: Apache-2.0 */
/* fake_quantize and quantized_decomposed as layers that quantize and
 * dequantize: any zero point and range, scales and zero points of constants or
 * computed, per tensor and per channel. */
#include <math.h>

#include "conversion/emit.h"

enum { PER_TENSOR, PER_CHANNEL };

/* A scale or zero point in `dtype`, as many elements as the axis has places. */
static bsm_itensor *parameter(bsm_conversion_ctx *ctx, bsm_itensor *p,
                              bsm_dtype dtype, const bsm_itensor *x,
                              int32_t axis) {
  bsm_dims dims = {0};
  if (!p) return NULL;
  if (axis >= 0) dims = (bsm_dims){1, {x->dims.d[axis]}};
  return bsm_emit_reshape(ctx, bsm_emit_cast(ctx, p, dtype), dims);
}

/* The smallest dtype that holds the whole numbers of a range; `computes`, that
 * of the arithmetic, when it does not count so far itself. */
static bsm_dtype grid_dtype(double low, double high, bsm_dtype computes) {
  const double exact = 0x1p24;
  if (low >= INT8_MIN && high <= INT8_MAX) return BSM_DTYPE_INT8;
  if (low >= 0 && high <= UINT8_MAX) return BSM_DTYPE_UINT8;
  if (low >= INT16_MIN && high <= INT16_MAX) return BSM_DTYPE_INT16;
  if (low >= -exact && high <= exact) return BSM_DTYPE_INT32;
  return computes;
}

static bsm_status convert_fake_quantize(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum { SELF, SCALE, ZERO_POINT, AXIS_OR_MIN };
  const bool channels = bsm_args_variant(args) == PER_CHANNEL;
  const size_t range = channels ? AXIS_OR_MIN + 1 : AXIS_OR_MIN;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *scale = bsm_arg_itensor_or_freeze(ctx, args, SCALE);
  bsm_itensor *zero = bsm_arg_itensor_or_freeze(ctx, args, ZERO_POINT);
  if (!x || !scale || !zero) return bsm_ctx_take_error(ctx);
  const double low = (double)bsm_arg_unwrap_to_int(args, range);
  const double high = (double)bsm_arg_unwrap_to_int(args, range + 1);
  const int64_t axis = channels ? bsm_arg_unwrap_to_int(args, AXIS_OR_MIN) : -1;
  BSM_CHECK(!channels || (axis >= 0 && axis < bsm_rank(x)),
            "`axis` must be between 0 and number of dimensions of input");
  BSM_CHECK(low <= high,
            "`quant_min` should be less than or equal to `quant_max`.");
  const bsm_dtype wide = bsm_quantize_compute_dtype(x->dtype);
  /* Per tensor, PyTorch reads it as an integer. */
  if (!channels && bsm_dtype_is_floating(zero->dtype)) {
    zero = bsm_emit_cast(ctx, zero, BSM_DTYPE_INT64);
  }
  if (!zero) return bsm_ctx_take_error(ctx);
  const bool floating_zero = bsm_dtype_is_floating(zero->dtype);
  BSM_CHECK(!floating_zero ||
                (zero->dtype == BSM_DTYPE_FLOAT && x->dtype == BSM_DTYPE_FLOAT),
            "zero points of %s for %s", bsm_dtype_name(zero->dtype),
            bsm_dtype_name(x->dtype));
  /* The inverse is of float32, also for float64 inputs. */
  scale = parameter(ctx, scale, BSM_DTYPE_FLOAT, x, (int32_t)axis);
  zero = parameter(ctx, zero, wide, x, (int32_t)axis);
  bsm_layer *quantize = bsm_network_add_quantize(
      ctx->net, x, scale, zero, (int32_t)axis, grid_dtype(low, high, wide));
  bsm_quantize_set_range(quantize, low, high);
  bsm_quantize_set_rounds_last(quantize, floating_zero);
  bsm_quantize_set_nan(quantize, channels ? BSM_QUANTIZE_NAN_OR_HUGE_LEAST
                                          : BSM_QUANTIZE_NAN_LEAST);
  bsm_itensor *q = bsm_emit(ctx, quantize);
  bsm_layer *dequantize =
      bsm_network_add_dequantize(ctx->net, q, bsm_emit_cast(ctx, scale, wide),
                                 zero, (int32_t)axis, x->dtype);
  bsm_itensor *y = bsm_emit(ctx, dequantize);
  /* Per tensor, PyTorch has scales of float32 and gives such numbers. */
  if (!channels && x->dtype == BSM_DTYPE_DOUBLE) {
    y = bsm_emit_cast(ctx, bsm_emit_cast(ctx, y, BSM_DTYPE_FLOAT), x->dtype);
  }
  return bsm_emit_output(ctx, node, 0, y);
}

/* ---- quantized_decomposed ---- */

/* Where scales and zero points broadcast to. */
static bsm_status find_axis(bsm_conversion_ctx *ctx, const bsm_args *args,
                            const bsm_itensor *x, int32_t *axis) {
  enum { AXIS = 3 };
  *axis = -1;
  if (bsm_args_variant(args) != PER_CHANNEL) return BSM_OK;
  const int64_t at = bsm_arg_unwrap_to_int(args, AXIS);
  BSM_CHECK(at >= -bsm_rank(x) && at < bsm_rank(x), "Expecting axis to be < %d",
            (int)bsm_rank(x));
  *axis = (int32_t)(at < 0 ? at + bsm_rank(x) : at);
  for (size_t i = 1; i < 3; i++) {
    const bsm_itensor *each = bsm_arg_is_none(args, i)
                                  ? NULL
                                  : bsm_arg_itensor_or_freeze(ctx, args, i);
    BSM_CHECK(!each || (each->dtype != BSM_DTYPE_HALF &&
                        each->dtype != BSM_DTYPE_BFLOAT16 &&
                        (i > 1 ? bsm_dtype_size(each->dtype) > 2
                               : bsm_dtype_is_floating(each->dtype))),
              "scales or zero points of %s", bsm_dtype_name(each->dtype));
    BSM_CHECK(!each || bsm_itensor_numel(each) == x->dims.d[*axis],
              "%s for %lld channels", bsm_dims_str(each->dims),
              (long long)x->dims.d[*axis]);
  }
  return BSM_OK;
}

/* A scale or zero point, per tensor as a number of one element. */
static bsm_itensor *quantizer(bsm_conversion_ctx *ctx, const bsm_args *args,
                              size_t i, bsm_dtype dtype, const bsm_itensor *x,
                              int32_t axis) {
  return parameter(ctx, bsm_arg_itensor_or_freeze(ctx, args, i), dtype, x,
                   axis);
}

/* Limits that are tensors clamp what is rounded without any. */
static bsm_itensor *clamp_to(bsm_conversion_ctx *ctx, const bsm_args *args,
                             size_t range, bsm_itensor *q) {
  static const bsm_element_wise_operation limits[] = {BSM_ELEMENT_WISE_MAX,
                                                      BSM_ELEMENT_WISE_MIN};
  for (size_t i = 0; q && i < 2; i++) {
    q = bsm_emit_binary(
        ctx, q, quantizer(ctx, args, range + i, q->dtype, q, -1), limits[i]);
  }
  return q;
}

/* quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype),
 * also of tensors; quantize_per_channel has an axis before the range. */
static bsm_status convert_quantize(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, SCALE, ZERO_POINT, RANGE };
  const bool channels = bsm_args_variant(args) == PER_CHANNEL;
  const size_t range = channels ? RANGE + 1 : RANGE;
  const bsm_dtype f32 = BSM_DTYPE_FLOAT;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  int32_t axis;
  if (!x) return bsm_ctx_take_error(ctx);
  const bsm_dtype dtype = bsm_arg_dtype_or(args, range + 2, BSM_DTYPE_INT8);
  BSM_TRY(find_axis(ctx, args, x, &axis));
  BSM_CHECK(
      !(x->dtype == BSM_DTYPE_DOUBLE || bsm_dtype_is_integral(x->dtype, true)),
      "quantization of %s", bsm_dtype_name(x->dtype));
  const bool known = bsm_arg_is_int(args, range);
  const double low = known ? bsm_arg_unwrap_to_double(args, range) : -INFINITY;
  const double high =
      known ? bsm_arg_unwrap_to_double(args, range + 1) : INFINITY;
  /* A range that the dtype does not hold wraps: by a cast of its own. */
  double least, greatest;
  const bool fits = known && low <= high &&
                    bsm_quantize_range(dtype, &least, &greatest) &&
                    low >= least && high <= greatest;
  /* The inverse of one number is that of a Python float. */
  bsm_layer *quantize = bsm_network_add_quantize(
      ctx->net, x,
      quantizer(ctx, args, SCALE, channels ? f32 : BSM_DTYPE_DOUBLE, x, axis),
      quantizer(ctx, args, ZERO_POINT, f32, x, axis), axis, fits ? dtype : f32);
  bsm_quantize_set_range(quantize, low, high);
  bsm_itensor *q = bsm_emit(ctx, quantize);
  if (!known) q = clamp_to(ctx, args, range, q);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, q, dtype));
}

/* dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype,
 * *, out_dtype), and per channel. */
static bsm_status convert_dequantize(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { INPUT, SCALE, ZERO_POINT };
  const bool channels = bsm_args_variant(args) == PER_CHANNEL;
  bsm_itensor *q = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  int32_t axis;
  if (!q) return bsm_ctx_take_error(ctx);
  BSM_TRY(find_axis(ctx, args, q, &axis));
  const bsm_dtype out =
      bsm_arg_dtype_or(args, channels ? 7 : 6, BSM_DTYPE_FLOAT);
  BSM_CHECK(bsm_dtype_is_floating(out), "dequantization to %s",
            bsm_dtype_name(out));
  const bsm_dtype dtype = channels ? BSM_DTYPE_FLOAT : out;
  /* Differences of per-channel integers are exact. */
  const bsm_itensor *zero_point =
      bsm_arg_is_none(args, ZERO_POINT)
          ? NULL
          : bsm_arg_itensor_or_freeze(ctx, args, ZERO_POINT);
  const bool exact = bsm_dtype_size(q->dtype) < 4 ||
                     (zero_point && bsm_dtype_is_floating(zero_point->dtype));
  const bsm_dtype whole = !channels ? out : exact ? dtype : BSM_DTYPE_INT64;
  bsm_itensor *zero =
      zero_point ? quantizer(ctx, args, ZERO_POINT, whole, q, axis) : NULL;
  bsm_layer *dequantize = bsm_network_add_dequantize(
      ctx->net, q, quantizer(ctx, args, SCALE, dtype, q, axis), zero, axis,
      out);
  return bsm_emit_output(ctx, node, 0, bsm_emit(ctx, dequantize));
}

/* ---- scales from ranges ---- */

/* The greatest of the tensor's elements and zero, or the least. */
static bsm_itensor *extreme(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            bsm_reduce_operation reduce,
                            bsm_element_wise_operation operation) {
  const uint32_t all = (1u << bsm_rank(x)) - 1;
  if (all) x = bsm_emit_reduce(ctx, x, reduce, all, false);
  return bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, BSM_DTYPE_FLOAT, 0),
                         operation);
}

/* Floats as numbers of a dtype that has fewer bits. */
static bsm_itensor *rounded_as(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                               bsm_itensor *x) {
  return bsm_emit_cast(ctx, bsm_emit_cast(ctx, x, dtype), BSM_DTYPE_FLOAT);
}

/* The zero point that makes the least number `low`. */
static bsm_itensor *zero_for(bsm_conversion_ctx *ctx, bsm_itensor *least,
                             bsm_itensor *scale, double low, double high) {
  const bsm_dtype f32 = BSM_DTYPE_FLOAT;
  bsm_itensor *zero = bsm_emit_unary(
      ctx, bsm_emit_binary(ctx, least, scale, BSM_ELEMENT_WISE_DIV),
      BSM_UNARY_ROUND);
  zero = bsm_emit_binary(ctx, bsm_emit_scalar(ctx, f32, low), zero,
                         BSM_ELEMENT_WISE_SUB);
  zero = bsm_emit_binary(ctx, zero, bsm_emit_scalar(ctx, f32, low),
                         BSM_ELEMENT_WISE_MAX);
  return bsm_emit_binary(ctx, zero, bsm_emit_scalar(ctx, f32, high),
                         BSM_ELEMENT_WISE_MIN);
}

/* choose_qparams.tensor(input, quant_min, quant_max, eps, dtype), and
 * (`variant` 1) choose_qparams_symmetric.tensor, whose range is as far on both
 * sides of a zero point that the dtype tells. */
static bsm_status convert_choose(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { INPUT, LOW, HIGH, EPS, DTYPE };
  const bool symmetric = bsm_args_variant(args) != 0;
  const bsm_dtype f32 = BSM_DTYPE_FLOAT;
  const bsm_dims one = {1, {1}};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  if (!x) return bsm_ctx_take_error(ctx);
  const double low = bsm_arg_unwrap_to_double(args, LOW);
  const double high = bsm_arg_unwrap_to_double(args, HIGH);
  const double eps = bsm_arg_unwrap_to_double(args, EPS);
  BSM_CHECK(low < high, "quant_min must be less than quant_max.");
  BSM_CHECK(eps > 0, "an eps of %g", eps);
  BSM_CHECK(x->dtype == f32 || x->dtype == BSM_DTYPE_HALF ||
                x->dtype == BSM_DTYPE_BFLOAT16,
            "a scale for %s", bsm_dtype_name(x->dtype));
  int64_t count;
  BSM_CHECK(!bsm_dims_numel(x->dims, &count) || count > 0,
            "a scale for no elements");
  const bsm_dtype own = x->dtype;
  x = bsm_emit_cast(ctx, x, f32);
  bsm_itensor *least = extreme(ctx, x, BSM_REDUCE_MIN, BSM_ELEMENT_WISE_MIN);
  bsm_itensor *most = extreme(ctx, x, BSM_REDUCE_MAX, BSM_ELEMENT_WISE_MAX);
  bsm_itensor *range =
      symmetric
          ? bsm_emit_binary(ctx, bsm_emit_unary(ctx, least, BSM_UNARY_NEG),
                            most, BSM_ELEMENT_WISE_MAX)
          : rounded_as(ctx, own,
                       bsm_emit_binary(ctx, most, least, BSM_ELEMENT_WISE_SUB));
  const double steps = symmetric ? (high - low) / 2 : high - low;
  bsm_itensor *scale = bsm_emit_binary(
      ctx, range, bsm_emit_scalar(ctx, f32, steps), BSM_ELEMENT_WISE_DIV);
  scale = rounded_as(ctx, own, scale);
  scale = bsm_emit_binary(ctx, scale, bsm_emit_scalar(ctx, f32, eps),
                          BSM_ELEMENT_WISE_MAX);
  const bool positive =
      bsm_arg_dtype_or(args, DTYPE, BSM_DTYPE_INT8) == BSM_DTYPE_UINT8;
  bsm_itensor *zero = symmetric ? bsm_emit_scalar(ctx, f32, positive ? 128 : 0)
                                : zero_for(ctx, least, scale, low, high);
  scale =
      bsm_emit_reshape(ctx, bsm_emit_cast(ctx, scale, BSM_DTYPE_DOUBLE), one);
  zero = bsm_emit_reshape(ctx, bsm_emit_cast(ctx, zero, BSM_DTYPE_INT64), one);
  BSM_TRY(bsm_emit_output(ctx, node, 0, scale));
  return bsm_emit_output(ctx, node, 1, zero);
}

#define Q "quantized_decomposed::"
static const bsm_conversion_pattern patterns[] = {
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int "
     "zero_point, int quant_min, int quant_max) -> Tensor",
     convert_fake_quantize, PER_TENSOR},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor "
     "scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
     convert_fake_quantize, PER_TENSOR},
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor "
     "zero_point, int axis, int quant_min, int quant_max) -> Tensor",
     convert_fake_quantize, PER_CHANNEL},
    {Q "quantize_per_tensor(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     convert_quantize, PER_TENSOR},
    {Q "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
       "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     convert_quantize, PER_TENSOR},
    {Q "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
       "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> "
       "Tensor",
     convert_quantize, PER_TENSOR},
    {Q "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, "
       "int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     convert_quantize, PER_CHANNEL},
    {Q "dequantize_per_tensor(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
       "out_dtype=None) -> Tensor",
     convert_dequantize, PER_TENSOR},
    {Q "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
       "zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
       "ScalarType? out_dtype=None) -> Tensor",
     convert_dequantize, PER_TENSOR},
    {Q "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
       "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, "
       "ScalarType? out_dtype=None) -> Tensor",
     convert_dequantize, PER_TENSOR},
    {Q "dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
       "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, "
       "*, ScalarType? out_dtype=None) -> Tensor",
     convert_dequantize, PER_CHANNEL},
    {Q "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, "
       "float eps, ScalarType dtype) -> (Tensor, Tensor)",
     convert_choose, 0},
    {Q "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int "
       "quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
     convert_choose, 1},
};
BSM_CONVERTER_TABLE(quantization, patterns);
