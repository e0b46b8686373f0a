/* SPDX-License-Identifier: Apache-2.0 */
/* Unary elementwise ops without parameters: exp, floor, isnan, ... */
#include "aten/packed/aten_unary.h"
#include "aten/complex_math.h"
#include "aten/special.h"

#define F64(fn, expr)                                            \
  static void fn(double *out, const double *const *in, size_t n, \
                 const void *params) {                           \
    (void)params;                                                \
    for (size_t k = 0; k < n; k++) {                             \
      const double x = in[0][k];                                 \
      out[k] = (expr);                                           \
    }                                                            \
  }
#define I64(fn, expr)                                              \
  static void fn(int64_t *out, const int64_t *const *in, size_t n, \
                 const void *params) {                             \
    (void)params;                                                  \
    for (size_t k = 0; k < n; k++) {                               \
      const int64_t x = in[0][k];                                  \
      (void)x;                                                     \
      out[k] = (expr);                                             \
    }                                                              \
  }

/* n coefficients, a multiple of 4, the highest first: four sums, which do not
 * wait for each other. */
static double polynomial(const double *c, size_t n, double x) {
  const double x4 = x * x * (x * x);
  double y0 = c[0], y1 = c[1], y2 = c[2], y3 = c[3];
  for (size_t i = 4; i < n; i += 4) {
    y0 = y0 * x4 + c[i];
    y1 = y1 * x4 + c[i + 1];
    y2 = y2 * x4 + c[i + 2];
    y3 = y3 * x4 + c[i + 3];
  }
  return (y0 * x + y1) * (x * x) + (y2 * x + y3);
}

/* Inverse of erf: Giles' polynomials (Approximating the erfinv function), of
 * full precision. */
static double erfinv(double x) {
  /* clang-format off */
  static const double middle[] = {
      0, -3.6444120640178196996e-21, -1.685059138182016589e-19,
      1.2858480715256400167e-18, 1.115787767802518096e-17,
      -1.333171662854620906e-16, 2.0972767875968561637e-17,
      6.6376381343583238325e-15, -4.0545662729752068639e-14,
      -8.1519341976054721522e-14, 2.6335093153082322977e-12,
      -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09, -4.1126339803469836976e-09,
      -2.9070369957882005086e-08, 4.2347877827932403518e-07,
      -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352, -0.00074070253416626697512,
      -0.0060336708714301490533, 0.24015818242558961693,
      1.6536545626831027356};
  static const double outer[] = {
      0, 2.2137376921775787049e-09, 9.0756561938885390979e-08,
      -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06, -4.013867526981545969e-06,
      2.9234449089955446044e-06, 1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05,
      2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313,
      0.0024914420961078508066, -0.0037512085075692412107,
      0.005370914553590063617, 1.0052589676941592334,
      3.0838856104922207635};
  static const double tail[] = {
      0, 0, 0, -2.7109920616438573243e-11, -2.5556418169965252055e-10,
      1.5076572693500548083e-09, -3.7894654401267369937e-09,
      7.6157012080783393804e-09, -1.4960026627149240478e-08,
      2.9147953450901080826e-08, -6.7711997758452339498e-08,
      2.2900482228026654717e-07, -9.9298272942317002539e-07,
      4.5260625972231537039e-06, -1.9681778105531670567e-05,
      7.5995277030017761139e-05, -0.00021503011930044477347,
      -0.00013871931833623122026, 1.0103004648645343977,
      4.8499064014085844221};
  /* clang-format on */
#define POLYNOMIAL(c, x) polynomial(c, sizeof(c) / sizeof((c)[0]), x)
  if (!(x > -1.0 && x < 1.0)) {
    return x == 1.0 ? INFINITY : x == -1.0 ? -INFINITY : NAN;
  }
  const double w = -log((1.0 - x) * (1.0 + x));
  if (w < 6.25) return x * POLYNOMIAL(middle, w - 3.125);
  if (w < 16.0) return x * POLYNOMIAL(outer, sqrt(w) - 3.25);
  return x * POLYNOMIAL(tail, sqrt(w) - 5.0);
#undef POLYNOMIAL
}

static uint64_t magnitude(int64_t x) {
  return x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x;
}
static double sign(double x) {
  return (double)((x > 0.0) - (x < 0.0));
}

