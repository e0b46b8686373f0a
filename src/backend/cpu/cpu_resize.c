/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing the last dimensions: nearest, linear, cubic, with PyTorch's
 * coordinates.
 *
 * Prepare makes a table for each dimension: the taps (source offset, weight) of
 * every output coordinate. Channels-last floats go by rows of channels, as do
 * half and bfloat16, whose input lines are widened first; planes
 * of floats by lines: the input's lines are joined first, then each output's
 * taps; others go element by element. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/lanes/take.h"
#include "backend/cpu/kernels/rows/rows.h"

#define MAX_TAPS 4
#define LINES 8 /* of a plane in a unit at most */

typedef struct tap {
  int64_t offset; /* elements */
  double weight;
} tap;

typedef struct resize {
  bsm_cpu_impl base;
  int taps; /* 1, 2 or 4 in each dimension */
  int32_t spatial;
  bool channels_last, lines_first;
  bool doubles; /* a line of planes is an input line, each element twice */
  bool halves;  /* channels last, of half or bfloat16 */
  bsm_cpu_halves widths;
  bsm_dtype dtype;
  const tap *tables[3]; /* [size][taps] */
  /* Of lines of planes, the taps along them: [taps][size]. */
  const int32_t *line_places;
  const float *line_weights;
  int64_t line_block, line_blocks; /* lines of a unit; units of a plane */
  int64_t size[3];                 /* of the output */
  int64_t width;                   /* of an input line */
  int64_t x_pixel;                 /* between the input's pixels */
  int64_t y_stride[3];
  bsm_cpu_space outer; /* 0: output, 1: input */
  int64_t channels, lines;
  const bsm_k_rows *rows;
} resize;

/* ---- prepare: tables ---- */

/* One dimension, in the precision that PyTorch computes coordinates in. */
typedef struct axis {
  const bsm_step_resize *p;
  int64_t in, out, stride;
  double scale; /* input coordinates per output coordinate */
  bool in_float;
} axis;

static double round_to(const axis *a, double v) {
  return a->in_float ? (double)(float)v : v;
}

static double scale_of(const axis *a, double given) {
  const bool nearest = a->p->mode == BSM_RESIZE_NEAREST ||
                       a->p->mode == BSM_RESIZE_NEAREST_EXACT;
  if (a->p->align_corners && !nearest) {
    return a->out > 1 ? round_to(a, (double)(a->in - 1) / (double)(a->out - 1))
                      : 0.0;
  }
  return round_to(a,
                  given > 0.0 ? 1.0 / given : (double)a->in / (double)a->out);
}

/* The source coordinate; rounded after each operation as in PyTorch. */
static double coordinate(const axis *a, int64_t i, bool cubic) {
  if (a->p->align_corners) return round_to(a, a->scale * (double)i);
  const double x =
      round_to(a, round_to(a, a->scale * round_to(a, (double)i + 0.5)) - 0.5);
  return !cubic && x < 0.0 ? 0.0 : x;
}

static int64_t clamp_index(double x, int64_t size) {
  if (!(x > 0.0)) return 0;
  return x >= (double)(size - 1) ? size - 1 : (int64_t)x;
}

static void nearest_tap(const axis *a, int64_t i, tap *t) {
  const double half = a->p->mode == BSM_RESIZE_NEAREST_EXACT ? 0.5 : 0.0;
  const double x = floor(round_to(a, ((double)i + half) * a->scale));
  t[0] = (tap){clamp_index(x, a->in) * a->stride, 1.0};
}

static void linear_taps(const axis *a, int64_t i, tap *t) {
  const double x = coordinate(a, i, false);
  const int64_t low = clamp_index(floor(x), a->in);
  const int64_t high = low + (low < a->in - 1);
  double l = round_to(a, x - (double)low);
  l = l < 0.0 ? 0.0 : l > 1.0 ? 1.0 : l;
  t[0] = (tap){low * a->stride, round_to(a, 1.0 - l)};
  t[1] = (tap){high * a->stride, l};
}

