/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of channels-last images of two dimensions. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_DEPTHWISE_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_DEPTHWISE_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

/* Adds the names of the tactics that a step has, the one that should be fastest
 * first; 0: there is no kernel for it. */
size_t bsm_cuda_depthwise_tactics(const bsm_plan *plan,
                                  const bsm_plan_step *step,
                                  const char **names);

/* Adds the launch of a step that has tactics; slots are the caller's. */
BSM_NODISCARD bsm_status bsm_cuda_launch_depthwise(
    bsm_cuda_launches *l, const bsm_cuda_convolution *params);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_DEPTHWISE_H_ */
