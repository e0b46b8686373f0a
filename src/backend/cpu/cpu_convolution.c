/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of channels-last tensors: float here, other dtypes in
 * cpu_typed_convolution.c.
 *
 * The tactics: `gemm_1x1`, a kernel of one tap and stride 1 is a matrix product
 * over all pixels. `indirect`, the same micro-kernel, with one row pointer for
 * each tap; pixels in the padding are a row of zeros. `rows`, with one pointer
 * for each line of the window, whose taps lie side by side in memory; windows
 * that cross the left or right border are copied. `im2col`, the windows of a
 * tile are copied to scratch memory. `depthwise`, one channel in, one out,
 * vectors of channels. */
#include <string.h>

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_typed_gemm.h"
#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

typedef enum tactic { GEMM_1X1, INDIRECT, ROWS, IM2COL, DEPTHWISE } tactic;

typedef struct convolution {
  bsm_cpu_impl base;
  tactic tactic;
  bsm_step_window w;
  int64_t groups, ci, co; /* maps of a group */
  int64_t taps;
  bsm_cpu_image x, y, residual;
  bool has_residual;
  bsm_cpu_rows x_rows, y_rows, residual_rows; /* pixels */
  bsm_cpu_gemm gemm;
  const float *zeros;   /* of one tap, or of one line of the window */
  uint64_t border_size; /* bytes of scratch in front of the product's */
  const float *kernel, *bias;
  /* depthwise */
  const bsm_k_depthwise *depthwise;
  bsm_cpu_epilogue epilogue;
  int64_t channel_block, channel_blocks;
} convolution;

/* ---- check ---- */

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  if (bsm_cpu_is_typed(plan, step)) {
    return bsm_cpu_typed_convolution.check(plan, step);
  }
  BSM_TRY(bsm_cpu_check_convolution(plan, step, BSM_DTYPE_FLOAT, false));
  return bsm_cpu_check_window_output(&step->params->convolution.window,
                                     bsm_cpu_input(plan, step, 0),
                                     bsm_cpu_output(plan, step, 0));
}

/* ---- tactics ---- */

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
static bool lines_are_rows(const bsm_step_convolution *p,
                           const bsm_cpu_image *x) {
  return p->groups == 1 && p->window.dilation[2] == 1 &&
         p->window.kernel[2] > 1 && x->stride[2] == x->c;
}

static size_t list_tactics(const bsm_step_convolution *p,
                           const bsm_cpu_image *x, tactic *list) {
  if (bsm_cpu_is_depthwise(p, x->c)) {
    list[0] = DEPTHWISE;
    return 1;
  }
  if (is_pointwise(&p->window)) {
    list[0] = GEMM_1X1;
    return 1;
  }
  size_t n = 0;
  const int64_t *k = p->window.kernel;
  const bool collide =
      strides_collide(x->stride[2] * p->window.stride[2], x->c / p->groups);
  if (collide) list[n++] = IM2COL;
  if (lines_are_rows(p, x)) list[n++] = ROWS;
  list[n++] = INDIRECT;
  if (!collide && x->c * k[0] * k[1] * k[2] < 1024) list[n++] = IM2COL;
  return n;
}

static const char *const tactic_names[] = {"gemm_1x1", "indirect", "rows",
                                           "im2col", "depthwise"};

static size_t list_for(const bsm_plan *plan, const bsm_plan_step *step,
                       tactic *list) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bsm_cpu_image x =
      bsm_cpu_image_of(bsm_cpu_input(plan, step, 0), p->window.spatial);
  return list_tactics(p, &x, list);
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step,
                      uint32_t isa, const char **names) {
  (void)isa;
  if (bsm_cpu_is_typed(plan, step)) {
    names[0] = "default";
    return 1;
  }
  tactic list[4];
  const size_t n = list_for(plan, step, list);
  for (size_t i = 0; i < n; i++) names[i] = tactic_names[list[i]];
  return n;
}

static tactic choose(const bsm_plan *plan, const bsm_plan_step *step) {
  tactic list[4];
  const size_t n = list_for(plan, step, list);
  for (size_t i = 0; step->tactic && i < n; i++) {
    if (strcmp(step->tactic, tactic_names[list[i]]) == 0) return list[i];
  }
  return list[0];
}

