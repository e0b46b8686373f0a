/* SPDX-License-Identifier: Apache-2.0 */
/* Unary operations: floating ones promote integers to float32, rounding ones
 * leave integers alone. */
#include <math.h>

#include "conversion/emit.h"

/* Floating results; `variant` is the operation. */
static bsm_status convert_floating(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, SELF));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_unary(ctx, x, (bsm_unary_operation)bsm_args_variant(args)));
}

/* ceil, floor, round, trunc: nothing to do for integers. */
static bsm_status convert_rounding(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (x && bsm_dtype_is_floating(x->dtype)) {
    x = bsm_emit_unary(ctx, x, (bsm_unary_operation)bsm_args_variant(args));
  }
  return bsm_emit_output(ctx, node, 0, x);
}

static bsm_status convert_round_decimals(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum { SELF, DECIMALS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t decimals = bsm_arg_unwrap_to_int(args, DECIMALS);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(decimals == 0 ||
                (x->dtype != BSM_DTYPE_HALF && x->dtype != BSM_DTYPE_BFLOAT16),
            "decimals of %s", bsm_dtype_name(x->dtype));
  bsm_itensor *ten =
      bsm_emit_scalar(ctx, x->dtype, pow(10, fabs((double)decimals)));
  bsm_element_wise_operation there = BSM_ELEMENT_WISE_PROD;
  bsm_element_wise_operation back = BSM_ELEMENT_WISE_DIV;
  if (decimals < 0) {
    there = BSM_ELEMENT_WISE_DIV;
    back = BSM_ELEMENT_WISE_PROD;
  }
  x = bsm_emit_unary(ctx, bsm_emit_binary(ctx, x, ten, there), BSM_UNARY_ROUND);
  return bsm_emit_output(ctx, node, 0, bsm_emit_binary(ctx, x, ten, back));
}

/* abs, neg, sign, square: any number. */
static bsm_status convert_keeping(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF };
  bsm_unary_operation operation = (bsm_unary_operation)bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  if (x->dtype == BSM_DTYPE_BOOL) {
    BSM_CHECK(operation != BSM_UNARY_NEG,
              "Negation, the `-` operator, on a bool tensor is not supported");
    if (operation == BSM_UNARY_SQUARE) {
      x = bsm_emit_cast(ctx, x, BSM_DTYPE_INT64);
    }
  } else {
    x = bsm_emit_unary(ctx, x, operation);
  }
  return bsm_emit_output(ctx, node, 0, x);
}

/* In place the result has the dtype of what it is written to. */
enum { OUT_OF_PLACE, IN_PLACE };
static bsm_status convert_logical_not(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *out =
      bsm_emit_unary(ctx, bsm_emit_cast(ctx, x, BSM_DTYPE_BOOL), BSM_UNARY_NOT);
  /* In place the dtype of self stays. */
  if (x && strcmp(bsm_node_kind(node), "aten::logical_not_") == 0) {
    out = bsm_emit_cast(ctx, out, x->dtype);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

static bsm_status convert_bitwise_not(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_unary_operation operation = bsm_itensor_dtype(x) == BSM_DTYPE_BOOL
                                      ? BSM_UNARY_NOT
                                      : BSM_UNARY_BITWISE_NOT;
  return bsm_emit_output(ctx, node, 0, bsm_emit_unary(ctx, x, operation));
}

/* isnan, isinf, isfinite; `variant` says which. */
enum { TEST_NAN, TEST_INF, TEST_FINITE, TEST_POSITIVE, TEST_NEGATIVE };

static bsm_status convert_test(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF };
  int test = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF), *out;
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(!bsm_dtype_is_complex(x->dtype), "a test of %s",
            bsm_dtype_name(x->dtype));
  BSM_CHECK(!bsm_dtype_is_complex(x->dtype), "%s of %s", bsm_node_kind(node),
            bsm_dtype_name(x->dtype));
  if (!bsm_dtype_is_floating(x->dtype)) {
    out = bsm_emit_fill(ctx, BSM_DTYPE_BOOL, x->dims, test == TEST_FINITE);
  } else if (test == TEST_NAN) {
    out = bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN);
  } else if (test == TEST_INF) {
    out = bsm_emit_unary(ctx, x, BSM_UNARY_ISINF);
  } else if (test != TEST_FINITE) {
    out = bsm_emit_binary(
        ctx, x,
        bsm_emit_scalar(ctx, x->dtype,
                        test == TEST_POSITIVE ? INFINITY : -INFINITY),
        BSM_ELEMENT_WISE_EQUAL);
  } else {
    bsm_itensor *bad = bsm_emit_binary(
        ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN),
        bsm_emit_unary(ctx, x, BSM_UNARY_ISINF), BSM_ELEMENT_WISE_OR);
    out = bsm_emit_unary(ctx, bad, BSM_UNARY_NOT);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

