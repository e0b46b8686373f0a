/* SPDX-License-Identifier: Apache-2.0 */
/* Padding and resizing. */
#include "backend/checks/checks.h"

bsm_status bsm_check_pad(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_pad *p = &step->params->pad;
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, y->dtype, "input"));
  if (x->dims.rank != y->dims.rank || p->mode < BSM_PADDING_CONSTANT ||
      p->mode > BSM_PADDING_CIRCULAR) {
    return BSM_FAIL(BSM_CORRUPT, "mode %d, input %s, output %s", p->mode,
                    bsm_dims_str(x->dims), bsm_dims_str(y->dims));
  }
  for (int32_t i = 0; i < y->dims.rank; i++) {
    const int64_t n = x->dims.d[i], s = p->start[i];
    if (s < -BSM_MAX_ELEMENTS || s > BSM_MAX_ELEMENTS ||
        y->dims.d[i] > ((int64_t)1 << 31)) {
      return BSM_FAIL(BSM_CORRUPT, "dimension %d starts at %lld", i,
                      (long long)s);
    }
    if (p->mode == BSM_PADDING_CONSTANT || bsm_plan_numel(y) == 0) continue;
    const int64_t before = -s, after = s + y->dims.d[i] - n;
    const int64_t most = p->mode == BSM_PADDING_REFLECT    ? n - 1
                         : p->mode == BSM_PADDING_CIRCULAR ? n
                                                           : INT64_MAX;
    if (n < 1 || before > most || after > most) {
      return BSM_FAIL(BSM_CORRUPT, "%lld and %lld elements around %lld",
                      (long long)before, (long long)after, (long long)n);
    }
  }
  return BSM_OK;
}

bsm_status bsm_check_resize(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_resize *p = &step->params->resize;
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, y->dtype, "input"));
  const int32_t rank = x->dims.rank;
  bool ok = p->mode >= BSM_RESIZE_NEAREST &&
            p->mode <= BSM_RESIZE_NEAREST_EXACT && p->spatial >= 1 &&
            p->spatial <= 3 && p->spatial <= rank && y->dims.rank == rank;
  for (int32_t i = 0; ok && i < rank; i++) {
    const int64_t in = x->dims.d[i], out = y->dims.d[i];
    ok = i < rank - p->spatial
             ? in == out
             : (in > 0 || out == 0) && in < ((int64_t)1 << 31) &&
                   out < ((int64_t)1 << 31);
  }
  for (int i = 0; ok && i < p->spatial; i++) {
    ok = p->scales[i] >= 0.0; /* rejects NaN */
  }
  if (!ok) {
    return BSM_FAIL(BSM_CORRUPT, "mode %d, %d dimensions, %s to %s", p->mode,
                    p->spatial, bsm_dims_str(x->dims), bsm_dims_str(y->dims));
  }
  return BSM_OK;
}

/* Whether the grid has places for the output, and a coordinate for each spatial
 * dimension of the image. */
static bool sample_fits(const bsm_dims *x, const bsm_dims *grid,
                        const bsm_dims *y) {
  const int32_t rank = x->rank;
  bool ok = (rank == 4 || rank == 5) && grid->rank == rank && y->rank == rank &&
            grid->d[0] == x->d[0] && grid->d[rank - 1] == rank - 2 &&
            y->d[0] == x->d[0] && y->d[1] == x->d[1];
  for (int32_t i = 2; ok && i < rank; i++) {
    ok = x->d[i] > 0 && x->d[i] < BSM_SAMPLE_MAX_SIZE &&
         y->d[i] == grid->d[i - 1];
  }
  return ok;
}

bsm_status bsm_check_sample(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_sample *p = &step->params->sample;
  BSM_TRY(bsm_check_counts(step, 2, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *grid = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(grid, x->dtype, "grid"));
  BSM_TRY(bsm_check_dtype(y, x->dtype, "output"));
  BSM_TRY(bsm_check_contiguous(grid, "grid"));
  const int32_t most = x->dims.rank > 4 ? BSM_RESIZE_LINEAR : BSM_RESIZE_CUBIC;
  if (p->mode < BSM_RESIZE_NEAREST || p->mode > most ||
      p->padding < BSM_SAMPLE_ZEROS || p->padding > BSM_SAMPLE_REFLECTION ||
      !sample_fits(&x->dims, &grid->dims, &y->dims)) {
    return BSM_FAIL(BSM_CORRUPT, "mode %d, padding %d, %s at %s to %s", p->mode,
                    p->padding, bsm_dims_str(x->dims), bsm_dims_str(grid->dims),
                    bsm_dims_str(y->dims));
  }
  return BSM_OK;
}
