/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows (kernels/few_rows.cuh), which take as long as reading
 * the right operand: a tactic of products, and of convolutions that are some.
 */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_FEW_ROWS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_FEW_ROWS_H_

#include "backend/cuda/steps/cuda_mma.h"

/* Whether there is a kernel for a problem, which is the fastest then. */
bool bsm_cuda_has_few_rows(const bsm_cuda_mma_problem *problem);

/* The tactics of a problem, at most two, the one that should be faster first;
 * how many. */
size_t bsm_cuda_few_rows_tactics(const bsm_cuda_mma_problem *problem, int sm,
                                 const char **names);

/* What a tactic should take, in microseconds, of a problem that has it, on a
 * GPU of a compute capability; 0: it is none of these. */
double bsm_cuda_few_rows_cost(const bsm_cuda_mma_problem *problem, int sm,
                              const char *tactic);

/* Whether a launch is to have it: by the step's tactic, or without one. */
bool bsm_cuda_takes_few_rows(const bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *problem);

/* Adds its launch, or that of a product on tensor cores by the step's tactic;
 * for a range of sizes with the kernels that other sizes need. The slots of a,
 * b, y, bias and residual are the caller's. */
BSM_NODISCARD bsm_status bsm_cuda_launch_few_rows(
    bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem);
BSM_NODISCARD bsm_status bsm_cuda_launch_many_rows(
    bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_FEW_ROWS_H_ */
