/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of a GPU. */
#include "backend/cuda/steps/cuda_nested.h"

static bsm_status add_rows(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                           const bsm_cuda_rows *rows) {
  BSM_TRY(bsm_cuda_add_launch(l, "row_softmax", "row_softmax", n, sizeof(*n),
                              "-DK_LOG=%d -DK_GROUP=%d -DK_HELD=%d",
                              l->step->params->softmax.log != 0, rows->group,
                              rows->held));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d",
                               (int)n->outer_loops));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", bsm_cuda_input(l, 0)->dtype));
  BSM_TRY(bsm_cuda_add_type(l, "K_TO", bsm_cuda_output(l, 0)->dtype));
  bsm_cuda_rows_set_grid(l, n, rows);
  return BSM_OK;
}

static bsm_status launch_rows(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                              const bsm_cuda_rows *rows) {
  for (int i = 0; i < BSM_CUDA_RANGE_ROWS; i++) {
    const bsm_cuda_rows *other = &bsm_cuda_range_rows[i];
    if (l->scope != BSM_CUDA_FOR_RANGE || other->group == rows->group) continue;
    BSM_TRY(add_rows(l, n, other));
    BSM_TRY(bsm_cuda_set_aside(l));
  }
  return add_rows(l, n, rows);
}

static bsm_status launch_any(bsm_cuda_launches *l, const bsm_cuda_nested *n) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  BSM_TRY(bsm_cuda_add_launch(l, "softmax", "softmax", n, sizeof(*n),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", x->dtype));
  BSM_TRY(bsm_cuda_add_second_type(l, "K_TO", y->dtype, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_LOG=%d",
                               l->step->params->softmax.log != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_OUTER=%d -DK_GROUP=%d", (int)n->outer_loops,
                               (int)n->group));
  bsm_cuda_nest_set_grid(l, n);
  return BSM_OK;
}

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
  bsm_cuda_nested n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  if (n.outer_count == 0 || n.inner_count == 0) return BSM_OK;
  n.operation = p->log != 0;
  bsm_cuda_rows rows;
  BSM_TRY(bsm_cuda_is_float(x->dtype) && bsm_cuda_is_float(y->dtype) &&
                  bsm_cuda_nest_hold(l, &n, 1, &rows)
              ? launch_rows(l, &n, &rows)
              : launch_any(l, &n));
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[0]),
                                  l->step->outputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[1]),
                                 l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_SOFTMAX = {bsm_check_softmax, launches};