/* ---- prepare ---- */

static void pixel_rows(bsm_cpu_rows *rows, const bsm_cpu_image *i) {
  bsm_cpu_rows_init(
      rows, 4, (int64_t[]){i->n, i->size[0], i->size[1], i->size[2]},
      (int64_t[]){i->n_stride, i->stride[0], i->stride[1], i->stride[2]});
}

static bsm_status prepare_gemm(const bsm_cpu_prepare *p, convolution *c,
                               bsm_prepared_step *out) {
  bsm_cpu_gemm *g = &c->gemm;
  g->kernels = bsm_k_gemm_select(p->isa);
  g->epilogue = c->epilogue;
  g->scale = 1.0f;
  g->rows = c->y.n * c->y.size[0] * c->y.size[1] * c->y.size[2];
  g->columns = c->co;
  g->taps = c->taps;
  g->kc = c->ci;
  if (c->tactic == IM2COL) {
    g->packs = true;
    g->kc *= g->taps;
    g->taps = 1;
  } else if (c->tactic == ROWS) {
    g->kc *= c->w.kernel[2];
    g->taps /= c->w.kernel[2];
  } else if (c->tactic == GEMM_1X1) {
    g->packs = strides_collide(c->x_rows.strides[c->x_rows.rank - 1], c->ci) &&
               c->co >= 64;
  }
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)(c->ci * c->w.kernel[2]));
  BSM_TRY_ALLOC(c->zeros);
  bsm_cpu_gemm_plan(g, p->threads, c->groups);
  c->base.description = bsm_arena_printf(
      p->arena, "%s %s", tactic_names[c->tactic], g->kernels->name);
  /* The windows of a tile that cross a border. */
  c->border_size = c->tactic == ROWS
                       ? bsm_cpu_align((uint64_t)(g->taps * g->kc) *
                                       BSM_K_GEMM_MAX_ROWS * sizeof(float))
                       : 0;
  return bsm_cpu_set_scratch(out, 0, c->border_size + bsm_cpu_gemm_scratch(g),
                             c->base.slots);
}

static bsm_status prepare_depthwise(const bsm_cpu_prepare *p, convolution *c,
                                    bsm_prepared_step *out) {
  c->depthwise = bsm_k_depthwise_select(p->isa);
  const int64_t blocks = bsm_cpu_div_up(c->x.c, 512);
  c->channel_block =
      bsm_cpu_round_up(bsm_cpu_div_up(c->x.c, blocks), BSM_PANEL);
  c->channel_blocks = bsm_cpu_div_up(c->x.c, c->channel_block);
  c->base.description =
      bsm_arena_printf(p->arena, "depthwise %s", c->depthwise->name);
  /* Pointers to the rows of a window, in the input and in the kernel. */
  return bsm_cpu_set_scratch(
      out, 0, 2 * (uint64_t)(c->w.kernel[0] * c->w.kernel[1]) * sizeof(float *),
      c->base.slots);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  if (bsm_cpu_is_typed(p->plan, p->step)) {
    return bsm_cpu_typed_convolution.prepare(p, out);
  }
  const bsm_step_convolution *params = &p->step->params->convolution;
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  const int32_t spatial = params->window.spatial;
  c->base.slots = p->threads;
  c->tactic = choose(p->plan, p->step);
  c->w = params->window;
  c->x = bsm_cpu_image_of(bsm_cpu_input(p->plan, p->step, 0), spatial);
  c->y = bsm_cpu_image_of(bsm_cpu_output(p->plan, p->step, 0), spatial);
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    c->residual = bsm_cpu_image_of(bsm_cpu_input(p->plan, p->step, 1), spatial);
    pixel_rows(&c->residual_rows, &c->residual);
  }
  pixel_rows(&c->x_rows, &c->x);
  pixel_rows(&c->y_rows, &c->y);
  c->groups = params->groups;
  if (c->tactic != DEPTHWISE) c->groups /= bsm_cpu_merged_groups(params);
  c->ci = c->x.c / c->groups;
  c->co = c->y.c / c->groups;
  c->taps = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
  c->kernel = bsm_cpu_weights(p->plan, p->step, 0);
  c->bias = bsm_cpu_weights(p->plan, p->step, 1);
  c->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  out->impl = c;
  BSM_TRY(c->tactic == DEPTHWISE ? prepare_depthwise(p, c, out)
                                 : prepare_gemm(p, c, out));
  BSM_TRY_ALLOC(c->base.description);
  return BSM_OK;
}

