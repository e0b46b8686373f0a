/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the lowered graph. The graph is flat and has refined types; it is
 * functional unless a pass says otherwise. Each pass is one file under passes/,
 * and BSM_LOWERING_PASSES lists them. */
#ifndef BSM_LOWERING_PASS_H_
#define BSM_LOWERING_PASS_H_

#include "lowering/node_emitter.h"

typedef bsm_status (*bsm_pass_fn)(bsm_graph *graph,
                                  const bsm_aten_library *aten);

typedef bsm_status (*bsm_visit_fn)(bsm_node *node, const bsm_aten_library *aten,
                                   const void *user);
/* Calls `visit` for every node in order; the nodes of a block come before the
 * node that has the block. `visit` may destroy the node and add others around
 * it, which are not visited. */
BSM_NODISCARD bsm_status bsm_visit_nodes(bsm_graph *graph,
                                         const bsm_aten_library *aten,
                                         bsm_visit_fn visit, const void *user);

/* Replaces one node; `e` emits in front of it. Sets outs[i] to the value that
 * replaces output i. Leaves outs[0] NULL to leave the node alone. */
typedef bsm_status (*bsm_rewrite_fn)(const bsm_node_emitter *e, bsm_node *node,
                                     bsm_value **outs);

#define BSM_REWRITE_MAX_OUTPUTS 4

typedef struct bsm_rewrite {
  const char *schema; /* qualified: "aten::conv2d", "aten::add.Tensor" */
  bsm_rewrite_fn rewrite;
} bsm_rewrite;

/* Applies the rules to every node once, in order, in nested blocks too. Nodes
 * that a rule emits are not visited again. */
BSM_NODISCARD bsm_status bsm_rewrite_graph(bsm_graph *graph,
                                           const bsm_aten_library *aten,
                                           const bsm_rewrite *rules,
                                           size_t count);
/* Replaces `from` by `to` in all uses. `to` also gets its name, and its type
 * where that says more. */
BSM_NODISCARD bsm_status bsm_rewrite_value(bsm_graph *graph, bsm_value *from,
                                           bsm_value *to);

/* Whether the node computes the same from the same inputs, without effects. */
bool bsm_node_is_pure(const bsm_node *node, const bsm_aten_library *aten);

/* Runs one pass by its name, for tests; BSM_NOT_FOUND when there is none. */
BSM_NODISCARD bsm_status bsm_lower_run_pass(const char *name, bsm_graph *graph,
                                            const bsm_aten_library *aten);

/* Which lowered graphs a pass works on; a set of bits. */
typedef enum bsm_pass_graphs {
  BSM_PASS_WRITING =
      1, /* graphs that write to memory: the pass may remove writes */
  BSM_PASS_FLAT = 2, /* functional graphs: values never change */
  BSM_PASS_LITERAL =
      4, /* graphs that keep their writes: the pass works on single nodes */
  BSM_PASS_ALL = BSM_PASS_FLAT | BSM_PASS_LITERAL,
  BSM_PASS_BOUNDED = 8 /* functional graphs, where the options ask for it */
} bsm_pass_graphs;

/* The passes in the order that they run in: name, function, graphs. This is the
 * only list of them. */
#define BSM_LOWERING_PASSES(PASS)                                              \
  PASS(resolve_writes, resolve_writes, WRITING)                                \
  PASS(own_memory, own_memory, WRITING)                                        \
  PASS(eliminate_dead_code, eliminate_dead_code, FLAT)                         \
  PASS(branch_to_where, branch_to_where, FLAT)                                 \
  PASS(tensorize_scalars, tensorize_scalars, FLAT)                             \
  PASS(decompose_transformer, decompose_transformer, ALL)                      \
  PASS(decompose_einsum, decompose_einsum, ALL)                                \
  PASS(split_complex, split_complex, BOUNDED)                                  \
  PASS(bound_sizes, bound_sizes, BOUNDED)                                      \
  PASS(share_matrices, share_matrices, FLAT)                                   \
  PASS(fold_constants, fold_constants, FLAT)                                   \
  PASS(peephole, peephole, FLAT)                                               \
  PASS(eliminate_common_subexpressions, eliminate_common_subexpressions, FLAT) \
  PASS(remove_dead_code, eliminate_dead_code, ALL)

#define BSM_DECLARE_PASS(name, function, graphs)    \
  bsm_status bsm_lower_##function(bsm_graph *graph, \
                                  const bsm_aten_library *aten);
BSM_LOWERING_PASSES(BSM_DECLARE_PASS)
#undef BSM_DECLARE_PASS

#endif /* BSM_LOWERING_PASS_H_ */
