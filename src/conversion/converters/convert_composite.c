/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions that no layer computes by itself, made of those that
 * layers do. */
#include <math.h>

#include "conversion/emit.h"

#define PI 3.14159265358979323846

/* Arguments 0 and 1 in their common dtype; `floating`: integers as float32. */
static bool two(bsm_conversion_ctx *ctx, const bsm_args *args, bool floating,
                bsm_itensor **a, bsm_itensor **b) {
  bsm_operand both[2] = {bsm_operand_of(ctx, args, 0),
                         bsm_operand_of(ctx, args, 1)};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  if (floating && !bsm_dtype_is_floating(dtype)) dtype = BSM_DTYPE_FLOAT;
  *a = bsm_operand_emit(ctx, &both[0], dtype);
  *b = bsm_operand_emit(ctx, &both[1], dtype);
  return *a && *b;
}

static bsm_itensor *number(bsm_conversion_ctx *ctx, const bsm_itensor *like,
                           double value) {
  return like ? bsm_emit_scalar(ctx, like->dtype, value) : NULL;
}

static bsm_itensor *sum(bsm_conversion_ctx *ctx, bsm_itensor *a,
                        bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUM);
}

static bsm_itensor *difference(bsm_conversion_ctx *ctx, bsm_itensor *a,
                               bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUB);
}

static bsm_itensor *product(bsm_conversion_ctx *ctx, bsm_itensor *a,
                            bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD);
}

static bsm_itensor *equal(bsm_conversion_ctx *ctx, bsm_itensor *x,
                          double value) {
  return bsm_emit_binary(ctx, x, number(ctx, x, value), BSM_ELEMENT_WISE_EQUAL);
}

static bsm_itensor *less(bsm_conversion_ctx *ctx, bsm_itensor *x,
                         double value) {
  return bsm_emit_binary(ctx, x, number(ctx, x, value), BSM_ELEMENT_WISE_LESS);
}

/* max(a, b) + log(1 + exp(-|a - b|)) in base e, or 2; equal infinities stay
 * (`variant` 1: base 2). */
static bsm_status convert_logaddexp(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  bsm_itensor *a, *b;
  bool base_2 = bsm_args_variant(args);
  if (!two(ctx, args, true, &a, &b)) return bsm_ctx_take_error(ctx);
  bsm_itensor *most = bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_MAX);
  bsm_itensor *gap = bsm_emit_unary(
      ctx, bsm_emit_unary(ctx, difference(ctx, a, b), BSM_UNARY_ABS),
      BSM_UNARY_NEG);
  gap = bsm_emit_unary(ctx, gap, base_2 ? BSM_UNARY_EXP2 : BSM_UNARY_EXP);
  gap = bsm_emit_unary(ctx, gap, BSM_UNARY_LOG1P);
  if (base_2) gap = product(ctx, gap, number(ctx, gap, 1 / log(2)));
  bsm_itensor *same = bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_EQUAL);
  same = bsm_emit_binary(ctx, same, bsm_emit_unary(ctx, most, BSM_UNARY_ISINF),
                         BSM_ELEMENT_WISE_AND);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_select(ctx, same, most, sum(ctx, most, gap)));
}

/* 1, but for the greater of two numbers where its square would leave what the
 * dtype has: powers of two, or (`back`) what takes them back. */
static bsm_itensor *scale_of(bsm_conversion_ctx *ctx, bsm_itensor *most,
                             bool back) {
  const bool wide = most && most->dtype == BSM_DTYPE_DOUBLE;
  const int up = wide ? 700 : 100, down = wide ? -600 : -80;
  bsm_itensor *large =
      bsm_emit_binary(ctx, most, number(ctx, most, ldexp(1, wide ? 500 : 60)),
                      BSM_ELEMENT_WISE_GREATER);
  bsm_itensor *scale = bsm_emit_select(
      ctx, large, number(ctx, most, ldexp(1, back ? -down : down)),
      number(ctx, most, 1));
  return bsm_emit_select(ctx, less(ctx, most, ldexp(1, wide ? -400 : -40)),
                         number(ctx, most, ldexp(1, back ? -up : up)), scale);
}

