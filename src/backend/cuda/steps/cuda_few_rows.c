/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows: which kernel, and its launches. */
#include "backend/cuda/steps/cuda_few_rows.h"

#include <string.h>

#define THREADS 256
#define MOST_ROWS 4 /* with 8, tensor cores are faster */
#define MOST_PIECE_BYTES 16
/* What a block has of a row of B, where columns lie together: a sector of
 * memory; or a line of it, which memory gives twice as fast, and of which there
 * are fewer, so that blocks share k. */
#define SECTOR 32
#define LINE 128
/* k that splits are multiples of. */
#define RANGE 256
#define BLOCKS 2 /* of an SM */
#define TACTIC "few rows"
#define SHARED_TACTIC "few rows shared"

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

/* ---- when the columns of B lie together ---- */

static int64_t parts(int64_t size, int64_t part) {
  return size / part + (size % part != 0);
}

/* What the blocks of a product have: columns, and k. */
typedef struct shares {
  int width;
  int32_t splits, split_k;
} shares;

static shares shares_of(const bsm_cuda_mma_problem *p, int sm, bool shared) {
  const int element = (int)bsm_dtype_size(p->dtype);
  shares s = {(shared ? LINE : SECTOR) / element, 1, p->params.k};
  if (!shared) return s;
  const int64_t ranges = parts(p->params.k, RANGE);
  const int64_t columns = parts(p->params.n, s.width);
  int64_t splits = (int64_t)BLOCKS * bsm_cuda_multiprocessors(sm) / columns;
  if (splits > ranges) splits = ranges;
  if (splits <= 1) return s;
  s.split_k = (int32_t)(parts(ranges, splits) * RANGE);
  s.splits = (int32_t)parts(p->params.k, s.split_k);
  return s;
}

/* Whether blocks can have lines, and share k. */
static bool has_shared(const bsm_cuda_mma_problem *p) {
  return p->weights && p->params.b_column == 1 &&
         p->params.b_row * (int64_t)bsm_dtype_size(p->dtype) %
                 MOST_PIECE_BYTES ==
             0;
}

/* The type of y, where it is not that of the operands. */
static bsm_status add_result(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p) {
  return p->floats ? bsm_cuda_add_options(l, BSM_CUDA_FOR_RANGE, "-DK_Y=float")
                   : BSM_OK;
}

static bsm_status add_across(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p, int rows,
                             bool shared) {
  /* Rows of weights go on up to a multiple of 16 bytes. */
  const int piece =
      piece_of(p->dtype, p->weights ? 0 : p->params.n, p->params.b_row);
  const shares s = shares_of(p, l->sm, shared);
  const int64_t columns = parts(p->params.n, s.width);
  bsm_cuda_mma params = p->params;
  params.splits = s.splits;
  params.split_k = s.split_k;
  BSM_TRY(bsm_cuda_add_launch(
      l, "few_rows", "few_rows", &params, sizeof(params),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_ROWS=%d -DK_PIECE=%d -DK_A=%d "
      "-DK_WEIGHTS=%d -DK_COLUMNS=%d -DK_SPLIT=%d",
      bsm_cuda_type(p->dtype), p->activation, rows, piece, piece_of_a(p),
      p->weights, s.width / piece, s.splits > 1));
  BSM_TRY(add_result(l, p));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)columns, (uint64_t)s.splits, 1);
  if (s.splits == 1) return BSM_OK;
  uint64_t partial;
  BSM_TRY(bsm_cuda_add_scratch(
      l, (uint64_t)(columns * s.splits * rows * s.width) * sizeof(float),
      &partial));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                            offsetof(bsm_cuda_mma, partial), partial));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_COUNTERS,
                           offsetof(bsm_cuda_mma, counters), 0);
}

/* ---- when the elements of k do ---- */

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
  BSM_TRY(add_result(l, p));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)p->params.n,
                                    (unsigned)(THREADS / lanes), UINT32_MAX),
                    1, 1);
  return BSM_OK;
}

/* ---- what a product takes ---- */

/* A launch in a graph, what blocks that share k add; a round of what a block
 * asks for; and what memory gives in a microsecond. */
#define LAUNCH 1.3
#define JOIN 1.0
#define ROUND 0.9
#define BYTES_OF_LINES 3.1e6
#define BYTES_OF_SECTORS 1.7e6

static double cost_of(const bsm_cuda_mma_problem *p, int sm, bool shared) {
  const shares s = shares_of(p, sm, shared);
  const int64_t element = (int64_t)bsm_dtype_size(p->dtype);
  const double bytes = (double)p->params.k * p->params.n * (double)element;
  const double blocks = (double)parts(p->params.n, s.width) * s.splits;
  const double of_sm = blocks / ((double)BLOCKS * bsm_cuda_multiprocessors(sm));
  const int64_t range = shared ? RANGE : RANGE * LINE / SECTOR;
  const double rounds =
      (double)parts(s.split_k, range) * ROUND * (of_sm > 1 ? of_sm : 1);
  const double reading = bytes / (shared ? BYTES_OF_LINES : BYTES_OF_SECTORS);
  return LAUNCH + (reading > rounds ? reading : rounds) +
         (s.splits > 1 ? JOIN : 0);
}

static bool is_shared(const bsm_cuda_mma_problem *p, int sm,
                      const char *tactic) {
  if (!has_shared(p)) return false;
  return tactic[0] ? strcmp(tactic, SHARED_TACTIC) == 0
                   : cost_of(p, sm, true) < cost_of(p, sm, false);
}

size_t bsm_cuda_few_rows_tactics(const bsm_cuda_mma_problem *p, int sm,
                                 const char **names) {
  if (!bsm_cuda_has_few_rows(p)) return 0;
  const bool shared = is_shared(p, sm, "");
  names[shared ? 1 : 0] = TACTIC;
  if (has_shared(p)) names[shared ? 0 : 1] = SHARED_TACTIC;
  return has_shared(p) ? 2 : 1;
}

static bool is_tactic(const char *tactic) {
  return strcmp(tactic, TACTIC) == 0 || strcmp(tactic, SHARED_TACTIC) == 0;
}

double bsm_cuda_few_rows_cost(const bsm_cuda_mma_problem *p, int sm,
                              const char *tactic) {
  if (!is_tactic(tactic)) return 0;
  /* The better one is faster than all tiles. */
  const double least = bsm_cuda_mma_cost(p, sm, tactic);
  if (!has_shared(p)) return least;
  const double own = cost_of(p, sm, strcmp(tactic, SHARED_TACTIC) == 0);
  const double other = cost_of(p, sm, strcmp(tactic, SHARED_TACTIC) != 0);
  return own > other ? least * own / other : least;
}

/* ---- launching ---- */

static bsm_status add_launch(bsm_cuda_launches *l,
                             const bsm_cuda_mma_problem *p, int rows) {
  /* All numbers of rows are shared in one way where that ranges. */
  const char *tactic = l->scope == BSM_CUDA_FOR_RANGE ? "" : l->step->tactic;
  return p->params.b_column == 1
             ? add_across(l, p, rows, is_shared(p, l->sm, tactic))
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
  return bsm_cuda_has_few_rows(p) && (!tactic[0] || is_tactic(tactic));
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
