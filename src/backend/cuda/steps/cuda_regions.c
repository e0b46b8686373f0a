/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions of a GPU: a thread for each bin of the output. */
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define BLOCK 256
#define MAX_BLOCKS 65536

static bsm_cuda_i64 places_dtype(int32_t dtype) {
  switch (dtype) {
    case BSM_DTYPE_DOUBLE:
      return BSM_CUDA_PLACES_DOUBLE;
    case BSM_DTYPE_HALF:
      return BSM_CUDA_PLACES_HALF;
    case BSM_DTYPE_BFLOAT16:
      return BSM_CUDA_PLACES_BFLOAT16;
    default:
      return BSM_CUDA_PLACES_FLOAT;
  }
}

/* Threads beside each other read pixels that are, too: of channels-last images
 * those of several channels. */
static bsm_cuda_regions params_of(const bsm_cuda_launches *l) {
  const bsm_step_regions *p = &l->step->params->regions;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  bsm_cuda_regions out = {.count = bsm_plan_numel(y),
                          .channels = y->dims.d[1],
                          .rows = y->dims.d[2],
                          .columns = y->dims.d[3],
                          .images = x->dims.d[0],
                          .height = x->dims.d[2],
                          .width = x->dims.d[3],
                          .samples = p->samples,
                          .whole = p->whole != 0,
                          .grouped = p->grouped != 0,
                          .aligned = p->aligned != 0,
                          .dtype = places_dtype(p->dtype),
                          .by_channels = !p->grouped && x->strides[1] == 1,
                          .scale = p->scale};
  for (int i = 0; i < 4; i++) out.strides[i] = x->strides[i];
  return out;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_cuda_regions params = params_of(l);
  const bsm_plan_step *step = l->step;
  const bsm_dtype dtype = bsm_cuda_input(l, 0)->dtype;
  if (params.count == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(l, "regions", "regions", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, dtype));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)params.count, BLOCK, MAX_BLOCKS), 1, 1);
  const bool has_places = step->output_count > 1;
  const size_t offsets[] = {
      offsetof(bsm_cuda_regions, y), offsetof(bsm_cuda_regions, x),
      offsetof(bsm_cuda_regions, regions), offsetof(bsm_cuda_regions, places)};
  const uint32_t tensors[] = {step->outputs[0], step->inputs[0],
                              step->inputs[1], step->outputs[has_places]};
  for (size_t i = 0; i < (has_places ? 4 : 3); i++) {
    BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsets[i], tensors[i]));
  }
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_FAULT,
                           offsetof(bsm_cuda_regions, fault), 0);
}

const bsm_cuda_step_kind bsm_cuda_REGIONS = {bsm_check_regions, launches};