#define UNARY(name, function, operation)                                      \
  {"aten::" name "(Tensor self) -> Tensor", function, BSM_UNARY_##operation}, \
  {                                                                           \
    "aten::" name "_(Tensor(a!) self) -> Tensor(a!)", function,               \
        BSM_UNARY_##operation                                                 \
  }

#define SPECIAL(name, operation)                                       \
  {                                                                    \
    "aten::special_" name "(Tensor self) -> Tensor", convert_floating, \
        BSM_UNARY_##operation                                          \
  }

static const bsm_conversion_pattern patterns[] = {
    SPECIAL("erf", ERF),
    SPECIAL("erfc", ERFC),
    SPECIAL("exp2", EXP2),
    SPECIAL("expm1", EXPM1),
    SPECIAL("log1p", LOG1P),
    {"aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
     convert_round_decimals, 0},
    UNARY("exp", convert_floating, EXP),
    UNARY("exp2", convert_floating, EXP2),
    UNARY("expm1", convert_floating, EXPM1),
    UNARY("log", convert_floating, LOG),
    UNARY("log2", convert_floating, LOG2),
    UNARY("log10", convert_floating, LOG10),
    UNARY("log1p", convert_floating, LOG1P),
    UNARY("sqrt", convert_floating, SQRT),
    UNARY("rsqrt", convert_floating, RSQRT),
    UNARY("reciprocal", convert_floating, RECIP),
    UNARY("sin", convert_floating, SIN),
    UNARY("cos", convert_floating, COS),
    UNARY("tan", convert_floating, TAN),
    UNARY("sinh", convert_floating, SINH),
    UNARY("cosh", convert_floating, COSH),
    UNARY("asin", convert_floating, ASIN),
    UNARY("acos", convert_floating, ACOS),
    UNARY("atan", convert_floating, ATAN),
    UNARY("asinh", convert_floating, ASINH),
    UNARY("acosh", convert_floating, ACOSH),
    UNARY("atanh", convert_floating, ATANH),
    UNARY("arcsin", convert_floating, ASIN),
    UNARY("arccos", convert_floating, ACOS),
    UNARY("arctan", convert_floating, ATAN),
    UNARY("arcsinh", convert_floating, ASINH),
    UNARY("arccosh", convert_floating, ACOSH),
    UNARY("arctanh", convert_floating, ATANH),
    UNARY("erf", convert_floating, ERF),
    UNARY("erfc", convert_floating, ERFC),
    UNARY("frac", convert_floating, FRAC),
    UNARY("ceil", convert_rounding, CEIL),
    UNARY("floor", convert_rounding, FLOOR),
    UNARY("round", convert_rounding, ROUND),
    UNARY("trunc", convert_rounding, TRUNC),
    UNARY("fix", convert_rounding, TRUNC),
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
     convert_round_decimals, 0},
    UNARY("abs", convert_keeping, ABS),
    UNARY("absolute", convert_keeping, ABS),
    UNARY("neg", convert_keeping, NEG),
    UNARY("negative", convert_keeping, NEG),
    UNARY("sign", convert_keeping, SIGN),
    UNARY("sgn", convert_keeping, SIGN),
    UNARY("square", convert_keeping, SQUARE),
    {"aten::logical_not(Tensor self) -> Tensor", convert_logical_not,
     OUT_OF_PLACE},
    {"aten::logical_not_(Tensor(a!) self) -> Tensor(a!)", convert_logical_not,
     IN_PLACE},
    UNARY("bitwise_not", convert_bitwise_not, BITWISE_NOT),
    {"aten::isnan(Tensor self) -> Tensor", convert_test, TEST_NAN},
    {"aten::isinf(Tensor self) -> Tensor", convert_test, TEST_INF},
    {"aten::isfinite(Tensor self) -> Tensor", convert_test, TEST_FINITE},
    {"aten::isposinf(Tensor self) -> Tensor", convert_test, TEST_POSITIVE},
    {"aten::isneginf(Tensor self) -> Tensor", convert_test, TEST_NEGATIVE},
};
BSM_CONVERTER_TABLE(unary, patterns);
