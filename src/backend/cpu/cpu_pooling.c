/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average pooling, adaptive or not.
 *
 * Paths: `channels`, channels-last floats, in runs of outputs whose windows
 * have the same size; `lines`, floats whose lines are contiguous, in blocks of
 * lines of planes (cpu_pooling_planes.c); `planes`, floats with any strides, or
 * adaptive; `bytes`, the greatest of channels-last uint8; `bfloats`, the
 * greatest of channels-last bfloat16, as `channels`; `halves`, channels-last
 * half and bfloat16, in float, tap by tap or, in blocks of channels for which
 * the lines of a window are few, as `channels` when these are widened;
 * `strided`, other dtypes, in double. Units are lines of the output, or blocks
 * of lines of a plane. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pooling.h"
#include "backend/cpu/kernels/int8/int8.h"
#include "base/checked.h"

#define CHANNEL_BLOCK 256
/* Of the widened lines of a window: for the second-level cache, and the most.
 */
#define WIDENED_BYTES ((int64_t)128 << 10)
#define MOST_WIDENED_BYTES ((int64_t)256 << 10)

typedef struct pooling {
  bsm_cpu_impl base;
  bsm_cpu_windows of;
  bool channels_last, lines, floats, bytes, halves, bfloats;
  bsm_dtype from, to;
  bsm_cpu_planes planes; /* with `lines` */
  const bsm_k_int8 *byte_kernels;
  const bsm_k_math *math;
  bsm_cpu_halves widths;
  int64_t widened; /* lines of a window that are widened; 0: none */
  int64_t channel_block, channel_blocks;
  /* Outputs of a line whose windows touch no padding. */
  int64_t inside_first, inside_end;
} pooling;

/* Adaptive windows differ in size, so none of them counts as inside. */
static void find_inside(pooling *k) {
  const bsm_step_window *w = &k->of.p.window;
  const int64_t span = (w->kernel[2] - 1) * w->dilation[2] + 1;
  const int64_t room = k->of.x.size[2] + w->pre_padding[2] - span;
  if (k->of.p.adaptive || room < 0) return;
  k->inside_first = bsm_cpu_div_up(w->pre_padding[2], w->stride[2]);
  k->inside_end = bsm_cpu_min(room / w->stride[2] + 1, k->of.y.size[2]);
}

static void choose_channel_block(pooling *k, int64_t most) {
  const int64_t blocks = bsm_cpu_max(1, bsm_cpu_div_up(k->of.x.c, most));
  k->channel_block = bsm_cpu_max(
      1, bsm_cpu_round_up(bsm_cpu_div_up(k->of.x.c, blocks), BSM_PANEL));
  k->channel_blocks = bsm_cpu_div_up(k->of.x.c, k->channel_block);
}

/* Floats of the lines of a window and of results. */
static int64_t widened_floats(const pooling *k) {
  return (k->widened * k->of.x.size[2] + k->of.y.size[2]) * k->channel_block;
}

