/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs as kernels/interpreter.cu reads them. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_INTERPRETER_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_INTERPRETER_H_

#include "backend/cuda/steps/cuda_steps.h"

typedef struct bsm_cuda_listing {
  const bsm_dtype *dtypes; /* of the output and the inputs */
  uint32_t inputs;
  const bsm_step_ew_instruction *program;
  int32_t count, result;
} bsm_cuda_listing;

/* Adds a launch of the interpreter over `elements`; its slots are the caller's.
 */
BSM_NODISCARD bsm_status bsm_cuda_launch_interpreter(
    bsm_cuda_launches *l, const bsm_cuda_elements *elements,
    const bsm_cuda_listing *listing);

/* Whether an instruction makes a truth value of its operands. */
bool bsm_cuda_is_test(const bsm_step_ew_instruction *i);
/* What operands of both are compared in. */
bsm_cuda_held bsm_cuda_widest(bsm_cuda_held a, bsm_cuda_held b);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_INTERPRETER_H_ */
