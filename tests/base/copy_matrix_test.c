/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of matrices: every size of elements, with rows and columns that are
 * around those of a tile, and nothing written between the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy_matrix.h"

#define GAP 3 /* bytes behind each row */

static uint8_t byte_at(size_t i) {
  return (uint8_t)(i * 37 % 251);
}

/* `across`: the source has its columns beside each other. */
static void check(int64_t rows, int64_t columns, size_t element, bool across) {
  const size_t count = (size_t)(rows * columns), size = count * element;
  const size_t row = (size_t)columns * element + GAP;
  uint8_t *from = malloc(size + 1), *to = malloc((size_t)rows * row + 1);
  assert_non_null(from);
  assert_non_null(to);
  for (size_t i = 0; i < size; i++) from[i] = byte_at(i);
  memset(to, 0xee, (size_t)rows * row);
  const int64_t one = (int64_t)element;
  bsm_copy_matrix(to, (int64_t)row, from, across ? one : columns * one,
                  across ? rows * one : one, rows, columns, element);
  for (int64_t r = 0; r < rows; r++) {
    const uint8_t *at = to + (size_t)r * row;
    for (int64_t c = 0; c < columns; c++) {
      const int64_t i = across ? c * rows + r : r * columns + c;
      assert_memory_equal(at + (size_t)c * element, from + (size_t)i * element,
                          element);
    }
    for (size_t i = row - GAP; i < row; i++) assert_int_equal(at[i], 0xee);
  }
  free(from);
  free(to);
}

static void test_sizes(void **state) {
  (void)state;
  static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 64, 70};
  static const size_t elements[] = {1, 2, 3, 4, 8, 16};
  enum { LENGTHS = sizeof(lengths) / sizeof(*lengths) };
  for (size_t e = 0; e < sizeof(elements) / sizeof(*elements); e++) {
    for (int i = 0; i < LENGTHS * LENGTHS; i++) {
      check(lengths[i / LENGTHS], lengths[i % LENGTHS], elements[e], i & 1);
      check(lengths[i / LENGTHS], lengths[i % LENGTHS], elements[e], !(i & 1));
    }
  }
}

/* Strides that are no matrix of its own: every third of each second row. */
static void test_strides(void **state) {
  (void)state;
  int32_t from[40 * 40], to[20 * 13];
  for (int i = 0; i < 40 * 40; i++) from[i] = i;
  bsm_copy_matrix(to, 13 * sizeof(*to), from, 80 * sizeof(*from),
                  3 * sizeof(*from), 20, 13, sizeof(*to));
  for (int r = 0; r < 20; r++) {
    for (int c = 0; c < 13; c++) {
      assert_int_equal(to[r * 13 + c], r * 80 + c * 3);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_strides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
