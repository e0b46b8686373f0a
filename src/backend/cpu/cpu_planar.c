/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a convolution of few input maps. */
#include "backend/cpu/cpu_planar.h"

#include <string.h>

/* With more maps, products that read the input in place are as fast. */
#define MAX_MAPS 4
/* Windows and strides that keep the input rows of some output rows few. */
#define MAX_SPAN 64
#define MAX_STRIDE 16

static int stride_index(int64_t stride) {
  return stride == 1 ? 0 : stride == 2 ? 1 : stride == 4 ? 2 : -1;
}

/* Pixels from the first tap of a dimension to the last. */
static int64_t span_of(const bsm_step_window *w, int d) {
  return w->dilation[d] * (w->kernel[d] - 1) + 1;
}

/* The window has not been checked yet, so no sum may overflow. */
static bool is_short(const bsm_step_window *w, int d) {
  return w->kernel[d] >= 1 && w->kernel[d] <= MAX_SPAN && w->dilation[d] >= 1 &&
         w->dilation[d] <= MAX_SPAN && span_of(w, d) <= MAX_SPAN;
}

static bool rows_fit(const bsm_step_convolution *p, int64_t in_maps) {
  const bsm_step_window *w = &p->window;
  return p->groups == 1 && !p->epilogue.has_residual && in_maps <= MAX_MAPS &&
         w->stride[1] <= MAX_STRIDE && stride_index(w->stride[2]) >= 0 &&
         is_short(w, 1) && is_short(w, 2);
}

bool bsm_cpu_planar_fits(const bsm_step_convolution *p, int64_t in_maps) {
  return p->window.spatial <= 2 && rows_fit(p, in_maps);
}

bool bsm_cpu_planar_fits_deep(const bsm_step_convolution *p, int64_t in_maps) {
  const bsm_step_window *w = &p->window;
  return w->spatial == 3 && rows_fit(p, in_maps) && is_short(w, 0) &&
         w->kernel[0] * w->kernel[1] <= MAX_SPAN;
}

void bsm_cpu_planar_init(const bsm_step_convolution *params, const bsm_image *x,
                         int64_t out_width, uint32_t isa, bsm_cpu_planar *out) {
  const bsm_step_window *w = &params->window;
  *out = (bsm_cpu_planar){.kernels = bsm_k_planar_select(isa),
                          .rows = bsm_k_rows_select(isa),
                          .stride = stride_index(w->stride[2]),
                          .w = *w,
                          .x = *x,
                          .width = out_width,
                          .maps = params->out_maps,
                          .epilogue = bsm_cpu_make_epilogue(
                              &params->epilogue, bsm_k_math_select(isa))};
  out->columns = bsm_cpu_max(0, out_width - 1) * w->stride[2] + span_of(w, 2);
  out->pitch = bsm_cpu_round_up(out->columns, BSM_K_PLANAR_PANEL);
}

/* Input rows of so many output rows. */
static int64_t line_rows(const bsm_cpu_planar *p, int64_t rows) {
  return (rows - 1) * p->w.stride[1] + span_of(&p->w, 1);
}

uint64_t bsm_cpu_planar_floats(const bsm_cpu_planar *p, int64_t rows) {
  return (uint64_t)line_rows(p, rows) * (uint64_t)p->x.c * (uint64_t)p->pitch;
}

/* The maps of an input row, or NULL for a row of padding, as lines. */
static void copy_row(const bsm_cpu_planar *p, const float *row, float *to) {
  const bsm_image *x = &p->x;
  const int64_t left = bsm_cpu_min(p->w.pre_padding[2], p->columns);
  const int64_t n = bsm_cpu_min(x->size[2], p->columns - left);
  const int64_t right = p->columns - left - n;
  if (!row || n == 0) {
    memset(to, 0, (size_t)(x->c * p->pitch) * sizeof(float));
    return;
  }
  for (int64_t m = 0; m < x->c; m++) {
    memset(to + m * p->pitch, 0, (size_t)left * sizeof(float));
    memset(to + m * p->pitch + left + n, 0, (size_t)right * sizeof(float));
  }
  to += left;
  if (x->stride[2] != 1 && x->c_stride == 1) {
    p->rows->transpose(row, x->stride[2], to, p->pitch, x->c, n);
    return;
  }
  for (int64_t m = 0; m < x->c; m++) {
    const float *from = row + m * x->c_stride;
    float *line = to + m * p->pitch;
    if (x->stride[2] == 1) {
      memcpy(line, from, (size_t)n * sizeof(float));
    } else {
      for (int64_t i = 0; i < n; i++) line[i] = from[i * x->stride[2]];
    }
  }
}

