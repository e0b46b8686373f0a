/* SPDX-License-Identifier: Apache-2.0 */
/* Running steps of a plan that is being built, on this machine: to time them,
 * and to see how exact they are. */
#ifndef BSM_BACKEND_CPU_DRY_RUN_H_
#define BSM_BACKEND_CPU_DRY_RUN_H_

#include "backend/cpu/target/cpu_target.h"
#include "backend/device.h"

typedef struct bsm_cpu_dry_run {
  const bsm_cpu_target *target;
  uint32_t isa;
  int threads;
  bsm_plan *plan;
  bsm_arena arena;
  bsm_thread_pool *pool;
  const bsm_device_ops *ops; /* of the device that runs steps */
  bsm_device *device;
  bsm_stream *stream;
  bsm_run run; /* memory of the plan, zeroed, and behind it ... */
  uint64_t
      tail; /* ... room for any one output of a step, from this offset on */
  size_t scratch_size;
  void *stand_in; /* weights of no meaning */
  uint64_t stand_in_size;
  uint64_t random;
} bsm_cpu_dry_run;

/* Makes the memory; close it in any case. `isa`, `threads`: to run with, which
 * this machine has. */
BSM_NODISCARD bsm_status bsm_cpu_dry_run_open(const bsm_cpu_target *target,
                                              uint32_t isa, int threads,
                                              bsm_plan *plan,
                                              bsm_cpu_dry_run *out);
void bsm_cpu_dry_run_close(bsm_cpu_dry_run *run);

/* Prepares a step, which need not be in the plan; it can be run until the run
 * is closed. */
BSM_NODISCARD bsm_status bsm_cpu_dry_run_prepare(bsm_cpu_dry_run *run,
                                                 const bsm_plan_step *step,
                                                 bsm_prepared_step *out);
/* The same until `arena` is rewound. */
BSM_NODISCARD bsm_status bsm_cpu_dry_run_prepare_in(bsm_cpu_dry_run *run,
                                                    bsm_arena *arena,
                                                    const bsm_plan_step *step,
                                                    bsm_prepared_step *out);

/* Gives a step weights[0] of the size that it asks for and of any values, until
 * the next call. */
BSM_NODISCARD bsm_status bsm_cpu_dry_run_stand_in(bsm_cpu_dry_run *run,
                                                  const bsm_packing *packing,
                                                  bsm_plan_step *step);

/* Whether all steps of a plan can be run so. */
bool bsm_cpu_can_dry_run(const bsm_plan *plan);

/* Made-up numbers, the same in each run: uniform in [0, 1), and a tensor of
 * floats full of nearly normal ones of mean 0 and variance 1; other tensors
 * stay as they are. */
double bsm_cpu_dry_run_uniform(bsm_cpu_dry_run *run);
BSM_NODISCARD bsm_status bsm_cpu_dry_run_fill(bsm_cpu_dry_run *run,
                                              uint32_t tensor);

#endif /* BSM_BACKEND_CPU_DRY_RUN_H_ */
