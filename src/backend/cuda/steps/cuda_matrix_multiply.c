/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of a GPU. */
#include <string.h>

#include "backend/cuda/steps/cuda_few_bits.h"
#include "backend/cuda/steps/cuda_few_rows.h"
#include "backend/cuda/steps/cuda_mma.h"
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

static bsm_status check_few_bits(const bsm_plan *plan,
                                 const bsm_plan_step *step, bsm_dtype dtype) {
  bsm_cuda_few_bits_layout layout;
  BSM_TRY(bsm_cuda_few_bits_layout_of(&step->params->matrix_multiply, &layout));
  if (!bsm_cuda_is_float(dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of few bits for a product of %s",
                    bsm_dtype_name(dtype));
  }
  return bsm_check_weights(plan, step, 0, layout.size);
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bsm_dtype dtype = bsm_step_output(plan, step, 0)->dtype;
  int64_t bytes;
  BSM_TRY(bsm_check_matrices(plan, step, dtype));
  if (bsm_cuda_has_few_bits(p)) return check_few_bits(plan, step, dtype);
  if (p->form && dtype != BSM_DTYPE_FLOAT) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of form %d", (int)p->form);
  }
  if (!p->constant_b) return BSM_OK;
  const int64_t row = bsm_cuda_matrix_row(p->form ? p->k : p->n);
  if (!bsm_i64_mul(p->form ? p->n : p->k, row, &bytes) ||
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

/* ---- a step ---- */

static const bsm_plan_tensor *residual_of(const bsm_plan *plan,
                                          const bsm_plan_step *step) {
  return step->params->matrix_multiply.epilogue.has_residual
             ? bsm_step_input(plan, step, step->input_count - 1)
             : NULL;
}

static const bsm_plan_tensor *b_of(const bsm_plan *plan,
                                   const bsm_plan_step *step) {
  return step->params->matrix_multiply.constant_b
             ? NULL
             : bsm_step_input(plan, step, 1);
}

/* Sizes and strides of a step; false: it makes nothing. */
static bool product_of(const bsm_plan *plan, const bsm_plan_step *step,
                       bsm_cuda_product *out) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const bsm_plan_tensor *a = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_plan_tensor *b = b_of(plan, step), *r = residual_of(plan, step);
  const int rank = y->dims.rank, a_rank = a->dims.rank;
  *out = (bsm_cuda_product){.m = y->dims.d[rank - 2],
                            .n = y->dims.d[rank - 1],
                            .k = a->dims.d[a_rank - 1],
                            .a_row = a->strides[a_rank - 2],
                            .a_column = a->strides[a_rank - 1],
                            .b_row = bsm_cuda_matrix_row(y->dims.d[rank - 1]),
                            .b_column = 1,
                            .y_row = y->strides[rank - 2],
                            .scale = p->scale,
                            .alpha = p->epilogue.alpha,
                            .beta = p->epilogue.beta};
  if (b) {
    out->b_row = b->strides[b->dims.rank - 2];
    out->b_column = b->strides[b->dims.rank - 1];
  } else if (p->form) {
    out->b_row = 1;
    out->b_column = bsm_cuda_matrix_row(out->k);
  }
  if (r) {
    out->residual_row = stride_of(r, rank, rank - 2);
    out->residual_column = stride_of(r, rank, rank - 1);
  }
  uint64_t batches = 1;
  for (int i = 0; i < rank - 2; i++) {
    batches *= (uint64_t)y->dims.d[i];
    out->batch_sizes[i] = y->dims.d[i];
    out->a_batch[i] = stride_of(a, rank, i);
    out->b_batch[i] = b ? stride_of(b, rank, i) : 0;
    out->y_batch[i] = y->strides[i];
    out->residual_batch[i] = r ? stride_of(r, rank, i) : 0;
  }
  return batches != 0 && out->m != 0 && out->n != 0;
}

/* ---- in tiles ---- */

