/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on Python numbers and bools: arithmetic, comparison, math, casts. */
#include "aten/packed/aten_number.h"
#include "aten/op_kit.h"

static bool both_integral(const bsm_ivalue *args) {
  return op_is_integral(&args[0]) && op_is_integral(&args[1]);
}

static bsm_status zero_division(void) {
  return BSM_FAIL(BSM_RAISED,
                  "ZeroDivisionError: integer division or modulo by zero");
}

/* ---- arithmetic ---- */

enum {
  NUM_ADD,
  NUM_SUB,
  NUM_MUL,
  NUM_DIV,
  NUM_FLOORDIV,
  NUM_REMAINDER,
  NUM_POW,
  NUM_POW_INT,
  NUM_MIN,
  NUM_MAX,
  NUM_FMOD,
  NUM_MATHREMAINDER,
  NUM_ATAN2,
  NUM_COPYSIGN,
  NUM_LOG,
  NUM_GCD,
  NUM_SHL,
  NUM_SHR,
  NUM_AND,
  NUM_OR,
  NUM_XOR,
  NUM_TRUNCDIV,
  NUM_LDEXP
};

static int64_t wrap_pow(int64_t a, int64_t b) {
  uint64_t r = 1, x = (uint64_t)a;
  for (; b > 0; b >>= 1) {
    if (b & 1) r *= x;
    x *= x;
  }
  return (int64_t)r;
}

/* Floor division and Python's remainder; b is neither 0 nor -1. */
static int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bsm_status int_division(int32_t variant, int64_t a, int64_t b,
                               int64_t *out) {
  if (b == 0) return zero_division();
  if (b == -1) {
    *out = variant == NUM_REMAINDER ? 0 : (int64_t)((uint64_t)0 - (uint64_t)a);
  } else if (variant == NUM_FLOORDIV) {
    *out = floor_div(a, b);
  } else {
    *out = variant == NUM_REMAINDER ? floor_mod(a, b) : a / b;
  }
  return BSM_OK;
}

/* False when the op is a floating one also on ints. */
static bool int_arithmetic(int32_t variant, int64_t a, int64_t b,
                           bsm_status *status, int64_t *out) {
  const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  *status = BSM_OK;
  switch (variant) {
    case NUM_ADD:
      *out = (int64_t)(ua + ub);
      return true;
    case NUM_SUB:
      *out = (int64_t)(ua - ub);
      return true;
    case NUM_MUL:
      *out = (int64_t)(ua * ub);
      return true;
    case NUM_FLOORDIV:
    case NUM_REMAINDER:
    case NUM_TRUNCDIV:
      *status = int_division(variant, a, b, out);
      return true;
    case NUM_POW_INT:
      *out = b >= 0 ? wrap_pow(a, b)
                    : bsm_double_to_i64(pow((double)a, (double)b));
      return true;
    case NUM_MIN:
      *out = a < b ? a : b;
      return true;
    case NUM_MAX:
      *out = a > b ? a : b;
      return true;
    case NUM_GCD:
      *out = bsm_i64_gcd(a, b);
      return true;
    case NUM_SHL:
      *out = b < 0 || b > 63 ? 0 : (int64_t)(ua << b);
      return true;
    case NUM_SHR:
      *out = a >> (b < 0 || b > 63 ? 63 : b);
      return true;
    case NUM_AND:
      *out = a & b;
      return true;
    case NUM_OR:
      *out = a | b;
      return true;
    case NUM_XOR:
      *out = a ^ b;
      return true;
    default:
      return false;
  }
}

static double float_arithmetic(int32_t variant, double a, double b) {
  switch (variant) {
    case NUM_ADD:
      return a + b;
    case NUM_SUB:
      return a - b;
    case NUM_MUL:
      return a * b;
    case NUM_DIV:
      return a / b;
    case NUM_FLOORDIV:
      return floor(a / b);
    case NUM_REMAINDER:
      return fmod(b + fmod(a, b), b);
    case NUM_MIN:
      return b < a ? b : a;
    case NUM_MAX:
      return a < b ? b : a;
    case NUM_FMOD:
      return fmod(a, b);
    case NUM_MATHREMAINDER:
      return remainder(a, b);
    case NUM_ATAN2:
      return atan2(a, b);
    case NUM_COPYSIGN:
      return copysign(a, b);
    case NUM_LOG:
      return log(a) / log(b);
    case NUM_LDEXP:
      return ldexp(a, b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b);
    default:
      return pow(a, b);
  }
}

static bsm_status op_arithmetic(OP_PARAMS) {
  (void)cx;
  if (both_integral(args)) {
    bsm_status status;
    int64_t r = 0;
    if (int_arithmetic(self->variant, op_int(&args[0]), op_int(&args[1]),
                       &status, &r)) {
      /* The bool overloads of the logical ops give bools. */
      const bool logical = self->variant == NUM_AND ||
                           self->variant == NUM_OR || self->variant == NUM_XOR;
      outs[0] = logical && args[0].tag == BSM_IVALUE_BOOL &&
                        args[1].tag == BSM_IVALUE_BOOL
                    ? bsm_iv_bool(r != 0)
                    : bsm_iv_int(r);
      return status;
    }
  }
  const double a = op_double(&args[0]), b = op_double(&args[1]);
  if (self->variant == NUM_FLOORDIV && b == 0.0) return zero_division();
  outs[0] = bsm_iv_double(float_arithmetic(self->variant, a, b));
  return BSM_OK;
}

