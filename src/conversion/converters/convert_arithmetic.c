/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of two tensors that are a few element-wise layers each. */
#include "conversion/emit.h"

/* Powers in float64, whatever the operands are. */
static bsm_status convert_float_power(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, EXPONENT };
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF),
                         bsm_operand_of(ctx, args, EXPONENT)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  BSM_CHECK(!bsm_dtype_is_complex(dtype), "float_power of %s",
            bsm_dtype_name(dtype));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_binary(ctx, bsm_operand_emit(ctx, &both[0], BSM_DTYPE_DOUBLE),
                      bsm_operand_emit(ctx, &both[1], BSM_DTYPE_DOUBLE),
                      BSM_ELEMENT_WISE_POW));
}

/* self * 2 ** other; the power by an integer has the dtype of self. */
static bsm_status convert_ldexp(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, OTHER };
  bsm_itensor *other = bsm_arg_itensor_or_freeze(ctx, args, OTHER);
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF)};
  BSM_CHECK(bsm_operand_of(ctx, args, OTHER).priority < 2, "ldexp by a number");
  if (!other) return bsm_ctx_take_error(ctx);
  BSM_CHECK(!bsm_dtype_is_complex(both[0].dtype), "ldexp of %s",
            bsm_dtype_name(both[0].dtype));
  if (!bsm_dtype_is_floating(other->dtype)) {
    const bool floating = bsm_dtype_is_floating(both[0].dtype);
    other =
        bsm_emit_cast(ctx, other, floating ? both[0].dtype : BSM_DTYPE_FLOAT);
  }
  bsm_itensor *power = bsm_emit_unary(ctx, other, BSM_UNARY_EXP2);
  if (!power) return bsm_ctx_take_error(ctx);
  both[1] = bsm_operand_of_itensor(power);
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_binary(ctx, bsm_operand_emit(ctx, &both[0], dtype),
                      bsm_operand_emit(ctx, &both[1], dtype),
                      BSM_ELEMENT_WISE_PROD));
}

/* fmax and fmin (`variant` is the operation): NaN gives way to a number. */
static bsm_status convert_fmax(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, OTHER };
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF),
                         bsm_operand_of(ctx, args, OTHER)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  bool max = bsm_args_variant(args) == BSM_ELEMENT_WISE_MAX;
  bsm_itensor *a = bsm_operand_emit(ctx, &both[0], dtype);
  bsm_itensor *b = bsm_operand_emit(ctx, &both[1], dtype);
  bsm_element_wise_operation operation =
      dtype == BSM_DTYPE_BOOL
          ? (max ? BSM_ELEMENT_WISE_OR : BSM_ELEMENT_WISE_AND)
      : max ? BSM_ELEMENT_WISE_MAX
            : BSM_ELEMENT_WISE_MIN;
  bsm_itensor *out = bsm_emit_binary(ctx, a, b, operation);
  if (bsm_dtype_is_floating(dtype)) {
    bsm_itensor *no_a = bsm_emit_unary(ctx, a, BSM_UNARY_ISNAN);
    bsm_itensor *no_b = bsm_emit_unary(ctx, b, BSM_UNARY_ISNAN);
    out = bsm_emit_select(ctx, no_b, a, out);
    out = bsm_emit_select(ctx, no_a, b, out);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

/* The p-norm of the difference. */
static bsm_status convert_dist(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, OTHER, P };
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF),
                         bsm_operand_of(ctx, args, OTHER)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  BSM_CHECK(bsm_dtype_is_floating(dtype), "dist of %s", bsm_dtype_name(dtype));
  bsm_itensor *x = bsm_emit_binary(ctx, bsm_operand_emit(ctx, &both[0], dtype),
                                   bsm_operand_emit(ctx, &both[1], dtype),
                                   BSM_ELEMENT_WISE_SUB);
  if (!x) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_p_norm(ctx, x, bsm_arg_unwrap_to_double(args, P),
                      (1u << (unsigned)bsm_rank(x)) - 1, false));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     convert_float_power, 0},
    {"aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     convert_float_power, 0},
    {"aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
     convert_float_power, 0},
    {"aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", convert_ldexp,
     0},
    {"aten::fmax(Tensor self, Tensor other) -> Tensor", convert_fmax,
     BSM_ELEMENT_WISE_MAX},
    {"aten::fmin(Tensor self, Tensor other) -> Tensor", convert_fmax,
     BSM_ELEMENT_WISE_MIN},
    {"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
     convert_dist, 0},
};
BSM_CONVERTER_TABLE(arithmetic, patterns);
