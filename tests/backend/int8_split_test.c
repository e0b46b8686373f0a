/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of int8 whose pairs are halved: all pairs are safe, and what was
 * there is there, at its place. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "backend/cpu/cpu_int8_split.h"

enum { PANELS = 3, TAPS = 2, GROUPS = 5, PANEL_BYTES = TAPS * GROUPS * 64 };

static int8_t matrix[PANELS * PANEL_BYTES], whole[PANELS * PANEL_BYTES];

static void assert_safe(const int8_t *b, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 2) {
    for (int a = 0; a < 4; a++) {
      const int sum = (a & 1 ? 255 : 0) * b[i] + (a & 2 ? 255 : 0) * b[i + 1];
      assert_true(sum >= INT16_MIN && sum <= INT16_MAX);
    }
  }
}

/* Adds what is apart to `whole`. */
static void join(const bsm_k_int8_rest *rest, int columns) {
  const int unit = columns * 4;
  for (int u = 0; u < PANELS * 16 / columns; u++) {
    for (int32_t e = rest->first[u]; e < rest->first[u + 1]; e++) {
      const bsm_k_int8_place *p = &rest->places[e];
      assert_in_range(p->tap, 0, TAPS - 1);
      assert_in_range(p->offset, 0, GROUPS * 4 - 4);
      const int k = p->tap * GROUPS + p->offset / 4;
      int8_t *to = whole + u * columns / 16 * PANEL_BYTES + k * 64 +
                   u * columns % 16 * 4;
      for (int i = 0; i < unit; i++) to[i] += rest->b[e * unit + i];
    }
  }
}

static void check_split(int columns, bool changes) {
  bsm_arena arena;
  bsm_cpu_int8_split split;
  bsm_arena_init(&arena, NULL);
  const bsm_cpu_int8_matrix m = {matrix, PANELS, TAPS, GROUPS};
  assert_null(bsm_cpu_split_int8(&m, columns, &arena, &split));
  const int32_t count = split.rest.first[PANELS * 16 / columns];
  assert_int_equal(split.b != matrix, changes);
  assert_int_equal(count > 0, changes);
  assert_safe(split.b, sizeof(matrix));
  if (count) assert_safe(split.rest.b, (int64_t)count * columns * 4);
  memcpy(whole, split.b, sizeof(whole));
  join(&split.rest, columns);
  assert_memory_equal(whole, matrix, sizeof(matrix));
  bsm_arena_destroy(&arena);
}

static void fill(uint32_t seed, int least, int most) {
  for (size_t i = 0; i < sizeof(matrix); i++) {
    seed = seed * 1664525u + 1013904223u;
    matrix[i] = (int8_t)(least + (int)(seed >> 8) % (most - least + 1));
  }
}

static void test_splits(void **state) {
  (void)state;
  for (int columns = 8; columns <= 16; columns += 8) {
    fill(1, -128, 127);
    check_split(columns, true);
    fill(2, 127, 127);
    check_split(columns, true);
    fill(3, -128, -128);
    check_split(columns, true);
    fill(4, -64, 64);
    check_split(columns, false);
    matrix[sizeof(matrix) - 2] = 127; /* one pair, the last */
    matrix[sizeof(matrix) - 1] = 2;
    check_split(columns, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
