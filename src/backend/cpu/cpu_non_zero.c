/* SPDX-License-Identifier: Apache-2.0 */
/* The places of elements that are not zero, and non-maximum suppression. Each
 * element depends on all before it: one thread does it. */
#include "aten/nms.h"
#include "backend/cpu/cpu_element.h"

#define CHUNK 256 /* elements loaded at once */

typedef struct serial {
  bsm_cpu_impl base;
  bsm_dtype dtype;
  int64_t n;
  double threshold;
  uint64_t blocks_at, gone_at; /* offsets in the scratch memory */
} serial;

static bsm_status start(const bsm_cpu_prepare *p, bsm_prepared_step *out,
                        const char *description, serial **made) {
  serial *s = BSM_NEW(p->arena, serial);
  BSM_TRY_ALLOC(s);
  s->base.elements = bsm_cpu_elements_of(p->isa);
  s->base.slots = 1;
  s->base.description = description;
  s->dtype = bsm_step_input(p->plan, p->step, 0)->dtype;
  s->n = bsm_step_output(p->plan, p->step, 0)->dims.d[0];
  out->impl = *made = s;
  return BSM_OK;
}

/* ---- non-zero ---- */

static bsm_status prepare_non_zero(const bsm_cpu_prepare *p,
                                   bsm_prepared_step *out) {
  serial *s;
  return start(p, out, "serial", &s);
}

static bsm_status run_non_zero(const bsm_prepared_step *prepared,
                               const bsm_run *r) {
  const serial *s = prepared->impl;
  const char *x = bsm_cpu_input_address(prepared, r, 0);
  int64_t *y = bsm_cpu_output_address(prepared, r, 0);
  const size_t size = bsm_dtype_size(s->dtype);
  int64_t count = 0;
  for (int64_t i = 0; i < s->n; i += CHUNK) {
    const int64_t n = bsm_cpu_min(CHUNK, s->n - i);
    double loaded[CHUNK];
    uint8_t found[CHUNK];
    bsm_cpu_load(&s->base.elements, s->dtype, x + (size_t)i * size, 1, n,
                 loaded);
    bsm_cpu_convert(&s->base.elements, bsm_cpu_class_of(s->dtype), loaded,
                    BSM_CPU_U8, found, n);
    for (int64_t k = 0; k < n; k++) {
      if (found[k]) y[count++] = i + k;
    }
  }
  while (count < s->n) y[count++] = -1;
  return BSM_OK;
}

/* ---- non-maximum suppression ---- */

static bsm_status prepare_nms(const bsm_cpu_prepare *p,
                              bsm_prepared_step *out) {
  serial *s;
  BSM_TRY(start(p, out, "bits", &s));
  s->threshold = p->step->params->nms.threshold;
  const uint64_t blocks = bsm_nms_blocks((size_t)s->n);
  s->blocks_at = bsm_cpu_align((uint64_t)s->n * 4 * sizeof(double));
  s->gone_at = s->blocks_at + bsm_cpu_align(blocks * sizeof(bsm_overlap_block));
  return bsm_cpu_set_scratch(out, s->gone_at + blocks * sizeof(uint64_t), 0, 1);
}

static bsm_status run_nms(const bsm_prepared_step *prepared, const bsm_run *r) {
  const serial *s = prepared->impl;
  uint8_t *scratch = r->scratch, *y = bsm_cpu_output_address(prepared, r, 0);
  double *boxes = (double *)(void *)scratch;
  uint64_t *gone = (uint64_t *)(void *)(scratch + s->gone_at);
  const char *x = bsm_cpu_input_address(prepared, r, 0);
  for (int64_t i = 0; i < s->n; i++) {
    double loaded[4];
    bsm_cpu_load(&s->base.elements, s->dtype,
                 x + (size_t)i * 4 * bsm_dtype_size(s->dtype), 1, 4, loaded);
    bsm_cpu_convert(&s->base.elements, bsm_cpu_class_of(s->dtype), loaded,
                    BSM_CPU_F64, boxes + 4 * i, 4);
  }
  bsm_nms(s->dtype, boxes, (size_t)s->n, s->threshold,
          (bsm_overlap_block *)(void *)(scratch + s->blocks_at), gone);
  for (int64_t i = 0; i < s->n; i++) {
    y[i] = !bsm_nms_is_gone(gone, (size_t)i);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_NON_ZERO = {bsm_check_non_zero, NULL,
                                       prepare_non_zero, run_non_zero};
const bsm_cpu_kind bsm_cpu_NMS = {bsm_check_nms, NULL, prepare_nms, run_nms};
