/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and scatter. */
#include "aten/regions.h"
#include "aten/tensor.h"
#include "backend/checks/checks.h"

static bool same_run(const bsm_dims *a, int32_t a_first, const bsm_dims *b,
                     int32_t b_first, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (a->d[a_first + i] != b->d[b_first + i]) return false;
  }
  return true;
}

static bsm_status mismatch(const bsm_plan_tensor *x, const bsm_plan_tensor *i,
                           const bsm_plan_tensor *y) {
  return BSM_FAIL(BSM_CORRUPT, "data %s with indices %s does not give %s",
                  bsm_dims_str(x->dims), bsm_dims_str(i->dims),
                  bsm_dims_str(y->dims));
}

static bool gather_fits(const bsm_step_gather *p, const bsm_plan_tensor *x,
                        const bsm_plan_tensor *i, const bsm_plan_tensor *y) {
  const int32_t xr = x->dims.rank, ir = i->dims.rank, yr = y->dims.rank;
  if (p->mode == BSM_GATHER_DEFAULT || p->mode == BSM_GATHER_SELECT) {
    return p->axis >= 0 && p->axis < xr && yr == xr - 1 + ir &&
           same_run(&y->dims, 0, &x->dims, 0, p->axis) &&
           same_run(&y->dims, p->axis, &i->dims, 0, ir) &&
           same_run(&y->dims, p->axis + ir, &x->dims, p->axis + 1,
                    xr - 1 - p->axis);
  }
  if (p->mode == BSM_GATHER_ELEMENT) {
    if (p->axis < 0 || p->axis >= xr || ir != xr || yr != xr ||
        !same_run(&y->dims, 0, &i->dims, 0, yr)) {
      return false;
    }
    for (int32_t d = 0; d < xr; d++) {
      if (d != p->axis && i->dims.d[d] > x->dims.d[d]) return false;
    }
    return true;
  }
  if (p->mode != BSM_GATHER_ND || ir < 1) return false;
  const int64_t k = i->dims.d[ir - 1];
  return k >= 0 && k <= xr && yr == ir - 1 + xr - (int32_t)k &&
         same_run(&y->dims, 0, &i->dims, 0, ir - 1) &&
         same_run(&y->dims, ir - 1, &x->dims, (int32_t)k, xr - (int32_t)k);
}

bsm_status bsm_check_gather(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_counts(step, 2, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *i = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, y->dtype, "data"));
  if (i->dtype != BSM_DTYPE_INT64 && i->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_CORRUPT, "the indices are %s",
                    bsm_dtype_name(i->dtype));
  }
  return gather_fits(&step->params->gather, x, i, y) ? BSM_OK
                                                     : mismatch(x, i, y);
}

static bool scatter_fits(const bsm_step_scatter *p, const bsm_dims *x,
                         const bsm_dims *i, const bsm_dims *u) {
  if (p->axis < 0 || p->axis > x->rank) return false;
  if (p->mode == BSM_SCATTER_ELEMENT) {
    if (p->axis >= x->rank || i->rank != x->rank || u->rank != x->rank ||
        !same_run(u, 0, i, 0, x->rank)) {
      return false;
    }
    for (int32_t d = 0; d < x->rank; d++) {
      if (d != p->axis && i->d[d] > x->d[d]) return false;
    }
    return true;
  }
  if (p->mode != BSM_SCATTER_ND || i->rank < 1) return false;
  const int64_t depth = i->d[i->rank - 1];
  if (depth < 1 || depth > x->rank - p->axis) return false;
  const int32_t rest = p->axis + (int32_t)depth;
  return u->rank == i->rank - 1 + x->rank - (int32_t)depth &&
         same_run(u, 0, x, 0, p->axis) &&
         same_run(u, p->axis, i, 0, i->rank - 1) &&
         same_run(u, p->axis + i->rank - 1, x, rest, x->rank - rest);
}

