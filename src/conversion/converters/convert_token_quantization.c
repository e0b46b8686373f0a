/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization with a scale for each token, or for each group of a row, and
 * how such scales are chosen: what dynamic quantization leaves in an exported
 * program. PyTorch writes these operators as arithmetic, each result of which
 * is rounded to its dtype; these are the same layers in the same order. Layers
 * that fuse round 16 bits only in the end, so such chains are refused. */
#include "conversion/emit.h"

enum { PER_TOKEN, PER_GROUP };

static bsm_itensor *with_number(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                double value,
                                bsm_element_wise_operation operation) {
  if (!x) return NULL;
  return bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, x->dtype, value),
                         operation);
}

/* Of tensors in their common dtype. */
static bsm_itensor *promoted(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bsm_itensor *b,
                             bsm_element_wise_operation operation) {
  if (!a || !b) return NULL;
  const bsm_operand both[2] = {bsm_operand_of_itensor(a),
                               bsm_operand_of_itensor(b)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  return bsm_emit_binary(ctx, bsm_operand_emit(ctx, &both[0], dtype),
                         bsm_operand_emit(ctx, &both[1], dtype), operation);
}

static bsm_status check_rounding(const bsm_itensor *between) {
  BSM_CHECK(!between || bsm_dtype_size(between->dtype) > 2 ||
                !bsm_dtype_is_floating(between->dtype),
            "quantization in steps of %s", bsm_dtype_name(between->dtype));
  return BSM_OK;
}

/* What is scaled, and by what: with a scale for each group, rows of groups. */
typedef struct scaled {
  bsm_dims dims; /* of the input */
  bsm_itensor *x, *scale, *zero;
} scaled;

static bsm_status cut_groups(bsm_conversion_ctx *ctx, const bsm_args *args,
                             scaled *s) {
  enum { GROUP = 6 };
  if (bsm_args_variant(args) != PER_GROUP) return BSM_OK;
  const int64_t group = bsm_arg_unwrap_to_int(args, GROUP);
  const int64_t n = bsm_itensor_numel(s->x);
  BSM_CHECK(group > 0 && n % group == 0, "group_size %lld of %s",
            (long long)group, bsm_dims_str(s->dims));
  bsm_itensor **of_groups[] = {&s->scale, &s->zero};
  s->x = bsm_emit_reshape(ctx, s->x, (bsm_dims){2, {n / group, group}});
  for (size_t i = 0; i < 2; i++) {
    if (!*of_groups[i]) continue;
    const int64_t count = bsm_itensor_numel(*of_groups[i]);
    BSM_CHECK(count == 1 || count == n / group, "%lld scales for %lld groups",
              (long long)count, (long long)(n / group));
    *of_groups[i] =
        bsm_emit_reshape(ctx, *of_groups[i], (bsm_dims){2, {count, 1}});
  }
  return BSM_OK;
}

static bsm_status read_scaled(bsm_conversion_ctx *ctx, const bsm_args *args,
                              scaled *s) {
  enum { INPUT, SCALES, ZERO_POINTS };
  s->x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  s->scale = bsm_arg_itensor_or_freeze(ctx, args, SCALES);
  s->zero = NULL;
  if (!s->x || !s->scale) return bsm_ctx_take_error(ctx);
  if (!bsm_arg_is_none(args, ZERO_POINTS)) {
    s->zero = bsm_arg_itensor_or_freeze(ctx, args, ZERO_POINTS);
    if (!s->zero) return bsm_ctx_take_error(ctx);
  }
  s->dims = s->x->dims;
  BSM_CHECK(bsm_dtype_is_floating(s->scale->dtype), "scales of %s",
            bsm_dtype_name(s->scale->dtype));
  return cut_groups(ctx, args, s);
}

static bsm_itensor *join_groups(bsm_conversion_ctx *ctx, const bsm_args *args,
                                const scaled *s, bsm_itensor *y) {
  if (bsm_args_variant(args) != PER_GROUP) return y;
  return bsm_emit_reshape(ctx, y, s->dims);
}

/* quantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype),
 * quantize_per_channel_group(..., group_size): the zero point is added before
 * rounding. */
static bsm_status convert_quantize(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { LOW = 3, HIGH, DTYPE };
  scaled s;
  double least, most;
  BSM_TRY(read_scaled(ctx, args, &s));
  const bsm_dtype dtype = bsm_arg_dtype_or(args, DTYPE, BSM_DTYPE_FLOAT);
  const double low = bsm_arg_unwrap_to_double(args, LOW);
  const double high = bsm_arg_unwrap_to_double(args, HIGH);
  BSM_CHECK(s.zero && bsm_dtype_is_floating(s.x->dtype), "quantization of %s",
            bsm_dtype_name(s.x->dtype));
  /* PyTorch looks at the range of tokens alone: what a dtype does not hold
   * wraps. */
  BSM_CHECK(bsm_args_variant(args) == PER_GROUP ||
                (bsm_dtype_is_integral(dtype, false) &&
                 bsm_quantize_range(dtype, &least, &most) && low >= least &&
                 high <= most),
            "a range that %s does not hold", bsm_dtype_name(dtype));
  BSM_CHECK(low <= high, "a range from %g to %g", low, high);
  bsm_itensor *t =
      promoted(ctx, s.x, bsm_emit_unary(ctx, s.scale, BSM_UNARY_RECIP),
               BSM_ELEMENT_WISE_PROD);
  BSM_TRY(check_rounding(t));
  t = promoted(ctx, t, s.zero, BSM_ELEMENT_WISE_SUM);
  t = bsm_emit_unary(ctx, t, BSM_UNARY_ROUND);
  t = with_number(ctx, t, low, BSM_ELEMENT_WISE_MAX);
  t = with_number(ctx, t, high, BSM_ELEMENT_WISE_MIN);
  t = bsm_emit_cast(ctx, t, dtype);
  return bsm_emit_output(ctx, node, 0, join_groups(ctx, args, &s, t));
}

/* dequantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype,
 * output_dtype), dequantize_per_channel_group(..., group_size, output_dtype) */
static bsm_status convert_dequantize(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  const size_t out_dtype = bsm_args_variant(args) == PER_GROUP ? 7 : 6;
  scaled s;
  BSM_TRY(read_scaled(ctx, args, &s));
  const bsm_dtype dtype = bsm_arg_dtype_or(args, out_dtype, BSM_DTYPE_FLOAT);
  bsm_itensor *t =
      s.zero ? promoted(ctx, s.x, s.zero, BSM_ELEMENT_WISE_SUB) : s.x;
  BSM_TRY(check_rounding(t));
  t = promoted(ctx, t, s.scale, BSM_ELEMENT_WISE_PROD);
  if (t && t->dtype != dtype) BSM_TRY(check_rounding(t));
  t = join_groups(ctx, args, &s, t);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, t, dtype));
}

