/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the lowered graph: flat, functional unless they say otherwise,
 * with refined types. One file each under passes/; BSM_LOWERING_PASSES lists
 * them. */
#ifndef BSM_LOWERING_PASS_H_
#define BSM_LOWERING_PASS_H_

#include "lowering/node_emitter.h"

typedef bsm_status (*bsm_pass_fn)(bsm_graph *graph,
                                  const bsm_aten_library *aten);

typedef bsm_status (*bsm_visit_fn)(bsm_node *node, const bsm_aten_library *aten,
                                   const void *user);
/* Calls `visit` for every node in order, those of a node's blocks before the
 * node. It may destroy the node and add others around it, which are not
 * visited. */
BSM_NODISCARD bsm_status bsm_visit_nodes(bsm_graph *graph,
                                         const bsm_aten_library *aten,
                                         bsm_visit_fn visit, const void *user);

/* Replaces one node. `e` emits in front of it. Sets outs[i] to what stands for
 * output i; leaves outs[0] NULL to leave the node alone. */
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
/* Puts `to` in the place of `from`: uses, name, and type where it says more. */
BSM_NODISCARD bsm_status bsm_rewrite_value(bsm_graph *graph, bsm_value *from,
                                           bsm_value *to);

/* Whether the node computes the same from the same inputs, without effects. */
bool bsm_node_is_pure(const bsm_node *node, const bsm_aten_library *aten);

/* One pass by its name, for tests; BSM_NOT_FOUND when there is none. */
BSM_NODISCARD bsm_status bsm_lower_run_pass(const char *name, bsm_graph *graph,
                                            const bsm_aten_library *aten);

/* Which lowered graphs a pass is for; a set of bits. */
typedef enum bsm_pass_graphs {
  BSM_PASS_WRITING =
      1,             /* those that write to memory: may take the writes out */
  BSM_PASS_FLAT = 2, /* those whose values never change */
  BSM_PASS_LITERAL = 4, /* those that go on writing: takes single nodes apart */
  BSM_PASS_ALL = BSM_PASS_FLAT | BSM_PASS_LITERAL
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
