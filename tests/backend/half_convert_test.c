/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of half and bfloat16: every half there is, and floats around all
 * of the places where rounding turns. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/kernels/convert/half_convert.h"

enum { COUNT = 65536 };

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof(u));
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof(f));
  return f;
}

/* The value that the bits of a half say, by its definition. */
static double half_value(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return exponent ? sign * ldexp(1024 + mantissa, exponent - 25)
                  : sign * ldexp(mantissa, -24);
}

static void every_half_is_exact(void **state) {
  (void)state;
  static uint16_t halves[COUNT], back[COUNT];
  static float values[COUNT];
  for (int i = 0; i < COUNT; i++) halves[i] = (uint16_t)i;
  bsm_k_half_to_float(halves, COUNT, values);
  bsm_k_float_to_half(values, COUNT, back);
  for (int i = 0; i < COUNT; i++) {
    const double want = half_value((uint16_t)i);
    if (isnan(want)) {
      assert_true(isnan(values[i]));
      assert_int_equal(back[i] & 0x7fff, 0x7e00);
      continue;
    }
    assert_true((double)values[i] >= want && (double)values[i] <= want);
    assert_int_equal(signbit(values[i]) != 0, i >> 15);
    assert_int_equal(back[i], i);
    assert_int_equal(bits_of(bsm_cpu_half_to_float((uint16_t)i)),
                     bits_of(values[i]));
  }
}

/* Between two halves: to the nearer one, at the middle to the even one. */
static void floats_round_to_the_nearest_half(void **state) {
  (void)state;
  for (int i = 0; i < 0x7c00; i++) {
    const double low = half_value((uint16_t)i);
    const double high = i == 0x7bff ? 65536 : half_value((uint16_t)(i + 1));
    const float middle = (float)((low + high) / 2);
    const float x[4] = {middle, nextafterf(middle, 0), nextafterf(middle, 1e6f),
                        -middle};
    const int even = i & 1 ? i + 1 : i;
    uint16_t got[4];
    bsm_k_float_to_half(x, 4, got);
    assert_int_equal(got[0], even);
    assert_int_equal(got[1], i);
    assert_int_equal(got[2], i + 1);
    assert_int_equal(got[3], even | 0x8000);
    for (int k = 0; k < 4; k++) {
      float rounded;
      assert_int_equal(bsm_cpu_float_to_half(x[k]), got[k]);
      bsm_k_round_to_half(&x[k], 1, &rounded);
      assert_int_equal(bits_of(rounded),
                       bits_of(bsm_cpu_half_to_float(got[k])));
    }
  }
}

static void bfloats_round_to_the_nearest(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 0x7f80; i++) {
    const float x[3] = {float_of(i << 16), float_of(i << 16 | 0x8000),
                        float_of(i << 16 | 0x8001)};
    uint16_t got[3];
    float back[3];
    bsm_k_float_to_bfloat(x, 3, got);
    bsm_k_bfloat_to_float(got, 3, back);
    assert_int_equal(got[0], i);
    assert_int_equal(got[1], i & 1 ? i + 1 : i);
    assert_int_equal(got[2], i + 1);
    assert_int_equal(bits_of(back[0]), i << 16);
  }
  const float nan = float_of(0x7f800001);
  uint16_t got;
  bsm_k_float_to_bfloat(&nan, 1, &got);
  assert_int_equal(got, 0x7fc0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half_is_exact),
      cmocka_unit_test(floats_round_to_the_nearest_half),
      cmocka_unit_test(bfloats_round_to_the_nearest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
