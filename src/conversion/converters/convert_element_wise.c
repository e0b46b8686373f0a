/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations of two tensors, with PyTorch's type promotion:
 * both operands are brought to the common dtype, constants when converting. */
#include <math.h>
#include <string.h>

#include "conversion/emit.h"

/* Bits of `variant` beside the operation. */
enum {
  OPERATION = 0xff,
  IN_PLACE = 0x100, /* the result has the dtype of self */
  REVERSE = 0x200,  /* other op self */
  ALPHA = 0x400,    /* argument 2 multiplies other */
};

/* Two operands in their common dtype. */
typedef struct pair {
  bsm_itensor *a, *b;
  bsm_dtype dtype, self_dtype;
} pair;

static pair operands(bsm_conversion_ctx *ctx, const bsm_args *args,
                     bool floating) {
  bsm_operand both[2] = {bsm_operand_of(ctx, args, 0),
                         bsm_operand_of(ctx, args, 1)};
  pair out = {0};
  out.self_dtype = both[0].dtype;
  if (both[0].missing || both[1].missing) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "an operand is not a tensor or a number");
    return out;
  }
  out.dtype = bsm_operands_dtype(both, 2);
  if (floating && !bsm_dtype_is_floating(out.dtype)) {
    out.dtype = BSM_DTYPE_FLOAT;
  }
  out.a = bsm_operand_emit(ctx, &both[0], out.dtype);
  out.b = bsm_operand_emit(ctx, &both[1], out.dtype);
  return out;
}

/* On bools, arithmetic is logic. */
static bsm_element_wise_operation for_dtype(
    bsm_element_wise_operation operation, bsm_dtype dtype) {
  if (dtype != BSM_DTYPE_BOOL) return operation;
  switch (operation) {
    case BSM_ELEMENT_WISE_SUM:
    case BSM_ELEMENT_WISE_MAX:
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return BSM_ELEMENT_WISE_OR;
    case BSM_ELEMENT_WISE_PROD:
    case BSM_ELEMENT_WISE_MIN:
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return BSM_ELEMENT_WISE_AND;
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return BSM_ELEMENT_WISE_XOR;
    default:
      return operation;
  }
}

/* Whether a divisor without dims would be rounded to half or bfloat16, before a
 * quotient that is rounded tells the difference. */
static bool is_rounded(bsm_conversion_ctx *ctx, const bsm_args *args,
                       const bsm_itensor *a,
                       bsm_element_wise_operation operation) {
  const bsm_operand b = bsm_operand_of(ctx, args, 1);
  const bool rounds = operation == BSM_ELEMENT_WISE_FLOOR_DIV ||
                      operation == BSM_ELEMENT_WISE_TRUNC_DIV;
  if (!a || !rounds || b.missing || b.priority == 0 || b.dtype == a->dtype) {
    return false;
  }
  const bool half = a->dtype == BSM_DTYPE_HALF;
  if (!half && a->dtype != BSM_DTYPE_BFLOAT16) return false;
  if (b.itensor || b.tensor) return true;
  const float wide = (float)b.scalar.d;
  const float narrow = half
                           ? bsm_half_to_float(bsm_float_to_half(wide))
                           : bsm_bfloat16_to_float(bsm_float_to_bfloat16(wide));
  return wide < narrow || wide > narrow;
}

/* alpha * x, nothing when alpha is 1. */
static bsm_itensor *times_alpha(bsm_conversion_ctx *ctx, const bsm_args *args,
                                size_t i, bsm_itensor *x) {
  if (bsm_args_count(args) <= i || !x) return x;
  bsm_scalar alpha = bsm_arg_unwrap_to_scalar(args, i);
  if (!(alpha.d < 1) && !(alpha.d > 1)) return x;
  if (alpha.dtype == BSM_DTYPE_DOUBLE && !bsm_dtype_is_floating(x->dtype)) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "a fraction as factor of %s",
                         bsm_dtype_name(x->dtype));
  }
  bsm_operand operand = bsm_operand_of_scalar(alpha);
  return bsm_emit_binary(ctx, x, bsm_operand_emit(ctx, &operand, x->dtype),
                         BSM_ELEMENT_WISE_PROD);
}

