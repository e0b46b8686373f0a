/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of planes of floats, block by block of their lines. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_pooling.h"
#include "backend/cpu/kernels/lanes/strided.h"

/* Floats that a block takes: for the first-level cache, and the most. */
#define BLOCK_FLOATS 8192
#define MOST_FLOATS (1 << 18)

static int64_t span_of(const bsm_step_window *w, int d) {
  return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Floats that n lines of the output take: lines with their padding, these
 * joined over the height, then over the width, and factors. */
static double floats_of(const bsm_cpu_windows *k, double width, double n) {
  const bsm_step_window *w = &k->p.window;
  const double lines = (n - 1) * (double)w->stride[1] + (double)span_of(w, 1);
  return width * (lines + n + n / (double)w->stride[2]) + (double)k->y.size[2];
}

/* The size of windows in one dimension that averages divide by. */
static int64_t size_of(const bsm_cpu_windows *k, const bsm_cpu_extent *e) {
  return k->p.count_excludes_padding ? e->count : e->divisor;
}

/* Factors of the outputs of a line. */
static void find_factors(const bsm_cpu_windows *k, bsm_cpu_extent *e,
                         float *factors) {
  for (int64_t i = 0; i < k->y.size[2]; i++) {
    e[2] = bsm_cpu_extent_of(k, 2, i);
    factors[i] = (float)bsm_cpu_pooling_factor(k, e);
  }
}

bsm_status bsm_cpu_planes_init(bsm_arena *arena, const bsm_cpu_windows *k,
                               bsm_cpu_planes *planes, bool *fits) {
  const bsm_step_window *w = &k->p.window;
  const double needed =
      (double)(k->y.size[2] - 1) * (double)w->stride[2] + (double)span_of(w, 2);
  const double own = (double)w->pre_padding[2] + (double)k->x.size[2];
  const int64_t inside[] = {w->kernel[0], w->kernel[1]};
  const double width = fmax(needed, own) + (double)w->stride[2];
  *fits = false;
  if (k->y.size[1] < 1 || !(floats_of(k, width, 1) <= MOST_FLOATS))
    return BSM_OK;
  int64_t n = 1;
  while (n < k->y.size[1] &&
         floats_of(k, width, (double)n + 1) <= BLOCK_FLOATS) {
    n++;
  }
  planes->width = bsm_cpu_round_up((int64_t)fmax(needed, own), w->stride[2]);
  planes->blocks = bsm_cpu_div_up(k->y.size[1], n);
  planes->block = bsm_cpu_div_up(k->y.size[1], planes->blocks);
  planes->copied =
      planes->width * ((planes->block - 1) * w->stride[1] + span_of(w, 1));
  planes->narrowed = planes->block * (planes->width / w->stride[2]);
  *fits = true;
  if (k->p.type == BSM_POOLING_MAX) return BSM_OK;
  bsm_cpu_extent e[3] = {{.count = inside[0], .divisor = inside[0]},
                         {.count = inside[1], .divisor = inside[1]}};
  float *factors = BSM_NEW_ARRAY(arena, float, (size_t)k->y.size[2] + 1);
  BSM_TRY_ALLOC(factors);
  find_factors(k, e, factors);
  planes->factors = factors;
  return BSM_OK;
}

uint64_t bsm_cpu_planes_scratch(const bsm_cpu_planes *planes,
                                const bsm_cpu_windows *k) {
  const int64_t floats = planes->copied + planes->block * planes->width +
                         planes->narrowed + k->y.size[2];
  return (uint64_t)floats * sizeof(float);
}

static void join(const bsm_cpu_windows *k, const bsm_k_pooling_args *args) {
  (k->p.type == BSM_POOLING_MAX ? k->kernels->max : k->kernels->average)(args);
}

static void set(float *to, int64_t n, float value) {
  for (int64_t i = 0; i < n; i++) to[i] = value;
}

/* `lines` lines of the input from number `first` on, with padding, joined over
 * the depth. */
static void copy_lines(const bsm_cpu_planes *planes, const bsm_cpu_windows *k,
                       const float *x, const bsm_cpu_extent *depth,
                       int64_t first, int64_t lines, float *to) {
  const float none = k->p.type == BSM_POOLING_MAX ? -INFINITY : 0.0f;
  const int64_t left = k->p.window.pre_padding[2], own = k->x.size[2];
  const int64_t above = bsm_cpu_min(bsm_cpu_max(0, -first), lines);
  const int64_t end =
      bsm_cpu_max(above, bsm_cpu_min(lines, k->x.size[1] - first));
  if (depth->count == 0) {
    set(to, lines * planes->width, none);
    return;
  }
  set(to, above * planes->width, none);
  set(to + end * planes->width, (lines - end) * planes->width, none);
  for (int64_t i = above; i < end; i++) {
    float *line = to + i * planes->width;
    set(line, left, none);
    set(line + left + own, planes->width - left - own, none);
  }
  if (end == above) return;
  const bsm_k_pooling_args args = {
      .x = x + depth->first * k->x.stride[0] + (first + above) * k->x.stride[1],
      .y = to + above * planes->width + left,
      .pixels = end - above,
      .channels = own,
      .x_pixel = k->x.stride[1],
      .y_pixel = planes->width,
      .taps = {depth->count, 1, 1},
      .step = {depth->step * k->x.stride[0], 0, 0},
      .factor = 1.0f};
  join(k, &args);
}

/* n lines joined over the height; returns where they are. */
static const float *join_height(const bsm_cpu_planes *planes,
                                const bsm_cpu_windows *k, const float *x,
                                int64_t n, float *to) {
  const bsm_step_window *w = &k->p.window;
  const bsm_k_pooling_args args = {
      .x = x,
      .y = to,
      .pixels = n,
      .channels = planes->width,
      .x_pixel = w->stride[1] * planes->width,
      .y_pixel = planes->width,
      .taps = {1, w->kernel[1], 1},
      .step = {0, w->dilation[1] * planes->width, 0},
      .factor = 1.0f};
  if (w->kernel[1] == 1 && w->stride[1] == 1) return x;
  join(k, &args);
  return to;
}

/* The same lines joined over the width: each place of all lines is the start of
 * a window, those behind the last of a line are nobody's. */
static const float *join_width(const bsm_cpu_planes *planes,
                               const bsm_cpu_windows *k, const float *x,
                               int64_t n, float *to) {
  const bsm_step_window *w = &k->p.window;
  const int64_t starts =
      (n - 1) * (planes->width / w->stride[2]) + k->y.size[2];
  const bsm_k_pooling_args args = {.x = x,
                                   .y = to,
                                   .pixels = 1,
                                   .channels = starts,
                                   .taps = {1, 1, w->kernel[2]},
                                   .step = {0, 0, w->dilation[2]},
                                   .factor = 1.0f};
  if (w->stride[2] > 1) {
    (k->p.type == BSM_POOLING_MAX ? bsm_k_strided_max : bsm_k_strided_sum)(
        x, w->stride[2], w->kernel[2], w->dilation[2], starts, to);
    return to;
  }
  if (w->kernel[2] == 1) return x;
  join(k, &args);
  return to;
}

void bsm_cpu_planes_run(const bsm_cpu_planes *planes, const bsm_cpu_windows *k,
                        const float *x, float *y, int64_t depth, int64_t index,
                        float *scratch) {
  const bsm_step_window *w = &k->p.window;
  const int64_t first = index * planes->block;
  const int64_t n = bsm_cpu_min(planes->block, k->y.size[1] - first);
  const int64_t lines = (n - 1) * w->stride[1] + span_of(w, 1);
  const int64_t line = planes->width / w->stride[2];
  float *joined = scratch + planes->copied;
  float *narrowed = joined + planes->block * planes->width;
  float *factors = narrowed + planes->narrowed;
  bsm_cpu_extent e[3] = {bsm_cpu_extent_of(k, 0, depth)};
  int64_t found = INT64_MIN; /* what `factors` are of */
  copy_lines(planes, k, x, &e[0], first * w->stride[1] - w->pre_padding[1],
             lines, scratch);
  const float *from = join_height(planes, k, scratch, n, joined);
  from = join_width(planes, k, from, n, narrowed);
  y += first * k->y.stride[1];
  for (int64_t i = 0; i < n; i++, y += k->y.stride[1], from += line) {
    if (k->p.type == BSM_POOLING_MAX) {
      memcpy(y, from, (size_t)k->y.size[2] * sizeof(*y));
      continue;
    }
    e[1] = bsm_cpu_extent_of(k, 1, first + i);
    const bool inside =
        size_of(k, &e[0]) == w->kernel[0] && size_of(k, &e[1]) == w->kernel[1];
    if (!inside && size_of(k, &e[1]) != found) {
      find_factors(k, e, factors);
      found = size_of(k, &e[1]);
    }
    bsm_k_scale(from, inside ? planes->factors : factors, k->y.size[2], y);
  }
}
