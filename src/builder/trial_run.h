/* SPDX-License-Identifier: Apache-2.0 */
/* Running steps of a plan that is being built: to time them, and to see how
 * exact they are. */
#ifndef BSM_BUILDER_TRIAL_RUN_H_
#define BSM_BUILDER_TRIAL_RUN_H_

#include "builder/emitter.h"

typedef struct bsm_trial {
  const bsm_build_options *options;
  const bsm_backend *backend;
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
} bsm_trial;

/* Makes the memory; close it in any case. */
BSM_NODISCARD bsm_status bsm_trial_open(const bsm_build_options *options,
                                        bsm_plan *plan, bsm_trial *out);
void bsm_trial_close(bsm_trial *trial);

/* Prepares a step, which need not be in the plan; it can be run until the trial
 * is closed. */
BSM_NODISCARD bsm_status bsm_trial_prepare(bsm_trial *trial,
                                           const bsm_plan_step *step,
                                           bsm_prepared_step *out);
/* The same until `arena` is rewound. */
BSM_NODISCARD bsm_status bsm_trial_prepare_in(bsm_trial *trial,
                                              bsm_arena *arena,
                                              const bsm_plan_step *step,
                                              bsm_prepared_step *out);

/* Gives a step weights[0] of the size that it asks for and of any values, until
 * the next call. */
BSM_NODISCARD bsm_status bsm_trial_stand_in(bsm_trial *trial,
                                            const bsm_packing *packing,
                                            bsm_plan_step *step);

#endif /* BSM_BUILDER_TRIAL_RUN_H_ */
