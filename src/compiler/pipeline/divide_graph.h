/* SPDX-License-Identifier: Apache-2.0 */
/* How a lowered graph is divided: into one plan, or into a program with
 * segments and single nodes, from which regions may be formed. */
#ifndef BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_
#define BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_

#include "compiler/pipeline/compilation.h"
#include "lowering/lowering.h"
#include "partitioning/partition.h"

typedef struct bsm_divided_graph {
  const bsm_graph *graph;
  /* One plan: no dims range, nothing depends on data, and all values are
   * tensors. Then everything below is empty. */
  bool is_plan;
  /* The top block has no segments: regions are formed of its instructions. */
  bool forms_regions;
  bsm_memory_sets *memory; /* of a literal graph, or NULL */
  bsm_partition partition;
  /* Nodes outside of segments: calls of the program, control flow, tuples and
   * so on. */
  BSM_VEC(const bsm_node *) nodes;
} bsm_divided_graph;

BSM_NODISCARD bsm_status bsm_divide_graph(const bsm_compilation *c,
                                          const bsm_lowered *lowered,
                                          bsm_divided_graph *out);

/* Whether a lowered graph is one plan. A graph that writes to memory is not. */
bool bsm_is_plan(const bsm_compilation *c, const bsm_lowered *lowered);

/* The last outputs of the graph that are not tensors; a program returns them.
 */
size_t bsm_count_values(const bsm_lowered *lowered);

/* Whether the node could be in a segment. */
bool bsm_could_be_in_segment(const bsm_compilation *c,
                             const bsm_divided_graph *divided,
                             const bsm_node *node);

#endif /* BSM_COMPILER_PIPELINE_DIVIDE_GRAPH_H_ */
