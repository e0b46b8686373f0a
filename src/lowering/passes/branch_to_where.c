/* SPDX-License-Identifier: Apache-2.0 */
/* Small branches on data become selections: both sides are computed, and
 * where() picks one. The side that is not taken is computed in vain, so only
 * sides of a few cheap pure ops qualify, and of those that fail for no data: a
 * branch may be there to keep an index in its range, or a divisor from being 0.
 * The others stay branches.
 *
 * Requires:    every output of the If a tensor of the same dims and dtype on
 *              both sides; a condition made by aten::Bool of a tensor of one
 *              element, or from such conditions by and, or, not. Establishes:
 *              there is no such prim::If; others stay.
 * Breaks:      leaves the ops of the condition dead. */
#include "lowering/pass.h"
#include "lowering/scalar_tensor.h"

static bool sides_agree(const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_dims a, b;
    bsm_dtype da, db;
    if (!bsm_value_dims(bsm_node_in(node->blocks.items[0]->returns, i), &a,
                        &da) ||
        !bsm_value_dims(bsm_node_in(node->blocks.items[1]->returns, i), &b,
                        &db) ||
        da != db || !bsm_dims_equal(a, b)) {
      return false;
    }
  }
  return true;
}

#define MAX_NODES 24 /* of a side */

/* Ops that cost more than one pass over their tensors. */
static bool is_heavy(const bsm_node *node) {
  static const char *const parts[] = {
      "conv", "linear",    "matmul", "mm",        "lstm",        "gru",
      "rnn",  "attention", "einsum", "embedding", "transformer", "linalg",
      "fft",  "sort",      "topk",   "unique"};
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    if (strstr(node->kind, parts[i])) {
      return true;
    }
  }
  return false;
}

/* ---- what may fail ---- */

/* What data may let an op fail: integers are indices and divisors. */
typedef enum risk { RISK_NONE, RISK_TENSOR, RISK_NUMBER } risk;

static risk risk_of(const bsm_value *value) {
  const bsm_type *type = value->type;
  const bsm_node *list = bsm_value_list_node(value);
  risk most = RISK_NONE;
  if (bsm_node_is(value->node, "prim::Constant")) return RISK_NONE;
  if (!list) {
    if (!type || type->kind != BSM_TYPE_TENSOR) return RISK_NUMBER;
    return type->has_dtype && !bsm_dtype_is_integral(type->dtype, false)
               ? RISK_NONE
               : RISK_TENSOR;
  }
  for (size_t i = 0; i < list->inputs.len; i++) {
    const risk r = risk_of(bsm_node_in(list, i));
    most = r > most ? r : most;
  }
  return most;
}

static bool is_among(const bsm_node *node, const char *const *kinds,
                     size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bsm_node_is(node, kinds[i])) return true;
  }
  return false;
}

#define IS_AMONG(node, kinds) \
  is_among(node, kinds, sizeof(kinds) / sizeof((kinds)[0]))

/* Ops that take any integers; those of tensors, but not numbers that would be
 * places or sizes; and those that fail for floats. */
static const char *const computing[] = {
    "aten::add",         "aten::sub",         "aten::rsub",
    "aten::mul",         "aten::neg",         "aten::abs",
    "aten::sign",        "aten::eq",          "aten::ne",
    "aten::lt",          "aten::le",          "aten::gt",
    "aten::ge",          "aten::where",       "aten::maximum",
    "aten::minimum",     "aten::clamp",       "aten::clamp_min",
    "aten::clamp_max",   "aten::logical_and", "aten::logical_or",
    "aten::logical_xor", "aten::logical_not", "aten::bitwise_and",
    "aten::bitwise_or",  "aten::bitwise_xor", "aten::bitwise_not",
    "aten::__and__",     "aten::__or__",      "aten::__xor__",
    "aten::__not__",     "aten::masked_fill", "aten::Bool",
    "aten::Float"};
static const char *const of_tensors[] = {
    "aten::to",        "aten::type_as",    "aten::sum",     "aten::mean",
    "aten::prod",      "aten::amax",       "aten::amin",    "aten::max",
    "aten::min",       "aten::reshape",    "aten::view",    "aten::flatten",
    "aten::unsqueeze", "aten::squeeze",    "aten::permute", "aten::transpose",
    "aten::expand",    "aten::slice",      "aten::select",  "aten::cat",
    "aten::stack",     "aten::contiguous", "aten::clone",   "aten::zeros_like",
    "aten::ones_like", "aten::full_like",  "aten::item",    "aten::Int"};
static const char *const of_floats[] = {"aten::inverse", "aten::cholesky",
                                        "aten::binary_cross_entropy",
                                        "aten::quantile"};

/* A quotient that is not rounded is a float. */
static bool is_quotient(const bsm_node *node) {
  return bsm_node_is(node, "aten::div") && node->inputs.len == 2 &&
         bsm_node_out(node, 0)->type->kind == BSM_TYPE_TENSOR;
}

/* Whether an op may fail for some values of inputs of the same dims. */
static bool may_fail(const bsm_node *node) {
  risk most = RISK_NONE;
  if (!node->schema || IS_AMONG(node, computing) || is_quotient(node)) {
    return false;
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    const risk r = risk_of(bsm_node_in(node, i));
    most = r > most ? r : most;
  }
  if (most == RISK_NONE) return IS_AMONG(node, of_floats);
  return most == RISK_NUMBER || !IS_AMONG(node, of_tensors);
}

static bool is_small(const bsm_block *block, const bsm_aten_library *aten) {
  size_t count = 0;
  for (const bsm_node *n = block->first; n; n = n->next) {
    if (!bsm_node_is_pure(n, aten) || is_heavy(n) || n->blocks.len ||
        may_fail(n)) {
      return false;
    }
    count += !bsm_node_is(n, "prim::Constant");
  }
  return count <= MAX_NODES;
}

static bsm_status flatten(bsm_node *node, const bsm_aten_library *aten) {
  const bsm_node_emitter e = bsm_node_emitter_before(node, aten);
  bsm_value *condition = NULL;
  if (!sides_agree(node) || !is_small(node->blocks.items[0], aten) ||
      !is_small(node->blocks.items[1], aten)) {
    return BSM_OK;
  }
  BSM_TRY(bsm_scalar_tensor(&e, bsm_node_in(node, 0), &condition));
  if (!condition) {
    return BSM_OK;
  }
  for (size_t b = 0; b < 2; b++) {
    bsm_block *block = node->blocks.items[b];
    while (block->first) {
      bsm_node_move_before(block->first, node);
    }
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *in[3] = {condition,
                        bsm_node_in(node->blocks.items[0]->returns, i),
                        bsm_node_in(node->blocks.items[1]->returns, i)};
    bsm_value *out = in[1];
    if (in[1] != in[2]) {
      BSM_TRY(bsm_ir_op(&e, "aten::where.self", in, 3, &out));
    }
    BSM_TRY(bsm_rewrite_value(node->graph, bsm_node_out(node, i), out));
  }
  bsm_node_destroy(node);
  return BSM_OK;
}

static bsm_status visit(bsm_node *node, const bsm_aten_library *aten,
                        const void *user) {
  (void)user;
  const bool branch = bsm_node_is(node, "prim::If") && node->blocks.len == 2;
  return branch ? flatten(node, aten) : BSM_OK;
}

bsm_status bsm_lower_branch_to_where(bsm_graph *graph,
                                     const bsm_aten_library *aten) {
  return bsm_visit_nodes(graph, aten, visit, NULL);
}
