/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms that grow with their values. */
#include "quantization/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BINS BSM_HISTOGRAM_BINS

double bsm_histogram_width(const bsm_histogram *h) {
  return h->reach / BINS;
}

/* Merges bins in pairs. */
static void halve(uint64_t *bins) {
  for (size_t i = 0; i < BINS / 2; i++) {
    bins[i] = bins[2 * i] + bins[2 * i + 1];
  }
  memset(bins + BINS / 2, 0, BINS / 2 * sizeof(*bins));
}

/* Makes the reach greater than `value`. */
static void grow(bsm_histogram *h, double value) {
  int exponent;
  (void)frexp(value, &exponent);
  const double reach = ldexp(1, exponent);
  const bool empty = h->reach == 0;
  /* After so many turns everything is in the first bin. */
  for (int i = 0; !empty && h->reach < reach && i < 64; i++) {
    h->reach *= 2;
    halve(h->positive);
    halve(h->negative);
  }
  h->reach = fmax(h->reach, reach);
}

static bsm_status find_extremes(const float *values, uint64_t count,
                                double *least, double *greatest) {
  float low = INFINITY, high = -INFINITY;
  for (uint64_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "value %" PRIu64 " is %s", i,
                      isnan(values[i]) ? "NaN" : "infinite");
    }
    low = fminf(low, values[i]);
    high = fmaxf(high, values[i]);
  }
  *least = (double)low;
  *greatest = (double)high;
  return BSM_OK;
}

bsm_status bsm_histogram_add(bsm_histogram *h, const float *values,
                             uint64_t count) {
  double least, greatest;
  if (!count) return BSM_OK;
  BSM_TRY(find_extremes(values, count, &least, &greatest));
  h->least = h->count ? fmin(h->least, least) : least;
  h->greatest = h->count ? fmax(h->greatest, greatest) : greatest;
  h->count += count;
  const double most = fmax(-least, greatest);
  if (most > 0 && most >= h->reach) grow(h, most);
  const double scale = h->reach > 0 ? BINS / h->reach : 0;
  for (uint64_t i = 0; i < count; i++) {
    const double x = (double)values[i];
    if (x == 0) {
      h->zeros++;
      continue;
    }
    const size_t bin = (size_t)fmin(fabs(x) * scale, BINS - 1);
    (x > 0 ? h->positive : h->negative)[bin]++;
  }
  return BSM_OK;
}
