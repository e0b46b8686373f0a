/* SPDX-License-Identifier: Apache-2.0 */
/* Layout geometry. The expected strides are PyTorch's: torch.empty(...),
 * .permute(...), .view(...).stride(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/layout.h"

static bsm_dims dims_of(int32_t rank, const int64_t *d) {
  bsm_dims dims = {.rank = rank};
  for (int32_t i = 0; i < rank; i++) dims.d[i] = d[i];
  return dims;
}
#define DIMS(...)                                                        \
  dims_of((int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
          (int64_t[]){__VA_ARGS__})

static void assert_strides(const bsm_layout *layout, const int64_t *expected) {
  for (int32_t i = 0; i < layout->dims.rank; i++) {
    assert_int_equal(layout->strides[i], expected[i]);
  }
}
#define ASSERT_STRIDES(layout, ...) \
  assert_strides((layout), (int64_t[]){__VA_ARGS__})

static void test_makers(void **state) {
  (void)state;
  bsm_layout a = bsm_layout_contiguous(DIMS(2, 3, 4, 5));
  ASSERT_STRIDES(&a, 60, 20, 5, 1);
  assert_true(bsm_layout_is_contiguous(&a));
  assert_false(bsm_layout_has_channels_inner(&a));
  bsm_layout b = bsm_layout_channels_last(DIMS(2, 3, 4, 5));
  ASSERT_STRIDES(&b, 60, 1, 15, 3);
  assert_false(bsm_layout_is_contiguous(&b));
  assert_true(bsm_layout_has_channels_inner(&b));
  assert_true(bsm_layout_is_dense(&b));
  assert_false(bsm_layout_equal(&a, &b));
  bsm_layout c = bsm_layout_ordered(DIMS(2, 3, 4), (int32_t[]){1, 0, 2});
  ASSERT_STRIDES(&c, 4, 8, 1);
}

static void test_sizes_of_one_do_not_matter(void **state) {
  (void)state;
  bsm_layout a = bsm_layout_contiguous(DIMS(1, 8, 1, 1));
  bsm_layout b = bsm_layout_channels_last(DIMS(1, 8, 1, 1));
  assert_true(bsm_layout_equal(&a, &b));
  assert_true(bsm_layout_is_contiguous(&b));
  assert_true(bsm_layout_has_channels_inner(&a));
}

static void test_permute_and_dense(void **state) {
  (void)state;
  bsm_layout a = bsm_layout_contiguous(DIMS(2, 3, 4));
  bsm_layout p = bsm_layout_permute(&a, DIMS(2, 0, 1));
  assert_int_equal(p.dims.d[0], 4);
  ASSERT_STRIDES(&p, 1, 12, 4);
  assert_true(bsm_layout_is_dense(&p));
  p.dims.d[1] = 1; /* a slice of the outermost dimension has no gaps */
  assert_true(bsm_layout_is_dense(&p));
  p.dims.d[0] = 3; /* one of the innermost does */
  assert_false(bsm_layout_is_dense(&p));
  bsm_layout wide = bsm_layout_broadcast(&a, DIMS(5, 2, 3, 4));
  ASSERT_STRIDES(&wide, 0, 12, 4, 1);
  assert_false(bsm_layout_is_dense(&wide));
}

static void test_reshape_of_contiguous(void **state) {
  (void)state;
  bsm_layout out, a = bsm_layout_contiguous(DIMS(2, 3, 4));
  assert_true(bsm_layout_reshape(&a, DIMS(6, 4), &out));
  ASSERT_STRIDES(&out, 4, 1);
  assert_true(bsm_layout_reshape(&a, DIMS(2, 1, 3, 2, 2), &out));
  ASSERT_STRIDES(&out, 12, 12, 4, 2, 1);
  assert_true(bsm_layout_reshape(&a, DIMS(24), &out));
  ASSERT_STRIDES(&out, 1);
}

static void test_reshape_of_transposed(void **state) {
  (void)state;
  bsm_layout out, a = bsm_layout_contiguous(DIMS(2, 3, 4, 5));
  /* torch.empty(2,3,4,5).permute(0,2,1,3): dims 2,4,3,5 strides 60,5,20,1 */
  bsm_layout t = bsm_layout_permute(&a, DIMS(0, 2, 1, 3));
  assert_false(bsm_layout_reshape(&t, DIMS(2, 4, 15), &out));
  assert_false(bsm_layout_reshape(&t, DIMS(120), &out));
  assert_true(bsm_layout_reshape(&t, DIMS(2, 2, 2, 3, 5), &out));
  ASSERT_STRIDES(&out, 60, 10, 5, 20, 1);
  assert_true(bsm_layout_reshape(&t, DIMS(2, 4, 3, 5, 1), &out));
  ASSERT_STRIDES(&out, 60, 5, 20, 1, 1);
  /* permute(2,3,0,1) keeps (4,5) and (2,3) together: view(20, 6) works */
  bsm_layout u = bsm_layout_permute(&a, DIMS(2, 3, 0, 1));
  assert_true(bsm_layout_reshape(&u, DIMS(20, 6), &out));
  ASSERT_STRIDES(&out, 1, 20);
}

static void test_reshape_edges(void **state) {
  (void)state;
  bsm_layout out, scalar = bsm_layout_contiguous(DIMS(1));
  assert_true(bsm_layout_reshape(&scalar, (bsm_dims){0}, &out));
  assert_int_equal(out.dims.rank, 0);
  bsm_layout zero_rank = bsm_layout_contiguous((bsm_dims){0});
  assert_true(bsm_layout_reshape(&zero_rank, DIMS(1, 1), &out));
  assert_int_equal(out.dims.rank, 2);
  bsm_layout empty = bsm_layout_contiguous(DIMS(0, 3));
  assert_true(bsm_layout_reshape(&empty, DIMS(3, 0), &out));
  /* a broadcast dimension cannot be merged with its neighbour ... */
  bsm_layout row = bsm_layout_contiguous(DIMS(1, 4));
  bsm_layout wide = bsm_layout_broadcast(&row, DIMS(3, 4));
  assert_false(bsm_layout_reshape(&wide, DIMS(12), &out));
  /* ... but can be split */
  bsm_layout six = bsm_layout_broadcast(&row, DIMS(6, 4));
  assert_true(bsm_layout_reshape(&six, DIMS(2, 3, 4), &out));
  ASSERT_STRIDES(&out, 0, 0, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_makers),
      cmocka_unit_test(test_sizes_of_one_do_not_matter),
      cmocka_unit_test(test_permute_and_dense),
      cmocka_unit_test(test_reshape_of_contiguous),
      cmocka_unit_test(test_reshape_of_transposed),
      cmocka_unit_test(test_reshape_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
