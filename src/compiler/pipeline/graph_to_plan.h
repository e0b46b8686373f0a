/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan from a graph of fixed shapes, by way of a network. */
#ifndef BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_
#define BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_

#include "builder/builder.h"
#include "compiler/pipeline/compilation.h"
#include "compiler/pipeline/place_nodes.h"

/* The options of building that are the same for all networks. */
bsm_build_options bsm_building_options(const bsm_compilation *c);

/* Only the network, in the compilation's arena; released with
 * bsm_network_release. `record` may be NULL. */
BSM_NODISCARD bsm_status bsm_graph_to_network(const bsm_compilation *c,
                                              const bsm_graph *graph,
                                              const char *const *input_names,
                                              bsm_conversion_record *record,
                                              bsm_network **out);

/* The plan is in `arena`. `input_names` may be NULL. `record` gets how each
 * node was converted, and may be NULL. */
BSM_NODISCARD bsm_status bsm_graph_to_plan(const bsm_compilation *c,
                                           const bsm_graph *graph,
                                           const char *const *input_names,
                                           bsm_conversion_record *record,
                                           bsm_arena *arena, bsm_plan **out);

#endif /* BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_ */
