/* SPDX-License-Identifier: Apache-2.0 */
/* What is added to the plan of a program, or shared in it, once it is built. */
#ifndef BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_
#define BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_

#include "base/arena.h"
#include "engine/plan.h"

/* Adds a plan for one shape of the inputs to the program. */
BSM_NODISCARD bsm_status bsm_program_add_variant(bsm_plan *plan,
                                                 bsm_plan *variant,
                                                 bsm_arena *arena);
/* Equal weights of the segments are kept once. */
BSM_NODISCARD bsm_status bsm_program_share_weights(bsm_plan *plan,
                                                   bsm_arena *scratch);

#endif /* BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_ */
