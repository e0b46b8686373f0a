/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest, the least, the first of them and the sum of rows of integers of
 * all dtypes, of lengths around those that kernels take at once. */
#include "tests/conformance/step_harness.h"

enum { ROWS = 3 };

static const bsm_dtype dtypes[] = {BSM_DTYPE_UINT8, BSM_DTYPE_INT8,
                                   BSM_DTYPE_INT16, BSM_DTYPE_INT32,
                                   BSM_DTYPE_INT64};

static int64_t value_at(bsm_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      return ((const uint8_t *)data)[i];
    case BSM_DTYPE_INT8:
      return ((const int8_t *)data)[i];
    case BSM_DTYPE_INT16:
      return ((const int16_t *)data)[i];
    case BSM_DTYPE_INT32:
      return ((const int32_t *)data)[i];
    default:
      return ((const int64_t *)data)[i];
  }
}

/* Bits at random, and the same number twice where two are the greatest. */
static void fill_row(harness *h, harness_rng *r, bsm_dtype dtype, int64_t n) {
  const size_t size = bsm_dtype_size(dtype);
  char *x = h->inputs[0];
  for (size_t i = 0; i < (size_t)(ROWS * n) * size; i++) {
    x[i] = (char)rng_next(r);
  }
  for (int row = 0; row < ROWS; row++) {
    const int64_t from = rng_range(r, 0, (int)n - 1);
    const int64_t to = rng_range(r, 0, (int)n - 1);
    memcpy(x + (size_t)(row * n + to) * size,
           x + (size_t)(row * n + from) * size, size);
  }
}

typedef struct row_results {
  int64_t most, least, first_most, first_least, sum;
} row_results;

static row_results results_of(bsm_dtype dtype, const void *x, int64_t row,
                              int64_t n) {
  row_results t = {INT64_MIN, INT64_MAX, 0, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    const int64_t v = value_at(dtype, x, row * n + i);
    if (i == 0 || v > t.most) {
      t.most = v;
      t.first_most = i;
    }
    if (i == 0 || v < t.least) {
      t.least = v;
      t.first_least = i;
    }
    t.sum = (int64_t)((uint64_t)t.sum + (uint64_t)v);
  }
  return t;
}

typedef struct wanted {
  bsm_dtype dtype;
  int64_t n;
  int32_t operation; /* of a reduction */
  bool largest;      /* of the first of a row */
} wanted;

static void compare_reduce(harness *h, uint32_t isa, void *arg) {
  const wanted *w = arg;
  (void)isa;
  for (int64_t row = 0; row < ROWS; row++) {
    const row_results t = results_of(w->dtype, h->inputs[0], row, w->n);
    const bool sums = w->operation == BSM_REDUCE_SUM;
    const int64_t got =
        value_at(sums ? BSM_DTYPE_INT64 : w->dtype, h->outputs[0], row);
    assert_true(got == (sums                             ? t.sum
                        : w->operation == BSM_REDUCE_MAX ? t.most
                                                         : t.least));
  }
}

static void compare_first(harness *h, uint32_t isa, void *arg) {
  const wanted *w = arg;
  (void)isa;
  for (int64_t row = 0; row < ROWS; row++) {
    const row_results t = results_of(w->dtype, h->inputs[0], row, w->n);
    assert_true(value_at(w->dtype, h->outputs[0], row) ==
                (w->largest ? t.most : t.least));
    assert_true(((const int64_t *)h->outputs[1])[row] ==
                (w->largest ? t.first_most : t.first_least));
  }
}

static const int lengths[] = {1, 2, 63, 64, 127, 128, 255, 256, 257, 384, 500};

static void test_reductions(void **state) {
  static const int32_t operations[] = {BSM_REDUCE_MAX, BSM_REDUCE_MIN,
                                       BSM_REDUCE_SUM};
  harness_rng r = {41};
  (void)state;
  for (int d = 0; d < 5; d++) {
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
      for (int o = 0; o < 3; o++) {
        wanted w = {dtypes[d], lengths[l], operations[o], false};
        harness h;
        harness_init(&h, BSM_STEP_REDUCE);
        add_input(&h, w.dtype, dims_of(2, ROWS, lengths[l]), NULL);
        fill_row(&h, &r, w.dtype, w.n);
        add_output(&h, o == 2 ? BSM_DTYPE_INT64 : w.dtype, dims_of(1, ROWS),
                   NULL);
        h.params.reduce =
            (bsm_step_reduce){.operation = w.operation, .axes = 2};
        harness_run_all(&h, compare_reduce, &w);
        harness_free(&h);
      }
    }
  }
}

static void test_first_of_rows(void **state) {
  harness_rng r = {43};
  (void)state;
  for (int d = 0; d < 5; d++) {
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
      for (int o = 0; o < 2; o++) {
        wanted w = {dtypes[d], lengths[l], 0, o == 0};
        harness h;
        harness_init(&h, BSM_STEP_TOP_K);
        add_input(&h, w.dtype, dims_of(2, ROWS, lengths[l]), NULL);
        fill_row(&h, &r, w.dtype, w.n);
        add_output(&h, w.dtype, dims_of(2, ROWS, 1), NULL);
        add_output(&h, BSM_DTYPE_INT64, dims_of(2, ROWS, 1), NULL);
        h.params.top_k =
            (bsm_step_top_k){.largest = w.largest, .axis = 1, .k = 1};
        harness_run_all(&h, compare_first, &w);
        harness_free(&h);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reductions),
                                     cmocka_unit_test(test_first_of_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
