/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution to few maps: cpu_few_maps.h. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_few_maps.h"

typedef struct convolution {
  bsm_cpu_convolution common;
  bsm_cpu_few_maps few;
  bsm_cpu_few_phase phase;
} convolution;

static double cost(const bsm_cpu_convolution_site *s) {
  if (!bsm_cpu_few_maps_fit(s->params, false, &s->x, &s->y)) return -1;
  const bool reads = s->x.c > 1 && s->x.c_stride != 1;
  const bool writes = s->y.c > 1 && s->y.c_stride != 1;
  const double share = bsm_cpu_few_maps_share(s->params, s->x.c, reads);
  return reads || writes || share < BSM_CPU_FEW_MAPS_WORTH
             ? BSM_CPU_PLAIN_COST * share
             : -1;
}

static bsm_status find_taps(const bsm_cpu_prepare *p, convolution *c) {
  const bsm_step_window *w = &c->common.w;
  const int64_t count = c->few.taps;
  int64_t *taps = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)count);
  int64_t(*deltas)[3] = bsm_arena_alloc(
      p->arena, (size_t)count * sizeof(*deltas), _Alignof(int64_t));
  if (!taps || !deltas) return BSM_FAIL_OOM();
  for (int64_t t = 0; t < count; t++) {
    const bsm_cpu_position at = bsm_cpu_position_of(t, w->kernel);
    taps[t] = t;
    for (int d = 0; d < 3; d++) {
      deltas[t][d] = at.at[d] * w->dilation[d] - w->pre_padding[d];
    }
  }
  c->phase = (bsm_cpu_few_phase){
      .taps = taps, .deltas = (const int64_t(*)[3])deltas, .tap_count = count};
  return BSM_OK;
}

/* Whether the lines of an image lie side by side in dimension d. */
static bool joins(const bsm_image *i, int d) {
  return i->stride[d] == i->size[2] * i->stride[2];
}

/* Of single pixels, all lines that lie side by side are one. */
static void join_lines(bsm_cpu_few_maps *f) {
  const int64_t *delta = f->phases[0].deltas[0];
  for (int d = 1; d >= 0; d--) {
    if (f->taps > 1 || delta[0] || delta[1] || delta[2] ||
        f->x.size[d] != f->y.size[d] || f->x.size[2] != f->y.size[2] ||
        !joins(&f->x, d) || !joins(&f->y, d) ||
        (f->has_residual && !joins(&f->residual, d))) {
      return;
    }
    bsm_image *all[3] = {&f->x, &f->y, &f->residual};
    for (int i = 0; i < 3; i++) {
      all[i]->size[2] *= all[i]->size[d];
      all[i]->size[d] = 1;
    }
  }
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  const bsm_step_window *w = &c->common.w;
  bsm_cpu_few_maps *f = &c->few;
  *f = (bsm_cpu_few_maps){.x = c->common.x,
                          .y = c->common.y,
                          .residual = c->common.residual,
                          .has_residual = c->common.has_residual,
                          .stride = {1, 1, 1},
                          .taps = w->kernel[0] * w->kernel[1] * w->kernel[2],
                          .phases = &c->phase,
                          .phase_count = 1,
                          .kernel = c->common.kernel,
                          .bias = c->common.bias,
                          .epilogue = c->common.epilogue};
  BSM_TRY(find_taps(p, c));
  join_lines(f);
  for (int d = 0; d < 3; d++) c->phase.size[d] = f->y.size[d];
  BSM_TRY(bsm_cpu_few_maps_prepare(p, f));
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, f->gemm.kernels->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, bsm_cpu_few_maps_scratch(f),
                             c->common.base.slots);
}

static void unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_convolution_work *w = arg;
  const convolution *c = w->impl;
  bsm_cpu_few_maps_run(&c->few, w->x, w->residual, w->y, index,
                       w->scratch + (size_t)slot * w->slot_size);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  bsm_cpu_convolution_run(prepared, r, bsm_cpu_few_maps_units(&c->few), unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_taps = {
    "taps",
    BSM_CPU_FORM_PLAIN,
    cost,
    prepare,
    run,
    .reads_planes = true,
    .writes_planes = true};
