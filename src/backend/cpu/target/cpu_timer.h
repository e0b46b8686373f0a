/* SPDX-License-Identifier: Apache-2.0 */
/* How long the tactics of a step take on this machine, as it will run: on the
 * plan's shapes and memory, its weights as cold as the rest of the network
 * leaves them. The functions of builder/target.h. */
#ifndef BSM_BACKEND_CPU_TIMER_H_
#define BSM_BACKEND_CPU_TIMER_H_

#include "builder/target.h"

/* Where a step finds its weights, all of the network having run since it last
 * read them: the conditions of a timer. */
typedef enum bsm_weights_place {
  BSM_WEIGHTS_IN_L2 = 0,
  BSM_WEIGHTS_IN_L3 = 1,
  BSM_WEIGHTS_IN_MEMORY = 2
} bsm_weights_place;

/* The place in a network that has so many bytes of weights, on this machine. */
bsm_weights_place bsm_weights_place_of(uint64_t weights, uint64_t workspace);

BSM_NODISCARD bsm_status bsm_cpu_timer_open(const bsm_target *target,
                                            const bsm_plan_draft *draft,
                                            bsm_tactic_timer **out);
void bsm_cpu_timer_close(bsm_tactic_timer *timer); /* NULL is allowed */
int32_t bsm_cpu_timer_conditions(const bsm_tactic_timer *timer);
/* Tactics take turns; those that are clearly slower than another run less
 * often. */
BSM_NODISCARD bsm_status bsm_cpu_timer_run(bsm_tactic_timer *timer,
                                           bsm_plan_step *step,
                                           const bsm_pending_pack *pending,
                                           const char *const *tactics,
                                           size_t count, double *seconds);

#endif /* BSM_BACKEND_CPU_TIMER_H_ */
