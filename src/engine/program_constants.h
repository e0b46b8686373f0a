/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a program as values: tensors over the plan's weights. */
#ifndef BSM_ENGINE_PROGRAM_CONSTANTS_H_
#define BSM_ENGINE_PROGRAM_CONSTANTS_H_

#include "aten/ivalue.h"
#include "engine/plan.h"

typedef struct bsm_program_constants {
  bsm_ivalue *values;  /* one for each of constant_registers */
  bsm_tensor *tensors; /* one for each of constant_tensors, read-only */
} bsm_program_constants;

/* Reads the constants of plan->program, which has been verified. They live in
 * `arena` and refer to the plan's weights. BSM_CORRUPT: the bytes are not
 * values. */
BSM_NODISCARD bsm_status bsm_program_read_constants(const bsm_plan *plan,
                                                    bsm_arena *arena,
                                                    bsm_program_constants *out);

#endif /* BSM_ENGINE_PROGRAM_CONSTANTS_H_ */