static bsm_status op_divmod(OP_PARAMS) {
  (void)cx;
  (void)self;
  if (both_integral(args)) {
    int64_t q = 0, r = 0;
    const int64_t a = op_int(&args[0]), b = op_int(&args[1]);
    BSM_TRY(int_division(NUM_FLOORDIV, a, b, &q));
    BSM_TRY(int_division(NUM_REMAINDER, a, b, &r));
    outs[0] = bsm_iv_int(q);
    outs[1] = bsm_iv_int(r);
    return BSM_OK;
  }
  const double a = op_double(&args[0]), b = op_double(&args[1]);
  if (b == 0.0) return zero_division();
  double r = fmod(a, b);
  if (r != 0.0 && (r < 0.0) != (b < 0.0)) r += b;
  outs[0] = bsm_iv_double((a - r) / b);
  outs[1] = bsm_iv_double(r);
  return BSM_OK;
}

/* ---- comparison ---- */

enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };

/* less: -1, equal: 0, greater: 1, unordered: 2 */
static bool holds(int32_t variant, int order) {
  switch (variant) {
    case CMP_EQ:
      return order == 0;
    case CMP_NE:
      return order != 0;
    case CMP_LT:
      return order == -1;
    case CMP_LE:
      return order == -1 || order == 0;
    case CMP_GT:
      return order == 1;
    default:
      return order == 1 || order == 0;
  }
}

static int compare_numbers(const bsm_ivalue *a, const bsm_ivalue *b) {
  if (op_is_integral(a) && op_is_integral(b)) {
    const int64_t x = op_int(a), y = op_int(b);
    return x < y ? -1 : x > y;
  }
  const double x = op_double(a), y = op_double(b);
  if (isnan(x) || isnan(y)) return 2;
  return x < y ? -1 : x > y;
}

static int compare_strings(bsm_str a, bsm_str b) {
  const int c = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
  if (c != 0) return c < 0 ? -1 : 1;
  return a.len < b.len ? -1 : a.len > b.len;
}

static bsm_status op_compare(OP_PARAMS) {
  (void)cx;
  const int order = args[0].tag == BSM_IVALUE_STRING
                        ? compare_strings(op_str(&args[0]), op_str(&args[1]))
                        : compare_numbers(&args[0], &args[1]);
  outs[0] = bsm_iv_bool(holds(self->variant, order));
  return BSM_OK;
}

/* Lists, devices, enums: only == and !=. */
static bsm_status op_equal_values(OP_PARAMS) {
  (void)cx;
  const bool eq = bsm_iv_equal(&args[0], &args[1]);
  outs[0] = bsm_iv_bool(self->variant == CMP_EQ ? eq : !eq);
  return BSM_OK;
}

enum { IS_IS, IS_NOT };

static bsm_status op_is(OP_PARAMS) {
  (void)cx;
  const bool same = bsm_iv_is(&args[0], &args[1]);
  outs[0] = bsm_iv_bool(self->variant == IS_IS ? same : !same);
  return BSM_OK;
}

static bsm_status op_not(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_bool(!op_bool(&args[0]));
  return BSM_OK;
}

/* ---- math on one number ---- */

enum {
  MATH_ACOS,
  MATH_ACOSH,
  MATH_ASIN,
  MATH_ASINH,
  MATH_ATAN,
  MATH_ATANH,
  MATH_COS,
  MATH_COSH,
  MATH_SIN,
  MATH_SINH,
  MATH_TAN,
  MATH_TANH,
  MATH_EXP,
  MATH_EXPM1,
  MATH_LOG,
  MATH_LOG10,
  MATH_LOG1P,
  MATH_SQRT,
  MATH_ERF,
  MATH_ERFC,
  MATH_GAMMA,
  MATH_LGAMMA,
  MATH_FABS,
  MATH_DEGREES,
  MATH_RADIANS,
  MATH_ROUND,
  MATH_ANGLE
};

static double math(int32_t variant, double x) {
  switch (variant) {
    case MATH_ACOS:
      return acos(x);
    case MATH_ACOSH:
      return acosh(x);
    case MATH_ASIN:
      return asin(x);
    case MATH_ASINH:
      return asinh(x);
    case MATH_ATAN:
      return atan(x);
    case MATH_ATANH:
      return atanh(x);
    case MATH_COS:
      return cos(x);
    case MATH_COSH:
      return cosh(x);
    case MATH_SIN:
      return sin(x);
    case MATH_SINH:
      return sinh(x);
    case MATH_TAN:
      return tan(x);
    case MATH_TANH:
      return tanh(x);
    case MATH_EXP:
      return exp(x);
    case MATH_EXPM1:
      return expm1(x);
    case MATH_LOG:
      return log(x);
    case MATH_LOG10:
      return log10(x);
    case MATH_LOG1P:
      return log1p(x);
    case MATH_SQRT:
      return sqrt(x);
    case MATH_ERF:
      return erf(x);
    case MATH_ERFC:
      return erfc(x);
    case MATH_GAMMA:
      return tgamma(x);
    case MATH_LGAMMA:
      return lgamma(x);
    case MATH_FABS:
      return fabs(x);
    case MATH_DEGREES:
      return x * (180.0 / M_PI);
    case MATH_RADIANS:
      return x * (M_PI / 180.0);
    case MATH_ROUND:
      return nearbyint(x);
    default:
      return isnan(x) ? x : x < 0.0 ? M_PI : 0.0;
  }
}

