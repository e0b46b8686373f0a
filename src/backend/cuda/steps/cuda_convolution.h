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

/* The same of a step in a precision; false: also where its kernels have no such
 * numbers. */
bool bsm_cuda_convolution_problem_of(const bsm_plan *plan,
                                     const bsm_plan_step *step, int sm,
                                     bool transposed,
                                     bsm_cuda_mma_problem *out);
/* The slots of a launch of one, but that of the images; `y`: the tensor that is
 * written. */
BSM_NODISCARD bsm_status bsm_cuda_add_convolution_slots(
    bsm_cuda_launches *l, const bsm_plan_step *step, uint32_t y);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_CONVOLUTION_H_ */
