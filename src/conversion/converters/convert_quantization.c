/* SPDX-License-Identifier: Apache-2.0 */
/* fake_quantize as element-wise layers: any zero point and range, scales and
 * zero points of constants or computed, per tensor and per channel. */
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
};
BSM_CONVERTER_TABLE(quantization, patterns);
