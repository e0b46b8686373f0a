/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that look at some elements together: reductions, softmax,
 * normalisation. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_NESTED_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_NESTED_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

/* Dimensions that the operands share, each with strides of its own. */
typedef struct bsm_cuda_nest {
  int rank, operands;
  uint32_t inner; /* bits: which dimensions are inside */
  int64_t dims[BSM_MAX_RANK + 1];
  int64_t strides[BSM_CUDA_NESTED_OPERANDS][BSM_MAX_RANK + 1];
} bsm_cuda_nest;

/* Merges the dimensions to loops, 1 at least of each, and chooses the group:
 * the threads for each outer element, 1, 32 or 256. */
BSM_NODISCARD bsm_status bsm_cuda_nest_make(const bsm_cuda_nest *nest,
                                            bsm_cuda_nested *out);
/* How threads share rows that they can hold. */
typedef struct bsm_cuda_rows {
  int group; /* threads of a row: at most 32, or those of a block */
  int block;
  int held;  /* elements of a thread */
  int piece; /* of these, how many are loaded at once */
} bsm_cuda_rows;

/* Those for ranges of sizes, that of the shortest rows first. */
#define BSM_CUDA_RANGE_ROWS 3
extern const bsm_cuda_rows bsm_cuda_range_rows[BSM_CUDA_RANGE_ROWS];

/* Whether the kernel may be chosen for sizes or a range of them, and the inner
 * elements are one loop that is so short that threads can hold all of them.
 * `piece`: how many may be loaded at once. */
bool bsm_cuda_nest_hold(const bsm_cuda_launches *l, const bsm_cuda_nested *n,
                        int piece, bsm_cuda_rows *out);
void bsm_cuda_rows_set_grid(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                            const bsm_cuda_rows *rows);
/* About the launch that was added last, whose parameters these are. */
void bsm_cuda_nest_set_grid(bsm_cuda_launches *l, const bsm_cuda_nested *n);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_NESTED_H_ */