uint64_t bsm_cpu_planar_deep_floats(const bsm_cpu_planar *p) {
  return (uint64_t)(p->w.kernel[0] * p->w.kernel[1]) * (uint64_t)p->x.c *
         (uint64_t)p->pitch;
}

/* What the rows of outputs have in common: lines `row` floats apart. */
static bsm_k_planar_args start_args(const bsm_cpu_planar *p, int64_t rows,
                                    int64_t row, int64_t y_pixel) {
  const bsm_step_window *w = &p->w;
  return (bsm_k_planar_args){
      .x_row = row,
      .x_map = p->pitch,
      .x_tap = w->dilation[2],
      .rows = rows,
      .maps = p->x.c,
      .taps = w->kernel[2],
      .w = p->kernel,
      .w_panel = rows * w->kernel[2] * p->x.c * BSM_K_PLANAR_PANEL,
      .y_pixel = y_pixel,
      .pixels = p->width,
      .columns = p->maps,
      .bias = p->bias,
      .lo = p->epilogue.lo,
      .hi = p->epilogue.hi,
      .fetches = p->fetches};
}

static void run_row(const bsm_cpu_planar *p, const bsm_k_planar_args *t) {
  p->kernels->row[p->stride](t);
  bsm_cpu_activate_pixels(&p->epilogue, t->y, t->y_pixel, p->width, p->maps);
}

/* Copying a line for each of its taps takes little beside what its outputs do,
 * and leaves the lines of all taps evenly apart. */
void bsm_cpu_planar_deep_row(const bsm_cpu_planar *p, const float *image,
                             int64_t depth, int64_t row, float *lines, float *y,
                             int64_t y_pixel) {
  const bsm_step_window *w = &p->w;
  const bsm_image *x = &p->x;
  const int64_t line_row = x->c * p->pitch;
  float *to = lines;
  for (int64_t i = 0; i < w->kernel[0]; i++) {
    const int64_t d =
        depth * w->stride[0] - w->pre_padding[0] + i * w->dilation[0];
    for (int64_t j = 0; j < w->kernel[1]; j++, to += line_row) {
      const int64_t h =
          row * w->stride[1] - w->pre_padding[1] + j * w->dilation[1];
      const bool inside = d >= 0 && d < x->size[0] && h >= 0 && h < x->size[1];
      copy_row(p, inside ? image + d * x->stride[0] + h * x->stride[1] : NULL,
               to);
    }
  }
  bsm_k_planar_args t =
      start_args(p, w->kernel[0] * w->kernel[1], line_row, y_pixel);
  t.x = lines;
  t.y = y;
  run_row(p, &t);
}

void bsm_cpu_planar_rows(const bsm_cpu_planar *p, const float *image,
                         int64_t first, int64_t count, float *lines, float *y,
                         int64_t y_row, int64_t y_pixel) {
  const bsm_step_window *w = &p->w;
  const bsm_image *x = &p->x;
  const int64_t top = first * w->stride[1] - w->pre_padding[1];
  const int64_t line_row = x->c * p->pitch;
  for (int64_t i = 0; i < line_rows(p, count); i++) {
    const int64_t h = top + i;
    copy_row(p, h >= 0 && h < x->size[1] ? image + h * x->stride[1] : NULL,
             lines + i * line_row);
  }
  bsm_k_planar_args t =
      start_args(p, w->kernel[1], w->dilation[1] * line_row, y_pixel);
  for (int64_t i = 0; i < count; i++) {
    t.x = lines + i * w->stride[1] * line_row;
    t.y = y + i * y_row;
    run_row(p, &t);
  }
}
