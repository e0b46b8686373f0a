/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, attention. */
#include "backend/checks/checks.h"
#include "base/checked.h"

/* Batch dimension i (of the output's) of t. */
static int64_t batch_size(const bsm_plan_tensor *t, int32_t rank, int32_t i) {
  const int32_t j = i - (rank - t->dims.rank);
  return j < 0 ? 1 : t->dims.d[j];
}

static bsm_status check_operand(const bsm_plan_tensor *t,
                                const bsm_plan_tensor *c, int64_t rows,
                                int64_t columns, const char *what) {
  BSM_TRY(bsm_check_dtype(t, c->dtype, what));
  const int32_t r = t->dims.rank;
  bool ok = r >= 2 && r <= c->dims.rank && t->dims.d[r - 2] == rows &&
            t->dims.d[r - 1] == columns;
  for (int32_t i = 0; ok && i < c->dims.rank - 2; i++) {
    const int64_t d = batch_size(t, c->dims.rank, i);
    ok = d == 1 || d == c->dims.d[i];
  }
  if (!ok) {
    return BSM_FAIL(BSM_CORRUPT, "%s is %s, the output %s", what,
                    bsm_dims_str(t->dims), bsm_dims_str(c->dims));
  }
  return BSM_OK;
}

bsm_status bsm_check_matrices(const bsm_plan *plan, const bsm_plan_step *step,
                              bsm_dtype dtype) {
  const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
  const size_t element = bsm_dtype_size(dtype);
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_check_counts(
      step, 1u + (p->constant_b ? 0u : 1u) + (has_residual ? 1u : 0u), 1));
  BSM_TRY(bsm_check_epilogue(&p->epilogue));
  const bsm_plan_tensor *a = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *c = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(c, dtype, "output"));
  const int32_t rank = c->dims.rank;
  if (rank < 2 || a->dims.rank < 2) {
    return BSM_FAIL(BSM_CORRUPT, "ranks %d and %d", a->dims.rank, rank);
  }
  const int64_t m = c->dims.d[rank - 2], n = c->dims.d[rank - 1];
  const int64_t k = a->dims.d[a->dims.rank - 1];
  if (n > 1 && c->strides[rank - 1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the columns of the output are not adjacent");
  }
  BSM_TRY(check_operand(a, c, m, k, "the first matrix"));
  if (p->constant_b) {
    if (p->k != k || p->n != n) {
      return BSM_FAIL(BSM_CORRUPT, "%lld x %lld weights for %s",
                      (long long)p->k, (long long)p->n, bsm_dims_str(a->dims));
    }
  } else {
    BSM_TRY(check_operand(bsm_step_input(plan, step, 1), c, k, n,
                          "the second matrix"));
  }
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_check_weights(plan, step, 1, (uint64_t)n * element));
  }
  if (has_residual) {
    const bsm_plan_tensor *r =
        bsm_step_input(plan, step, step->input_count - 1);
    BSM_TRY(check_operand(r, c, m, n, "the residual"));
    if (n > 1 && r->strides[r->dims.rank - 1] != 1) {
      return BSM_FAIL(BSM_CORRUPT,
                      "the columns of the residual are not adjacent");
    }
  }
  return BSM_OK;
}

static bsm_status misfit(const char *what, const bsm_plan_tensor *t,
                         const bsm_plan_tensor *y) {
  return BSM_FAIL(BSM_CORRUPT, "%s is %s, the output %s", what,
                  bsm_dims_str(t->dims), bsm_dims_str(y->dims));
}

/* [.., rows, columns] with the leading dimensions of the output. */
static bsm_status check_tensor(const bsm_plan_tensor *t,
                               const bsm_plan_tensor *y, bsm_dtype dtype,
                               int64_t rows, int64_t columns,
                               const char *what) {
  BSM_TRY(bsm_check_dtype(t, dtype, what));
  const int32_t r = y->dims.rank;
  if (t->dims.rank != r) return misfit(what, t, y);
  for (int32_t i = 0; i < r - 2; i++) {
    if (t->dims.d[i] != y->dims.d[i]) return misfit(what, t, y);
  }
  if (t->dims.d[r - 2] != rows || t->dims.d[r - 1] != columns) {
    return misfit(what, t, y);
  }
  return BSM_OK;
}

/* A matrix of keys or values has a place for each of its elements: a device
 * that packs it needs no more memory than there is. */
static bsm_status check_places(const bsm_plan_tensor *t, const char *what) {
  const int32_t r = t->dims.rank;
  const int64_t rows = t->dims.d[r - 2], columns = t->dims.d[r - 1];
  int64_t down, across, reach;
  if (rows == 0 || columns == 0) return BSM_OK;
  if (!bsm_i64_mul(rows - 1, t->strides[r - 2], &down) ||
      !bsm_i64_mul(columns - 1, t->strides[r - 1], &across) ||
      !bsm_i64_add(down, across, &reach) || reach < rows * columns - 1) {
    return BSM_FAIL(BSM_CORRUPT, "elements of %s share a place", what);
  }
  return BSM_OK;
}

bsm_status bsm_check_attention(const bsm_plan *plan, const bsm_plan_step *step,
                               bsm_dtype dtype) {
  const bsm_step_attention *p = &step->params->attention;
  if (p->biases < 0 || p->biases > BSM_MAX_ATTENTION_BIASES || p->mask < 0 ||
      p->mask > BSM_ATTENTION_HIDE) {
    return BSM_FAIL(BSM_CORRUPT, "%d biases and mask %d", p->biases, p->mask);
  }
  const uint32_t biases = (uint32_t)p->biases;
  BSM_TRY(bsm_check_counts(step, 3u + biases + (p->mask ? 1u : 0u), 1));
  const bsm_plan_tensor *q = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *k = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *v = bsm_step_input(plan, step, 2);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const int32_t r = y->dims.rank;
  if (r < 2 || q->dims.rank != r || k->dims.rank != r) {
    return BSM_FAIL(BSM_CORRUPT, "ranks %d, %d and %d", q->dims.rank,
                    k->dims.rank, r);
  }
  const int64_t queries = y->dims.d[r - 2], width = y->dims.d[r - 1];
  const int64_t depth = q->dims.d[r - 1], keys = k->dims.d[r - 2];
  BSM_TRY(bsm_check_dtype(y, dtype, "output"));
  if (width > 1 && y->strides[r - 1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the columns of the output are not adjacent");
  }
  BSM_TRY(check_tensor(q, y, dtype, queries, depth, "the query"));
  BSM_TRY(check_tensor(k, y, dtype, keys, depth, "the key"));
  BSM_TRY(check_tensor(v, y, dtype, keys, width, "the value"));
  BSM_TRY(check_places(k, "the key"));
  BSM_TRY(check_places(v, "the value"));
  for (uint32_t i = 0; i < biases; i++) {
    BSM_TRY(check_tensor(bsm_step_input(plan, step, 3 + i), y, dtype, queries,
                         keys, "the bias"));
  }
  if (p->mask) {
    BSM_TRY(check_tensor(bsm_step_input(plan, step, 3 + biases), y,
                         BSM_DTYPE_BOOL, queries, keys, "the mask"));
  }
  return BSM_OK;
}