static bsm_status op_math(OP_PARAMS) {
  (void)cx;
  double y = math(self->variant, op_double(&args[0]));
  /* The overloads for numbers of either kind go through float. */
  bsm_schema_text room;
  if (strstr(bsm_aten_schema(self, &room), ".Scalar(")) y = (double)(float)y;
  outs[0] = bsm_iv_double(y);
  return BSM_OK;
}

enum { ROUND_FLOOR, ROUND_CEIL };

/* floor and ceil of a number are ints. */
static bsm_status op_round_to_int(OP_PARAMS) {
  (void)cx;
  if (op_is_integral(&args[0])) {
    outs[0] = bsm_iv_int(op_int(&args[0]));
    return BSM_OK;
  }
  const double x = op_double(&args[0]);
  outs[0] = bsm_iv_int(
      bsm_double_to_i64(self->variant == ROUND_FLOOR ? floor(x) : ceil(x)));
  return BSM_OK;
}

enum { SIGN_NEG, SIGN_ABS };

static bsm_status op_sign(OP_PARAMS) {
  (void)cx;
  const bool neg = self->variant == SIGN_NEG;
  if (op_is_integral(&args[0])) {
    const int64_t x = op_int(&args[0]);
    outs[0] =
        bsm_iv_int(neg || x < 0 ? (int64_t)((uint64_t)0 - (uint64_t)x) : x);
  } else {
    const double x = op_double(&args[0]);
    outs[0] = bsm_iv_double(neg ? -x : fabs(x));
  }
  return BSM_OK;
}

enum { IS_NAN, IS_INF, IS_FINITE };

static bsm_status op_classify(OP_PARAMS) {
  (void)cx;
  const double x = op_double(&args[0]);
  outs[0] = bsm_iv_bool(self->variant == IS_NAN   ? isnan(x)
                        : self->variant == IS_INF ? isinf(x)
                                                  : isfinite(x));
  return BSM_OK;
}

static bsm_status op_modf(OP_PARAMS) {
  (void)cx;
  (void)self;
  double whole;
  outs[0] = bsm_iv_double(modf(op_double(&args[0]), &whole));
  outs[1] = bsm_iv_double(whole);
  return BSM_OK;
}

static bsm_status op_frexp(OP_PARAMS) {
  (void)cx;
  (void)self;
  int exponent = 0;
  outs[0] = bsm_iv_double(frexp(op_double(&args[0]), &exponent));
  outs[1] = bsm_iv_int(exponent);
  return BSM_OK;
}

static bsm_status op_factorial(OP_PARAMS) {
  (void)cx;
  (void)self;
  const int64_t n = op_int(&args[0]);
  if (n < 0) {
    return BSM_FAIL(BSM_RAISED,
                    "ValueError: factorial() not defined for negative values");
  }
  uint64_t r = 1;
  for (int64_t i = 2; i <= n && i < 70; i++) r *= (uint64_t)i;
  outs[0] = bsm_iv_int(n >= 70 ? 0 : (int64_t)r);
  return BSM_OK;
}

/* ---- casts ---- */

enum { CAST_INT, CAST_FLOAT, CAST_BOOL };

static bsm_status cast_string(int32_t variant, bsm_str s, bsm_ivalue *out) {
  while (s.len && strchr(" \t\n", s.data[0])) s.data++, s.len--;
  while (s.len && strchr(" \t\n", s.data[s.len - 1])) s.len--;
  int64_t i;
  double d;
  if (variant == CAST_INT && bsm_parse_i64(s, &i)) {
    *out = bsm_iv_int(i);
  } else if (variant == CAST_FLOAT && bsm_parse_double(s, &d)) {
    *out = bsm_iv_double(d);
  } else {
    return BSM_FAIL(BSM_RAISED,
                    "ValueError: could not convert string to %s: '%.*s'",
                    variant == CAST_INT ? "int" : "float", (int)s.len, s.data);
  }
  return BSM_OK;
}

static bsm_status op_cast(OP_PARAMS) {
  (void)cx;
  const bsm_ivalue *a = &args[0];
  if (a->tag == BSM_IVALUE_STRING) {
    return cast_string(self->variant, op_str(a), &outs[0]);
  }
  if (self->variant == CAST_INT) {
    outs[0] = bsm_iv_int(op_int(a));
  } else if (self->variant == CAST_FLOAT) {
    outs[0] = bsm_iv_double(op_double(a));
  } else {
    outs[0] =
        bsm_iv_bool(op_is_integral(a) ? op_int(a) != 0 : op_double(a) != 0.0);
  }
  return BSM_OK;
}

