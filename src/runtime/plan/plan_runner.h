/* SPDX-License-Identifier: Apache-2.0 */
/* One plan made ready to run: its steps prepared, its addresses in tables. A
 * context has one for its engine's plan, or one for each segment of its
 * program. */
#ifndef BSM_RUNTIME_PLAN_PLAN_RUNNER_H_
#define BSM_RUNTIME_PLAN_PLAN_RUNNER_H_

#include "bessemer/engine.h"
#include "runtime/plan/execution.h"

typedef struct bsm_step_times bsm_step_times;
typedef struct bsm_recordings bsm_recordings;
typedef struct bsm_branches bsm_branches;

typedef struct bsm_plan_runner {
  bsm_execution *execution;
  const bsm_plan *plan;
  bsm_prepared_step *steps;
  bsm_step_times *times;      /* NULL unless profiling */
  bsm_recordings *recordings; /* NULL: steps are enqueued one by one */
  bsm_branches *branches;     /* NULL: there are none */
  bool is_recording;          /* what is enqueued */
  /* The caller sets these addresses before each run, in the spaces of the
   * tensors. */
  void **inputs, **outputs;
  bsm_run *runs;  /* by space */
  uint8_t *meets; /* by step; NULL: nothing is on a device */
  uint64_t
      flight; /* the execution's count of waits when it was last enqueued */
  void **uploaded; /* weights that are this plan's alone */
  uint32_t uploaded_count;
} bsm_plan_runner;

/* Prepares the steps in `arena`, and adds their memory to *need. The runner has
 * to be destroyed in any case. */
BSM_NODISCARD bsm_status bsm_plan_runner_init(const bsm_plan *plan,
                                              bsm_execution *execution,
                                              bsm_arena *arena,
                                              bsm_memory_need *need,
                                              bsm_plan_runner *out);
/* Releases what is not in the arena. The execution has been waited for. */
void bsm_plan_runner_destroy(bsm_plan_runner *runner);

/* Whether the plan is enqueued and may still be running. Its steps are in use
 * until the execution was waited for. */
bool bsm_plan_runner_is_in_flight(const bsm_plan_runner *runner);

/* Enqueues all steps in the workspaces of the execution, behind what is in
 * flight, of this runner too. After a failure nothing is in flight. */
BSM_NODISCARD bsm_status bsm_plan_runner_enqueue(bsm_plan_runner *runner);
/* Runs all steps and waits for them. */
BSM_NODISCARD bsm_status bsm_plan_runner_run(bsm_plan_runner *runner);
/* What the profile knows of a step. */
void bsm_plan_runner_profile(const bsm_plan_runner *runner, uint32_t step,
                             bsm_step_profile *out);

#endif /* BSM_RUNTIME_PLAN_PLAN_RUNNER_H_ */
