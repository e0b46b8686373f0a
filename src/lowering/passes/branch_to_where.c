/* SPDX-License-Identifier: Apache-2.0 */
/* Branches on data become selections: both sides are computed, and where()
 * picks. What is left of an If after specialisation has no effects and always
 * ends, so this is always right; it costs the side not taken.
 *
 * Requires:    a functional graph; every output of the If a tensor of the same
 *              dims and dtype on both sides; a condition made by aten::Bool of
 * a tensor of one element, or by and, or, not of such. Establishes: no such
 * prim::If; others stay. Breaks:      leaves the ops of the condition dead. */
#include "lowering/pass.h"

#define MAX_CONDITION_DEPTH 50

/* The condition as a bool tensor; *out NULL when it cannot be had. */
static bsm_status as_tensor(const bsm_emitter *e, const bsm_value *condition,
                            size_t depth, bsm_value **out) {
  const bsm_node *node = condition->node;
  bsm_dims dims, scalar = {0, {0}};
  bsm_dtype dtype;
  *out = NULL;
  if (depth > MAX_CONDITION_DEPTH || !node->schema) {
    return BSM_OK;
  }
  const char *name = node->schema->qualified;
  if (strcmp(name, "aten::Bool.Tensor") == 0) {
    bsm_value *x = bsm_node_in(node, 0);
    if (!bsm_value_dims(x, &dims, &dtype)) {
      return BSM_OK;
    }
    if (dims.rank > 0) {
      BSM_TRY(bsm_ir_reshape(e, x, scalar, &x));
    }
    *out = x;
    if (dtype == BSM_DTYPE_BOOL) {
      return BSM_OK;
    }
    bsm_value *in[2] = {x, NULL};
    BSM_TRY(bsm_ir_int(e, 0, &in[1]));
    return bsm_ir_op(e, "aten::ne.Scalar", in, 2, out);
  }
  if (strcmp(name, "aten::__not__") == 0) {
    bsm_value *x = NULL;
    BSM_TRY(as_tensor(e, bsm_node_in(node, 0), depth + 1, &x));
    return x ? bsm_ir_op(e, "aten::logical_not", &x, 1, out) : BSM_OK;
  }
  const bool both = strcmp(name, "aten::__and__.bool") == 0;
  if (both || strcmp(name, "aten::__or__.bool") == 0) {
    bsm_value *in[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
      BSM_TRY(as_tensor(e, bsm_node_in(node, i), depth + 1, &in[i]));
      if (!in[i]) {
        return BSM_OK;
      }
    }
    return bsm_ir_op(e, both ? "aten::logical_and" : "aten::logical_or", in,
                       2, out);
  }
  return BSM_OK;
}

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

static bsm_status flatten(bsm_node *node, const bsm_aten_library *aten) {
  const bsm_emitter e = bsm_emitter_before(node, aten);
  bsm_value *condition = NULL;
  if (!sides_agree(node)) {
    return BSM_OK;
  }
  BSM_TRY(as_tensor(&e, bsm_node_in(node, 0), 0, &condition));
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

/* Inner branches first. */
static bsm_status visit(bsm_block *block, const bsm_aten_library *aten,
                        size_t depth) {
  if (depth > block->graph->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "blocks are nested too deep");
  }
  bsm_node *next = NULL;
  for (bsm_node *node = block->first; node; node = next) {
    next = node->next;
    for (size_t i = 0; i < node->blocks.len; i++) {
      BSM_TRY(visit(node->blocks.items[i], aten, depth + 1));
    }
    if (bsm_node_is(node, "prim::If") && node->blocks.len == 2) {
      BSM_TRY(flatten(node, aten));
    }
  }
  return BSM_OK;
}

bsm_status bsm_lower_branch_to_where(bsm_graph *graph,
                                     const bsm_aten_library *aten) {
  return visit(graph->block, aten, 0);
}
