/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of a GPU. */
#include "backend/cuda/steps/cuda_images.h"

#define BLOCK 256
#define MAX_BLOCKS 65536
#define MAPS_BLOCK 128
/* So few that they leave a GPU idle. */
#define FEW_THREADS (1 << 15)

/* Whether threads can make several maps at once. */
static bool is_of_maps(const bsm_step_pooling *p,
                       const bsm_cuda_pooling *params, const bsm_plan_tensor *x,
                       const bsm_plan_tensor *y) {
  const bool bytes =
      (x->dtype == BSM_DTYPE_UINT8 || x->dtype == BSM_DTYPE_INT8) &&
      p->type == BSM_POOLING_MAX;
  return x->dtype == y->dtype && (bytes || bsm_cuda_is_float(x->dtype)) &&
         !p->adaptive && params->x.c_stride == 1 && params->y.c_stride == 1 &&
         params->x.size[0] == 1 && params->y.size[0] == 1 &&
         params->window.kernel[0] == 1 && params->window.pre[0] == 0 &&
         params->window.post[0] == 0 && bsm_cuda_image_is_small(&params->x) &&
         bsm_cuda_image_is_small(&params->y) &&
         bsm_cuda_window_is_small(&p->window);
}

static bsm_status add_maps(bsm_cuda_launches *l, const bsm_cuda_pooling *params,
                           int vector) {
  const bsm_step_pooling *p = &l->step->params->pooling;
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const int64_t count = bsm_cuda_pixels(&params->y) * params->y.c;
  BSM_TRY(bsm_cuda_add_launch(
      l, "pooling_maps", "pooling_maps", params, sizeof(*params),
      "-DK_T=%s -DK_AVERAGE=%d -DK_INSIDE=%d -DK_VECTOR=%d -DK_KH=%d -DK_KW=%d",
      bsm_cuda_type(y->dtype), p->type == BSM_POOLING_AVERAGE,
      p->count_excludes_padding != 0, vector, (int)p->window.kernel[1],
      (int)p->window.kernel[2]));
  bsm_cuda_set_block(l, MAPS_BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)(count / vector), MAPS_BLOCK, MAX_BLOCKS), 1,
      1);
  return BSM_OK;
}

static bsm_status launch_maps(bsm_cuda_launches *l,
                              const bsm_cuda_pooling *params) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int most = (int)(16 / bsm_dtype_size(y->dtype));
  const int64_t count = bsm_cuda_pixels(&params->y) * params->y.c;
  int widest = bsm_cuda_image_vector(x, most);
  const int of_y = bsm_cuda_image_vector(y, most);
  if (of_y < widest) widest = of_y;
  int vector = widest;
  const bool ranges = l->scope == BSM_CUDA_FOR_RANGE;
  while (vector > 2 && count / vector < FEW_THREADS) {
    vector = ranges ? 2 : vector / 2;
  }
  if (ranges && widest > 2) {
    BSM_TRY(add_maps(l, params, vector == 2 ? widest : 2));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  return add_maps(l, params, vector);
}

static bsm_status launch_any(bsm_cuda_launches *l,
                             const bsm_cuda_pooling *params) {
  const bsm_step_pooling *p = &l->step->params->pooling;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int64_t count = bsm_cuda_pixels(&params->y) * params->y.c;
  BSM_TRY(bsm_cuda_add_launch(l, "pooling", "pooling", params, sizeof(*params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", x->dtype));
  BSM_TRY(bsm_cuda_add_second_type(l, "K_TO", y->dtype, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_AVERAGE=%d -DK_ADAPTIVE=%d -DK_INSIDE=%d",
                               p->type == BSM_POOLING_AVERAGE, p->adaptive != 0,
                               p->count_excludes_padding != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_INNER_CHANNELS=%d",
                               params->y.c_stride == 1));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks((uint64_t)count, BLOCK, MAX_BLOCKS), 1,
                    1);
  return BSM_OK;
}

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
  if (bsm_cuda_pixels(&params.y) * params.y.c == 0) return BSM_OK;
  const bool maps =
      l->scope <= BSM_CUDA_FOR_RANGE && is_of_maps(p, &params, x, y);
  BSM_TRY(maps ? launch_maps(l, &params) : launch_any(l, &params));
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pooling, x.address),
                                  l->step->inputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_pooling, y.address),
                                 l->step->outputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_POOLING = {bsm_check_pooling, launches};
