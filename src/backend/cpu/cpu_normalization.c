/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation: layer, RMS, group and instance norm.
 *
 * The input is seen as kept x reduced dimensions; with groups, axis 1 is split
 * into [groups, channels of a group] and the latter is reduced too. Three
 * paths: `rows`, the reduced elements are one contiguous row, with scale and
 * bias along it; `channels`, channels-last images, with sums for each channel;
 * and `any`, strided loops in double. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/rows/rows.h"

#define UNIT 8192
#define CHUNK 256
/* Pixels that one unit of the channels path sums: fixed, so that the order of
 * additions does not depend on the threads. */
#define PIXELS 512

enum { OUT, IN, SCALE, BIAS, OPERANDS };
typedef enum mode { ROWS, CHANNELS, ANY } mode;

typedef struct normalization {
  bsm_cpu_impl base;
  mode mode;
  bool rms, has_scale, has_bias;
  double epsilon;
  bsm_dtype dtypes[OPERANDS];
  uint32_t inputs[OPERANDS];
  const bsm_k_rows *rows;
  bsm_cpu_space kept, reduced;
  int64_t unit_rows;
  /* channels */
  int64_t samples, pixels, channels, groups, chunks;
  int64_t x_sample, y_sample, x_pixel, y_pixel;
  int64_t scale_stride, bias_stride;
} normalization;

/* ---- prepare ---- */

typedef struct shape {
  int32_t rank;
  uint32_t reduced; /* bits */
  int64_t dims[BSM_MAX_RANK];
  int64_t strides[OPERANDS][BSM_MAX_RANK];
} shape;

/* The dimensions with axis 1 split when there are groups. */
static shape split(const bsm_plan_tensor *const *tensors,
                   const bsm_step_normalization *p) {
  const bsm_plan_tensor *x = tensors[IN];
  shape s = {0};
  for (int32_t i = 0; i < x->dims.rank; i++) {
    const bool grouped = i == 1 && p->groups > 1;
    const int64_t size = x->dims.d[i];
    const int64_t inner = grouped ? size / p->groups : size;
    if (grouped) s.dims[s.rank] = p->groups;
    for (int k = 0; k < OPERANDS; k++) {
      const bsm_plan_tensor *t = tensors[k];
      int64_t stride = 0;
      if (t) {
        const int32_t j = i - (x->dims.rank - t->dims.rank);
        stride = j < 0 || t->dims.d[j] == 1 ? 0 : t->strides[j];
      }
      if (grouped) {
        s.strides[k][s.rank] = stride * inner;
        s.strides[k][s.rank + 1] = stride;
      } else {
        s.strides[k][s.rank] = stride;
      }
    }
    if (grouped) s.rank++;
    s.dims[s.rank] = inner;
    if (grouped || (p->axes >> i & 1u)) s.reduced |= 1u << s.rank;
    s.rank++;
  }
  return s;
}

static void make_spaces(normalization *n, const shape *s) {
  n->kept.operands = n->reduced.operands = OPERANDS;
  for (int32_t i = 0; i < s->rank; i++) {
    bsm_cpu_space *to = s->reduced >> i & 1u ? &n->reduced : &n->kept;
    to->dims[to->rank] = s->dims[i];
    for (int k = 0; k < OPERANDS; k++) {
      to->strides[k][to->rank] = s->strides[k][i];
    }
    to->rank++;
  }
  bsm_cpu_space_reduce(&n->kept, true);
  bsm_cpu_space_reduce(&n->reduced, true);
}

/* Reduced elements in one contiguous row; along it, scale and bias are
 * adjacent, or constant over the innermost dimension. */
static bool is_rows(const normalization *n) {
  const bsm_cpu_space *r = &n->reduced;
  int64_t stride = 1;
  for (int32_t i = r->rank - 1; i >= 0; i--) {
    if (r->strides[OUT][i] != stride || r->strides[IN][i] != stride) {
      return r->count == 1;
    }
    stride *= r->dims[i];
  }
  const int64_t scale = r->strides[SCALE][r->rank - 1];
  const int64_t bias = r->strides[BIAS][r->rank - 1];
  return scale <= 1 && bias <= 1;
}

/* Images [samples, pixels, channels] with adjacent channels, normalised over
 * the pixels and the channels of a group. */
