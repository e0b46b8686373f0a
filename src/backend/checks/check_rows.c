/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalisation, reductions, top-k, scans. */
#include "aten/tensor.h"
#include "backend/checks/checks.h"

bsm_status bsm_check_softmax(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_same_dims(x, y, "input"));
  BSM_TRY(bsm_check_axis(x, step->params->softmax.axis));
  if (!bsm_dtype_is_floating(x->dtype) || !bsm_dtype_is_floating(y->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "softmax of %s to %s",
                    bsm_dtype_name(x->dtype), bsm_dtype_name(y->dtype));
  }
  return BSM_OK;
}

/* The output of bytes, and the grid that it is on. */
static bsm_status check_bytes(const bsm_plan *plan, const bsm_plan_step *step,
                              uint32_t input) {
  const bsm_plan_tensor *grid = bsm_step_input(plan, step, input);
  const bsm_plan_tensor *bytes = bsm_step_output(plan, step, 1);
  BSM_TRY(bsm_check_dtype(bytes,
                          bytes->dtype == BSM_DTYPE_FLOAT8_E4M3FN
                              ? BSM_DTYPE_FLOAT8_E4M3FN
                              : BSM_DTYPE_UINT8,
                          "output of bytes"));
  BSM_TRY(bsm_check_dtype(grid, BSM_DTYPE_FLOAT, "grid"));
  BSM_TRY(bsm_check_same_dims(bytes, bsm_step_output(plan, step, 0), "bytes"));
  return grid->dims.rank == 1 && grid->dims.d[0] == 4 && grid->strides[0] == 1
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "a grid of %s", bsm_dims_str(grid->dims));
}

bsm_status bsm_check_normalization(const bsm_plan *plan,
                                   const bsm_plan_step *step) {
  const bsm_step_normalization *p = &step->params->normalization;
  const uint32_t quantizes = step->output_count == 2;
  const uint32_t floats =
      1u + (p->has_scale ? 1u : 0u) + (p->has_bias ? 1u : 0u);
  BSM_TRY(bsm_check_counts(step, floats + quantizes, 1 + quantizes));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_same_dims(x, y, "input"));
  const int32_t rank = x->dims.rank;
  if ((rank < 32 && p->axes >> rank != 0) || p->groups < 1 ||
      (p->groups > 1 &&
       (rank < 2 || rank == BSM_MAX_RANK || x->dims.d[1] % p->groups))) {
    return BSM_FAIL(BSM_CORRUPT, "axes %#x, %lld groups of %s", p->axes,
                    (long long)p->groups, bsm_dims_str(x->dims));
  }
  if (quantizes) BSM_TRY(check_bytes(plan, step, floats));
  for (uint32_t i = 0; i <= floats; i++) {
    const bsm_plan_tensor *t = i < floats ? bsm_step_input(plan, step, i) : y;
    if (!bsm_dtype_is_floating(t->dtype) || bsm_dtype_is_float8(t->dtype)) {
      return BSM_FAIL(BSM_CORRUPT, "normalisation of %s",
                      bsm_dtype_name(t->dtype));
    }
    BSM_TRY(bsm_check_broadcast(t, x, "scale or bias"));
  }
  return BSM_OK;
}

bsm_status bsm_check_reduce(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_reduce *p = &step->params->reduce;
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  bool ok = p->operation >= BSM_REDUCE_SUM &&
            p->operation <= BSM_REDUCE_VARIANCE && p->axes >> x->dims.rank == 0;
  int32_t rank = 0;
  for (int32_t i = 0; ok && i < x->dims.rank; i++) {
    const bool reduced = p->axes >> i & 1u;
    if (reduced && !p->keep_dims) continue;
    ok = rank < y->dims.rank && y->dims.d[rank] == (reduced ? 1 : x->dims.d[i]);
    if (reduced && x->dims.d[i] == 0 &&
        (p->operation == BSM_REDUCE_MAX || p->operation == BSM_REDUCE_MIN)) {
      ok = false;
    }
    rank++;
  }
  if (!ok || rank != y->dims.rank) {
    return BSM_FAIL(BSM_CORRUPT, "operation %d, axes %#x of %s to %s",
                    p->operation, p->axes, bsm_dims_str(x->dims),
                    bsm_dims_str(y->dims));
  }
  return BSM_OK;
}

bsm_status bsm_check_top_k(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_top_k *p = &step->params->top_k;
  BSM_TRY(bsm_check_counts(step, 1, 2));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *v = bsm_step_output(plan, step, 0);
  const bsm_plan_tensor *i = bsm_step_output(plan, step, 1);
  BSM_TRY(bsm_check_axis(x, p->axis));
  BSM_TRY(bsm_check_dtype(v, x->dtype, "values"));
  BSM_TRY(bsm_check_dtype(i, BSM_DTYPE_INT64, "indices"));
  bsm_plan_tensor expected = *x;
  if (p->k < 0 || p->k > x->dims.d[p->axis]) {
    return BSM_FAIL(BSM_CORRUPT, "%lld of %lld elements", (long long)p->k,
                    (long long)x->dims.d[p->axis]);
  }
  expected.dims.d[p->axis] = p->k;
  BSM_TRY(bsm_check_same_dims(v, &expected, "values"));
  return bsm_check_same_dims(i, &expected, "indices");
}

bsm_status bsm_check_scan(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_scan *p = &step->params->scan;
  const bool has_indices =
      p->operation == BSM_SCAN_MAX || p->operation == BSM_SCAN_MIN;
  BSM_TRY(bsm_check_counts(step, 1, has_indices ? 2 : 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_axis(x, p->axis));
  BSM_TRY(bsm_check_dtype(y, x->dtype, "values"));
  BSM_TRY(bsm_check_same_dims(y, x, "values"));
  if (p->operation < BSM_SCAN_SUM || p->operation > BSM_SCAN_LOG_SUM_EXP ||
      x->dtype == BSM_DTYPE_BOOL ||
      (p->operation == BSM_SCAN_LOG_SUM_EXP &&
       !bsm_dtype_is_floating(x->dtype))) {
    return BSM_FAIL(BSM_CORRUPT, "scan: operation %d of %s", p->operation,
                    bsm_dtype_name(x->dtype));
  }
  if (!has_indices) return BSM_OK;
  const bsm_plan_tensor *i = bsm_step_output(plan, step, 1);
  BSM_TRY(bsm_check_dtype(i, BSM_DTYPE_INT64, "indices"));
  return bsm_check_same_dims(i, x, "indices");
}
