/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of a GPU. */
#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_mma.h"
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

/* ---- images whose maps lie together ---- */

#define BLOCK 256
#define DEPTH 32 /* threads that share the pixels */
#define MOST_PIXELS 1024
#define MOST_IMAGES 65535

static bool are_multiples(const bsm_cuda_nested *n, int64_t piece) {
  return n->outer_sizes[1] % piece == 0 &&
         n->outer_strides[1][0] % piece == 0 &&
         n->inner_strides[1][0] % piece == 0;
}

/* Makes the outer loops images and maps. False: there is no kernel for it. */
static bool make_maps(const bsm_cuda_launches *l, bsm_cuda_nested *n,
                      int64_t *piece) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const int64_t last = n->outer_loops - 1;
  const bool knows =
      n->operation == BSM_REDUCE_SUM || n->operation == BSM_REDUCE_AVG ||
      n->operation == BSM_REDUCE_MAX || n->operation == BSM_REDUCE_MIN;
  if (!bsm_cuda_may_specialise(l) || !knows || !bsm_cuda_is_float(x->dtype) ||
      !bsm_cuda_is_float(y->dtype) || n->outer_loops > 2 ||
      n->inner_loops != 1 || n->inner_count < 1 ||
      n->inner_count > MOST_PIXELS || n->outer_strides[1][last] != 1 ||
      n->outer_sizes[last] > INT32_MAX || x->offset % 16 != 0) {
    return false;
  }
  if (last == 0) {
    n->outer_sizes[1] = n->outer_sizes[0];
    n->outer_sizes[0] = 1;
    for (int k = 0; k < 2; k++) {
      n->outer_strides[k][1] = n->outer_strides[k][0];
      n->outer_strides[k][0] = 0;
    }
    n->outer_loops = 2;
  }
  *piece = 16 / (int64_t)bsm_dtype_size(x->dtype);
  return n->outer_sizes[0] <= MOST_IMAGES && are_multiples(n, *piece);
}

static bsm_status launch_maps(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                              int64_t piece) {
  BSM_TRY(bsm_cuda_add_launch(l, "reduce_maps", "reduce_maps", n, sizeof(*n),
                              "-DK_OPERATION=%d -DK_PIECE=%d -DK_DEPTH=%d",
                              (int)n->operation, (int)piece, DEPTH));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", bsm_cuda_input(l, 0)->dtype));
  BSM_TRY(bsm_cuda_add_type(l, "K_TO", bsm_cuda_output(l, 0)->dtype));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l,
      bsm_cuda_blocks((uint64_t)n->outer_sizes[1],
                      (unsigned)(BLOCK / DEPTH * piece), UINT32_MAX),
      (uint64_t)n->outer_sizes[0], 1);
  return BSM_OK;
}

/* ---- anything ---- */

static bsm_status launch_any(bsm_cuda_launches *l, const bsm_cuda_nested *n) {
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  BSM_TRY(bsm_cuda_add_launch(l, "reduce", "reduce", n, sizeof(*n),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_FROM", x->dtype));
  BSM_TRY(bsm_cuda_add_second_type(l, "K_TO", y->dtype, x->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_OPERATION=%d",
                               (int)n->operation));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d -DK_INNER=%d -DK_GROUP=%d",
      (int)n->outer_loops, (int)n->inner_loops, (int)n->group));
  bsm_cuda_nest_set_grid(l, n);
  return BSM_OK;
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
  bsm_cuda_nested maps = n;
  int64_t piece = 1;
  BSM_TRY(make_maps(l, &maps, &piece) ? launch_maps(l, &maps, piece)
                                      : launch_any(l, &n));
  BSM_TRY(bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[0]),
                                  l->step->outputs[0]));
  return bsm_cuda_add_typed_slot(l, offsetof(bsm_cuda_nested, address[1]),
                                 l->step->inputs[0]);
}

const bsm_cuda_step_kind bsm_cuda_REDUCE = {bsm_check_reduce, launches};
