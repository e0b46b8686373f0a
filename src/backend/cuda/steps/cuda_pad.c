/* SPDX-License-Identifier: Apache-2.0 */
/* Padding and cropping of a GPU. */
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

/* Saturates as PyTorch's conversion on x86 does. */
static int64_t to_i64(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_pad *p = &l->step->params->pad;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  bsm_cuda_pad params = {.count = 1,
                         .loops = y->dims.rank,
                         .mode = p->mode,
                         .value = p->fill_value,
                         .integer = to_i64(p->fill_value)};
  for (int i = 0; i < y->dims.rank; i++) {
    params.count *= y->dims.d[i];
    params.sizes[i] = y->dims.d[i];
    params.x_sizes[i] = x->dims.d[i];
    params.y_strides[i] = y->strides[i];
    params.x_strides[i] = x->strides[i];
    params.start[i] = p->start[i];
  }
  if (params.count == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(l, "pad", "pad", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", y->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_MODE=%d", p->mode));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_RANK=%d",
                               (int)y->dims.rank));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)params.count, BLOCK, MAX_BLOCKS), 1, 1);
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pad, y),
                                  l->step->outputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pad, x),
                                 l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_PAD = {bsm_check_pad, launches};
