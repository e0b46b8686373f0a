/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: 16-bit floats, promotion, geometry, bounds, copies, iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "aten/element.h"
#include "aten/tensor.h"

static void ok(bsm_status st) {
  assert_null(st);
}

static int set_up(void **state) {
  static bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  *state = &arena;
  return 0;
}

static int tear_down(void **state) {
  bsm_arena_destroy(*state);
  return 0;
}

/* Every half survives float and back; between two halves the nearer wins, and
 * of two equally near the even one. */
static void test_half(void **state) {
  (void)state;
  for (uint32_t h = 0; h <= 0xffff; h++) {
    const float v = bsm_half_to_float((uint16_t)h);
    if (isnan(v)) {
      assert_true((h & 0x7c00) == 0x7c00 && (h & 0x3ff));
      assert_true(isnan(bsm_half_to_float(bsm_float_to_half(v))));
      continue;
    }
    assert_int_equal(bsm_float_to_half(v), h);
  }
  for (uint16_t h = 0; h < 0x7bff; h++) {
    const float low = bsm_half_to_float(h);
    const float high = bsm_half_to_float((uint16_t)(h + 1));
    const float middle = (low + high) / 2; /* exact */
    const uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;
    assert_int_equal(bsm_float_to_half(middle), even);
    assert_int_equal(bsm_float_to_half(nextafterf(middle, low)), h);
    assert_int_equal(bsm_float_to_half(nextafterf(middle, high)), h + 1);
  }
  assert_int_equal(bsm_float_to_half(65519.0f), 0x7bff);
  assert_int_equal(bsm_float_to_half(65520.0f), 0x7c00);
  assert_int_equal(bsm_float_to_half(-1e30f), 0xfc00);
}

/* Arrays, of which some are shorter than a vector, give what single numbers
 * give: all exponents, both signs, what lies between two halves and beside. */
static void test_arrays_of_halves(void **state) {
  (void)state;
  enum { COUNT = 1 << 14 };
  float *values = test_malloc(COUNT * sizeof(*values));
  uint16_t *halves = test_malloc((COUNT + 1) * sizeof(*halves));
  assert_non_null(values);
  assert_non_null(halves);
  for (uint32_t i = 0; i < COUNT; i++) {
    const uint32_t tail = (uint32_t[]){0, 1, 0xfff, 0x1000}[i & 3];
    const uint32_t bits = i >> 2 << 20 | (i & 4 ? 0x2000u : 0) | tail;
    memcpy(&values[i], &bits, sizeof(bits));
  }
  for (size_t n = COUNT; n; n = n > 200 ? n / 3 : n - 1) {
    halves[n] = 0x1234;
    bsm_floats_to_half(values, n, halves);
    assert_int_equal(halves[n], 0x1234);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(halves[i], bsm_float_to_half(values[i]));
    }
  }
  test_free(values);
  test_free(halves);
}

static void test_bfloat16(void **state) {
  (void)state;
  for (uint32_t h = 0; h <= 0xffff; h++) {
    const float v = bsm_bfloat16_to_float((uint16_t)h);
    if (isnan(v)) continue;
    assert_int_equal(bsm_float_to_bfloat16(v), h);
  }
  assert_int_equal(bsm_float_to_bfloat16(1.00390625f), 0x3f80); /* tie */
  assert_int_equal(bsm_float_to_bfloat16(1.01171875f), 0x3f82); /* tie */
  assert_true(isnan(bsm_bfloat16_to_float(bsm_float_to_bfloat16(NAN))));
}

static void test_promotion(void **state) {
  (void)state;
  assert_int_equal(bsm_promote_types(BSM_DTYPE_UINT8, BSM_DTYPE_INT8),
                   BSM_DTYPE_INT16);
  assert_int_equal(bsm_promote_types(BSM_DTYPE_INT64, BSM_DTYPE_HALF),
                   BSM_DTYPE_HALF);
  assert_int_equal(bsm_promote_types(BSM_DTYPE_HALF, BSM_DTYPE_BFLOAT16),
                   BSM_DTYPE_FLOAT);
  assert_int_equal(bsm_promote_types(BSM_DTYPE_BOOL, BSM_DTYPE_UINT8),
                   BSM_DTYPE_UINT8);
  assert_int_equal(bsm_promote_types(BSM_DTYPE_QINT8, BSM_DTYPE_FLOAT),
                   BSM_DTYPE_UNDEFINED);
}

static void test_creation_limits(void **state) {
  bsm_tensor *t;
  bsm_status st =
      bsm_tensor_new(*state, BSM_DTYPE_FLOAT, (bsm_dims){1, {-1}}, false, &t);
  assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
  bsm_status_free(st);
  const int64_t big = (int64_t)1 << 40;
  st = bsm_tensor_new(*state, BSM_DTYPE_FLOAT, (bsm_dims){2, {big, big}}, true,
                      &t);
  assert_int_equal(bsm_status_code(st), BSM_LIMIT);
  bsm_status_free(st);
  /* Also when there is nothing in it. */
  st = bsm_tensor_new(*state, BSM_DTYPE_FLOAT, (bsm_dims){3, {big, big, 0}},
                      false, &t);
  assert_int_equal(bsm_status_code(st), BSM_LIMIT);
  bsm_status_free(st);
  ok(bsm_tensor_new(*state, BSM_DTYPE_FLOAT, (bsm_dims){1, {big}}, true, &t));
  assert_null(bsm_tensor_data(t));
}

