/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a matrix product of the windows and the kernel.
 *
 * The tactics: `gemm_1x1`, a kernel of one tap and stride 1 is a matrix product
 * over all pixels. `indirect`, the same micro-kernel, with one row pointer for
 * each tap; pixels in the padding are a row of zeros. `rows`, with one pointer
 * for each line of the window, whose taps lie side by side in memory; windows
 * that cross the left or right border are copied. `im2col`, the windows of a
 * tile are copied to scratch memory. */
#include <string.h>

#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"

typedef enum gemm_way { GEMM_1X1, INDIRECT, ROWS, IM2COL } gemm_way;

typedef struct convolution {
  bsm_cpu_convolution common;
  gemm_way way;
  int64_t groups, ci, co; /* maps of a group */
  int64_t taps;
  bsm_cpu_gemm gemm;
  const float *zeros;   /* of one tap, or of one line of the window */
  uint64_t border_size; /* bytes of scratch in front of the product's */
} convolution;

/* ---- which fit ---- */

static bool is_pointwise(const bsm_step_window *w) {
  for (int d = 0; d < 3; d++) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pre_padding[d] ||
        w->post_padding[d]) {
      return false;
    }
  }
  return true;
}

/* Pixels a multiple of 2 KiB apart share a few sets of the first-level cache:
 * their rows are copied. */
static bool strides_collide(int64_t stride, int64_t k) {
  return k >= 256 && stride != 0 && stride % 512 == 0;
}

/* The taps of a line of the window are adjacent floats. */
static bool lines_are_rows(const bsm_step_convolution *p, const bsm_image *x) {
  return p->groups == 1 && p->window.dilation[2] == 1 &&
         p->window.kernel[2] > 1 && x->stride[2] == x->c;
}

static bool is_taken(const bsm_cpu_convolution_site *s) {
  return bsm_cpu_is_depthwise(s->params, s->x.c) ||
         is_pointwise(&s->params->window);
}

static bool windows_collide(const bsm_cpu_convolution_site *s) {
  return strides_collide(s->x.stride[2] * s->params->window.stride[2],
                         s->x.c / s->params->groups);
}

static double gemm_1x1_cost(const bsm_cpu_convolution_site *s) {
  return !bsm_cpu_is_depthwise(s->params, s->x.c) &&
                 is_pointwise(&s->params->window)
             ? 1
             : -1;
}

/* Costs are BSM_CPU_PLAIN_COST for an ideal product. Measured on Zen 4: the
 * three ways differ by a few percent, except with short taps. */
static double rows_cost(const bsm_cpu_convolution_site *s) {
  return !is_taken(s) && lines_are_rows(s->params, &s->x) ? BSM_CPU_PLAIN_COST
                                                          : -1;
}

static double indirect_cost(const bsm_cpu_convolution_site *s) {
  return is_taken(s) ? -1 : BSM_CPU_PLAIN_COST * 1.05;
}

/* Copying every window pays when the rows of a product over single pixels
 * collide. It is tried when there is little to copy. */
static double im2col_cost(const bsm_cpu_convolution_site *s) {
  const int64_t *k = s->params->window.kernel;
  const int64_t taps = k[0] * k[1] * k[2];
  if (is_taken(s)) return -1;
  if (windows_collide(s)) return BSM_CPU_PLAIN_COST * (taps == 1 ? 1 : 1.1);
  return s->x.c * taps < 1024 ? BSM_CPU_PLAIN_COST * 1.2 : -1;
}

/* ---- prepare ---- */

