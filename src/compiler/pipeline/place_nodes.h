/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in the record: where each node of a lowered graph runs, and why. */
#ifndef BSM_COMPILER_PIPELINE_PLACE_NODES_H_
#define BSM_COMPILER_PIPELINE_PLACE_NODES_H_

#include "compiler/pipeline/compilation_record.h"
#include "compiler/pipeline/divide_graph.h"

/* Records where each node is expected to run, before anything is converted. A
 * converter may still refuse a node. */
BSM_NODISCARD bsm_status bsm_place_expected(const bsm_compilation *c,
                                            const bsm_divided_graph *divided,
                                            bsm_placement_list *out);

/* The nodes in regions of a program. */
typedef struct bsm_region_nodes {
  const bsm_ptrmap *registers; /* bsm_value -> its register, plus 1; or NULL */
  const bool *in_region;       /* by register */
} bsm_region_nodes;

bool bsm_is_in_region(const bsm_region_nodes *regions, const bsm_node *node);

/* Called when regions are formed: records which nodes they have, and which a
 * program calls. */
BSM_NODISCARD bsm_status bsm_place_calls(const bsm_compilation *c,
                                         const bsm_divided_graph *divided,
                                         const bsm_region_nodes *regions,
                                         bsm_placement_list *out);

/* Where conversion records the nodes that it visits. */
typedef struct bsm_conversion_record {
  bsm_placement_list *nodes;
  bool of_segment; /* of a program, which makes lists itself */
} bsm_conversion_record;

/* A bsm_node_visit; `user` is a bsm_conversion_record. */
BSM_NODISCARD bsm_status bsm_place_converted(void *user, const bsm_node *node,
                                             bsm_node_handler handler,
                                             const char *why);

#endif /* BSM_COMPILER_PIPELINE_PLACE_NODES_H_ */