/* Keys' kernel with A = -0.75. */
static double cubic_near(double x) {
  const double A = -0.75;
  return ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
}
static double cubic_far(double x) {
  const double A = -0.75;
  return ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
}

static void cubic_taps(const axis *a, int64_t i, tap *t) {
  const double x = coordinate(a, i, true);
  const double low = floor(x), f = round_to(a, x - low);
  const double w[4] = {cubic_far(f + 1.0), cubic_near(f), cubic_near(1.0 - f),
                       cubic_far(2.0 - f)};
  for (int k = 0; k < 4; k++) {
    t[k] = (tap){clamp_index(low + (double)(k - 1), a->in) * a->stride,
                 round_to(a, w[k])};
  }
}

static bsm_status make_table(const bsm_cpu_prepare *p, resize *r, axis *a,
                             int d) {
  tap *table =
      BSM_NEW_ARRAY(p->arena, tap, (size_t)a->out * (size_t)r->taps + 1);
  BSM_TRY_ALLOC(table);
  for (int64_t i = 0; i < a->out; i++) {
    tap *t = table + i * r->taps;
    switch (a->p->mode) {
      case BSM_RESIZE_LINEAR:
        linear_taps(a, i, t);
        break;
      case BSM_RESIZE_CUBIC:
        cubic_taps(a, i, t);
        break;
      default:
        nearest_tap(a, i, t);
        break;
    }
  }
  r->tables[d] = table;
  return BSM_OK;
}

/* The taps along a line, in vectors. What has the weight 0 is left out, as it
 * may be infinite: the one tap that is left then has equal parts of its weight
 * in all places, which add up to it. */
static bsm_status make_line_taps(const bsm_cpu_prepare *p, resize *r) {
  const int64_t n = r->size[2], taps = r->taps;
  int32_t *places = BSM_NEW_ARRAY(p->arena, int32_t, (size_t)(n * taps) + 1);
  float *weights = BSM_NEW_ARRAY(p->arena, float, (size_t)(n * taps) + 1);
  BSM_TRY_ALLOC(places);
  BSM_TRY_ALLOC(weights);
  for (int64_t i = 0; i < n; i++) {
    const tap *t = r->tables[2] + i * taps;
    int64_t some = 0, only = 0;
    for (int64_t k = 0; k < taps; k++) {
      if (t[k].weight == 0.0) continue;
      some++;
      only = k;
    }
    for (int64_t k = 0; k < taps; k++) {
      const tap *from = some == 1 ? &t[only] : &t[k];
      places[k * n + i] = (int32_t)from->offset;
      weights[k * n + i] =
          (float)(some == 1 ? from->weight / (double)taps : from->weight);
    }
  }
  r->doubles = taps == 1 && n % 2 == 0;
  for (int64_t i = 0; i < n && r->doubles; i++) {
    r->doubles = places[i] == i / 2;
  }
  r->line_places = places;
  r->line_weights = weights;
  r->line_block = bsm_cpu_max(1, bsm_cpu_min(r->size[1], LINES));
  r->line_blocks = bsm_cpu_div_up(r->size[1], r->line_block);
  return BSM_OK;
}

/* How many taps a dimension has. */
static int taps_of(const resize *r, int d) {
  return d < 3 - r->spatial ? 1 : r->taps;
}

