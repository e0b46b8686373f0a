/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a symbolic expression. Inside, whole numbers are fractions of
 * two checked int64, so that s/2 and 1/s come out exactly; doubles are what
 * Python would have. */
#include <math.h>

#include "base/checked.h"
#include "exported/symbolic.h"

/* num / den, den > 0, reduced; or d when is_float. */
typedef struct number {
  bool is_float, is_bool;
  int64_t num, den;
  double d;
} number;

typedef struct evaluator {
  const bsm_symbol_table *symbols;
  const int64_t *values;
  const bool *known;
  size_t count;
} evaluator;

static bsm_status evaluate(const evaluator *e, const bsm_sym_expr *expr,
                           number *out);

static bsm_status overflow(void) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "a symbolic expression is beyond 64-bit integers");
}

static bsm_status zero_division(void) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "a symbolic expression divides by zero");
}

/* ---- numbers ---- */

static number from_int(int64_t value) {
  return (number){.num = value, .den = 1};
}

static number from_bool(bool value) {
  return (number){.is_bool = true, .num = value, .den = 1};
}

static number from_double(double value) {
  return (number){.is_float = true, .den = 1, .d = value};
}

static double to_double(const number *n) {
  return n->is_float ? n->d : (double)n->num / (double)n->den;
}

static bool is_true(const number *n) {
  return n->is_float ? n->d != 0 : n->num != 0;
}

static bsm_status fraction(int64_t num, int64_t den, number *out) {
  if (den == 0) return zero_division();
  if (num == INT64_MIN || den == INT64_MIN) {
    if (den != 1) return overflow();
  }
  if (den != 1) {
    const int64_t sign = den < 0 ? -1 : 1;
    const int64_t common = bsm_i64_gcd(num < 0 ? -num : num, den * sign);
    num = num / common * sign;
    den = den / common * sign;
  }
  *out = (number){.num = num, .den = den};
  return BSM_OK;
}

static bsm_status add(const number *a, const number *b, number *out) {
  if (a->is_float || b->is_float) {
    *out = from_double(to_double(a) + to_double(b));
    return BSM_OK;
  }
  int64_t left, right, num, den;
  if (!bsm_i64_mul(a->num, b->den, &left) ||
      !bsm_i64_mul(b->num, a->den, &right) || !bsm_i64_add(left, right, &num) ||
      !bsm_i64_mul(a->den, b->den, &den)) {
    return overflow();
  }
  return fraction(num, den, out);
}

static bsm_status multiply(const number *a, const number *b, number *out) {
  if (a->is_float || b->is_float) {
    *out = from_double(to_double(a) * to_double(b));
    return BSM_OK;
  }
  /* (2**62) * (1/2) fits: cancel before multiplying. */
  number left, right;
  int64_t num, den;
  BSM_TRY(fraction(a->num, b->den, &left));
  BSM_TRY(fraction(b->num, a->den, &right));
  if (!bsm_i64_mul(left.num, right.num, &num) ||
      !bsm_i64_mul(left.den, right.den, &den)) {
    return overflow();
  }
  return fraction(num, den, out);
}

static bsm_status power(const number *a, const number *b, number *out) {
  if (a->is_float || b->is_float || b->den != 1) {
    *out = from_double(pow(to_double(a), to_double(b)));
    return BSM_OK;
  }
  number base = *a, result = from_int(1);
  int64_t exponent = b->num;
  if (exponent < 0) {
    if (exponent == INT64_MIN) return overflow();
    BSM_TRY(fraction(a->den, a->num, &base));
    exponent = -exponent;
  }
  for (; exponent; exponent /= 2) {
    if (exponent % 2) BSM_TRY(multiply(&result, &base, &result));
    /* Squares beyond what is needed would overflow. */
    if (exponent > 1) BSM_TRY(multiply(&base, &base, &base));
  }
  *out = result;
  return BSM_OK;
}

/* <0, 0, >0; unordered (NaN) is 2. */
static bsm_status compare(const number *a, const number *b, int *out) {
  if (a->is_float || b->is_float) {
    const double x = to_double(a), y = to_double(b);
    *out = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    return BSM_OK;
  }
  int64_t x = a->num, y = b->num;
  if (a->den != b->den &&
      (!bsm_i64_mul(x, b->den, &x) || !bsm_i64_mul(y, a->den, &y))) {
    return overflow();
  }
  *out = x < y ? -1 : x > y;
  return BSM_OK;
}

