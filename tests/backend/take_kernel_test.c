/* SPDX-License-Identifier: Apache-2.0 */
/* Elements from places that others name: every length up to some vectors, and
 * indices at and beyond all bounds. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "backend/cpu/kernels/lanes/take.h"

enum { MOST = 70, GUARD = 0x5a };

static const int64_t elements[] = {1, 2, 4, 8};

/* Bytes that differ from element to element. */
static void fill(uint8_t *x, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) x[i] = (uint8_t)(i * 37 + i / 7);
}

static void assert_same(const uint8_t *got, const uint8_t *want, size_t bytes) {
  assert_memory_equal(got, want, bytes);
  for (size_t i = bytes; i < bytes + 8; i++) assert_int_equal(got[i], GUARD);
}

static void reversed(void **state) {
  (void)state;
  uint64_t x[MOST], y[MOST + 1], want[MOST];
  fill((uint8_t *)x, sizeof(x));
  for (int e = 0; e < 4; e++) {
    const size_t size = (size_t)elements[e];
    for (size_t n = 0; n <= MOST; n++) {
      memset(y, GUARD, sizeof(y));
      for (size_t i = 0; i < n; i++) {
        memcpy((char *)want + i * size, (char *)x + (n - 1 - i) * size, size);
      }
      const char *last = (const char *)x + (n ? n - 1 : 0) * size;
      bsm_k_reverse(elements[e], last, (int64_t)n, y);
      assert_same((uint8_t *)y, (uint8_t *)want, n * size);
    }
  }
}

static void doubled(void **state) {
  (void)state;
  float x[MOST], y[2 * MOST + 2];
  fill((uint8_t *)x, sizeof(x));
  for (int n = 0; n <= MOST; n++) {
    memset(y, GUARD, sizeof(y));
    bsm_k_double(x, n, y);
    for (int i = 0; i < 2 * n; i++) {
      assert_memory_equal(&y[i], &x[i / 2], sizeof(float));
    }
    assert_int_equal(((uint8_t *)(y + 2 * n))[0], GUARD);
  }
}

static void directions(void **state) {
  (void)state;
  int64_t p[MOST] = {0};
  assert_int_equal(bsm_k_direction(p, 0), 0);
  for (int i = 0; i < MOST; i++) p[i] = 5 + i;
  assert_int_equal(bsm_k_direction(p, 1), 0);
  assert_int_equal(bsm_k_direction(p, 2), 1);
  assert_int_equal(bsm_k_direction(p, MOST), 1);
  p[MOST - 1]--;
  assert_int_equal(bsm_k_direction(p, MOST), 0);
  for (int i = 0; i < MOST; i++) p[i] = 100 - i;
  assert_int_equal(bsm_k_direction(p, MOST), -1);
  p[1]++;
  assert_int_equal(bsm_k_direction(p, MOST), 0);
  for (int i = 0; i < MOST; i++) p[i] = 2 * i;
  assert_int_equal(bsm_k_direction(p, MOST), 0);
  for (int i = 0; i < MOST; i++) p[i] = 0;
  assert_int_equal(bsm_k_direction(p, MOST), 0);
}

static void bounds(void **state) {
  (void)state;
  static const int64_t bad[] = {5,
                                6,
                                -1,
                                -5,
                                -6,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MIN + 5,
                                INT64_MAX - 5,
                                INT64_MIN + 4};
  int64_t k[MOST];
  for (int i = 0; i < MOST; i++) k[i] = i % 5;
  for (int n = 0; n <= MOST; n++) assert_true(bsm_k_are_inside(k, n, 5));
  for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
    for (int at = 0; at < MOST; at++) {
      const int64_t good = k[at];
      k[at] = bad[b];
      assert_false(bsm_k_are_inside(k, MOST, 5));
      assert_true(bsm_k_are_inside(k, at, 5));
      k[at] = good;
    }
  }
}

/* What is outside is the first element. */
static void taken(void **state) {
  (void)state;
  static const int64_t far[] = {5, -6, INT64_MAX, INT64_MIN};
  uint64_t x[5], y[MOST + 1], want[MOST];
  int64_t index[MOST];
  fill((uint8_t *)x, sizeof(x));
  for (int i = 0; i < MOST; i++) {
    index[i] = i % 17 == 16 ? far[i / 17 % 4] : i * 3 % 10 - 1;
  }
  for (int e = 0; e < 4; e++) {
    const size_t size = (size_t)elements[e];
    for (size_t n = 0; n <= MOST; n++) {
      memset(y, GUARD, sizeof(y));
      for (size_t i = 0; i < n; i++) {
        const int64_t k = index[i] < 0 || index[i] >= 5 ? 0 : index[i];
        memcpy((char *)want + i * size, (char *)x + (size_t)k * size, size);
      }
      bsm_k_take_at(elements[e], x, index, (int64_t)n, 5, y);
      assert_same((uint8_t *)y, (uint8_t *)want, n * size);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reversed), cmocka_unit_test(doubled),
      cmocka_unit_test(directions), cmocka_unit_test(bounds),
      cmocka_unit_test(taken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
