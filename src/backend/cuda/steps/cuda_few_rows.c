/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows: which kernel, and its launches. */
#include "backend/cuda/steps/cuda_few_rows.h"

#include <string.h>

#define THREADS 256
#define MOST_ROWS 4 /* with 8, tensor cores are faster */
/* Columns of a block, where these lie together: 32 bytes of a row of B. */
#define BYTES 32
#define MOST_PIECE_BYTES 16

/* Whether all but the number of rows is as the kernels take it. */
static bool has_columns(const bsm_cuda_mma_problem *p) {
  const bool along_n = p->params.b_column == 1, along_k = p->params.b_row == 1;
  return bsm_dtype_size(p->dtype) == 2 && p->batches == 1 && p->image == 0 &&
         !p->transposed && p->params.k > 0 && (along_n || along_k) &&
         (p->weights ||
          p->b == (along_n ? BSM_CUDA_MMA_ALONG_N : BSM_CUDA_MMA_ALONG_K));
}

bool bsm_cuda_has_few_rows(const bsm_cuda_mma_problem *p) {
  return has_columns(p) && !p->lines && p->params.m <= MOST_ROWS;
}

/* Elements that lie together and can be loaded at once, when `count` of them
 * do, and what differs otherwise is `apart` elements away. */
static int piece_of(bsm_dtype dtype, int64_t count, int64_t apart) {
  int piece = MOST_PIECE_BYTES / (int)bsm_dtype_size(dtype);
  while (count % piece != 0 || apart % piece != 0) piece /= 2;
  return piece;
}

/* The same of A, when its k lie together. */
static int piece_of_a(const bsm_cuda_mma_problem *p) {
  return p->a == BSM_CUDA_MMA_ALONG_K
             ? piece_of(p->dtype, p->params.k, p->params.a_row)
             : 1;
}

/* When the columns of B lie together. */
static bsm_status add_across(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p, int rows) {
  /* Rows of weights go on up to a multiple of 16 bytes. */
  const int piece =
      piece_of(p->dtype, p->weights ? 0 : p->params.n, p->params.b_row);
  const int width = BYTES / (int)bsm_dtype_size(p->dtype);
  BSM_TRY(bsm_cuda_add_launch(
      l, "few_rows", "few_rows", &p->params, sizeof(p->params),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_ROWS=%d -DK_PIECE=%d -DK_A=%d "
      "-DK_WEIGHTS=%d -DK_COLUMNS=%d",
      bsm_cuda_type(p->dtype), p->activation, rows, piece, piece_of_a(p),
      p->weights, width / piece));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)p->params.n, (unsigned)width, UINT32_MAX), 1,
      1);
  return BSM_OK;
}

/* When the elements of k do. */
static bsm_status add_along(bsm_cuda_launches *l, const bsm_cuda_mma_problem *p,
                            int rows) {
  const int piece = piece_of(p->dtype, p->params.k, p->params.b_column);
  int lanes = 32;
  while (lanes > 4 && lanes / 2 * piece >= p->params.k) lanes /= 2;
  BSM_TRY(bsm_cuda_add_launch(
      l, "few_rows_along", "few_rows_along", &p->params, sizeof(p->params),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_ROWS=%d -DK_PIECE=%d -DK_A=%d "
      "-DK_WEIGHTS=%d -DK_LANES=%d",
      bsm_cuda_type(p->dtype), p->activation, rows, piece, piece_of_a(p),
      p->weights, lanes));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)p->params.n,
                                    (unsigned)(THREADS / lanes), UINT32_MAX),
                    1, 1);
  return BSM_OK;
}

static bsm_status add_launch(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p, int rows) {
  return p->params.b_column == 1 ? add_across(l, p, rows)
                                 : add_along(l, p, rows);
}

static int rows_of(const bsm_cuda_mma_problem *p) {
  int rows = 1;
  while (rows < p->params.m && rows < MOST_ROWS) rows *= 2;
  return rows;
}

static bsm_status set_aside(bsm_cuda_launches *l, const bsm_cuda_mma_problem *p,
                            int but) {
  if (l->scope != BSM_CUDA_FOR_RANGE || !p->weights || !has_columns(p)) {
    return BSM_OK;
  }
  for (int rows = 1; rows <= MOST_ROWS; rows *= 2) {
    if (rows == but) continue;
    BSM_TRY(add_launch(l, p, rows));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  return BSM_OK;
}

bool bsm_cuda_takes_few_rows(const bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p) {
  const char *tactic = l->step->tactic;
  return bsm_cuda_has_few_rows(p) &&
         (!tactic[0] || strcmp(tactic, BSM_CUDA_FEW_ROWS_TACTIC) == 0);
}

bsm_status bsm_cuda_launch_many_rows(bsm_cuda_launches *l,
                                     const bsm_cuda_mma_problem *p) {
  BSM_TRY(set_aside(l, p, 0));
  return bsm_cuda_launch_mma(l, p, l->step->tactic);
}

bsm_status bsm_cuda_launch_few_rows(bsm_cuda_launches *l,
                                    const bsm_cuda_mma_problem *p) {
  if (l->scope == BSM_CUDA_FOR_RANGE && p->weights) {
    BSM_TRY(bsm_cuda_launch_mma(l, p, ""));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  BSM_TRY(set_aside(l, p, rows_of(p)));
  return add_launch(l, p, rows_of(p));
}
