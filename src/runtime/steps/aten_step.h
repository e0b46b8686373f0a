/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that call an op of the reference library.
 *
 * The arguments are read from their bytes once, when a context is made: lists,
 * numbers and strings as they are, tensors as views of the step's inputs. A run
 * sets the addresses, calls the op, checks that the results are what the plan
 * says, and copies them. What the op allocates lies in an arena that the
 * context empties after each step. */
#ifndef BSM_RUNTIME_STEPS_ATEN_STEP_H_
#define BSM_RUNTIME_STEPS_ATEN_STEP_H_

#include "aten/op.h"
#include "backend/device.h"

typedef struct bsm_aten_step bsm_aten_step;

/* Checks a step of a verified plan, which may be hostile: the op exists and
 * computes results from arguments alone; the arguments have the types of its
 * schema; the outputs are as many as `results` says, and no output lies where
 * an input does. `scratch`: for the check only. */
BSM_NODISCARD bsm_status bsm_aten_step_check(const bsm_aten_library *library,
                                             const bsm_plan *plan,
                                             const bsm_plan_step *step,
                                             bsm_arena *scratch);

/* Reads the arguments of a checked step into `arena`. */
BSM_NODISCARD bsm_status bsm_aten_step_prepare(const bsm_aten_library *library,
                                               const bsm_plan *plan,
                                               const bsm_plan_step *step,
                                               bsm_arena *arena,
                                               bsm_aten_step **out);

/* Runs the step; `scratch` is used up and left for the caller to empty.
 * BSM_DATA_DEPENDENT: a result has another dtype or other dims than the plan.
 */
BSM_NODISCARD bsm_status bsm_aten_step_run(bsm_aten_step *step,
                                           const bsm_run *run,
                                           bsm_arena *scratch,
                                           const bsm_logger *logger);

#endif /* BSM_RUNTIME_STEPS_ATEN_STEP_H_ */