static bsm_status prepare(const bsm_cpu_prepare *p, gemm_way way,
                          bsm_prepared_step *out) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);
  c->way = way;
  c->groups = params->groups / bsm_cpu_merged_groups(params);
  c->ci = c->common.x.c / c->groups;
  c->co = c->common.y.c / c->groups;
  c->taps =
      c->common.w.kernel[0] * c->common.w.kernel[1] * c->common.w.kernel[2];

  bsm_cpu_gemm *g = &c->gemm;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->epilogue = c->common.epilogue;
  g->scale = 1.0f;
  g->rows = c->common.y.n * c->common.y.size[0] * c->common.y.size[1] *
            c->common.y.size[2];
  g->columns = c->co;
  g->taps = c->taps;
  g->kc = c->ci;
  if (c->way == IM2COL) {
    g->packs = true;
    g->kc *= g->taps;
    g->taps = 1;
  } else if (c->way == ROWS) {
    g->kc *= c->common.w.kernel[2];
    g->taps /= c->common.w.kernel[2];
  } else if (c->way == GEMM_1X1) {
    g->streams = true;
    g->packs =
        strides_collide(c->common.x_rows.strides[c->common.x_rows.rank - 1],
                        c->ci) &&
        c->co >= 64;
  }
  c->zeros =
      BSM_NEW_ARRAY(p->arena, float, (size_t)(c->ci * c->common.w.kernel[2]));
  BSM_TRY_ALLOC(c->zeros);
  bsm_cpu_gemm_plan(g, p->threads, c->groups);
  c->common.base.description = bsm_arena_printf(
      p->arena, "%s %s", c->common.tactic->name, g->kernels->name);
  /* What a tile's windows read of lines whose ends they cross: an output reads
   * the kernel's width, and is a stride behind the one before it. */
  c->border_size =
      c->way == ROWS
          ? bsm_cpu_align((uint64_t)(g->taps * c->ci *
                                     bsm_cpu_max(c->common.w.kernel[2],
                                                 c->common.w.stride[2])) *
                          BSM_K_GEMM_MAX_ROWS * sizeof(float))
          : 0;
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  return bsm_cpu_set_scratch(out, 0, c->border_size + bsm_cpu_gemm_scratch(g),
                             c->common.base.slots);
}

/* ---- run ---- */

typedef bsm_cpu_convolution_work work;

typedef struct source {
  const convolution *c;
  const float *x; /* at the first channel of the group */
  float *border;
} source;

static void pixel_pointers(const void *self, int64_t row, int count,
                           int64_t tap, int64_t taps, const float **a) {
  const source *s = self;
  int64_t offsets[BSM_K_GEMM_MAX_ROWS];
  (void)tap;
  (void)taps;
  bsm_cpu_rows_offsets(&s->c->common.x_rows, row, count, offsets);
  for (int i = 0; i < count; i++) a[i] = s->x + offsets[i];
}

static void pixel_pack(const void *self, int64_t row, int count, int64_t k,
                       int64_t length, float *to, int64_t stride) {
  const float *a[BSM_K_GEMM_MAX_ROWS];
  pixel_pointers(self, row, count, 0, 1, a);
  for (int i = 0; i < count; i++) {
    memcpy(to + i * stride, a[i] + k, (size_t)length * sizeof(float));
  }
}

/* One line of a window: kernel position (kd, kh) of output p. NULL when it lies
 * in the padding; else the place of input column 0. */
static const float *window_line(const source *s, const bsm_cpu_position *p,
                                int64_t kd, int64_t kh) {
  const convolution *c = s->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t d =
      p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
  const int64_t h =
      p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
  if (d < 0 || d >= c->common.x.size[0] || h < 0 || h >= c->common.x.size[1])
    return NULL;
  return s->x + p->n * c->common.x.n_stride + d * c->common.x.stride[0] +
         h * c->common.x.stride[1];
}

/* The lines of a window in order, without a division for each. */
typedef struct line_counter {
  int64_t kd, kh;
} line_counter;

static line_counter first_line(const convolution *c, int64_t line) {
  const int64_t height = c->common.w.kernel[1];
  return (line_counter){line / height, line % height};
}

static void next_line(const convolution *c, line_counter *at) {
  if (++at->kh == c->common.w.kernel[1]) {
    at->kh = 0;
    at->kd++;
  }
}

/* Outputs from p on that lie in one line, at most `most`. */
static int outputs_in_line(const convolution *c, const bsm_cpu_position *p,
                           int most) {
  return (int)bsm_cpu_min(most, c->common.y.size[2] - p->at[2]);
}

/* Moves p behind `n` outputs of its line. */
static void skip_outputs(const convolution *c, bsm_cpu_position *p, int n) {
  p->at[2] += n - 1;
  bsm_cpu_position_next(p, c->common.y.size);
}

/* Pointers of `n` outputs of one line for one tap: input columns x, x + stride
 * and so on of `line`. */
