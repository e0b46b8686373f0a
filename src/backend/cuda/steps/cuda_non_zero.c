/* SPDX-License-Identifier: Apache-2.0 */
/* The places of elements that are not zero, on a GPU. */
#include "aten/tensor.h"
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536
#define CHUNK 4096

static bsm_status add_phase(bsm_cuda_launches *l, bsm_cuda_non_zero *params,
                            bsm_cuda_non_zero_phase phase) {
  params->phase = phase;
  const uint32_t x = l->step->inputs[0], y = l->step->outputs[0];
  BSM_TRY(bsm_cuda_add_launch(l, "non_zero", "non_zero", params,
                              sizeof(*params), "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", bsm_cuda_input(l, 0)->dtype));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  const uint64_t warps =
      phase == BSM_CUDA_NON_ZERO_SUM ? 1 : (uint64_t)params->chunks;
  bsm_cuda_set_grid(l, bsm_cuda_blocks(warps, BLOCK / 32, MAX_BLOCKS), 1, 1);
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_non_zero, x), x));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_non_zero, y), y));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                           offsetof(bsm_cuda_non_zero, counts), 0);
}

static bsm_status launches(bsm_cuda_launches *l) {
  const int64_t n = bsm_cuda_output(l, 0)->dims.d[0];
  bsm_cuda_non_zero params = {
      .n = n, .chunk = CHUNK, .chunks = (n + CHUNK - 1) / CHUNK};
  uint64_t counts;
  if (n == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_scratch(
      l, ((uint64_t)params.chunks + 1) * sizeof(int64_t), &counts));
  BSM_TRY(add_phase(l, &params, BSM_CUDA_NON_ZERO_COUNT));
  BSM_TRY(add_phase(l, &params, BSM_CUDA_NON_ZERO_SUM));
  return add_phase(l, &params, BSM_CUDA_NON_ZERO_WRITE);
}

const bsm_cuda_step_kind bsm_cuda_NON_ZERO = {bsm_check_non_zero, launches};