static void test_storage_bounds(void **state) {
  float data[6];
  bsm_storage storage = {data, sizeof(data), false, false};
  bsm_tensor *t;
  const int64_t strides[] = {1, 2};
  ok(bsm_tensor_from_storage(*state, &storage, BSM_DTYPE_FLOAT,
                             (bsm_dims){2, {2, 3}}, strides, 0, &t));
  bsm_status st = bsm_tensor_from_storage(
      *state, &storage, BSM_DTYPE_FLOAT, (bsm_dims){2, {2, 3}}, strides, 1, &t);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
  const int64_t huge[] = {INT64_MAX, INT64_MAX};
  st = bsm_tensor_from_storage(*state, &storage, BSM_DTYPE_FLOAT,
                               (bsm_dims){2, {2, 3}}, huge, 0, &t);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
  const int64_t negative[] = {-1, 1};
  st = bsm_tensor_from_storage(*state, &storage, BSM_DTYPE_FLOAT,
                               (bsm_dims){2, {2, 3}}, negative, 0, &t);
  assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
  bsm_status_free(st);
  st = bsm_tensor_from_storage(*state, &storage, BSM_DTYPE_FLOAT,
                               (bsm_dims){1, {1}}, NULL, -1, &t);
  assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
  bsm_status_free(st);
  /* Nothing is reachable in an empty tensor, wherever it claims to be. */
  ok(bsm_tensor_from_storage(*state, &storage, BSM_DTYPE_FLOAT,
                             (bsm_dims){1, {0}}, NULL, 1000, &t));
}

static void test_copy_converts_and_broadcasts(void **state) {
  bsm_tensor *from, *to;
  ok(bsm_tensor_new(*state, BSM_DTYPE_DOUBLE, (bsm_dims){1, {3}}, false,
                    &from));
  const double v[] = {1.75, -2.25, 300.0};
  memcpy(bsm_tensor_data(from), v, sizeof(v));
  ok(bsm_tensor_new(*state, BSM_DTYPE_UINT8, (bsm_dims){2, {2, 3}}, false,
                    &to));
  ok(bsm_tensor_copy(to, from));
  const int64_t want[] = {1, 254, 44, 1, 254, 44};
  for (int64_t i = 0; i < 6; i++) {
    assert_int_equal(bsm_tensor_get_int(to, i), want[i]);
  }
  bsm_status st = bsm_tensor_copy(from, to);
  assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
  bsm_status_free(st);
}

static void test_contiguity(void **state) {
  bsm_tensor *t;
  ok(bsm_tensor_new(*state, BSM_DTYPE_FLOAT, (bsm_dims){4, {2, 3, 4, 5}}, true,
                    &t));
  assert_true(bsm_tensor_is_contiguous(t));
  assert_false(bsm_tensor_is_channels_last(t));
  const int64_t nhwc[] = {60, 1, 15, 3};
  bsm_tensor *view;
  ok(bsm_tensor_view(*state, t, t->sizes, nhwc, 0, &view));
  assert_true(bsm_tensor_is_channels_last(view));
  assert_false(bsm_tensor_is_contiguous(view));
  bsm_tensor *copy;
  ok(bsm_tensor_contiguous(*state, view, &copy));
  assert_true(bsm_tensor_is_meta(copy) && bsm_tensor_is_contiguous(copy));
  ok(bsm_tensor_contiguous(*state, t, &copy));
  assert_ptr_equal(copy, t);
}

/* The iterator visits elements in row-major order whatever it merges. */
static void test_iterator_order(void **state) {
  bsm_tensor *t, *view;
  ok(bsm_tensor_new(*state, BSM_DTYPE_INT64, (bsm_dims){3, {4, 3, 2}}, false,
                    &t));
  int64_t *data = bsm_tensor_data(t);
  for (int64_t i = 0; i < 24; i++) data[i] = i;
  const int64_t swapped[] = {1, 6, 2};
  ok(bsm_tensor_view(*state, t, (bsm_dims){3, {2, 4, 3}}, swapped, 0, &view));
  const bsm_tensor *both[] = {view, view};
  bsm_iter it;
  int64_t seen = 0;
  bsm_iter_init(&it, view->sizes, both, 2);
  while (bsm_iter_next(&it)) {
    for (int64_t i = 0; i < it.count; i++, seen++) {
      const int64_t want = seen / 12 + seen % 12 * 2;
      assert_int_equal(
          bsm_load1_i64(BSM_DTYPE_INT64, it.ptr[1] + i * it.step[1]), want);
    }
  }
  assert_int_equal(seen, 24);
  view->sizes.d[1] = 0;
  bsm_iter_init(&it, view->sizes, both, 1);
  assert_false(bsm_iter_next(&it));
}

static void test_double_to_int(void **state) {
  (void)state;
  assert_int_equal(bsm_double_to_i64(-1.9), -1);
  assert_true(bsm_double_to_i64(1e300) == INT64_MIN);
  assert_true(bsm_double_to_i64(NAN) == INT64_MIN);
  assert_true(bsm_double_to_i64(-9223372036854775808.0) == INT64_MIN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_half),
      cmocka_unit_test(test_arrays_of_halves),
      cmocka_unit_test(test_bfloat16),
      cmocka_unit_test(test_promotion),
      cmocka_unit_test_setup_teardown(test_creation_limits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_storage_bounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_copy_converts_and_broadcasts, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_contiguity, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_iterator_order, set_up, tear_down),
      cmocka_unit_test(test_double_to_int),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
