/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of a program whose inputs range, and the first plans for them.
 * Engines make plans for further shapes when they run. */
#ifndef BSM_COMPILER_PIPELINE_PLAN_REGIONS_H_
#define BSM_COMPILER_PIPELINE_PLAN_REGIONS_H_

#include "aten/op.h"
#include "builder/builder.h"
#include "compiler/pipeline/compilation_record.h"
#include "engine/plan.h"
#include "engine/program.h"

typedef struct bsm_region_options {
  const bsm_aten_library *aten;
  bsm_build_options building; /* of the plans for the best shapes */
  bool require_full_compilation;
  const bool *alone; /* by register: the node that sets it is in no region */
  size_t least;      /* calls in a region */
  const bsm_allocator *allocator; /* of what is needed while planning */
  /* Gets how the nodes of the plan for the best shapes run, when the whole
   * program is one region. */
  bsm_placement_list *optimal;
} bsm_region_options;

/* Forms regions of the program of `plan`, which has ranges, and makes their
 * plans for the best shapes, with tactics and packed weights. When the whole
 * program is one region, its plans for the best and the largest shapes become
 * variants, and *whole is set. New memory comes from `arena`, the engine's. */
BSM_NODISCARD bsm_status bsm_plan_regions(bsm_plan *plan,
                                          const bsm_region_options *options,
                                          bsm_arena *arena, bool *whole);

/* Which registers regions set, inside or as results: (*out)[r], in `arena`. */
BSM_NODISCARD bsm_status bsm_region_registers(const bsm_program *program,
                                              bsm_arena *arena, bool **out);

#endif /* BSM_COMPILER_PIPELINE_PLAN_REGIONS_H_ */
