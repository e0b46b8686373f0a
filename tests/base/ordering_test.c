/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting with positions: every length up to some hundred, and those at which
 * the ways of sorting change, against the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/ordering.h"

static int compare_keys(const void *a, const void *b) {
  const bsm_ordered *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 24;
}

/* What orders of keys look like. */
enum { ANY, EQUAL, UP, DOWN, FEW_VALUES, ONE_FAR, PATTERNS };

static uint64_t key_of(int pattern, size_t i, size_t n, uint64_t mask,
                       uint64_t *random) {
  switch (pattern) {
    case EQUAL:
      return mask;
    case UP:
      return i & mask;
    case DOWN:
      return (n - i) & mask;
    case FEW_VALUES:
      return next_random(random) % 3 & mask;
    case ONE_FAR:
      return i == n / 2 ? mask : 0;
    default:
      return next_random(random) * next_random(random) & mask;
  }
}

/* Keys of `bits` bits; `base` is added to all. */
static void check(size_t n, int bits, int pattern, uint64_t base) {
  const uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  bsm_ordered *items = malloc((2 * n + 1) * sizeof(*items));
  bsm_ordered *want = malloc((n + 1) * sizeof(*want));
  uint64_t *packed = malloc((2 * n + 1) * sizeof(*packed));
  uint64_t random = n * 31 + (uint64_t)bits;
  assert_true(items && want && packed);
  for (size_t i = 0; i < n; i++) {
    const uint64_t key = key_of(pattern, i, n, mask, &random);
    want[i] = items[i] = (bsm_ordered){base + key, (int64_t)i};
    packed[i] = bsm_order_pack((uint32_t)key, i);
  }
  qsort(want, n, sizeof(*want), compare_keys);
  if (bits <= 32) {
    const uint64_t *got = bsm_order_packed(packed, n, bits);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(base + (got[i] >> 32), want[i].key);
      assert_int_equal(got[i] & UINT32_MAX, want[i].position);
    }
  }
  const size_t k = n > 100 && n % 2 ? n / 10 : n;
  const bsm_ordered *first = bsm_order_first(items, n, k);
  for (size_t i = 0; i < k; i++) {
    assert_int_equal(first[i].key, want[i].key);
    assert_int_equal(first[i].position, want[i].position);
  }
  free(items);
  free(want);
  free(packed);
}

static void test_all_lengths(void **state) {
  static const int bits[] = {1, 8, 13, 16, 24, 31, 32, 40, 64};
  (void)state;
  for (size_t n = 0; n < 140; n++) {
    for (int b = 0; b < 9; b++) {
      for (int p = 0; p < PATTERNS; p++) {
        check(n, bits[b], p, bits[b] < 40 ? n << 40 : 0);
      }
    }
  }
}

static void test_long_ones(void **state) {
  static const size_t lengths[] = {255, 256, 257, 383,  384,  385,
                                   500, 511, 512, 1000, 4099, 70000};
  (void)state;
  for (int i = 0; i < 12; i++) {
    for (int p = 0; p < PATTERNS; p++) {
      check(lengths[i], 7, p, 0);
      check(lengths[i], 20, p, UINT64_MAX - ((uint64_t)1 << 20) + 1);
      check(lengths[i], 32, p, 3);
      check(lengths[i], 64, p, 0);
    }
  }
}

/* Doubles and floats order alike: -0 is 0, and NaN is the greatest. */
static void test_keys(void **state) {
  static const float in_order[] = {-INFINITY, -3.0f, -0x1p-149f, 0.0f,
                                   0x1p-149f, 2.0f,  INFINITY,   NAN};
  (void)state;
  for (int i = 0; i < 8; i++) {
    for (int j = 0; j < 8; j++) {
      const float a = in_order[i], b = in_order[j];
      assert_true((bsm_order_of_float(a) < bsm_order_of_float(b)) == (i < j));
      assert_true((bsm_order_of_double((double)a) <
                   bsm_order_of_double((double)b)) == (i < j));
    }
  }
  assert_int_equal(bsm_order_of_float(-0.0f), bsm_order_of_float(0.0f));
  assert_int_equal(bsm_order_of_float(-NAN), UINT32_MAX);
  assert_int_equal(bsm_order_of_double(-0.0), bsm_order_of_double(0.0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_lengths),
      cmocka_unit_test(test_long_ones),
      cmocka_unit_test(test_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