static bsm_status convert_binary(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  int variant = bsm_args_variant(args);
  bsm_element_wise_operation operation =
      (bsm_element_wise_operation)(variant & OPERATION);
  bool floating =
      operation == BSM_ELEMENT_WISE_DIV || operation == BSM_ELEMENT_WISE_ATAN2;
  pair p = operands(ctx, args, floating);
  bsm_itensor *out;
  BSM_CHECK(p.dtype != BSM_DTYPE_BOOL || operation != BSM_ELEMENT_WISE_SUB,
            "Subtraction, the `-` operator, with a bool tensor is not "
            "supported.");
  operation = for_dtype(operation, p.dtype);
  if (variant & REVERSE) {
    if (variant & ALPHA) p.a = times_alpha(ctx, args, 2, p.a);
    out = bsm_emit_binary(ctx, p.b, p.a, operation);
  } else {
    BSM_CHECK(!is_rounded(ctx, args, p.a, operation),
              "a rounded quotient by a number of another dtype");
    if (variant & ALPHA) p.b = times_alpha(ctx, args, 2, p.b);
    out = bsm_emit_binary(ctx, p.a, p.b, operation);
  }
  if (variant & IN_PLACE) out = bsm_emit_cast(ctx, out, p.self_dtype);
  return bsm_emit_output(ctx, node, 0, out);
}

/* div with a rounding mode, and floor_divide. */
static bsm_status convert_div_mode(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, OTHER, ROUNDING_MODE };
  const char *mode = bsm_arg_unwrap_to_string_or(args, ROUNDING_MODE, "");
  bsm_element_wise_operation operation = BSM_ELEMENT_WISE_DIV;
  if (strcmp(mode, "floor") == 0) {
    operation = BSM_ELEMENT_WISE_FLOOR_DIV;
  } else if (strcmp(mode, "trunc") == 0) {
    operation = BSM_ELEMENT_WISE_TRUNC_DIV;
  } else {
    BSM_CHECK(!*mode,
              "div expected rounding_mode to be one of None, 'trunc', or "
              "'floor' but found '%s'",
              mode);
  }
  pair p = operands(ctx, args, operation == BSM_ELEMENT_WISE_DIV);
  BSM_CHECK(!is_rounded(ctx, args, p.a, operation),
            "a rounded quotient by a number of another dtype");
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_binary(ctx, p.a, p.b, operation));
}

/* logical_and, logical_or, logical_xor: any dtypes. */
static bsm_status convert_logical(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  const int variant = bsm_args_variant(args);
  bsm_operand a = bsm_operand_of(ctx, args, 0),
              b = bsm_operand_of(ctx, args, 1);
  bsm_itensor *out =
      bsm_emit_binary(ctx, bsm_operand_emit(ctx, &a, BSM_DTYPE_BOOL),
                      bsm_operand_emit(ctx, &b, BSM_DTYPE_BOOL),
                      (bsm_element_wise_operation)(variant & OPERATION));
  if (variant & IN_PLACE) out = bsm_emit_cast(ctx, out, a.dtype);
  return bsm_emit_output(ctx, node, 0, out);
}

/* The exponents that PyTorch also computes by other means. */
static bsm_itensor *pow_of_constant(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                    double exponent) {
  static const struct {
    double exponent;
    bsm_unary_operation operation;
  } known[] = {{2, BSM_UNARY_SQUARE},
               {0.5, BSM_UNARY_SQRT},
               {-0.5, BSM_UNARY_RSQRT},
               {-1, BSM_UNARY_RECIP}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (memcmp(&exponent, &known[i].exponent, sizeof exponent) == 0) {
      return bsm_emit_unary(ctx, x, known[i].operation);
    }
  }
  if (exponent >= 1 && exponent <= 1) return x;
  if (exponent >= 3 && exponent <= 3) {
    return bsm_emit_binary(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_SQUARE), x,
                           BSM_ELEMENT_WISE_PROD);
  }
  return bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, x->dtype, exponent),
                         BSM_ELEMENT_WISE_POW);
}

