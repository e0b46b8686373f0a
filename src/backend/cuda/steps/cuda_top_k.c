/* SPDX-License-Identifier: Apache-2.0 */
/* The first elements of sorted rows, on a GPU. */
#include "backend/cuda/steps/cuda_nested.h"

#define BLOCK 256
#define PAIR 16 /* bytes of an element and its index */
/* Pairs of rows that are sorted in scratch memory at a time: 256 MB. */
#define MAX_PAIRS ((int64_t)1 << 24)

/* Rounds of a row: tiles are sorted, then for each doubling of what is sorted
 * compared with those far from them, and each by itself; in the end the first
 * elements are written. */
static int64_t count_stages(int64_t room) {
  int64_t stages = 2;
  for (int64_t size = 2 * BSM_CUDA_TOP_K_TILE, steps = 2; size <= room;
       size *= 2) {
    stages += steps++;
  }
  return stages;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_top_k *p = &l->step->params->top_k;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0);
  const bsm_plan_tensor *values = bsm_cuda_output(l, 0);
  const bsm_plan_tensor *indices = bsm_cuda_output(l, 1);
  bsm_cuda_nest nest = {.rank = x->dims.rank, .operands = 3};
  if (x->dims.rank) nest.inner = 1u << p->axis;
  for (int i = 0; i < x->dims.rank; i++) {
    nest.dims[i] = x->dims.d[i];
    nest.strides[0][i] = values->strides[i];
    nest.strides[1][i] = x->strides[i];
    nest.strides[2][i] = indices->strides[i];
  }
  bsm_cuda_nested n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  bsm_cuda_top_k params = {
      .rows = n, .k = p->k, .room = 2, .largest = p->largest != 0};
  if (n.outer_count == 0 || p->k == 0) return BSM_OK;
  while (params.room < n.inner_count) params.room *= 2;
  const bool shared = params.room <= BSM_CUDA_TOP_K_TILE;
  uint64_t blocks = (uint64_t)n.outer_count;
  if (!shared) {
    params.stages = count_stages(params.room);
    params.at_once = MAX_PAIRS / params.room;
    if (params.at_once > n.outer_count) params.at_once = n.outer_count;
    if (params.at_once < 1) params.at_once = 1;
    const int64_t groups =
        (n.outer_count + params.at_once - 1) / params.at_once;
    if (groups > INT32_MAX / params.stages) {
      return BSM_FAIL(BSM_UNSUPPORTED, "too many long rows to sort");
    }
    l->rounds = groups * params.stages;
    blocks = (uint64_t)(params.at_once * (params.room / BSM_CUDA_TOP_K_TILE));
  }
  BSM_TRY(bsm_cuda_add_launch(l, "top_k", "top_k", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_LARGEST=%d",
                               p->largest != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_OUTER=%d -DK_SHARED=%d", (int)n.outer_loops,
                               shared));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks(blocks, 1, UINT16_MAX), 1, 1);
  bsm_cuda_set_shared(
      l, (size_t)(shared ? params.room : BSM_CUDA_TOP_K_TILE) * PAIR);
  const uint32_t ids[] = {l->step->outputs[0], l->step->inputs[0],
                          l->step->outputs[1]};
  for (size_t k = 0; k < 3; k++) {
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_top_k, rows.address) + k * sizeof(uint64_t), ids[k]));
    if (k < 2) bsm_cuda_type_slot(l, x->dtype);
  }
  if (shared) return BSM_OK;
  bsm_cuda_set_rounds(l, 0, 1, l->rounds);
  uint64_t offset;
  BSM_TRY(bsm_cuda_add_scratch(
      l, (uint64_t)params.at_once * (uint64_t)params.room * PAIR, &offset));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_ROUND,
                            offsetof(bsm_cuda_top_k, round), 0));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                           offsetof(bsm_cuda_top_k, scratch), offset);
}

const bsm_cuda_step_kind bsm_cuda_TOP_K = {bsm_check_top_k, launches};
