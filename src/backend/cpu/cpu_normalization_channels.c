/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of channels-last images over their pixels and the channels of a
 * group.
 *
 * Chunks of pixels are summed for each channel, and the sums of the channels of
 * a group added up. Few channels are done for several pixels at once, as if
 * these were more channels, so that vectors are full. */
#include "backend/cpu/cpu_normalization.h"

/* Elements that one unit sums, and lanes that make a row: fixed, so that the
 * order of additions does not depend on the threads. */
#define PIXELS 512
#define LANES 64

/* Images [samples, pixels, channels] with adjacent channels, normalised over
 * the pixels and the channels of a group. */
bool bsm_cpu_norm_is_channels(bsm_cpu_norm *n, const bsm_plan_tensor *const *t,
                              const bsm_step_normalization *p,
                              uint64_t *shared) {
  const bsm_plan_tensor *x = t[BSM_CPU_NORM_IN], *y = t[BSM_CPU_NORM_OUT];
  const int32_t rank = x->dims.rank;
  const uint32_t all = ((1u << rank) - 1u) & ~3u;
  if (rank < 3 || (p->axes & ~2u) != all) return false;
  bsm_cpu_rows px, py;
  bsm_cpu_rows_init(&px, rank - 2, x->dims.d + 2, x->strides + 2);
  bsm_cpu_rows_init(&py, rank - 2, y->dims.d + 2, y->strides + 2);
  if (x->strides[1] != 1 || y->strides[1] != 1 || px.rank != 1 ||
      py.rank != 1) {
    return false;
  }
  for (int k = BSM_CPU_NORM_SCALE; k <= BSM_CPU_NORM_BIAS; k++) {
    const bsm_plan_tensor *s = t[k];
    if (!s) continue;
    for (int32_t i = 0; i < s->dims.rank; i++) {
      const int32_t axis = i + rank - s->dims.rank;
      /* Broadcast without a stride, or by a size of 1. */
      if (s->dims.d[i] == 1 || s->strides[i] == 0) continue;
      if (axis != 1) return false;
      *(k == BSM_CPU_NORM_SCALE ? &n->scale_stride : &n->bias_stride) =
          s->strides[i];
    }
  }
  n->samples = x->dims.d[0];
  n->channels = x->dims.d[1];
  n->pixels = px.dims[0];
  for (int32_t i = 2; i < rank && n->pixels; i++) {
    if (x->dims.d[i] == 0) n->pixels = 0;
  }
  n->groups = p->groups > 1 || (p->axes & 2u) ? p->groups : n->channels;
  n->x_sample = x->strides[0];
  n->y_sample = y->strides[0];
  n->x_pixel = px.strides[0];
  n->y_pixel = py.strides[0];
  if (n->channels == 0 || n->pixels == 0) return false;
  n->fold = 1;
  if (n->x_pixel == n->channels && n->y_pixel == n->channels) {
    n->fold = bsm_cpu_min(bsm_cpu_max(1, LANES / n->channels), n->pixels);
  }
  n->chunk = bsm_cpu_round_up(PIXELS, n->fold);
  n->chunks = bsm_cpu_div_up(n->pixels, n->chunk);
  /* Partial sums of each chunk, and mean, factor, shift of each channel. */
  *shared = (uint64_t)(n->chunks + 3) * (uint64_t)(n->channels * n->fold) *
            sizeof(float);
  return true;
}

/* ---- run ---- */

/* Sums of one chunk of pixels; with `mean` of squared differences. Of the
 * pixels that make no whole row the sums are added to those of the first. */
static void sum_unit(void *arg, int64_t chunk, int slot) {
  const bsm_cpu_norm_work *w = arg;
  const bsm_cpu_norm *n = w->n;
  const int64_t lanes = n->channels * n->fold;
  const float *x = (const float *)(const void *)w->in[BSM_CPU_NORM_IN] +
                   w->sample * n->x_sample + chunk * n->chunk * n->x_pixel;
  const int64_t count = bsm_cpu_min(n->chunk, n->pixels - chunk * n->chunk);
  const int64_t rows = count / n->fold, rest = count % n->fold;
  float *to = w->partial + chunk * lanes, last[LANES];
  (void)slot;
  for (int64_t i = 0; rows == 0 && i < lanes; i++) to[i] = 0.0f;
  if (rows > 0 && w->mean) {
    n->rows->square_columns(x, n->x_pixel * n->fold, rows, w->mean, to, lanes);
  } else if (rows > 0) {
    n->rows->sum_columns(x, n->x_pixel * n->fold, rows, to, lanes);
  }
  if (rest == 0) return;
  x += rows * lanes;
  if (w->mean) {
    n->rows->square_columns(x, 0, 1, w->mean, last, rest * n->channels);
  } else {
    n->rows->sum_columns(x, 0, 1, last, rest * n->channels);
  }
  for (int64_t i = 0; i < rest * n->channels; i++) to[i] += last[i];
}

