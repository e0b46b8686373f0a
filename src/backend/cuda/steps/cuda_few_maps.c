/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/steps/cuda_few_maps.h"

#define MOST_MAPS 7 /* which are no whole chunk of 8 */
#define MOST_K 512  /* with maps made even */
#define BLOCK 128
#define WARPS (BLOCK / 32)
#define PIXELS 16 /* that a warp multiplies at once */
/* Blocks that share the tiles: as many as a GPU has room for. */
#define BLOCKS 528
/* Of shared memory, which every GPU has: beside it there is a table. */
#define MOST_SHARED (60 << 10)

typedef struct tiling {
  int rows, columns; /* of pixels in a warp; of maps in a block */
  int lines;         /* of such a row */
} tiling;

static int64_t parts(int64_t size, int64_t part) {
  return size / part + (size % part != 0);
}

static int64_t extent(const bsm_cuda_mma *p, int d, int64_t outputs) {
  return (outputs - 1) * p->stride[d] +
         (int64_t)(p->kernel[d] - 1) * p->dilation[d] + 1;
}

static int64_t even_maps(const bsm_cuda_mma *p) {
  return p->maps + p->maps % 2;
}

static int64_t even_k(const bsm_cuda_mma *p) {
  return (int64_t)p->kernel[1] * p->kernel[2] * even_maps(p);
}

/* Weights, and what the windows of a tile see. */
static int64_t shared_bytes(const bsm_cuda_mma *p, const tiling *t) {
  const int64_t weights = t->columns * parts(even_k(p), 64) * 64;
  return 2 * (weights + extent(p, 1, WARPS * t->rows * t->lines) *
                            extent(p, 2, PIXELS / t->lines) * even_maps(p));
}

static int64_t tiles_of(const bsm_cuda_mma *p, const tiling *t) {
  return p->m / ((int64_t)p->out[1] * p->out[2]) *
         parts(p->out[1], WARPS * t->rows * t->lines) *
         parts(p->out[2], PIXELS / t->lines);
}

/* What sizes a range has may not decide. */
static tiling choose_tiling(const bsm_cuda_mma *p, bool ranges, int lines) {
  tiling t = {.rows = 2, .columns = p->n <= 32 ? 32 : 64, .lines = lines};
  if (shared_bytes(p, &t) > MOST_SHARED) t.columns = 32;
  if (!ranges && tiles_of(p, &t) < BLOCKS) t.rows = 1;
  if (shared_bytes(p, &t) > MOST_SHARED) t.rows = 1;
  return t;
}

bool bsm_cuda_has_few_maps(const bsm_cuda_mma_problem *problem) {
  const bsm_cuda_mma *p = &problem->params;
  if (bsm_dtype_size(problem->dtype) != 2 || problem->transposed ||
      problem->batches != 1 || problem->images_apart || problem->lines ||
      problem->image != 2 || p->maps > MOST_MAPS || even_k(p) > MOST_K) {
    return false;
  }
  const tiling least = {.rows = 1, .columns = 32, .lines = 1};
  return shared_bytes(p, &least) <= MOST_SHARED;
}

bool bsm_cuda_few_maps_can_pool(const bsm_cuda_mma_problem *problem) {
  const tiling least = {.rows = 1, .columns = 32, .lines = 2};
  return !problem->residual &&
         shared_bytes(&problem->params, &least) <= MOST_SHARED;
}

bsm_status bsm_cuda_launch_few_maps(bsm_cuda_launches *l,
                                    const bsm_cuda_mma_problem *problem,
                                    const bsm_cuda_few_maps_joined *joined) {
  const bsm_cuda_mma *p = &problem->params;
  const tiling t =
      choose_tiling(p, l->scope == BSM_CUDA_FOR_RANGE, joined->pool ? 2 : 1);
  const int64_t tiles = tiles_of(p, &t);
  BSM_TRY(bsm_cuda_add_launch(
      l, "few_maps", "few_maps", p, sizeof(*p),
      "-DK_T=%s -DK_ACTIVATION=%d -DK_BN=%d -DK_ROWS=%d -DK_MAPS=%d -DK_KH=%d "
      "-DK_KW=%d -DK_SY=%d -DK_SX=%d -DK_DY=%d -DK_DX=%d",
      bsm_cuda_type(problem->dtype), problem->activation, t.columns, t.rows,
      p->maps, p->kernel[1], p->kernel[2], p->stride[1], p->stride[2],
      p->dilation[1], p->dilation[2]));
  if (joined->floats) {
    BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_X=float"));
  }
  if (joined->pool) {
    BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_POOL=%d",
                                 joined->pool));
  }
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)(tiles < BLOCKS ? tiles : BLOCKS),
                    (uint64_t)parts(p->n, t.columns), 1);
  bsm_cuda_set_shared(l, (size_t)shared_bytes(p, &t));
  return BSM_OK;
}
