/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of images with a few maps, a network's first: of planes (the
 * usual NCHW, which no other tactic reads) as well as channels last.
 *
 * The input rows of a band of output rows are copied to scratch memory, one
 * line for each map with the padding around it. A tile of neighbouring outputs
 * then finds each tap of the window a fixed distance apart, and needs no
 * pointers. */
#include <string.h>

#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/planar/planar_f32.h"
#include "backend/cpu/kernels/rows/rows.h"

/* More maps are as well multiplied where they lie. */
#define MAX_MAPS 4
/* Windows and strides that keep a band's input rows few. */
#define MAX_SPAN 64
#define MAX_STRIDE 16
/* Beside a plain product: it neither looks up windows nor copies borders. */
#define COST 0.8
/* Output rows of a band: few input rows are copied by two. */
#define BAND 8
/* Units for each thread, when there are several. */
#define UNITS 4

typedef struct convolution {
  bsm_cpu_convolution common;
  const bsm_k_planar *kernels;
  const bsm_k_rows *rows;
  int stride; /* index of the kernel */
  int64_t band, bands;
  int64_t columns, pitch; /* of a line: that are read; apart */
} convolution;

static int stride_index(int64_t stride) {
  return stride == 1 ? 0 : stride == 2 ? 1 : stride == 4 ? 2 : -1;
}

/* Pixels from the first tap of a dimension to the last. */
static int64_t span_of(const bsm_step_window *w, int d) {
  return w->dilation[d] * (w->kernel[d] - 1) + 1;
}

static double cost(const bsm_cpu_convolution_site *s) {
  const bsm_step_convolution *p = s->params;
  const bsm_step_window *w = &p->window;
  const bool fits = p->groups == 1 && !p->epilogue.has_residual &&
                    s->x.c <= MAX_MAPS && w->kernel[0] == 1 &&
                    s->x.size[0] == 1 && s->y.size[0] == 1 &&
                    w->pre_padding[0] == 0 && w->stride[1] <= MAX_STRIDE &&
                    stride_index(w->stride[2]) >= 0 &&
                    span_of(w, 1) <= MAX_SPAN && span_of(w, 2) <= MAX_SPAN;
  return fits ? BSM_CPU_PLAIN_COST * COST : -1;
}

/* ---- prepare ---- */

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  c->kernels = bsm_k_planar_select(p->isa);
  c->rows = bsm_k_rows_select(p->isa);
  const bsm_step_window *w = &c->common.w;
  const bsm_cpu_image *y = &c->common.y;
  c->stride = stride_index(w->stride[2]);
  const int64_t want = p->threads > 1 ? UNITS * (int64_t)p->threads : 1;
  c->band = bsm_cpu_max(1, bsm_cpu_min(BAND, y->size[1]));
  while (c->band > 1 && y->n * bsm_cpu_div_up(y->size[1], c->band) < want) {
    c->band = bsm_cpu_div_up(c->band, 2);
  }
  c->bands = bsm_cpu_div_up(y->size[1], c->band);
  c->columns = bsm_cpu_max(0, y->size[2] - 1) * w->stride[2] + span_of(w, 2);
  c->pitch = bsm_cpu_round_up(c->columns, BSM_K_PLANAR_PANEL);
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, c->kernels->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  const int64_t lines = (c->band - 1) * w->stride[1] + span_of(w, 1);
  return bsm_cpu_set_scratch(out, 0,
                             (uint64_t)lines * (uint64_t)c->common.x.c *
                                 (uint64_t)c->pitch * sizeof(float),
                             c->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

/* The maps of an input row, or NULL for a row of padding, as lines. */
static void copy_row(const convolution *c, const float *row, float *to) {
  const bsm_cpu_image *x = &c->common.x;
  const int64_t left = bsm_cpu_min(c->common.w.pre_padding[2], c->columns);
  const int64_t n = bsm_cpu_min(x->size[2], c->columns - left);
  const int64_t right = c->columns - left - n;
  if (!row || n == 0) {
    memset(to, 0, (size_t)(x->c * c->pitch) * sizeof(float));
    return;
  }
  for (int64_t m = 0; m < x->c; m++) {
    memset(to + m * c->pitch, 0, (size_t)left * sizeof(float));
    memset(to + m * c->pitch + left + n, 0, (size_t)right * sizeof(float));
  }
  to += left;
  if (x->stride[2] != 1 && x->c_stride == 1) {
    c->rows->transpose(row, x->stride[2], to, c->pitch, x->c, n);
    return;
  }
  for (int64_t m = 0; m < x->c; m++) {
    const float *from = row + m * x->c_stride;
    float *line = to + m * c->pitch;
    if (x->stride[2] == 1) {
      memcpy(line, from, (size_t)n * sizeof(float));
    } else {
      for (int64_t i = 0; i < n; i++) line[i] = from[i * x->stride[2]];
    }
  }
}

static void activate(const convolution *c, float *y) {
  const bsm_cpu_epilogue *e = &c->common.epilogue;
  const bsm_cpu_image *i = &c->common.y;
  if (i->stride[2] == i->c) {
    e->activation(y, y, i->size[2] * i->c, e->alpha, e->beta);
    return;
  }
  for (int64_t p = 0; p < i->size[2]; p++, y += i->stride[2]) {
    e->activation(y, y, i->c, e->alpha, e->beta);
  }
}

/* A band of output rows. */
static void unit(void *arg, int64_t index, int slot) {
  const work *k = arg;
  const convolution *c = k->impl;
  const bsm_step_window *w = &c->common.w;
  const bsm_cpu_image *x = &c->common.x, *y = &c->common.y;
  float *lines = (float *)(void *)(k->scratch + (size_t)slot * k->slot_size);
  const int64_t n = index / c->bands, first = index % c->bands * c->band;
  const int64_t count = bsm_cpu_min(c->band, y->size[1] - first);
  const int64_t top = first * w->stride[1] - w->pre_padding[1];
  const int64_t span = span_of(w, 1);
  const int64_t line_row = x->c * c->pitch;
  const float *image = k->x + n * x->n_stride;
  for (int64_t i = 0; i < (count - 1) * w->stride[1] + span; i++) {
    const int64_t h = top + i;
    copy_row(c, h >= 0 && h < x->size[1] ? image + h * x->stride[1] : NULL,
             lines + i * line_row);
  }
  bsm_k_planar_args t = {
      .x_row = w->dilation[1] * line_row,
      .x_map = c->pitch,
      .x_tap = w->dilation[2],
      .rows = w->kernel[1],
      .maps = x->c,
      .taps = w->kernel[2],
      .w = c->common.kernel,
      .w_panel = w->kernel[1] * w->kernel[2] * x->c * BSM_K_PLANAR_PANEL,
      .y_pixel = y->stride[2],
      .pixels = y->size[2],
      .columns = y->c,
      .bias = c->common.bias,
      .lo = c->common.epilogue.lo,
      .hi = c->common.epilogue.hi};
  for (int64_t i = 0; i < count; i++) {
    t.x = lines + i * w->stride[1] * line_row;
    t.y = k->y + n * y->n_stride + (first + i) * y->stride[1];
    c->kernels->row[c->stride](&t);
    if (c->common.epilogue.activation) activate(c, t.y);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  const bsm_cpu_image *y = &c->common.y;
  if (y->size[2] == 0 || y->c == 0) return BSM_OK;
  bsm_cpu_convolution_run(prepared, r, y->n * c->bands, unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_planar = {
    "planar", BSM_CONVOLUTION_PLAIN, cost, prepare, run, .reads_planes = true};