/* Makes the innermost loops part of the rows, as far as they have one B and
 * their rows follow each other; the number of loops that are left. */
static int merge_loops(bsm_cuda_product *p, int loops, bool has_residual) {
  for (; loops > 0; loops--) {
    const int i = loops - 1;
    if (p->batch_sizes[i] != 1 &&
        (p->b_batch[i] != 0 || p->a_batch[i] != p->m * p->a_row ||
         p->y_batch[i] != p->m * p->y_row ||
         (has_residual && p->residual_batch[i] != p->m * p->residual_row))) {
      break;
    }
    p->m *= p->batch_sizes[i];
  }
  return loops;
}

/* Rows of a batch from which on tiles are full. */
#define MANY_ROWS 128

/* Makes all loops part of the rows, where those of A follow each other and have
 * one B: rows of y come in loops, as those of windows of an image. */
static void nest_rows(bsm_cuda_mma_problem *problem) {
  bsm_cuda_mma *p = &problem->params;
  int64_t rows = p->m;
  if (p->loops == 0 || p->loops >= BSM_CUDA_ROW_LOOPS || problem->residual ||
      p->m >= MANY_ROWS || rows * problem->batches > INT32_MAX) {
    return;
  }
  for (int i = p->loops - 1; i >= 0; i--) {
    if (p->batch_sizes[i] != 1 &&
        (p->b_batch[i] != 0 || p->a_batch[i] != rows * p->a_row)) {
      return;
    }
    rows *= p->batch_sizes[i];
  }
  p->row_strides[0] = p->y_row;
  for (int i = 0; i < BSM_CUDA_ROW_LOOPS - 1; i++) {
    const int loop = p->loops - 1 - i;
    p->row_sizes[i] = i == 0          ? p->m
                      : i <= p->loops ? p->batch_sizes[loop + 1]
                                      : 1;
    p->row_strides[i + 1] = loop >= 0 ? p->y_batch[loop] : 0;
  }
  p->m = (int32_t)rows;
  p->loops = 0;
  problem->batches = 1;
  problem->lines = BSM_CUDA_LOOPS_OF_ROWS;
}

