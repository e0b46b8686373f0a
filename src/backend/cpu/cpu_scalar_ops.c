/* SPDX-License-Identifier: Apache-2.0 */
/* Array operations of the element-wise driver. */
#include "backend/cpu/cpu_scalar_ops.h"

#include <math.h>
#include <string.h>

bool bsm_cpu_unary_is_test(int32_t code) {
  return code == BSM_UNARY_NOT || code == BSM_UNARY_ISINF ||
         code == BSM_UNARY_ISNAN;
}

bool bsm_cpu_binary_is_test(int32_t code) {
  return code >= BSM_ELEMENT_WISE_AND && code <= BSM_ELEMENT_WISE_LESS_EQUAL;
}

/* ---- unary ---- */

static bsm_k_unary_f32 *vector_unary(const bsm_k_math *m, int32_t code) {
  switch (code) {
    case BSM_UNARY_EXP:
      return m->exp;
    case BSM_UNARY_LOG:
      return m->log;
    case BSM_UNARY_SQRT:
      return m->sqrt;
    case BSM_UNARY_RECIP:
      return m->recip;
    case BSM_UNARY_ABS:
      return m->abs;
    case BSM_UNARY_NEG:
      return m->neg;
    case BSM_UNARY_CEIL:
      return m->ceil;
    case BSM_UNARY_FLOOR:
      return m->floor;
    case BSM_UNARY_ERF:
      return m->erf;
    case BSM_UNARY_SIGN:
      return m->sign;
    case BSM_UNARY_ROUND:
      return m->round;
    case BSM_UNARY_TRUNC:
      return m->trunc;
    case BSM_UNARY_RSQRT:
      return m->rsqrt;
    case BSM_UNARY_LOG2:
      return m->log2;
    case BSM_UNARY_LOG10:
      return m->log10;
    case BSM_UNARY_LOG1P:
      return m->log1p;
    case BSM_UNARY_EXPM1:
      return m->expm1;
    case BSM_UNARY_SQUARE:
      return m->square;
    case BSM_UNARY_FRAC:
      return m->frac;
    case BSM_UNARY_EXP2:
      return m->exp2;
    default:
      return NULL;
  }
}

/* Functions of bsm_k_wide, or -1. */
static int32_t wide_unary(int32_t code) {
  const bool has = code >= BSM_UNARY_SIN && code <= BSM_UNARY_ATANH;
  _Static_assert(BSM_UNARY_ATANH - BSM_UNARY_SIN == BSM_K_ATANH - BSM_K_SIN &&
                     BSM_UNARY_ASIN - BSM_UNARY_SIN == BSM_K_ASIN - BSM_K_SIN,
                 "in the order of the codes");
  return has ? code - BSM_UNARY_SIN + BSM_K_SIN : -1;
}

static int32_t wide_binary(int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_POW:
      return BSM_K_POW;
    case BSM_ELEMENT_WISE_FLOOR_DIV:
      return BSM_K_FLOOR_DIV;
    case BSM_ELEMENT_WISE_TRUNC_DIV:
      return BSM_K_TRUNC_DIV;
    case BSM_ELEMENT_WISE_REMAINDER:
      return BSM_K_REMAINDER;
    case BSM_ELEMENT_WISE_FMOD:
      return BSM_K_FMOD;
    case BSM_ELEMENT_WISE_ATAN2:
      return BSM_K_ATAN2;
    default:
      return -1;
  }
}

