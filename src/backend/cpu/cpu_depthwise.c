/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a depthwise convolution. */
#include "backend/cpu/cpu_depthwise.h"

#include <string.h>

/* Windows that the unrolled kernels know. */
static bool is_square(const bsm_step_window *w, const bsm_image *x) {
  return w->kernel[0] == 1 && x->size[0] == 1 && w->stride[0] == 1 &&
         w->pre_padding[0] == 0 && w->post_padding[0] == 0 &&
         w->kernel[1] == w->kernel[2] && w->stride[1] == w->stride[2] &&
         w->dilation[1] == 1 && w->dilation[2] == 1 && w->kernel[1] >= 3 &&
         w->kernel[1] <= BSM_K_DEPTHWISE_MAX_WINDOW && w->kernel[1] % 2 == 1 &&
         w->stride[1] <= BSM_K_DEPTHWISE_MAX_STRIDE;
}

/* Whether each tap of a line reads the pixels of the one before, but for one.
 */
static bool shares_pixels(const bsm_step_window *w) {
  return w->stride[2] == 1 && w->dilation[2] == 1;
}

void bsm_cpu_depthwise_init(const bsm_step_convolution *params,
                            const bsm_image *x, const bsm_image *y,
                            uint32_t isa, bsm_cpu_depthwise *out) {
  const bsm_step_window *w = &params->window;
  *out = (bsm_cpu_depthwise){.kernels = bsm_k_depthwise_select(isa),
                             .window = w->kernel[1],
                             .stride = w->stride[1],
                             .pre_padding = w->pre_padding[2],
                             .in_width = x->size[2],
                             .out_width = y->size[2],
                             .channels = x->c,
                             .maps = x->c / params->groups,
                             .taps = w->kernel[0] * w->kernel[1] * w->kernel[2],
                             .w_tap = bsm_cpu_round_up(x->c, BSM_PANEL),
                             .line = shares_pixels(w) ? w->kernel[2] : 1,
                             .epilogue = bsm_cpu_make_epilogue(
                                 &params->epilogue, bsm_k_math_select(isa))};
  if (is_square(w, x) && (out->maps == 1 || out->window == 3)) {
    out->square =
        out->maps > 1
            ? &out->kernels->square_groups[out->stride - 1]
            : out->kernels->square[(out->window - 3) / 2][out->stride - 1];
    out->columns = bsm_cpu_max(0, y->size[2] - 1) * out->stride + out->window;
  }
}

/* Floats between taps by whose multiples the weights of a channel share few
 * sets of the first-level cache, which pixels of as many channels need, too. */
#define COLLISION 256

bsm_status bsm_cpu_depthwise_set_kernel(const float *packed, bsm_arena *arena,
                                        bsm_cpu_depthwise *d) {
  const size_t row = (size_t)d->w_tap, wide = row + BSM_PANEL;
  const size_t taps = (size_t)d->taps, count = wide * taps;
  d->kernel = packed;
  if (d->maps > 1 || d->w_tap % COLLISION || d->taps == 1) return BSM_OK;
  float *copy = BSM_NEW_ARRAY(arena, float, count);
  BSM_TRY_ALLOC(copy);
  for (size_t t = 0; t < taps; t++) {
    memcpy(copy + t * wide, packed + t * row, row * sizeof(float));
  }
  d->kernel = copy;
  d->w_tap = (int64_t)wide;
  return BSM_OK;
}

void bsm_cpu_depthwise_point(const bsm_cpu_depthwise *d, const float *row,
                             int64_t pixel_stride, const float **to) {
  const int64_t first = bsm_cpu_min(d->pre_padding, d->columns);
  const int64_t end =
      row ? bsm_cpu_min(d->pre_padding + d->in_width, d->columns) : first;
  int64_t j = 0;
  for (; j < first; j++) to[j] = d->zeros;
  for (; j < end; j++) to[j] = row + (j - d->pre_padding) * pixel_stride;
  for (; j < d->columns; j++) to[j] = d->zeros;
}

int bsm_cpu_depthwise_max_rows(const bsm_cpu_depthwise *d) {
  int rows = 1;
  if (d->maps > 1) return rows;
  while (rows < BSM_K_DEPTHWISE_MAX_ROWS && d->square[rows]) rows++;
  return rows;
}

bsm_k_depthwise_args bsm_cpu_depthwise_args(
    const bsm_cpu_depthwise *d, int64_t channel, int64_t channels,
    const bsm_cpu_depthwise_target *target) {
  const int64_t panel = d->taps * d->maps * BSM_PANEL;
  return (bsm_k_depthwise_args){
      .w = d->kernel + (d->maps > 1 ? channel / BSM_PANEL * panel : channel),
      .w_tap = d->w_tap,
      .w_panel = panel,
      .maps = d->maps,
      .channels = channels,
      .y = target->y,
      .y_row = target->y_row,
      .y_pixel = target->y_pixel,
      .bias = d->bias ? d->bias + channel : NULL,
      .residual = target->residual,
      .residual_row = target->residual_row,
      .residual_pixel = target->residual_pixel,
      .lo = d->epilogue.lo,
      .hi = d->epilogue.hi};
}

void bsm_cpu_depthwise_rows(const bsm_cpu_depthwise *d,
                            const float *const *const *x, int rows,
                            int64_t channel, int64_t channels,
                            const bsm_cpu_depthwise_target *target) {
  bsm_k_depthwise_args t = bsm_cpu_depthwise_args(d, channel, channels, target);
  t.x = x;
  t.pixels = d->out_width;
  d->square[rows - 1](&t);
  for (int r = 0; r < rows; r++) {
    bsm_cpu_activate_pixels(&d->epilogue, t.y + r * t.y_row, t.y_pixel,
                            t.pixels, channels);
  }
}
