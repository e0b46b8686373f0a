/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as products of a matrix that is written before. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_UNFOLD_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_UNFOLD_H_

#include "backend/cuda/steps/cuda_mma.h"

#define BSM_CUDA_UNFOLDED_TACTIC "unfolded"

/* Whether a convolution can be one: its windows are read element by element
 * else. `matrix`: the product. */
bool bsm_cuda_unfolds(const bsm_cuda_mma_problem *problem,
                      bsm_cuda_mma_problem *matrix);

/* In microseconds. */
double bsm_cuda_unfolded_cost(const bsm_cuda_mma_problem *problem, int sm);

/* Adds both launches; the slots of the second one, but for `a`, are the
 * caller's. */
BSM_NODISCARD bsm_status bsm_cuda_launch_unfolded(
    bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_UNFOLD_H_ */
