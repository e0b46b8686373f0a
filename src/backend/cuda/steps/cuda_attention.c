/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on a GPU. */
#include "aten/tensor.h"
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define THREADS 128
#define MAX_BLOCKS 65536

enum { OUT, Q, K, V, BIAS, MASK = BIAS + 2 };

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  if (!bsm_dtype_is_floating(y->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "attention of %s", bsm_dtype_name(y->dtype));
  }
  BSM_TRY(bsm_check_attention(plan, step, y->dtype));
  const int64_t width = y->dims.d[y->dims.rank - 1];
  return width <= BSM_CUDA_MAX_ATTENTION_WIDTH
             ? BSM_OK
             : BSM_FAIL(BSM_UNSUPPORTED,
                        "attention to values of %lld numbers, more than %d",
                        (long long)width, BSM_CUDA_MAX_ATTENTION_WIDTH);
}

static void set_operand(bsm_cuda_attention *a, int k,
                        const bsm_plan_tensor *t) {
  const int rank = t->dims.rank;
  for (int i = 0; i < rank - 2; i++) {
    a->head_strides[k][i] = t->dims.d[i] == 1 ? 0 : t->strides[i];
  }
  a->row[k] = t->dims.d[rank - 2] == 1 ? 0 : t->strides[rank - 2];
  a->column[k] = t->dims.d[rank - 1] == 1 ? 0 : t->strides[rank - 1];
}

/* Far enough for any tensor, and sums with rows fit. */
static int64_t clamp_diagonal(int64_t d) {
  return d < -BSM_MAX_ELEMENTS  ? -BSM_MAX_ELEMENTS
         : d > BSM_MAX_ELEMENTS ? BSM_MAX_ELEMENTS
                                : d;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_attention *p = &l->step->params->attention;
  const bsm_plan_tensor *q = bsm_cuda_input(l, 0), *k = bsm_cuda_input(l, 1);
  const bsm_plan_tensor *y = bsm_cuda_output(l, 0);
  const int rank = y->dims.rank;
  bsm_cuda_attention a = {.heads = 1,
                          .queries = y->dims.d[rank - 2],
                          .keys = k->dims.d[rank - 2],
                          .depth = q->dims.d[rank - 1],
                          .width = y->dims.d[rank - 1],
                          .diagonal = clamp_diagonal(p->diagonal),
                          .loops = rank - 2,
                          .biases = p->biases,
                          .mask = p->mask,
                          .causal = p->causal != 0,
                          .clears = p->clears_hidden != 0,
                          .scale = p->scale,
                          .fill = p->fill};
  uint32_t ids[BSM_CUDA_ATTENTION_OPERANDS] = {l->step->outputs[0]};
  bool has[BSM_CUDA_ATTENTION_OPERANDS] = {true};
  for (uint32_t i = 0; i < l->step->input_count; i++) {
    const bool is_mask = p->mask && i == l->step->input_count - 1;
    const uint32_t at = is_mask ? MASK : Q + i;
    ids[at] = l->step->inputs[i];
    has[at] = true;
  }
  for (int i = 0; i < BSM_CUDA_ATTENTION_OPERANDS; i++) {
    if (has[i]) set_operand(&a, i, &l->plan->tensors[ids[i]]);
  }
  for (int i = 0; i < rank - 2; i++) {
    a.head_sizes[i] = y->dims.d[i];
    a.heads *= y->dims.d[i];
  }
  if (a.heads == 0 || a.queries == 0 || a.width == 0) return BSM_OK;
  BSM_TRY(bsm_cuda_add_launch(l, "attention", "attention", &a, sizeof(a),
                              "--fmad=false -DK_T=%s",
                              bsm_cuda_type(y->dtype)));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_STEP,
      "-DK_BIASES=%d -DK_MASK=%d -DK_CAUSAL=%d -DK_CLEARS=%d", p->biases,
      p->mask, p->causal != 0, p->clears_hidden != 0));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES,
                               "-DK_HEADS=%d -DK_COLUMNS=%d", rank - 2,
                               (int)((a.width + THREADS - 1) / THREADS)));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)(a.heads * a.queries), 1, MAX_BLOCKS), 1, 1);
  for (size_t i = 0; i < BSM_CUDA_ATTENTION_OPERANDS; i++) {
    if (!has[i]) continue;
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_attention, address) + i * sizeof(uint64_t), ids[i]));
  }
  return BSM_OK;
}

const bsm_cuda_step_kind bsm_cuda_ATTENTION = {check, launches};
