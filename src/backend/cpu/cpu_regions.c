/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions: plane by plane, of which all bins are made that lie in
 * it. One thread does it. */
#include "aten/element.h"
#include "aten/regions.h"
#include "backend/cpu/cpu_step.h"

typedef struct pooling {
  bsm_cpu_impl base;
  bsm_regions all;
  bsm_dims x, y;
  int64_t strides[4]; /* of the image, in bytes */
  bsm_dtype dtype;
  size_t regions_at; /* offset in the scratch memory, behind a plane */
} pooling;

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_regions *params = &p->step->params->regions;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  pooling *s = BSM_NEW(p->arena, pooling);
  BSM_TRY_ALLOC(s);
  s->base.slots = 1;
  s->base.description = "planes";
  s->x = x->dims;
  s->y = y->dims;
  s->dtype = x->dtype;
  for (int i = 0; i < 4; i++) {
    s->strides[i] = x->strides[i] * (int64_t)bsm_dtype_size(x->dtype);
  }
  s->all = (bsm_regions){.how = {.rows = y->dims.d[2],
                                 .columns = y->dims.d[3],
                                 .samples = params->samples,
                                 .scale = params->scale,
                                 .whole = params->whole,
                                 .grouped = params->grouped,
                                 .aligned = params->aligned,
                                 .dtype = (bsm_dtype)params->dtype},
                         .height = x->dims.d[2],
                         .width = x->dims.d[3]};
  const uint64_t area = (uint64_t)x->dims.d[2] * (uint64_t)x->dims.d[3];
  s->regions_at = bsm_cpu_align(area * sizeof(double));
  out->impl = s;
  return bsm_cpu_set_scratch(
      out, s->regions_at + (uint64_t)y->dims.d[0] * sizeof(bsm_region), 0, 1);
}

/* The bins of plane `c` in one region, from bin `first` of the output on. */
static void make_bins(const pooling *s, const bsm_region *r,
                      const double *plane, int64_t c, int64_t first, char *y,
                      int32_t *places) {
  const int64_t rows = s->y.d[2], columns = s->y.d[3];
  const bool grouped = s->all.how.grouped;
  for (int64_t i = 0; i < (grouped ? 1 : rows * columns); i++) {
    const int64_t bin = grouped ? c % (rows * columns) : i;
    int64_t where;
    const double value =
        bsm_region_bin(&s->all, r, plane, bin / columns, bin % columns, &where);
    bsm_store1_f64(s->dtype,
                   y + (first + i) * (int64_t)bsm_dtype_size(s->dtype), value);
    if (places) places[first + i] = (int32_t)where;
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const pooling *s = prepared->impl;
  const char *x = bsm_cpu_input_address(prepared, r, 0);
  const double *rows = bsm_cpu_input_address(prepared, r, 1);
  char *y = bsm_cpu_output_address(prepared, r, 0);
  int32_t *places = s->all.how.whole && !s->all.how.grouped
                        ? bsm_cpu_output_address(prepared, r, 1)
                        : NULL;
  uint8_t *scratch = r->scratch;
  double *plane = (double *)(void *)scratch;
  bsm_region *regions = (bsm_region *)(void *)(scratch + s->regions_at);
  const int64_t count = s->y.d[0], channels = s->x.d[1];
  /* Bins of one plane in one region. */
  const int64_t each = s->all.how.grouped ? 1 : s->y.d[2] * s->y.d[3];
  if (s->y.d[1] == 0) return BSM_OK;
  for (int64_t k = 0; k < count; k++) {
    BSM_TRY(bsm_region_init(&s->all, rows + 5 * k, s->x.d[0], &regions[k]));
  }
  for (int64_t n = 0; n < s->x.d[0] * channels && count; n++) {
    const int64_t image = n / channels, c = n % channels;
    const char *from = x + image * s->strides[0] + c * s->strides[1];
    for (int64_t i = 0; i < s->all.height; i++) {
      bsm_load_f64(s->dtype, from + i * s->strides[2], s->strides[3],
                   (size_t)s->all.width, plane + i * s->all.width);
    }
    for (int64_t k = 0; k < count; k++) {
      if (regions[k].image != image) continue;
      make_bins(s, &regions[k], plane, c, (k * channels + c) * each, y, places);
    }
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_REGIONS = {bsm_check_regions, NULL, prepare, run};