/* Whether lines of half and bfloat16 are widened, and of how many channels. */
static void choose_widened(pooling *k, uint32_t isa) {
  const bsm_step_window *w = &k->of.p.window;
  const int64_t size = (int64_t)sizeof(float);
  int64_t bytes;
  k->widths = bsm_cpu_halves_of(k->from, isa);
  if (k->of.p.adaptive || k->of.x.c == 0 ||
      !bsm_i64_mul(w->kernel[0], w->kernel[1], &bytes) ||
      !bsm_i64_mul(bytes, k->of.x.size[2] * 2 * BSM_PANEL * size, &bytes) ||
      bytes > MOST_WIDENED_BYTES) {
    return;
  }
  k->widened = w->kernel[0] * w->kernel[1];
  const int64_t lines = bsm_cpu_max(1, WIDENED_BYTES / bsm_cpu_max(1, bytes));
  choose_channel_block(k, bsm_cpu_min(CHANNEL_BLOCK, 2 * BSM_PANEL * lines));
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  pooling *k = BSM_NEW(p->arena, pooling);
  BSM_TRY_ALLOC(k);
  k->base.elements = bsm_cpu_elements_of(p->isa);
  k->base.slots = p->threads;
  k->of.p = p->step->params->pooling;
  k->from = x->dtype;
  k->to = y->dtype;
  k->of.x = bsm_image_of(x, k->of.p.window.spatial);
  k->of.y = bsm_image_of(y, k->of.p.window.spatial);
  k->of.kernels = bsm_k_pooling_select(p->isa);
  k->floats = k->from == BSM_DTYPE_FLOAT && k->to == BSM_DTYPE_FLOAT;
  k->byte_kernels = bsm_k_int8_select(p->isa);
  k->bytes = k->from == BSM_DTYPE_UINT8 && k->to == BSM_DTYPE_UINT8 &&
             k->of.p.type == BSM_POOLING_MAX && k->of.x.c_stride == 1 &&
             k->of.y.c_stride == 1;
  k->halves = bsm_cpu_is_half(k->from) && k->from == k->to &&
              k->of.x.c_stride == 1 && k->of.y.c_stride == 1;
  k->bfloats = k->halves && k->from == BSM_DTYPE_BFLOAT16 &&
               k->of.p.type == BSM_POOLING_MAX;
  k->math = bsm_k_math_select(p->isa);
  k->channels_last =
      k->floats &&
      ((k->of.x.c_stride == 1 && k->of.y.c_stride == 1) || k->of.x.c == 1);
  bool fits = false;
  const bool lines = k->floats && !k->channels_last && !k->of.p.adaptive &&
                     k->of.x.stride[2] == 1 && k->of.y.stride[2] == 1;
  if (lines) BSM_TRY(bsm_cpu_planes_init(p->arena, &k->of, &k->planes, &fits));
  k->lines = fits;
  k->base.description = k->channels_last ? k->of.kernels->name
                        : k->lines       ? "lines"
                        : k->floats      ? "planes"
                        : k->bytes       ? "bytes"
                        : k->bfloats     ? "bfloats"
                        : k->halves      ? "halves"
                                         : "strided";
  find_inside(k);
  choose_channel_block(k, CHANNEL_BLOCK);
  if (k->halves && !k->bfloats) choose_widened(k, p->isa);
  out->impl = k;
  const uint64_t floats = k->widened ? (uint64_t)widened_floats(k)
                          : k->halves && !k->bfloats
                              ? 2 * (uint64_t)k->channel_block
                              : 0;
  return bsm_cpu_set_scratch(out, 0,
                             k->lines
                                 ? bsm_cpu_planes_scratch(&k->planes, &k->of)
                                 : floats * sizeof(float),
                             k->base.slots);
}

bsm_cpu_extent bsm_cpu_extent_of(const bsm_cpu_windows *k, int d, int64_t at) {
  const bsm_step_window *w = &k->p.window;
  const int64_t size = k->x.size[d];
  bsm_cpu_extent e = {.step = 1};
  if (k->p.adaptive) {
    const int64_t n = k->y.size[d];
    e.first = at * size / n;
    e.count = bsm_cpu_div_up((at + 1) * size, n) - e.first;
    e.divisor = e.count;
    return e;
  }
  const int64_t start = at * w->stride[d] - w->pre_padding[d];
  int64_t skipped;
  e.step = w->dilation[d];
  bsm_cpu_clip_taps(start, e.step, w->kernel[d], size, &skipped, &e.count);
  e.first = start + skipped * e.step;
  /* PyTorch: the window, cut at the end of the padding. */
  const int64_t end =
      bsm_cpu_min(start + w->kernel[d], size + w->post_padding[d]);
  e.divisor = end - start;
  return e;
}

double bsm_cpu_pooling_factor(const bsm_cpu_windows *k,
                              const bsm_cpu_extent *e) {
  if (k->p.divisor_override) return 1.0 / (double)k->p.divisor_override;
  double size = 1.0;
  for (int d = 0; d < 3; d++) {
    size *= (double)(k->p.count_excludes_padding ? e[d].count : e[d].divisor);
  }
  return 1.0 / size;
}

