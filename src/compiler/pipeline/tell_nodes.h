/* SPDX-License-Identifier: Apache-2.0 */
/* Telling whoever watches a compilation how each node runs. */
#ifndef BSM_COMPILER_PIPELINE_TELL_NODES_H_
#define BSM_COMPILER_PIPELINE_TELL_NODES_H_

#include "compiler/pipeline/compilation.h"
#include "compiler/pipeline/compile_program.h"

/* The nodes of a program that are in no segment, and how they run. */
typedef struct bsm_program_node_list {
  const bsm_node *const *nodes;
  size_t count;
  const bsm_program_map *map; /* NULL: nothing is in a region */
  const bool *in_region;      /* by register */
} bsm_program_node_list;

/* Whether the node is in a region. */
bool bsm_is_planned(const bsm_program_node_list *p, const bsm_node *node);

/* A bsm_node_visit for conversion; `user` is the compilation. */
BSM_NODISCARD bsm_status bsm_saw_node(void *user, const bsm_node *node,
                                      bsm_node_handler handler,
                                      const char *why);

/* Tells of the nodes of a program that are in no segment. */
BSM_NODISCARD bsm_status bsm_tell_program(
    bsm_compilation *c, const bsm_graph *graph, const bsm_program_node_list *p,
    const bsm_partition_options *partition);

/* After a failure, without converting: who would take each node. */
BSM_NODISCARD bsm_status bsm_tell_again(bsm_compilation *c);

#endif /* BSM_COMPILER_PIPELINE_TELL_NODES_H_ */
