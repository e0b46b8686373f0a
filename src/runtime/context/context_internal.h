/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of contexts share: context.c makes them, context_run.c runs
 * them, context_shapes.c finds the plan for a shape, also before a run. */
#ifndef BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_
#define BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_

#include "runtime/context/staging.h"
#include "runtime/plan/plan_runner.h"
#include "runtime/program/program_runner.h"
#include "runtime/program/run_result.h"
#include "runtime/shapes/shape_plans.h"
#include "runtime/shapes/whole_region.h"

struct bsm_context {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_execution execution;
  bsm_arena arena;
  bsm_plan_runner *runners;    /* one for each part of the plan */
  bsm_program_runner *program; /* NULL: the plan's own steps are run */
  bsm_shape_plans *shapes;     /* NULL: the program has no regions */
  bsm_whole_region whole;
  bsm_staged *inputs_staged, *outputs_staged; /* by binding */
  bsm_array *tight;      /* inputs of a program, when some are loose */
  bsm_staged *kept;      /* outputs of bsm_context_run_keep, by binding */
  bsm_array *outputs;    /* of the last bsm_context_run_keep */
  bool has_outputs;      /* false: there are none */
  bsm_run_result result; /* the structured result of that run, made when it was
                            asked for */
  bsm_arena result_arena;
  bsm_output_allocate output_allocate;
  void *output_user;
  bsm_array *shapes_set; /* of the inputs: bsm_context_set_input_shape */
};

/* The plan that runs inputs of some dims. */
typedef struct bsm_context_choice {
  bsm_plan_runner *runner; /* NULL: the program */
  /* For each input of the plan, the engine's input; NULL: the same order. */
  const uint32_t *params;
} bsm_context_choice;

/* Finds the plan for inputs of these dims, and makes it when there is none yet.
 * The arrays have been checked; only their dtypes and dims matter. */
BSM_NODISCARD bsm_status bsm_context_choose(bsm_context *context,
                                            const bsm_array *inputs,
                                            bsm_context_choice *out);

#endif /* BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_ */
