/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic expressions of exported programs: sizes, and what is computed of
 * them, as sympy writes them:
 *
 *   Mul(Integer(2), Symbol('s77', positive=True, integer=True))
 *
 * read into trees over numbered symbols. Integers are exact and checked; what
 * divides or takes roots is a double. */
#ifndef BSM_EXPORTED_SYMBOLIC_H_
#define BSM_EXPORTED_SYMBOLIC_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/limits.h"

/* A symbol, and what it may be: the program's range constraint, which
 * INT64_MIN and INT64_MAX leave open. */
typedef struct bsm_symbol {
  const char *name; /* "s77", "u0" */
  bool is_float;    /* no integer=True */
  bool has_range;
  int64_t min, max;
} bsm_symbol;

typedef struct bsm_symbol_table {
  BSM_VEC(bsm_symbol) symbols;
  bsm_strmap by_name; /* index + 1 */
} bsm_symbol_table;

#define BSM_NO_SYMBOL SIZE_MAX
/* The index of the symbol of that name; BSM_NO_SYMBOL: there is none. */
size_t bsm_symbol_find(const bsm_symbol_table *table, bsm_str name);
/* The same, adding it, an integer without range, when it is new. */
BSM_NODISCARD bsm_status bsm_symbol_add(bsm_arena *arena,
                                        bsm_symbol_table *table, bsm_str name,
                                        size_t *out);

typedef enum bsm_sym_op {
  BSM_SYM_INTEGER = 1, /* i; 1/2 is POW(2, -1) */
  BSM_SYM_FLOAT = 2,   /* d; infinities as well */
  BSM_SYM_BOOL = 3,    /* i: 0 or 1 */
  BSM_SYM_SYMBOL = 4,  /* i: index in the table */
  BSM_SYM_ADD = 5,     /* any number of operands, as MUL, MAX, MIN, AND, OR */
  BSM_SYM_MUL = 6,
  BSM_SYM_POW = 7,
  BSM_SYM_MAX = 8,
  BSM_SYM_MIN = 9,
  BSM_SYM_ABS = 10,
  BSM_SYM_FLOOR_DIV = 11, /* of ints, rounded down */
  BSM_SYM_MOD = 12,       /* with the sign of the divisor, as Python's % */
  BSM_SYM_TRUE_DIV = 13,  /* a double */
  BSM_SYM_FLOOR = 14,     /* ints, of a double or an int */
  BSM_SYM_CEILING = 15,
  BSM_SYM_TRUNC = 16,
  BSM_SYM_ROUND = 17,        /* half to even */
  BSM_SYM_ROUND_DIGITS = 18, /* round(x, n): a double */
  BSM_SYM_TO_FLOAT = 19,
  BSM_SYM_SQRT = 20, /* doubles */
  BSM_SYM_EXP = 21,
  BSM_SYM_LOG = 22,
  BSM_SYM_LOG2 = 23,
  BSM_SYM_SIN = 24,
  BSM_SYM_COS = 25,
  BSM_SYM_TAN = 26,
  BSM_SYM_ASIN = 27,
  BSM_SYM_ACOS = 28,
  BSM_SYM_ATAN = 29,
  BSM_SYM_SINH = 30,
  BSM_SYM_COSH = 31,
  BSM_SYM_TANH = 32,
  BSM_SYM_EQ = 33, /* bools */
  BSM_SYM_NE = 34,
  BSM_SYM_LT = 35,
  BSM_SYM_LE = 36,
  BSM_SYM_GT = 37,
  BSM_SYM_GE = 38,
  BSM_SYM_AND = 39,
  BSM_SYM_OR = 40,
  BSM_SYM_NOT = 41,
  BSM_SYM_WHERE = 42, /* condition, then, else */
  /* (value, condition) pairs in order; the first that holds. */
  BSM_SYM_PIECEWISE = 43,
  BSM_SYM_LSHIFT = 44,
  BSM_SYM_RSHIFT = 45,
  BSM_SYM_BIT_AND = 46,
  BSM_SYM_BIT_OR = 47,
  BSM_SYM_BIT_XOR = 48,
  BSM_SYM_IS_NON_OVERLAPPING = 49, /* sizes, then as many strides */
  BSM_SYM_ASINH = 50,
  /* A function of later versions: the rest of the program may do without. */
  BSM_SYM_UNKNOWN = 51 /* name */
} bsm_sym_op;

typedef struct bsm_sym_expr {
  bsm_sym_op op;
  int64_t i;
  double d;
  const char *name;
  const struct bsm_sym_expr *const *args;
  size_t arg_count;
  uint32_t height; /* 1: no operands; the limit max_depth bounds it */
} bsm_sym_expr;

/* A number of an expression's kind. */
typedef enum bsm_sym_kind {
  BSM_SYM_KIND_INT = 0,
  BSM_SYM_KIND_FLOAT = 1,
  BSM_SYM_KIND_BOOL = 2
} bsm_sym_kind;

typedef struct bsm_sym_number {
  bsm_sym_kind kind;
  int64_t i; /* INT; BOOL: 0 or 1 */
  double d;  /* FLOAT */
} bsm_sym_number;

/* Parses sympy's srepr, and what Python writes ("2*s0 + 1"), as older versions
 * have it; new symbols are added to `symbols`. BSM_CORRUPT with the position
 * when malformed. */
BSM_NODISCARD bsm_status bsm_sym_parse(bsm_arena *arena, bsm_str text,
                                       const bsm_limits *limits,
                                       bsm_symbol_table *symbols,
                                       const bsm_sym_expr **out);

/* The value of `expr` where symbol k is values[k]. BSM_INVALID_ARGUMENT when
 * one has no value (k >= count, or known && !known[k]), at overflow of ints,
 * and at division by zero; BSM_UNSUPPORTED for an unknown function. */
BSM_NODISCARD bsm_status bsm_sym_evaluate(const bsm_sym_expr *expr,
                                          const bsm_symbol_table *symbols,
                                          const int64_t *values,
                                          const bool *known, size_t count,
                                          bsm_sym_number *out);

/* The kind that evaluating gives, without values. */
bsm_sym_kind bsm_sym_kind_of(const bsm_sym_expr *expr,
                             const bsm_symbol_table *symbols);
/* Whether a symbol occurs in it. */
bool bsm_sym_is_constant(const bsm_sym_expr *expr);
/* Appends it as people write it: "2*s77 + 1". */
void bsm_sym_print(bsm_text *text, const bsm_sym_expr *expr,
                   const bsm_symbol_table *symbols);

#endif /* BSM_EXPORTED_SYMBOLIC_H_ */
