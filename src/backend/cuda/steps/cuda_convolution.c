/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and deconvolutions of a GPU. */
#include "backend/cuda/steps/cuda_images.h"
#include "base/checked.h"

#define TILE 64
#define BLOCK 256

/* The kernel has the form of bsm_cuda_pack. */
static bsm_status check_kernel(const bsm_plan *plan, const bsm_plan_step *step,
                               bsm_dtype dtype) {
  const bsm_step_convolution *p = &step->params->convolution;
  const int64_t in = bsm_step_input(plan, step, 0)->dims.d[1] / p->groups;
  const int64_t *k = p->window.kernel;
  int64_t bytes;
  if (p->form != 0) return BSM_FAIL(BSM_CORRUPT, "weights of form %d", p->form);
  if (!bsm_i64_mul(p->out_maps, in, &bytes) ||
      !bsm_i64_mul(bytes, k[0] * k[1] * k[2], &bytes) ||
      !bsm_i64_mul(bytes, (int64_t)bsm_dtype_size(dtype), &bytes)) {
    return BSM_FAIL(BSM_CORRUPT, "a kernel of a size that makes no sense");
  }
  return bsm_check_weights(plan, step, 0, (uint64_t)bytes);
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step,
                        bool transposed) {
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  BSM_TRY(bsm_check_convolution(plan, step, dtype, transposed));
  return check_kernel(plan, step, dtype);
}

static bsm_status check_convolution(const bsm_plan *plan,
                                    const bsm_plan_step *step) {
  return check(plan, step, false);
}

static bsm_status check_deconvolution(const bsm_plan *plan,
                                      const bsm_plan_step *step) {
  return check(plan, step, true);
}

static bsm_status launch(bsm_cuda_launches *l, bool transposed) {
  const bsm_step_convolution *p = &l->step->params->convolution;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bool has_residual = p->epilogue.has_residual;
  const bool has_bias = l->step->weights[1] != BSM_NO_WEIGHTS;
  bsm_cuda_convolution params = {.x = bsm_cuda_image_of(x, p->window.spatial),
                                 .y = bsm_cuda_image_of(y, p->window.spatial),
                                 .window = bsm_cuda_window_of(&p->window),
                                 .groups = p->groups,
                                 .in = x->dims.d[1] / p->groups,
                                 .out = p->out_maps / p->groups,
                                 .transposed = transposed,
                                 .activation = p->epilogue.activation,
                                 .alpha = p->epilogue.alpha,
                                 .beta = p->epilogue.beta};
  if (has_residual) {
    params.residual =
        bsm_cuda_image_of(bsm_cuda_input(l, 1), p->window.spatial);
  }
  const int64_t pixels = bsm_cuda_pixels(&params.y);
  if (pixels == 0 || params.out == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(l, "convolution", "convolution", &params,
                              sizeof(params), "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_ACTIVATION=%d -DK_TRANSPOSED=%d",
                               p->epilogue.activation, transposed));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)pixels, TILE, UINT32_MAX) *
                        bsm_cuda_blocks((uint64_t)params.out, TILE, UINT32_MAX),
                    (uint64_t)p->groups, 1);
  const struct {
    bsm_cuda_slot_kind kind;
    size_t offset;
    uint32_t id;
    bool is_there;
  } slots[] = {
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, x.address),
       l->step->inputs[0], true},
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, y.address),
       l->step->outputs[0], true},
      {BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_convolution, kernel),
       l->step->weights[0], true},
      {BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_convolution, bias),
       l->step->weights[1], has_bias},
      {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_convolution, residual.address),
       has_residual ? l->step->inputs[1] : 0, has_residual}};
  for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
    if (!slots[i].is_there) continue;
    BSM_TRY(bsm_cuda_add_slot(l, slots[i].kind, slots[i].offset, slots[i].id));
    bsm_cuda_type_product_slot(l, x->dtype);
  }
  return BSM_OK;
}

static bsm_status convolution(bsm_cuda_launches *l) {
  return launch(l, false);
}

static bsm_status deconvolution(bsm_cuda_launches *l) {
  return launch(l, true);
}

const bsm_cuda_step_kind bsm_cuda_CONVOLUTION = {check_convolution,
                                                 convolution};
const bsm_cuda_step_kind bsm_cuda_DECONVOLUTION = {check_deconvolution,
                                                   deconvolution};
