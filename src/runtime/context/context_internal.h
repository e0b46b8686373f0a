/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of contexts share: context.c makes them, context_run.c runs
 * them, context_shapes.c looks ahead. */
#ifndef BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_
#define BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_

#include "runtime/plan/plan_runner.h"
#include "runtime/program/program_runner.h"
#include "runtime/program/run_result.h"
#include "runtime/shapes/shape_plans.h"
#include "runtime/shapes/whole_region.h"

/* Memory of the context for an output; grows. */
typedef struct bsm_kept_output {
  void *data;
  size_t size;
} bsm_kept_output;

struct bsm_context {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_thread_pool *pool;
  bsm_thread_pool *own_pool; /* to destroy; NULL when the caller's is used */
  bsm_stream *stream;
  bsm_arena arena;
  bsm_arena step_arena; /* of what an op allocates, emptied after each step */
  bsm_plan_runner *runners;    /* one for each part of the plan */
  bsm_program_runner *program; /* NULL: the plan's own steps are run */
  bsm_shape_plans *shapes;     /* NULL: the program has no regions */
  bsm_whole_region whole;
  bsm_kept_output *kept; /* of bsm_context_run_keep, by output */
  bsm_array *outputs;    /* of the last bsm_context_run_keep */
  bool has_outputs;      /* false: there are none */
  bsm_run_result result; /* of that run, around them; as far as it was needed */
  bsm_arena result_arena;
  bsm_output_allocate output_allocate;
  void *output_user;
  bsm_workspace workspace;
  bsm_array *shapes_set; /* of the inputs: bsm_context_set_input_shape */
};

/* The runner of the plan for inputs of these dims, made when there is none yet;
 * *runner is NULL when the program has to be run. The arrays fit the bindings
 * and are in range; runner->inputs become their data. */
BSM_NODISCARD bsm_status bsm_context_find_runner(bsm_context *context,
                                                 const bsm_array *inputs,
                                                 bsm_plan_runner **runner);

#endif /* BSM_RUNTIME_CONTEXT_CONTEXT_INTERNAL_H_ */