static bool is_channels(normalization *n, const bsm_plan_tensor *const *t,
                        const bsm_step_normalization *p) {
  const bsm_plan_tensor *x = t[IN], *y = t[OUT];
  const int32_t rank = x->dims.rank;
  const uint32_t all = ((1u << rank) - 1u) & ~3u;
  if (rank < 3 || (p->axes & ~2u) != all ||
      ((p->axes & 2u) && p->groups == 1)) {
    return false;
  }
  bsm_cpu_rows px, py;
  bsm_cpu_rows_init(&px, rank - 2, x->dims.d + 2, x->strides + 2);
  bsm_cpu_rows_init(&py, rank - 2, y->dims.d + 2, y->strides + 2);
  if (x->strides[1] != 1 || y->strides[1] != 1 || px.rank != 1 ||
      py.rank != 1) {
    return false;
  }
  for (int k = SCALE; k <= BIAS; k++) {
    const bsm_plan_tensor *s = t[k];
    if (!s) continue;
    for (int32_t i = 0; i < s->dims.rank; i++) {
      const int32_t axis = i + rank - s->dims.rank;
      if (axis != 1 && s->dims.d[i] != 1) return false;
      if (axis == 1 && s->dims.d[i] != 1) {
        *(k == SCALE ? &n->scale_stride : &n->bias_stride) = s->strides[i];
      }
    }
  }
  n->samples = x->dims.d[0];
  n->channels = x->dims.d[1];
  n->pixels = px.dims[0];
  for (int32_t i = 2; i < rank && n->pixels; i++) {
    if (x->dims.d[i] == 0) n->pixels = 0;
  }
  n->groups = p->groups > 1 ? p->groups : n->channels;
  n->chunks = bsm_cpu_div_up(n->pixels, PIXELS);
  n->x_sample = x->strides[0];
  n->y_sample = y->strides[0];
  n->x_pixel = px.strides[0];
  n->y_pixel = py.strides[0];
  return n->channels > 0 && n->pixels > 0;
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_normalization *params = &p->step->params->normalization;
  normalization *n = BSM_NEW(p->arena, normalization);
  BSM_TRY_ALLOC(n);
  const bsm_plan_tensor *t[OPERANDS] = {bsm_step_output(p->plan, p->step, 0),
                                        bsm_step_input(p->plan, p->step, 0)};
  n->base.slots = p->threads;
  n->rms = params->rms != 0;
  n->has_scale = params->has_scale != 0;
  n->has_bias = params->has_bias != 0;
  n->epsilon = params->epsilon;
  n->rows = bsm_k_rows_select(p->isa);
  n->inputs[SCALE] = 1;
  n->inputs[BIAS] = n->has_scale ? 2 : 1;
  if (n->has_scale) t[SCALE] = bsm_step_input(p->plan, p->step, 1);
  if (n->has_bias) t[BIAS] = bsm_step_input(p->plan, p->step, n->inputs[BIAS]);
  bool floats = true;
  for (int k = 0; k < OPERANDS; k++) {
    if (!t[k]) continue;
    n->dtypes[k] = t[k]->dtype;
    floats = floats && t[k]->dtype == BSM_DTYPE_FLOAT;
  }
  const shape s = split(t, params);
  make_spaces(n, &s);
  uint64_t shared = 0;
  if (floats && is_rows(n)) {
    n->mode = ROWS;
    n->base.description = n->rows->name;
  } else if (floats && !n->rms && is_channels(n, t, params)) {
    n->mode = CHANNELS;
    n->base.description = "channels";
    /* Partial sums of each chunk, and mean, factor, shift of each channel. */
    shared = (uint64_t)(n->chunks + 3) * (uint64_t)n->channels * sizeof(float);
  } else {
    n->mode = ANY;
    n->base.description = "strided";
  }
  n->unit_rows = bsm_cpu_max(1, UNIT / bsm_cpu_max(1, n->reduced.count));
  out->impl = n;
  return bsm_cpu_set_scratch(out, shared, 0, n->base.slots);
}

/* ---- run: rows ---- */

typedef struct work {
  const normalization *n;
  const char *in[OPERANDS];
  char *y;
  float *partial, *mean, *factor, *shift; /* channels */
  int64_t sample;
} work;

static float factor_of(const normalization *n, double variance) {
  return (float)(1.0 / sqrt(variance + n->epsilon));
}

/* Mean and factor of a contiguous row. */
static void row_moments(const normalization *n, const float *x, int64_t count,
                        float *mean, float *factor) {
  const double size = (double)count;
  *mean = n->rms ? 0.0f : (float)((double)n->rows->sum(x, count) / size);
  *factor = factor_of(n, (double)n->rows->sum_squares(x, count, *mean) / size);
}