static void tap_pointers(const convolution *c, const float *line, int64_t x,
                         int n, const float **a) {
  const int64_t step = c->common.w.stride[2];
  if (line && x >= 0 && x + (n - 1) * step < c->common.x.size[2]) {
    const float *p = line + x * c->common.x.stride[2];
    for (int i = 0; i < n; i++) a[i] = p + i * step * c->common.x.stride[2];
    return;
  }
  for (int i = 0; i < n; i++, x += step) {
    a[i] = line && x >= 0 && x < c->common.x.size[2]
               ? line + x * c->common.x.stride[2]
               : c->zeros;
  }
}

static void indirect_pointers(const void *self, int64_t row, int count,
                              int64_t tap, int64_t taps, const float **a) {
  const source *s = self;
  const convolution *c = s->c;
  const bsm_step_window *w = &c->common.w;
  bsm_cpu_position p = bsm_cpu_position_of(row, c->common.y.size);
  for (int i = 0; i < count;) {
    const int n = outputs_in_line(c, &p, count - i);
    const int64_t x = p.at[2] * w->stride[2] - w->pre_padding[2];
    int64_t k = tap % w->kernel[2];
    line_counter at = first_line(c, tap / w->kernel[2]);
    const float *line = window_line(s, &p, at.kd, at.kh);
    for (int64_t t = 0; t < taps; t++) {
      tap_pointers(c, line, x + k * w->dilation[2], n, a + t * count + i);
      if (++k == w->kernel[2] && t + 1 < taps) {
        k = 0;
        next_line(c, &at);
        line = window_line(s, &p, at.kd, at.kh);
      }
    }
    skip_outputs(c, &p, n);
    i += n;
  }
}

/* Copies the floats [k, end) of a window [taps][ci] to `to`, tap by tap, or
 * side by side where the taps are. */
static void window_copy(const source *s, const bsm_cpu_position *p, int64_t k,
                        int64_t end, float *to) {
  const convolution *c = s->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t ci = c->ci, row = w->kernel[2] * ci;
  const int64_t x = p->at[2] * w->stride[2] - w->pre_padding[2];
  const bool whole = w->dilation[2] == 1 && c->common.x.stride[2] == ci &&
                     x >= 0 && x + w->kernel[2] <= c->common.x.size[2];
  while (k < end) {
    const int64_t line = k / row, in_line = k % row;
    const float *from =
        window_line(s, p, line / w->kernel[1], line % w->kernel[1]);
    int64_t n = bsm_cpu_min(end - k, row - in_line);
    if (!from) {
      memset(to, 0, (size_t)n * sizeof(float));
    } else if (whole) {
      memcpy(to, from + x * ci + in_line, (size_t)n * sizeof(float));
    } else {
      const int64_t at = x + in_line / ci * w->dilation[2], i = in_line % ci;
      n = bsm_cpu_min(n, ci - i);
      if (at < 0 || at >= c->common.x.size[2]) {
        memset(to, 0, (size_t)n * sizeof(float));
      } else {
        memcpy(to, from + at * c->common.x.stride[2] + i,
               (size_t)n * sizeof(float));
      }
    }
    to += n;
    k += n;
  }
}

static void im2col_pack(const void *self, int64_t row, int count, int64_t k,
                        int64_t length, float *to, int64_t stride) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->c->common.y.size);
  for (int i = 0; i < count; i++) {
    window_copy(s, &p, k, k + length, to + i * stride);
    bsm_cpu_position_next(&p, s->c->common.y.size);
  }
}

/* Copies the pixels [x, x + count) of a line, with zeros where it has none. */
static void copy_pixels(const convolution *c, const float *line, int64_t x,
                        int64_t count, float *to) {
  const int64_t first = bsm_cpu_min(bsm_cpu_max(-x, 0), count);
  const int64_t end =
      bsm_cpu_max(bsm_cpu_min(c->common.x.size[2] - x, count), first);
  memset(to, 0, (size_t)(first * c->ci) * sizeof(float));
  if (end > first) {
    memcpy(to + first * c->ci, line + (x + first) * c->ci,
           (size_t)((end - first) * c->ci) * sizeof(float));
  }
  memset(to + end * c->ci, 0, (size_t)((count - end) * c->ci) * sizeof(float));
}

