/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of a GPU. */
#include "backend/cuda/steps/cuda_nested.h"

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_softmax *p = &l->step->params->softmax;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  bsm_cuda_nest nest = {.rank = x->dims.rank, .operands = 2};
  if (x->dims.rank) nest.inner = 1u << p->axis;
  for (int i = 0; i < x->dims.rank; i++) {
    nest.dims[i] = x->dims.d[i];
    nest.strides[0][i] = y->strides[i];
    nest.strides[1][i] = x->strides[i];
  }
  bsm_cuda_nested_launch n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  if (n.params.outer_count == 0 || n.params.inner_count == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(
      l, "softmax", "softmax", &n.params, sizeof(n.params),
      "-DK_FROM=%s -DK_TO=%s -DK_LOG=%d -DK_OUTER=%d -DK_GROUP=%d",
      bsm_cuda_type(x->dtype), bsm_cuda_type(y->dtype), p->log != 0, n.outer,
      n.group));
  bsm_cuda_nest_set_grid(l, &n);
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_nested, address[0]),
                            l->step->outputs[0]));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                           offsetof(bsm_cuda_nested, address[1]),
                           l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_SOFTMAX = {bsm_check_softmax, launches};
