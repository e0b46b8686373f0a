/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of many groups of few maps. A tile of outputs is looked up once,
 * as one pointer for each tap of each of its windows, and then multiplied group
 * by group: the groups differ by an offset alone.
 *
 * Groups that share a panel of the packed kernel are multiplied together, zeros
 * included. When they fill both halves of panels, and tiles of half a panel
 * have enough rows, each half is multiplied by itself. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/gemm/gemm_f32.h"

/* The most rows of a kernel: more are better cut into blocks. */
#define MAX_DEPTH 2048
/* Compared with a plain product: part of the time goes into lookups. */
#define COST 0.8
/* Rows of a tile of half a panel that hide the latency of a multiply-add; with
 * fewer, multiplying zeros is as fast. */
#define HALF_MIN_ROWS 8
/* Units for each thread, when there are several. */
#define UNITS 4

typedef struct convolution {
  bsm_cpu_convolution common;
  const bsm_k_gemm *kernels;
  const float *zeros;        /* a pixel */
  int64_t taps, rows, tiles; /* of the kernel; outputs; of these */
  int64_t parts, ci, co;     /* what is multiplied at a time; maps of it */
  int64_t halves;            /* parts in a panel */
  int64_t part_block, part_blocks; /* parts of a unit */
} convolution;

static double cost(const bsm_cpu_convolution_site *s) {
  const bsm_step_convolution *p = s->params;
  const int64_t *k = p->window.kernel;
  if (p->groups < 2 || bsm_cpu_is_depthwise(p, s->x.c)) return -1;
  const int64_t merged = bsm_cpu_merged_groups(p);
  const int64_t columns = p->out_maps / p->groups * merged;
  const int64_t depth = s->x.c / p->groups * merged * k[0] * k[1] * k[2];
  return columns <= BSM_PANEL && depth <= MAX_DEPTH ? BSM_CPU_PLAIN_COST * COST
                                                    : -1;
}

/* ---- prepare ---- */