F64(f_abs, fabs(x))
I64(i_abs, (int64_t)magnitude(x))
F64(f_neg, -x)
I64(i_neg, (int64_t)((uint64_t)0 - (uint64_t)x))
F64(f_exp, exp(x))
F64(f_exp2, exp2(x))
F64(f_expm1, expm1(x))
F64(f_log, log(x))
F64(f_log2, log2(x))
F64(f_log10, log10(x))
F64(f_log1p, log1p(x))
F64(f_sqrt, sqrt(x))
F64(f_rsqrt, 1.0 / sqrt(x))
F64(f_reciprocal, 1.0 / x)
F64(f_sin, sin(x))
F64(f_cos, cos(x))
F64(f_tan, tan(x))
F64(f_asin, asin(x))
F64(f_acos, acos(x))
F64(f_atan, atan(x))
F64(f_sinh, sinh(x))
F64(f_cosh, cosh(x))
F64(f_tanh, tanh(x))
F64(f_asinh, asinh(x))
F64(f_acosh, acosh(x))
F64(f_atanh, atanh(x))
F64(f_erf, erf(x))
F64(f_erfc, erfc(x))
F64(f_erfinv, erfinv(x))
F64(f_lgamma, lgamma(x))
F64(f_digamma, bsm_sf_digamma(x))
F64(f_floor, floor(x))
F64(f_ceil, ceil(x))
F64(f_round, nearbyint(x))
F64(f_trunc, trunc(x))
F64(f_frac, x - trunc(x))
I64(i_same, x)
F64(f_same, x)
F64(f_sign, sign(x))
I64(i_sign, (x > 0) - (x < 0))
F64(f_sigmoid, 1.0 / (1.0 + exp(-x)))
F64(f_square, x *x)
I64(i_square, (int64_t)((uint64_t)x *(uint64_t)x))
F64(f_isnan, isnan(x) ? 1.0 : 0.0)
F64(f_isinf, isinf(x) ? 1.0 : 0.0)
F64(f_isposinf, isinf(x) && x > 0 ? 1.0 : 0.0)
F64(f_isneginf, isinf(x) && x < 0 ? 1.0 : 0.0)
F64(f_isfinite, isfinite(x) ? 1.0 : 0.0)
I64(i_false, 0)
I64(i_true, 1)
F64(f_not, x == 0.0 ? 1.0 : 0.0)
I64(i_not, x == 0)
F64(f_signbit, signbit(x) ? 1.0 : 0.0)
I64(i_signbit, x < 0)
I64(i_bitwise_not, ~x)
F64(f_deg2rad, x *(M_PI / 180.0))
F64(f_rad2deg, x *(180.0 / M_PI))
F64(f_sinc, x == 0.0 ? 1.0 : sin(M_PI * x) / (M_PI * x))
/* As PyTorch rounds: what is left of sin(n pi) shows. */
static double sinc_single(double x) {
  const float p = (float)M_PI * (float)x;
  return x == 0.0 ? 1.0 : (double)(sinf(p) / p);
}
F64(f_sinc_single, sinc_single(x))

enum {
  UNARY_ABS,
  UNARY_NEG,
  UNARY_EXP,
  UNARY_EXP2,
  UNARY_EXPM1,
  UNARY_LOG,
  UNARY_LOG2,
  UNARY_LOG10,
  UNARY_LOG1P,
  UNARY_SQRT,
  UNARY_RSQRT,
  UNARY_RECIPROCAL,
  UNARY_SIN,
  UNARY_COS,
  UNARY_TAN,
  UNARY_ASIN,
  UNARY_ACOS,
  UNARY_ATAN,
  UNARY_SINH,
  UNARY_COSH,
  UNARY_TANH,
  UNARY_ASINH,
  UNARY_ACOSH,
  UNARY_ATANH,
  UNARY_ERF,
  UNARY_ERFC,
  UNARY_ERFINV,
  UNARY_LGAMMA,
  UNARY_DIGAMMA,
  UNARY_FLOOR,
  UNARY_CEIL,
  UNARY_ROUND,
  UNARY_TRUNC,
  UNARY_FRAC,
  UNARY_SIGN,
  UNARY_SGN,
  UNARY_SIGMOID,
  UNARY_SQUARE,
  UNARY_ISNAN,
  UNARY_ISINF,
  UNARY_ISPOSINF,
  UNARY_ISNEGINF,
  UNARY_ISFINITE,
  UNARY_LOGICAL_NOT,
  UNARY_SIGNBIT,
  UNARY_BITWISE_NOT,
  UNARY_DEG2RAD,
  UNARY_RAD2DEG,
  UNARY_SINC,
  UNARY_POSITIVE,
  UNARY_COUNT
};