static int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/* Rounded down, of a number that has no place in int64 as well. */
static bsm_status round_down(const number *a, number *out) {
  if (!a->is_float) {
    *out = from_int(floor_div(a->num, a->den));
    return BSM_OK;
  }
  const double d = floor(a->d);
  if (!(d >= -0x1p63 && d < 0x1p63)) return overflow();
  *out = from_int((int64_t)d);
  return BSM_OK;
}

static bsm_status negate(const number *a, number *out) {
  *out = *a;
  out->is_bool = false;
  out->d = -a->d;
  return bsm_i64_sub(0, a->num, &out->num) ? BSM_OK : overflow();
}

static bsm_status divide_down(const number *a, const number *b, number *out) {
  if (!is_true(b)) return zero_division();
  if (a->is_float || b->is_float) {
    const number quotient = from_double(to_double(a) / to_double(b));
    return round_down(&quotient, out);
  }
  number inverse, quotient;
  BSM_TRY(fraction(b->den, b->num, &inverse));
  BSM_TRY(multiply(a, &inverse, &quotient));
  return round_down(&quotient, out);
}

/* a - floor(a / b) * b */
static bsm_status modulo(const number *a, const number *b, number *out) {
  number quotient, product;
  BSM_TRY(divide_down(a, b, &quotient));
  BSM_TRY(multiply(&quotient, b, &product));
  BSM_TRY(negate(&product, &product));
  return add(a, &product, out);
}

/* ---- operators ---- */

static bsm_status round_number(bsm_sym_op op, const number *a, number *out) {
  number n = *a;
  if (op == BSM_SYM_FLOOR) return round_down(&n, out);
  const bool up =
      op == BSM_SYM_CEILING || (op == BSM_SYM_TRUNC && to_double(a) < 0);
  if (up) { /* -floor(-a) */
    BSM_TRY(negate(&n, &n));
    BSM_TRY(round_down(&n, &n));
    return negate(&n, out);
  }
  if (op == BSM_SYM_ROUND) n = from_double(rint(to_double(a)));
  return round_down(&n, out);
}

static double apply(bsm_sym_op op, double x) {
  switch (op) {
    case BSM_SYM_TO_FLOAT:
      return x;
    case BSM_SYM_SQRT:
      return sqrt(x);
    case BSM_SYM_EXP:
      return exp(x);
    case BSM_SYM_LOG:
      return log(x);
    case BSM_SYM_LOG2:
      return log2(x);
    case BSM_SYM_SIN:
      return sin(x);
    case BSM_SYM_COS:
      return cos(x);
    case BSM_SYM_TAN:
      return tan(x);
    case BSM_SYM_ASIN:
      return asin(x);
    case BSM_SYM_ACOS:
      return acos(x);
    case BSM_SYM_ATAN:
      return atan(x);
    case BSM_SYM_SINH:
      return sinh(x);
    case BSM_SYM_COSH:
      return cosh(x);
    case BSM_SYM_TANH:
      return tanh(x);
    case BSM_SYM_ASINH:
      return asinh(x);
    default:
      return NAN;
  }
}

static bsm_status need_ints(const number *a, const number *b) {
  if (!a->is_float && !b->is_float && a->den == 1 && b->den == 1) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "a symbolic expression has a bitwise operation on what is no "
                  "integer");
}

static bsm_status bitwise(bsm_sym_op op, const number *a, const number *b,
                          number *out) {
  BSM_TRY(need_ints(a, b));
  const uint64_t x = (uint64_t)a->num, y = (uint64_t)b->num;
  if (op == BSM_SYM_BIT_AND) *out = from_int((int64_t)(x & y));
  if (op == BSM_SYM_BIT_OR) *out = from_int((int64_t)(x | y));
  if (op == BSM_SYM_BIT_XOR) *out = from_int((int64_t)(x ^ y));
  return BSM_OK;
}

static bsm_status shift(bsm_sym_op op, const number *a, const number *b,
                        number *out) {
  BSM_TRY(need_ints(a, b));
  if (b->num < 0 || b->num > 62) return overflow();
  const number factor = from_int((int64_t)1 << b->num);
  return op == BSM_SYM_LSHIFT ? multiply(a, &factor, out)
                              : divide_down(a, &factor, out);
}