/* The root of the squares' sum, as exact for numbers whose squares are too
 * large or too small; infinite beside NaN, too. */
static bsm_status convert_hypot(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_itensor *a, *b;
  if (!two(ctx, args, true, &a, &b)) return bsm_ctx_take_error(ctx);
  const bsm_dtype dtype = a->dtype;
  const bsm_dtype wide =
      dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  a = bsm_emit_unary(ctx, bsm_emit_cast(ctx, a, wide), BSM_UNARY_ABS);
  b = bsm_emit_unary(ctx, bsm_emit_cast(ctx, b, wide), BSM_UNARY_ABS);
  bsm_itensor *most = bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_MAX);
  bsm_itensor *scale = scale_of(ctx, most, false);
  bsm_itensor *infinite =
      bsm_emit_binary(ctx, equal(ctx, a, INFINITY), equal(ctx, b, INFINITY),
                      BSM_ELEMENT_WISE_OR);
  a = product(ctx, a, scale);
  b = product(ctx, b, scale);
  bsm_itensor *y = bsm_emit_unary(
      ctx, sum(ctx, product(ctx, a, a), product(ctx, b, b)), BSM_UNARY_SQRT);
  y = product(ctx, y, scale_of(ctx, most, true));
  y = bsm_emit_select(ctx, infinite, number(ctx, most, INFINITY), y);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, y, dtype));
}

/* a * log(b), or (`variant` 1) log(1 + b); 0 where a is 0, NaN where b is. */
static bsm_status convert_xlogy(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_itensor *a, *b;
  if (!two(ctx, args, true, &a, &b)) return bsm_ctx_take_error(ctx);
  bsm_itensor *y = product(
      ctx, a,
      bsm_emit_unary(ctx, b,
                     bsm_args_variant(args) ? BSM_UNARY_LOG1P : BSM_UNARY_LOG));
  y = bsm_emit_select(ctx, equal(ctx, a, 0), number(ctx, a, 0), y);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, bsm_emit_unary(ctx, b, BSM_UNARY_ISNAN), b, y));
}

/* -x log(x); 0 at 0, -inf below. */
static bsm_status convert_entr(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0));
  bsm_itensor *y = product(ctx, x, bsm_emit_unary(ctx, x, BSM_UNARY_LOG));
  y = bsm_emit_unary(ctx, y, BSM_UNARY_NEG);
  y = bsm_emit_select(ctx, equal(ctx, x, 0), number(ctx, x, 0), y);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, less(ctx, x, 0), number(ctx, x, -INFINITY), y));
}

/* erfc(-x / sqrt(2)) / 2 */
static bsm_status convert_ndtr(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0));
  x = product(ctx, x, number(ctx, x, -sqrt(0.5)));
  x = bsm_emit_unary(ctx, x, BSM_UNARY_ERFC);
  return bsm_emit_output(ctx, node, 0, product(ctx, x, number(ctx, x, 0.5)));
}

/* |a - b| <= atol + rtol * |b|, in float64; what is equal is close, and NaN to
 * NaN when that is asked for. */
