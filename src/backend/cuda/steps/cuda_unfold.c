/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of few maps whose windows become the rows of a matrix first. */
#include "backend/cuda/steps/cuda_unfold.h"

#include <stddef.h>

#define THREADS 256
#define MAX_BLOCKS 65536
#define CHUNK 8
/* Of the matrix. */
#define MAX_BYTES ((int64_t)256 << 20)
/* A launch, and the bytes that are written in a microsecond. */
#define LAUNCH 1.6
#define WRITTEN 1.0e6

static int64_t bytes_of(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  const int64_t rows = (int64_t)p->batch_sizes[0] * p->m;
  return rows > MAX_BYTES / p->k ? INT64_MAX : rows * p->k * 2;
}

bool bsm_cuda_unfolds(const bsm_cuda_mma_problem *problem,
                      bsm_cuda_mma_problem *matrix) {
  const bsm_cuda_mma *p = &problem->params;
  if (bsm_dtype_size(problem->dtype) != 2 || problem->transposed ||
      !problem->image || problem->a != BSM_CUDA_MMA_ELEMENTS ||
      (problem->batches > 1 && !problem->images_apart) || p->k % CHUNK != 0 ||
      bytes_of(problem) > MAX_BYTES) {
    return false;
  }
  *matrix = *problem;
  matrix->image = 0;
  matrix->a = matrix->aligned_a = BSM_CUDA_MMA_ALONG_K;
  matrix->b = matrix->aligned_b = BSM_CUDA_MMA_ALONG_K;
  matrix->params.a_row = p->k;
  matrix->params.a_column = 1;
  matrix->params.a_batch[0] = (int64_t)p->m * p->k;
  return true;
}

double bsm_cuda_unfolded_cost(const bsm_cuda_mma_problem *problem, int sm) {
  bsm_cuda_mma_problem matrix;
  if (!bsm_cuda_unfolds(problem, &matrix)) return 0;
  return LAUNCH + (double)bytes_of(problem) / WRITTEN +
         bsm_cuda_mma_cost(&matrix, sm, "");
}

bsm_status bsm_cuda_launch_unfolded(bsm_cuda_launches *l,
                                    const bsm_cuda_mma_problem *problem) {
  bsm_cuda_mma_problem matrix;
  uint64_t place;
  if (!bsm_cuda_unfolds(problem, &matrix)) {
    return BSM_FAIL(BSM_INTERNAL, "a convolution that does not unfold");
  }
  const int64_t bytes = bytes_of(problem);
  BSM_TRY(bsm_cuda_add_scratch(l, (uint64_t)bytes, &place));
  BSM_TRY(bsm_cuda_add_launch(l, "unfold", "unfold", &problem->params,
                              sizeof(problem->params), "-DK_T=%s -DK_IMAGE=%d",
                              bsm_cuda_type(problem->dtype), problem->image));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)bytes / 16, THREADS, MAX_BLOCKS), 1, 1);
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_mma, a),
                            l->step->inputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH, offsetof(bsm_cuda_mma, y),
                            place));
  BSM_TRY(bsm_cuda_launch_mma(l, &matrix, ""));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH, offsetof(bsm_cuda_mma, a),
                           place);
}
