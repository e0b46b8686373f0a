/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions of half and bfloat16: each phase is a convolution,
 * between a part of the input and outputs that are a stride apart. */
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_phases.h"
#include "backend/cpu/cpu_window.h"

/* Of the output and of what a window spans: their products fit. */
#define MAX_EXTENT ((int64_t)1 << 28)

/* A convolution as a plan of its own, over input, output and residual. */
typedef struct phase {
  bsm_cpu_phase is;
  int64_t first[3]; /* output */
  bsm_plan plan;
  bsm_plan_tensor tensors[3];
  uint32_t inputs[2], output;
  bsm_prepared_step prepared;
} phase;

typedef struct deconvolution {
  bsm_cpu_impl base;
  int64_t count; /* phases that have outputs */
  phase *phases;
} deconvolution;

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_window *w = &step->params->convolution.window;
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  uint64_t size;
  BSM_TRY(bsm_cpu_check_images(plan, step, y->dtype, true));
  BSM_TRY(bsm_cpu_check_phases(&step->params->convolution));
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] * w->dilation[d] > MAX_EXTENT ||
        bsm_image_of(y, w->spatial).size[d] > MAX_EXTENT) {
      return BSM_FAIL(BSM_LIMIT, "a window over %lld pixels, output %s",
                      (long long)(w->kernel[d] * w->dilation[d]),
                      bsm_dims_str(y->dims));
    }
  }
  BSM_TRY(bsm_cpu_packed_half_size(step, x->dims.d[1], &size));
  return bsm_check_weights(plan, step, 0, size);
}

/* ---- prepare ---- */

/* The part of the output or the residual from `first` on, whole strides apart,
 * in a dimension of `size` pixels. */
static void take_every(bsm_plan_tensor *t, int32_t axis, int64_t first,
                       int64_t stride) {
  t->offset += (uint64_t)(first * t->strides[axis]) * sizeof(uint16_t);
  t->dims.d[axis] = bsm_cpu_div_up(t->dims.d[axis] - first, stride);
  if (t->dims.d[axis] > 1) t->strides[axis] *= stride;
}

/* Lays out dimension d. The first tap of the first window is at input `from`;
 * when all are outside, zeros are read by all taps of all windows. */
static void lay_out(const bsm_step_window *w, int d, phase *f) {
  const int32_t axis = 2 + d - (3 - w->spatial);
  bsm_step_window *own = &f->is.params.convolution.window;
  bsm_plan_tensor *x = &f->tensors[0];
  const int64_t last = f->is.last[d], size = x->dims.d[axis];
  for (int i = 1; i < 3; i++) {
    take_every(&f->tensors[i], axis, f->first[d], w->stride[d]);
  }
  const int64_t outputs = f->tensors[1].dims.d[axis];
  int64_t from =
      (f->first[d] + w->pre_padding[d] - last * w->dilation[d]) / w->stride[d];
  if (last < 0 || from >= size) {
    from = -(outputs + (own->kernel[d] - 1) * own->dilation[d]);
  }
  if (from > 0) {
    x->offset += (uint64_t)(from * x->strides[axis]) * sizeof(uint16_t);
    x->dims.d[axis] -= from;
  }
  own->pre_padding[d] = bsm_cpu_max(0, -from);
  own->post_padding[d] =
      bsm_cpu_max(0, outputs + (own->kernel[d] - 1) * own->dilation[d] -
                         own->pre_padding[d] - x->dims.d[axis]);
}

static bsm_status prepare_phase(const bsm_cpu_prepare *p,
                                const uint16_t *kernel, phase *f) {
  const bsm_plan_step *step = p->step;
  const bsm_step_window *w = &step->params->convolution.window;
  f->tensors[0] = *bsm_step_input(p->plan, step, 0);
  f->tensors[1] = *bsm_step_output(p->plan, step, 0);
  f->tensors[2] = f->tensors[1];
  if (step->input_count > 1) f->tensors[2] = *bsm_step_input(p->plan, step, 1);
  for (int d = 3 - w->spatial; d < 3; d++) lay_out(w, d, f);
  const void *weights[] = {kernel, bsm_cpu_weights(p, 1)};
  f->inputs[1] = 2;
  f->output = 1;
  f->plan = *p->plan;
  f->plan.tensors = f->tensors;
  bsm_plan_step *own = &f->is.step;
  own->inputs = f->inputs;
  own->outputs = &f->output;
  own->weights[1] = weights[1] ? 1 : BSM_NO_WEIGHTS;
  f->prepared = (bsm_prepared_step){.plan = &f->plan, .step = own};
  bsm_cpu_prepare prepare = *p;
  prepare.plan = &f->plan;
  prepare.step = own;
  prepare.weights = weights;
  return bsm_cpu_half_convolution.prepare(&prepare, &f->prepared);
}

/* How many phases have outputs. */
static int64_t most_phases(const bsm_step_window *w, const int64_t *outputs) {
  int64_t count = 1;
  for (int d = 0; d < 3; d++) count *= bsm_cpu_min(w->stride[d], outputs[d]);
  return count;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const bsm_step_window *w = &params->window;
  const bsm_image y =
      bsm_image_of(bsm_step_output(p->plan, p->step, 0), w->spatial);
  const int64_t maps = bsm_step_input(p->plan, p->step, 0)->dims.d[1];
  const uint16_t *kernel = bsm_cpu_weights(p, 0);
  const int64_t count = bsm_cpu_phase_count(params);
  deconvolution *c = BSM_NEW(p->arena, deconvolution);
  BSM_TRY_ALLOC(c);
  c->base.slots = p->threads;
  c->base.description = "no phases";
  c->phases =
      BSM_NEW_ARRAY(p->arena, phase, (size_t)most_phases(w, y.size) + 1);
  BSM_TRY_ALLOC(c->phases);
  for (int64_t i = 0; i < count; i++) {
    phase *f = &c->phases[c->count];
    uint64_t size;
    bool has_outputs = true;
    bsm_cpu_phase_of(params, i, &f->is);
    for (int d = 0; d < 3; d++) {
      const int64_t padding = w->pre_padding[d] % w->stride[d];
      f->first[d] = (f->is.rest[d] + w->stride[d] - padding) % w->stride[d];
      has_outputs &= f->first[d] < y.size[d];
    }
    BSM_TRY(bsm_cpu_packed_half_size(&f->is.step, maps, &size));
    if (has_outputs) {
      BSM_TRY(prepare_phase(p, kernel, f));
      if (out->scratch_size < f->prepared.scratch_size) {
        out->scratch_size = f->prepared.scratch_size;
      }
      c->base.description = bsm_arena_printf(
          p->arena, "phases, %s",
          ((const bsm_cpu_impl *)f->prepared.impl)->description);
      BSM_TRY_ALLOC(c->base.description);
      c->count++;
    }
    kernel += size / sizeof(*kernel);
  }
  out->impl = c;
  return BSM_OK;
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const deconvolution *c = prepared->impl;
  for (int64_t i = 0; i < c->count; i++) {
    BSM_TRY(bsm_cpu_half_convolution.run(&c->phases[i].prepared, r));
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_half_deconvolution = {check, NULL, prepare, run};
