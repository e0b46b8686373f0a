/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as products in tiles. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_CONVOLUTION_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_CONVOLUTION_H_

#include "backend/cuda/steps/cuda_mma.h"

/* The problem of a checked convolution, or deconvolution, that `unit`
 * multiplies; false: its sizes are too large, or it has groups of few maps. A
 * convolution of bytes has the parameters of a convolution, and others behind
 * them. */
bool bsm_cuda_convolution_problem(const bsm_plan *plan,
                                  const bsm_plan_step *step,
                                  const bsm_cuda_unit *unit, bool transposed,
                                  bsm_cuda_mma_problem *out);

/* The steps of plan from `index` on that one kernel does: a cast of images of
 * floats to 16 bits, which are not written then, and a convolution of few maps,
 * the only one that reads them. 2, or 0: there are none. */
uint32_t bsm_cuda_cast_convolution_steps(const bsm_plan *plan, uint32_t index,
                                         int sm);
/* Adds the launch of both. */
BSM_NODISCARD bsm_status bsm_cuda_launch_cast_convolution(bsm_cuda_launches *l,
                                                          uint32_t index);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_CONVOLUTION_H_ */