static const bsm_pointwise unary_ops[UNARY_COUNT] = {
    [UNARY_ABS] = {"abs_cpu", f_abs, i_abs, BSM_PW_REAL,
                   .c = bsm_c_row_absolute},
    [UNARY_NEG] = {"neg_cpu", f_neg, i_neg, 0, .c = bsm_c_row_neg},
    [UNARY_EXP] = {"exp", f_exp, NULL, BSM_PW_FLOAT, .c = bsm_c_row_exp},
    [UNARY_EXP2] = {"exp2", f_exp2, NULL, BSM_PW_FLOAT, .c = bsm_c_row_exp2},
    [UNARY_EXPM1] = {"expm1", f_expm1, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_expm1},
    [UNARY_LOG] = {"log", f_log, NULL, BSM_PW_FLOAT, .c = bsm_c_row_log},
    [UNARY_LOG2] = {"log2", f_log2, NULL, BSM_PW_FLOAT, .c = bsm_c_row_log2},
    [UNARY_LOG10] = {"log10", f_log10, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_log10},
    [UNARY_LOG1P] = {"log1p", f_log1p, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_log1p},
    [UNARY_SQRT] = {"sqrt", f_sqrt, NULL, BSM_PW_FLOAT, .c = bsm_c_row_sqrt},
    [UNARY_RSQRT] = {"rsqrt", f_rsqrt, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_rsqrt},
    [UNARY_RECIPROCAL] = {"reciprocal", f_reciprocal, NULL, BSM_PW_FLOAT,
                          .c = bsm_c_row_reciprocal},
    [UNARY_SIN] = {"sin", f_sin, NULL, BSM_PW_FLOAT, .c = bsm_c_row_sin},
    [UNARY_COS] = {"cos", f_cos, NULL, BSM_PW_FLOAT, .c = bsm_c_row_cos},
    [UNARY_TAN] = {"tan", f_tan, NULL, BSM_PW_FLOAT, .c = bsm_c_row_tan},
    [UNARY_ASIN] = {"asin", f_asin, NULL, BSM_PW_FLOAT, .c = bsm_c_row_asin},
    [UNARY_ACOS] = {"acos", f_acos, NULL, BSM_PW_FLOAT, .c = bsm_c_row_acos},
    [UNARY_ATAN] = {"atan", f_atan, NULL, BSM_PW_FLOAT, .c = bsm_c_row_atan},
    [UNARY_SINH] = {"sinh", f_sinh, NULL, BSM_PW_FLOAT, .c = bsm_c_row_sinh},
    [UNARY_COSH] = {"cosh", f_cosh, NULL, BSM_PW_FLOAT, .c = bsm_c_row_cosh},
    [UNARY_TANH] = {"tanh", f_tanh, NULL, BSM_PW_FLOAT, .c = bsm_c_row_tanh},
    [UNARY_ASINH] = {"asinh", f_asinh, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_asinh},
    [UNARY_ACOSH] = {"acosh", f_acosh, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_acosh},
    [UNARY_ATANH] = {"atanh", f_atanh, NULL, BSM_PW_FLOAT,
                     .c = bsm_c_row_atanh},
    [UNARY_ERF] = {"erf", f_erf, NULL, BSM_PW_FLOAT},
    [UNARY_ERFC] = {"erfc", f_erfc, NULL, BSM_PW_FLOAT},
    [UNARY_ERFINV] = {"erfinv", f_erfinv, NULL, BSM_PW_FLOAT},
    [UNARY_LGAMMA] = {"lgamma", f_lgamma, NULL, BSM_PW_FLOAT},
    [UNARY_DIGAMMA] = {"digamma", f_digamma, NULL, BSM_PW_FLOAT},
    [UNARY_FLOOR] = {"floor", f_floor, i_same, 0},
    [UNARY_CEIL] = {"ceil", f_ceil, i_same, 0},
    [UNARY_ROUND] = {"round", f_round, i_same, 0},
    [UNARY_TRUNC] = {"trunc", f_trunc, i_same, 0},
    [UNARY_FRAC] = {"frac", f_frac, NULL, 0},
    [UNARY_SIGN] = {"sign_cpu", f_sign, i_sign, 0},
    [UNARY_SGN] = {"sgn_cpu", f_sign, i_sign, 0, .c = bsm_c_row_sgn},
    [UNARY_SIGMOID] = {"sigmoid", f_sigmoid, NULL, BSM_PW_FLOAT,
                       .c = bsm_c_row_sigmoid},
    [UNARY_SQUARE] = {"square", f_square, i_square, 0, .c = bsm_c_row_square},
    [UNARY_ISNAN] = {"isnan", f_isnan, i_false, BSM_PW_BOOL,
                     .c = bsm_c_row_isnan},
    [UNARY_ISINF] = {"isinf", f_isinf, i_false, BSM_PW_BOOL,
                     .c = bsm_c_row_isinf},
    [UNARY_ISPOSINF] = {"isposinf", f_isposinf, i_false, BSM_PW_BOOL},
    [UNARY_ISNEGINF] = {"isneginf", f_isneginf, i_false, BSM_PW_BOOL},
    [UNARY_ISFINITE] = {"isfinite", f_isfinite, i_true, BSM_PW_BOOL,
                        .c = bsm_c_row_isfinite},
    [UNARY_LOGICAL_NOT] = {"logical_not", f_not, i_not, BSM_PW_BOOL,
                           .c = bsm_c_row_logical_not},
    [UNARY_SIGNBIT] = {"signbit", f_signbit, i_signbit, BSM_PW_BOOL},
    [UNARY_BITWISE_NOT] = {"bitwise_not_cpu", NULL, i_bitwise_not, 0},
    [UNARY_DEG2RAD] = {"deg2rad", f_deg2rad, NULL, BSM_PW_FLOAT},
    [UNARY_RAD2DEG] = {"rad2deg", f_rad2deg, NULL, BSM_PW_FLOAT},
    [UNARY_SINC] = {"sinc", f_sinc, NULL, BSM_PW_FLOAT, .c = bsm_c_row_sinc},
    [UNARY_POSITIVE] = {"positive", f_same, i_same, 0},
};

