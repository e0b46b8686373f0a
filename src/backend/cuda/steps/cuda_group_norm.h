/* SPDX-License-Identifier: Apache-2.0 */
/* Group and instance norm of images whose maps lie together, with an activation
 * behind it (kernels/group_normalization.cu). */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_GROUP_NORM_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_GROUP_NORM_H_

#include "backend/cuda/steps/cuda_steps.h"

/* Whether the kernel takes the step of the launches, which are for sizes. */
bool bsm_cuda_takes_group_norm(const bsm_cuda_launches *l);
BSM_NODISCARD bsm_status bsm_cuda_launch_group_norm(bsm_cuda_launches *l);

/* How many steps from `index` on are such a norm and an activation of it, which
 * one kernel does: 2, or 0. */
uint32_t bsm_cuda_activated_norm_steps(const bsm_plan *plan, uint32_t index,
                                       int sm);
/* Adds what does these steps. */
BSM_NODISCARD bsm_status bsm_cuda_launch_activated_norm(bsm_cuda_launches *l,
                                                        uint32_t index);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_GROUP_NORM_H_ */
