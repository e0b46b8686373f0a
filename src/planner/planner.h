/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for regions of a program (engine/program.h), made when their shapes are
 * known. The region is run on shapes and its calls become a graph; the
 * converters and the builder, the same that compile models, turn that into a
 * network and a plan. The same shapes and numbers always give the same plan. */
#ifndef BSM_PLANNER_PLANNER_H_
#define BSM_PLANNER_PLANNER_H_

#include "aten/op.h"
#include "builder/builder.h"
#include "conversion/convert.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "engine/program_constants.h"
#include "engine/region_planner.h"

typedef struct bsm_planner bsm_planner;

typedef struct bsm_planner_options {
  const bsm_plan *plan; /* with a program; outlives the planner */
  const bsm_aten_library *aten;
  const bsm_program_constants *constants;
  const bsm_allocator *allocator;
  /* How to build; with `store`, the constants and packed weights there are. */
  bsm_build_options building;
  /* Makes plans fail that would leave ops to the reference library. */
  bool require_full_compilation;
  bsm_node_visit *visit; /* told how each node of a plan runs; NULL: none */
  void *user;
  /* Limits of the run on shapes for one plan. 0, or more than the defaults: the
   * defaults. */
  size_t max_bytes, max_instructions;
  size_t max_tensor_bytes; /* of a tensor in the plan; 0: as in programs */
  /* Of plans of CALLs: see bsm_region_planner_options. */
  bool any_input_strides, any_output_strides;
} bsm_planner_options;

/* BSM_OUT_OF_MEMORY alone. Not thread safe. */
BSM_NODISCARD bsm_status bsm_planner_create(const bsm_planner_options *options,
                                            bsm_planner **out);
void bsm_planner_destroy(bsm_planner *planner);
/* How many instructions the planner has run on shapes so far. */
uint64_t bsm_planner_instructions(const bsm_planner *planner);

/* Plans a REGION of the program for inputs like these; of tensors only dtypes
 * and dims matter. The plan is in `arena`, and refers to weights of the
 * options' plan and of the store. `like`: the plan whose tactics are taken
 * over; NULL: tactics are chosen. Fails when the region has no plan for these
 * inputs: it needs data, raises, or has something that a plan cannot do. Its
 * instructions can still be run one by one. */
BSM_NODISCARD bsm_status bsm_planner_plan(bsm_planner *planner,
                                          const bsm_instruction *region,
                                          const bsm_ivalue *inputs,
                                          const bsm_plan *like,
                                          bsm_arena *arena,
                                          bsm_region_plan *out);

/* Forms regions in the top block of a program that is being compiled. `inputs`
 * are tensors without data of the best dims; what can be planned for these goes
 * into regions. Instructions in `alone` stay outside (by their first output
 * register; may be NULL), and there are no regions of fewer than `least` calls.
 * Changes the program; new memory comes from `arena`. */
BSM_NODISCARD bsm_status bsm_planner_form_regions(
    bsm_planner *planner, const bsm_ivalue *inputs, const bool *alone,
    size_t least, bsm_program *program, bsm_arena *arena);

/* Called for a region of the top block with the inputs of the region. */
typedef bsm_status bsm_visit_region(void *user, bsm_instruction *region,
                                    const bsm_ivalue *inputs);
/* Runs the top block on shapes and visits its regions; `inputs` as above.
 * Regions whose inputs depend on data are left out. Stops at the first failure
 * of `visit`. */
BSM_NODISCARD bsm_status bsm_planner_visit_regions(bsm_planner *planner,
                                                   const bsm_ivalue *inputs,
                                                   bsm_visit_region *visit,
                                                   void *user);

#endif /* BSM_PLANNER_PLANNER_H_ */