/* Pixels of a line that `n` outputs side by side read. */
static int64_t pixels_of(const convolution *c, int64_t n) {
  const bsm_step_window *w = &c->common.w;
  return (n - 1) * w->stride[2] + w->kernel[2];
}

/* Pointers to whole lines of the windows; `tap` counts lines. What windows read
 * of a line that they cross the ends of is copied. */
static void line_pointers(const void *self, int64_t row, int count, int64_t tap,
                          int64_t taps, const float **a) {
  const source *s = self;
  const convolution *c = s->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t step = w->stride[2] * c->ci;
  float *border = s->border;
  bsm_cpu_position p = bsm_cpu_position_of(row, c->common.y.size);
  for (int i = 0; i < count;) {
    const int n = outputs_in_line(c, &p, count - i);
    const int64_t x = p.at[2] * w->stride[2] - w->pre_padding[2];
    const int64_t pixels = pixels_of(c, n);
    const bool inside = x >= 0 && x + pixels <= c->common.x.size[2];
    line_counter at = first_line(c, tap);
    for (int64_t t = 0; t < taps; t++, next_line(c, &at)) {
      const float *line = window_line(s, &p, at.kd, at.kh);
      const float **to = a + t * count + i;
      if (!line) {
        for (int j = 0; j < n; j++) to[j] = c->zeros;
        continue;
      }
      const float *from = border;
      if (inside) {
        from = line + x * c->ci;
      } else {
        copy_pixels(c, line, x, pixels, border);
        border += pixels * c->ci;
      }
      for (int j = 0; j < n; j++) to[j] = from + j * step;
    }
    skip_outputs(c, &p, n);
    i += n;
  }
}

static void gemm_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->impl;
  const int64_t units = bsm_cpu_gemm_units(&c->gemm);
  const int64_t group = unit / units;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  const source s = {c, w->x + group * c->ci, (float *)(void *)scratch};
  const bsm_cpu_gemm_operands o = {
      .source = &s,
      .pointers = c->way == INDIRECT ? indirect_pointers
                  : c->way == ROWS   ? line_pointers
                                     : pixel_pointers,
      .pack = c->way == IM2COL ? im2col_pack : pixel_pack,
      .b = c->common.kernel + group * panels * c->taps * c->ci * BSM_PANEL,
      .b_tap = c->gemm.kc * BSM_PANEL,
      .b_panel = c->taps * c->ci * BSM_PANEL,
      .bias = c->common.bias ? c->common.bias + group * c->co : NULL,
      .c = w->y + group * c->co,
      .c_rows = &c->common.y_rows,
      .residual = w->residual ? w->residual + group * c->co : NULL,
      .residual_rows = &c->common.residual_rows};
  bsm_cpu_gemm_run(&c->gemm, &o, unit % units, scratch + c->border_size);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  bsm_cpu_convolution_run(prepared, r, c->groups * bsm_cpu_gemm_units(&c->gemm),
                          gemm_unit);
  return BSM_OK;
}

static bsm_status prepare_gemm_1x1(const bsm_cpu_prepare *p,
                                   bsm_prepared_step *out) {
  return prepare(p, GEMM_1X1, out);
}

static bsm_status prepare_rows(const bsm_cpu_prepare *p,
                               bsm_prepared_step *out) {
  return prepare(p, ROWS, out);
}

static bsm_status prepare_indirect(const bsm_cpu_prepare *p,
                                   bsm_prepared_step *out) {
  return prepare(p, INDIRECT, out);
}

static bsm_status prepare_im2col(const bsm_cpu_prepare *p,
                                 bsm_prepared_step *out) {
  return prepare(p, IM2COL, out);
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_gemm_1x1 = {
    "gemm_1x1", BSM_CPU_FORM_PLAIN, gemm_1x1_cost, prepare_gemm_1x1, run};
const bsm_cpu_convolution_tactic bsm_cpu_convolution_rows = {
    "rows", BSM_CPU_FORM_PLAIN, rows_cost, prepare_rows, run};
const bsm_cpu_convolution_tactic bsm_cpu_convolution_indirect = {
    "indirect", BSM_CPU_FORM_PLAIN, indirect_cost, prepare_indirect, run};
const bsm_cpu_convolution_tactic bsm_cpu_convolution_im2col = {
    "im2col", BSM_CPU_FORM_PLAIN, im2col_cost, prepare_im2col, run};
