/* SPDX-License-Identifier: Apache-2.0 */
/* How a lowered graph is divided: it is one plan, or a program with segments
 * and single nodes, of which regions may be formed. */
#ifndef BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_
#define BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_

#include "compiler/pipeline/compilation.h"
#include "lowering/lowering.h"
#include "partitioning/partition.h"

typedef struct bsm_divided_graph {
  const bsm_graph *graph;
  /* One plan: nothing ranges, depends on data or is no tensor. All below is
   * then empty. */
  bool is_plan;
  /* The top block has no segments: regions are formed of its instructions. */
  bool forms_regions;
  bsm_memory_sets *memory; /* of a literal graph, or NULL */
  bsm_partition partition;
  /* In no segment: what a program calls one by one, control flow, tuples and
   * the like. */
  BSM_VEC(const bsm_node *) nodes;
} bsm_divided_graph;

BSM_NODISCARD bsm_status bsm_divide_graph(const bsm_compilation *c,
                                          const bsm_lowered *lowered,
                                          bsm_divided_graph *out);

/* Whether a lowered graph is one plan; no graph that writes to memory. */
bool bsm_is_plan(const bsm_compilation *c, const bsm_lowered *lowered);

/* The last outputs of the graph, which are no tensors: a program gives them. */
size_t bsm_count_values(const bsm_lowered *lowered);

/* Whether a segment could have the node. */
bool bsm_could_be_in_segment(const bsm_compilation *c,
                             const bsm_divided_graph *divided,
                             const bsm_node *node);

#endif /* BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_ */