static bsm_status convert_pow(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, EXPONENT };
  bsm_operand self = bsm_operand_of(ctx, args, SELF);
  bsm_operand exponent = bsm_operand_of(ctx, args, EXPONENT);
  bsm_operand both[2] = {self, exponent};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  bool number = !exponent.itensor && !exponent.tensor && !exponent.missing;
  BSM_CHECK(dtype != BSM_DTYPE_BOOL, "pow of bool");
  BSM_CHECK(bsm_dtype_is_floating(dtype) || !number || exponent.scalar.d >= 0,
            "Integers to negative integer powers are not allowed.");
  bsm_itensor *x = bsm_operand_emit(ctx, &self, dtype), *out;
  if (number && bsm_dtype_is_floating(dtype) && x) {
    out = pow_of_constant(ctx, x, exponent.scalar.d);
  } else {
    out = bsm_emit_binary(ctx, x, bsm_operand_emit(ctx, &exponent, dtype),
                          BSM_ELEMENT_WISE_POW);
  }
  if (bsm_args_variant(args) & IN_PLACE) {
    out = bsm_emit_cast(ctx, out, self.dtype);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

/* clamp and its forms: args self, min, max. */
enum { CLAMP_BOTH, CLAMP_MIN, CLAMP_MAX };

static bsm_itensor *clamp(bsm_conversion_ctx *ctx, const bsm_operand *o) {
  bool numbers = true;
  bsm_dtype dtype = bsm_operands_dtype(o, 3);
  for (int i = 1; i < 3; i++) {
    numbers &= o[i].missing || (!o[i].itensor && !o[i].tensor);
  }
  bsm_itensor *x = bsm_operand_emit(ctx, &o[0], dtype);
  if (numbers && bsm_dtype_is_floating(dtype)) {
    return bsm_emit_activation(ctx, x, BSM_ACTIVATION_CLIP,
                               o[1].missing ? -(double)INFINITY : o[1].scalar.d,
                               o[2].missing ? (double)INFINITY : o[2].scalar.d);
  }
  if (!o[1].missing) {
    x = bsm_emit_binary(ctx, x, bsm_operand_emit(ctx, &o[1], dtype),
                        for_dtype(BSM_ELEMENT_WISE_MAX, dtype));
  }
  if (!o[2].missing) {
    x = bsm_emit_binary(ctx, x, bsm_operand_emit(ctx, &o[2], dtype),
                        for_dtype(BSM_ELEMENT_WISE_MIN, dtype));
  }
  return x;
}

static bsm_status convert_clamp(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_operand o[3] = {bsm_operand_of(ctx, args, 0)};
  int variant = bsm_args_variant(args);
  o[1].missing = o[2].missing = true;
  if (variant == CLAMP_MAX) {
    o[2] = bsm_operand_of(ctx, args, 1);
  } else {
    o[1] = bsm_operand_of(ctx, args, 1);
  }
  if (variant == CLAMP_BOTH) o[2] = bsm_operand_of(ctx, args, 2);
  BSM_CHECK(!o[1].missing || !o[2].missing,
            "torch.clamp: At least one of 'min' or 'max' must not be None");
  return bsm_emit_output(ctx, node, 0, clamp(ctx, o));
}

static bsm_status convert_where(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { CONDITION, SELF, OTHER };
  bsm_operand condition = bsm_operand_of(ctx, args, CONDITION);
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF),
                         bsm_operand_of(ctx, args, OTHER)};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, bsm_operand_emit(ctx, &condition, BSM_DTYPE_BOOL),
                      bsm_operand_emit(ctx, &both[0], dtype),
                      bsm_operand_emit(ctx, &both[1], dtype)));
}

static bsm_status convert_masked_fill(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, MASK, VALUE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_operand mask = bsm_operand_of(ctx, args, MASK);
  bsm_operand value = bsm_operand_of(ctx, args, VALUE);
  if (!x) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, bsm_operand_emit(ctx, &mask, BSM_DTYPE_BOOL),
                      bsm_operand_emit(ctx, &value, x->dtype), x));
}

/* self + value * (tensor1 op tensor2) */
static bsm_status convert_addc(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, TENSOR1, TENSOR2, VALUE };
  bsm_operand o[3];
  for (size_t i = 0; i < 3; i++) o[i] = bsm_operand_of(ctx, args, i);
  bsm_dtype dtype = bsm_operands_dtype(o, 3);
  bsm_element_wise_operation operation =
      (bsm_element_wise_operation)bsm_args_variant(args);
  BSM_CHECK(operation != BSM_ELEMENT_WISE_DIV || bsm_dtype_is_floating(dtype),
            "Integer division with addcdiv is no longer supported");
  bsm_itensor *product =
      bsm_emit_binary(ctx, bsm_operand_emit(ctx, &o[TENSOR1], dtype),
                      bsm_operand_emit(ctx, &o[TENSOR2], dtype), operation);
  product = times_alpha(ctx, args, VALUE, product);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_binary(ctx, bsm_operand_emit(ctx, &o[SELF], dtype), product,
                      BSM_ELEMENT_WISE_SUM));
}

