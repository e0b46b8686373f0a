/* SPDX-License-Identifier: Apache-2.0 */
/* The places of elements that are not zero, and non-maximum suppression,
 * against plain loops. */
#include "tests/conformance/step_harness.h"

/* ---- non-zero ---- */

static void compare_non_zero(harness *h, uint32_t isa, void *arg) {
  const bool *wanted = arg;
  const int64_t *y = h->outputs[0];
  const int64_t n = h->tensors[h->step.outputs[0]].dims.d[0];
  int64_t at = 0;
  (void)isa;
  for (int64_t i = 0; i < n; i++) {
    if (wanted[i]) assert_int_equal(y[at++], i);
  }
  while (at < n) assert_int_equal(y[at++], -1);
}

/* Of a dtype: something that is not zero, or a zero of either sign. */
static void set_element(bsm_dtype dtype, uint8_t *at, bool wanted,
                        harness_rng *r) {
  const int kind = rng_range(r, 0, 3);
  switch (dtype) {
    case BSM_DTYPE_FLOAT: {
      const float some[] = {1.5f, -INFINITY, NAN, 1e-40f};
      const float x = wanted ? some[kind] : kind ? 0.0f : -0.0f;
      memcpy(at, &x, sizeof(x));
      break;
    }
    case BSM_DTYPE_DOUBLE: {
      const double x = wanted ? 1e-300 : kind ? 0.0 : -0.0;
      memcpy(at, &x, sizeof(x));
      break;
    }
    case BSM_DTYPE_HALF: {
      const uint16_t x = wanted ? 0x0001 : kind ? 0x0000 : 0x8000;
      memcpy(at, &x, sizeof(x));
      break;
    }
    default:
      memset(at, 0, bsm_dtype_size(dtype));
      at[bsm_dtype_size(dtype) - 1] = wanted ? (uint8_t)(1 + kind) : 0;
  }
}

static void run_non_zero(harness_rng *r, bsm_dtype dtype, bsm_dims d,
                         int percent) {
  harness h;
  int64_t n;
  assert_true(bsm_dims_numel(d, &n));
  bool *wanted = calloc((size_t)n + 1, sizeof(*wanted));
  assert_non_null(wanted);
  harness_init(&h, BSM_STEP_NON_ZERO);
  uint8_t *x = add_input(&h, dtype, d, NULL);
  for (int64_t i = 0; i < n; i++) {
    wanted[i] = rng_range(r, 0, 99) < percent;
    set_element(dtype, x + (size_t)i * bsm_dtype_size(dtype), wanted[i], r);
  }
  add_output(&h, BSM_DTYPE_INT64, dims_of(1, (int)n), NULL);
  harness_run_all(&h, compare_non_zero, wanted);
  harness_free(&h);
  free(wanted);
}

static void test_non_zero(void **state) {
  static const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_BOOL,
                                     BSM_DTYPE_INT64, BSM_DTYPE_DOUBLE,
                                     BSM_DTYPE_UINT8, BSM_DTYPE_HALF};
  harness_rng r = {71};
  (void)state;
  suite_needs(BSM_STEP_NON_ZERO);
  for (int k = 0; k < 6; k++) {
    run_non_zero(&r, dtypes[k], dims_of(2, 7, 11), 40);
    run_non_zero(&r, dtypes[k], dims_of(1, 1), 100);
    run_non_zero(&r, dtypes[k], dims_of(1, 40), 0);
  }
  run_non_zero(&r, BSM_DTYPE_BOOL, dims_of(2, 33, 400), 50);
  run_non_zero(&r, BSM_DTYPE_FLOAT, dims_of(1, 8192), 100);
  run_non_zero(&r, BSM_DTYPE_INT32, dims_of(1, 150000), 3);
}

/* ---- non-maximum suppression ---- */

static float overlap_of(const float *a, const float *b) {
  const float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
  const float h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
  const float both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
  const float own = (a[2] - a[0]) * (a[3] - a[1]);
  const float other = (b[2] - b[0]) * (b[3] - b[1]);
  const float all = own + other;
  return both / (all - both);
}

static void compare_nms(harness *h, uint32_t isa, void *arg) {
  const float *x = h->inputs[0];
  const uint8_t *y = h->outputs[0];
  const int64_t n = h->tensors[h->step.outputs[0]].dims.d[0];
  (void)isa;
  (void)arg;
  for (int64_t i = 0; i < n; i++) {
    bool kept = true;
    for (int64_t k = 0; k < i && kept; k++) {
      kept = !y[k] || !((double)overlap_of(x + 4 * k, x + 4 * i) >
                        h->params.nms.threshold);
    }
    assert_int_equal(y[i], kept);
  }
}

static void run_nms(harness_rng *r, int n, int size, double threshold,
                    bool odd) {
  harness h;
  harness_init(&h, BSM_STEP_NMS);
  float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(2, n, 4), NULL);
  for (int i = 0; i < n; i++) {
    /* Quarters: overlaps are exact in any order of operations. */
    x[4 * i] = (float)rng_range(r, 0, 4 * size) / 4;
    x[4 * i + 1] = (float)rng_range(r, 0, 4 * size) / 4;
    x[4 * i + 2] = x[4 * i] + (float)rng_range(r, 1, 40) / 4;
    x[4 * i + 3] = x[4 * i + 1] + (float)rng_range(r, 1, 40) / 4;
    if (odd && i % 7 == 3) x[4 * i + rng_range(r, 0, 3)] = NAN;
    if (odd && i % 11 == 5) x[4 * i + 2] = INFINITY;
  }
  add_output(&h, BSM_DTYPE_BOOL, dims_of(1, n), NULL);
  h.params.nms.threshold = threshold;
  harness_run_all(&h, compare_nms, NULL);
  harness_free(&h);
}

static void test_nms(void **state) {
  static const int counts[] = {1, 2, 63, 64, 65, 200, 1024, 1025, 2200};
  harness_rng r = {72};
  (void)state;
  suite_needs(BSM_STEP_NMS);
  for (int k = 0; k < 9; k++) {
    run_nms(&r, counts[k], counts[k] < 100 ? 10 : 60, 0.25 + 0.25 * (k % 3),
            false);
  }
  run_nms(&r, 150, 20, 0.3, true);
  run_nms(&r, 100, 20, (double)NAN, false);
  run_nms(&r, 100, 20, 0.0, false);
}

static void compare_double_nms(harness *h, uint32_t isa, void *arg) {
  const uint8_t *y = h->outputs[0];
  (void)isa;
  (void)arg;
  assert_int_equal(y[0], 1);
  assert_int_equal(y[1], 0);
  assert_int_equal(y[2], 1);
}

/* In float the overlap of the first two would not be above the threshold. */
static void test_double_nms(void **state) {
  static const double boxes[12] = {0,         0, 3,   1, 1, 0,
                                   3 + 1e-12, 1, 2.6, 0, 6, 1};
  harness h;
  (void)state;
  suite_needs(BSM_STEP_NMS);
  harness_init(&h, BSM_STEP_NMS);
  double *x = add_input(&h, BSM_DTYPE_DOUBLE, dims_of(2, 3, 4), NULL);
  memcpy(x, boxes, sizeof(boxes));
  add_output(&h, BSM_DTYPE_BOOL, dims_of(1, 3), NULL);
  h.params.nms.threshold = 2.0 / 3.0 - 1e-12;
  harness_run_all(&h, compare_double_nms, NULL);
  harness_free(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_non_zero),
      cmocka_unit_test(test_nms),
      cmocka_unit_test(test_double_nms),
  };
  return suite_run(argc, argv, tests);
}
