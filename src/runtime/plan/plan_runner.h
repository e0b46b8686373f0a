/* SPDX-License-Identifier: Apache-2.0 */
/* One plan made ready to run: its steps prepared, its addresses in tables. A
 * context has one for its engine's plan, or one for each segment of its
 * program. */
#ifndef BSM_RUNTIME_PLAN_PLAN_RUNNER_H_
#define BSM_RUNTIME_PLAN_PLAN_RUNNER_H_

#include "runtime/engine/engine.h"
#include "runtime/plan/workspace.h"

typedef struct bsm_step_times {
  double seconds, least;
  uint64_t runs;
} bsm_step_times;

typedef struct bsm_plan_runner {
  const bsm_engine *engine;
  const bsm_plan *plan;
  bsm_thread_pool *pool; /* for plug-ins */
  const bsm_logger *logger;
  bsm_arena *step_arena; /* of what an op allocates, emptied after each step */
  const bsm_workspace *workspace;
  bsm_prepared_step *steps;
  bsm_step_times *times;    /* NULL unless profiling */
  void **inputs, **outputs; /* the caller sets them before each run */
  bsm_run run;
} bsm_plan_runner;

typedef struct bsm_runner_options {
  bsm_stream *stream;
  uint32_t isa;
  bsm_thread_pool *pool; /* of the stream, and for plug-ins */
  bool profile;
  const bsm_logger *logger;
  bsm_arena *step_arena;
  bsm_workspace *workspace;  /* large enough before a plan is run */
  size_t max_run_bytes;      /* of programs; 0: the default */
  uint64_t max_instructions; /* of programs; 0: the default */
} bsm_runner_options;

/* Prepares the steps in `arena`; *scratch is the most that one of them needs.
 */
BSM_NODISCARD bsm_status bsm_plan_runner_init(const bsm_engine *engine,
                                              const bsm_plan *plan,
                                              const bsm_runner_options *options,
                                              bsm_arena *arena, size_t *scratch,
                                              bsm_plan_runner *out);
/* Runs all steps, in the workspace of the options. */
BSM_NODISCARD bsm_status bsm_plan_runner_run(bsm_plan_runner *runner);
/* What the profile knows of a step. */
void bsm_plan_runner_profile(const bsm_plan_runner *runner, uint32_t step,
                             bsm_step_profile *out);

#endif /* BSM_RUNTIME_PLAN_PLAN_RUNNER_H_ */