static bsm_status refuse_bool(int32_t variant, const bsm_tensor *t) {
  if (t->dtype != BSM_DTYPE_BOOL) return BSM_OK;
  if (variant == UNARY_NEG) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Negation, the `-` operator, on a bool tensor is not "
                    "supported. If you are trying to invert a mask, use the "
                    "`~` or `logical_not()` operator instead.");
  }
  if (variant == UNARY_FLOOR || variant == UNARY_CEIL ||
      variant == UNARY_ROUND || variant == UNARY_TRUNC) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "\"%s\" not implemented for 'Bool'",
                    unary_ops[variant].name);
  }
  if (variant == UNARY_POSITIVE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "The `+` operator, on a bool tensor is not supported.");
  }
  return BSM_OK;
}

static bsm_status op_unary(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_pointwise pw = unary_ops[self->variant];
  BSM_TRY(refuse_bool(self->variant, t));
  bsm_tensor *dst = self->flags & BSM_ATEN_INPLACE ? t : NULL;
  if (self->variant == UNARY_BITWISE_NOT && t->dtype == BSM_DTYPE_BOOL) {
    pw.i = i_not;
  }
  if (self->variant == UNARY_LOGICAL_NOT && dst) pw.flags = 0;
  if (self->variant == UNARY_SQUARE && t->dtype == BSM_DTYPE_BOOL) {
    pw.common = BSM_DTYPE_INT64; /* a power with a Python int */
    pw.has_common = true;
  }
  if (self->variant == UNARY_SINC && t->dtype != BSM_DTYPE_DOUBLE) {
    pw.f = f_sinc_single;
  }
  if (self->variant == UNARY_POSITIVE) return op_return(outs, t);
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1, dst, &out));
  return op_return(outs, out);
}

