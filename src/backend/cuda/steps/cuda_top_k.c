/* SPDX-License-Identifier: Apache-2.0 */
/* The first elements of sorted rows, on a GPU. */
#include "backend/cuda/steps/cuda_nested.h"

#define BLOCK 256
#define PAIR 16 /* bytes of an element and its index */
#define SHARED_ROOM 2048
/* Blocks that sort in scratch memory at a time. */
#define SCRATCH_BLOCKS 264

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
  const bool shared = params.room <= SHARED_ROOM;
  const uint64_t blocks = bsm_cuda_blocks((uint64_t)n.outer_count, 1,
                                          shared ? UINT16_MAX : SCRATCH_BLOCKS);
  BSM_TRY(bsm_cuda_add_launch(l, "top_k", "top_k", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_LARGEST=%d",
                               p->largest != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_OUTER=%d -DK_SHARED=%d", (int)n.outer_loops,
                               shared));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, blocks, 1, 1);
  const uint32_t ids[] = {l->step->outputs[0], l->step->inputs[0],
                          l->step->outputs[1]};
  for (size_t k = 0; k < 3; k++) {
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_top_k, rows.address) + k * sizeof(uint64_t), ids[k]));
    if (k < 2) bsm_cuda_type_slot(l, x->dtype);
  }
  if (shared) {
    bsm_cuda_set_shared(l, (size_t)params.room * PAIR);
    return BSM_OK;
  }
  uint64_t offset;
  BSM_TRY(
      bsm_cuda_add_scratch(l, blocks * (uint64_t)params.room * PAIR, &offset));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                           offsetof(bsm_cuda_top_k, scratch), offset);
}

const bsm_cuda_step_kind bsm_cuda_TOP_K = {bsm_check_top_k, launches};