/* ---- run: matrix products ---- */

typedef struct work {
  const convolution *c;
  const float *x, *residual;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

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
  bsm_cpu_rows_offsets(&s->c->x_rows, row, count, offsets);
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
  const bsm_step_window *w = &c->w;
  const int64_t d =
      p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
  const int64_t h =
      p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
  if (d < 0 || d >= c->x.size[0] || h < 0 || h >= c->x.size[1]) return NULL;
  return s->x + p->n * c->x.n_stride + d * c->x.stride[0] + h * c->x.stride[1];
}

/* Outputs from p on that lie in one line, at most `most`. */
static int outputs_in_line(const convolution *c, const bsm_cpu_position *p,
                           int most) {
  return (int)bsm_cpu_min(most, c->y.size[2] - p->at[2]);
}

/* Moves p behind `n` outputs of its line. */
static void skip_outputs(const convolution *c, bsm_cpu_position *p, int n) {
  p->at[2] += n - 1;
  bsm_cpu_position_next(p, c->y.size);
}

/* Pointers of `n` outputs of one line for one tap: input columns x, x + stride
 * and so on of `line`. */
static void tap_pointers(const convolution *c, const float *line, int64_t x,
                         int n, const float **a) {
  const int64_t step = c->w.stride[2];
  if (line && x >= 0 && x + (n - 1) * step < c->x.size[2]) {
    const float *p = line + x * c->x.stride[2];
    for (int i = 0; i < n; i++) a[i] = p + i * step * c->x.stride[2];
    return;
  }
  for (int i = 0; i < n; i++, x += step) {
    a[i] = line && x >= 0 && x < c->x.size[2] ? line + x * c->x.stride[2]
                                              : c->zeros;
  }
}

static void indirect_pointers(const void *self, int64_t row, int count,
                              int64_t tap, int64_t taps, const float **a) {
  const source *s = self;
  const convolution *c = s->c;
  const bsm_step_window *w = &c->w;
  bsm_cpu_position p = bsm_cpu_position_of(row, c->y.size);
  for (int i = 0; i < count;) {
    const int n = outputs_in_line(c, &p, count - i);
    const int64_t x = p.at[2] * w->stride[2] - w->pre_padding[2];
    int64_t k = tap % w->kernel[2], above = tap / w->kernel[2];
    const float *line =
        window_line(s, &p, above / w->kernel[1], above % w->kernel[1]);
    for (int64_t t = 0; t < taps; t++) {
      tap_pointers(c, line, x + k * w->dilation[2], n, a + t * count + i);
      if (++k == w->kernel[2] && t + 1 < taps) {
        k = 0;
        above++;
        line = window_line(s, &p, above / w->kernel[1], above % w->kernel[1]);
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
  const bsm_step_window *w = &c->w;
  const int64_t ci = c->ci, row = w->kernel[2] * ci;
  const int64_t x = p->at[2] * w->stride[2] - w->pre_padding[2];
  const bool whole = w->dilation[2] == 1 && c->x.stride[2] == ci && x >= 0 &&
                     x + w->kernel[2] <= c->x.size[2];
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
      if (at < 0 || at >= c->x.size[2]) {
        memset(to, 0, (size_t)n * sizeof(float));
      } else {
        memcpy(to, from + at * c->x.stride[2] + i, (size_t)n * sizeof(float));
      }
    }
    to += n;
    k += n;
  }
}

static void im2col_pack(const void *self, int64_t row, int count, int64_t k,
                        int64_t length, float *to, int64_t stride) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->c->y.size);
  for (int i = 0; i < count; i++) {
    window_copy(s, &p, k, k + length, to + i * stride);
    bsm_cpu_position_next(&p, s->c->y.size);
  }
}

