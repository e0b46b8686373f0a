/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds from histograms. */
#include "quantization/calibrators.h"

#include <math.h>
#include <string.h>

#define BINS BSM_HISTOGRAM_BINS
#define LEVELS 128     /* of magnitudes in int8 */
#define MOST_BINS 2048 /* of magnitudes that entropy looks at */
#define STEPS 255      /* between the ends of a range */
#define CANDIDATES 100 /* thresholds that mse tries */

/* Magnitudes: bins of one width from zero up to the greatest value. */
typedef struct magnitudes {
  double width;
  size_t count;
  double bins[BINS];
} magnitudes;

static void fold_signs(const bsm_histogram *h, size_t most, magnitudes *out) {
  out->width = bsm_histogram_width(h);
  out->count = 0;
  for (size_t i = 0; i < BINS; i++) {
    out->bins[i] = (double)(h->positive[i] + h->negative[i]);
    if (out->bins[i] > 0) out->count = i + 1;
  }
  while (out->count > most) {
    const size_t half = (out->count + 1) / 2;
    for (size_t i = 0; i < half; i++) {
      const double second = 2 * i + 1 < out->count ? out->bins[2 * i + 1] : 0.0;
      out->bins[i] = out->bins[2 * i] + second;
    }
    out->count = half;
    out->width *= 2;
  }
}

/* ---- entropy ---- */

/* The level of a bin, when the first `kept` bins are divided into LEVELS. */
static size_t level_of(size_t bin, size_t kept) {
  return bin * LEVELS / kept;
}

/* The divergence of the values in LEVELS steps from the values, both clipped
 * to the first `kept` bins. `beyond`: how many values that clips. */
static double divergence(const magnitudes *m, size_t kept, double beyond) {
  double sums[LEVELS] = {0}, used[LEVELS] = {0};
  double inside = 0, sum = 0;
  for (size_t i = 0; i < kept; i++) {
    const size_t level = level_of(i, kept);
    sums[level] += m->bins[i];
    used[level] += m->bins[i] > 0;
    inside += m->bins[i];
  }
  /* The clipped values are in the last bin of the reference alone. */
  if (inside <= 0 || (beyond > 0 && m->bins[kept - 1] <= 0)) return INFINITY;
  for (size_t i = 0; i < kept; i++) {
    if (m->bins[i] <= 0) continue;
    const size_t level = level_of(i, kept);
    const double p =
        (m->bins[i] + (i == kept - 1 ? beyond : 0)) / (inside + beyond);
    const double q = sums[level] / used[level] / inside;
    sum += p * log(p / q);
  }
  return sum;
}

static double entropy_threshold(const bsm_histogram *h) {
  magnitudes m;
  fold_signs(h, MOST_BINS, &m);
  double beyond = 0, least = INFINITY;
  size_t best = m.count;
  for (size_t kept = m.count; kept >= LEVELS; kept--) {
    const double d = divergence(&m, kept, beyond);
    if (d < least) {
      least = d;
      best = kept;
    }
    beyond += m.bins[kept - 1];
  }
  return (double)best * m.width;
}

/* ---- percentile ---- */

static double percentile_threshold(const bsm_histogram *h, double percentile) {
  magnitudes m;
  fold_signs(h, BINS, &m);
  const double wanted = percentile / 100 * (double)h->count;
  double seen = (double)h->zeros;
  for (size_t i = 0; i < m.count; i++) {
    /* Within the bin, values count as equally spread. */
    if (seen + m.bins[i] >= wanted && m.bins[i] > 0) {
      const double part = fmax(0, (wanted - seen) / m.bins[i]);
      return ((double)i + part) * m.width;
    }
    seen += m.bins[i];
  }
  return (double)m.count * m.width;
}

/* ---- mean square error ---- */

static bsm_range clip(const bsm_histogram *h, double threshold) {
  return (bsm_range){fmin(0, fmax(h->least, -threshold)),
                     fmax(0, fmin(h->greatest, threshold))};
}

/* Of the values in the middle of their bins. */
static double square_error(const bsm_histogram *h, bsm_range range) {
  const double width = bsm_histogram_width(h);
  const double step = (range.high - range.low) / STEPS;
  const double zero = rint(-range.low / step);
  double sum = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    const uint64_t *bins = sign > 0 ? h->positive : h->negative;
    for (size_t i = 0; i < BINS; i++) {
      if (!bins[i]) continue;
      const double x = sign * ((double)i + 0.5) * width;
      const double q = fmin(fmax(rint(x / step) + zero, 0), STEPS);
      const double off = (q - zero) * step - x;
      sum += off * off * (double)bins[i];
    }
  }
  return sum;
}

static double square_threshold(const bsm_histogram *h) {
  const double most = fmax(-h->least, h->greatest);
  double least = INFINITY, best = most;
  for (int i = CANDIDATES; i > 0; i--) {
    const double threshold = most * i / CANDIDATES;
    const double error = square_error(h, clip(h, threshold));
    if (error < least) {
      least = error;
      best = threshold;
    }
  }
  return best;
}

bsm_range bsm_calibrate_range(const bsm_histogram *h,
                              bsm_calibration_method method,
                              double percentile) {
  const double most = fmax(-h->least, h->greatest);
  double threshold = most;
  if (most <= 0) return (bsm_range){0, 0};
  switch (method) {
    case BSM_CALIBRATION_ENTROPY:
      threshold = entropy_threshold(h);
      break;
    case BSM_CALIBRATION_PERCENTILE:
      threshold = percentile_threshold(h, percentile);
      break;
    case BSM_CALIBRATION_MSE:
      threshold = square_threshold(h);
      break;
    case BSM_CALIBRATION_MIN_MAX:
      break;
  }
  /* Values that are almost all zero leave nothing below the threshold. */
  return clip(h, threshold > 0 ? threshold : most);
}
