/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing arrays element by element, as numbers of double precision. */
#include "tools/tensor_compare.h"

#include <math.h>

#include "tools/arrays.h"

static bsm_array_stats stats_of(const bsm_array *array, size_t count) {
  bsm_array_stats s = {.least = INFINITY, .greatest = -INFINITY};
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    const double v = bsm_array_element(array, i);
    if (isnan(v)) {
      s.nans++;
    } else if (isinf(v)) {
      s.infinities++;
    } else {
      sum += v;
      squares += v * v;
      if (v < s.least) s.least = v;
      if (v > s.greatest) s.greatest = v;
    }
  }
  const size_t finite = count - s.nans - s.infinities;
  if (!finite) s.least = s.greatest = 0;
  if (finite) s.mean = sum / (double)finite;
  if (finite) s.rms = sqrt(squares / (double)finite);
  return s;
}

/* |a - b|; 0 for two NaNs and for equal infinities. */
static double distance(double a, double b) {
  if (isfinite(a) && isfinite(b)) return fabs(a - b);
  if (isnan(a) && isnan(b)) return 0;
  return isinf(a) && isinf(b) && (a > 0) == (b > 0) ? 0 : INFINITY;
}

static size_t value_bin(const bsm_comparison *c, double v) {
  const double width = c->bins_to - c->bins_from;
  if (!(width > 0)) return 0;
  const double at = (v - c->bins_from) / width * BSM_VALUE_BINS;
  /* Ranges of more than the largest double make it infinite, or no number. */
  if (!(at > 0)) return 0;
  return at >= BSM_VALUE_BINS - 1 ? BSM_VALUE_BINS - 1 : (size_t)at;
}

static size_t error_bin(double relative) {
  if (!(relative > 0)) return 0;
  if (isinf(relative)) return BSM_ERROR_BINS - 1;
  const double decade = floor(log10(relative)) + 11; /* 1e-9: 2 */
  return decade < 1                    ? 1
         : decade > BSM_ERROR_BINS - 1 ? BSM_ERROR_BINS - 1
                                       : (size_t)decade;
}

void bsm_compare_arrays(const bsm_array *expected, const bsm_array *actual,
                        size_t count, bsm_comparison *out) {
  bsm_comparison c = {.count = count,
                      .expected = stats_of(expected, count),
                      .actual = stats_of(actual, count)};
  c.bins_from = fmin(c.expected.least, c.actual.least);
  c.bins_to = fmax(c.expected.greatest, c.actual.greatest);
  const double scale = fmax(fabs(c.expected.least), fabs(c.expected.greatest));
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    const double e = bsm_array_element(expected, i);
    const double a = bsm_array_element(actual, i);
    const double d = distance(e, a);
    if (isfinite(e)) c.expected_bins[value_bin(&c, e)]++;
    if (isfinite(a)) c.actual_bins[value_bin(&c, a)]++;
    c.error_bins[error_bin(scale > 0 ? d / scale : d)]++;
    c.differing += d > 0;
    squares += d * d;
    if (d > c.max_error) {
      c.max_error = d;
      c.worst = i;
    }
  }
  if (count) {
    c.worst_expected = bsm_array_element(expected, c.worst);
    c.worst_actual = bsm_array_element(actual, c.worst);
    c.rms_error = sqrt(squares / (double)count);
    if (c.expected.rms > 0) c.rms_error /= c.expected.rms;
  }
  c.relative = scale > 0 ? c.max_error / scale : c.max_error;
  *out = c;
}
