/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the input and the output of a convolution. */
#include "backend/cpu/target/cpu_crop.h"

#include "backend/image.h"

/* Outputs along a dimension: five tiles of the greatest form. */
#define LENGTH 32

/* A dense tensor of these sizes, its dimensions in the order of those of `t`.
 */
static bsm_status crop(const bsm_plan_tensor *t, const int64_t *sizes,
                       bsm_plan_tensor *out, uint64_t *bytes) {
  bool done[BSM_MAX_RANK] = {false};
  int64_t stride = 1;
  *out = *t;
  out->place = BSM_PLACE_WORKSPACE;
  out->index = 0;
  for (int32_t k = 0; k < t->dims.rank; k++) {
    int32_t next = -1;
    for (int32_t d = t->dims.rank - 1; d >= 0; d--) {
      if (!done[d] && (next < 0 || t->strides[d] < t->strides[next])) next = d;
    }
    done[next] = true;
    out->dims.d[next] = sizes[next];
    out->strides[next] = stride;
    stride *= sizes[next];
  }
  return bsm_plan_tensor_extent(out, bytes)
             ? BSM_OK
             : BSM_FAIL(BSM_LIMIT, "a part of %s is too large", t->name);
}

bsm_status bsm_cpu_crop_convolution(const bsm_plan *plan,
                                    const bsm_plan_step *step,
                                    bsm_plan_tensor tensors[2],
                                    uint64_t *bytes) {
  const bsm_step_window *w = &step->params->convolution.window;
  const bsm_plan_tensor *x = &plan->tensors[step->inputs[0]];
  const bsm_plan_tensor *y = &plan->tensors[step->outputs[0]];
  int64_t in[BSM_MAX_RANK] = {1, x->dims.d[1]};
  int64_t out[BSM_MAX_RANK] = {1, y->dims.d[1]};
  uint64_t in_bytes, out_bytes;
  for (int32_t d = 0; d < w->spatial; d++) {
    const int k = 3 - w->spatial + d;
    const int64_t most = w->dilation[k] * (w->kernel[k] - 1) + LENGTH;
    const int64_t size = x->dims.d[2 + d];
    in[2 + d] = size < most ? size : most;
    out[2 + d] = bsm_window_output(w, k, in[2 + d]);
  }
  BSM_TRY(crop(x, in, &tensors[0], &in_bytes));
  BSM_TRY(crop(y, out, &tensors[1], &out_bytes));
  const uint64_t pieces = (in_bytes + BSM_ALIGNMENT - 1) / BSM_ALIGNMENT;
  tensors[0].offset = 0;
  tensors[1].offset = pieces * BSM_ALIGNMENT;
  *bytes = tensors[1].offset + out_bytes;
  return BSM_OK;
}
