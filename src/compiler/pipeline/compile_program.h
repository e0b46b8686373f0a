/* SPDX-License-Identifier: Apache-2.0 */
/* From a lowered graph to a plan with a program. */
#ifndef BSM_COMPILER_PIPELINE_COMPILE_PROGRAM_H_
#define BSM_COMPILER_PIPELINE_COMPILE_PROGRAM_H_

#include "engine/plan.h"
#include "lowering/lowering.h"
#include "partitioning/partition.h"

typedef struct bsm_program_source {
  const char *const *input_names, *const *output_names; /* of the bindings */
  const bsm_lowering_range *const *input_ranges; /* NULL where dims are fixed */
  size_t value_count; /* of the graph's last outputs: no tensors */
  /* Of the others: what is known of the dims, where types do not tell. */
  const bsm_dims *output_dims;
  /* Compiles the graph of a segment to a plan in `arena`. */
  bsm_status (*compile_segment)(void *user, const bsm_graph *graph,
                                bsm_arena *arena, bsm_plan **out);
  void *user;
} bsm_program_source;

/* The nodes of the graph that are in no segment: what a program calls one by
 * one, and control flow, tuples and the like. */
BSM_NODISCARD bsm_status bsm_program_nodes(
    const bsm_graph *graph, const bsm_partition_options *partition,
    bsm_arena *arena, const bsm_node *const **out, size_t *count);

/* Whether such a node is a call of an op. */
bool bsm_program_calls_node(const bsm_node *node);

/* How the graph became a program. */
typedef struct bsm_program_map {
  bsm_ptrmap registers; /* bsm_value -> its register, plus 1 */
  bool *alone;          /* by register: set by a node that is to stand alone */
} bsm_program_map;

/* The plan and its program live in `arena`, what *map has in `scratch`.
 * BSM_UNSUPPORTED: something that a program cannot hold either. */
BSM_NODISCARD bsm_status bsm_compile_program(
    const bsm_graph *graph, const bsm_partition_options *partition,
    const bsm_program_source *source, bsm_arena *scratch, bsm_arena *arena,
    bsm_plan **out, bsm_program_map *map);

/* Adds a plan for one shape of the inputs to the program. */
BSM_NODISCARD bsm_status bsm_program_add_variant(bsm_plan *plan,
                                                 bsm_plan *variant,
                                                 bsm_arena *arena);
/* Equal weights of the segments are kept once. */
BSM_NODISCARD bsm_status bsm_program_share_weights(bsm_plan *plan,
                                                   bsm_arena *scratch);

#endif /* BSM_COMPILER_PIPELINE_COMPILE_PROGRAM_H_ */