static double unary_f64(int32_t code, double x) {
  switch (code) {
    case BSM_UNARY_EXP:
      return exp(x);
    case BSM_UNARY_LOG:
      return log(x);
    case BSM_UNARY_SQRT:
      return sqrt(x);
    case BSM_UNARY_RECIP:
      return 1.0 / x;
    case BSM_UNARY_ABS:
      return fabs(x);
    case BSM_UNARY_NEG:
      return -x;
    case BSM_UNARY_SIN:
      return sin(x);
    case BSM_UNARY_COS:
      return cos(x);
    case BSM_UNARY_TAN:
      return tan(x);
    case BSM_UNARY_SINH:
      return sinh(x);
    case BSM_UNARY_COSH:
      return cosh(x);
    case BSM_UNARY_ASIN:
      return asin(x);
    case BSM_UNARY_ACOS:
      return acos(x);
    case BSM_UNARY_ATAN:
      return atan(x);
    case BSM_UNARY_ASINH:
      return asinh(x);
    case BSM_UNARY_ACOSH:
      return acosh(x);
    case BSM_UNARY_ATANH:
      return atanh(x);
    case BSM_UNARY_CEIL:
      return ceil(x);
    case BSM_UNARY_FLOOR:
      return floor(x);
    case BSM_UNARY_ERF:
      return erf(x);
    case BSM_UNARY_SIGN:
      return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    case BSM_UNARY_ROUND:
      return nearbyint(x);
    case BSM_UNARY_TRUNC:
      return trunc(x);
    case BSM_UNARY_RSQRT:
      return 1.0 / sqrt(x);
    case BSM_UNARY_LOG2:
      return log2(x);
    case BSM_UNARY_LOG10:
      return log10(x);
    case BSM_UNARY_LOG1P:
      return log1p(x);
    case BSM_UNARY_EXPM1:
      return expm1(x);
    case BSM_UNARY_ERFC:
      return erfc(x);
    case BSM_UNARY_SQUARE:
      return x * x;
    case BSM_UNARY_FRAC:
      return x - trunc(x);
    case BSM_UNARY_EXP2:
      return exp2(x);
    default:
      return x;
  }
}

static int64_t negate(int64_t x) {
  return (int64_t)(0u - (uint64_t)x);
}

static int64_t unary_i64(int32_t code, bsm_dtype dtype, int64_t x) {
  switch (code) {
    case BSM_UNARY_ABS:
      return x < 0 ? negate(x) : x;
    case BSM_UNARY_NEG:
      return negate(x);
    case BSM_UNARY_SIGN:
      return (x > 0) - (x < 0);
    case BSM_UNARY_SQUARE:
      return (int64_t)((uint64_t)x * (uint64_t)x);
    case BSM_UNARY_BITWISE_NOT:
      return dtype == BSM_DTYPE_BOOL ? x == 0 : ~x;
    case BSM_UNARY_CEIL:
    case BSM_UNARY_FLOOR:
    case BSM_UNARY_ROUND:
    case BSM_UNARY_TRUNC:
      return x;
    case BSM_UNARY_FRAC:
      return 0;
    default:
      return bsm_cpu_to_i64(unary_f64(code, (double)x));
  }
}

#define TESTS(in_type, call)                                \
  {                                                         \
    const in_type *p = x;                                   \
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)(call); \
    return;                                                 \
  }
#define FLOATING_TESTS(in_type)        \
  switch (code) {                      \
    case BSM_UNARY_ISINF:              \
      TESTS(in_type, isinf(p[i]) != 0) \
    case BSM_UNARY_ISNAN:              \
      TESTS(in_type, p[i] != p[i])     \
    default:                           \
      TESTS(in_type, p[i] == 0)        \
  }

static void unary_test(const bsm_k_ints *ints, int32_t code, bsm_cpu_class c,
                       const void *x, uint8_t *y, int64_t n) {
  switch (c) {
    case BSM_CPU_F32:
      FLOATING_TESTS(float)
    case BSM_CPU_F64:
      FLOATING_TESTS(double)
    case BSM_CPU_I64:
      TESTS(int64_t, code == BSM_UNARY_NOT && p[i] == 0)
    case BSM_CPU_U8:
      if (code == BSM_UNARY_NOT) {
        ints->truth(BSM_K_TRUTH_NOT, x, x, y, n);
      } else {
        memset(y, 0, (size_t)n);
      }
  }
}

void bsm_cpu_unary(const bsm_cpu_elements *k, const bsm_k_math *math,
                   int32_t code, bsm_cpu_class c, bsm_dtype dtype,
                   const void *x, void *y, int64_t n) {
  if (bsm_cpu_unary_is_test(code)) {
    unary_test(k->ints, code, c, x, y, n);
  } else if (c == BSM_CPU_F32) {
    bsm_k_unary_f32 *fn = vector_unary(math, code);
    if (fn) {
      fn(x, y, n, 0.0f, 0.0f);
      return;
    }
    if (math->wide && wide_unary(code) >= 0) {
      math->wide(wide_unary(code), x, x, y, n);
      return;
    }
    const float *p = x;
    float *o = y;
    for (int64_t i = 0; i < n; i++) o[i] = (float)unary_f64(code, (double)p[i]);
  } else if (c == BSM_CPU_F64) {
    const double *p = x;
    double *o = y;
    for (int64_t i = 0; i < n; i++) o[i] = unary_f64(code, p[i]);
  } else {
    const int64_t *p = x;
    int64_t *o = y;
    for (int64_t i = 0; i < n; i++) o[i] = unary_i64(code, dtype, p[i]);
  }
}

