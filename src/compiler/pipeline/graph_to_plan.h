/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of fixed shapes becomes a network, and the network a plan. */
#ifndef BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_
#define BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_

#include "builder/builder.h"
#include "compiler/pipeline/compilation.h"
#include "compiler/pipeline/place_nodes.h"

/* How plans are built, but for what is of one network. */
bsm_build_options bsm_building_options(const bsm_compilation *c);

/* The plan is in `arena`. `input_names` may be NULL; `record`, which may be
 * NULL, is told how each node was converted. */
BSM_NODISCARD bsm_status bsm_graph_to_plan(const bsm_compilation *c,
                                           const bsm_graph *graph,
                                           const char *const *input_names,
                                           bsm_conversion_record *record,
                                           bsm_arena *arena, bsm_plan **out);

#endif /* BSM_COMPILER_PIPELINE_GRAPH_TO_PLAN_H_ */