static bool problem_of(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                       bsm_cuda_mma_problem *out) {
  const bsm_step_matrix_multiply *m = &step->params->matrix_multiply;
  const bsm_plan_tensor *a = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_plan_tensor *b = b_of(plan, step);
  bsm_cuda_product p;
  const bsm_cuda_unit *unit = bsm_cuda_unit_of(y->dtype, step->precision, sm);
  if (bsm_cuda_has_few_bits(m) || !unit || !product_of(plan, step, &p) ||
      p.k == 0 ||
      !bsm_cuda_mma_has_numbers(y->dtype, p.scale, p.alpha, p.beta)) {
    return false;
  }
  const int loops = merge_loops(&p, y->dims.rank - 2, m->epilogue.has_residual);
  int64_t batches = 1;
  for (int i = 0; i < loops; i++) {
    if (!bsm_i64_mul(batches, p.batch_sizes[i], &batches)) return false;
  }
  if (batches > MAX_BATCH || p.m > INT32_MAX || p.n > INT32_MAX ||
      p.k > INT32_MAX) {
    return false;
  }
  *out = (bsm_cuda_mma_problem){.batches = batches,
                                .dtype = y->dtype,
                                .unit = unit,
                                .activation = m->epilogue.activation,
                                .weights = !b,
                                .rounded = !b && m->form};
  out->params = (bsm_cuda_mma){.m = (int32_t)p.m,
                               .n = (int32_t)p.n,
                               .k = (int32_t)p.k,
                               .scale = (float)p.scale,
                               .alpha = (float)p.alpha,
                               .beta = (float)p.beta,
                               .loops = loops,
                               .a_row = p.a_row,
                               .a_column = p.a_column,
                               .b_row = p.b_row,
                               .b_column = p.b_column,
                               .y_row = p.y_row,
                               .residual_row = p.residual_row,
                               .residual_column = p.residual_column};
  for (int i = 0; i < loops; i++) {
    out->params.batch_sizes[i] = (int32_t)p.batch_sizes[i];
    out->params.a_batch[i] = p.a_batch[i];
    out->params.b_batch[i] = p.b_batch[i];
    out->params.y_batch[i] = p.y_batch[i];
    out->params.residual_batch[i] = p.residual_batch[i];
  }
  const bsm_plan_tensor *r = residual_of(plan, step);
  out->residual = r != NULL;
  out->vector = p.n % 8 == 0 && bsm_cuda_mma_reads_along(y, y->dims.rank - 1) &&
                (!r || (p.residual_column == 1 &&
                        bsm_cuda_mma_reads_along(r, r->dims.rank - 1)));
  out->aligned_a = BSM_CUDA_MMA_ALONG_K;
  out->a = bsm_cuda_mma_reads_along(a, a->dims.rank - 1)
               ? BSM_CUDA_MMA_ALONG_K
               : BSM_CUDA_MMA_ELEMENTS;
  out->b = BSM_CUDA_MMA_ELEMENTS;
  out->aligned_b =
      p.b_column == 1 ? BSM_CUDA_MMA_ALONG_N : BSM_CUDA_MMA_ALONG_K;
  if (!b) {
    out->b = m->form ? BSM_CUDA_MMA_ALONG_K : BSM_CUDA_MMA_ALONG_N;
  } else if (bsm_cuda_mma_reads_along(b, b->dims.rank - 1)) {
    out->b = BSM_CUDA_MMA_ALONG_N;
  } else if (bsm_cuda_mma_reads_along(b, b->dims.rank - 2)) {
    out->b = BSM_CUDA_MMA_ALONG_K;
  }
  if (!b) { /* k and n are those of the weights */
    out->aligned_a = out->a;
    out->aligned_b = out->b;
  }
  return true;
}

static bool problem_of_step(const bsm_plan *plan, const bsm_plan_step *step,
                            int sm, bsm_cuda_mma_problem *out) {
  if (!problem_of(plan, step, sm, out)) return false;
  nest_rows(out);
  return true;
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                      const char **names) {
  bsm_cuda_mma_problem problem;
  size_t count = 0;
  if (bsm_cuda_has_few_bits(&step->params->matrix_multiply)) {
    names[0] = "few bits";
    return 1;
  }
  if (problem_of_step(plan, step, sm, &problem)) {
    count += bsm_cuda_few_rows_tactics(&problem, sm, names);
  }
  return count + bsm_cuda_mma_step_tactics(problem_of_step, plan, step, sm,
                                           names + count);
}

static double cost(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                   const char *tactic) {
  bsm_cuda_mma_problem problem;
  if (!problem_of_step(plan, step, sm, &problem)) return 0;
  const double few = bsm_cuda_few_rows_cost(&problem, sm, tactic);
  return few > 0 ? few : bsm_cuda_mma_cost(&problem, sm, tactic);
}

/* ---- launching ---- */

/* Where the parameters of a kernel have addresses. */
typedef struct operands {
  size_t a, b, y, bias, residual;
} operands;

static bsm_status add_slots(bsm_cuda_launches *l, const operands *at,
                            uint32_t output) {
  const bsm_plan_step *step = l->step;
  const bool constant_b = step->params->matrix_multiply.constant_b;
  const bool has_residual = residual_of(l->plan, step) != NULL;
  const struct {
    bsm_cuda_slot_kind kind;
    size_t offset;
    uint32_t id;
    bool is_there;
  } slots[] = {
      {BSM_CUDA_SLOT_TENSOR, at->a, step->inputs[0], true},
      {constant_b ? BSM_CUDA_SLOT_WEIGHTS : BSM_CUDA_SLOT_TENSOR, at->b,
       constant_b ? step->weights[0] : step->inputs[1], true},
      {BSM_CUDA_SLOT_TENSOR, at->y, output, true},
      {BSM_CUDA_SLOT_WEIGHTS, at->bias, step->weights[1],
       step->weights[1] != BSM_NO_WEIGHTS},
      {BSM_CUDA_SLOT_TENSOR, at->residual,
       has_residual ? step->inputs[step->input_count - 1] : 0, has_residual}};
  for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
    if (!slots[i].is_there) continue;
    BSM_TRY(bsm_cuda_add_slot(l, slots[i].kind, slots[i].offset, slots[i].id));
    bsm_cuda_type_product_slot(l, bsm_cuda_output(l, 0)->dtype);
  }
  return BSM_OK;
}

