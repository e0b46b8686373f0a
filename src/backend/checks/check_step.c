/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps have to be like. */
#include "aten/tensor.h"
#include "backend/checks/checks.h"
#include "base/checked.h"

/* A copy without conversion moves elements of any dtype. */
static bool only_moves(const bsm_plan *plan, const bsm_plan_step *step) {
  return step->kind == BSM_STEP_COPY && step->input_count == 1 &&
         step->output_count == 1 &&
         bsm_step_input(plan, step, 0)->dtype ==
             bsm_step_output(plan, step, 0)->dtype;
}

/* Floats of 8 bits are made, multiplied and read as floats again. */
static bool takes_float8(const bsm_plan_step *step, bsm_dtype dtype) {
  return dtype == BSM_DTYPE_FLOAT8_E4M3FN &&
         (step->kind == BSM_STEP_ELEMENT_WISE ||
          step->kind == BSM_STEP_NORMALIZATION ||
          step->kind == BSM_STEP_INT8_CONVOLUTION);
}

/* Whether the driver of a step computes with elements of a dtype. */
static bool computes(const bsm_plan_step *step, bsm_dtype dtype) {
  if (bsm_dtype_is_float8(dtype)) return takes_float8(step, dtype);
  return bsm_dtype_is_floating(dtype) || bsm_dtype_is_integral(dtype, true);
}

/* Elements. Of dims with no or one element strides may be anything; sums of
 * their products with strides of windows (up to 2^20) are computed anyway. */
#define MAX_STRIDE (INT64_C(1) << 40)

/* What every driver relies on: known dtypes, sizes whose products do not
 * overflow, strides that are not negative and do not overflow either. */
static bsm_status check_tensor(const bsm_plan_step *step,
                               const bsm_plan_tensor *t, bool any_dtype) {
  if (bsm_dtype_size(t->dtype) == 0 ||
      (!any_dtype && !computes(step, t->dtype))) {
    return BSM_FAIL(BSM_CORRUPT, "dtype %d cannot be computed with",
                    (int)t->dtype);
  }
  if (t->dims.rank < 0 || t->dims.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_CORRUPT, "rank %d", t->dims.rank);
  }
  int64_t n = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const int64_t d = t->dims.d[i];
    if (d < 0 || t->strides[i] < 0 || d > BSM_MAX_ELEMENTS ||
        t->strides[i] > MAX_STRIDE || !bsm_i64_mul(n, d > 0 ? d : 1, &n) ||
        n > BSM_MAX_ELEMENTS) {
      return BSM_FAIL(BSM_CORRUPT, "sizes %s or their strides are too large",
                      bsm_dims_str(t->dims));
    }
  }
  return BSM_OK;
}

/* An output has a place of its own for every element, so that threads never
 * write to the same one: taken by growing stride, each dimension steps over all
 * that the smaller ones reach. check_tensor has bounded the products. */
static bsm_status check_output(const bsm_plan_tensor *t) {
  if (t->place != BSM_PLACE_OUTPUT && t->place != BSM_PLACE_WORKSPACE) {
    return BSM_FAIL(BSM_CORRUPT, "output '%s' lies in read-only memory",
                    t->name ? t->name : "");
  }
  bool taken[BSM_MAX_RANK] = {false};
  int64_t reach = 0; /* of the dimensions taken, in elements */
  for (int32_t n = 0; n < t->dims.rank; n++) {
    int32_t next = -1;
    for (int32_t i = 0; i < t->dims.rank; i++) {
      if (t->dims.d[i] == 0) return BSM_OK;
      if (!taken[i] && t->dims.d[i] > 1 &&
          (next < 0 || t->strides[i] < t->strides[next])) {
        next = i;
      }
    }
    if (next < 0) break;
    int64_t span;
    if (t->strides[next] <= reach) {
      return BSM_FAIL(BSM_CORRUPT, "elements of the output share a place");
    }
    if (!bsm_i64_mul(t->dims.d[next] - 1, t->strides[next], &span) ||
        !bsm_i64_add(reach, span, &reach)) {
      return BSM_FAIL(BSM_CORRUPT, "strides of the output are too large");
    }
    taken[next] = true;
  }
  return BSM_OK;
}

bsm_status bsm_check_step(const bsm_plan *plan, const bsm_plan_step *step) {
  if (!step->params || step->input_count > BSM_STEP_MAX_TENSORS ||
      step->output_count > BSM_STEP_MAX_TENSORS || step->output_count == 0) {
    return BSM_FAIL(BSM_CORRUPT, "a step without parameters or outputs");
  }
  const bool any = only_moves(plan, step);
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY_NOTE(check_tensor(step, bsm_step_input(plan, step, i), any),
                 "input %u", i);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    BSM_TRY_NOTE(check_tensor(step, bsm_step_output(plan, step, i), any),
                 "output %u", i);
    BSM_TRY_NOTE(check_output(bsm_step_output(plan, step, i)), "output %u", i);
  }
  return BSM_OK;
}

bsm_status bsm_check_note(bsm_status status, const bsm_plan_step *step) {
  const char *kind = bsm_step_kind_name(step->kind);
  return bsm_status_note(status, "in %s step '%s'", kind ? kind : "an unknown",
                         step->name ? step->name : "");
}
