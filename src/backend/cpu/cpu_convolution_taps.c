/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution to few maps, tap by tap: a product over single pixels whose
 * columns are the maps of all taps, and sums of these columns, each shifted by
 * its tap. So a panel holds taps where that of the product over windows holds
 * zeros.
 *
 * A unit is a block of an output image. Every input line that it reads is
 * multiplied once; a ring holds the products of those that a window spans. The
 * sums are depthwise convolutions of products by ones. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

/* What adding the products of a tap costs, beside multiplying and adding for
 * one column. */
#define ADD_COST 32
/* From this share of the plain product's cost on it is not worth trying. */
#define WORTH 0.75
/* Floats of a ring at most: it stays in the second-level cache. */
#define RING 98304
/* Outputs of a line in a block, at least and at most. */
#define MIN_BLOCK 16
#define MAX_BLOCK 256
/* Output rows of a block at least, and for each row that two blocks read. */
#define BAND 32
#define BAND_PER_SHARED 8
/* Outputs of a row that are pointed at together. */
#define SUMS 32
/* Units for each thread, when there are several. */
#define UNITS 4

typedef struct convolution {
  bsm_cpu_convolution common;
  bsm_cpu_gemm gemm; /* of the pixels that a line of a block reads */
  bsm_cpu_rows products;
  const bsm_k_depthwise *sums;
  const float *kernel, *zeros;
  float ones[BSM_K_PANEL];
  int64_t span[3];     /* pixels of a window beyond the first */
  int64_t band, bands; /* of output rows */
  int64_t block, blocks;
  int64_t line; /* floats of the products of a line */
  uint64_t ring_bytes, taps_bytes, pointers_bytes;
} convolution;

static int64_t span_of(const bsm_step_window *w, int d) {
  return (w->kernel[d] - 1) * w->dilation[d];
}

/* The outputs of a line for which the ring has room. */
static int64_t most_of(const bsm_step_window *w, int64_t columns) {
  return RING / ((span_of(w, 1) + 1) * columns) - span_of(w, 2);
}

static bool fits(const bsm_cpu_convolution_site *s) {
  const bsm_step_window *w = &s->params->window;
  return s->params->groups == 1 && s->y.c <= BSM_K_HALF_PANEL &&
         w->kernel[0] == 1 && w->pre_padding[0] == 0 &&
         w->post_padding[0] == 0 && w->stride[0] == 1 && w->stride[1] == 1 &&
         w->stride[2] == 1 && s->y.size[1] > 0 && s->y.size[2] > 0 &&
         most_of(w, w->kernel[1] * w->kernel[2] * s->y.c) >= MIN_BLOCK;
}

static double cost(const bsm_cpu_convolution_site *s) {
  if (!fits(s)) return -1;
  const bsm_step_window *w = &s->params->window;
  const int64_t taps = w->kernel[1] * w->kernel[2], columns = taps * s->y.c;
  const double c = (double)s->x.c;
  const double lines = (double)s->x.size[1] / (double)s->y.size[1];
  const double more = (double)span_of(w, 2) / (double)s->y.size[2];
  const double took = lines * (1 + more) * c *
                          (double)bsm_cpu_round_up(columns, BSM_K_HALF_PANEL) +
                      (double)(ADD_COST * taps);
  const double share = took / (c * (double)(taps * BSM_K_HALF_PANEL));
  return share < WORTH ? BSM_CPU_PLAIN_COST * share : -1;
}

/* ---- prepare ---- */

/* From [taps][C][16] to [panels of all taps' maps][C][16]. */
static bsm_status pack(const bsm_cpu_prepare *p, convolution *c) {
  const int64_t ci = c->common.x.c, co = c->common.y.c;
  const int64_t columns = c->gemm.columns;
  const int64_t panels = bsm_cpu_div_up(columns, BSM_K_PANEL);
  float *to =
      BSM_NEW_ARRAY(p->arena, float, (size_t)(panels * ci * BSM_K_PANEL));
  BSM_TRY_ALLOC(to);
  for (int64_t j = 0; j < columns; j++) {
    const float *from = c->common.kernel + j / co * ci * BSM_K_PANEL + j % co;
    float *column = to + j / BSM_K_PANEL * ci * BSM_K_PANEL + j % BSM_K_PANEL;
    for (int64_t i = 0; i < ci * BSM_K_PANEL; i += BSM_K_PANEL) {
      column[i] = from[i];
    }
  }
  c->kernel = to;
  return BSM_OK;
}

