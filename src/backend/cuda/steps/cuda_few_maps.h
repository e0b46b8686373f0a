/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of images of few maps, whose windows a block has in shared
 * memory (kernels/few_maps.cu). */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_

#include "backend/cuda/steps/cuda_mma.h"

#define BSM_CUDA_FEW_MAPS_TACTIC "few maps"

/* Whether there is such a kernel for a problem of a convolution. */
bool bsm_cuda_has_few_maps(const bsm_cuda_mma_problem *problem);

/* Of each 2 by 2 pixels of what a convolution makes, one number is stored. */
#define BSM_CUDA_POOL_LARGEST 1
#define BSM_CUDA_POOL_MEAN 2

/* Whether there is room for it. */
bool bsm_cuda_few_maps_can_pool(const bsm_cuda_mma_problem *problem);

/* What its kernel does besides; zero: nothing. */
typedef struct bsm_cuda_few_maps_joined {
  bool floats; /* images are, and are rounded */
  int pool;    /* what is stored has other strides then: y_batch[0] of images,
                * y_batch[1] of maps, y_line and y_row */
} bsm_cuda_few_maps_joined;

/* The slots are the caller's, as those of bsm_cuda_launch_mma. */
BSM_NODISCARD bsm_status bsm_cuda_launch_few_maps(
    bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem,
    const bsm_cuda_few_maps_joined *joined);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_FEW_MAPS_H_ */
