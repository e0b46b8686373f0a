/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of images of few maps, whose windows a block has in shared
 * memory (kernels/few_maps.cu). */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_

#include "backend/cuda/steps/cuda_mma.h"

#define BSM_CUDA_FEW_MAPS_TACTIC "few maps"

/* Whether there is such a kernel for a problem of a convolution. */
bool bsm_cuda_has_few_maps(const bsm_cuda_mma_problem *problem);

/* The slots are the caller's, as those of bsm_cuda_launch_mma. `floats`: images
 * are, and are rounded. */
BSM_NODISCARD bsm_status bsm_cuda_launch_few_maps(
    bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem, bool floats);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_ */
