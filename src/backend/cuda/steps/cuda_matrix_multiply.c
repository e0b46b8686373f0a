/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of a GPU. */
#include "backend/cuda/steps/cuda_products.h"
#include "base/checked.h"

#define TILE 64
#define BLOCK 256
#define MAX_BATCH 65535

/* The stride of dimension i of the output in a tensor that broadcasts to it. */
static int64_t stride_of(const bsm_plan_tensor *t, int rank, int i) {
  const int own = i - (rank - t->dims.rank);
  return own < 0 || t->dims.d[own] == 1 ? 0 : t->strides[own];
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  int64_t bytes;
  BSM_TRY(bsm_check_matrices(plan, step, dtype));
  if (!p->constant_b) return BSM_OK;
  if (!bsm_i64_mul(p->k, p->n, &bytes) ||
      !bsm_i64_mul(bytes, (int64_t)bsm_dtype_size(dtype), &bytes)) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of a size that makes no sense");
  }
  return bsm_check_weights(plan, step, 0, (uint64_t)bytes);
}

bsm_status bsm_cuda_launch_product(bsm_cuda_launches *l,
                                   const bsm_cuda_product *p,
                                   const bsm_cuda_product_kind *kind) {
  uint64_t batches = 1;
  for (int i = 0; i < kind->loops; i++) batches *= (uint64_t)p->batch_sizes[i];
  bsm_cuda_product params = *p;
  params.loops = kind->loops;
  params.activation = kind->activation;
  BSM_TRY(bsm_cuda_add_launch(l, "product", "product", &params, sizeof(params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, kind->dtype));
  if (kind->out != kind->dtype) {
    BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_KIND, "-DK_Y=%s",
                                 bsm_cuda_type(kind->out)));
  }
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_ACTIVATION=%d",
                               kind->activation));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_SIZES, "-DK_LOOPS=%d -DK_A_ROWS=%d -DK_B_ROWS=%d",
      kind->loops, p->a_column <= p->a_row, p->b_column <= p->b_row));
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(l,
                    bsm_cuda_blocks((uint64_t)p->m, TILE, UINT32_MAX) *
                        bsm_cuda_blocks((uint64_t)p->n, TILE, UINT32_MAX),
                    batches < MAX_BATCH ? batches : MAX_BATCH, 1);
  return BSM_OK;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_matrix_multiply *p = &l->step->params->matrix_multiply;
  const bsm_plan_step *step = l->step;
  const bsm_plan_tensor *a = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bsm_plan_tensor *b = p->constant_b ? NULL : bsm_cuda_input(l, 1);
  const bool has_residual = p->epilogue.has_residual;
  const uint32_t residual =
      has_residual ? step->inputs[step->input_count - 1] : 0;
  const bsm_plan_tensor *r = has_residual ? &l->plan->tensors[residual] : NULL;
  const int rank = y->dims.rank, a_rank = a->dims.rank;
  bsm_cuda_product params = {.m = y->dims.d[rank - 2],
                             .n = y->dims.d[rank - 1],
                             .k = a->dims.d[a_rank - 1],
                             .a_row = a->strides[a_rank - 2],
                             .a_column = a->strides[a_rank - 1],
                             .b_row = y->dims.d[rank - 1],
                             .b_column = 1,
                             .y_row = y->strides[rank - 2],
                             .scale = p->scale,
                             .alpha = p->epilogue.alpha,
                             .beta = p->epilogue.beta};
  if (b) {
    params.b_row = b->strides[b->dims.rank - 2];
    params.b_column = b->strides[b->dims.rank - 1];
  }
  if (r) {
    params.residual_row = stride_of(r, rank, rank - 2);
    params.residual_column = stride_of(r, rank, rank - 1);
  }
  uint64_t batches = 1;
  for (int i = 0; i < rank - 2; i++) {
    batches *= (uint64_t)y->dims.d[i];
    params.batch_sizes[i] = y->dims.d[i];
    params.a_batch[i] = stride_of(a, rank, i);
    params.b_batch[i] = b ? stride_of(b, rank, i) : 0;
    params.y_batch[i] = y->strides[i];
    params.residual_batch[i] = r ? stride_of(r, rank, i) : 0;
  }
  if (batches == 0 || params.m == 0 || params.n == 0) return BSM_OK;
  const bsm_cuda_product_kind kind = {y->dtype, y->dtype,
                                      p->epilogue.activation, rank - 2};
  BSM_TRY(bsm_cuda_launch_product(l, &params, &kind));
  const struct {
    bsm_cuda_slot_kind kind;
    size_t offset;
    uint32_t id;
    bool is_there;
  } slots[] = {{BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_product, a),
                step->inputs[0], true},
               {b ? BSM_CUDA_SLOT_TENSOR : BSM_CUDA_SLOT_WEIGHTS,
                offsetof(bsm_cuda_product, b),
                b ? step->inputs[1] : step->weights[0], true},
               {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_product, y),
                step->outputs[0], true},
               {BSM_CUDA_SLOT_WEIGHTS, offsetof(bsm_cuda_product, bias),
                step->weights[1], step->weights[1] != BSM_NO_WEIGHTS},
               {BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_product, residual),
                residual, has_residual}};
  for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
    if (!slots[i].is_there) continue;
    BSM_TRY(bsm_cuda_add_slot(l, slots[i].kind, slots[i].offset, slots[i].id));
    bsm_cuda_type_product_slot(l, y->dtype);
  }
  return BSM_OK;
}

const bsm_cuda_step_kind bsm_cuda_MATRIX_MULTIPLY = {check, launches};
