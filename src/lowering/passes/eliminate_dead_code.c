/* SPDX-License-Identifier: Apache-2.0 */
/* Dead code.
 *
 * Requires:    a graph in which a node whose outputs are unused does nothing
 *              except raise, write and draw random numbers.
 * Establishes: every node is needed for an output of the graph, may raise,
 *              draws (what others draw depends on it), or writes to what others
 *              may see.
 * Breaks:      nothing. */
#include "ir/draws.h"
#include "ir/memory_sets.h"
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

/* The value that the node writes to; NULL: it writes to none. */
static const bsm_value *written(const bsm_node *node) {
  size_t which;
  return bsm_schema_writes(node->schema, &which) && which < node->inputs.len
             ? bsm_node_in(node, which)
             : NULL;
}

static bool is_inside(const bsm_node *node, const bsm_node *outer) {
  while (node && node != outer) {
    node = node->block ? node->block->owner : NULL;
  }
  return node != NULL;
}

/* Whether a write can be seen outside of `whole` and the nodes inside of it.
 * Only the uses of a new container see what is written to it. */
static bool writes_for_others(const bsm_node *node, const bsm_node *whole) {
  const bsm_value *value = written(node);
  return value && (!bsm_node_is(value->node, "prim::CopyContainer") ||
                   (value->uses.len > 1 && !is_inside(value->node, whole)));
}

/* Users go first, so what still uses the container reads it later. */
static bool has_effect(const bsm_node *node, const bsm_node *whole,
                       size_t depth) {
  if (bsm_node_is(node, "prim::RaiseException") ||
      writes_for_others(node, whole) ||
      depth > (size_t)node->graph->cx->limits.max_depth) {
    return true;
  }
  for (size_t i = 0; i < node->blocks.len; i++) {
    for (const bsm_node *n = node->blocks.items[i]->first; n; n = n->next) {
      if (has_effect(n, whole, depth + 1)) {
        return true;
      }
    }
  }
  return false;
}

static bool is_used(const bsm_node *node) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (bsm_node_out(node, i)->uses.len) {
      return true;
    }
  }
  return false;
}

static void sweep(bsm_block *block, const bsm_aten_library *aten,
                  size_t depth) {
  bsm_node *previous = NULL;
  /* Backwards: users go before what they use. */
  for (bsm_node *node = block->last; node; node = previous) {
    previous = node->prev;
    if (!is_used(node) && !has_effect(node, node, 0) &&
        !bsm_node_draws(node, aten)) {
      bsm_node_destroy(node);
      continue;
    }
    trim_outputs(node);
    const size_t limit = (size_t)block->graph->cx->limits.max_depth;
    for (size_t i = 0; i < node->blocks.len && depth < limit; i++) {
      sweep(node->blocks.items[i], aten, depth + 1);
    }
  }
}

bsm_status bsm_lower_eliminate_dead_code(bsm_graph *graph,
                                         const bsm_aten_library *aten) {
  sweep(graph->block, aten, 0);
  return BSM_OK;
}