/* ---- binary ---- */

static bsm_k_binary_f32 *vector_binary(const bsm_k_math *m, int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_SUM:
      return m->sum;
    case BSM_ELEMENT_WISE_PROD:
      return m->prod;
    case BSM_ELEMENT_WISE_SUB:
      return m->sub;
    case BSM_ELEMENT_WISE_DIV:
      return m->div;
    case BSM_ELEMENT_WISE_MAX:
      return m->max;
    case BSM_ELEMENT_WISE_MIN:
      return m->min;
    default:
      return NULL;
  }
}

/* Floating-point operations in the precision of `type`, as PyTorch computes
 * them; suffix f for float. */
#define FLOATING(name, type, s)                              \
  static type floor_divide_##name(type a, type b) {          \
    if (b == 0) return a / b;                                \
    const type mod = fmod##s(a, b);                          \
    type div = (a - mod) / b;                                \
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;          \
    if (div == 0) return copysign##s(0, a / b);              \
    type whole = floor##s(div);                              \
    if (div - whole > (type)0.5) whole += 1;                 \
    return whole;                                            \
  }                                                          \
  static type remainder_##name(type a, type b) {             \
    const type mod = fmod##s(a, b);                          \
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod; \
  }                                                          \
  static type binary_##name(int32_t code, type a, type b) {  \
    switch (code) {                                          \
      case BSM_ELEMENT_WISE_SUM:                             \
        return a + b;                                        \
      case BSM_ELEMENT_WISE_PROD:                            \
        return a * b;                                        \
      case BSM_ELEMENT_WISE_SUB:                             \
        return a - b;                                        \
      case BSM_ELEMENT_WISE_DIV:                             \
        return a / b;                                        \
      case BSM_ELEMENT_WISE_MAX:                             \
        return a != a || a > b ? a : b;                      \
      case BSM_ELEMENT_WISE_MIN:                             \
        return a != a || a < b ? a : b;                      \
      case BSM_ELEMENT_WISE_POW:                             \
        return pow##s(a, b);                                 \
      case BSM_ELEMENT_WISE_FLOOR_DIV:                       \
        return floor_divide_##name(a, b);                    \
      case BSM_ELEMENT_WISE_TRUNC_DIV:                       \
        return trunc##s(a / b);                              \
      case BSM_ELEMENT_WISE_REMAINDER:                       \
        return remainder_##name(a, b);                       \
      case BSM_ELEMENT_WISE_FMOD:                            \
        return fmod##s(a, b);                                \
      case BSM_ELEMENT_WISE_ATAN2:                           \
        return atan2##s(a, b);                               \
      case BSM_ELEMENT_WISE_SHIFT_LEFT:                      \
        return a * exp2##s(b);                               \
      case BSM_ELEMENT_WISE_SHIFT_RIGHT:                     \
        return a / exp2##s(b);                               \
      default:                                               \
        return a;                                            \
    }                                                        \
  }
FLOATING(f32, float, f)
FLOATING(f64, double, )

static int64_t power_i64(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (; b > 0; b >>= 1) {
    if (b & 1) result *= base;
    base *= base;
  }
  return (int64_t)result;
}

/* Operations of bsm_k_ints_op, or -1. */
static int ints_operation(int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_SUM:
      return BSM_K_INTS_SUM;
    case BSM_ELEMENT_WISE_PROD:
      return BSM_K_INTS_PROD;
    case BSM_ELEMENT_WISE_SUB:
      return BSM_K_INTS_SUB;
    case BSM_ELEMENT_WISE_MAX:
      return BSM_K_INTS_MAX;
    case BSM_ELEMENT_WISE_MIN:
      return BSM_K_INTS_MIN;
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return BSM_K_INTS_AND;
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return BSM_K_INTS_OR;
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return BSM_K_INTS_XOR;
    default:
      return -1;
  }
}

/* Divisions, or -1. */
static int ints_division(int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_DIV:
    case BSM_ELEMENT_WISE_TRUNC_DIV:
      return BSM_K_INTS_TRUNC_DIV;
    case BSM_ELEMENT_WISE_FLOOR_DIV:
      return BSM_K_INTS_FLOOR_DIV;
    case BSM_ELEMENT_WISE_FMOD:
      return BSM_K_INTS_FMOD;
    case BSM_ELEMENT_WISE_REMAINDER:
      return BSM_K_INTS_REMAINDER;
    default:
      return -1;
  }
}

