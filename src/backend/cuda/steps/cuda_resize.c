/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing on a GPU. */
#include "backend/cuda/cuda_loops.h"
#include "backend/cuda/steps/cuda_mma.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

/* Input coordinates for each of the output, in the precision that PyTorch has
 * them in. */
static double scale_of(const bsm_step_resize *p, double given, int64_t in,
                       int64_t out, bool in_float) {
  const bool nearest =
      p->mode == BSM_RESIZE_NEAREST || p->mode == BSM_RESIZE_NEAREST_EXACT;
  double scale = given > 0.0 ? 1.0 / given : (double)in / (double)out;
  if (p->align_corners && !nearest) {
    scale = out > 1 ? (double)(in - 1) / (double)(out - 1) : 0.0;
  }
  return in_float ? (double)(float)scale : scale;
}

/* ---- of images whose maps lie together ---- */

static bool are_maps(const bsm_step_resize *p, const bsm_plan_tensor *x,
                     const bsm_plan_tensor *y) {
  return p->spatial == 2 && x->dims.rank == 4 && p->mode != BSM_RESIZE_CUBIC &&
         bsm_cuda_is_float(x->dtype) && x->dims.d[1] > 1 &&
         x->dims.d[1] % 8 == 0 && bsm_cuda_mma_reads_along(x, 1) &&
         bsm_cuda_mma_reads_along(y, 1);
}

/* Positions in an image, and threads, are numbers of 32 bits. */
static bool are_small(const bsm_cuda_resize *p, uint64_t count) {
  for (int d = 1; d < 3; d++) {
    if (p->in[d] > INT32_MAX / 4 || p->x_stride[d] > INT32_MAX / 4 ||
        p->in[d] * p->x_stride[d] > INT32_MAX / 4) {
      return false;
    }
  }
  return count < INT32_MAX;
}

static bsm_status launch_maps(bsm_cuda_launches *l, bsm_cuda_resize *params) {
  const bsm_step_resize *p = &l->step->params->resize;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int64_t pieces =
      x->dims.d[1] / (int64_t)(16 / bsm_dtype_size(x->dtype));
  params->e.loops = 2;
  params->e.sizes[0] = x->dims.d[0];
  params->e.sizes[1] = pieces;
  params->e.strides[0][0] = y->strides[0];
  params->e.strides[1][0] = x->strides[0];
  BSM_TRY(bsm_cuda_add_launch(
      l, "resize_maps", "resize_maps", params, sizeof(*params),
      "-DK_T=%s -DK_MODE=%d -DK_CORNERS=%d", bsm_cuda_type(x->dtype), p->mode,
      p->align_corners != 0));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)(x->dims.d[0] * params->out[1] *
                                               params->out[2] * pieces),
                                    BLOCK, UINT32_MAX),
                    1, 1);
  return BSM_OK;
}

/* ---- of anything ---- */

static bsm_status launch_any(bsm_cuda_launches *l,
                             const bsm_cuda_resize *params, int loops,
                             uint64_t count) {
  const bsm_step_resize *p = &l->step->params->resize;
  BSM_TRY(bsm_cuda_add_launch(l, "resize", "resize", params, sizeof(*params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", bsm_cuda_input(l, 0)->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_MODE=%d -DK_CORNERS=%d -DK_SPATIAL=%d",
                               p->mode, p->align_corners != 0, p->spatial));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_LOOPS=%d", loops));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l, bsm_cuda_blocks(count, BLOCK, MAX_BLOCKS), 1, 1);
  return BSM_OK;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_resize *p = &l->step->params->resize;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int first = x->dims.rank - p->spatial;
  bsm_plan_tensor rest_x = *x, rest_y = *y;
  for (int i = first; i < x->dims.rank; i++) {
    rest_x.dims.d[i] = rest_y.dims.d[i] = 1;
  }
  bsm_cuda_resize params;
  const bsm_plan_tensor *const rest[] = {&rest_y, &rest_x};
  const int loops = bsm_cuda_loops_init(&params.e, rest, 2);
  uint64_t count = (uint64_t)params.e.count;
  for (int d = 0; d < 3; d++) {
    const int i = first + d - (3 - p->spatial);
    const bool is = i >= first;
    params.in[d] = is ? x->dims.d[i] : 1;
    params.out[d] = is ? y->dims.d[i] : 1;
    params.x_stride[d] = is ? x->strides[i] : 0;
    params.y_stride[d] = is ? y->strides[i] : 0;
    params.scale[d] = is && y->dims.d[i] > 0
                          ? scale_of(p, p->scales[i - first], x->dims.d[i],
                                     y->dims.d[i], x->dtype != BSM_DTYPE_DOUBLE)
                          : 1.0;
    count *= (uint64_t)params.out[d];
  }
  if (count == 0) return BSM_OK;
  params.mode = p->mode;
  params.corners = p->align_corners != 0;
  params.spatial = p->spatial;
  BSM_TRY(bsm_cuda_may_specialise(l) && are_maps(p, x, y) &&
                  are_small(&params, count)
              ? launch_maps(l, &params)
              : launch_any(l, &params, loops, count));
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_resize, e.address[0]),
                                  l->step->outputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_resize, e.address[1]),
                                 l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_RESIZE = {bsm_check_resize, launches};