bsm_status bsm_check_scatter(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_scatter *p = &step->params->scatter;
  BSM_TRY(bsm_check_counts(step, 3, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *i = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *u = bsm_step_input(plan, step, 2);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, y->dtype, "data"));
  BSM_TRY(bsm_check_dtype(u, y->dtype, "updates"));
  BSM_TRY(bsm_check_same_dims(x, y, "data"));
  if (i->dtype != BSM_DTYPE_INT64 && i->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_CORRUPT, "the indices are %s",
                    bsm_dtype_name(i->dtype));
  }
  if (p->reduction < BSM_SCATTER_ASSIGN || p->reduction > BSM_SCATTER_MAX) {
    return BSM_FAIL(BSM_CORRUPT, "reduction %d", (int)p->reduction);
  }
  if (!scatter_fits(p, &x->dims, &i->dims, &u->dims)) {
    return BSM_FAIL(BSM_CORRUPT, "indices %s with updates %s do not fit %s",
                    bsm_dims_str(i->dims), bsm_dims_str(u->dims),
                    bsm_dims_str(x->dims));
  }
  return BSM_OK;
}

bsm_status bsm_check_non_zero(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_contiguous(x, "input"));
  BSM_TRY(bsm_check_contiguous(y, "output"));
  BSM_TRY(bsm_check_dtype(y, BSM_DTYPE_INT64, "output"));
  if (y->dims.rank != 1 || y->dims.d[0] != bsm_plan_numel(x)) {
    return BSM_FAIL(BSM_CORRUPT, "places of %s in %s", bsm_dims_str(x->dims),
                    bsm_dims_str(y->dims));
  }
  return BSM_OK;
}

bsm_status bsm_check_nms(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_contiguous(x, "input"));
  BSM_TRY(bsm_check_contiguous(y, "output"));
  BSM_TRY(bsm_check_dtype(y, BSM_DTYPE_BOOL, "output"));
  if (x->dims.rank != 2 || x->dims.d[1] != 4 || y->dims.rank != 1 ||
      y->dims.d[0] != x->dims.d[0] || !bsm_dtype_is_floating(x->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "boxes %s%s kept in %s",
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims),
                    bsm_dims_str(y->dims));
  }
  return BSM_OK;
}

static bool regions_fit(const bsm_step_regions *p, const bsm_dims *x,
                        const bsm_dims *r, const bsm_dims *y) {
  const int64_t most = BSM_REGION_MAX_BINS;
  if (x->rank != 4 || r->rank != 2 || r->d[1] != 5 || y->rank != 4 ||
      y->d[0] != r->d[0] || y->d[2] <= 0 || y->d[2] > most || y->d[3] <= 0 ||
      y->d[3] > most) {
    return false;
  }
  const int64_t each = p->grouped ? y->d[2] * y->d[3] : 1;
  return x->d[1] % each == 0 && x->d[1] / each == y->d[1];
}

bsm_status bsm_check_regions(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_regions *p = &step->params->regions;
  const bool has_places = p->whole && !p->grouped;
  BSM_TRY(bsm_check_counts(step, 2, has_places ? 2 : 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *r = bsm_step_input(plan, step, 1);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_contiguous(r, "regions"));
  BSM_TRY(bsm_check_dtype(r, BSM_DTYPE_DOUBLE, "regions"));
  BSM_TRY(bsm_check_contiguous(y, "output"));
  BSM_TRY(bsm_check_dtype(y, x->dtype, "output"));
  if (!bsm_dtype_is_floating(x->dtype) ||
      p->samples > BSM_REGION_MAX_TOLD_SAMPLES || p->dtype < 0 ||
      !bsm_dtype_is_floating((bsm_dtype)p->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "%lld samples of %s in bins of dtype %d",
                    (long long)p->samples, bsm_dtype_name(x->dtype),
                    (int)p->dtype);
  }
  if (!regions_fit(p, &x->dims, &r->dims, &y->dims)) {
    return BSM_FAIL(BSM_CORRUPT, "regions %s of %s in %s",
                    bsm_dims_str(r->dims), bsm_dims_str(x->dims),
                    bsm_dims_str(y->dims));
  }
  if (!has_places) return BSM_OK;
  const bsm_plan_tensor *places = bsm_step_output(plan, step, 1);
  BSM_TRY(bsm_check_contiguous(places, "places"));
  BSM_TRY(bsm_check_dtype(places, BSM_DTYPE_INT32, "places"));
  return bsm_check_same_dims(places, y, "places");
}
