/* SPDX-License-Identifier: Apache-2.0 */
/* How much a step computes and moves: what profiles divide by its time, and
 * what cost estimates start from. */
#ifndef BSM_ENGINE_PLAN_WORK_H_
#define BSM_ENGINE_PLAN_WORK_H_

#include "engine/plan.h"

/* `flops`: a multiply-add counts twice, another operation on an element once, a
 * function such as exp once; of convolutions and products the sums alone, as
 * their definition has them, whatever the tactic makes of it. `bytes`: each
 * tensor and weight once, repeated elements (stride 0) not; of a table that is
 * looked up no more than what is taken from it. Doubles: nothing overflows. */
typedef struct bsm_work {
  double flops, bytes;
} bsm_work;

bsm_work bsm_step_work(const bsm_plan *plan, const bsm_plan_step *step);

#endif /* BSM_ENGINE_PLAN_WORK_H_ */