static void write_row(const work *w, const float *x, float *y,
                      const bsm_cpu_cursor *kept, float mean, float factor) {
  const normalization *n = w->n;
  const bsm_cpu_space *r = &n->reduced;
  const int32_t last = r->rank - 1;
  const float *scale = (const float *)(const void *)w->in[SCALE];
  const float *bias = (const float *)(const void *)w->in[BIAS];
  bsm_cpu_cursor c;
  bsm_cpu_seek(r, 0, &c);
  for (int64_t i = 0; i < r->count; i += r->dims[last]) {
    const float *s =
        scale ? scale + kept->offset[SCALE] + c.offset[SCALE] : NULL;
    const float *b = bias ? bias + kept->offset[BIAS] + c.offset[BIAS] : NULL;
    float m = mean, f = factor;
    /* Constant along the row: (x - m) * f * s + b = (x - m') * f'. */
    const bool s_constant = s && r->strides[SCALE][last] == 0;
    const bool b_constant = b && r->strides[BIAS][last] == 0;
    if ((s_constant || !s) && (b_constant || !b)) {
      const float fs = f * (s ? *s : 1.0f);
      if (!b || fs == 0.0f) {
        n->rows->normalize(x + i, y + i, r->dims[last], m, fs, NULL, NULL);
        for (int64_t j = 0; b && j < r->dims[last]; j++) y[i + j] += *b;
      } else {
        for (int64_t j = 0; j < r->dims[last]; j++) {
          y[i + j] = (x[i + j] - m) * fs + *b;
        }
      }
    } else if (s_constant || b_constant) {
      for (int64_t j = 0; j < r->dims[last]; j++) {
        y[i + j] = (x[i + j] - m) * f *
                       (s_constant ? *s
                        : s        ? s[j]
                                   : 1.0f) +
                   (b_constant ? *b
                    : b        ? b[j]
                               : 0.0f);
      }
    } else {
      n->rows->normalize(x + i, y + i, r->dims[last], m, f, s, b);
    }
    bsm_cpu_advance(r, &c, r->dims[last]);
  }
}

static void rows_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const normalization *n = w->n;
  const int64_t first = unit * n->unit_rows;
  const int64_t end = bsm_cpu_min(first + n->unit_rows, n->kept.count);
  bsm_cpu_cursor c;
  (void)slot;
  bsm_cpu_seek(&n->kept, first, &c);
  for (int64_t i = first; i < end; i++) {
    const float *x = (const float *)(const void *)w->in[IN] + c.offset[IN];
    float mean, factor;
    row_moments(n, x, n->reduced.count, &mean, &factor);
    write_row(w, x, (float *)(void *)w->y + c.offset[OUT], &c, mean, factor);
    bsm_cpu_advance(&n->kept, &c, 1);
  }
}

/* ---- run: channels ---- */

/* Sums of one chunk of pixels; with `mean` of squared differences. */
static void sum_unit(void *arg, int64_t chunk, int slot) {
  const work *w = arg;
  const normalization *n = w->n;
  const float *x = (const float *)(const void *)w->in[IN] +
                   w->sample * n->x_sample + chunk * PIXELS * n->x_pixel;
  const int64_t count = bsm_cpu_min(PIXELS, n->pixels - chunk * PIXELS);
  float *to = w->partial + chunk * n->channels;
  (void)slot;
  memset(to, 0, (size_t)n->channels * sizeof(float));
  for (int64_t i = 0; i < count; i++, x += n->x_pixel) {
    if (w->mean) {
      n->rows->accumulate_squares(to, x, w->mean, n->channels);
    } else {
      n->rows->accumulate(to, x, n->channels);
    }
  }
}

static void apply_unit(void *arg, int64_t chunk, int slot) {
  const work *w = arg;
  const normalization *n = w->n;
  const int64_t first = chunk * PIXELS;
  const int64_t end = bsm_cpu_min(first + PIXELS, n->pixels);
  const float *x = (const float *)(const void *)w->in[IN] +
                   w->sample * n->x_sample + first * n->x_pixel;
  float *y =
      (float *)(void *)w->y + w->sample * n->y_sample + first * n->y_pixel;
  (void)slot;
  for (int64_t i = first; i < end; i++, x += n->x_pixel, y += n->y_pixel) {
    n->rows->affine(x, y, n->channels, w->factor, w->shift);
  }
}

/* The mean over the pixels and channels of each group, given chunk sums. */
static void group_means(const work *w, float *to) {
  const normalization *n = w->n;
  const int64_t size = n->channels / n->groups;
  for (int64_t g = 0; g < n->groups; g++) {
    double total = 0.0;
    for (int64_t c = g * size; c < (g + 1) * size; c++) {
      for (int64_t k = 0; k < n->chunks; k++) {
        total += (double)w->partial[k * n->channels + c];
      }
    }
    total /= (double)(size * n->pixels);
    for (int64_t c = g * size; c < (g + 1) * size; c++) to[c] = (float)total;
  }
}