/* Pointers to whole lines of the windows; `tap` counts lines. */
static void line_pointers(const void *self, int64_t row, int count, int64_t tap,
                          int64_t taps, const float **a) {
  const source *s = self;
  const convolution *c = s->c;
  const bsm_step_window *w = &c->w;
  const int64_t length = w->kernel[2] * c->ci;
  bsm_cpu_position p = bsm_cpu_position_of(row, c->y.size);
  for (int i = 0; i < count;) {
    const int n = outputs_in_line(c, &p, count - i);
    for (int64_t t = 0; t < taps; t++) {
      const float *line = window_line(s, &p, (tap + t) / w->kernel[1],
                                      (tap + t) % w->kernel[1]);
      const float **to = a + t * count + i;
      int64_t x = p.at[2] * w->stride[2] - w->pre_padding[2];
      for (int j = 0; j < n; j++, x += w->stride[2]) {
        if (!line) {
          to[j] = c->zeros;
        } else if (x >= 0 && x + w->kernel[2] <= c->x.size[2]) {
          to[j] = line + x * c->ci;
        } else {
          bsm_cpu_position at = p;
          float *copy = s->border + (t * count + i + j) * length;
          at.at[2] += j;
          window_copy(s, &at, (tap + t) * length, (tap + t + 1) * length, copy);
          to[j] = copy;
        }
      }
    }
    skip_outputs(c, &p, n);
    i += n;
  }
}

static void gemm_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->c;
  const int64_t units = bsm_cpu_gemm_units(&c->gemm);
  const int64_t group = unit / units;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  uint8_t *scratch = w->scratch + (size_t)slot * w->slot_size;
  const source s = {c, w->x + group * c->ci, (float *)(void *)scratch};
  const bsm_cpu_gemm_operands o = {
      .source = &s,
      .pointers = c->tactic == INDIRECT ? indirect_pointers
                  : c->tactic == ROWS   ? line_pointers
                                        : pixel_pointers,
      .pack = c->tactic == IM2COL ? im2col_pack : pixel_pack,
      .b = c->kernel + group * panels * c->taps * c->ci * BSM_PANEL,
      .b_tap = c->gemm.kc * BSM_PANEL,
      .b_panel = c->taps * c->ci * BSM_PANEL,
      .bias = c->bias ? c->bias + group * c->co : NULL,
      .c = w->y + group * c->co,
      .c_rows = &c->y_rows,
      .residual = w->residual ? w->residual + group * c->co : NULL,
      .residual_rows = &c->residual_rows};
  bsm_cpu_gemm_run(&c->gemm, &o, unit % units, scratch + c->border_size);
}

/* ---- run: depthwise ---- */

/* One line of outputs: the window rows inside the image. */
typedef struct line {
  const float **x, **w;
  int64_t rows;
  int64_t d, h, n;
} line;

static void find_line(const work *k, const bsm_cpu_position *p, int64_t channel,
                      line *l) {
  const convolution *c = k->c;
  const bsm_step_window *w = &c->w;
  const int64_t width = bsm_cpu_round_up(c->x.c, BSM_PANEL);
  l->rows = 0;
  for (int64_t kd = 0; kd < w->kernel[0]; kd++) {
    const int64_t d =
        p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
    if (d < 0 || d >= c->x.size[0]) continue;
    for (int64_t kh = 0; kh < w->kernel[1]; kh++) {
      const int64_t h =
          p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
      if (h < 0 || h >= c->x.size[1]) continue;
      l->x[l->rows] = k->x + p->n * c->x.n_stride + d * c->x.stride[0] +
                      h * c->x.stride[1] + channel;
      l->w[l->rows] =
          c->kernel + (kd * w->kernel[1] + kh) * w->kernel[2] * width + channel;
      l->rows++;
    }
  }
}

/* Outputs ow .. ow + pixels - 1 of a line, which share their taps. */
static void depthwise_pixels(const work *k, const line *l,
                             const bsm_k_depthwise_args *base, int64_t ow,
                             int64_t pixels, int64_t first, int64_t taps) {
  const convolution *c = k->c;
  const bsm_step_window *w = &c->w;
  bsm_k_depthwise_args t = *base;
  const int64_t x =
      ow * w->stride[2] - w->pre_padding[2] + first * w->dilation[2];
  /* Moves the pointers of the line; moved back below. */
  for (int64_t r = 0; r < l->rows; r++) {
    l->x[r] += x * c->x.stride[2];
    l->w[r] += first * t.w_tap;
  }
  t.taps = taps;
  t.y += ow * t.y_pixel;
  if (t.residual) t.residual += ow * t.residual_pixel;
  const bool near = t.x_pixel == t.x_tap;
  bsm_k_depthwise_fn *const *kernels = near && taps == 3   ? c->depthwise->taps3
                                       : near && taps == 5 ? c->depthwise->taps5
                                                           : c->depthwise->any;
  kernels[pixels - 1](&t);
  for (int64_t r = 0; r < l->rows; r++) {
    l->x[r] -= x * c->x.stride[2];
    l->w[r] -= first * t.w_tap;
  }
}

