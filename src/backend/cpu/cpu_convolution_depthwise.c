/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: one channel in, one out, vectors of channels. */
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/kernels/depthwise/depthwise_f32.h"

typedef struct convolution {
  bsm_cpu_convolution common;
  const bsm_k_depthwise *depthwise;
  int64_t channel_block, channel_blocks;
} convolution;

static double cost(const bsm_cpu_convolution_site *s) {
  return bsm_cpu_is_depthwise(s->params, s->x.c) ? 1 : -1;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  convolution *c = BSM_NEW(p->arena, convolution);
  BSM_TRY_ALLOC(c);
  bsm_cpu_convolution_init(p, &c->common);

  c->depthwise = bsm_k_depthwise_select(p->isa);
  const int64_t blocks = bsm_cpu_div_up(c->common.x.c, 512);
  c->channel_block =
      bsm_cpu_round_up(bsm_cpu_div_up(c->common.x.c, blocks), BSM_PANEL);
  c->channel_blocks = bsm_cpu_div_up(c->common.x.c, c->channel_block);
  c->common.base.description =
      bsm_arena_printf(p->arena, "depthwise %s", c->depthwise->name);
  BSM_TRY_ALLOC(c->common.base.description);
  out->impl = c;
  /* Pointers to the rows of a window, in the input and in the kernel. */
  return bsm_cpu_set_scratch(
      out, 0,
      2 * (uint64_t)(c->common.w.kernel[0] * c->common.w.kernel[1]) *
          sizeof(float *),
      c->common.base.slots);
}

/* ---- run ---- */

typedef struct work {
  const convolution *c;
  const float *x, *residual;
  float *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* One line of outputs: the window rows inside the image. */
typedef struct line {
  const float **x, **w;
  int64_t rows;
  int64_t d, h, n;
} line;

static void find_line(const work *k, const bsm_cpu_position *p, int64_t channel,
                      line *l) {
  const convolution *c = k->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t width = bsm_cpu_round_up(c->common.x.c, BSM_PANEL);
  l->rows = 0;
  for (int64_t kd = 0; kd < w->kernel[0]; kd++) {
    const int64_t d =
        p->at[0] * w->stride[0] - w->pre_padding[0] + kd * w->dilation[0];
    if (d < 0 || d >= c->common.x.size[0]) continue;
    for (int64_t kh = 0; kh < w->kernel[1]; kh++) {
      const int64_t h =
          p->at[1] * w->stride[1] - w->pre_padding[1] + kh * w->dilation[1];
      if (h < 0 || h >= c->common.x.size[1]) continue;
      l->x[l->rows] = k->x + p->n * c->common.x.n_stride +
                      d * c->common.x.stride[0] + h * c->common.x.stride[1] +
                      channel;
      l->w[l->rows] = c->common.kernel +
                      (kd * w->kernel[1] + kh) * w->kernel[2] * width + channel;
      l->rows++;
    }
  }
}

/* Outputs ow .. ow + pixels - 1 of a line, which share their taps. */
static void depthwise_pixels(const work *k, const line *l,
                             const bsm_k_depthwise_args *base, int64_t ow,
                             int64_t pixels, int64_t first, int64_t taps) {
  const convolution *c = k->c;
  const bsm_step_window *w = &c->common.w;
  bsm_k_depthwise_args t = *base;
  const int64_t x =
      ow * w->stride[2] - w->pre_padding[2] + first * w->dilation[2];
  /* Moves the pointers of the line; moved back below. */
  for (int64_t r = 0; r < l->rows; r++) {
    l->x[r] += x * c->common.x.stride[2];
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
    l->x[r] -= x * c->common.x.stride[2];
    l->w[r] -= first * t.w_tap;
  }
}

static void depthwise_activate(const convolution *c, float *y,
                               int64_t channels) {
  const bsm_cpu_epilogue *e = &c->common.epilogue;
  for (int64_t i = 0; i < c->common.y.size[2]; i++) {
    float *row = y + i * c->common.y.stride[2];
    e->activation(row, row, channels, e->alpha, e->beta);
  }
}

static void depthwise_unit(void *arg, int64_t unit, int slot) {
  const work *k = arg;
  const convolution *c = k->c;
  const bsm_step_window *w = &c->common.w;
  const int64_t block = unit % c->channel_blocks;
  const int64_t channel = block * c->channel_block;
  const int64_t lines[3] = {c->common.y.size[0], c->common.y.size[1], 1};
  const bsm_cpu_position p =
      bsm_cpu_position_of(unit / c->channel_blocks, lines);
  void *scratch = k->scratch + (size_t)slot * k->slot_size;
  line l = {.x = scratch};
  l.w = l.x + w->kernel[0] * w->kernel[1];
  find_line(k, &p, channel, &l);
  const int64_t place =
      p.at[0] * c->common.y.stride[0] + p.at[1] * c->common.y.stride[1];
  bsm_k_depthwise_args t = {
      .x = l.x,
      .w = l.w,
      .rows = l.rows,
      .channels = bsm_cpu_min(c->channel_block, c->common.x.c - channel),
      .x_pixel = w->stride[2] * c->common.x.stride[2],
      .x_tap = w->dilation[2] * c->common.x.stride[2],
      .w_tap = bsm_cpu_round_up(c->common.x.c, BSM_PANEL),
      .y = k->y + p.n * c->common.y.n_stride + place + channel,
      .y_pixel = c->common.y.stride[2],
      .bias = c->common.bias ? c->common.bias + channel : NULL,
      .lo = c->common.epilogue.lo,
      .hi = c->common.epilogue.hi};
  if (k->residual) {
    t.residual = k->residual + p.n * c->common.residual.n_stride +
                 p.at[0] * c->common.residual.stride[0] +
                 p.at[1] * c->common.residual.stride[1] + channel;
    t.residual_pixel = c->common.residual.stride[2];
  }
  for (int64_t ow = 0; ow < c->common.y.size[2];) {
    int64_t first, taps, next_first, next_taps, pixels = 0;
    bsm_cpu_clip_taps(ow * w->stride[2] - w->pre_padding[2], w->dilation[2],
                      w->kernel[2], c->common.x.size[2], &first, &taps);
    do {
      pixels++;
      bsm_cpu_clip_taps((ow + pixels) * w->stride[2] - w->pre_padding[2],
                        w->dilation[2], w->kernel[2], c->common.x.size[2],
                        &next_first, &next_taps);
    } while (pixels < BSM_K_DEPTHWISE_MAX_PIXELS &&
             ow + pixels < c->common.y.size[2] && next_first == first &&
             next_taps == taps);
    depthwise_pixels(k, &l, &t, ow, pixels, first, taps);
    ow += pixels;
  }
  if (c->common.epilogue.activation) depthwise_activate(c, t.y, t.channels);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const convolution *c = prepared->impl;
  const int slots = c->common.base.slots;
  const bsm_cpu_image *y = &c->common.y;
  work w = {.c = c,
            .x = bsm_cpu_input_address(prepared, r, 0),
            .y = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)slots};
  if (c->common.has_residual) {
    w.residual = bsm_cpu_input_address(prepared, r, 1);
  }
  bsm_cpu_parallel(r, slots, y->n * y->size[0] * y->size[1] * c->channel_blocks,
                   depthwise_unit, &w);
  return BSM_OK;
}

const bsm_cpu_convolution_tactic bsm_cpu_convolution_depthwise = {
    "depthwise", BSM_CONVOLUTION_PLAIN, cost, prepare, run};