static bsm_status convert_isclose(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, OTHER, RTOL, ATOL, EQUAL_NAN };
  bsm_itensor *a = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *b = bsm_arg_itensor_or_freeze(ctx, args, OTHER);
  if (!a || !b) return bsm_ctx_take_error(ctx);
  BSM_CHECK(a->dtype == b->dtype && !bsm_dtype_is_complex(a->dtype),
            "isclose of %s and %s", bsm_dtype_name(a->dtype),
            bsm_dtype_name(b->dtype));
  a = bsm_emit_cast(ctx, a, BSM_DTYPE_DOUBLE);
  b = bsm_emit_cast(ctx, b, BSM_DTYPE_DOUBLE);
  bsm_itensor *gap = bsm_emit_unary(ctx, difference(ctx, a, b), BSM_UNARY_ABS);
  bsm_itensor *allowed =
      product(ctx, bsm_emit_unary(ctx, b, BSM_UNARY_ABS),
              number(ctx, b, bsm_arg_unwrap_to_double(args, RTOL)));
  allowed =
      sum(ctx, allowed, number(ctx, b, bsm_arg_unwrap_to_double(args, ATOL)));
  bsm_itensor *near = bsm_emit_binary(
      ctx, bsm_emit_binary(ctx, gap, allowed, BSM_ELEMENT_WISE_LESS_EQUAL),
      bsm_emit_unary(ctx, bsm_emit_unary(ctx, gap, BSM_UNARY_ISINF),
                     BSM_UNARY_NOT),
      BSM_ELEMENT_WISE_AND);
  near = bsm_emit_binary(ctx, near,
                         bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_EQUAL),
                         BSM_ELEMENT_WISE_OR);
  if (bsm_arg_unwrap_to_bool(args, EQUAL_NAN)) {
    bsm_itensor *both = bsm_emit_binary(
        ctx, bsm_emit_unary(ctx, a, BSM_UNARY_ISNAN),
        bsm_emit_unary(ctx, b, BSM_UNARY_ISNAN), BSM_ELEMENT_WISE_AND);
    near = bsm_emit_binary(ctx, near, both, BSM_ELEMENT_WISE_OR);
  }
  return bsm_emit_output(ctx, node, 0, near);
}

/* x < 0 ? 0 : x > 0 ? 1 : values; NaN counts as neither. */
static bsm_status convert_heaviside(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  bsm_itensor *x, *values;
  if (!two(ctx, args, false, &x, &values)) return bsm_ctx_take_error(ctx);
  bsm_itensor *step = bsm_emit_cast(
      ctx, bsm_emit_binary(ctx, x, number(ctx, x, 0), BSM_ELEMENT_WISE_GREATER),
      x->dtype);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_select(ctx, equal(ctx, x, 0), values, step));
}

/* |a| with the sign of b; 1 / b tells the zeros apart. */
static bsm_status convert_copysign(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  bsm_itensor *a, *b;
  if (!two(ctx, args, true, &a, &b)) return bsm_ctx_take_error(ctx);
  bsm_itensor *negative =
      bsm_emit_binary(ctx, less(ctx, b, 0),
                      less(ctx, bsm_emit_unary(ctx, b, BSM_UNARY_RECIP), 0),
                      BSM_ELEMENT_WISE_OR);
  a = bsm_emit_unary(ctx, a, BSM_UNARY_ABS);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, negative, bsm_emit_unary(ctx, a, BSM_UNARY_NEG), a));
}

/* log(x / (1 - x)), x first clamped to [eps, 1 - eps]. */
static bsm_status convert_logit(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, EPS };
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, SELF));
  if (!bsm_arg_is_none(args, EPS)) {
    double eps = bsm_arg_unwrap_to_double(args, EPS);
    BSM_CHECK(!x || x->dtype == BSM_DTYPE_FLOAT || x->dtype == BSM_DTYPE_DOUBLE,
              "logit: an eps for %s", bsm_dtype_name(x->dtype));
    BSM_CHECK(eps >= 0 && eps <= 0.5,
              "logit: an eps that is negative, or beyond 0.5");
    x = bsm_emit_activation(ctx, x, BSM_ACTIVATION_CLIP, eps, 1 - eps);
  }
  x = bsm_emit_binary(ctx, x, difference(ctx, number(ctx, x, 1), x),
                      BSM_ELEMENT_WISE_DIV);
  return bsm_emit_output(ctx, node, 0, bsm_emit_unary(ctx, x, BSM_UNARY_LOG));
}

