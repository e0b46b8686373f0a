/* SPDX-License-Identifier: Apache-2.0 */
/* How much a step computes and moves. Profiles divide it by the step's time,
 * and cost estimates start from it. */
#ifndef BSM_ENGINE_PLAN_WORK_H_
#define BSM_ENGINE_PLAN_WORK_H_

#include "engine/plan.h"

/* `flops`: a multiply-add counts twice; any other operation on an element, also
 * a function such as exp, counts once. For convolutions and products only the
 * sums of their definition count, whatever the tactic computes. `bytes`: each
 * tensor and weight counts once, without repeated elements (stride 0). Of a
 * table that is looked up, only what is read counts. These are doubles, so
 * nothing overflows. */
typedef struct bsm_work {
  double flops, bytes;
} bsm_work;

bsm_work bsm_step_work(const bsm_plan *plan, const bsm_plan_step *step);

#endif /* BSM_ENGINE_PLAN_WORK_H_ */
