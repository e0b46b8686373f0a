/* SPDX-License-Identifier: Apache-2.0 */
/* Dead code.
 *
 * Requires:    a functional graph: a node without used outputs does nothing.
 * Establishes: every node is needed for an output of the graph.
 * Breaks:      nothing. */
#include "lowering/pass.h"

/* Drops the outputs of an If that nobody uses, in both blocks. */
static void trim_outputs(bsm_node *node) {
  if (!bsm_node_is(node, "prim::If")) {
    return;
  }
  for (size_t i = node->outputs.len; i-- > 0;) {
    if (bsm_node_out(node, i)->uses.len == 0) {
      bsm_node_remove_output(node, i);
      for (size_t b = 0; b < node->blocks.len; b++) {
        bsm_node_remove_input(node->blocks.items[b]->returns, i);
      }
    }
  }
}

static bool is_used(const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (bsm_node_out(node, i)->uses.len) {
      return true;
    }
  }
  return false;
}

static void sweep(bsm_block *block, size_t depth) {
  bsm_node *previous = NULL;
  /* Backwards: users go before what they use. */
  for (bsm_node *node = block->last; node; node = previous) {
    previous = node->prev;
    if (!is_used(node)) {
      bsm_node_destroy(node);
      continue;
    }
    trim_outputs(node);
    const size_t limit = (size_t)block->graph->cx->limits.max_depth;
    for (size_t i = 0; i < node->blocks.len && depth < limit; i++) {
      sweep(node->blocks.items[i], depth + 1);
    }
  }
}

bsm_status bsm_lower_eliminate_dead_code(bsm_graph *graph,
                                         const bsm_aten_library *aten) {
  (void)aten;
  sweep(graph->block, 0);
  return BSM_OK;
}
