/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on the tensor cores of Hopper GPUs, whose operands the GPU copies
 * in tiles (kernels/wgmma_attention.cu). */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_ATTENTION_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_ATTENTION_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

/* Whether biases and masks are the same for all queries. */
bool bsm_cuda_attention_is_flat(const bsm_cuda_attention *a);

/* Adds the names of the tactics of a problem, the one that should be fastest
 * first; 0: there is none. `chunks`: the rows of Q, K and V can be read 16
 * bytes at a time. */
size_t bsm_cuda_wgmma_attention_tactics(const bsm_cuda_attention *a,
                                        bsm_dtype dtype, bool chunks, int sm,
                                        const char **names);

/* Adds the launch of a problem that has tactics with one of them; NULL: with
 * the first. Slots are the caller's. */
BSM_NODISCARD bsm_status bsm_cuda_launch_wgmma_attention(
    bsm_cuda_launches *l, const bsm_cuda_attention *a, const char *tactic);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_WGMMA_ATTENTION_H_ */
