/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the kinds of steps that GPUs have. */
#include "backend/cuda/steps/cuda_steps.h"

const bsm_cuda_step_kind *bsm_cuda_step_kind_of(bsm_step_kind kind) {
  switch (kind) {
#define X(name)         \
  case BSM_STEP_##name: \
    return &bsm_cuda_##name;
    BSM_CUDA_STEP_KINDS(X)
#undef X
    default:
      return NULL;
  }
}

bsm_status bsm_cuda_check_dtypes(const bsm_plan *plan,
                                 const bsm_plan_step *step) {
  for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
    const uint32_t id = i < step->input_count
                            ? step->inputs[i]
                            : step->outputs[i - step->input_count];
    const bsm_dtype dtype = plan->tensors[id].dtype;
    if (!bsm_cuda_type(dtype)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "GPUs have no kernels for %s",
                      bsm_dtype_name(dtype));
    }
  }
  return BSM_OK;
}
