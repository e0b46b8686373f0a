/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of images with a few maps, usually a network's first one. It
 * reads planes (the usual NCHW, which no other tactic reads) and channels last.
 *
 * The input rows of a band of output rows are copied to scratch memory, one
 * line for each map with the padding around it. A tile of neighbouring outputs
 * then finds each tap of the window a fixed distance apart, and needs no
 * pointers. With three dimensions it is the lines of one output row. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_planar.h"
#include "base/caches.h"

/* Compared with a plain product: it looks up no windows and copies no borders.
 */
#define COST 0.8
/* Output rows of a band: few input rows are copied by two. */
#define BAND 8
/* Units for each thread, when there are several. */
#define UNITS 4

typedef struct convolution {
  bsm_cpu_convolution common;
  bsm_cpu_planar planar;
  int64_t band, bands; /* deep: of one row */
  bool deep;           /* of three dimensions */
} convolution;

static double cost(const bsm_cpu_convolution_site *s) {
  const bsm_step_window *w = &s->params->window;
  const bool flat = s->x.size[0] == 1 && s->y.size[0] == 1 &&
                    w->kernel[0] == 1 && w->pre_padding[0] == 0;
  return (flat && bsm_cpu_planar_fits(s->params, s->x.c)) ||
                 bsm_cpu_planar_fits_deep(s->params, s->x.c)
             ? BSM_CPU_PLAIN_COST * COST
             : -1;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  const bsm_image *y = &c->common.y;
  bsm_cpu_planar_init(&p->step->params->convolution, &c->common.x, y->size[2],
                      p->isa, &c->planar);
  c->planar.kernel = c->common.kernel;
  c->planar.bias = c->common.bias;
  c->planar.fetches =
      (double)(y->n * y->size[0] * y->size[1] * y->size[2]) * (double)y->c >
      (double)bsm_detect_caches().l2 / sizeof(float);
  c->deep = p->step->params->convolution.window.spatial == 3;
  const int64_t want = p->threads > 1 ? UNITS * (int64_t)p->threads : 1;
  c->band = bsm_cpu_max(1, bsm_cpu_min(BAND, y->size[1]));
  if (c->deep) c->band = 1;
  while (c->band > 1 && y->n * bsm_cpu_div_up(y->size[1], c->band) < want) {
    c->band = bsm_cpu_div_up(c->band, 2);
  }
  c->bands = bsm_cpu_div_up(y->size[1], c->band);
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, c->planar.kernels->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  const uint64_t floats = c->deep ? bsm_cpu_planar_deep_floats(&c->planar)
                                  : bsm_cpu_planar_floats(&c->planar, c->band);
  return bsm_cpu_set_scratch(out, 0, floats * sizeof(float),
                             c->common.base.slots);
}

/* A band of output rows. */
static void unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_convolution_work *k = arg;
  const convolution *c = k->impl;
  const bsm_image *x = &c->common.x, *y = &c->common.y;
  const int64_t n = index / c->bands, first = index % c->bands * c->band;
  bsm_cpu_planar_rows(
      &c->planar, k->x + n * x->n_stride, first,
      bsm_cpu_min(c->band, y->size[1] - first),
      (float *)(void *)(k->scratch + (size_t)slot * k->slot_size),
      k->y + n * y->n_stride + first * y->stride[1], y->stride[1],
      y->stride[2]);
}

/* An output row of three dimensions. */
static void deep_unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_convolution_work *k = arg;
  const convolution *c = k->impl;
  const bsm_image *x = &c->common.x, *y = &c->common.y;
  const int64_t h = index % c->bands, d = index / c->bands % y->size[0];
  const int64_t n = index / c->bands / y->size[0];
  bsm_cpu_planar_deep_row(
      &c->planar, k->x + n * x->n_stride, d, h,
      (float *)(void *)(k->scratch + (size_t)slot * k->slot_size),
      k->y + n * y->n_stride + d * y->stride[0] + h * y->stride[1],
      y->stride[2]);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  const bsm_image *y = &c->common.y;
  if (y->size[2] == 0 || y->c == 0) return BSM_OK;
  bsm_cpu_convolution_run(prepared, r, y->n * y->size[0] * c->bands,
                          c->deep ? deep_unit : unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_planar = {
    "planar", BSM_CPU_FORM_PLAIN, cost, prepare, run, .reads_planes = true};