static bsm_status relate(bsm_sym_op op, const number *a, const number *b,
                         number *out) {
  int order;
  BSM_TRY(compare(a, b, &order));
  bool holds = false;
  switch (op) {
    case BSM_SYM_EQ:
      holds = order == 0;
      break;
    case BSM_SYM_NE:
      holds = order != 0;
      break;
    case BSM_SYM_LT:
      holds = order == -1;
      break;
    case BSM_SYM_LE:
      holds = order == -1 || order == 0;
      break;
    case BSM_SYM_GT:
      holds = order == 1;
      break;
    default:
      holds = order == 1 || order == 0;
  }
  *out = from_bool(holds);
  return BSM_OK;
}

static bsm_status apply_binary(bsm_sym_op op, const number *a, const number *b,
                               number *out) {
  switch (op) {
    case BSM_SYM_POW:
      return power(a, b, out);
    case BSM_SYM_FLOOR_DIV:
      return divide_down(a, b, out);
    case BSM_SYM_MOD:
      return modulo(a, b, out);
    case BSM_SYM_TRUE_DIV:
      if (!is_true(b)) return zero_division();
      *out = from_double(to_double(a) / to_double(b));
      return BSM_OK;
    case BSM_SYM_ROUND_DIGITS: {
      const double scale = pow(10, to_double(b));
      *out = from_double(rint(to_double(a) * scale) / scale);
      return BSM_OK;
    }
    case BSM_SYM_LSHIFT:
    case BSM_SYM_RSHIFT:
      return shift(op, a, b, out);
    case BSM_SYM_BIT_AND:
    case BSM_SYM_BIT_OR:
    case BSM_SYM_BIT_XOR:
      return bitwise(op, a, b, out);
    default:
      return relate(op, a, b, out);
  }
}

/* One step of an operator of any number of operands. */
static bsm_status accumulate(bsm_sym_op op, const number *next, number *sum) {
  int order;
  switch (op) {
    case BSM_SYM_ADD:
      return add(sum, next, sum);
    case BSM_SYM_MUL:
      return multiply(sum, next, sum);
    case BSM_SYM_AND:
      *sum = from_bool(is_true(sum) && is_true(next));
      return BSM_OK;
    case BSM_SYM_OR:
      *sum = from_bool(is_true(sum) || is_true(next));
      return BSM_OK;
    default:
      BSM_TRY(compare(next, sum, &order));
      if (order == (op == BSM_SYM_MAX ? 1 : -1)) *sum = *next;
      return BSM_OK;
  }
}

static bsm_status fold(const evaluator *e, const bsm_sym_expr *expr,
                       number *out) {
  *out = expr->op == BSM_SYM_ADD || expr->op == BSM_SYM_MUL
             ? from_int(expr->op == BSM_SYM_MUL)
             : from_bool(expr->op == BSM_SYM_AND);
  for (size_t i = 0; i < expr->arg_count; i++) {
    number next;
    BSM_TRY(evaluate(e, expr->args[i], &next));
    if (i == 0 && (expr->op == BSM_SYM_MAX || expr->op == BSM_SYM_MIN)) {
      *out = next;
    }
    BSM_TRY(accumulate(expr->op, &next, out));
  }
  return BSM_OK;
}

/* Whether a tensor of these sizes and strides fills its memory without gaps:
 * in some order of the dimensions it is contiguous. */
static bsm_status is_non_overlapping(const evaluator *e,
                                     const bsm_sym_expr *expr, number *out) {
  const size_t rank = expr->arg_count / 2;
  bool used[64] = {false};
  number n;
  int64_t sizes[64], strides[64], expected = 1;
  if (rank > 64 || expr->arg_count % 2) return overflow();
  for (size_t i = 0; i < 2 * rank; i++) {
    BSM_TRY(evaluate(e, expr->args[i], &n));
    if (n.is_float || n.den != 1) return overflow();
    (i < rank ? sizes : strides)[i % rank] = n.num;
  }
  for (size_t placed = 0; placed < rank; placed++) {
    size_t best = rank;
    for (size_t i = 0; i < rank; i++) {
      /* Sizes of one have any stride; they come first. */
      if (used[i]) continue;
      if (best == rank || sizes[i] < 2 ||
          (sizes[best] >= 2 && strides[i] < strides[best])) {
        best = i;
      }
    }
    used[best] = true;
    if (sizes[best] < 2) continue;
    if (strides[best] != expected) {
      *out = from_int(0);
      return BSM_OK;
    }
    if (!bsm_i64_mul(expected, sizes[best], &expected)) return overflow();
  }
  *out = from_int(1);
  return BSM_OK;
}