/* ---- ranges ---- */

static bsm_status op_range_length(OP_PARAMS) {
  (void)cx;
  (void)self;
  const int64_t low = op_int(&args[0]), high = op_int(&args[1]);
  const int64_t step = op_int(&args[2]);
  if (step == 0) {
    return BSM_FAIL(BSM_RAISED, "range() arg 3 must not be zero");
  }
  uint64_t n = 0;
  if (step > 0 && low < high) {
    n = 1 + ((uint64_t)high - 1 - (uint64_t)low) / (uint64_t)step;
  } else if (step < 0 && low > high) {
    n = 1 +
        ((uint64_t)low - 1 - (uint64_t)high) / ((uint64_t)0 - (uint64_t)step);
  }
  outs[0] = bsm_iv_int((int64_t)n);
  return BSM_OK;
}

static bsm_status op_derive_index(OP_PARAMS) {
  (void)cx;
  (void)self;
  const uint64_t at = (uint64_t)op_int(&args[0]);
  outs[0] = bsm_iv_int(
      (int64_t)((uint64_t)op_int(&args[1]) + at * (uint64_t)op_int(&args[2])));
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::add.int(int a, int b) -> int", op_arithmetic, NUM_ADD, 0),
    OP("aten::add.float(float a, float b) -> float", op_arithmetic, NUM_ADD, 0),
    OP("aten::add.int_float(int a, float b) -> float", op_arithmetic, NUM_ADD,
       0),
    OP("aten::add.float_int(float a, int b) -> float", op_arithmetic, NUM_ADD,
       0),
    OP("aten::add(Scalar a, Scalar b) -> Scalar", op_arithmetic, NUM_ADD, 0),
    OP("aten::sub.int(int a, int b) -> int", op_arithmetic, NUM_SUB, 0),
    OP("aten::sub.float(float a, float b) -> float", op_arithmetic, NUM_SUB, 0),
    OP("aten::sub.int_float(int a, float b) -> float", op_arithmetic, NUM_SUB,
       0),
    OP("aten::sub.float_int(float a, int b) -> float", op_arithmetic, NUM_SUB,
       0),
    OP("aten::sub(Scalar a, Scalar b) -> Scalar", op_arithmetic, NUM_SUB, 0),
    OP("aten::mul.int(int a, int b) -> int", op_arithmetic, NUM_MUL, 0),
    OP("aten::mul.float(float a, float b) -> float", op_arithmetic, NUM_MUL, 0),
    OP("aten::mul.int_float(int a, float b) -> float", op_arithmetic, NUM_MUL,
       0),
    OP("aten::mul.float_int(float a, int b) -> float", op_arithmetic, NUM_MUL,
       0),
    OP("aten::mul(Scalar a, Scalar b) -> Scalar", op_arithmetic, NUM_MUL, 0),
    OP("aten::div.int(int a, int b) -> float", op_arithmetic, NUM_DIV, 0),
    OP("aten::div.float(float a, float b) -> float", op_arithmetic, NUM_DIV, 0),
    OP("aten::div(Scalar a, Scalar b) -> float", op_arithmetic, NUM_DIV, 0),
    OP("aten::floordiv.int(int a, int b) -> int", op_arithmetic, NUM_FLOORDIV,
       0),
    OP("aten::floordiv.float(float a, float b) -> float", op_arithmetic,
       NUM_FLOORDIV, 0),
    OP("aten::floordiv.int_float(int a, float b) -> float", op_arithmetic,
       NUM_FLOORDIV, 0),
    OP("aten::floordiv.float_int(float a, int b) -> float", op_arithmetic,
       NUM_FLOORDIV, 0),
    OP("aten::floordiv(Scalar a, Scalar b) -> Scalar", op_arithmetic,
       NUM_FLOORDIV, 0),
    OP("aten::remainder.int(int a, int b) -> int", op_arithmetic, NUM_REMAINDER,
       0),
    OP("aten::remainder.float(float a, float b) -> float", op_arithmetic,
       NUM_REMAINDER, 0),
    OP("aten::remainder.int_float(int a, float b) -> float", op_arithmetic,
       NUM_REMAINDER, 0),
    OP("aten::remainder.float_int(float a, int b) -> float", op_arithmetic,
       NUM_REMAINDER, 0),
    OP("aten::remainder(Scalar a, Scalar b) -> Scalar", op_arithmetic,
       NUM_REMAINDER, 0),
    OP("aten::fmod.int(int a, int b) -> float", op_arithmetic, NUM_FMOD, 0),
    OP("aten::fmod.float(float a, float b) -> float", op_arithmetic, NUM_FMOD,
       0),
    OP("aten::fmod.int_float(int a, float b) -> float", op_arithmetic, NUM_FMOD,
       0),
    OP("aten::fmod.float_int(float a, int b) -> float", op_arithmetic, NUM_FMOD,
       0),
    OP("aten::fmod(Scalar a, Scalar b) -> float", op_arithmetic, NUM_FMOD, 0),
    OP("aten::mathremainder.int(int a, int b) -> float", op_arithmetic,
       NUM_MATHREMAINDER, 0),
    OP("aten::mathremainder.float(float a, float b) -> float", op_arithmetic,
       NUM_MATHREMAINDER, 0),
    OP("aten::mathremainder.int_float(int a, float b) -> float", op_arithmetic,
       NUM_MATHREMAINDER, 0),
    OP("aten::mathremainder.float_int(float a, int b) -> float", op_arithmetic,
       NUM_MATHREMAINDER, 0),
    OP("aten::mathremainder(Scalar a, Scalar b) -> float", op_arithmetic,
       NUM_MATHREMAINDER, 0),
    OP("aten::atan2.int(int a, int b) -> float", op_arithmetic, NUM_ATAN2, 0),
    OP("aten::atan2.float(float a, float b) -> float", op_arithmetic, NUM_ATAN2,
       0),
    OP("aten::atan2.int_float(int a, float b) -> float", op_arithmetic,
       NUM_ATAN2, 0),
    OP("aten::atan2.float_int(float a, int b) -> float", op_arithmetic,
       NUM_ATAN2, 0),
    OP("aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float", op_arithmetic,
       NUM_ATAN2, 0),
    OP("aten::copysign.int(int a, int b) -> float", op_arithmetic, NUM_COPYSIGN,
       0),
    OP("aten::copysign.float(float a, float b) -> float", op_arithmetic,
       NUM_COPYSIGN, 0),
    OP("aten::copysign.int_float(int a, float b) -> float", op_arithmetic,
       NUM_COPYSIGN, 0),
    OP("aten::copysign.float_int(float a, int b) -> float", op_arithmetic,
       NUM_COPYSIGN, 0),
    OP("aten::copysign(Scalar a, Scalar b) -> float", op_arithmetic,
       NUM_COPYSIGN, 0),
    OP("aten::gcd.int(int a, int b) -> int", op_arithmetic, NUM_GCD, 0),
    OP("aten::__lshift__.int(int a, int b) -> int", op_arithmetic, NUM_SHL, 0),
    OP("aten::__rshift__.int(int a, int b) -> int", op_arithmetic, NUM_SHR, 0),
    OP("aten::__and__.bool(bool a, bool b) -> bool", op_arithmetic, NUM_AND, 0),
    OP("aten::__and__.int(int a, int b) -> int", op_arithmetic, NUM_AND, 0),
    OP("aten::__or__.bool(bool a, bool b) -> bool", op_arithmetic, NUM_OR, 0),
    OP("aten::__or__.int(int a, int b) -> int", op_arithmetic, NUM_OR, 0),
    OP("aten::__xor__.bool(bool a, bool b) -> bool", op_arithmetic, NUM_XOR, 0),
    OP("aten::__xor__.int(int a, int b) -> int", op_arithmetic, NUM_XOR, 0),
    OP("aten::__round_to_zero_floordiv.int(int a, int b) -> int", op_arithmetic,
       NUM_TRUNCDIV, 0),
    OP("aten::ldexp(float x, int i) -> float", op_arithmetic, NUM_LDEXP, 0),
    OP("aten::pow.int(int a, int b) -> float", op_arithmetic, NUM_POW, 0),
    OP("aten::pow.float(float a, float b) -> float", op_arithmetic, NUM_POW, 0),
    OP("aten::pow.int_float(int a, float b) -> float", op_arithmetic, NUM_POW,
       0),
    OP("aten::pow.float_int(float a, int b) -> float", op_arithmetic, NUM_POW,
       0),
    OP("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", op_arithmetic,
       NUM_POW, 0),
    OP("aten::pow.int_to_int(int a, int b) -> int", op_arithmetic, NUM_POW_INT,
       0),
    OP("prim::min.int(int a, int b) -> int", op_arithmetic, NUM_MIN, 0),
    OP("prim::min.float(float a, float b) -> float", op_arithmetic, NUM_MIN, 0),
    OP("prim::min.int_float(int a, float b) -> float", op_arithmetic, NUM_MIN,
       0),
    OP("prim::min.float_int(float a, int b) -> float", op_arithmetic, NUM_MIN,
       0),
    OP("prim::min(Scalar a, Scalar b) -> Scalar", op_arithmetic, NUM_MIN, 0),
    OP("prim::max.int(int a, int b) -> int", op_arithmetic, NUM_MAX, 0),
    OP("prim::max.float(float a, float b) -> float", op_arithmetic, NUM_MAX, 0),
    OP("prim::max.int_float(int a, float b) -> float", op_arithmetic, NUM_MAX,
       0),
    OP("prim::max.float_int(float a, int b) -> float", op_arithmetic, NUM_MAX,
       0),
    OP("prim::max(Scalar a, Scalar b) -> Scalar", op_arithmetic, NUM_MAX, 0),
    OP("aten::log.int_int(int a, int b) -> float", op_arithmetic, NUM_LOG, 0),
    OP("aten::log.float_float(float a, float b) -> float", op_arithmetic,
       NUM_LOG, 0),
    OP("aten::log.int_float(int a, float b) -> float", op_arithmetic, NUM_LOG,
       0),
    OP("aten::log.float_int(float a, int b) -> float", op_arithmetic, NUM_LOG,
       0),
    OP("aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float", op_arithmetic,
       NUM_LOG, 0),
    OP("aten::divmod.int(int x, int y) -> (int, int)", op_divmod, 0, 0),
    OP("aten::divmod.float(float x, float y) -> (float, float)", op_divmod, 0,
       0),
    OP("aten::divmod.int_float(int x, float y) -> (float, float)", op_divmod, 0,
       0),
    OP("aten::divmod.float_int(float x, int y) -> (float, float)", op_divmod, 0,
       0),
    OP("aten::eq.bool(bool a, bool b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq.int(int a, int b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq.float(float a, float b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq.int_float(int a, float b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq.float_int(float a, int b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq(Scalar a, Scalar b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::eq.str(str a, str b) -> bool", op_compare, CMP_EQ, 0),
    OP("aten::ne.bool(bool a, bool b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne.int(int a, int b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne.float(float a, float b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne.int_float(int a, float b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne.float_int(float a, int b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne(Scalar a, Scalar b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::ne.str(str a, str b) -> bool", op_compare, CMP_NE, 0),
    OP("aten::lt.int(int a, int b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::lt.float(float a, float b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::lt.int_float(int a, float b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::lt.float_int(float a, int b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::lt(Scalar a, Scalar b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::lt.str(str a, str b) -> bool", op_compare, CMP_LT, 0),
    OP("aten::le.int(int a, int b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::le.float(float a, float b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::le.int_float(int a, float b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::le.float_int(float a, int b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::le(Scalar a, Scalar b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::le.str(str a, str b) -> bool", op_compare, CMP_LE, 0),
    OP("aten::gt.int(int a, int b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::gt.float(float a, float b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::gt.int_float(int a, float b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::gt.float_int(float a, int b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::gt(Scalar a, Scalar b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::gt.str(str a, str b) -> bool", op_compare, CMP_GT, 0),
    OP("aten::ge.int(int a, int b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::ge.float(float a, float b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::ge.int_float(int a, float b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::ge.float_int(float a, int b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::ge(Scalar a, Scalar b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::ge.str(str a, str b) -> bool", op_compare, CMP_GE, 0),
    OP("aten::eq.int_list(int[] a, int[] b) -> bool", op_equal_values, CMP_EQ,
       0),
    OP("aten::eq.float_list(float[] a, float[] b) -> bool", op_equal_values,
       CMP_EQ, 0),
    OP("aten::eq.bool_list(bool[] a, bool[] b) -> bool", op_equal_values,
       CMP_EQ, 0),
    OP("aten::eq.str_list(str[] a, str[] b) -> bool", op_equal_values, CMP_EQ,
       0),
    OP("aten::eq.device(Device a, Device b) -> bool", op_equal_values, CMP_EQ,
       0),
    OP("aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", op_equal_values,
       CMP_EQ, 0),
    OP("aten::ne.int_list(int[] a, int[] b) -> bool", op_equal_values, CMP_NE,
       0),
    OP("aten::ne.float_list(float[] a, float[] b) -> bool", op_equal_values,
       CMP_NE, 0),
    OP("aten::ne.bool_list(bool[] a, bool[] b) -> bool", op_equal_values,
       CMP_NE, 0),
    OP("aten::ne.str_list(str[] a, str[] b) -> bool", op_equal_values, CMP_NE,
       0),
    OP("aten::ne.device(Device a, Device b) -> bool", op_equal_values, CMP_NE,
       0),
    OP("aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool", op_equal_values,
       CMP_NE, 0),
    OP("aten::__is__(t1 self, t2 obj) -> bool", op_is, IS_IS, 0),
    OP("aten::__isnot__(t1 self, t2 obj) -> bool", op_is, IS_NOT, 0),
    OP("aten::__not__(bool self) -> bool", op_not, 0, 0),
    OP("aten::acos.int(int a) -> float", op_math, MATH_ACOS, 0),
    OP("aten::acos.float(float a) -> float", op_math, MATH_ACOS, 0),
    OP("aten::acos.Scalar(Scalar a) -> Scalar", op_math, MATH_ACOS, 0),
    OP("aten::acosh.int(int a) -> float", op_math, MATH_ACOSH, 0),
    OP("aten::acosh.float(float a) -> float", op_math, MATH_ACOSH, 0),
    OP("aten::acosh.Scalar(Scalar a) -> Scalar", op_math, MATH_ACOSH, 0),
    OP("aten::asin.int(int a) -> float", op_math, MATH_ASIN, 0),
    OP("aten::asin.float(float a) -> float", op_math, MATH_ASIN, 0),
    OP("aten::asin.Scalar(Scalar a) -> Scalar", op_math, MATH_ASIN, 0),
    OP("aten::asinh.int(int a) -> float", op_math, MATH_ASINH, 0),
    OP("aten::asinh.float(float a) -> float", op_math, MATH_ASINH, 0),
    OP("aten::asinh.Scalar(Scalar a) -> Scalar", op_math, MATH_ASINH, 0),
    OP("aten::atan.int(int a) -> float", op_math, MATH_ATAN, 0),
    OP("aten::atan.float(float a) -> float", op_math, MATH_ATAN, 0),
    OP("aten::atan.Scalar(Scalar a) -> Scalar", op_math, MATH_ATAN, 0),
    OP("aten::atanh.int(int a) -> float", op_math, MATH_ATANH, 0),
    OP("aten::atanh.float(float a) -> float", op_math, MATH_ATANH, 0),
    OP("aten::atanh.Scalar(Scalar a) -> Scalar", op_math, MATH_ATANH, 0),
    OP("aten::cos.int(int a) -> float", op_math, MATH_COS, 0),
    OP("aten::cos.float(float a) -> float", op_math, MATH_COS, 0),
    OP("aten::cos.Scalar(Scalar a) -> Scalar", op_math, MATH_COS, 0),
    OP("aten::cosh.int(int a) -> float", op_math, MATH_COSH, 0),
    OP("aten::cosh.float(float a) -> float", op_math, MATH_COSH, 0),
    OP("aten::cosh.Scalar(Scalar a) -> Scalar", op_math, MATH_COSH, 0),
    OP("aten::sin.int(int a) -> float", op_math, MATH_SIN, 0),
    OP("aten::sin.float(float a) -> float", op_math, MATH_SIN, 0),
    OP("aten::sin.Scalar(Scalar a) -> Scalar", op_math, MATH_SIN, 0),
    OP("aten::sinh.int(int a) -> float", op_math, MATH_SINH, 0),
    OP("aten::sinh.float(float a) -> float", op_math, MATH_SINH, 0),
    OP("aten::sinh.Scalar(Scalar a) -> Scalar", op_math, MATH_SINH, 0),
    OP("aten::tan.int(int a) -> float", op_math, MATH_TAN, 0),
    OP("aten::tan.float(float a) -> float", op_math, MATH_TAN, 0),
    OP("aten::tan.Scalar(Scalar a) -> Scalar", op_math, MATH_TAN, 0),
    OP("aten::tanh.int(int a) -> float", op_math, MATH_TANH, 0),
    OP("aten::tanh.float(float a) -> float", op_math, MATH_TANH, 0),
    OP("aten::tanh.Scalar(Scalar a) -> Scalar", op_math, MATH_TANH, 0),
    OP("aten::exp.int(int a) -> float", op_math, MATH_EXP, 0),
    OP("aten::exp.float(float a) -> float", op_math, MATH_EXP, 0),
    OP("aten::exp.Scalar(Scalar a) -> Scalar", op_math, MATH_EXP, 0),
    OP("aten::expm1.int(int a) -> float", op_math, MATH_EXPM1, 0),
    OP("aten::expm1.float(float a) -> float", op_math, MATH_EXPM1, 0),
    OP("aten::expm1.Scalar(Scalar a) -> Scalar", op_math, MATH_EXPM1, 0),
    OP("aten::log10.int(int a) -> float", op_math, MATH_LOG10, 0),
    OP("aten::log10.float(float a) -> float", op_math, MATH_LOG10, 0),
    OP("aten::log10.Scalar(Scalar a) -> Scalar", op_math, MATH_LOG10, 0),
    OP("aten::log1p.int(int a) -> float", op_math, MATH_LOG1P, 0),
    OP("aten::log1p.float(float a) -> float", op_math, MATH_LOG1P, 0),
    OP("aten::log1p.Scalar(Scalar a) -> Scalar", op_math, MATH_LOG1P, 0),
    OP("aten::sqrt.int(int a) -> float", op_math, MATH_SQRT, 0),
    OP("aten::sqrt.float(float a) -> float", op_math, MATH_SQRT, 0),
    OP("aten::sqrt.Scalar(Scalar a) -> Scalar", op_math, MATH_SQRT, 0),
    OP("aten::erf.int(int a) -> float", op_math, MATH_ERF, 0),
    OP("aten::erf.float(float a) -> float", op_math, MATH_ERF, 0),
    OP("aten::erf.Scalar(Scalar a) -> Scalar", op_math, MATH_ERF, 0),
    OP("aten::erfc.int(int a) -> float", op_math, MATH_ERFC, 0),
    OP("aten::erfc.float(float a) -> float", op_math, MATH_ERFC, 0),
    OP("aten::erfc.Scalar(Scalar a) -> Scalar", op_math, MATH_ERFC, 0),
    OP("aten::gamma.int(int a) -> float", op_math, MATH_GAMMA, 0),
    OP("aten::gamma.float(float a) -> float", op_math, MATH_GAMMA, 0),
    OP("aten::gamma.Scalar(Scalar a) -> Scalar", op_math, MATH_GAMMA, 0),
    OP("aten::lgamma.int(int a) -> float", op_math, MATH_LGAMMA, 0),
    OP("aten::lgamma.float(float a) -> float", op_math, MATH_LGAMMA, 0),
    OP("aten::lgamma.Scalar(Scalar a) -> Scalar", op_math, MATH_LGAMMA, 0),
    OP("aten::fabs.int(int a) -> float", op_math, MATH_FABS, 0),
    OP("aten::fabs.float(float a) -> float", op_math, MATH_FABS, 0),
    OP("aten::fabs.Scalar(Scalar a) -> Scalar", op_math, MATH_FABS, 0),
    OP("aten::degrees.int(int a) -> float", op_math, MATH_DEGREES, 0),
    OP("aten::degrees.float(float a) -> float", op_math, MATH_DEGREES, 0),
    OP("aten::degrees.Scalar(Scalar a) -> Scalar", op_math, MATH_DEGREES, 0),
    OP("aten::radians.int(int a) -> float", op_math, MATH_RADIANS, 0),
    OP("aten::radians.float(float a) -> float", op_math, MATH_RADIANS, 0),
    OP("aten::radians.Scalar(Scalar a) -> Scalar", op_math, MATH_RADIANS, 0),
    OP("aten::round.int(int a) -> float", op_math, MATH_ROUND, 0),
    OP("aten::round.float(float a) -> float", op_math, MATH_ROUND, 0),
    OP("aten::round.Scalar(Scalar a) -> Scalar", op_math, MATH_ROUND, 0),
    OP("aten::angle.int(int a) -> float", op_math, MATH_ANGLE, 0),
    OP("aten::angle.float(float a) -> float", op_math, MATH_ANGLE, 0),
    OP("aten::angle.Scalar(Scalar a) -> Scalar", op_math, MATH_ANGLE, 0),
    OP("aten::log.int(int a) -> float", op_math, MATH_LOG, 0),
    OP("aten::log.float(float a) -> float", op_math, MATH_LOG, 0),
    OP("aten::log.Scalar(Scalar a) -> Scalar", op_math, MATH_LOG, 0),
    OP("aten::floor.int(int a) -> int", op_round_to_int, ROUND_FLOOR, 0),
    OP("aten::floor.float(float a) -> int", op_round_to_int, ROUND_FLOOR, 0),
    OP("aten::floor.Scalar(Scalar a) -> Scalar", op_round_to_int, ROUND_FLOOR,
       0),
    OP("aten::ceil.int(int a) -> int", op_round_to_int, ROUND_CEIL, 0),
    OP("aten::ceil.float(float a) -> int", op_round_to_int, ROUND_CEIL, 0),
    OP("aten::ceil.Scalar(Scalar a) -> Scalar", op_round_to_int, ROUND_CEIL, 0),
    OP("aten::neg.int(int a) -> int", op_sign, SIGN_NEG, 0),
    OP("aten::neg.float(float a) -> float", op_sign, SIGN_NEG, 0),
    OP("aten::neg.Scalar(Scalar a) -> Scalar", op_sign, SIGN_NEG, 0),
    OP("prim::abs.int(int a) -> int", op_sign, SIGN_ABS, 0),
    OP("prim::abs.float(float a) -> float", op_sign, SIGN_ABS, 0),
    OP("prim::abs.Scalar(Scalar a) -> Scalar", op_sign, SIGN_ABS, 0),
    OP("aten::isnan.float(float a) -> bool", op_classify, IS_NAN, 0),
    OP("aten::isinf.float(float a) -> bool", op_classify, IS_INF, 0),
    OP("aten::isfinite.float(float a) -> bool", op_classify, IS_FINITE, 0),
    OP("aten::modf(float a) -> (float, float)", op_modf, 0, 0),
    OP("aten::frexp(float a) -> (float, int)", op_frexp, 0, 0),
    OP("aten::factorial.int(int a) -> int", op_factorial, 0, 0),
    OP("aten::Int.bool(bool a) -> int", op_cast, CAST_INT, 0),
    OP("aten::Int.float(float a) -> int", op_cast, CAST_INT, 0),
    OP("aten::Int.Scalar(Scalar a) -> int", op_cast, CAST_INT, 0),
    OP("aten::Int.str(str a) -> int", op_cast, CAST_INT, 0),
    OP("aten::Float.Scalar(Scalar a) -> float", op_cast, CAST_FLOAT, 0),
    OP("aten::Float.int(int a) -> float", op_cast, CAST_FLOAT, 0),
    OP("aten::Float.bool(bool a) -> float", op_cast, CAST_FLOAT, 0),
    OP("aten::Float.str(str a) -> float", op_cast, CAST_FLOAT, 0),
    OP("aten::Bool.int(int a) -> bool", op_cast, CAST_BOOL, 0),
    OP("aten::Bool.float(float a) -> bool", op_cast, CAST_BOOL, 0),
    OP("aten::__range_length(int lo, int hi, int step) -> int", op_range_length,
       0, 0),
    OP("aten::__derive_index(int index, int start, int step) -> int",
       op_derive_index, 0, 0),
};
BSM_ATEN_TABLE(number, rows);
