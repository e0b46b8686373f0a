/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, as a part of other steps. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_COPIES_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_COPIES_H_

#include "backend/cuda/steps/cuda_steps.h"

/* Adds a launch that copies one tensor of the plan to another of its dims,
 * converting the dtype. */
BSM_NODISCARD bsm_status bsm_cuda_launch_copy(bsm_cuda_launches *l,
                                              uint32_t from, uint32_t to);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_COPIES_H_ */