static void run_channels(const normalization *n, const bsm_run *r, work *w) {
  const float *scale = (const float *)(const void *)w->in[SCALE];
  const float *bias = (const float *)(const void *)w->in[BIAS];
  float *mean = w->factor + 2 * n->channels;
  for (w->sample = 0; w->sample < n->samples; w->sample++) {
    w->mean = NULL;
    bsm_cpu_parallel(r, n->base.slots, n->chunks, sum_unit, w);
    group_means(w, mean);
    w->mean = mean;
    bsm_cpu_parallel(r, n->base.slots, n->chunks, sum_unit, w);
    group_means(w, w->factor);
    for (int64_t c = 0; c < n->channels; c++) {
      float f = factor_of(n, (double)w->factor[c]);
      if (scale) f *= scale[c * n->scale_stride];
      w->factor[c] = f;
      w->shift[c] = (bias ? bias[c * n->bias_stride] : 0.0f) - mean[c] * f;
    }
    bsm_cpu_parallel(r, n->base.slots, n->chunks, apply_unit, w);
  }
}

/* ---- run: any ---- */

static double load1(const work *w, int operand, int64_t offset) {
  const bsm_dtype d = w->n->dtypes[operand];
  double v;
  float f;
  const char *at = w->in[operand] + offset * (int64_t)bsm_dtype_size(d);
  if (bsm_cpu_class_of(d) == BSM_CPU_F64) {
    bsm_cpu_load(d, at, 1, 1, &v);
    return v;
  }
  bsm_cpu_load(d, at, 1, 1, &f);
  return (double)f;
}

static double strided_sum(const work *w, int64_t offset, bool squares,
                          double mean) {
  const bsm_cpu_space *s = &w->n->reduced;
  double total = 0.0;
  bsm_cpu_cursor c;
  bsm_cpu_seek(s, 0, &c);
  for (int64_t i = 0; i < s->count; i++) {
    const double v = load1(w, IN, offset + c.offset[IN]) - mean;
    total += squares ? v * v : v;
    bsm_cpu_advance(s, &c, 1);
  }
  return total;
}

static void any_unit(void *arg, int64_t unit, int slot) {
  const work *w = arg;
  const normalization *n = w->n;
  const bsm_cpu_space *s = &n->reduced;
  const double size = (double)s->count;
  const int64_t first = unit * n->unit_rows;
  const int64_t end = bsm_cpu_min(first + n->unit_rows, n->kept.count);
  const bsm_cpu_class to = bsm_cpu_class_of(n->dtypes[OUT]);
  bsm_cpu_cursor k, c;
  (void)slot;
  bsm_cpu_seek(&n->kept, first, &k);
  for (int64_t i = first; i < end; i++) {
    const double mean =
        n->rms ? 0.0 : strided_sum(w, k.offset[IN], false, 0.0) / size;
    const double variance = strided_sum(w, k.offset[IN], true, mean) / size;
    const double factor = 1.0 / sqrt(variance + n->epsilon);
    bsm_cpu_seek(s, 0, &c);
    for (int64_t j = 0; j < s->count; j++) {
      double v = (load1(w, IN, k.offset[IN] + c.offset[IN]) - mean) * factor;
      if (n->has_scale) {
        v *= load1(w, SCALE, k.offset[SCALE] + c.offset[SCALE]);
      }
      if (n->has_bias) v += load1(w, BIAS, k.offset[BIAS] + c.offset[BIAS]);
      double stored;
      bsm_cpu_convert(BSM_CPU_F64, &v, to, &stored, 1);
      bsm_cpu_store(n->dtypes[OUT],
                    w->y + (k.offset[OUT] + c.offset[OUT]) *
                               (int64_t)bsm_dtype_size(n->dtypes[OUT]),
                    1, 1, &stored);
      bsm_cpu_advance(s, &c, 1);
    }
    bsm_cpu_advance(&n->kept, &k, 1);
  }
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const normalization *n = prepared->impl;
  work w = {.n = n, .y = bsm_cpu_output_address(prepared, r, 0)};
  w.in[IN] = bsm_cpu_input_address(prepared, r, 0);
  if (n->has_scale) {
    w.in[SCALE] = bsm_cpu_input_address(prepared, r, n->inputs[SCALE]);
  }
  if (n->has_bias) {
    w.in[BIAS] = bsm_cpu_input_address(prepared, r, n->inputs[BIAS]);
  }
  if (n->kept.count == 0 || n->reduced.count == 0) return BSM_OK;
  if (n->mode == CHANNELS) {
    w.partial = (float *)(void *)r->scratch;
    w.factor = w.partial + n->chunks * n->channels;
    w.shift = w.factor + n->channels;
    run_channels(n, r, &w);
    return BSM_OK;
  }
  bsm_cpu_parallel(r, n->base.slots,
                   bsm_cpu_div_up(n->kept.count, n->unit_rows),
                   n->mode == ROWS ? rows_unit : any_unit, &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_NORMALIZATION = {bsm_check_normalization, NULL,
                                            prepare, run};