static bsm_status choose(const evaluator *e, const bsm_sym_expr *expr,
                         number *out) {
  number condition;
  if (expr->op == BSM_SYM_WHERE) {
    BSM_TRY(evaluate(e, expr->args[0], &condition));
    return evaluate(e, expr->args[is_true(&condition) ? 1 : 2], out);
  }
  for (size_t i = 0; i + 1 < expr->arg_count; i += 2) {
    BSM_TRY(evaluate(e, expr->args[i + 1], &condition));
    if (is_true(&condition)) return evaluate(e, expr->args[i], out);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "no condition of a piecewise expression holds");
}

static bsm_status evaluate_symbol(const evaluator *e, size_t index,
                                  number *out) {
  const bsm_symbol *symbol = &e->symbols->symbols.items[index];
  if (index >= e->count || (e->known && !e->known[index]) || symbol->is_float) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "symbol %s has no value",
                    symbol->name);
  }
  *out = from_int(e->values[index]);
  return BSM_OK;
}

static bsm_status evaluate_unary(const evaluator *e, const bsm_sym_expr *expr,
                                 number *out) {
  number a;
  BSM_TRY(evaluate(e, expr->args[0], &a));
  switch (expr->op) {
    case BSM_SYM_NOT:
      *out = from_bool(!is_true(&a));
      return BSM_OK;
    case BSM_SYM_ABS:
      *out = a;
      return to_double(&a) < 0 ? negate(&a, out) : BSM_OK;
    case BSM_SYM_FLOOR:
    case BSM_SYM_CEILING:
    case BSM_SYM_TRUNC:
    case BSM_SYM_ROUND:
      return round_number(expr->op, &a, out);
    default:
      *out = from_double(apply(expr->op, to_double(&a)));
      return BSM_OK;
  }
}

/* The parser has limited how deep expressions nest. */
static bsm_status evaluate(const evaluator *e, const bsm_sym_expr *expr,
                           number *out) {
  *out = from_int(0);
  switch (expr->op) {
    case BSM_SYM_INTEGER:
      *out = from_int(expr->i);
      return BSM_OK;
    case BSM_SYM_FLOAT:
      *out = from_double(expr->d);
      return BSM_OK;
    case BSM_SYM_BOOL:
      *out = from_bool(expr->i != 0);
      return BSM_OK;
    case BSM_SYM_SYMBOL:
      return evaluate_symbol(e, (size_t)expr->i, out);
    case BSM_SYM_UNKNOWN:
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a symbolic expression has %.60s, which is not known",
                      expr->name);
    case BSM_SYM_ADD:
    case BSM_SYM_MUL:
    case BSM_SYM_MAX:
    case BSM_SYM_MIN:
    case BSM_SYM_AND:
    case BSM_SYM_OR:
      return fold(e, expr, out);
    case BSM_SYM_WHERE:
    case BSM_SYM_PIECEWISE:
      return choose(e, expr, out);
    case BSM_SYM_IS_NON_OVERLAPPING:
      return is_non_overlapping(e, expr, out);
    default:
      break;
  }
  if (expr->arg_count == 1) return evaluate_unary(e, expr, out);
  number a, b;
  BSM_TRY(evaluate(e, expr->args[0], &a));
  BSM_TRY(evaluate(e, expr->args[1], &b));
  return apply_binary(expr->op, &a, &b, out);
}

bsm_status bsm_sym_evaluate(const bsm_sym_expr *expr,
                            const bsm_symbol_table *symbols,
                            const int64_t *values, const bool *known,
                            size_t count, bsm_sym_number *out) {
  const evaluator e = {symbols, values, known, count};
  *out = (bsm_sym_number){0};
  number n;
  BSM_TRY(evaluate(&e, expr, &n));
  if (n.is_float || n.den != 1) {
    out->kind = BSM_SYM_KIND_FLOAT;
    out->d = to_double(&n);
    return BSM_OK;
  }
  out->kind = n.is_bool ? BSM_SYM_KIND_BOOL : BSM_SYM_KIND_INT;
  out->i = n.num;
  return BSM_OK;
}
