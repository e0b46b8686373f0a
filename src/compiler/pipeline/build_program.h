/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a plan with a program from a divided graph. */
#ifndef BSM_COMPILER_PIPELINE_BUILD_PROGRAM_H_
#define BSM_COMPILER_PIPELINE_BUILD_PROGRAM_H_

#include "engine/plan.h"
#include "lowering/lowering.h"
#include "partitioning/partition.h"

typedef struct bsm_program_source {
  const bsm_graph *graph;
  const bsm_partition *partition;                       /* of it */
  const char *const *input_names, *const *output_names; /* of the bindings */
  const bsm_lowering_range *const *input_ranges; /* NULL where dims are fixed */
  size_t value_count; /* of the graph's last outputs: no tensors */
  /* For the other outputs: what is known of dims that their types do not have.
   */
  const bsm_dims *output_dims;
  /* Compiles the graph of a segment to a plan in `arena`. */
  bsm_status (*compile_segment)(void *user, const bsm_graph *graph,
                                bsm_arena *arena, bsm_plan **out);
  void *user;
} bsm_program_source;

/* Whether a node outside of segments is a call of an op. Other nodes are
 * control flow, tuples and so on. */
bool bsm_program_calls_node(const bsm_node *node);

/* How the graph became a program. */
typedef struct bsm_program_map {
  bsm_ptrmap registers; /* bsm_value -> its register, plus 1 */
  bool *alone;          /* by register: set by a node that is to stand alone */
} bsm_program_map;

/* The plan and its program are in `arena`, the tables of *map in `scratch`.
 * BSM_UNSUPPORTED: a program cannot represent something. */
BSM_NODISCARD bsm_status bsm_build_program(const bsm_program_source *source,
                                           bsm_arena *scratch, bsm_arena *arena,
                                           bsm_plan **out,
                                           bsm_program_map *map);

#endif /* BSM_COMPILER_PIPELINE_BUILD_PROGRAM_H_ */
