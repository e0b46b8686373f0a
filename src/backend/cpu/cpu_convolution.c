/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of channels-last tensors.
 *
 * Four tactics. `gemm_1x1`: a kernel of one tap and stride 1 is a matrix
 * product over all pixels. `indirect`: the same micro-kernel, with one row
 * pointer for each tap; pixels in the padding are a row of zeros. `im2col`: the
 * window of each pixel is copied to a row of scratch memory, better for few
 * channels. `depthwise`: one channel in, one out, vectors of channels. */
#include <string.h>

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

#define MAX_IM2COL 2048 /* floats of a window */

typedef enum tactic { GEMM_1X1, INDIRECT, IM2COL, DEPTHWISE } tactic;

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
  const float *zeros; /* ci of them */
  const float *kernel, *bias;
  /* depthwise */
  const bsm_k_depthwise *depthwise;
  bsm_cpu_epilogue epilogue;
  int64_t channel_block, channel_blocks;
} convolution;

/* ---- check ---- */

static bsm_status check_image(const bsm_plan_tensor *t, const char *what) {
  BSM_TRY(bsm_cpu_check_dtype(t, BSM_DTYPE_FLOAT, what));
  if (t->dims.d[1] > 1 && t->strides[1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the channels of the %s are %lld apart", what,
                    (long long)t->strides[1]);
  }
  return BSM_OK;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_cpu_check_counts(step, has_residual ? 2 : 1, 1));
  const bsm_plan_tensor *x = bsm_cpu_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_cpu_output(plan, step, 0);
  BSM_TRY(bsm_cpu_check_window(&p->window, x, y));
  BSM_TRY(check_image(x, "input"));
  BSM_TRY(check_image(y, "output"));
  BSM_TRY(bsm_cpu_check_epilogue(&p->epilogue));
  const bsm_cpu_image in = bsm_cpu_image_of(x, p->window.spatial);
  const bsm_cpu_image out = bsm_cpu_image_of(y, p->window.spatial);
  if (in.n != out.n || out.c != p->out_maps) {
    return BSM_FAIL(BSM_CORRUPT, "input %s, output %s, %lld output maps",
                    bsm_dims_str(x->dims), bsm_dims_str(y->dims),
                    (long long)p->out_maps);
  }
  for (int d = 0; d < 3; d++) {
    if (out.size[d] != bsm_cpu_window_output(&p->window, d, in.size[d])) {
      return BSM_FAIL(BSM_CORRUPT, "input %s does not give output %s",
                      bsm_dims_str(x->dims), bsm_dims_str(y->dims));
    }
  }
  uint64_t size;
  BSM_TRY(bsm_cpu_packed_kernel_size(p, in.c, false, &size));
  BSM_TRY(bsm_cpu_check_weights(plan, step, 0, size));
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_cpu_check_weights(plan, step, 1,
                                  (uint64_t)p->out_maps * sizeof(float)));
  }
  if (has_residual) {
    const bsm_plan_tensor *r = bsm_cpu_input(plan, step, 1);
    BSM_TRY(check_image(r, "residual"));
    BSM_TRY(bsm_cpu_check_same_dims(r, y, "residual"));
  }
  return BSM_OK;
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

static size_t list_tactics(const bsm_step_convolution *p, int64_t in_maps,
                           tactic *list) {
  if (bsm_cpu_is_depthwise(p, in_maps)) {
    list[0] = DEPTHWISE;
    return 1;
  }
  if (is_pointwise(&p->window)) {
    list[0] = GEMM_1X1;
    return 1;
  }
  const int64_t ci = in_maps / p->groups;
  const int64_t *k = p->window.kernel;
  const bool fits = ci * k[0] * k[1] * k[2] <= MAX_IM2COL;
  if (!fits || ci >= 64) {
    list[0] = INDIRECT;
    return 1;
  }
  list[0] = ci < 8 ? IM2COL : INDIRECT;
  list[1] = ci < 8 ? INDIRECT : IM2COL;
  return 2;
}

static const char *const tactic_names[] = {"gemm_1x1", "indirect", "im2col",
                                           "depthwise"};

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step,
                      uint32_t isa, const char **names) {
  (void)isa;
  tactic list[2];
  const size_t n = list_tactics(&step->params->convolution,
                                bsm_cpu_input(plan, step, 0)->dims.d[1], list);
  for (size_t i = 0; i < n; i++) names[i] = tactic_names[list[i]];
  return n;
}