/* lerp(self, end, weight) */
static bsm_status convert_lerp(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, END, WEIGHT };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *end = bsm_arg_itensor_or_freeze(ctx, args, END);
  bsm_operand weight = bsm_operand_of(ctx, args, WEIGHT);
  if (!x) return bsm_ctx_take_error(ctx);
  const bool number = !weight.itensor && !weight.tensor && !weight.missing;
  return bsm_emit_output(
      ctx, node, 0,
      number ? bsm_emit_lerp_by(ctx, x, end, weight.scalar.d)
             : bsm_emit_lerp(ctx, x, end,
                             bsm_operand_emit(ctx, &weight, x->dtype)));
}

#define E(operation) BSM_ELEMENT_WISE_##operation
/* Tensor and Scalar overloads, plain and in place. */
#define BOTH(name, operation)                                                 \
  {"aten::" name ".Tensor(Tensor self, Tensor other) -> Tensor",              \
   convert_binary, E(operation)},                                             \
      {"aten::" name ".Scalar(Tensor self, Scalar other) -> Tensor",          \
       convert_binary, E(operation)},                                         \
      {"aten::" name "_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", \
       convert_binary, E(operation) | IN_PLACE},                              \
  {                                                                           \
    "aten::" name "_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",    \
        convert_binary, E(operation) | IN_PLACE                               \
  }
