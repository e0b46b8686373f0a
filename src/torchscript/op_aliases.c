/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators that are other names of one. */
#include "torchscript/op_aliases.h"

#include <stdlib.h>

#include "ir/schema_match.h"

typedef struct alias {
  const char *name, *means;
} alias;

/* Sorted by name. */
static const alias aliases[] = {
    {"aten::absolute", "aten::abs"},
    {"aten::absolute_", "aten::abs_"},
    {"aten::adjoint", "aten::mH"},
    {"aten::arccos", "aten::acos"},
    {"aten::arccos_", "aten::acos_"},
    {"aten::arccosh", "aten::acosh"},
    {"aten::arccosh_", "aten::acosh_"},
    {"aten::arcsin", "aten::asin"},
    {"aten::arcsin_", "aten::asin_"},
    {"aten::arcsinh", "aten::asinh"},
    {"aten::arcsinh_", "aten::asinh_"},
    {"aten::arctan", "aten::atan"},
    {"aten::arctan2", "aten::atan2"},
    {"aten::arctan2_", "aten::atan2_"},
    {"aten::arctan_", "aten::atan_"},
    {"aten::arctanh", "aten::atanh"},
    {"aten::arctanh_", "aten::atanh_"},
    {"aten::clip", "aten::clamp"},
    {"aten::clip_", "aten::clamp_"},
    {"aten::concat", "aten::cat"},
    {"aten::concatenate", "aten::cat"},
    {"aten::det", "aten::linalg_det"},
    {"aten::divide", "aten::div"},
    {"aten::divide_", "aten::div_"},
    {"aten::fix", "aten::trunc"},
    {"aten::fix_", "aten::trunc_"},
    {"aten::ger", "aten::outer"},
    {"aten::greater", "aten::gt"},
    {"aten::greater_", "aten::gt_"},
    {"aten::greater_equal", "aten::ge"},
    {"aten::greater_equal_", "aten::ge_"},
    {"aten::inverse", "aten::linalg_inv"},
    {"aten::less", "aten::lt"},
    {"aten::less_", "aten::lt_"},
    {"aten::less_equal", "aten::le"},
    {"aten::less_equal_", "aten::le_"},
    {"aten::linalg_matmul", "aten::matmul"},
    {"aten::matrix_exp", "aten::linalg_matrix_exp"},
    {"aten::matrix_power", "aten::linalg_matrix_power"},
    {"aten::moveaxis", "aten::movedim"},
    {"aten::multiply", "aten::mul"},
    {"aten::multiply_", "aten::mul_"},
    {"aten::negative", "aten::neg"},
    {"aten::negative_", "aten::neg_"},
    {"aten::not_equal", "aten::ne"},
    {"aten::not_equal_", "aten::ne_"},
    {"aten::orgqr", "aten::linalg_householder_product"},
    {"aten::row_stack", "aten::vstack"},
    {"aten::special_digamma", "aten::digamma"},
    {"aten::special_erf", "aten::erf"},
    {"aten::special_erfc", "aten::erfc"},
    {"aten::special_erfinv", "aten::erfinv"},
    {"aten::special_exp2", "aten::exp2"},
    {"aten::special_expit", "aten::sigmoid"},
    {"aten::special_expm1", "aten::expm1"},
    {"aten::special_gammainc", "aten::igamma"},
    {"aten::special_gammaincc", "aten::igammac"},
    {"aten::special_gammaln", "aten::lgamma"},
    {"aten::special_i0", "aten::i0"},
    {"aten::special_log1p", "aten::log1p"},
    {"aten::special_log_softmax", "aten::log_softmax"},
    {"aten::special_logit", "aten::logit"},
    {"aten::special_logsumexp", "aten::logsumexp"},
    {"aten::special_multigammaln", "aten::mvlgamma"},
    {"aten::special_polygamma", "aten::polygamma"},
    {"aten::special_psi", "aten::digamma"},
    {"aten::special_round", "aten::round"},
    {"aten::special_sinc", "aten::sinc"},
    {"aten::special_softmax", "aten::softmax"},
    {"aten::special_xlogy", "aten::xlogy"},
    {"aten::subtract", "aten::sub"},
    {"aten::subtract_", "aten::sub_"},
    {"aten::swapaxes", "aten::transpose"},
    {"aten::swapaxes_", "aten::transpose_"},
    {"aten::swapdims", "aten::transpose"},
    {"aten::swapdims_", "aten::transpose_"},
    {"aten::true_divide", "aten::div"},
    {"aten::true_divide_", "aten::div_"},
};

static int compare(const void *name, const void *row) {
  return strcmp(name, ((const alias *)row)->name);
}

static bsm_status rename_node(bsm_node *node, const char *name) {
  bsm_ir_ctx *cx = node->graph->cx;
  const bsm_schema *const *candidates = NULL;
  const bsm_schema *schema = NULL;
  size_t count = 0;
  const size_t inputs = node->inputs.len;
  const bsm_type **types =
      BSM_NEW_ARRAY(cx->arena, const bsm_type *, inputs + 1);
  BSM_TRY_ALLOC(types);
  for (size_t i = 0; i < inputs; i++) types[i] = bsm_node_in(node, i)->type;
  BSM_TRY(bsm_schema_table_overloads(cx->schemas, bsm_str_of(name), &candidates,
                                     &count));
  BSM_TRY(bsm_schema_match_node(cx->types, cx->arena, types, inputs, candidates,
                                count, &schema, NULL));
  if (!schema) return BSM_OK;
  node->kind = bsm_intern(&cx->names, bsm_str_of(name));
  BSM_TRY_ALLOC(node->kind);
  node->schema = schema;
  return BSM_OK;
}

/* rsub(a, b, alpha) of two tensors is sub(b, a, alpha). */
static bsm_status swap_operands(bsm_node *node) {
  bsm_value *a = bsm_node_in(node, 0), *b = bsm_node_in(node, 1);
  BSM_TRY(bsm_node_set_input(node, 0, b));
  BSM_TRY(bsm_node_set_input(node, 1, a));
  return rename_node(node, "aten::sub");
}

/* `is` between two bools is a comparison. */
static bool compares_bools(const bsm_node *node) {
  return node->inputs.len == 2 &&
         bsm_node_in(node, 0)->type->kind == BSM_TYPE_BOOL &&
         bsm_node_in(node, 1)->type->kind == BSM_TYPE_BOOL;
}

bsm_status bsm_op_alias_resolve(bsm_node *node) {
  const alias *found =
      bsearch(node->kind, aliases, sizeof aliases / sizeof aliases[0],
              sizeof aliases[0], compare);
  if (found) return rename_node(node, found->means);
  if (node->schema &&
      strcmp(node->schema->qualified, "aten::rsub.Tensor") == 0) {
    return swap_operands(node);
  }
  if (bsm_node_is(node, "aten::__is__") && compares_bools(node)) {
    return rename_node(node, "aten::eq");
  }
  if (bsm_node_is(node, "aten::__isnot__") && compares_bools(node)) {
    return rename_node(node, "aten::ne");
  }
  return BSM_OK;
}
