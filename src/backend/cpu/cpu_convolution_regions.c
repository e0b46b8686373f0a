/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by regions of the output. Each is a matrix product over the taps
 * of the kernel that lie inside the input for the whole region. When dilation
 * makes a window larger than the image, most of its taps are padding, and those
 * are not multiplied. No window of a region crosses a border.
 *
 * Regions follow from sizes alone, so the order of additions does not depend on
 * threads. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"

/* The most pieces of one dimension; with more, the tactic does not fit. */
#define MAX_PIECES 16
/* The tactic does not fit larger images: few of their taps are outside. */
#define MAX_OUTPUTS 2048
/* The tactic fits when at most this part of the multiplications is left. */
#define WORTHWHILE 0.75
/* For estimates: rows of a tile, and how much longer a product over regions
 * takes than a plain one. */
#define TILE_ROWS 12
#define OVERHEAD 1.1

/* Adjacent outputs of one dimension whose taps first .. first + taps - 1, and
 * no other ones, are inside. */
typedef struct piece {
  int64_t at, length, first, taps;
} piece;

typedef struct pieces {
  piece items[MAX_PIECES];
  int count;
  double live; /* the part of all taps of all outputs that are inside */
} pieces;

typedef struct region {
  bsm_cpu_gemm gemm;
  const int64_t *taps; /* of the kernel, those of gemm */
  int64_t first_unit, width, taps_wide;
  int64_t x_offset, y_offset, residual_offset; /* of its first output */
  bsm_cpu_rows y_rows, residual_rows;
} region;

typedef struct convolution {
  bsm_cpu_convolution common;
  int64_t groups, ci, co; /* maps of a group */
  int64_t taps, units;    /* of the kernel; of a group of a sample */
  region *regions;
  int region_count;
} convolution;

/* ---- which fit ---- */

/* false when there are too many outputs or pieces. */
static bool cut(const bsm_step_window *w, int d, int64_t inputs,
                int64_t outputs, pieces *out) {
  double live = 0;
  out->count = 0;
  if (outputs > MAX_OUTPUTS) return false;
  for (int64_t o = 0; o < outputs; o++) {
    piece p = {.at = o, .length = 1};
    bsm_cpu_clip_taps(o * w->stride[d] - w->pre_padding[d], w->dilation[d],
                      w->kernel[d], inputs, &p.first, &p.taps);
    if (p.taps == 0) p.first = 0;
    piece *last = out->count ? &out->items[out->count - 1] : NULL;
    live += (double)p.taps;
    if (last && last->first == p.first && last->taps == p.taps) {
      last->length++;
    } else if (out->count == MAX_PIECES) {
      return false;
    } else {
      out->items[out->count++] = p;
    }
  }
  out->live = outputs ? live / ((double)outputs * (double)w->kernel[d]) : 1;
  return true;
}

static double cost(const bsm_cpu_convolution_site *s) {
  const bsm_step_window *w = &s->params->window;
  const int64_t *size = s->y.size;
  pieces high, wide;
  double rows = 0;
  if (bsm_cpu_is_depthwise(s->params, s->x.c) || w->kernel[0] != 1 ||
      s->x.size[0] != 1 || size[0] != 1 ||
      !cut(w, 1, s->x.size[1], size[1], &high) ||
      !cut(w, 2, s->x.size[2], size[2], &wide) ||
      high.live * wide.live > WORTHWHILE) {
    return -1;
  }
  for (int i = 0; i < high.count; i++) {
    for (int j = 0; j < wide.count; j++) {
      const piece *h = &high.items[i], *v = &wide.items[j];
      rows += (double)bsm_cpu_round_up(h->length * v->length, TILE_ROWS) *
              (double)(h->taps * v->taps);
    }
  }
  return BSM_CPU_PLAIN_COST * OVERHEAD * rows /
         ((double)(size[1] * size[2]) * (double)(w->kernel[1] * w->kernel[2]));
}

/* ---- prepare ---- */

static void region_rows(const bsm_image *image, const piece *h, const piece *v,
                        bsm_cpu_rows *rows, int64_t *offset) {
  bsm_cpu_rows_init(rows, 2, (int64_t[]){h->length, v->length},
                    (int64_t[]){image->stride[1], image->stride[2]});
  *offset = h->at * image->stride[1] + v->at * image->stride[2];
}