/* ---- choosing ---- */

/* The tensor whose rows tell the scales. */
static bsm_status read_rows(bsm_conversion_ctx *ctx, const bsm_args *args,
                            bsm_itensor **x) {
  enum { INPUT };
  *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  if (!*x) return bsm_ctx_take_error(ctx);
  const int32_t rank = bsm_rank(*x);
  BSM_CHECK(rank > 0 && (*x)->dims.d[rank - 1] > 0 &&
                bsm_dtype_is_floating((*x)->dtype),
            "scales of the rows of %s", bsm_dims_str((*x)->dims));
  return BSM_OK;
}

static bsm_itensor *of_rows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            bsm_reduce_operation operation) {
  if (!x) return NULL;
  return bsm_emit_reduce(ctx, x, operation, 1u << (unsigned)(bsm_rank(x) - 1),
                         true);
}

/* choose_qparams_per_token(input, dtype): the greatest of a row is 127. */
static bsm_status convert_choose(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { INPUT, DTYPE };
  bsm_itensor *x;
  BSM_TRY(read_rows(ctx, args, &x));
  BSM_CHECK(bsm_arg_dtype_or(args, DTYPE, BSM_DTYPE_FLOAT) == BSM_DTYPE_INT8,
            "unsupported dtype in choose_qparams_per_token");
  bsm_itensor *t =
      of_rows(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ABS), BSM_REDUCE_MAX);
  if (!t) return bsm_ctx_take_error(ctx);
  if (t->dtype == BSM_DTYPE_HALF) t = bsm_emit_cast(ctx, t, BSM_DTYPE_FLOAT);
  t = with_number(ctx, t, 1e-5, BSM_ELEMENT_WISE_MAX);
  t = with_number(ctx, t, 127, BSM_ELEMENT_WISE_DIV);
  if (!t) return bsm_ctx_take_error(ctx);
  BSM_TRY(bsm_emit_output(ctx, node, 0, t));
  return bsm_emit_output(ctx, node, 1,
                         bsm_emit_fill(ctx, t->dtype, t->dims, 0));
}

