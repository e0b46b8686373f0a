/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the lowered graph: flat, functional unless they say otherwise,
 * with refined types. One file each under passes/; the order is in pipeline.c.
 */
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
typedef bsm_status (*bsm_rewrite_fn)(const bsm_emitter *e, bsm_node *node,
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

bsm_status bsm_lower_eliminate_dead_code(bsm_graph *graph,
                                         const bsm_aten_library *aten);
bsm_status bsm_lower_eliminate_common_subexpressions(
    bsm_graph *graph, const bsm_aten_library *aten);
bsm_status bsm_lower_fold_constants(bsm_graph *graph,
                                    const bsm_aten_library *aten);
bsm_status bsm_lower_peephole(bsm_graph *graph, const bsm_aten_library *aten);
bsm_status bsm_lower_decompose_transformer(bsm_graph *graph,
                                           const bsm_aten_library *aten);
bsm_status bsm_lower_decompose_einsum(bsm_graph *graph,
                                      const bsm_aten_library *aten);
bsm_status bsm_lower_share_matrices(bsm_graph *graph,
                                    const bsm_aten_library *aten);
bsm_status bsm_lower_tensorize_scalars(bsm_graph *graph,
                                       const bsm_aten_library *aten);
bsm_status bsm_lower_resolve_writes(bsm_graph *graph,
                                    const bsm_aten_library *aten);
bsm_status bsm_lower_own_memory(bsm_graph *graph, const bsm_aten_library *aten);
bsm_status bsm_lower_branch_to_where(bsm_graph *graph,
                                     const bsm_aten_library *aten);

#endif /* BSM_LOWERING_PASS_H_ */
