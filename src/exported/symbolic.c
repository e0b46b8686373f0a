/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic expressions: their symbols, kinds and text. */
#include "exported/symbolic.h"

/* ---- symbols ---- */

size_t bsm_symbol_find(const bsm_symbol_table *table, bsm_str name) {
  const uintptr_t found = (uintptr_t)bsm_strmap_get(&table->by_name, name);
  return found ? (size_t)found - 1 : BSM_NO_SYMBOL;
}

bsm_status bsm_symbol_add(bsm_arena *arena, bsm_symbol_table *table,
                          bsm_str name, size_t *out) {
  *out = bsm_symbol_find(table, name);
  if (*out != BSM_NO_SYMBOL) return BSM_OK;
  bsm_symbol symbol = {.min = INT64_MIN, .max = INT64_MAX};
  symbol.name = bsm_arena_strndup(arena, name.data, name.len);
  BSM_TRY_ALLOC(symbol.name);
  *out = table->symbols.len;
  void *index = (void *)(uintptr_t)(table->symbols.len + 1);
  if (!bsm_vec_push(arena, &table->symbols, symbol) ||
      !bsm_strmap_set(arena, &table->by_name, name, index)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

/* ---- kinds ---- */

bool bsm_sym_is_constant(const bsm_sym_expr *expr) {
  if (expr->op == BSM_SYM_SYMBOL || expr->op == BSM_SYM_UNKNOWN) return false;
  for (size_t i = 0; i < expr->arg_count; i++) {
    if (!bsm_sym_is_constant(expr->args[i])) return false;
  }
  return true;
}

/* Float when any of the operands from `first` on is. */
static bsm_sym_kind join_kinds(const bsm_sym_expr *expr, size_t first,
                               size_t step, const bsm_symbol_table *symbols) {
  bsm_sym_kind kind = BSM_SYM_KIND_BOOL;
  for (size_t i = first; i < expr->arg_count; i += step) {
    const bsm_sym_kind arg = bsm_sym_kind_of(expr->args[i], symbols);
    if (arg == BSM_SYM_KIND_FLOAT) return arg;
    if (arg == BSM_SYM_KIND_INT) kind = arg;
  }
  return kind;
}

static bsm_sym_kind arithmetic_kind(const bsm_sym_expr *expr,
                                    const bsm_symbol_table *symbols) {
  const bsm_sym_kind kind = join_kinds(expr, 0, 1, symbols);
  return kind == BSM_SYM_KIND_BOOL ? BSM_SYM_KIND_INT : kind;
}

bsm_sym_kind bsm_sym_kind_of(const bsm_sym_expr *expr,
                             const bsm_symbol_table *symbols) {
  switch (expr->op) {
    case BSM_SYM_INTEGER:
    case BSM_SYM_FLOOR_DIV:
    case BSM_SYM_MOD:
    case BSM_SYM_FLOOR:
    case BSM_SYM_CEILING:
    case BSM_SYM_TRUNC:
    case BSM_SYM_ROUND:
    case BSM_SYM_LSHIFT:
    case BSM_SYM_RSHIFT:
    case BSM_SYM_BIT_AND:
    case BSM_SYM_BIT_OR:
    case BSM_SYM_BIT_XOR:
    case BSM_SYM_IS_NON_OVERLAPPING:
    case BSM_SYM_UNKNOWN:
      return BSM_SYM_KIND_INT;
    case BSM_SYM_SYMBOL:
      return symbols->symbols.items[expr->i].is_float ? BSM_SYM_KIND_FLOAT
                                                      : BSM_SYM_KIND_INT;
    case BSM_SYM_ADD:
    case BSM_SYM_MUL:
    case BSM_SYM_POW:
    case BSM_SYM_MAX:
    case BSM_SYM_MIN:
    case BSM_SYM_ABS:
      return arithmetic_kind(expr, symbols);
    case BSM_SYM_WHERE:
      return join_kinds(expr, 1, 1, symbols);
    case BSM_SYM_PIECEWISE:
      return join_kinds(expr, 0, 2, symbols);
    case BSM_SYM_BOOL:
    case BSM_SYM_EQ:
    case BSM_SYM_NE:
    case BSM_SYM_LT:
    case BSM_SYM_LE:
    case BSM_SYM_GT:
    case BSM_SYM_GE:
    case BSM_SYM_AND:
    case BSM_SYM_OR:
    case BSM_SYM_NOT:
      return BSM_SYM_KIND_BOOL;
    default:
      return BSM_SYM_KIND_FLOAT;
  }
}

/* ---- text ---- */

/* How an operator is written: between its operands when `infix`, else as a
 * function. The higher `binds`, the tighter. */
typedef struct notation {
  const char *text;
  bool infix;
  int binds;
} notation;

enum { BINDS_ATOM = 9 };

static const notation notations[] = {
    [BSM_SYM_ADD] = {" + ", true, 5},
    [BSM_SYM_MUL] = {"*", true, 6},
    [BSM_SYM_POW] = {"**", true, 8},
    [BSM_SYM_MAX] = {"max", false, BINDS_ATOM},
    [BSM_SYM_MIN] = {"min", false, BINDS_ATOM},
    [BSM_SYM_ABS] = {"abs", false, BINDS_ATOM},
    [BSM_SYM_FLOOR_DIV] = {"//", true, 6},
    [BSM_SYM_MOD] = {"%", true, 6},
    [BSM_SYM_TRUE_DIV] = {"/", true, 6},
    [BSM_SYM_FLOOR] = {"floor", false, BINDS_ATOM},
    [BSM_SYM_CEILING] = {"ceil", false, BINDS_ATOM},
    [BSM_SYM_TRUNC] = {"trunc", false, BINDS_ATOM},
    [BSM_SYM_ROUND] = {"round", false, BINDS_ATOM},
    [BSM_SYM_ROUND_DIGITS] = {"round", false, BINDS_ATOM},
    [BSM_SYM_TO_FLOAT] = {"float", false, BINDS_ATOM},
    [BSM_SYM_SQRT] = {"sqrt", false, BINDS_ATOM},
    [BSM_SYM_EXP] = {"exp", false, BINDS_ATOM},
    [BSM_SYM_LOG] = {"log", false, BINDS_ATOM},
    [BSM_SYM_LOG2] = {"log2", false, BINDS_ATOM},
    [BSM_SYM_SIN] = {"sin", false, BINDS_ATOM},
    [BSM_SYM_COS] = {"cos", false, BINDS_ATOM},
    [BSM_SYM_TAN] = {"tan", false, BINDS_ATOM},
    [BSM_SYM_ASIN] = {"asin", false, BINDS_ATOM},
    [BSM_SYM_ACOS] = {"acos", false, BINDS_ATOM},
    [BSM_SYM_ATAN] = {"atan", false, BINDS_ATOM},
    [BSM_SYM_SINH] = {"sinh", false, BINDS_ATOM},
    [BSM_SYM_COSH] = {"cosh", false, BINDS_ATOM},
    [BSM_SYM_TANH] = {"tanh", false, BINDS_ATOM},
    [BSM_SYM_EQ] = {" == ", true, 3},
    [BSM_SYM_NE] = {" != ", true, 3},
    [BSM_SYM_LT] = {" < ", true, 3},
    [BSM_SYM_LE] = {" <= ", true, 3},
    [BSM_SYM_GT] = {" > ", true, 3},
    [BSM_SYM_GE] = {" >= ", true, 3},
    [BSM_SYM_AND] = {" and ", true, 2},
    [BSM_SYM_OR] = {" or ", true, 1},
    [BSM_SYM_NOT] = {"not", false, BINDS_ATOM},
    [BSM_SYM_WHERE] = {"where", false, BINDS_ATOM},
    [BSM_SYM_PIECEWISE] = {"piecewise", false, BINDS_ATOM},
    [BSM_SYM_LSHIFT] = {" << ", true, 4},
    [BSM_SYM_RSHIFT] = {" >> ", true, 4},
    [BSM_SYM_BIT_AND] = {"bitwise_and", false, BINDS_ATOM},
    [BSM_SYM_BIT_OR] = {"bitwise_or", false, BINDS_ATOM},
    [BSM_SYM_BIT_XOR] = {"bitwise_xor", false, BINDS_ATOM},
    [BSM_SYM_IS_NON_OVERLAPPING] = {"is_non_overlapping", false, BINDS_ATOM},
    [BSM_SYM_ASINH] = {"asinh", false, BINDS_ATOM},
    [BSM_SYM_UNKNOWN] = {"", false, BINDS_ATOM},
};

static void print(bsm_text *text, const bsm_sym_expr *expr,
                  const bsm_symbol_table *symbols, int outer) {
  switch (expr->op) {
    case BSM_SYM_INTEGER:
      bsm_text_printf(text, expr->i < 0 && outer ? "(%lld)" : "%lld",
                      (long long)expr->i);
      return;
    case BSM_SYM_FLOAT:
      bsm_text_double(text, expr->d);
      return;
    case BSM_SYM_BOOL:
      bsm_text_puts(text, expr->i ? "True" : "False");
      return;
    case BSM_SYM_SYMBOL:
      bsm_text_puts(text, symbols->symbols.items[expr->i].name);
      return;
    default:
      break;
  }
  const notation *n = &notations[expr->op];
  const bool brackets = !n->infix || n->binds <= outer;
  if (!n->infix) bsm_text_puts(text, expr->name ? expr->name : n->text);
  if (brackets) bsm_text_puts(text, "(");
  for (size_t i = 0; i < expr->arg_count; i++) {
    if (i) bsm_text_puts(text, n->infix ? n->text : ", ");
    print(text, expr->args[i], symbols, n->infix ? n->binds : 0);
  }
  if (brackets) bsm_text_puts(text, ")");
}

void bsm_sym_print(bsm_text *text, const bsm_sym_expr *expr,
                   const bsm_symbol_table *symbols) {
  print(text, expr, symbols, 0);
}
