/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of several kinds of steps ask. */
#include "backend/checks/checks.h"

bsm_status bsm_check_counts(const bsm_plan_step *step, uint32_t inputs,
                            uint32_t outputs) {
  if (step->input_count != inputs || step->output_count != outputs) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%u inputs and %u outputs where %u and %u are expected",
                    step->input_count, step->output_count, inputs, outputs);
  }
  return BSM_OK;
}

bsm_status bsm_check_dtype(const bsm_plan_tensor *t, bsm_dtype dtype,
                           const char *what) {
  if (t->dtype != dtype) {
    return BSM_FAIL(BSM_CORRUPT, "the %s is %s, not %s", what,
                    bsm_dtype_name(t->dtype), bsm_dtype_name(dtype));
  }
  return BSM_OK;
}

static bsm_status dims_mismatch(const bsm_plan_tensor *a,
                                const bsm_plan_tensor *b, const char *what) {
  return BSM_FAIL(BSM_CORRUPT, "the %s is %s, which does not fit %s", what,
                  bsm_dims_str(a->dims), bsm_dims_str(b->dims));
}

bsm_status bsm_check_same_dims(const bsm_plan_tensor *a,
                               const bsm_plan_tensor *b, const char *what) {
  if (a->dims.rank != b->dims.rank) return dims_mismatch(a, b, what);
  for (int32_t i = 0; i < a->dims.rank; i++) {
    if (a->dims.d[i] != b->dims.d[i]) return dims_mismatch(a, b, what);
  }
  return BSM_OK;
}

bsm_status bsm_check_contiguous(const bsm_plan_tensor *t, const char *what) {
  int64_t expected = 1;
  for (int32_t i = t->dims.rank - 1; i >= 0; i--) {
    if (t->dims.d[i] > 1 && t->strides[i] != expected) {
      return BSM_FAIL(BSM_CORRUPT, "the %s is not contiguous", what);
    }
    expected *= t->dims.d[i] > 1 ? t->dims.d[i] : 1;
  }
  return BSM_OK;
}

bsm_status bsm_check_broadcast(const bsm_plan_tensor *t,
                               const bsm_plan_tensor *to, const char *what) {
  const int32_t shift = to->dims.rank - t->dims.rank;
  if (shift < 0) return dims_mismatch(t, to, what);
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (t->dims.d[i] != 1 && t->dims.d[i] != to->dims.d[i + shift]) {
      return dims_mismatch(t, to, what);
    }
  }
  return BSM_OK;
}

bsm_status bsm_check_weights(const bsm_plan *plan, const bsm_plan_step *step,
                             uint32_t index, uint64_t size) {
  const uint32_t id = step->weights[index];
  if (id == BSM_NO_WEIGHTS || id >= plan->weights_count) {
    return BSM_FAIL(BSM_CORRUPT, "weights %u are missing", index);
  }
  if (plan->weights[id].size != size) {
    return BSM_FAIL(BSM_CORRUPT, "weights %u have %llu bytes, not %llu", index,
                    (unsigned long long)plan->weights[id].size,
                    (unsigned long long)size);
  }
  return BSM_OK;
}

bsm_status bsm_check_axis(const bsm_plan_tensor *t, int32_t axis) {
  if (axis < 0 || axis >= t->dims.rank) {
    return BSM_FAIL(BSM_CORRUPT, "axis %d of a tensor of rank %d", axis,
                    t->dims.rank);
  }
  return BSM_OK;
}

int64_t bsm_plan_numel(const bsm_plan_tensor *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) n *= t->dims.d[i];
  return n;
}

bsm_status bsm_check_epilogue(const bsm_step_epilogue *epilogue) {
  if (epilogue->activation < BSM_ACTIVATION_NONE ||
      epilogue->activation > BSM_ACTIVATION_THRESHOLD) {
    return BSM_FAIL(BSM_CORRUPT, "unknown activation %d", epilogue->activation);
  }
  return BSM_OK;
}