#define WITH_ALPHA(name, operation)                                     \
  {"aten::" name                                                        \
   ".Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",   \
   convert_binary, E(operation) | ALPHA},                               \
      {"aten::" name                                                    \
       ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",  \
       convert_binary, E(operation) | ALPHA},                           \
      {"aten::" name                                                    \
       "_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> " \
       "Tensor(a!)",                                                    \
       convert_binary, E(operation) | ALPHA | IN_PLACE},                \
  {                                                                     \
    "aten::" name                                                       \
    "_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> "       \
    "Tensor(a!)",                                                       \
        convert_binary, E(operation) | ALPHA | IN_PLACE                 \
  }
#define TENSORS(name, operation)                                           \
  {                                                                        \
    "aten::" name "(Tensor self, Tensor other) -> Tensor", convert_binary, \
        E(operation)                                                       \
  }
#define LOGICAL(name, operation)                                           \
  {"aten::" name "(Tensor self, Tensor other) -> Tensor", convert_logical, \
   E(operation)},                                                          \
  {                                                                        \
    "aten::" name "_(Tensor(a!) self, Tensor other) -> Tensor(a!)",        \
        convert_logical, E(operation) | IN_PLACE                           \
  }

static const bsm_conversion_pattern patterns[] = {
    WITH_ALPHA("add", SUM),
    WITH_ALPHA("sub", SUB),
    WITH_ALPHA("subtract", SUB),
    {"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
     "Tensor",
     convert_binary, E(SUB) | ALPHA | REVERSE},
    {"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     convert_binary, E(SUB) | ALPHA | REVERSE},
    BOTH("mul", PROD),
    BOTH("multiply", PROD),
    BOTH("div", DIV),
    BOTH("divide", DIV),
    BOTH("true_divide", DIV),
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? "
     "rounding_mode) -> Tensor",
     convert_div_mode, 0},
    {"aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? "
     "rounding_mode) -> Tensor",
     convert_div_mode, 0},
    {"aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? "
     "rounding_mode) -> Tensor",
     convert_div_mode, 0},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? "
     "rounding_mode) -> Tensor",
     convert_div_mode, 0},
    TENSORS("floor_divide", FLOOR_DIV),
    {"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_binary, E(FLOOR_DIV)},
    BOTH("remainder", REMAINDER),
    {"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
     convert_binary, E(REMAINDER)},
    BOTH("fmod", FMOD),
    TENSORS("atan2", ATAN2),
    TENSORS("arctan2", ATAN2),
    {"aten::max.other(Tensor self, Tensor other) -> Tensor", convert_binary,
     E(MAX)},
    {"aten::min.other(Tensor self, Tensor other) -> Tensor", convert_binary,
     E(MIN)},
    TENSORS("maximum", MAX),
    TENSORS("minimum", MIN),
    BOTH("eq", EQUAL),
    BOTH("ne", NOT_EQUAL),
    BOTH("gt", GREATER),
    BOTH("lt", LESS),
    BOTH("ge", GREATER_EQUAL),
    BOTH("le", LESS_EQUAL),
    BOTH("greater", GREATER),
    BOTH("less", LESS),
    BOTH("greater_equal", GREATER_EQUAL),
    BOTH("less_equal", LESS_EQUAL),
    BOTH("not_equal", NOT_EQUAL),
    BOTH("bitwise_and", BITWISE_AND),
    BOTH("bitwise_or", BITWISE_OR),
    BOTH("bitwise_xor", BITWISE_XOR),
    {"aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(BITWISE_AND)},
    {"aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_binary, E(BITWISE_AND)},
    {"aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", convert_binary,
     E(BITWISE_OR)},
    {"aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", convert_binary,
     E(BITWISE_OR)},
    {"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(BITWISE_XOR)},
    {"aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_binary, E(BITWISE_XOR)},
    {"aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(SHIFT_LEFT)},
    {"aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_binary, E(SHIFT_LEFT)},
    {"aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(SHIFT_RIGHT)},
    {"aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_binary, E(SHIFT_RIGHT)},
    {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(SHIFT_LEFT)},
    {"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> "
     "Tensor",
     convert_binary, E(SHIFT_LEFT)},
    {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     convert_binary, E(SHIFT_RIGHT)},
    {"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> "
     "Tensor",
     convert_binary, E(SHIFT_RIGHT)},
    {"aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
     convert_binary, E(BITWISE_AND)},
    {"aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
     convert_binary, E(BITWISE_OR)},
    {"aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
     convert_binary, E(BITWISE_XOR)},
    {"aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> "
     "Tensor",
     convert_binary, E(SHIFT_LEFT)},
    {"aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> "
     "Tensor",
     convert_binary, E(SHIFT_RIGHT)},
    LOGICAL("logical_and", AND),
    LOGICAL("logical_or", OR),
    LOGICAL("logical_xor", XOR),
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     convert_pow, 0},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     convert_pow, 0},
    {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", convert_pow,
     0},
    {"aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
     convert_pow, IN_PLACE},
    {"aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
     convert_pow, IN_PLACE},
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     convert_clamp, CLAMP_BOTH},
    {"aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> "
     "Tensor(a!)",
     convert_clamp, CLAMP_BOTH},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> "
     "Tensor",
     convert_clamp, CLAMP_BOTH},
    {"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     convert_clamp, CLAMP_BOTH},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> "
     "Tensor",
     convert_clamp, CLAMP_BOTH},
    {"aten::clamp_min(Tensor self, Scalar min) -> Tensor", convert_clamp,
     CLAMP_MIN},
    {"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", convert_clamp,
     CLAMP_MIN},
    {"aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)",
     convert_clamp, CLAMP_MIN},
    {"aten::clamp_max(Tensor self, Scalar max) -> Tensor", convert_clamp,
     CLAMP_MAX},
    {"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", convert_clamp,
     CLAMP_MAX},
    {"aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)",
     convert_clamp, CLAMP_MAX},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     convert_where, 0},
    {"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> "
     "Tensor",
     convert_where, 0},
    {"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> "
     "Tensor",
     convert_where, 0},
    {"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> "
     "Tensor",
     convert_where, 0},
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> "
     "Tensor",
     convert_masked_fill, 0},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> "
     "Tensor",
     convert_masked_fill, 0},
    {"aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) "
     "-> Tensor(a!)",
     convert_masked_fill, 0},
    {"aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) "
     "-> Tensor(a!)",
     convert_masked_fill, 0},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar "
     "value=1) -> Tensor",
     convert_addc, E(PROD)},
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar "
     "value=1) -> Tensor",
     convert_addc, E(DIV)},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
     convert_lerp, 0},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
     convert_lerp, 0},
};
BSM_CONVERTER_TABLE(element_wise, patterns);
