/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a region's calls, for known shapes. */
#ifndef BSM_PLANNER_REGION_GRAPH_H_
#define BSM_PLANNER_REGION_GRAPH_H_

#include "planner/planner_internal.h"

typedef struct bsm_region_graph {
  bsm_graph *graph;
  uint32_t *outputs; /* for each result: of the graph, or BSM_NO_OUTPUT */
  bsm_ivalue *values;
  /* By input of the graph: where the given tensor has its elements. */
  BSM_VEC(bsm_layout) layouts;
} bsm_region_graph;

/* The graph, its types and the layouts live in `scratch`, `outputs` and
 * `values` in `arena`. Results may be tensors, numbers, bools and None. */
BSM_NODISCARD bsm_status bsm_region_graph_make(bsm_planner *planner,
                                               const bsm_instruction *region,
                                               const bsm_ivalue *inputs,
                                               bsm_arena *scratch,
                                               bsm_arena *arena,
                                               bsm_region_graph *out);

#endif /* BSM_PLANNER_REGION_GRAPH_H_ */