/* Floats of scratch: a line, or the widened lines of an output's and that. */
static uint64_t scratch_floats(const resize *r) {
  const int64_t lines = taps_of(r, 0) * taps_of(r, 1);
  if (r->lines_first) return (uint64_t)r->width;
  return r->halves && r->taps > 1
             ? (uint64_t)((lines * r->width + r->size[2]) * r->channels)
             : 0;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_resize *params = &p->step->params->resize;
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  resize *r = BSM_NEW(p->arena, resize);
  BSM_TRY_ALLOC(r);
  r->base.elements = bsm_cpu_elements_of(p->isa);
  r->base.slots = p->threads;
  r->rows = bsm_k_rows_select(p->isa);
  r->dtype = x->dtype;
  r->spatial = params->spatial;
  r->taps = params->mode == BSM_RESIZE_LINEAR  ? 2
            : params->mode == BSM_RESIZE_CUBIC ? 4
                                               : 1;
  const int32_t first = x->dims.rank - params->spatial;
  bsm_plan_tensor rest_x = *x, rest_y = *y;
  for (int32_t i = first; i < x->dims.rank; i++) {
    rest_x.dims.d[i] = rest_y.dims.d[i] = 1;
  }
  bsm_cpu_space_init(&r->outer, (const bsm_plan_tensor *[]){&rest_y, &rest_x},
                     2);
  const int32_t last = r->outer.rank - 1;
  const bool rows = r->outer.dims[last] >= 4 &&
                    r->outer.strides[0][last] == 1 &&
                    r->outer.strides[1][last] == 1;
  r->channels_last = r->dtype == BSM_DTYPE_FLOAT && rows;
  r->halves = bsm_cpu_is_half(r->dtype) && rows;
  if (r->halves) r->widths = bsm_cpu_halves_of(r->dtype, p->isa);
  r->channels = r->channels_last || r->halves ? r->outer.dims[last] : 1;
  for (int d = 0; d < 3; d++) {
    const int32_t i = d - (3 - params->spatial);
    if (i < 0) { /* one coordinate, of which only the first tap is used */
      tap *one = BSM_NEW_ARRAY(p->arena, tap, 1);
      BSM_TRY_ALLOC(one);
      one->weight = 1.0;
      r->tables[d] = one;
      r->size[d] = 1;
      continue;
    }
    axis a = {params,
              x->dims.d[first + i],
              y->dims.d[first + i],
              x->strides[first + i],
              0.0,
              x->dtype != BSM_DTYPE_DOUBLE};
    /* Of widened lines. */
    if (d == 2 && r->halves && r->taps > 1) a.stride = r->channels;
    a.scale = a.out > 0 ? scale_of(&a, params->scales[i]) : 0.0;
    BSM_TRY(make_table(p, r, &a, d));
    r->size[d] = a.out;
    r->y_stride[d] = y->strides[first + i];
  }
  r->lines =
      r->outer.count / bsm_cpu_max(1, r->channels) * r->size[0] * r->size[1];
  const int32_t line = x->dims.rank - 1;
  r->width = x->dims.d[line];
  r->x_pixel = x->strides[line];
  r->lines_first = !r->channels_last && r->dtype == BSM_DTYPE_FLOAT &&
                   x->strides[line] == 1 && y->strides[line] == 1;
  if (r->lines_first) BSM_TRY(make_line_taps(p, r));
  r->base.description = r->channels_last ? r->rows->name
                        : r->halves      ? "halves"
                        : r->lines_first ? "lines"
                                         : "strided";
  out->impl = r;
  return bsm_cpu_set_scratch(out, 0, scratch_floats(r) * sizeof(float),
                             r->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const resize *r;
  const char *x;
  char *y;
  uint8_t *scratch;
  size_t slot_size;
} work;

#define MAX_LINES (MAX_TAPS * MAX_TAPS)
#define MAX_ALL (MAX_LINES * MAX_TAPS)

/* Places in the input and their weights; those of weight 0 are left out. */
typedef struct places {
  int count;
  int64_t offsets[MAX_ALL];
  double weights[MAX_ALL];
} places;

static void add_place(places *p, int64_t offset, double weight) {
  if (weight == 0.0 && p->count > 0) return;
  p->offsets[p->count] = offset;
  p->weights[p->count++] = weight;
}

/* The input lines that a line of the output reads. */
static void find_lines(const resize *r, int64_t at0, int64_t at1, places *p) {
  p->count = 0;
  for (int a = 0; a < taps_of(r, 0); a++) {
    const tap *t = &r->tables[0][at0 * taps_of(r, 0) + a];
    for (int b = 0; b < taps_of(r, 1); b++) {
      const tap *u = &r->tables[1][at1 * taps_of(r, 1) + b];
      add_place(p, t->offset + u->offset, t->weight * u->weight);
    }
  }
}

/* All places that output i of the line reads. */
static void find_places(const resize *r, const places *lines, int64_t i,
                        places *p) {
  const int taps = taps_of(r, 2);
  const tap *t = r->tables[2] + i * taps;
  p->count = 0;
  for (int k = 0; k < lines->count; k++) {
    for (int c = 0; c < taps; c++) {
      add_place(p, lines->offsets[k] + t[c].offset,
                lines->weights[k] * t[c].weight);
    }
  }
}

static void channels_pixel(const resize *r, const float *x, float *y,
                           const places *p) {
  float weights[MAX_ALL];
  if (p->count == 1) {
    /* Not memcpy: tensors of a file that was tampered with may overlap. */
    memmove(y, x + p->offsets[0], (size_t)r->channels * sizeof(float));
    return;
  }
  for (int i = 0; i < p->count; i++) weights[i] = (float)p->weights[i];
  r->rows->weighted(y, x, r->channels, p->offsets, weights, p->count);
}

static void float_pixel(const float *x, float *y, const places *p) {
  double total = 0.0;
  if (p->count == 1) {
    *y = x[p->offsets[0]];
    return;
  }
  for (int i = 0; i < p->count; i++) {
    total += p->weights[i] * (double)x[p->offsets[i]];
  }
  *y = (float)total;
}

static void strided_pixel(const resize *r, const char *x, char *y,
                          const places *p) {
  const int64_t size = (int64_t)bsm_dtype_size(r->dtype);
  const bsm_cpu_class c = bsm_cpu_class_of(r->dtype);
  if (p->count == 1) {
    memmove(y, x + p->offsets[0] * size, (size_t)size);
    return;
  }
  double total = 0.0, one, value;
  for (int i = 0; i < p->count; i++) {
    bsm_cpu_load(&r->base.elements, r->dtype, x + p->offsets[i] * size, 1, 1,
                 &one);
    bsm_cpu_convert(&r->base.elements, c, &one, BSM_CPU_F64, &value, 1);
    total += p->weights[i] * value;
  }
  if (c == BSM_CPU_I64) { /* uint8 images: rounded and clamped */
    total = nearbyint(total);
    if (r->dtype == BSM_DTYPE_UINT8) {
      total = total < 0.0 ? 0.0 : total > 255.0 ? 255.0 : total;
    }
  }
  bsm_cpu_cast(&r->base.elements, BSM_CPU_F64, &total, r->dtype, &one, 1);
  bsm_cpu_store(&r->base.elements, r->dtype, y, 1, 1, &one);
}

/* A line of a plane: `lines` are joined in the buffer, one is read where it
 * lies; then the taps of each output. */
static void plane_line(const resize *r, const float *x, float *y,
                       const places *lines, float *buffer) {
  const float *line = x + lines->offsets[0];
  float weights[MAX_LINES];
  if (lines->count > 1) {
    for (int i = 0; i < lines->count; i++) {
      weights[i] = (float)lines->weights[i];
    }
    r->rows->weighted(buffer, x, r->width, lines->offsets, weights,
                      lines->count);
    line = buffer;
  }
  if (r->doubles) {
    bsm_k_double(line, r->size[2] / 2, y);
    return;
  }
  bsm_k_blend(line, r->line_places, r->line_weights, r->taps, r->size[2], y);
}

/* Some lines of a plane. One of the same input line as the one before it is
 * that again. */
static void planes_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const resize *r = w->r;
  const int64_t first = index % r->line_blocks * r->line_block;
  const int64_t end = bsm_cpu_min(first + r->line_block, r->size[1]);
  const int64_t at0 = index / r->line_blocks % r->size[0];
  bsm_cpu_cursor c;
  places lines;
  int64_t made = -1; /* the input line of the line before */
  bsm_cpu_seek(&r->outer, index / (r->line_blocks * r->size[0]), &c);
  const float *x = (const float *)(const void *)w->x + c.offset[1];
  float *y = (float *)(void *)w->y + c.offset[0] + at0 * r->y_stride[0] +
             first * r->y_stride[1];
  for (int64_t i = first; i < end; i++, y += r->y_stride[1]) {
    find_lines(r, at0, i, &lines);
    if (lines.count == 1 && lines.offsets[0] == made) {
      memmove(y, y - r->y_stride[1], (size_t)r->size[2] * sizeof(*y));
      continue;
    }
    plane_line(r, x, y, &lines,
               (float *)(void *)(w->scratch + (size_t)slot * w->slot_size));
    made = lines.count == 1 ? lines.offsets[0] : -1;
  }
}