static bsm_status prepare_region(const bsm_cpu_prepare *p, const convolution *c,
                                 const piece *h, const piece *v, region *r) {
  const bsm_step_window *w = &c->common.w;
  const bsm_image *x = &c->common.x;
  int64_t *taps =
      BSM_NEW_ARRAY(p->arena, int64_t, (size_t)(h->taps * v->taps) + 1);
  BSM_TRY_ALLOC(taps);
  for (int64_t t = 0; t < h->taps * v->taps; t++) {
    taps[t] = (h->first + t / v->taps) * w->kernel[2] + v->first + t % v->taps;
  }
  r->taps = taps;
  r->width = v->length;
  r->taps_wide = v->taps;
  if (h->taps * v->taps > 0) { /* else nothing is read */
    r->x_offset =
        (h->at * w->stride[1] - w->pre_padding[1] + h->first * w->dilation[1]) *
            x->stride[1] +
        (v->at * w->stride[2] - w->pre_padding[2] + v->first * w->dilation[2]) *
            x->stride[2];
  }
  region_rows(&c->common.y, h, v, &r->y_rows, &r->y_offset);
  if (c->common.has_residual) {
    region_rows(&c->common.residual, h, v, &r->residual_rows,
                &r->residual_offset);
  }
  r->gemm = (bsm_cpu_gemm){.kernels = bsm_k_gemm_select(p->isa),
                           .epilogue = c->common.epilogue,
                           .scale = 1.0f,
                           .rows = h->length * v->length,
                           .columns = c->co,
                           .taps = h->taps * v->taps,
                           .kc = c->ci};
  bsm_cpu_gemm_plan(&r->gemm, p->threads, c->groups * c->common.y.n);
  return BSM_OK;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  pieces high, wide;
  uint64_t scratch = 0;
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  const bsm_step_window *w = &c->common.w;
  c->groups = params->groups / bsm_cpu_merged_groups(params);
  c->ci = c->common.x.c / c->groups;
  c->co = c->common.y.c / c->groups;
  c->taps = w->kernel[1] * w->kernel[2];
  cut(w, 1, c->common.x.size[1], c->common.y.size[1], &high);
  cut(w, 2, c->common.x.size[2], c->common.y.size[2], &wide);
  c->region_count = high.count * wide.count;
  c->regions = BSM_NEW_ARRAY(p->arena, region, (size_t)c->region_count + 1u);
  BSM_TRY_ALLOC(c->regions);
  for (int i = 0; i < c->region_count; i++) {
    region *r = &c->regions[i];
    BSM_TRY(prepare_region(p, c, &high.items[i / wide.count],
                           &wide.items[i % wide.count], r));
    r->first_unit = c->units;
    c->units += bsm_cpu_gemm_units(&r->gemm);
    const uint64_t bytes = bsm_cpu_gemm_scratch(&r->gemm);
    if (bytes > scratch) scratch = bytes;
  }
  c->common.base.description =
      bsm_arena_printf(p->arena, "%s %s", c->common.tactic->name,
                       bsm_k_gemm_select(p->isa)->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, scratch, c->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

typedef struct source {
  const convolution *c;
  const region *r;
  const float *x; /* at the first tap of the region's first output */
} source;

static void tap_pointers(const void *self, int64_t row, int count, int64_t tap,
                         int64_t taps, const float **a) {
  const source *s = self;
  const bsm_step_window *w = &s->c->common.w;
  const int64_t *stride = s->c->common.x.stride;
  for (int i = 0; i < count; i++, row++) {
    const float *first = s->x + row / s->r->width * w->stride[1] * stride[1] +
                         row % s->r->width * w->stride[2] * stride[2];
    for (int64_t t = 0; t < taps; t++) {
      const int64_t h = (tap + t) / s->r->taps_wide,
                    v = (tap + t) % s->r->taps_wide;
      a[t * count + i] = first + h * w->dilation[1] * stride[1] +
                         v * w->dilation[2] * stride[2];
    }
  }
}

static void run_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->impl;
  const int64_t n = unit / c->units / c->groups,
                group = unit / c->units % c->groups;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  unit %= c->units;
  int i = c->region_count - 1;
  while (c->regions[i].first_unit > unit) i--;
  const region *r = &c->regions[i];
  const source s = {
      c, r, w->x + n * c->common.x.n_stride + group * c->ci + r->x_offset};
  const bsm_cpu_gemm_operands o = {
      .source = &s,
      .pointers = tap_pointers,
      .b = c->common.kernel + group * panels * c->taps * c->ci * BSM_PANEL,
      .b_tap = c->ci * BSM_PANEL,
      .b_panel = c->taps * c->ci * BSM_PANEL,
      .tap_list = r->taps,
      .bias = c->common.bias ? c->common.bias + group * c->co : NULL,
      .c = w->y + n * c->common.y.n_stride + group * c->co + r->y_offset,
      .c_rows = &r->y_rows,
      .residual = w->residual ? w->residual + n * c->common.residual.n_stride +
                                    group * c->co + r->residual_offset
                              : NULL,
      .residual_rows = &r->residual_rows};
  bsm_cpu_gemm_run(&r->gemm, &o, unit - r->first_unit,
                   w->scratch + (size_t)slot * w->slot_size);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  bsm_cpu_convolution_run(prepared, r, c->common.y.n * c->groups * c->units,
                          run_unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_regions = {
    "regions", BSM_CPU_FORM_PLAIN, cost, prepare, run};