#define OPERANDS(type)                                       \
  {                                                          \
    offsetof(type, a), offsetof(type, b), offsetof(type, y), \
        offsetof(type, bias), offsetof(type, residual)       \
  }

static const operands in_mma = OPERANDS(bsm_cuda_mma);

static bsm_status launches(bsm_cuda_launches *l) {
  static const operands in_product = OPERANDS(bsm_cuda_product);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  bsm_cuda_mma_problem problem;
  bsm_cuda_product params;
  /* What sizes a range has decides about less. */
  if (bsm_cuda_may_specialise(l) &&
      (l->scope == BSM_CUDA_FOR_SIZES ? problem_of_step : problem_of)(
          l->plan, l->step, l->sm, &problem)) {
    BSM_TRY(bsm_cuda_takes_few_rows(l, &problem)
                ? bsm_cuda_launch_few_rows(l, &problem)
                : bsm_cuda_launch_many_rows(l, &problem));
    return add_slots(l, &in_mma, l->step->outputs[0]);
  }
  if (!product_of(l->plan, l->step, &params)) return BSM_OK;
  if (bsm_cuda_has_few_bits(&l->step->params->matrix_multiply)) {
    params.loops = y->dims.rank - 2;
    params.activation = l->step->params->matrix_multiply.epilogue.activation;
    BSM_TRY(bsm_cuda_launch_few_bits(l, &params));
    return add_slots(l, &in_product, l->step->outputs[0]);
  }
  const bsm_cuda_product_kind kind = {
      y->dtype, y->dtype, l->step->params->matrix_multiply.epilogue.activation,
      y->dims.rank - 2};
  BSM_TRY(bsm_cuda_launch_product(l, &params, &kind));
  return add_slots(l, &in_product, l->step->outputs[0]);
}

/* ---- with floats as its result ---- */

/* Elements of a tensor lie in order, without gaps. */
static bool is_dense(const bsm_plan_tensor *t) {
  int64_t stride = 1;
  for (int32_t i = t->dims.rank - 1; i >= 0; i--) {
    if (t->dims.d[i] != 1 && t->strides[i] != stride) return false;
    if (!bsm_i64_mul(stride, t->dims.d[i], &stride)) return false;
  }
  return true;
}

static bool has_as_many(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  uint64_t a_size, b_size;
  return bsm_plan_tensor_extent(a, &a_size) &&
         bsm_plan_tensor_extent(b, &b_size) &&
         a_size / bsm_dtype_size(a->dtype) == b_size / bsm_dtype_size(b->dtype);
}

bool bsm_cuda_is_cast(const bsm_plan *plan, const bsm_plan_step *step,
                      bsm_dtype from) {
  if (step->kind != BSM_STEP_ELEMENT_WISE || step->space != BSM_SPACE_DEVICE ||
      step->input_count != 1) {
    return false;
  }
  const bsm_step_element_wise *p = &step->params->element_wise;
  const bsm_step_ew_instruction *i = &p->program[0];
  return bsm_step_input(plan, step, 0)->dtype == from &&
         (p->instruction_count == 0 ||
          (p->instruction_count == 1 && i->kind == BSM_STEP_EW_CAST &&
           i->a == 0 && p->result == i->dst &&
           (bsm_dtype)i->dtype == bsm_step_output(plan, step, 0)->dtype));
}