bool bsm_cpu_binary_is_division(int32_t code) {
  return ints_division(code) >= 0;
}

static void binary_i64(const bsm_k_ints *ints, int32_t code, bsm_dtype dtype,
                       const int64_t *a, const int64_t *b, int64_t *y,
                       int64_t n) {
  const int64_t bits = 8 * (int64_t)bsm_dtype_size(dtype);
  if (ints_operation(code) >= 0) {
    ints->binary((bsm_k_ints_op)ints_operation(code), a, b, y, n);
  } else if (ints_division(code) >= 0) {
    ints->divide((bsm_k_ints_division)ints_division(code), a, b, y, n);
  } else if (code == BSM_ELEMENT_WISE_SHIFT_LEFT) {
    ints->shift_left(a, b, y, n, bits);
  } else if (code == BSM_ELEMENT_WISE_SHIFT_RIGHT) {
    ints->shift_right(a, b, y, n, dtype == BSM_DTYPE_UINT8 ? bits : bits - 1);
  } else if (code == BSM_ELEMENT_WISE_POW) {
    for (int64_t i = 0; i < n; i++) y[i] = power_i64(a[i], b[i]);
  } else {
    for (int64_t i = 0; i < n; i++) {
      y[i] = bsm_cpu_to_i64(binary_f64(code, (double)a[i], (double)b[i]));
    }
  }
}

#define LOOP(in_type, out_type, call)                        \
  {                                                          \
    const in_type *p = a, *q = b;                            \
    out_type *o = y;                                         \
    for (int64_t i = 0; i < n; i++) o[i] = (out_type)(call); \
    return;                                                  \
  }

/* VALUE: what is compared; for truth, 0 or 1. */
#define COMPARE(type, VALUE)                          \
  switch (code) {                                     \
    case BSM_ELEMENT_WISE_EQUAL:                      \
      LOOP(type, uint8_t, VALUE(p[i]) == VALUE(q[i])) \
    case BSM_ELEMENT_WISE_NOT_EQUAL:                  \
      LOOP(type, uint8_t, VALUE(p[i]) != VALUE(q[i])) \
    case BSM_ELEMENT_WISE_GREATER:                    \
      LOOP(type, uint8_t, VALUE(p[i]) > VALUE(q[i]))  \
    case BSM_ELEMENT_WISE_LESS:                       \
      LOOP(type, uint8_t, VALUE(p[i]) < VALUE(q[i]))  \
    case BSM_ELEMENT_WISE_GREATER_EQUAL:              \
      LOOP(type, uint8_t, VALUE(p[i]) >= VALUE(q[i])) \
    case BSM_ELEMENT_WISE_LESS_EQUAL:                 \
      LOOP(type, uint8_t, VALUE(p[i]) <= VALUE(q[i])) \
    case BSM_ELEMENT_WISE_AND:                        \
      LOOP(type, uint8_t, (p[i] != 0) & (q[i] != 0))  \
    case BSM_ELEMENT_WISE_OR:                         \
      LOOP(type, uint8_t, (p[i] != 0) | (q[i] != 0))  \
    default:                                          \
      LOOP(type, uint8_t, (p[i] != 0) ^ (q[i] != 0))  \
  }
#define ITSELF(v) (v)
#define TRUTH(v) ((v) != 0)

static bool compare_ints(const bsm_k_ints *ints, int32_t code, const int64_t *a,
                         const int64_t *b, uint8_t *y, int64_t n) {
  switch (code) {
    case BSM_ELEMENT_WISE_EQUAL:
    case BSM_ELEMENT_WISE_NOT_EQUAL:
      ints->test(BSM_K_INTS_EQUAL, code == BSM_ELEMENT_WISE_NOT_EQUAL, a, b, y,
                 n);
      return true;
    case BSM_ELEMENT_WISE_LESS:
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
      ints->test(BSM_K_INTS_LESS, code == BSM_ELEMENT_WISE_GREATER_EQUAL, a, b,
                 y, n);
      return true;
    case BSM_ELEMENT_WISE_GREATER:
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      ints->test(BSM_K_INTS_LESS, code == BSM_ELEMENT_WISE_LESS_EQUAL, b, a, y,
                 n);
      return true;
    default:
      return false;
  }
}

