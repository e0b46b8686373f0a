/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of a GPU. */
#include "backend/cuda/steps/cuda_images.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_pooling *p = &l->step->params->pooling;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bsm_cuda_pooling params = {.x = bsm_cuda_image_of(x, p->window.spatial),
                                   .y = bsm_cuda_image_of(y, p->window.spatial),
                                   .window = bsm_cuda_window_of(&p->window),
                                   .divisor = p->divisor_override,
                                   .average = p->type == BSM_POOLING_AVERAGE,
                                   .adaptive = p->adaptive != 0,
                                   .inside = p->count_excludes_padding != 0};
  const int64_t count = bsm_cuda_pixels(&params.y) * params.y.c;
  if (count == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(l, "pooling", "pooling", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", x->dtype));
  BSM_TRY(bsm_cuda_add_second_type(l, "K_TO", y->dtype, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_AVERAGE=%d -DK_ADAPTIVE=%d -DK_INSIDE=%d",
                               p->type == BSM_POOLING_AVERAGE, p->adaptive != 0,
                               p->count_excludes_padding != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_INNER_CHANNELS=%d",
                               params.y.c_stride == 1));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks((uint64_t)count, BLOCK, MAX_BLOCKS), 1,
                    1);
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pooling, x.address),
                                  l->step->inputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pooling, y.address),
                                 l->step->outputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_POOLING = {bsm_check_pooling, launches};
