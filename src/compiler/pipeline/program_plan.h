/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to the plan of a program after it was built. */
#ifndef BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_
#define BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_

#include "base/arena.h"
#include "builder/precision.h"
#include "engine/plan.h"

/* Adds a plan for one shape of the inputs to the program. */
BSM_NODISCARD bsm_status bsm_program_add_variant(bsm_plan *plan,
                                                 bsm_plan *variant,
                                                 bsm_arena *arena);
/* Notes what layers of plans for other shapes compute in; `policy` may be NULL.
 */
BSM_NODISCARD bsm_status bsm_program_set_precision(
    bsm_plan *plan, const bsm_precision_policy *policy, bsm_arena *arena);
/* Lets segments share equal weights. */
BSM_NODISCARD bsm_status bsm_program_share_weights(bsm_plan *plan,
                                                   bsm_arena *scratch);

#endif /* BSM_COMPILER_PIPELINE_PROGRAM_PLAN_H_ */
