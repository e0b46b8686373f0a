/* SPDX-License-Identifier: Apache-2.0 */
/* Small branches on data become selections: both sides are computed, and
 * where() picks one. The side that is not taken is computed in vain, so only
 * sides of a few cheap pure ops qualify; the others stay branches.
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

static bool is_small(const bsm_block *block, const bsm_aten_library *aten) {
  size_t count = 0;
  for (const bsm_node *n = block->first; n; n = n->next) {
    if (!bsm_node_is_pure(n, aten) || is_heavy(n) || n->blocks.len) {
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
