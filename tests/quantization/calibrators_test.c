/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms that grow, and the thresholds of calibrators, compared with loops
 * over all values in NumPy (tests/data/make_quantization.py). */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quantization/calibrators.h"
#include "tools/npy.h"

enum { ENTROPY, PERCENTILE, MSE, WIDTH };

static bsm_npy_file data;

static int set_up(void **state) {
  (void)state;
  bsm_status status = bsm_npy_open(
      BSM_TEST_DATA_DIR "/quantization/calibrators.npz", NULL, &data);
  if (status) fail_msg("%s", bsm_status_message(status));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_npy_close(&data);
  return 0;
}

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void refused(bsm_status status, const char *part) {
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  bsm_status_free(status);
}

/* In pieces, whose sizes change nothing. */
static void fill(bsm_histogram *h, const bsm_array *array, uint64_t piece) {
  const float *values = array->data;
  const uint64_t count = (uint64_t)array->dims.d[0];
  memset(h, 0, sizeof(*h));
  for (uint64_t i = 0; i < count; i += piece) {
    const uint64_t n = count - i < piece ? count - i : piece;
    check(bsm_histogram_add(h, values + i, n));
  }
}

static double threshold(const bsm_histogram *h, bsm_calibration_method method) {
  const bsm_range r = bsm_calibrate_range(h, method, 99);
  assert_true(r.low <= 0 && r.high >= 0);
  assert_true(r.low >= fmin(h->least, 0) && r.high <= fmax(h->greatest, 0));
  return fmax(-r.low, r.high);
}

static double square_error(const bsm_array *array, bsm_range r) {
  const float *x = array->data;
  const double step = (r.high - r.low) / 255, zero = rint(-r.low / step);
  double sum = 0;
  for (int64_t i = 0; i < array->dims.d[0]; i++) {
    double q = rint((double)x[i] / step) + zero;
    q = fmin(fmax(q, 0), 255);
    sum += pow((q - zero) * step - (double)x[i], 2);
  }
  return sum;
}

static void check_sample(const bsm_npy_array *item, const double *expected) {
  static bsm_histogram h, again;
  fill(&h, &item->array, 7);
  fill(&again, &item->array, 100000);
  assert_int_equal(h.count, item->array.dims.d[0]);
  if (memcmp(&h, &again, sizeof(h)) != 0) {
    fail_msg("%s: pieces matter", item->name);
  }
  const double width = bsm_histogram_width(&h);
  assert_true(width == expected[WIDTH]);
  const double most = fmax(-h.least, h.greatest);
  assert_true(threshold(&h, BSM_CALIBRATION_MIN_MAX) == most);
  const double entropy = threshold(&h, BSM_CALIBRATION_ENTROPY);
  if (fabs(entropy - fmin(expected[ENTROPY], most)) > 1e-6 * most) {
    fail_msg("%s: entropy %g, not %g", item->name, entropy, expected[ENTROPY]);
  }
  const double percentile = threshold(&h, BSM_CALIBRATION_PERCENTILE);
  if (fabs(percentile - expected[PERCENTILE]) > 0.02 * most) {
    fail_msg("%s: percentile %g, not %g", item->name, percentile,
             expected[PERCENTILE]);
  }
  const double error = square_error(
      &item->array, bsm_calibrate_range(&h, BSM_CALIBRATION_MSE, 0));
  if (error > 1.03 * expected[MSE]) {
    fail_msg("%s: square error %g, not %g", item->name, error, expected[MSE]);
  }
}

static void thresholds_are_those_of_all_values(void **state) {
  (void)state;
  size_t checked = 0;
  for (size_t i = 0; i < data.count; i++) {
    char name[64];
    if (strchr(data.items[i].name, '.')) continue;
    snprintf(name, sizeof(name), "%s.expected", data.items[i].name);
    const bsm_array *expected = bsm_npy_find(&data, name);
    assert_non_null(expected);
    check_sample(&data.items[i], expected->data);
    checked++;
  }
  assert_int_equal(checked, 7);
}

static void zeros_have_no_range(void **state) {
  static bsm_histogram h;
  const float zeros[5] = {0, -0.0f, 0, 0, 0}, one = 1;
  (void)state;
  memset(&h, 0, sizeof(h));
  check(bsm_histogram_add(&h, zeros, 5));
  check(bsm_histogram_add(&h, NULL, 0));
  for (int m = 0; m <= BSM_CALIBRATION_MSE; m++) {
    const bsm_range r =
        bsm_calibrate_range(&h, (bsm_calibration_method)m, 99.99);
    assert_true(r.low == 0 && r.high == 0);
  }
  /* A value at last: most others are zero. */
  check(bsm_histogram_add(&h, &one, 1));
  for (int m = 0; m <= BSM_CALIBRATION_MSE; m++) {
    const bsm_range r = bsm_calibrate_range(&h, (bsm_calibration_method)m, 50);
    assert_true(r.low == 0 && r.high > 0 && r.high <= 1);
  }
}

static void what_is_no_number_is_refused(void **state) {
  static bsm_histogram h;
  const float nan[3] = {1, 2, NAN}, inf[2] = {-INFINITY, 2};
  (void)state;
  memset(&h, 0, sizeof(h));
  refused(bsm_histogram_add(&h, nan, 3), "value 2 is NaN");
  refused(bsm_histogram_add(&h, inf, 2), "value 0 is infinite");
}

/* Values of all magnitudes that float32 has. */
static void reach_grows_as_far_as_needed(void **state) {
  static bsm_histogram h;
  const float values[6] = {0x1p-149f, -1, 0x1p-100f, 3.4e38f, 0x1p-149f, -5};
  (void)state;
  memset(&h, 0, sizeof(h));
  uint64_t positive = 0, negative = 0;
  for (int i = 0; i < 6; i++) check(bsm_histogram_add(&h, &values[i], 1));
  for (size_t i = 0; i < BSM_HISTOGRAM_BINS; i++) {
    positive += h.positive[i];
    negative += h.negative[i];
  }
  assert_int_equal(positive, 4);
  assert_int_equal(negative, 2);
  assert_true(h.reach == 0x1p128);
  assert_true(h.least == -5 && h.greatest == (double)3.4e38f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thresholds_are_those_of_all_values),
      cmocka_unit_test(zeros_have_no_range),
      cmocka_unit_test(what_is_no_number_is_refused),
      cmocka_unit_test(reach_grows_as_far_as_needed),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