/* sin(pi x) / (pi x), 1 at 0. */
static bsm_status convert_sinc(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0));
  bsm_itensor *angle = product(ctx, x, number(ctx, x, PI));
  bsm_itensor *y =
      bsm_emit_binary(ctx, bsm_emit_unary(ctx, angle, BSM_UNARY_SIN), angle,
                      BSM_ELEMENT_WISE_DIV);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, equal(ctx, x, 0), number(ctx, x, 1), y));
}

/* deg2rad, and rad2deg (`variant` 1). */
static bsm_status convert_angle(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0));
  double factor = bsm_args_variant(args) ? 180 / PI : PI / 180;
  return bsm_emit_output(ctx, node, 0, product(ctx, x, number(ctx, x, factor)));
}

/* The angle of a number in the complex plane: pi below 0; NaN of NaN. */
static bsm_status convert_real_angle(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0));
  bsm_itensor *y = bsm_emit_select(ctx, less(ctx, x, 0), number(ctx, x, PI),
                                   number(ctx, x, 0));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN), x, y));
}

/* Of what is not complex all is real. */
static bsm_status convert_isreal(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(!bsm_dtype_is_complex(x->dtype), "isreal of %s",
            bsm_dtype_name(x->dtype));
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_fill(ctx, BSM_DTYPE_BOOL, x->dims, 1));
}

/* The largest finite number of a floating dtype. */
static double largest(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
      return 65504;
    case BSM_DTYPE_BFLOAT16:
      return 3.3895313892515355e38;
    case BSM_DTYPE_DOUBLE:
      return 1.7976931348623157e308;
    default:
      return 3.4028234663852886e38;
  }
}

static bsm_status convert_nan_to_num(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, NAN_VALUE, POSITIVE, NEGATIVE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  double most = largest(x->dtype);
  if (!bsm_dtype_is_floating(x->dtype)) {
    return bsm_emit_output(ctx, node, 0, x);
  }
  bsm_itensor *values[] = {
      number(ctx, x, bsm_arg_unwrap_to_double_or(args, NAN_VALUE, 0)),
      number(ctx, x, bsm_arg_unwrap_to_double_or(args, POSITIVE, most)),
      number(ctx, x, bsm_arg_unwrap_to_double_or(args, NEGATIVE, -most))};
  bsm_itensor *y = bsm_emit_select(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN),
                                   values[0], x);
  y = bsm_emit_select(ctx, equal(ctx, x, INFINITY), values[1], y);
  y = bsm_emit_select(ctx, equal(ctx, x, -INFINITY), values[2], y);
  return bsm_emit_output(ctx, node, 0, y);
}

/* beta * self + alpha * outer(vec1, vec2) */
static bsm_status convert_addr(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, VEC1, VEC2, BETA, ALPHA };
  bsm_operand all[3] = {bsm_operand_of(ctx, args, SELF),
                        bsm_operand_of(ctx, args, VEC1),
                        bsm_operand_of(ctx, args, VEC2)};
  bsm_dtype dtype = bsm_operands_dtype(all, 3);
  bsm_itensor *self = bsm_operand_emit(ctx, &all[0], dtype);
  bsm_itensor *a = bsm_operand_emit(ctx, &all[1], dtype);
  bsm_itensor *b = bsm_operand_emit(ctx, &all[2], dtype);
  if (!self || !a || !b) return bsm_ctx_take_error(ctx);
  BSM_CHECK(dtype != BSM_DTYPE_BOOL, "addr of bools");
  BSM_CHECK(bsm_rank(a) == 1 && bsm_rank(b) == 1,
            "addr: expected 1-D vectors, got dims %s and %s",
            bsm_dims_str(a->dims), bsm_dims_str(b->dims));
  bsm_operand beta =
      bsm_operand_of_scalar(bsm_arg_unwrap_to_scalar(args, BETA));
  bsm_operand alpha =
      bsm_operand_of_scalar(bsm_arg_unwrap_to_scalar(args, ALPHA));
  bsm_itensor *outer = product(ctx, bsm_emit_unsqueeze(ctx, a, 1), b);
  outer = product(ctx, outer, bsm_operand_emit(ctx, &alpha, dtype));
  if (!(beta.scalar.d < 0) && !(beta.scalar.d > 0)) {
    return bsm_emit_output(ctx, node, 0, outer);
  }
  self = product(ctx, self, bsm_operand_emit(ctx, &beta, dtype));
  return bsm_emit_output(ctx, node, 0, sum(ctx, self, outer));
}