/* Makes floats of what lies at `y`, and nothing else. */
static bool is_cast_of(const bsm_plan *plan, const bsm_plan_step *step,
                       const bsm_plan_tensor *y) {
  if (!bsm_cuda_is_cast(plan, step, y->dtype)) return false;
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *out = bsm_step_output(plan, step, 0);
  return out->dtype == BSM_DTYPE_FLOAT && x->place == y->place &&
         x->index == y->index && x->offset == y->offset && is_dense(x) &&
         is_dense(out) && has_as_many(x, y) && has_as_many(x, out);
}

/* Whether elements lie without gaps, in any order. */
static bool has_no_gaps(const bsm_plan_tensor *t) {
  uint64_t size = 0;
  int64_t count = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (!bsm_i64_mul(count, t->dims.d[i], &count)) return false;
  }
  return bsm_plan_tensor_extent(t, &size) &&
         size == (uint64_t)count * bsm_dtype_size(t->dtype);
}

/* What somebody writes to where there are no gaps is read no more after that:
 * the memory is another tensor's. */
bool bsm_cuda_is_read_behind(const bsm_plan *plan, uint32_t index,
                             const bsm_plan_tensor *tensor) {
  const bool whole = has_no_gaps(tensor);
  for (uint32_t s = index + 1; s < plan->step_count; s++) {
    const bsm_plan_step *step = &plan->steps[s];
    bool written = false;
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (bsm_plan_tensors_meet(bsm_step_input(plan, step, i), tensor)) {
        return true;
      }
    }
    for (uint32_t i = 0; i < step->output_count; i++) {
      written |= bsm_plan_tensors_meet(bsm_step_output(plan, step, i), tensor);
    }
    if (written && whole) return false;
  }
  return false;
}

uint32_t bsm_cuda_float_product_steps(const bsm_plan *plan, uint32_t index,
                                      int sm) {
  const bsm_plan_step *step = plan->steps + index;
  bsm_cuda_mma_problem problem;
  if (step->kind != BSM_STEP_MATRIX_MULTIPLY ||
      step->space != BSM_SPACE_DEVICE || plan->step_count - index < 2 ||
      strcmp(step->tactic, BSM_CUDA_PLAIN_TACTIC) == 0) {
    return 0;
  }
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_plan_tensor *out = bsm_step_output(plan, step + 1, 0);
  return (y->dtype == BSM_DTYPE_HALF || y->dtype == BSM_DTYPE_BFLOAT16) &&
                 y->place == BSM_PLACE_WORKSPACE && is_dense(y) &&
                 is_cast_of(plan, step + 1, y) &&
                 !bsm_plan_tensors_meet(out, y) &&
                 !bsm_cuda_is_read_behind(plan, index + 1, y) &&
                 problem_of_step(plan, step, sm, &problem) &&
                 !problem.residual && !problem.lines
             ? 2
             : 0;
}

bsm_status bsm_cuda_launch_float_product(bsm_cuda_launches *l, uint32_t index) {
  const bsm_plan_step *asked = l->step;
  bsm_cuda_mma_problem problem;
  l->step = l->plan->steps + index;
  if (!problem_of_step(l->plan, l->step, l->sm, &problem)) {
    return BSM_FAIL(BSM_INTERNAL, "no product makes floats");
  }
  problem.floats = true;
  problem.vector = false;
  BSM_TRY(bsm_cuda_takes_few_rows(l, &problem)
              ? bsm_cuda_launch_few_rows(l, &problem)
              : bsm_cuda_launch_many_rows(l, &problem));
  BSM_TRY(add_slots(l, &in_mma, l->step[1].outputs[0]));
  l->step = asked;
  return BSM_OK;
}

const bsm_cuda_step_kind bsm_cuda_MATRIX_MULTIPLY = {check, launches, tactics,
                                                     cost};
