/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a tensor with one value. */
#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_strided.h"

#define UNIT 65536

typedef struct fill {
  bsm_cpu_impl base;
  bsm_cpu_space space;
  int64_t element;
  double value; /* the bytes of the element */
} fill;

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_fill *params = &p->step->params->fill;
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  fill *f = BSM_NEW(p->arena, fill);
  BSM_TRY_ALLOC(f);
  double value;
  const bsm_cpu_elements elements = bsm_cpu_elements_of(p->isa);
  bsm_cpu_set(&elements, bsm_cpu_class_of(y->dtype), &value, 1, params->value,
              y->dtype == BSM_DTYPE_BOOL
                  ? params->value != 0.0 || params->integer != 0
                  : params->integer);
  bsm_cpu_store(&elements, y->dtype, &f->value, 1, 1, &value);
  f->element = (int64_t)bsm_dtype_size(y->dtype);
  bsm_cpu_space_init(&f->space, &y, 1);
  f->base.slots = p->threads;
  f->base.description = "fill";
  out->impl = f;
  return BSM_OK;
}

typedef struct work {
  const fill *f;
  char *y;
} work;

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const bsm_cpu_space *s = &w->f->space;
  const int64_t element = w->f->element;
  int64_t left = bsm_cpu_min(UNIT, s->count - index * UNIT);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(s, index * UNIT, &c);
  while (left > 0) {
    const int64_t n = bsm_cpu_min(left, bsm_cpu_row_left(s, &c));
    bsm_cpu_repeat(element, (const char *)&w->f->value,
                   w->y + c.offset[0] * element, s->strides[0][s->rank - 1], n);
    bsm_cpu_advance(s, &c, n);
    left -= n;
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const fill *f = prepared->impl;
  work w = {f, bsm_cpu_output_address(prepared, r, 0)};
  bsm_cpu_parallel(r, f->base.slots, bsm_cpu_div_up(f->space.count, UNIT), unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_FILL = {bsm_check_fill, NULL, prepare, run};