static void choose_parts(convolution *c, const bsm_step_convolution *p,
                         int threads) {
  const int64_t merged = bsm_cpu_merged_groups(p);
  const bool fits = merged % 2 == 0 &&
                    merged / 2 * (p->out_maps / p->groups) == BSM_K_HALF_PANEL;
  c->halves = fits && c->kernels->max_rows >= HALF_MIN_ROWS ? 2 : 1;
  c->parts = p->groups / merged * c->halves;
  c->ci = c->common.x.c / c->parts;
  c->co = c->common.y.c / c->parts;
  c->part_blocks = 1;
  while (threads > 1 && c->tiles * c->part_blocks < UNITS * (int64_t)threads &&
         c->part_blocks * 2 <= c->parts) {
    c->part_blocks *= 2;
  }
  c->part_block = bsm_cpu_div_up(c->parts, c->part_blocks);
  c->part_blocks = bsm_cpu_div_up(c->parts, c->part_block);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const int64_t *kernel = params->window.kernel;
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  c->kernels = bsm_k_gemm_select(p->isa);
  c->taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t *size = c->common.y.size;
  c->rows = c->common.y.n * size[0] * size[1] * size[2];
  c->tiles = bsm_cpu_div_up(c->rows, c->kernels->max_rows);
  choose_parts(c, params, p->threads);
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->common.x.c);
  BSM_TRY_ALLOC(c->zeros);
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, c->kernels->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(
      out, 0, (uint64_t)c->taps * BSM_K_GEMM_MAX_ROWS * sizeof(float *),
      c->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

/* The places of a window's taps, or zeros; `a` of the first tap. */
static void find_window(const work *w, const bsm_cpu_position *p, int count,
                        const float **a) {
  const convolution *c = w->impl;
  const bsm_step_window *win = &c->common.w;
  const bsm_image *x = &c->common.x;
  int64_t start[3];
  for (int d = 0; d < 3; d++) {
    start[d] = p->at[d] * win->stride[d] - win->pre_padding[d];
  }
  const float *image = w->x + p->n * x->n_stride;
  for (int64_t i = 0; i < win->kernel[0]; i++) {
    const int64_t d = start[0] + i * win->dilation[0];
    for (int64_t j = 0; j < win->kernel[1]; j++) {
      const int64_t h = start[1] + j * win->dilation[1];
      const bool inside = d >= 0 && d < x->size[0] && h >= 0 && h < x->size[1];
      const float *line =
          inside ? image + d * x->stride[0] + h * x->stride[1] : NULL;
      for (int64_t k = 0; k < win->kernel[2]; k++, a += count) {
        const int64_t v = start[2] + k * win->dilation[2];
        *a = line && v >= 0 && v < x->size[2] ? line + v * x->stride[2]
                                              : c->zeros;
      }
    }
  }
}

static void find_tile(const work *w, int64_t row, int count, const float **a) {
  const convolution *c = w->impl;
  bsm_cpu_position p = bsm_cpu_position_of(row, c->common.y.size);
  for (int i = 0; i < count; i++) {
    find_window(w, &p, count, a + i);
    bsm_cpu_position_next(&p, c->common.y.size);
  }
}

static void start_args(const work *w, bsm_k_gemm_args *t) {
  const convolution *c = w->impl;
  const bsm_cpu_epilogue *e = &c->common.epilogue;
  t->taps = c->taps;
  t->kc = c->ci;
  t->b_tap = t->b_panel = c->ci * c->halves * BSM_PANEL;
  t->n = c->co;
  t->lo = e->lo;
  t->hi = e->hi;
  if (c->common.bias) t->flags |= BSM_K_GEMM_BIAS;
  if (w->residual) t->flags |= BSM_K_GEMM_RESIDUAL;
  if (e->clamps) t->flags |= BSM_K_GEMM_CLAMP;
}

static void run_parts(const work *w, int64_t part, int64_t end, int count,
                      bsm_k_gemm_args *t) {
  const convolution *c = w->impl;
  bsm_k_gemm_fn *kernel = c->halves == 2 ? c->kernels->half[count - 1]
                                         : c->kernels->single[count - 1];
  for (; part < end; part++) {
    const int64_t half = part % c->halves;
    t->a_offset = part * c->ci;
    t->b = c->common.kernel + (part - half) * c->taps * c->ci * BSM_PANEL +
           half * (c->ci * BSM_PANEL + c->co);
    t->c_offset = t->residual_offset = part * c->co;
    t->bias = c->common.bias ? c->common.bias + part * c->co : NULL;
    kernel(t);
  }
}

static void run_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->impl;
  const bsm_cpu_epilogue *e = &c->common.epilogue;
  const int64_t row = unit / c->part_blocks * c->kernels->max_rows;
  const int64_t part = unit % c->part_blocks * c->part_block;
  const int64_t end = bsm_cpu_min(part + c->part_block, c->parts);
  const int count = (int)bsm_cpu_min(c->kernels->max_rows, c->rows - row);
  const float **a =
      (const float **)(void *)(w->scratch + (size_t)slot * w->slot_size);
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  float *y[BSM_K_GEMM_MAX_ROWS];
  const float *residual[BSM_K_GEMM_MAX_ROWS];
  bsm_k_gemm_args t = {.a = a, .c = y, .residual = residual};
  find_tile(w, row, count, a);
  bsm_cpu_rows_offsets(&c->common.y_rows, row, count, offsets);
  for (int i = 0; i < count; i++) y[i] = w->y + offsets[i];
  if (w->residual) {
    bsm_cpu_rows_offsets(&c->common.residual_rows, row, count, offsets);
    for (int i = 0; i < count; i++) residual[i] = w->residual + offsets[i];
  }
  start_args(w, &t);
  run_parts(w, part, end, count, &t);
  for (int i = 0; e->activation && i < count; i++) {
    float *from = y[i] + part * c->co;
    e->activation(from, from, (end - part) * c->co, e->alpha, e->beta);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  bsm_cpu_convolution_run(prepared, r, c->tiles * c->part_blocks, run_unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_grouped = {
    "grouped", BSM_CPU_FORM_PLAIN, cost, prepare, run};
