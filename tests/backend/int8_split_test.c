/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of int8 that are made smaller: all sums of 16 bits are safe, and
 * what was there is there, at its place. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "backend/cpu/cpu_int8_relief.h"

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

/* ---- sums of several groups ---- */

static int sum_of_sign(const int8_t *pair, int sign) {
  int sum = 0;
  for (int i = 0; i < 2; i++) sum += sign * pair[i] > 0 ? sign * pair[i] : 0;
  return sum;
}

/* Sums of `level` groups that are `step` bytes apart, in each of 4 bytes. */
static void assert_sums_safe(const int8_t *b, int level, int step) {
  for (int half = 0; half < 4; half += 2) {
    int more = 0, less = 0;
    for (int g = 0; g < level; g++) {
      more += sum_of_sign(b + g * step + half, 1);
      less += sum_of_sign(b + g * step + half, -1);
    }
    assert_in_range(more, 0, 128);
    assert_in_range(less, 0, 128);
  }
}

/* Columns of a matrix in the order of kernels: what is left of a tap behind the
 * last whole level is summed by itself. */
static void assert_columns_safe(const int8_t *b, int taps, int groups,
                                int level) {
  for (int i = 0; i < PANELS * taps; i++) {
    for (int g = 0, n; g < groups; g += n) {
      n = groups - g >= level ? level : 1;
      for (int c = 0; c < 16; c++) {
        assert_sums_safe(b + (i * groups + g) * 64 + c * 4, n, 64);
      }
    }
  }
}

/* Adds the rest to `whole`. */
static void join_rest(const bsm_k_int8_rest *rest, int taps, int groups) {
  for (int c = 0; c < PANELS * 16; c++) {
    int8_t *to = whole + c / 16 * taps * groups * 64 + c % 16 * 4;
    for (int32_t e = rest->first[c]; e < rest->first[c + 1]; e++) {
      const bsm_k_int8_piece *p = &rest->pieces[e];
      assert_in_range(p->pair, 0, taps * groups * 2 - 1);
      for (int i = 0; i < 2; i++) {
        int8_t *w = to + p->pair / 2 * 64 + p->pair % 2 * 2 + i;
        *w = (int8_t)(*w + p->w[i]);
      }
    }
  }
}

static void check_relief(int taps, int groups, int level, bool changes) {
  const int bytes = PANELS * taps * groups * 64;
  bsm_arena arena;
  bsm_cpu_int8_split split;
  bsm_arena_init(&arena, NULL);
  assert_true(bytes <= (int)sizeof(matrix));
  const bsm_cpu_int8_matrix m = {matrix, PANELS, taps, groups};
  assert_null(bsm_cpu_relieve_int8(&m, level, &arena, &split));
  assert_int_equal(split.b != matrix, changes);
  assert_columns_safe(split.b, taps, groups, level);
  memcpy(whole, split.b, (size_t)bytes);
  assert_int_equal(split.rest.pieces != NULL, changes);
  if (changes) join_rest(&split.rest, taps, groups);
  assert_memory_equal(whole, matrix, (size_t)bytes);
  bsm_arena_destroy(&arena);
}

static void test_relief(void **state) {
  (void)state;
  const int taps[] = {1, 2, 5, 1, 3}, groups[] = {10, 5, 2, 4, 3};
  for (int i = 0; i < 5; i++) {
    for (int level = 1; level <= 4; level *= 2) {
      fill(1, -128, 127);
      check_relief(taps[i], groups[i], level, true);
      fill(2, 127, 127);
      check_relief(taps[i], groups[i], level, true);
      fill(3, -128, -128);
      check_relief(taps[i], groups[i], level, true);
      fill(4, -16, 16);
      check_relief(taps[i], groups[i], level, false);
    }
  }
}

static void check_level(uint32_t seed, int least, int most, int rows,
                        int level) {
  const bsm_cpu_int8_matrix m = {matrix, PANELS, 1, 10};
  fill(seed, least, most);
  assert_int_equal(bsm_cpu_int8_best_level(&m, rows, PANELS * 16).level, level);
}

/* Bytes are masked for great weights; sums of small weights are summed
 * together; a matrix without columns has a level, too. */
static void test_levels(void **state) {
  (void)state;
  const bsm_cpu_int8_matrix none = {matrix, 0, 1, 8};
  check_level(5, -127, 127, 12, BSM_K_INT8_MASKED);
  check_level(5, -127, 127, 1, BSM_K_INT8_MASKED);
  check_level(5, -128, 127, 12, BSM_K_INT8_MASKED);
  check_level(6, -30, 30, 12, 2);
  check_level(6, -16, 16, 12, 4);
  check_level(6, -16, 16, 1, 4);
  assert_int_equal(bsm_cpu_int8_best_level(&none, 12, 16).level, 1);
}

/* Bytes with masks multiply the sizes of weights: what sums lack is a matter of
 * the weights alone, and no pair exceeds 16 bits. */
static void test_masks(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_cpu_int8_split split;
  const bsm_cpu_int8_matrix m = {matrix, PANELS, TAPS, GROUPS};
  bsm_arena_init(&arena, NULL);
  fill(7, -128, 127);
  assert_null(bsm_cpu_relieve_int8(&m, BSM_K_INT8_MASKED, &arena, &split));
  assert_null(split.rest.pieces);
  for (size_t i = 0; i < sizeof(matrix); i++) {
    const int8_t *at = split.b + i / 64 * 128 + i % 64;
    const int size = (uint8_t)at[0], w = matrix[i];
    assert_in_range(size, 0, 128);
    for (int x = 0; x < 256; x++) {
      const int masked = (int8_t)(x ^ at[64]);
      assert_int_equal(size * masked + BSM_K_INT8_LACK(w), w * x);
    }
  }
  bsm_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_splits), cmocka_unit_test(test_relief),
      cmocka_unit_test(test_masks), cmocka_unit_test(test_levels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
