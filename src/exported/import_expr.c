/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic expressions as scalar operators. */
#include "exported/import_build.h"

/* Operators over all operands, from left to right. */
static const char *chained(bsm_sym_op op) {
  switch (op) {
    case BSM_SYM_ADD:
      return "aten::add";
    case BSM_SYM_MUL:
      return "aten::mul";
    case BSM_SYM_MAX:
      return "prim::max";
    case BSM_SYM_MIN:
      return "prim::min";
    case BSM_SYM_AND:
      return "aten::__and__";
    case BSM_SYM_OR:
      return "aten::__or__";
    default:
      return NULL;
  }
}

/* Operators of one or two operands. */
static const char *plain(bsm_sym_op op) {
  switch (op) {
    case BSM_SYM_FLOOR_DIV:
      return "aten::floordiv";
    case BSM_SYM_MOD:
      return "aten::remainder";
    case BSM_SYM_TRUE_DIV:
      return "aten::div";
    case BSM_SYM_FLOOR:
      return "aten::floor";
    case BSM_SYM_CEILING:
      return "aten::ceil";
    case BSM_SYM_TRUNC:
      return "aten::Int";
    case BSM_SYM_ABS:
      return "prim::abs";
    case BSM_SYM_TO_FLOAT:
      return "aten::Float";
    case BSM_SYM_SQRT:
      return "aten::sqrt";
    case BSM_SYM_EQ:
      return "aten::eq";
    case BSM_SYM_NE:
      return "aten::ne";
    case BSM_SYM_LT:
      return "aten::lt";
    case BSM_SYM_LE:
      return "aten::le";
    case BSM_SYM_GT:
      return "aten::gt";
    case BSM_SYM_GE:
      return "aten::ge";
    case BSM_SYM_NOT:
      return "aten::__not__";
    default:
      return NULL;
  }
}

static bsm_status leaf(bsm_importer *im, const bsm_sym_expr *expr,
                       bsm_value *const *symbols, size_t symbol_count,
                       bsm_value **out) {
  switch (expr->op) {
    case BSM_SYM_INTEGER:
      return bsm_xi_int(im, expr->i, out);
    case BSM_SYM_FLOAT:
      return bsm_xi_constant(im, bsm_iv_double(expr->d), NULL, out);
    case BSM_SYM_BOOL:
      return bsm_xi_bool(im, expr->i != 0, out);
    case BSM_SYM_SYMBOL:
      *out = expr->i >= 0 && (size_t)expr->i < symbol_count ? symbols[expr->i]
                                                            : NULL;
      return BSM_OK;
    default:
      *out = NULL;
      return BSM_OK;
  }
}

static bsm_status power(bsm_importer *im, bsm_value *const args[2],
                        bsm_value **out) {
  const bool ints = args[0]->type->kind == BSM_TYPE_INT &&
                    args[1]->type->kind == BSM_TYPE_INT;
  return ints ? bsm_xi_op(im, "aten::pow.int_to_int", args, 2, out)
              : bsm_xi_call(im, "aten::pow", args, 2, out);
}

bsm_status bsm_xi_expr(bsm_importer *im, const bsm_sym_expr *expr,
                       bsm_value *const *symbols, size_t symbol_count,
                       bsm_value **out) {
  bsm_value *args[2] = {NULL, NULL};
  const char *chain = chained(expr->op), *name = plain(expr->op);
  if (!expr->arg_count) return leaf(im, expr, symbols, symbol_count, out);
  *out = NULL;
  if (!chain && (expr->arg_count > 2 || (!name && expr->op != BSM_SYM_POW))) {
    return BSM_OK;
  }
  for (size_t i = 0; i < expr->arg_count; i++) {
    bsm_value **place = chain ? &args[i > 0] : &args[i];
    BSM_TRY(bsm_xi_expr(im, expr->args[i], symbols, symbol_count, place));
    if (!*place) return BSM_OK;
    if (chain && i) BSM_TRY(bsm_xi_call(im, chain, args, 2, &args[0]));
  }
  if (chain) {
    *out = args[0];
    return BSM_OK;
  }
  if (expr->op == BSM_SYM_POW) return power(im, args, out);
  if ((expr->op == BSM_SYM_FLOOR || expr->op == BSM_SYM_CEILING ||
       expr->op == BSM_SYM_TRUNC) &&
      args[0]->type->kind == BSM_TYPE_INT) {
    *out = args[0];
    return BSM_OK;
  }
  return bsm_xi_call(im, name, args, expr->arg_count, out);
}