/* Blocks of nearly equal size, enough of them for the threads. */
static void choose_blocks(convolution *c, int threads) {
  const bsm_image *y = &c->common.y;
  const int64_t want = threads > 1 ? UNITS * (int64_t)threads : 1;
  const int64_t images = y->n * y->size[0];
  const int64_t most =
      bsm_cpu_min(MAX_BLOCK, most_of(&c->common.w, c->gemm.columns));
  c->blocks = bsm_cpu_div_up(y->size[2], most);
  c->bands = bsm_cpu_div_up(y->size[1],
                            bsm_cpu_max(BAND, BAND_PER_SHARED * c->span[1]));
  while (images * c->blocks * c->bands < want &&
         y->size[1] / c->bands > bsm_cpu_max(4, 2 * c->span[1])) {
    c->bands *= 2;
  }
  while (images * c->blocks * c->bands < want &&
         y->size[2] / c->blocks > MIN_BLOCK + 4 * c->span[2]) {
    c->blocks *= 2;
  }
  c->band = bsm_cpu_div_up(y->size[1], c->bands);
  c->bands = bsm_cpu_div_up(y->size[1], c->band);
  c->block = bsm_cpu_div_up(y->size[2], c->blocks);
  c->blocks = bsm_cpu_div_up(y->size[2], c->block);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  const bsm_step_window *w = &c->common.w;
  for (int d = 0; d < 3; d++) c->span[d] = span_of(w, d);
  bsm_cpu_gemm *g = &c->gemm;
  g->columns = w->kernel[1] * w->kernel[2] * c->common.y.c;
  choose_blocks(c, p->threads);
  g->kernels = bsm_k_gemm_select(p->isa);
  g->scale = 1.0f;
  g->rows = c->block + c->span[2];
  g->taps = 1;
  g->kc = c->common.x.c;
  g->streams = true;
  bsm_cpu_gemm_plan(g, 1, 1);
  BSM_TRY(pack(p, c));
  c->products = (bsm_cpu_rows){1, {g->rows}, {g->columns}};
  c->sums = bsm_k_depthwise_select(p->isa);
  for (int i = 0; i < BSM_K_PANEL; i++) c->ones[i] = 1;
  c->line = g->rows * g->columns;
  const int64_t taps = w->kernel[1] * w->kernel[2];
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)(g->kc + BSM_K_PANEL));
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, g->kernels->name);
  BSM_TRY_ALLOC(c->zeros && c->common.base.description);
  c->ring_bytes =
      bsm_cpu_align((uint64_t)(c->line * (c->span[1] + 1)) * sizeof(float));
  c->taps_bytes = bsm_cpu_align((uint64_t)taps * sizeof(float **));
  c->pointers_bytes = (uint64_t)(taps * SUMS) * sizeof(float *);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0,
                             c->ring_bytes + c->taps_bytes +
                                 bsm_cpu_align(c->pointers_bytes) +
                                 bsm_cpu_gemm_scratch(g),
                             c->common.base.slots);
}

/* ---- run ---- */

/* The pixels of an input line from `first` on, which may lie in the padding. */
typedef struct source {
  const convolution *c;
  const float *line;
  int64_t first;
} source;

static void pointers(const void *self, int64_t row, int count, int64_t tap,
                     int64_t taps, const float **a) {
  const source *s = self;
  const bsm_image *x = &s->c->common.x;
  (void)tap;
  (void)taps;
  for (int i = 0; i < count; i++) {
    const int64_t at = s->first + row + i;
    a[i] =
        at >= 0 && at < x->size[2] ? s->line + at * x->stride[2] : s->c->zeros;
  }
}

/* The products of all taps with the pixels of a line. */
static void multiply(const source *s, float *products, void *scratch) {
  const convolution *c = s->c;
  const bsm_cpu_gemm_operands o = {.source = s,
                                   .pointers = pointers,
                                   .b = c->kernel,
                                   .b_tap = c->gemm.kc * BSM_K_PANEL,
                                   .b_panel = c->gemm.kc * BSM_K_PANEL,
                                   .c = products,
                                   .c_rows = &c->products};
  for (int64_t i = 0; i < bsm_cpu_gemm_units(&c->gemm); i++) {
    bsm_cpu_gemm_run(&c->gemm, &o, i, scratch);
  }
}

/* A unit at work, in its scratch memory. */
typedef struct unit_state {
  const convolution *c;
  float *ring; /* line h of the input at h modulo its lines */
  const float ***taps;
  const float **pointers;
} unit_state;

