/* SPDX-License-Identifier: Apache-2.0 */
/* First convolutions of networks, with what is ahead of and behind them, as one
 * kernel. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_FIRST_LAYERS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_FIRST_LAYERS_H_

#include "backend/cuda/steps/cuda_steps.h"

/* The steps of plan from `index` on that one kernel does: a cast of images of
 * floats to 16 bits, a convolution of few maps, a pooling of 2 by 2 pixels, and
 * a copy of that to another layout, where nobody else reads what each makes.
 * The cast, the copy, or the pooling with the copy, may be missing. What lies
 * between is not written. 0: there are none. */
uint32_t bsm_cuda_first_layers_steps(const bsm_plan *plan, uint32_t index,
                                     int sm);
/* Adds the launch of all. */
BSM_NODISCARD bsm_status bsm_cuda_launch_first_layers(bsm_cuda_launches *l,
                                                      uint32_t index);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_FIRST_LAYERS_H_ */