/* A line of pixels of half or bfloat16, which are copied or, where they have
 * several taps, made of widened input lines. */
static void halves_line(const resize *r, const uint16_t *x, uint16_t *y,
                        const places *lines, float *buffer) {
  const int64_t n = r->channels, line = r->width * n;
  const tap *t = r->tables[2];
  places wide = *lines, all;
  if (r->taps == 1) {
    for (int64_t i = 0; i < r->size[2]; i++, y += r->y_stride[2]) {
      memcpy(y, x + lines->offsets[0] + t[i].offset, (size_t)n * sizeof(*y));
    }
    return;
  }
  float *results = buffer + lines->count * line;
  for (int k = 0; k < lines->count; k++) {
    r->widths.widen_rows(x + lines->offsets[k], r->x_pixel, r->width, n,
                         buffer + k * line);
    wide.offsets[k] = k * line;
  }
  for (int64_t i = 0; i < r->size[2]; i++) {
    find_places(r, &wide, i, &all);
    channels_pixel(r, buffer, results + i * n, &all);
  }
  r->widths.narrow_rows(results, r->size[2], n, y, r->y_stride[2]);
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const resize *r = w->r;
  const int64_t size = (int64_t)bsm_dtype_size(r->dtype);
  const int64_t at1 = index % r->size[1];
  const int64_t at0 = index / r->size[1] % r->size[0];
  const int64_t outer = index / (r->size[1] * r->size[0]);
  bsm_cpu_cursor c;
  places lines, all;
  bsm_cpu_seek(&r->outer, outer * r->channels, &c);
  const char *x = w->x + c.offset[1] * size;
  char *y =
      w->y + (c.offset[0] + at0 * r->y_stride[0] + at1 * r->y_stride[1]) * size;
  find_lines(r, at0, at1, &lines);
  if (r->halves) {
    halves_line(r, (const uint16_t *)(const void *)x, (uint16_t *)(void *)y,
                &lines,
                (float *)(void *)(w->scratch + (size_t)slot * w->slot_size));
    return;
  }
  for (int64_t i = 0; i < r->size[2]; i++, y += r->y_stride[2] * size) {
    find_places(r, &lines, i, &all);
    if (r->channels_last) {
      channels_pixel(r, (const float *)(const void *)x, (float *)(void *)y,
                     &all);
    } else if (r->dtype == BSM_DTYPE_FLOAT) {
      float_pixel((const float *)(const void *)x, (float *)(void *)y, &all);
    } else {
      strided_pixel(r, x, y, &all);
    }
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *run) {
  const resize *r = prepared->impl;
  work w = {r, bsm_cpu_input_address(prepared, run, 0),
            bsm_cpu_output_address(prepared, run, 0), run->scratch,
            prepared->scratch_size / (size_t)r->base.slots};
  if (r->lines_first && r->lines > 0) {
    bsm_cpu_parallel(run, r->base.slots,
                     r->outer.count * r->size[0] * r->line_blocks, planes_unit,
                     &w);
    return BSM_OK;
  }
  bsm_cpu_parallel(run, r->base.slots, r->lines, unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_RESIZE = {bsm_check_resize, NULL, prepare, run};