/* Of truth values: comparisons for equality are XOR, or not. */
static bool combine_truth(const bsm_k_ints *ints, int32_t code,
                          const uint8_t *a, const uint8_t *b, uint8_t *y,
                          int64_t n) {
  switch (code) {
    case BSM_ELEMENT_WISE_AND:
      ints->truth(BSM_K_TRUTH_AND, a, b, y, n);
      return true;
    case BSM_ELEMENT_WISE_OR:
      ints->truth(BSM_K_TRUTH_OR, a, b, y, n);
      return true;
    case BSM_ELEMENT_WISE_XOR:
    case BSM_ELEMENT_WISE_NOT_EQUAL:
      ints->truth(BSM_K_TRUTH_XOR, a, b, y, n);
      return true;
    case BSM_ELEMENT_WISE_EQUAL:
      ints->truth(BSM_K_TRUTH_XOR, a, b, y, n);
      ints->truth(BSM_K_TRUTH_NOT, y, y, y, n);
      return true;
    default:
      return false;
  }
}

static void binary_test(const bsm_k_ints *ints, const bsm_k_math *math,
                        int32_t code, bsm_cpu_class c, const void *a,
                        const void *b, void *y, int64_t n) {
  if (c == BSM_CPU_I64 && compare_ints(ints, code, a, b, y, n)) return;
  if (c == BSM_CPU_U8 && combine_truth(ints, code, a, b, y, n)) return;
  if (c == BSM_CPU_F32) {
    switch (code) {
      case BSM_ELEMENT_WISE_EQUAL:
        math->equal(a, b, y, n);
        return;
      case BSM_ELEMENT_WISE_GREATER:
        math->less(b, a, y, n);
        return;
      case BSM_ELEMENT_WISE_LESS:
        math->less(a, b, y, n);
        return;
      case BSM_ELEMENT_WISE_GREATER_EQUAL:
        math->less_equal(b, a, y, n);
        return;
      case BSM_ELEMENT_WISE_LESS_EQUAL:
        math->less_equal(a, b, y, n);
        return;
      default:
        break;
    }
  }
  switch (c) {
    case BSM_CPU_F32:
      COMPARE(float, ITSELF)
    case BSM_CPU_F64:
      COMPARE(double, ITSELF)
    case BSM_CPU_I64:
      COMPARE(int64_t, ITSELF) /* AND, OR and XOR */
    case BSM_CPU_U8:
      COMPARE(uint8_t, TRUTH)
  }
}

void bsm_cpu_binary(const bsm_cpu_elements *k, const bsm_k_math *math,
                    int32_t code, bsm_cpu_class c, bsm_dtype dtype,
                    const void *a, const void *b, void *y, int64_t n) {
  if (bsm_cpu_binary_is_test(code)) {
    binary_test(k->ints, math, code, c, a, b, y, n);
    return;
  }
  bsm_k_binary_f32 *fn = c == BSM_CPU_F32 ? vector_binary(math, code) : NULL;
  if (fn) {
    fn(a, b, y, n);
    return;
  }
  if (c == BSM_CPU_F32 && math->wide && wide_binary(code) >= 0) {
    math->wide(wide_binary(code), a, b, y, n);
    return;
  }
  switch (c) {
    case BSM_CPU_F32:
      LOOP(float, float, binary_f32(code, p[i], q[i]))
    case BSM_CPU_F64:
      LOOP(double, double, binary_f64(code, p[i], q[i]))
    default:
      binary_i64(k->ints, code, dtype, a, b, y, n);
  }
}

static void power_f32(const bsm_k_math *math, const float *x, float exponent,
                      float *y, int64_t n) {
  enum { PIECE = 64 };
  float same[PIECE];
  for (int64_t i = 0; !math->wide && i < n; i++) y[i] = powf(x[i], exponent);
  if (!math->wide) return;
  for (int i = 0; i < PIECE; i++) same[i] = exponent;
  for (int64_t i = 0; i < n; i += PIECE) {
    math->wide(BSM_K_POW, x + i, same, y + i, bsm_cpu_min(PIECE, n - i));
  }
}

