/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at the places of a grid: blocks of places. */
#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/sample/sample_f32.h"

_Static_assert((int)BSM_K_SAMPLE_ZEROS == (int)BSM_SAMPLE_ZEROS &&
                   (int)BSM_K_SAMPLE_BORDER == (int)BSM_SAMPLE_BORDER &&
                   (int)BSM_K_SAMPLE_REFLECTION == (int)BSM_SAMPLE_REFLECTION &&
                   (int)BSM_K_SAMPLE_NEAREST == (int)BSM_RESIZE_NEAREST &&
                   (int)BSM_K_SAMPLE_LINEAR == (int)BSM_RESIZE_LINEAR &&
                   (int)BSM_K_SAMPLE_CUBIC == (int)BSM_RESIZE_CUBIC &&
                   BSM_K_SAMPLE_MAX_SIZE == BSM_SAMPLE_MAX_SIZE,
               "kernels repeat the numbers of a step");

typedef struct sampling {
  bsm_cpu_impl base;
  const bsm_k_sample *kernels;
  bsm_k_sample_args args; /* without addresses */
  int64_t image;          /* elements from one to the next */
  int64_t area, blocks;   /* places of an image, and blocks of them */
  bsm_cpu_rows y;         /* of places */
} sampling;

typedef struct work {
  const sampling *s;
  const float *x, *grid;
  float *y;
} work;

static bool has_channels_inner(const bsm_plan_tensor *t) {
  return t->dims.d[1] <= 1 || t->strides[1] == 1;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_sample(plan, step));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  BSM_TRY(bsm_check_dtype(x, BSM_DTYPE_FLOAT, "image"));
  if (!has_channels_inner(x) ||
      !has_channels_inner(bsm_step_output(plan, step, 0))) {
    return BSM_FAIL(BSM_CORRUPT, "channels that do not lie beside each other");
  }
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_sample *params = &p->step->params->sample;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int32_t axes = x->dims.rank - 2;
  int64_t dims[BSM_K_SAMPLE_AXES + 1] = {y->dims.d[0]};
  int64_t strides[BSM_K_SAMPLE_AXES + 1] = {y->strides[0]};
  sampling *s = BSM_NEW(p->arena, sampling);
  BSM_TRY_ALLOC(s);
  s->kernels = bsm_k_sample_select(p->isa);
  s->args.axes = axes;
  s->args.channels = x->dims.d[1];
  s->args.mode = (bsm_k_sample_mode)params->mode;
  s->args.padding = (bsm_k_sample_padding)params->padding;
  s->args.align = params->align_corners;
  s->image = x->strides[0];
  /* Of a tensor without elements other sizes may be anything. */
  uint64_t bytes;
  s->area = bsm_plan_tensor_extent(y, &bytes) && bytes > 0;
  for (int32_t i = 0; i < axes; i++) {
    s->args.size[i] = x->dims.d[2 + i];
    s->args.stride[i] = x->strides[2 + i];
    dims[1 + i] = y->dims.d[2 + i];
    strides[1 + i] = y->strides[2 + i];
    s->area = s->area ? s->area * y->dims.d[2 + i] : 0;
  }
  s->blocks = bsm_cpu_div_up(s->area, BSM_K_SAMPLE_PLACES);
  bsm_cpu_rows_init(&s->y, axes + 1, dims, strides);
  s->base.description = s->kernels->name;
  s->base.slots = bsm_cpu_useful_threads(p->plan, p->step, p->threads);
  out->impl = s;
  return BSM_OK;
}

/* A block of places of an image. */
static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const sampling *s = w->s;
  const int64_t image = index / s->blocks;
  const int64_t first = index % s->blocks * BSM_K_SAMPLE_PLACES;
  int64_t y_at[BSM_K_SAMPLE_PLACES];
  bsm_k_sample_args args = s->args;
  (void)slot;
  args.count = bsm_cpu_min(s->area - first, BSM_K_SAMPLE_PLACES);
  args.x = w->x + image * s->image;
  args.grid = w->grid + (image * s->area + first) * args.axes;
  args.y = w->y;
  args.y_at = y_at;
  bsm_cpu_rows_offsets(&s->y, image * s->area + first, (int)args.count, y_at);
  s->kernels->places(&args);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *run) {
  const sampling *s = prepared->impl;
  work w = {s, bsm_cpu_input_address(prepared, run, 0),
            bsm_cpu_input_address(prepared, run, 1),
            bsm_cpu_output_address(prepared, run, 0)};
  const bsm_plan_tensor *y = bsm_step_output(prepared->plan, prepared->step, 0);
  if (s->args.channels == 0) return BSM_OK;
  bsm_cpu_parallel(run, s->base.slots, y->dims.d[0] * s->blocks, unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_SAMPLE = {check, NULL, prepare, run};
