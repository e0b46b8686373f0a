/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of recurrent networks. */
#include "backend/checks/checks.h"
#include "base/checked.h"

#define LIMIT ((int64_t)1 << 40) /* of each size */

int64_t bsm_recurrent_gates(int32_t operation) {
  switch ((bsm_recurrent_operation)operation) {
    case BSM_RECURRENT_LSTM:
      return 4;
    case BSM_RECURRENT_GRU:
      return 3;
    case BSM_RECURRENT_TANH:
    case BSM_RECURRENT_RELU:
      return 1;
  }
  return 0;
}

static bsm_status check_matrix(int64_t rows, int64_t columns) {
  int64_t count;
  if (bsm_i64_mul(rows, columns, &count) && count <= BSM_MAX_ELEMENTS) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_CORRUPT, "a matrix of %lld x %lld", (long long)rows,
                  (long long)columns);
}

bsm_status bsm_check_recurrent_sizes(const bsm_step_recurrent *p) {
  const int64_t gates = bsm_recurrent_gates(p->operation);
  if (gates == 0 || p->directions < 1 || p->directions > 2 || p->input < 0 ||
      p->input > LIMIT || p->hidden < 1 || p->hidden > LIMIT ||
      p->projection < 0 || p->projection > LIMIT ||
      (p->projection && p->operation != BSM_RECURRENT_LSTM)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "recurrent operation %d in %d directions: %lld inputs, "
                    "%lld hidden units, %lld projected",
                    p->operation, p->directions, (long long)p->input,
                    (long long)p->hidden, (long long)p->projection);
  }
  const int64_t state = p->projection ? p->projection : p->hidden;
  BSM_TRY(check_matrix(gates * p->hidden, p->input));
  BSM_TRY(check_matrix(gates * p->hidden, state));
  return check_matrix(p->projection, p->hidden);
}

static bsm_status check_tensor(const bsm_plan_tensor *t, bsm_dims want,
                               bsm_dtype dtype, const char *what) {
  bool same = t->dims.rank == want.rank;
  for (int32_t i = 0; same && i < want.rank; i++) {
    same = t->dims.d[i] == want.d[i];
  }
  if (same) return bsm_check_dtype(t, dtype, what);
  return BSM_FAIL(BSM_CORRUPT, "the %s is %s, not %s", what,
                  bsm_dims_str(t->dims), bsm_dims_str(want));
}

bsm_status bsm_check_recurrent(const bsm_plan *plan, const bsm_plan_step *step,
                               bsm_dtype dtype) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  const uint32_t count = p->operation == BSM_RECURRENT_LSTM ? 3 : 2;
  BSM_TRY(bsm_check_recurrent_sizes(p));
  BSM_TRY(bsm_check_counts(step, count, count));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, dtype, "input"));
  if (x->dims.rank != 3 || x->dims.d[2] != p->input) {
    return BSM_FAIL(BSM_CORRUPT, "the input is %s, not [T, B, %lld]",
                    bsm_dims_str(x->dims), (long long)p->input);
  }
  const int64_t t = x->dims.d[0], b = x->dims.d[1], d = p->directions;
  const int64_t state = p->projection ? p->projection : p->hidden;
  const bsm_dims h = {3, {d, b, state}}, c = {3, {d, b, p->hidden}};
  const bsm_dims all = {3, {t, b, d * state}};
  BSM_TRY(check_tensor(y, all, dtype, "output"));
  BSM_TRY(
      check_tensor(bsm_step_input(plan, step, 1), h, dtype, "hidden state"));
  BSM_TRY(check_tensor(bsm_step_output(plan, step, 1), h, dtype,
                       "last hidden state"));
  if (count == 3) {
    BSM_TRY(
        check_tensor(bsm_step_input(plan, step, 2), c, dtype, "cell state"));
    BSM_TRY(check_tensor(bsm_step_output(plan, step, 2), c, dtype,
                         "last cell state"));
  }
  if (y->strides[2] != 1 && y->dims.d[2] > 1) {
    return BSM_FAIL(BSM_CORRUPT, "the output's last stride is %lld",
                    (long long)y->strides[2]);
  }
  if (step->weights[1] == BSM_NO_WEIGHTS) return BSM_OK;
  return bsm_check_weights(plan, step, 1, (uint64_t)b * sizeof(int64_t));
}
