/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions on the tensor cores of sm_90, whose operands the
 * GPU copies tile by tile (kernels/wgmma_gemm.cu): tactics beside those of
 * cuda_mma.h, for the same problems. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_H_

#include "backend/cuda/steps/cuda_mma.h"

#define BSM_CUDA_MAX_WGMMA 16
#define BSM_CUDA_MAX_WGMMA_WAYS 40

/* A tile, and how blocks share the work. */
typedef struct bsm_cuda_wgmma_choice {
  const char *tactic; /* "wgmma 128x256x64" */
  int tile;           /* which it is here */
  int32_t blocks;
  int32_t shared_tiles; /* whose k is shared by all blocks */
  double cost;          /* in microseconds */
} bsm_cuda_wgmma_choice;

/* All ways to share the work of a problem in one tile; 0 where it has none, as
 * for a tile that there is not. */
size_t bsm_cuda_wgmma_ways(const bsm_cuda_mma_problem *problem, int sm,
                           int tile,
                           bsm_cuda_wgmma_choice out[BSM_CUDA_MAX_WGMMA_WAYS]);

/* Those that take a problem on a GPU of that compute capability, by cost: each
 * tile once. */
size_t bsm_cuda_wgmma_choices(const bsm_cuda_mma_problem *problem, int sm,
                              bsm_cuda_wgmma_choice out[BSM_CUDA_MAX_WGMMA]);

BSM_NODISCARD bsm_status
bsm_cuda_launch_wgmma(bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem,
                      const bsm_cuda_wgmma_choice *choice);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_H_ */
