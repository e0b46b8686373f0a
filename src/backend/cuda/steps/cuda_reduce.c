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
  bsm_cuda_nested n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  if (n.outer_count == 0) return BSM_OK;
  n.number = p->correction;
  n.operation = p->operation;
  BSM_TRY(bsm_cuda_add_launch(l, "reduce", "reduce", &n, sizeof(n),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", x->dtype));
  BSM_TRY(bsm_cuda_add_second_type(l, "K_TO", y->dtype, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_OPERATION=%d",
                               p->operation));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d -DK_INNER=%d -DK_GROUP=%d",
      (int)n.outer_loops, (int)n.inner_loops, (int)n.group));
  bsm_cuda_nest_set_grid(l, &n);
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[0]),
                                  l->step->outputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[1]),
                                 l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_REDUCE = {bsm_check_reduce, launches};