/* The number of classes must be given: it would depend on the data. */
static bsm_status convert_one_hot(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, NUM_CLASSES };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t classes = bsm_arg_unwrap_to_int(args, NUM_CLASSES);
  BSM_CHECK(classes > 0,
            "one_hot without num_classes: the shape of the result would depend "
            "on the data");
  BSM_CHECK(bsm_itensor_dtype(x) == BSM_DTYPE_INT64,
            "one_hot is only applicable to index tensor of type LongTensor");
  bsm_itensor *numbers = bsm_emit_arange(ctx, 0, classes, 1);
  /* Looked up in themselves, classes out of range fail. */
  x = bsm_emit_gather(ctx, numbers, x, BSM_GATHER_DEFAULT, 0);
  x = bsm_emit_unsqueeze(ctx, x, bsm_rank(x));
  x = bsm_emit_binary(ctx, x, numbers, BSM_ELEMENT_WISE_EQUAL);
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, x, BSM_DTYPE_INT64));
}

#define BINARY(name, function, variant) \
  { "aten::" name "(Tensor self, Tensor other) -> Tensor", function, variant }
#define UNARY(name, function, variant) \
  { "aten::" name "(Tensor self) -> Tensor", function, variant }
static const bsm_conversion_pattern patterns[] = {
    BINARY("logaddexp", convert_logaddexp, 0),
    BINARY("logaddexp2", convert_logaddexp, 1),
    BINARY("hypot", convert_hypot, 0),
    BINARY("xlogy.Tensor", convert_xlogy, 0),
    {"aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
     convert_xlogy, 0},
    {"aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
     convert_xlogy, 0},
    BINARY("special_xlogy", convert_xlogy, 0),
    {"aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
     convert_xlogy, 0},
    {"aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
     convert_xlogy, 0},
    BINARY("special_xlog1py", convert_xlogy, 1),
    {"aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
     convert_xlogy, 1},
    {"aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
     convert_xlogy, 1},
    UNARY("special_entr", convert_entr, 0),
    UNARY("special_ndtr", convert_ndtr, 0),
    {"aten::isclose(Tensor self, Tensor other, float "
     "rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> "
     "Tensor",
     convert_isclose, 0},
    {"aten::heaviside(Tensor self, Tensor values) -> Tensor", convert_heaviside,
     0},
    BINARY("copysign.Tensor", convert_copysign, 0),
    {"aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
     convert_copysign, 0},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor", convert_logit, 0},
    {"aten::special_logit(Tensor self, float? eps=None) -> Tensor",
     convert_logit, 0},
    UNARY("sinc", convert_sinc, 0),
    UNARY("special_sinc", convert_sinc, 0),
    UNARY("angle", convert_real_angle, 0),
    UNARY("isreal", convert_isreal, 0),
    UNARY("deg2rad", convert_angle, 0),
    UNARY("rad2deg", convert_angle, 1),
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, "
     "float? neginf=None) -> Tensor",
     convert_nan_to_num, 0},
    {"aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, "
     "float? neginf=None) -> Tensor(a!)",
     convert_nan_to_num, 0},
    {"aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, "
     "Scalar alpha=1) -> Tensor",
     convert_addr, 0},
    {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
     convert_one_hot, 0},
};
BSM_CONVERTER_TABLE(composite, patterns);