/* choose_qparams_per_token_asymmetric(input, dtype): rows and 0 reach from -128
 * to 127, whatever the dtype is; the zero point is that of the end which is
 * less exact. */
static bsm_status convert_choose_asymmetric(bsm_conversion_ctx *ctx,
                                            const bsm_node *node,
                                            const bsm_args *args) {
  bsm_itensor *x;
  BSM_TRY(read_rows(ctx, args, &x));
  BSM_TRY(check_rounding(x));
  bsm_itensor *low = with_number(ctx, of_rows(ctx, x, BSM_REDUCE_MIN), 0,
                                 BSM_ELEMENT_WISE_MIN);
  bsm_itensor *high = with_number(ctx, of_rows(ctx, x, BSM_REDUCE_MAX), 0,
                                  BSM_ELEMENT_WISE_MAX);
  bsm_itensor *scale = bsm_emit_binary(ctx, high, low, BSM_ELEMENT_WISE_SUB);
  scale = with_number(ctx, scale, 255, BSM_ELEMENT_WISE_DIV);
  scale = with_number(ctx, scale, 0x1p-23, BSM_ELEMENT_WISE_MAX);
  low = bsm_emit_binary(ctx, low, scale, BSM_ELEMENT_WISE_DIV);
  high = bsm_emit_binary(ctx, high, scale, BSM_ELEMENT_WISE_DIV);
  bsm_itensor *errors = bsm_emit_binary(
      ctx, with_number(ctx, low, -128, BSM_ELEMENT_WISE_SUM),
      with_number(ctx, high, 127, BSM_ELEMENT_WISE_SUM), BSM_ELEMENT_WISE_SUM);
  if (!errors) return bsm_ctx_take_error(ctx);
  bsm_itensor *zero = bsm_emit_select(
      ctx, with_number(ctx, errors, 0, BSM_ELEMENT_WISE_GREATER),
      bsm_emit_binary(ctx, bsm_emit_scalar(ctx, x->dtype, -128), low,
                      BSM_ELEMENT_WISE_SUB),
      bsm_emit_binary(ctx, bsm_emit_scalar(ctx, x->dtype, 127), high,
                      BSM_ELEMENT_WISE_SUB));
  zero = with_number(ctx, zero, -128, BSM_ELEMENT_WISE_MAX);
  zero = with_number(ctx, zero, 127, BSM_ELEMENT_WISE_MIN);
  zero = bsm_emit_unary(ctx, zero, BSM_UNARY_ROUND);
  BSM_TRY(bsm_emit_output(ctx, node, 0,
                          bsm_emit_cast(ctx, scale, BSM_DTYPE_DOUBLE)));
  return bsm_emit_output(ctx, node, 1,
                         bsm_emit_cast(ctx, zero, BSM_DTYPE_INT64));
}

/* convert_element_type.no_fuse(input, dtype) */
static bsm_status convert_element_type(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  if (!x) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_cast(ctx, x, bsm_arg_dtype_or(args, 1, x->dtype)));
}

#define Q "quantized_decomposed::"
static const bsm_conversion_pattern patterns[] = {
    {Q "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     convert_quantize, PER_TOKEN},
    {Q "quantize_per_channel_group(Tensor input, Tensor scales, Tensor "
       "zero_points, int quant_min, int quant_max, ScalarType dtype, int "
       "group_size) -> Tensor",
     convert_quantize, PER_GROUP},
    {Q "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype, ScalarType "
       "output_dtype) -> Tensor",
     convert_dequantize, PER_TOKEN},
    {Q "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? "
       "zero_points, int quant_min, int quant_max, ScalarType dtype, int "
       "group_size, ScalarType output_dtype) -> Tensor",
     convert_dequantize, PER_GROUP},
    {Q "choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, "
       "Tensor)",
     convert_choose, 0},
    {Q "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> "
       "(Tensor, Tensor)",
     convert_choose_asymmetric, 0},
    {Q "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType "
       "dtype) -> (Tensor, Tensor)",
     convert_choose_asymmetric, 0},
    {Q "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> "
       "Tensor",
     convert_element_type, 0},
};
BSM_CONVERTER_TABLE(token_quantization, patterns);