bsm_status bsm_op_abs(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor **out) {
  return bsm_op_pointwise(cx, &unary_ops[UNARY_ABS], &t, 1, NULL, out);
}

static void f_round_decimals(double *out, const double *const *in, size_t n,
                             const void *params) {
  const double scale = *(const double *)params;
  for (size_t k = 0; k < n; k++) {
    out[k] = scale > 0 ? nearbyint(in[0][k] * scale) / scale
                       : nearbyint(in[0][k] / -scale) * -scale;
  }
}

/* round.decimals: a negative scale divides, for negative decimals. */
static bsm_status op_round_decimals(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const double decimals = op_double(&args[1]);
  const double scale = decimals >= 0 ? pow(10, decimals) : -pow(10, -decimals);
  const bsm_pointwise pw = {
      "round_vml_cpu", f_round_decimals, NULL, 0, &scale, 0, false};
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

typedef struct nan_values {
  double nan, high, low;
} nan_values;

static void f_nan_to_num(double *out, const double *const *in, size_t n,
                         const void *params) {
  const nan_values *v = params;
  for (size_t k = 0; k < n; k++) {
    const double x = in[0][k];
    out[k] = isnan(x) ? v->nan : isinf(x) ? (x > 0 ? v->high : v->low) : x;
  }
}

static double largest(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_HALF:
      return 65504.0;
    case BSM_DTYPE_BFLOAT16:
      return 3.3895313892515355e38;
    case BSM_DTYPE_FLOAT:
      return 3.4028234663852886e38;
    default:
      return 1.7976931348623157e308;
  }
}