static void apply_unit(void *arg, int64_t chunk, int slot) {
  const bsm_cpu_norm_work *w = arg;
  const bsm_cpu_norm *n = w->n;
  const int64_t first = chunk * n->chunk;
  const int64_t end = bsm_cpu_min(first + n->chunk, n->pixels);
  const float *x = (const float *)(const void *)w->in[BSM_CPU_NORM_IN] +
                   w->sample * n->x_sample + first * n->x_pixel;
  float *y =
      (float *)(void *)w->y + w->sample * n->y_sample + first * n->y_pixel;
  const int64_t lanes = n->channels * n->fold;
  bsm_k_center c = {.x = x,
                    .mean = w->mean,
                    .factor = w->factor,
                    .shift = w->shift,
                    .y = y,
                    .rows = (end - first) / n->fold,
                    .n = lanes,
                    .x_row = n->x_pixel * n->fold,
                    .y_row = n->y_pixel * n->fold};
  (void)slot;
  n->rows->center_columns(&c);
  c.x += c.rows * c.x_row;
  c.y += c.rows * c.y_row;
  c.rows = 1;
  c.n = (end - first) % n->fold * n->channels;
  if (c.n) n->rows->center_columns(&c);
}

/* The mean over the pixels and channels of each group, given chunk sums. */
static void group_means(const bsm_cpu_norm_work *w, float *to) {
  const bsm_cpu_norm *n = w->n;
  const int64_t size = n->channels / n->groups;
  for (int64_t g = 0; g < n->groups; g++) {
    double total = 0.0;
    for (int64_t c = g * size; c < (g + 1) * size; c++) {
      for (int64_t k = 0; k < n->chunks * n->fold; k++) {
        total += (double)w->partial[k * n->channels + c];
      }
    }
    total /= (double)(size * n->pixels);
    for (int64_t c = g * size; c < (g + 1) * size; c++) to[c] = (float)total;
  }
}

/* The channels of the first pixel for the others of a row. */
static void repeat(const bsm_cpu_norm *n, float *values) {
  for (int64_t i = n->channels; i < n->channels * n->fold; i++) {
    values[i] = values[i - n->channels];
  }
}

void bsm_cpu_norm_run_channels(bsm_cpu_norm_work *w) {
  const bsm_cpu_norm *n = w->n;
  const int64_t lanes = n->channels * n->fold;
  const float *scale = (const float *)(const void *)w->in[BSM_CPU_NORM_SCALE];
  const float *bias = (const float *)(const void *)w->in[BSM_CPU_NORM_BIAS];
  w->partial = (float *)(void *)w->scratch;
  w->factor = w->partial + n->chunks * lanes;
  w->shift = w->factor + lanes;
  float *mean = w->shift + lanes;
  for (w->sample = 0; w->sample < n->samples; w->sample++) {
    w->mean = NULL;
    bsm_cpu_parallel(w->run, n->base.slots, n->chunks, sum_unit, w);
    group_means(w, mean);
    repeat(n, mean);
    w->mean = mean;
    bsm_cpu_parallel(w->run, n->base.slots, n->chunks, sum_unit, w);
    group_means(w, w->factor);
    for (int64_t c = 0; c < n->channels; c++) {
      float f = (float)bsm_cpu_norm_factor(n, (double)w->factor[c]);
      if (scale) f *= scale[c * n->scale_stride];
      w->factor[c] = f;
      w->shift[c] = bias ? bias[c * n->bias_stride] : 0.0f;
    }
    repeat(n, w->factor);
    repeat(n, w->shift);
    bsm_cpu_parallel(w->run, n->base.slots, n->chunks, apply_unit, w);
  }
}
