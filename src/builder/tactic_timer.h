/* SPDX-License-Identifier: Apache-2.0 */
/* How long the tactics of a step take, as it will run: on the plan's shapes and
 * memory, its weights as cold as the rest of the network leaves them. */
#ifndef BSM_BUILDER_TACTIC_TIMER_H_
#define BSM_BUILDER_TACTIC_TIMER_H_

#include "builder/trial_run.h"

/* Where a step finds its weights, all of the network having run since it last
 * read them. */
typedef enum bsm_weights_place {
  BSM_WEIGHTS_IN_L2 = 0,
  BSM_WEIGHTS_IN_L3 = 1,
  BSM_WEIGHTS_IN_MEMORY = 2
} bsm_weights_place;

typedef struct bsm_tactic_timer {
  bsm_trial *trial;
  bsm_weights_place place;
  uint8_t *sweep; /* read to push other data out of L2 */
  size_t sweep_size;
  bsm_arena arena; /* of prepared steps */
} bsm_tactic_timer;

/* The place in a network that has so many bytes of weights. */
bsm_weights_place bsm_weights_place_of(uint64_t weights, uint64_t workspace);

/* `trial` is open, and its plan's steps have tactics of plain weights; close
 * the timer before it, in any case. */
BSM_NODISCARD bsm_status bsm_tactic_timer_open(bsm_trial *trial,
                                               const bsm_pending_pack *pending,
                                               size_t pending_count,
                                               bsm_tactic_timer *out);
void bsm_tactic_timer_close(bsm_tactic_timer *timer);

/* The shortest of some runs of each tactic, interleaved; those that are clearly
 * slower than another run less often. `pending`: of weights that are not packed
 * yet, or NULL; values of no meaning stand in for them. The step keeps the last
 * tactic. A step that fails, which only its data can cause, takes 0 seconds. */
BSM_NODISCARD bsm_status bsm_tactic_timer_run(bsm_tactic_timer *timer,
                                              bsm_plan_step *step,
                                              const bsm_pending_pack *pending,
                                              const char *const *tactics,
                                              size_t count, double *seconds);

#endif /* BSM_BUILDER_TACTIC_TIMER_H_ */