static bsm_status op_nan_to_num(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const nan_values v = {
      op_none(&args[1]) ? 0.0 : op_double(&args[1]),
      op_none(&args[2]) ? largest(t->dtype) : op_double(&args[2]),
      op_none(&args[3]) ? -largest(t->dtype) : op_double(&args[3])};
  const bsm_pointwise pw = {"nan_to_num", f_nan_to_num, i_same, 0, &v, 0,
                            false};
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

/* Without limits of the argument these are NaN. */
typedef struct logit_limits {
  double low, high;
} logit_limits;

static void f_logit(double *out, const double *const *in, size_t n,
                    const void *params) {
  const logit_limits *p = params;
  for (size_t k = 0; k < n; k++) {
    double x = in[0][k];
    x = x < p->low ? p->low : x > p->high ? p->high : x;
    out[k] = log(x / (1.0 - x));
  }
}

/* The limits are numbers of the result's dtype, so that the logarithm of the
 * upper one is not that of the lower. */
static bsm_status limits_of_logit(bsm_op_ctx *cx, const bsm_tensor *t,
                                  double eps, logit_limits *out) {
  bsm_dtype dtype =
      bsm_dtype_is_floating(t->dtype) ? t->dtype : BSM_DTYPE_FLOAT;
  bsm_tensor *low, *high;
  BSM_TRY(bsm_tensor_from_double(cx->arena, dtype, eps, &low));
  out->low = bsm_tensor_get_double(low, 0);
  BSM_TRY(bsm_tensor_from_double(cx->arena, dtype, 1.0 - out->low, &high));
  out->high = bsm_tensor_get_double(high, 0);
  return BSM_OK;
}

static bsm_status op_logit(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  logit_limits limits = {NAN, NAN};
  const bsm_pointwise pw = {"logit", f_logit, NULL, BSM_PW_FLOAT,
                            &limits, 0,       false};
  if (!op_none(&args[1]) && op_double(&args[1]) >= 0.0) {
    BSM_TRY(limits_of_logit(cx, t, op_double(&args[1]), &limits));
  }
  BSM_TRY(bsm_op_pointwise(cx, &pw, &t, 1,
                           self->flags & BSM_ATEN_INPLACE ? t : NULL, &out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::abs(Tensor self) -> Tensor", op_unary, UNARY_ABS, 0),
    OP("aten::abs_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ABS,
       BSM_ATEN_INPLACE),
    OP("aten::neg(Tensor self) -> Tensor", op_unary, UNARY_NEG, 0),
    OP("aten::neg_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_NEG,
       BSM_ATEN_INPLACE),
    OP("aten::exp(Tensor self) -> Tensor", op_unary, UNARY_EXP, 0),
    OP("aten::exp_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_EXP,
       BSM_ATEN_INPLACE),
    OP("aten::exp2(Tensor self) -> Tensor", op_unary, UNARY_EXP2, 0),
    OP("aten::exp2_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_EXP2,
       BSM_ATEN_INPLACE),
    OP("aten::expm1(Tensor self) -> Tensor", op_unary, UNARY_EXPM1, 0),
    OP("aten::expm1_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_EXPM1,
       BSM_ATEN_INPLACE),
    OP("aten::log(Tensor self) -> Tensor", op_unary, UNARY_LOG, 0),
    OP("aten::log_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_LOG,
       BSM_ATEN_INPLACE),
    OP("aten::log2(Tensor self) -> Tensor", op_unary, UNARY_LOG2, 0),
    OP("aten::log2_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_LOG2,
       BSM_ATEN_INPLACE),
    OP("aten::log10(Tensor self) -> Tensor", op_unary, UNARY_LOG10, 0),
    OP("aten::log10_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_LOG10,
       BSM_ATEN_INPLACE),
    OP("aten::log1p(Tensor self) -> Tensor", op_unary, UNARY_LOG1P, 0),
    OP("aten::log1p_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_LOG1P,
       BSM_ATEN_INPLACE),
    OP("aten::sqrt(Tensor self) -> Tensor", op_unary, UNARY_SQRT, 0),
    OP("aten::sqrt_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SQRT,
       BSM_ATEN_INPLACE),
    OP("aten::rsqrt(Tensor self) -> Tensor", op_unary, UNARY_RSQRT, 0),
    OP("aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_RSQRT,
       BSM_ATEN_INPLACE),
    OP("aten::reciprocal(Tensor self) -> Tensor", op_unary, UNARY_RECIPROCAL,
       0),
    OP("aten::reciprocal_(Tensor(a!) self) -> Tensor(a!)", op_unary,
       UNARY_RECIPROCAL, BSM_ATEN_INPLACE),
    OP("aten::sin(Tensor self) -> Tensor", op_unary, UNARY_SIN, 0),
    OP("aten::sin_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SIN,
       BSM_ATEN_INPLACE),
    OP("aten::cos(Tensor self) -> Tensor", op_unary, UNARY_COS, 0),
    OP("aten::cos_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_COS,
       BSM_ATEN_INPLACE),
    OP("aten::tan(Tensor self) -> Tensor", op_unary, UNARY_TAN, 0),
    OP("aten::tan_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_TAN,
       BSM_ATEN_INPLACE),
    OP("aten::asin(Tensor self) -> Tensor", op_unary, UNARY_ASIN, 0),
    OP("aten::asin_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ASIN,
       BSM_ATEN_INPLACE),
    OP("aten::acos(Tensor self) -> Tensor", op_unary, UNARY_ACOS, 0),
    OP("aten::acos_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ACOS,
       BSM_ATEN_INPLACE),
    OP("aten::atan(Tensor self) -> Tensor", op_unary, UNARY_ATAN, 0),
    OP("aten::atan_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ATAN,
       BSM_ATEN_INPLACE),
    OP("aten::sinh(Tensor self) -> Tensor", op_unary, UNARY_SINH, 0),
    OP("aten::sinh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SINH,
       BSM_ATEN_INPLACE),
    OP("aten::cosh(Tensor self) -> Tensor", op_unary, UNARY_COSH, 0),
    OP("aten::cosh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_COSH,
       BSM_ATEN_INPLACE),
    OP("aten::tanh(Tensor self) -> Tensor", op_unary, UNARY_TANH, 0),
    OP("aten::tanh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_TANH,
       BSM_ATEN_INPLACE),
    OP("aten::asinh(Tensor self) -> Tensor", op_unary, UNARY_ASINH, 0),
    OP("aten::asinh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ASINH,
       BSM_ATEN_INPLACE),
    OP("aten::acosh(Tensor self) -> Tensor", op_unary, UNARY_ACOSH, 0),
    OP("aten::acosh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ACOSH,
       BSM_ATEN_INPLACE),
    OP("aten::atanh(Tensor self) -> Tensor", op_unary, UNARY_ATANH, 0),
    OP("aten::atanh_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ATANH,
       BSM_ATEN_INPLACE),
    OP("aten::erf(Tensor self) -> Tensor", op_unary, UNARY_ERF, 0),
    OP("aten::erf_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ERF,
       BSM_ATEN_INPLACE),
    OP("aten::erfc(Tensor self) -> Tensor", op_unary, UNARY_ERFC, 0),
    OP("aten::erfc_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ERFC,
       BSM_ATEN_INPLACE),
    OP("aten::erfinv(Tensor self) -> Tensor", op_unary, UNARY_ERFINV, 0),
    OP("aten::erfinv_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ERFINV,
       BSM_ATEN_INPLACE),
    OP("aten::lgamma(Tensor self) -> Tensor", op_unary, UNARY_LGAMMA, 0),
    OP("aten::lgamma_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_LGAMMA,
       BSM_ATEN_INPLACE),
    OP("aten::digamma(Tensor self) -> Tensor", op_unary, UNARY_DIGAMMA, 0),
    OP("aten::digamma_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_DIGAMMA,
       BSM_ATEN_INPLACE),
    OP("aten::floor(Tensor self) -> Tensor", op_unary, UNARY_FLOOR, 0),
    OP("aten::floor_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_FLOOR,
       BSM_ATEN_INPLACE),
    OP("aten::ceil(Tensor self) -> Tensor", op_unary, UNARY_CEIL, 0),
    OP("aten::ceil_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_CEIL,
       BSM_ATEN_INPLACE),
    OP("aten::round(Tensor self) -> Tensor", op_unary, UNARY_ROUND, 0),
    OP("aten::round_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ROUND,
       BSM_ATEN_INPLACE),
    OP("aten::trunc(Tensor self) -> Tensor", op_unary, UNARY_TRUNC, 0),
    OP("aten::trunc_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_TRUNC,
       BSM_ATEN_INPLACE),
    OP("aten::frac(Tensor self) -> Tensor", op_unary, UNARY_FRAC, 0),
    OP("aten::frac_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_FRAC,
       BSM_ATEN_INPLACE),
    OP("aten::sign(Tensor self) -> Tensor", op_unary, UNARY_SIGN, 0),
    OP("aten::sign_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SIGN,
       BSM_ATEN_INPLACE),
    OP("aten::sigmoid(Tensor self) -> Tensor", op_unary, UNARY_SIGMOID, 0),
    OP("aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SIGMOID,
       BSM_ATEN_INPLACE),
    OP("aten::square(Tensor self) -> Tensor", op_unary, UNARY_SQUARE, 0),
    OP("aten::square_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SQUARE,
       BSM_ATEN_INPLACE),
    OP("aten::isnan(Tensor self) -> Tensor", op_unary, UNARY_ISNAN, 0),
    OP("aten::isinf(Tensor self) -> Tensor", op_unary, UNARY_ISINF, 0),
    OP("aten::isposinf(Tensor self) -> Tensor", op_unary, UNARY_ISPOSINF, 0),
    OP("aten::isneginf(Tensor self) -> Tensor", op_unary, UNARY_ISNEGINF, 0),
    OP("aten::isfinite(Tensor self) -> Tensor", op_unary, UNARY_ISFINITE, 0),
    OP("aten::logical_not(Tensor self) -> Tensor", op_unary, UNARY_LOGICAL_NOT,
       0),
    OP("aten::logical_not_(Tensor(a!) self) -> Tensor(a!)", op_unary,
       UNARY_LOGICAL_NOT, BSM_ATEN_INPLACE),
    OP("aten::signbit(Tensor self) -> Tensor", op_unary, UNARY_SIGNBIT, 0),
    OP("aten::bitwise_not(Tensor self) -> Tensor", op_unary, UNARY_BITWISE_NOT,
       0),
    OP("aten::bitwise_not_(Tensor(a!) self) -> Tensor(a!)", op_unary,
       UNARY_BITWISE_NOT, BSM_ATEN_INPLACE),
    OP("aten::deg2rad(Tensor self) -> Tensor", op_unary, UNARY_DEG2RAD, 0),
    OP("aten::deg2rad_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_DEG2RAD,
       BSM_ATEN_INPLACE),
    OP("aten::rad2deg(Tensor self) -> Tensor", op_unary, UNARY_RAD2DEG, 0),
    OP("aten::rad2deg_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_RAD2DEG,
       BSM_ATEN_INPLACE),
    OP("aten::sinc(Tensor self) -> Tensor", op_unary, UNARY_SINC, 0),
    OP("aten::sinc_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SINC,
       BSM_ATEN_INPLACE),
    OP("aten::positive(Tensor(a) self) -> Tensor(a)", op_unary, UNARY_POSITIVE,
       BSM_ATEN_VIEW),
    OP("aten::absolute(Tensor self) -> Tensor", op_unary, UNARY_ABS, 0),
    OP("aten::absolute_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ABS,
       BSM_ATEN_INPLACE),
    OP("aten::negative(Tensor self) -> Tensor", op_unary, UNARY_NEG, 0),
    OP("aten::negative_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_NEG,
       BSM_ATEN_INPLACE),
    OP("aten::arcsin(Tensor self) -> Tensor", op_unary, UNARY_ASIN, 0),
    OP("aten::arcsin_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ASIN,
       BSM_ATEN_INPLACE),
    OP("aten::arccos(Tensor self) -> Tensor", op_unary, UNARY_ACOS, 0),
    OP("aten::arccos_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ACOS,
       BSM_ATEN_INPLACE),
    OP("aten::arctan(Tensor self) -> Tensor", op_unary, UNARY_ATAN, 0),
    OP("aten::arctan_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_ATAN,
       BSM_ATEN_INPLACE),
    OP("aten::fix(Tensor self) -> Tensor", op_unary, UNARY_TRUNC, 0),
    OP("aten::fix_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_TRUNC,
       BSM_ATEN_INPLACE),
    OP("aten::sgn(Tensor self) -> Tensor", op_unary, UNARY_SGN, 0),
    OP("aten::sgn_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_SGN,
       BSM_ATEN_INPLACE),
    OP("aten::special_erf(Tensor self) -> Tensor", op_unary, UNARY_ERF, 0),
    OP("aten::special_expit(Tensor self) -> Tensor", op_unary, UNARY_SIGMOID,
       0),
    OP("aten::special_exp2(Tensor self) -> Tensor", op_unary, UNARY_EXP2, 0),
    OP("aten::special_expm1(Tensor self) -> Tensor", op_unary, UNARY_EXPM1, 0),
    OP("aten::special_log1p(Tensor self) -> Tensor", op_unary, UNARY_LOG1P, 0),
    OP("aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
       op_round_decimals, 0, 0),
    OP("aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)",
       op_round_decimals, 0, BSM_ATEN_INPLACE),
    OP("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, "
       "float? neginf=None) -> Tensor",
       op_nan_to_num, 0, 0),
    OP("aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? "
       "posinf=None, "
       "float? neginf=None) -> Tensor(a!)",
       op_nan_to_num, 0, BSM_ATEN_INPLACE),
    OP("aten::logit(Tensor self, float? eps=None) -> Tensor", op_logit, 0, 0),
    OP("aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)", op_logit,
       0, BSM_ATEN_INPLACE),
    OP("aten::special_digamma(Tensor self) -> Tensor", op_unary, UNARY_DIGAMMA,
       0),
    OP("aten::special_psi(Tensor self) -> Tensor", op_unary, UNARY_DIGAMMA, 0),
    OP("aten::special_gammaln(Tensor self) -> Tensor", op_unary, UNARY_LGAMMA,
       0),
    OP("aten::special_erfc(Tensor self) -> Tensor", op_unary, UNARY_ERFC, 0),
    OP("aten::special_erfinv(Tensor self) -> Tensor", op_unary, UNARY_ERFINV,
       0),
    OP("aten::special_sinc(Tensor self) -> Tensor", op_unary, UNARY_SINC, 0),
    OP("aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
       op_round_decimals, 0, 0),
    OP("aten::special_logit(Tensor self, float? eps=None) -> Tensor", op_logit,
       0, 0),
};
BSM_ATEN_TABLE(unary, rows);