typedef struct work {
  const pooling *k;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

/* A line of outputs of `n` channels of floats, or of bfloat16: those whose
 * windows lie inside at once, the others one by one. */
static void channels_line(const pooling *k, const void *x, void *y,
                          bsm_cpu_extent *e, int64_t n, bool bfloats) {
  const int64_t size = (int64_t)(bfloats ? sizeof(uint16_t) : sizeof(float));
  bsm_k_pooling_args args = {
      .channels = n,
      .x_pixel = k->of.p.window.stride[2] * k->of.x.stride[2],
      .y_pixel = k->of.y.stride[2]};
  for (int d = 0; d < 2; d++) args.step[d] = e[d].step * k->of.x.stride[d];
  const char *line =
      (const char *)x +
      (e[0].first * k->of.x.stride[0] + e[1].first * k->of.x.stride[1]) * size;
  for (int64_t i = 0; i < k->of.y.size[2];) {
    e[2] = bsm_cpu_extent_of(&k->of, 2, i);
    const int64_t first = e[2].first;
    const bool inside = i >= k->inside_first && i < k->inside_end;
    const int64_t run = inside ? k->inside_end - i : 1;
    args.step[2] = e[2].step * k->of.x.stride[2];
    args.x = line + first * k->of.x.stride[2] * size;
    args.y = (char *)y + i * k->of.y.stride[2] * size;
    args.pixels = run;
    for (int d = 0; d < 3; d++) args.taps[d] = e[d].count;
    if (bfloats) {
      k->of.kernels->max_bfloat(&args);
    } else if (k->of.p.type == BSM_POOLING_MAX) {
      k->of.kernels->max(&args);
    } else {
      const bool some = e[0].count > 0 && e[1].count > 0 && e[2].count > 0;
      args.factor = some ? (float)bsm_cpu_pooling_factor(&k->of, e) : 0.0f;
      k->of.kernels->average(&args);
    }
    i += run;
  }
}

/* One output, of floats with any strides. */
static float plane_value(const pooling *k, const float *x,
                         const bsm_cpu_extent *e) {
  const bool max = k->of.p.type == BSM_POOLING_MAX;
  float most = -INFINITY;
  double sum = 0.0;
  const int64_t step = e[2].step * k->of.x.stride[2];
  x += e[2].first * k->of.x.stride[2];
  for (int64_t a = 0; a < e[0].count; a++) {
    for (int64_t b = 0; b < e[1].count; b++) {
      const float *at = x + (e[0].first + a * e[0].step) * k->of.x.stride[0] +
                        (e[1].first + b * e[1].step) * k->of.x.stride[1];
      for (int64_t c = 0; c < e[2].count; c++, at += step) {
        if (!max) {
          sum += (double)*at;
        } else if (most == most && !(most >= *at)) {
          most = *at;
        }
      }
    }
  }
  return max ? most : (float)(sum * bsm_cpu_pooling_factor(&k->of, e));
}

static void planes_line(const pooling *k, const float *x, float *y,
                        bsm_cpu_extent *e, int64_t n) {
  for (int64_t i = 0; i < k->of.y.size[2]; i++) {
    e[2] = bsm_cpu_extent_of(&k->of, 2, i);
    for (int64_t c = 0; c < n; c++) {
      y[i * k->of.y.stride[2] + c * k->of.y.c_stride] =
          plane_value(k, x + c * k->of.x.c_stride, e);
    }
  }
}

static double load1(const pooling *k, const char *x, int64_t offset) {
  double one, v;
  bsm_cpu_load(&k->base.elements, k->from,
               x + offset * (int64_t)bsm_dtype_size(k->from), 1, 1, &one);
  bsm_cpu_convert(&k->base.elements, bsm_cpu_class_of(k->from), &one,
                  BSM_CPU_F64, &v, 1);
  return v;
}

static double strided_value(const pooling *k, const char *x, int64_t offset,
                            const bsm_cpu_extent *e) {
  const bool max = k->of.p.type == BSM_POOLING_MAX;
  double v = max ? -(double)INFINITY : 0.0;
  for (int64_t a = 0; a < e[0].count; a++) {
    for (int64_t b = 0; b < e[1].count; b++) {
      for (int64_t c = 0; c < e[2].count; c++) {
        const double t =
            load1(k, x,
                  offset + (e[0].first + a * e[0].step) * k->of.x.stride[0] +
                      (e[1].first + b * e[1].step) * k->of.x.stride[1] +
                      (e[2].first + c * e[2].step) * k->of.x.stride[2]);
        if (!max) {
          v += t;
        } else if (v == v && !(v >= t)) {
          v = t;
        }
      }
    }
  }
  return max ? v : v * bsm_cpu_pooling_factor(&k->of, e);
}

static void strided_pixel(const work *w, int64_t x, int64_t y,
                          const bsm_cpu_extent *e, int64_t n) {
  const pooling *k = w->k;
  for (int64_t c = 0; c < n; c++) {
    const double v = strided_value(k, w->x, x + c * k->of.x.c_stride, e);
    double cast;
    bsm_cpu_cast(&k->base.elements, BSM_CPU_F64, &v, k->to, &cast, 1);
    bsm_cpu_store(
        &k->base.elements, k->to,
        w->y + (y + c * k->of.y.c_stride) * (int64_t)bsm_dtype_size(k->to), 1,
        1, &cast);
  }
}

/* One output of n channels, channels last; without taps the least byte. */
static void bytes_pixel(const pooling *k, const uint8_t *x, uint8_t *y,
                        const bsm_cpu_extent *e, int64_t n) {
  memset(y, 0, (size_t)n);
  for (int64_t a = 0; a < e[0].count; a++) {
    for (int64_t b = 0; b < e[1].count; b++) {
      for (int64_t c = 0; c < e[2].count; c++) {
        k->byte_kernels->greatest(
            x + (e[0].first + a * e[0].step) * k->of.x.stride[0] +
                (e[1].first + b * e[1].step) * k->of.x.stride[1] +
                (e[2].first + c * e[2].step) * k->of.x.stride[2],
            n, y);
      }
    }
  }
}

/* One output of n channels of half or bfloat16, channels last. `most` and
 * `read` have room for them as floats. */
static void halves_pixel(const pooling *k, const uint16_t *x, uint16_t *y,
                         const bsm_cpu_extent *e, int64_t n, float *most,
                         float *read) {
  const bool max = k->of.p.type == BSM_POOLING_MAX;
  bsm_k_binary_f32 *join = max ? k->math->max : k->math->sum;
  for (int64_t c = 0; c < n; c++) most[c] = max ? -INFINITY : 0.0f;
  for (int64_t a = 0; a < e[0].count; a++) {
    for (int64_t b = 0; b < e[1].count; b++) {
      for (int64_t c = 0; c < e[2].count; c++) {
        const uint16_t *at = x +
                             (e[0].first + a * e[0].step) * k->of.x.stride[0] +
                             (e[1].first + b * e[1].step) * k->of.x.stride[1] +
                             (e[2].first + c * e[2].step) * k->of.x.stride[2];
        bsm_cpu_load(&k->base.elements, k->from, at, 1, n, read);
        join(most, read, most, n);
      }
    }
  }
  if (!max) {
    const bool some = e[0].count > 0 && e[1].count > 0 && e[2].count > 0;
    const float factor = some ? (float)bsm_cpu_pooling_factor(&k->of, e) : 0.0f;
    for (int64_t c = 0; c < n; c++) most[c] *= factor;
  }
  bsm_cpu_store(&k->base.elements, k->to, y, 1, n, most);
}

/* A line of outputs of n channels of half or bfloat16, by widening the lines of
 * its windows into `buffer`. */
static void widened_line(const pooling *k, const uint16_t *x, uint16_t *y,
                         const bsm_cpu_extent *e, int64_t n, float *buffer) {
  const int64_t width = k->of.x.size[2];
  pooling floats = *k;
  bsm_cpu_extent of[3] = {e[0], e[1]};
  float *to = buffer, *results = buffer + e[0].count * e[1].count * width * n;
  for (int64_t a = 0; a < e[0].count; a++) {
    for (int64_t b = 0; b < e[1].count; b++, to += width * n) {
      k->widths.widen_rows(
          x + (e[0].first + a * e[0].step) * k->of.x.stride[0] +
              (e[1].first + b * e[1].step) * k->of.x.stride[1],
          k->of.x.stride[2], width, n, to);
    }
  }
  floats.of.x.stride[2] = floats.of.y.stride[2] = n;
  floats.of.x.stride[1] = width * n;
  floats.of.x.stride[0] = e[1].count * width * n;
  for (int d = 0; d < 2; d++) {
    of[d].first = 0;
    of[d].step = 1;
  }
  channels_line(&floats, buffer, results, of, n, false);
  k->widths.narrow_rows(results, k->of.y.size[2], n, y, k->of.y.stride[2]);
}

/* A line of outputs of one block of channels. */
static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const pooling *k = w->k;
  const int64_t channel = index % k->channel_blocks * k->channel_block;
  const int64_t n = bsm_cpu_min(k->channel_block, k->of.x.c - channel);
  const int64_t lines[3] = {k->of.y.size[0], k->of.y.size[1], 1};
  const bsm_cpu_position p =
      bsm_cpu_position_of(index / k->channel_blocks, lines);
  bsm_cpu_extent e[3] = {bsm_cpu_extent_of(&k->of, 0, p.at[0]),
                         bsm_cpu_extent_of(&k->of, 1, p.at[1])};
  const int64_t x = p.n * k->of.x.n_stride + channel * k->of.x.c_stride;
  const int64_t y = p.n * k->of.y.n_stride + channel * k->of.y.c_stride +
                    p.at[0] * k->of.y.stride[0] + p.at[1] * k->of.y.stride[1];
  if (k->channels_last || k->bfloats) {
    const int64_t size = (int64_t)bsm_dtype_size(k->from);
    channels_line(k, w->x + x * size, w->y + y * size, e, n, k->bfloats);
    return;
  }
  if (k->floats) {
    planes_line(k, (const float *)(const void *)w->x + x,
                (float *)(void *)w->y + y, e, n);
    return;
  }
  if (k->widened) {
    widened_line(k, (const uint16_t *)(const void *)w->x + x,
                 (uint16_t *)(void *)w->y + y, e, n,
                 (float *)(void *)(w->scratch + (size_t)slot * w->slot_size));
    return;
  }
  for (int64_t i = 0; i < k->of.y.size[2]; i++) {
    e[2] = bsm_cpu_extent_of(&k->of, 2, i);
    const int64_t at = y + i * k->of.y.stride[2];
    if (k->bytes) {
      bytes_pixel(k, (const uint8_t *)w->x + x, (uint8_t *)w->y + at, e, n);
    } else if (k->halves) {
      float *most = (float *)(void *)(w->scratch + (size_t)slot * w->slot_size);
      halves_pixel(k, (const uint16_t *)(const void *)w->x + x,
                   (uint16_t *)(void *)w->y + at, e, n, most,
                   most + k->channel_block);
    } else {
      strided_pixel(w, x, at, e, n);
    }
  }
}

