/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one step, made for one call: the way in which a program's calls
 * reach the backend's kernels (see fast_call.h). */
#ifndef BSM_RUNTIME_PROGRAM_ONE_STEP_H_
#define BSM_RUNTIME_PROGRAM_ONE_STEP_H_

#include "runtime/program/fast_call.h"

/* Fill `params`, add inputs in the order of the step and then the output, and
 * run it. Tensors are borrowed. */
typedef struct bsm_one_step {
  bsm_fast_calls *calls;
  bsm_arena *arena;
  bsm_plan plan;
  bsm_plan_step step;
  bsm_step_params params;
  bsm_plan_tensor tensors[4];
  bsm_plan_binding inputs[3], outputs[1];
  bsm_plan_weights weights[BSM_STEP_MAX_WEIGHTS];
  uint32_t ids[3], out_id;
  void *in_data[3], *out_data[1];
} bsm_one_step;

/* NULL: no memory. */
bsm_one_step *bsm_one_step_new(bsm_fast_calls *calls, bsm_arena *arena,
                               bsm_step_kind kind);
void bsm_one_step_input(bsm_one_step *s, const bsm_tensor *t);
void bsm_one_step_output(bsm_one_step *s, const bsm_tensor *t);
/* The packed kernel (slot 0) or the bias (slot 1). */
void bsm_one_step_weights(bsm_one_step *s, int slot, const void *data,
                          uint64_t size);
/* Checks, prepares and runs it. *done is false when the kernels do not take
 * it. */
BSM_NODISCARD bsm_status bsm_one_step_run(bsm_one_step *s, bool *done);

#endif /* BSM_RUNTIME_PROGRAM_ONE_STEP_H_ */
