/* SPDX-License-Identifier: Apache-2.0 */
/* Timing the tactics of steps on this machine's GPU: the functions of
 * bsm_target_ops. */
#ifndef BSM_BACKEND_CUDA_TARGET_CUDA_TIMER_H_
#define BSM_BACKEND_CUDA_TARGET_CUDA_TIMER_H_

#include "backend/cuda/target/cuda_target.h"

/* The GPU alone: what it takes does not depend on the CPU beside it. */
void bsm_cuda_machine_key(const bsm_target *target, bsm_text *text);

bsm_status bsm_cuda_timer_open(const bsm_target *target,
                               const bsm_plan_draft *draft,
                               bsm_tactic_timer **out);
void bsm_cuda_timer_close(bsm_tactic_timer *timer);
int32_t bsm_cuda_timer_conditions(const bsm_tactic_timer *timer);
bsm_status bsm_cuda_timer_run(bsm_tactic_timer *timer, bsm_plan_step *step,
                              const bsm_pending_pack *pending,
                              const char *const *tactics, size_t count,
                              double *seconds);

#endif /* BSM_BACKEND_CUDA_TARGET_CUDA_TIMER_H_ */
