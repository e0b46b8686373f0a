/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of a GPU. */
#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_nested.h"

/* Output and input over the dimensions of the input. */
static bsm_cuda_nest nest_of(const bsm_step_reduce *p, const bsm_plan_tensor *x,
                             const bsm_plan_tensor *y) {
  bsm_cuda_nest nest = {.rank = x->dims.rank, .operands = 2, .inner = p->axes};
  int at = 0;
  for (int i = 0; i < x->dims.rank; i++) {
    const bool reduced = p->axes >> i & 1u;
    nest.dims[i] = x->dims.d[i];
    nest.strides[0][i] = reduced ? 0 : y->strides[at];
    nest.strides[1][i] = x->strides[i];
    if (!reduced || p->keep_dims) at++;
  }
  return nest;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_reduce *p = &l->step->params->reduce;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bsm_cuda_nest nest = nest_of(p, x, y);
  bsm_cuda_nested_launch n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  if (n.params.outer_count == 0) return BSM_OK;
  n.params.number = p->correction;
  BSM_TRY(bsm_cuda_add_launch(
      l, "reduce", "reduce", &n.params, sizeof(n.params),
      "-DK_FROM=%s -DK_TO=%s -DK_OPERATION=%d -DK_IS_INTEGER=%d -DK_OUTER=%d "
      "-DK_INNER=%d "
      "-DK_GROUP=%d",
      bsm_cuda_type(x->dtype), bsm_cuda_type(y->dtype), p->operation,
      !bsm_dtype_is_floating(x->dtype), n.outer, n.inner, n.group));
  bsm_cuda_nest_set_grid(l, &n);
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                            offsetof(bsm_cuda_nested, address[0]),
                            l->step->outputs[0]));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                           offsetof(bsm_cuda_nested, address[1]),
                           l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_REDUCE = {bsm_check_reduce, launches};
