/* SPDX-License-Identifier: Apache-2.0 */
/* fake_quantize and quantized_decomposed as element-wise layers: any zero point
 * and range, scales and zero points of constants or computed, per tensor and
 * per channel. */
#include "conversion/emit.h"

enum { PER_TENSOR, PER_CHANNEL };

/* A scale or zero point in `dtype`, shaped to broadcast along `axis`. */
static bsm_itensor *parameter(bsm_conversion_ctx *ctx, bsm_itensor *p,
                              bsm_dtype dtype, const bsm_itensor *x,
                              int32_t axis) {
  bsm_dims dims = {0};
  if (!p) return NULL;
  if (axis >= 0) {
    dims.rank = x->dims.rank;
    for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = 1;
    dims.d[axis] = x->dims.d[axis];
  }
  return bsm_emit_reshape(ctx, bsm_emit_cast(ctx, p, dtype), dims);
}

/* round(x / scale) + zero; a zero point that is not whole goes inside. */
static bsm_itensor *quantized(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *inverse, bsm_itensor *zero,
                              bool floating_zero) {
  x = bsm_emit_binary(ctx, x, inverse, BSM_ELEMENT_WISE_PROD);
  if (!floating_zero) x = bsm_emit_unary(ctx, x, BSM_UNARY_ROUND);
  x = bsm_emit_binary(ctx, x, zero, BSM_ELEMENT_WISE_SUM);
  return floating_zero ? bsm_emit_unary(ctx, x, BSM_UNARY_ROUND) : x;
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
  const bsm_dtype dtype = x->dtype;
  const bsm_dtype wide =
      dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  const bool floating_zero = bsm_dtype_is_floating(zero->dtype);
  /* The inverse is of float32, also for float64 inputs. */
  scale = parameter(ctx, scale, BSM_DTYPE_FLOAT, x, (int32_t)axis);
  zero = parameter(ctx, zero, wide, x, (int32_t)axis);
  bsm_itensor *inverse =
      bsm_emit_cast(ctx, bsm_emit_unary(ctx, scale, BSM_UNARY_RECIP), wide);
  bsm_itensor *q =
      quantized(ctx, bsm_emit_cast(ctx, x, wide), inverse, zero, floating_zero);
  bsm_itensor *least = bsm_emit_scalar(ctx, wide, low);
  /* NaN becomes quant_min; per channel so does what int64 does not hold. */
  bsm_itensor *odd = bsm_emit_unary(ctx, q, BSM_UNARY_ISNAN);
  if (channels) {
    odd = bsm_emit_binary(ctx, q, bsm_emit_scalar(ctx, wide, 0x1p63),
                          BSM_ELEMENT_WISE_LESS);
    odd = bsm_emit_unary(ctx, odd, BSM_UNARY_NOT);
  }
  q = bsm_emit_binary(ctx, q, least, BSM_ELEMENT_WISE_MAX);
  q = bsm_emit_binary(ctx, q, bsm_emit_scalar(ctx, wide, high),
                      BSM_ELEMENT_WISE_MIN);
  q = bsm_emit_select(ctx, odd, least, q);
  q = bsm_emit_binary(ctx, q, zero, BSM_ELEMENT_WISE_SUB);
  q = bsm_emit_binary(ctx, q, bsm_emit_cast(ctx, scale, wide),
                      BSM_ELEMENT_WISE_PROD);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, q, dtype));
}

/* ---- quantized_decomposed ---- */

/* Where scales and zero points broadcast to. */
static bsm_status find_axis(const bsm_args *args, const bsm_itensor *x,
                            int32_t *axis) {
  enum { AXIS = 3 };
  *axis = -1;
  if (bsm_args_variant(args) != PER_CHANNEL) return BSM_OK;
  const int64_t at = bsm_arg_unwrap_to_int(args, AXIS);
  BSM_CHECK(at >= -bsm_rank(x) && at < bsm_rank(x), "Expecting axis to be < %d",
            (int)bsm_rank(x));
  *axis = (int32_t)(at < 0 ? at + bsm_rank(x) : at);
  return BSM_OK;
}

/* A scale or zero point, per tensor as a number of one element. */
static bsm_itensor *quantizer(bsm_conversion_ctx *ctx, const bsm_args *args,
                              size_t i, bsm_dtype dtype, const bsm_itensor *x,
                              int32_t axis) {
  return parameter(ctx, bsm_arg_itensor_or_freeze(ctx, args, i), dtype, x,
                   axis);
}

/* quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype),
 * also of tensors; quantize_per_channel has an axis before the range. */
static bsm_status convert_quantize(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { INPUT, SCALE, ZERO_POINT, RANGE };
  const bool channels = bsm_args_variant(args) == PER_CHANNEL;
  const size_t range = channels ? RANGE + 1 : RANGE;
  const bsm_dtype f32 = BSM_DTYPE_FLOAT;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT), *limits[2];
  int32_t axis;
  if (!x) return bsm_ctx_take_error(ctx);
  const bsm_dtype dtype = bsm_arg_dtype_or(args, range + 2, BSM_DTYPE_INT8);
  BSM_TRY(find_axis(args, x, &axis));
  BSM_CHECK(
      !(x->dtype == BSM_DTYPE_DOUBLE || bsm_dtype_is_integral(x->dtype, true)),
      "quantization of %s", bsm_dtype_name(x->dtype));
  /* The inverse of one number is that of a Python float. */
  bsm_itensor *inverse =
      quantizer(ctx, args, SCALE, channels ? f32 : BSM_DTYPE_DOUBLE, x, axis);
  inverse =
      bsm_emit_cast(ctx, bsm_emit_unary(ctx, inverse, BSM_UNARY_RECIP), f32);
  bsm_itensor *q =
      quantized(ctx, bsm_emit_cast(ctx, x, f32), inverse,
                quantizer(ctx, args, ZERO_POINT, f32, x, axis), false);
  for (size_t i = 0; i < 2; i++) {
    limits[i] = quantizer(ctx, args, range + i, f32, x, -1);
  }
  q = bsm_emit_binary(ctx, q, limits[0], BSM_ELEMENT_WISE_MAX);
  q = bsm_emit_binary(ctx, q, limits[1], BSM_ELEMENT_WISE_MIN);
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
  BSM_TRY(find_axis(args, q, &axis));
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
  bsm_itensor *x = bsm_emit_cast(ctx, q, whole);
  if (!bsm_arg_is_none(args, ZERO_POINT)) {
    bsm_itensor *zero = quantizer(ctx, args, ZERO_POINT, whole, q, axis);
    x = bsm_emit_binary(ctx, x, zero, BSM_ELEMENT_WISE_SUB);
  }
  x = bsm_emit_binary(ctx, bsm_emit_cast(ctx, x, dtype),
                      quantizer(ctx, args, SCALE, dtype, q, axis),
                      BSM_ELEMENT_WISE_PROD);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, x, out));
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
};
BSM_CONVERTER_TABLE(quantization, patterns);