/* Points at the products of every tap for `count` outputs, from pixel `first`
 * of the block on; `top`: the input line of the first tap. */
static void point_taps(const unit_state *u, int64_t top, int64_t first,
                       int64_t count) {
  const convolution *c = u->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t columns = c->gemm.columns;
  const float **to = u->pointers;
  int64_t tap = 0;
  for (int64_t kh = 0; kh < w->kernel[1]; kh++) {
    const int64_t h = top + kh * w->dilation[1];
    const bool inside = h >= 0 && h < c->common.x.size[1];
    const float *line =
        inside ? u->ring + h % (c->span[1] + 1) * c->line : NULL;
    for (int64_t kw = 0; kw < w->kernel[2]; kw++, tap++) {
      const float *from = inside
                              ? line + (first + kw * w->dilation[2]) * columns +
                                    tap * c->common.y.c
                              : c->zeros;
      u->taps[tap] = to;
      for (int64_t i = 0; i < count; i++, from += inside ? columns : 0) {
        *to++ = from;
      }
    }
  }
}

static int64_t offset_of(const bsm_image *i, const bsm_cpu_position *p) {
  return p->n * i->n_stride + p->at[0] * i->stride[0] +
         p->at[1] * i->stride[1] + p->at[2] * i->stride[2];
}

/* Sums of `pixels` outputs of a line, from `p` on. */
static void add(const bsm_cpu_convolution_work *w, const unit_state *u,
                const bsm_cpu_position *p, int64_t pixels) {
  const convolution *c = u->c;
  const bsm_image *y = &c->common.y, *r = &c->common.residual;
  bsm_k_depthwise_args t = {
      .x = (const float *const *const *)u->taps,
      .w = c->ones,
      .taps = c->common.w.kernel[1] * c->common.w.kernel[2],
      .line = 1,
      .channels = y->c,
      .y = w->y + offset_of(y, p),
      .y_pixel = y->stride[2],
      .bias = c->common.bias,
      .residual = w->residual ? w->residual + offset_of(r, p) : NULL,
      .residual_pixel = r->stride[2],
      .lo = c->common.epilogue.lo,
      .hi = c->common.epilogue.hi};
  for (int64_t i = 0; i < pixels; i += SUMS) {
    t.pixels = bsm_cpu_min(SUMS, pixels - i);
    point_taps(u, p->at[1] - c->common.w.pre_padding[1], i, t.pixels);
    c->sums->any(&t);
    bsm_cpu_activate_pixels(&c->common.epilogue, t.y, t.y_pixel, t.pixels,
                            y->c);
    t.y += SUMS * t.y_pixel;
    if (t.residual) t.residual += SUMS * t.residual_pixel;
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_convolution_work *w = arg;
  const convolution *c = w->impl;
  const bsm_image *x = &c->common.x, *y = &c->common.y;
  const int64_t units[3] = {y->size[0], c->bands, c->blocks};
  bsm_cpu_position p = bsm_cpu_position_of(index, units);
  p.at[1] *= c->band;
  p.at[2] *= c->block;
  const int64_t end = bsm_cpu_min(p.at[1] + c->band, y->size[1]);
  const int64_t pixels = bsm_cpu_min(c->block, y->size[2] - p.at[2]);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  unit_state u = {.c = c, .ring = (float *)(void *)scratch};
  u.taps = (const float ***)(void *)(scratch += c->ring_bytes);
  u.pointers = (const float **)(void *)(scratch += c->taps_bytes);
  scratch += bsm_cpu_align(c->pointers_bytes);
  source s = {c, NULL, p.at[2] - c->common.w.pre_padding[2]};
  const int64_t top = p.at[1] - c->common.w.pre_padding[1];
  int64_t h = bsm_cpu_max(top, 0); /* the line that is multiplied next */
  for (int64_t i = 0; p.at[1] < end; i++, p.at[1]++) {
    const int64_t last = bsm_cpu_min(top + i + c->span[1] + 1, x->size[1]);
    for (; h < last; h++) {
      s.line =
          w->x + p.n * x->n_stride + p.at[0] * x->stride[0] + h * x->stride[1];
      multiply(&s, u.ring + h % (c->span[1] + 1) * c->line, scratch);
    }
    add(w, &u, &p, pixels);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  const bsm_image *y = &c->common.y;
  bsm_cpu_convolution_run(prepared, r, y->n * y->size[0] * c->bands * c->blocks,
                          unit);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_taps = {
    "taps", BSM_CPU_FORM_PLAIN, cost, prepare, run, false};