static tactic choose(const bsm_plan *plan, const bsm_plan_step *step) {
  tactic list[2];
  const size_t n = list_tactics(&step->params->convolution,
                                bsm_cpu_input(plan, step, 0)->dims.d[1], list);
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

/* Rows a multiple of 2 KiB apart share a few sets of the first-level cache. */
static bool rows_collide(const bsm_cpu_rows *rows, int64_t k) {
  const int64_t stride = rows->strides[rows->rank - 1];
  return k >= 256 && stride != 0 && stride % 512 == 0;
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
  } else if (c->tactic == GEMM_1X1) {
    g->packs = rows_collide(&c->x_rows, c->ci) && c->co >= 64;
  }
  bsm_cpu_gemm_plan(g, p->threads, c->groups);
  if (c->tactic == IM2COL) {
    g->k_block = g->kc; /* windows are copied whole */
  }
  c->base.description = bsm_arena_printf(
      p->arena, "%s %s", tactic_names[c->tactic], g->kernels->name);
  return bsm_cpu_set_scratch(out, 0, bsm_cpu_gemm_scratch(g), c->base.slots);
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
  c->ci = c->x.c / c->groups;
  c->co = c->y.c / c->groups;
  c->taps = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
  c->kernel = bsm_cpu_weights(p->plan, p->step, 0);
  c->bias = bsm_cpu_weights(p->plan, p->step, 1);
  c->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
  c->zeros = BSM_NEW_ARRAY(p->arena, float, (size_t)c->ci);
  BSM_TRY_ALLOC(c->zeros);
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

/* Pointers of one pixel for the taps of the window. */
static void window_pointers(const source *s, const bsm_cpu_position *p,
                            int64_t tap, int64_t taps, const float **a,
                            int count) {
  const convolution *c = s->c;
  const bsm_step_window *w = &c->w;
  const float *image = s->x + p->n * c->x.n_stride;
  int64_t at[3], start[3];
  for (int d = 0; d < 3; d++) {
    start[d] = p->at[d] * w->stride[d] - w->pre_padding[d];
  }
  at[0] = tap / (w->kernel[1] * w->kernel[2]);
  at[1] = tap / w->kernel[2] % w->kernel[1];
  at[2] = tap % w->kernel[2];
  for (int64_t t = 0; t < taps;) {
    const int64_t d = start[0] + at[0] * w->dilation[0];
    const int64_t h = start[1] + at[1] * w->dilation[1];
    const bool inside =
        d >= 0 && d < c->x.size[0] && h >= 0 && h < c->x.size[1];
    const float *line =
        inside ? image + d * c->x.stride[0] + h * c->x.stride[1] : NULL;
    int64_t x = start[2] + at[2] * w->dilation[2];
    for (; at[2] < w->kernel[2] && t < taps; at[2]++, t++) {
      a[t * count] = line && x >= 0 && x < c->x.size[2]
                         ? line + x * c->x.stride[2]
                         : c->zeros;
      x += w->dilation[2];
    }
    at[2] = 0;
    if (++at[1] == w->kernel[1]) {
      at[1] = 0;
      at[0]++;
    }
  }
}

static void indirect_pointers(const void *self, int64_t row, int count,
                              int64_t tap, int64_t taps, const float **a) {
  const source *s = self;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->c->y.size);
  for (int i = 0; i < count; i++) {
    window_pointers(s, &p, tap, taps, a + i, count);
    bsm_cpu_position_next(&p, s->c->y.size);
  }
}

/* Copies the window of one pixel to `to`: [taps][ci]. */
static void window_copy(const source *s, const bsm_cpu_position *p, float *to) {
  const convolution *c = s->c;
  const bsm_step_window *w = &c->w;
  const int64_t ci = c->ci, kw = w->kernel[2];
  const size_t tap_bytes = (size_t)ci * sizeof(float);
  const float *image = s->x + p->n * c->x.n_stride;
  const int64_t x = p->at[2] * w->stride[2] - w->pre_padding[2];
  const bool whole = w->dilation[2] == 1 && c->x.stride[2] == ci;
  int64_t first, count;
  bsm_cpu_clip_taps(x, w->dilation[2], kw, c->x.size[2], &first, &count);
  for (int64_t kd = 0; kd < w->kernel[0]; kd++) {
    const int64_t d =
        p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
    for (int64_t kh = 0; kh < w->kernel[1]; kh++, to += kw * ci) {
      const int64_t h =
          p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
      if (d < 0 || d >= c->x.size[0] || h < 0 || h >= c->x.size[1] ||
          count == 0) {
        memset(to, 0, (size_t)kw * tap_bytes);
        continue;
      }
      const float *line = image + d * c->x.stride[0] + h * c->x.stride[1] +
                          (x + first * w->dilation[2]) * c->x.stride[2];
      if (count < kw) {
        memset(to, 0, (size_t)first * tap_bytes);
        memset(to + (first + count) * ci, 0,
               (size_t)(kw - first - count) * tap_bytes);
      }
      if (whole) {
        memcpy(to + first * ci, line, (size_t)count * tap_bytes);
        continue;
      }
      for (int64_t t = 0; t < count; t++) {
        memcpy(to + (first + t) * ci,
               line + t * w->dilation[2] * c->x.stride[2], tap_bytes);
      }
    }
  }
}

static void im2col_pack(const void *self, int64_t row, int count, int64_t k,
                        int64_t length, float *to, int64_t stride) {
  const source *s = self;
  (void)k;
  (void)length;
  bsm_cpu_position p = bsm_cpu_position_of(row, s->c->y.size);
  for (int i = 0; i < count; i++) {
    window_copy(s, &p, to + i * stride);
    bsm_cpu_position_next(&p, s->c->y.size);
  }
}

static void gemm_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const convolution *c = w->c;
  const int64_t units = bsm_cpu_gemm_units(&c->gemm);
  const int64_t group = unit / units;
  const int64_t panels = bsm_cpu_div_up(c->co, BSM_PANEL);
  const source s = {c, w->x + group * c->ci};
  const bsm_cpu_gemm_operands o = {
      .source = &s,
      .pointers = c->tactic == INDIRECT ? indirect_pointers : pixel_pointers,
      .pack = c->tactic == IM2COL ? im2col_pack : pixel_pack,
      .b = c->kernel + group * panels * c->taps * c->ci * BSM_PANEL,
      .b_tap = c->ci * BSM_PANEL,
      .b_panel = c->taps * c->ci * BSM_PANEL,
      .bias = c->bias ? c->bias + group * c->co : NULL,
      .c = w->y + group * c->co,
      .c_rows = &c->y_rows,
      .residual = w->residual ? w->residual + group * c->co : NULL,
      .residual_rows = &c->residual_rows};
  bsm_cpu_gemm_run(&c->gemm, &o, unit % units,
                   w->scratch + (size_t)slot * w->slot_size);
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