static void depthwise_activate(const convolution *c, float *y,
                               int64_t channels) {
  const bsm_cpu_epilogue *e = &c->epilogue;
  for (int64_t i = 0; i < c->y.size[2]; i++) {
    float *row = y + i * c->y.stride[2];
    e->activation(row, row, channels, e->alpha, e->beta);
  }
}

static void depthwise_unit(void *arg, int64_t unit, int slot) {
  const work *k = arg;
  const convolution *c = k->c;
  const bsm_step_window *w = &c->w;
  const int64_t block = unit % c->channel_blocks;
  const int64_t channel = block * c->channel_block;
  const int64_t lines[3] = {c->y.size[0], c->y.size[1], 1};
  const bsm_cpu_position p =
      bsm_cpu_position_of(unit / c->channel_blocks, lines);
  void *scratch = k->scratch + (size_t)slot * k->slot_size;
  line l = {.x = scratch};
  l.w = l.x + w->kernel[0] * w->kernel[1];
  find_line(k, &p, channel, &l);
  const int64_t place = p.at[0] * c->y.stride[0] + p.at[1] * c->y.stride[1];
  bsm_k_depthwise_args t = {
      .x = l.x,
      .w = l.w,
      .rows = l.rows,
      .channels = bsm_cpu_min(c->channel_block, c->x.c - channel),
      .x_pixel = w->stride[2] * c->x.stride[2],
      .x_tap = w->dilation[2] * c->x.stride[2],
      .w_tap = bsm_cpu_round_up(c->x.c, BSM_PANEL),
      .y = k->y + p.n * c->y.n_stride + place + channel,
      .y_pixel = c->y.stride[2],
      .bias = c->bias ? c->bias + channel : NULL,
      .lo = c->epilogue.lo,
      .hi = c->epilogue.hi};
  if (k->residual) {
    t.residual = k->residual + p.n * c->residual.n_stride +
                 p.at[0] * c->residual.stride[0] +
                 p.at[1] * c->residual.stride[1] + channel;
    t.residual_pixel = c->residual.stride[2];
  }
  for (int64_t ow = 0; ow < c->y.size[2];) {
    int64_t first, taps, next_first, next_taps, pixels = 0;
    bsm_cpu_clip_taps(ow * w->stride[2] - w->pre_padding[2], w->dilation[2],
                      w->kernel[2], c->x.size[2], &first, &taps);
    do {
      pixels++;
      bsm_cpu_clip_taps((ow + pixels) * w->stride[2] - w->pre_padding[2],
                        w->dilation[2], w->kernel[2], c->x.size[2], &next_first,
                        &next_taps);
    } while (pixels < BSM_K_DEPTHWISE_MAX_PIXELS &&
             ow + pixels < c->y.size[2] && next_first == first &&
             next_taps == taps);
    depthwise_pixels(k, &l, &t, ow, pixels, first, taps);
    ow += pixels;
  }
  if (c->epilogue.activation) depthwise_activate(c, t.y, t.channels);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  if (bsm_cpu_is_typed(prepared->plan, prepared->step)) {
    return bsm_cpu_typed_convolution.run(prepared, r);
  }
  const convolution *c = prepared->impl;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)c->base.slots};
  if (c->has_residual) w.residual = bsm_cpu_input_address(prepared, r, 1);
  if (c->tactic == DEPTHWISE) {
    bsm_cpu_parallel(r, c->base.slots,
                     c->y.n * c->y.size[0] * c->y.size[1] * c->channel_blocks,
                     depthwise_unit, &w);
  } else {
    bsm_cpu_parallel(r, c->base.slots, c->groups * bsm_cpu_gemm_units(&c->gemm),
                     gemm_unit, &w);
  }
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_CONVOLUTION = {check, tactics, prepare, run};