void bsm_cpu_power(const bsm_k_math *math, bsm_cpu_class c, const void *x,
                   double exponent, void *y, int64_t n) {
  if (c == BSM_CPU_F32) {
    const float *p = x;
    float *o = y;
    if (exponent == 2.0) {
      math->square(p, o, n, 0.0f, 0.0f);
    } else if (exponent == 0.5) {
      math->sqrt(p, o, n, 0.0f, 0.0f);
    } else if (exponent == -0.5) {
      math->rsqrt(p, o, n, 0.0f, 0.0f);
    } else if (exponent == -1.0) {
      math->recip(p, o, n, 0.0f, 0.0f);
    } else if (exponent == 3.0) {
      for (int64_t i = 0; i < n; i++) o[i] = p[i] * p[i] * p[i];
    } else {
      power_f32(math, p, (float)exponent, o, n);
    }
    return;
  }
  if (c == BSM_CPU_F64) {
    const double *p = x;
    double *o = y;
    for (int64_t i = 0; i < n; i++) {
      o[i] = exponent == 2.0 ? p[i] * p[i] : pow(p[i], exponent);
    }
    return;
  }
  const int64_t *p = x, e = bsm_cpu_to_i64(exponent);
  int64_t *o = y;
  for (int64_t i = 0; i < n; i++) o[i] = power_i64(p[i], e);
}

/* ---- activations ---- */

static double softplus(double x) {
  return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

static double clamp(double x, double lo, double hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

static double activation_f64(int32_t type, double x, double alpha,
                             double beta) {
  switch ((bsm_activation_type)type) {
    case BSM_ACTIVATION_NONE:
      return x;
    case BSM_ACTIVATION_RELU:
      return x < 0.0 ? 0.0 : x;
    case BSM_ACTIVATION_SIGMOID:
      return 1.0 / (1.0 + exp(-x));
    case BSM_ACTIVATION_TANH:
      return tanh(x);
    case BSM_ACTIVATION_LEAKY_RELU:
      return x > 0.0 ? x : alpha * x;
    case BSM_ACTIVATION_ELU:
      return x > 0.0 ? x : alpha * expm1(x);
    case BSM_ACTIVATION_SELU:
      return beta * (x > 0.0 ? x : alpha * expm1(x));
    case BSM_ACTIVATION_SOFTSIGN:
      return x / (1.0 + fabs(x));
    case BSM_ACTIVATION_SOFTPLUS:
      return x * beta > alpha ? x : softplus(x * beta) / beta;
    case BSM_ACTIVATION_CLIP:
      return clamp(x, alpha, beta);
    case BSM_ACTIVATION_HARD_SIGMOID:
      return clamp(alpha * x + beta, 0.0, 1.0);
    case BSM_ACTIVATION_THRESHOLDED_RELU:
      return x <= alpha ? 0.0 : x;
    case BSM_ACTIVATION_GELU_ERF:
      return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    case BSM_ACTIVATION_GELU_TANH:
      return 0.5 * x *
             (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case BSM_ACTIVATION_SILU:
      return x / (1.0 + exp(-x));
    case BSM_ACTIVATION_HARD_SWISH:
      return x * clamp(x + 3.0, 0.0, 6.0) / 6.0;
    case BSM_ACTIVATION_MISH:
      return x * tanh(softplus(x));
    case BSM_ACTIVATION_LOG_SIGMOID:
      return -softplus(-x);
    case BSM_ACTIVATION_THRESHOLD:
      return x <= alpha ? beta : x;
  }
  return x;
}

static int64_t activation_i64(int32_t type, int64_t x, double alpha,
                              double beta) {
  switch (type) {
    case BSM_ACTIVATION_NONE:
      return x;
    case BSM_ACTIVATION_RELU:
      return x < 0 ? 0 : x;
    case BSM_ACTIVATION_CLIP: {
      const int64_t lo = bsm_cpu_to_i64(alpha);
      const int64_t hi = beta >= 0x1p63 ? INT64_MAX : bsm_cpu_to_i64(beta);
      x = x < lo ? lo : x;
      return x > hi ? hi : x;
    }
    default:
      return bsm_cpu_to_i64(activation_f64(type, (double)x, alpha, beta));
  }
}

void bsm_cpu_activate(const bsm_k_math *math, int32_t type, bsm_cpu_class c,
                      const void *x, void *y, int64_t n, double alpha,
                      double beta) {
  if (c == BSM_CPU_F32) {
    bsm_k_unary_f32 *fn = bsm_cpu_activation(math, type);
    if (fn) {
      fn(x, y, n, (float)alpha, (float)beta);
    } else {
      memmove(y, x, (size_t)n * sizeof(float));
    }
  } else if (c == BSM_CPU_F64) {
    const double *p = x;
    double *o = y;
    for (int64_t i = 0; i < n; i++) {
      o[i] = activation_f64(type, p[i], alpha, beta);
    }
  } else {
    const int64_t *p = x;
    int64_t *o = y;
    for (int64_t i = 0; i < n; i++) {
      o[i] = activation_i64(type, p[i], alpha, beta);
    }
  }
}