/* A block of lines of a plane. */
static void planes_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const pooling *k = w->k;
  const int64_t block = index % k->planes.blocks;
  const int64_t depth = index / k->planes.blocks % k->of.y.size[0];
  const int64_t plane = index / (k->planes.blocks * k->of.y.size[0]);
  const int64_t n = plane / k->of.x.c, c = plane % k->of.x.c;
  bsm_cpu_planes_run(
      &k->planes, &k->of,
      (const float *)(const void *)w->x + n * k->of.x.n_stride +
          c * k->of.x.c_stride,
      (float *)(void *)w->y + n * k->of.y.n_stride + c * k->of.y.c_stride +
          depth * k->of.y.stride[0],
      depth, block,
      (float *)(void *)(w->scratch + (size_t)slot * w->slot_size));
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const pooling *k = prepared->impl;
  work w = {k, bsm_cpu_input_address(prepared, r, 0),
            bsm_cpu_output_address(prepared, r, 0), r->scratch,
            prepared->scratch_size / (size_t)k->base.slots};
  if (k->of.y.size[2] == 0) return BSM_OK;
  if (k->lines) {
    bsm_cpu_parallel(r, k->base.slots,
                     k->of.y.n * k->of.x.c * k->of.y.size[0] * k->planes.blocks,
                     planes_unit, &w);
    return BSM_OK;
  }
  bsm_cpu_parallel(
      r, k->base.slots,
      k->of.y.n * k->of.y.size[0] * k->of.y.size[1] * k->channel_blocks, unit,
      &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_POOLING = {bsm_check_pooling, NULL, prepare, run};
