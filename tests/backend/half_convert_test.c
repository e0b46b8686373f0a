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
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "backend/cpu/kernels/convert/half_convert.h"
#include "base/isa.h"

enum { COUNT = 65536 };

/* The conversions under test: each instruction set in its turn. */
static const bsm_k_convert *k;

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
  k->half_to_float(halves, COUNT, values);
  k->float_to_half(values, COUNT, back);
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
    k->float_to_half(x, 4, got);
    assert_int_equal(got[0], even);
    assert_int_equal(got[1], i);
    assert_int_equal(got[2], i + 1);
    assert_int_equal(got[3], even | 0x8000);
    for (int j = 0; j < 4; j++) {
      float rounded;
      assert_int_equal(bsm_cpu_float_to_half(x[j]), got[j]);
      k->round_to_half(&x[j], 1, &rounded);
      assert_int_equal(bits_of(rounded),
                       bits_of(bsm_cpu_half_to_float(got[j])));
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
    k->float_to_bfloat(x, 3, got);
    k->bfloat_to_float(got, 3, back);
    assert_int_equal(got[0], i);
    assert_int_equal(got[1], i & 1 ? i + 1 : i);
    assert_int_equal(got[2], i + 1);
    assert_int_equal(bits_of(back[0]), i << 16);
  }
  const float nan = float_of(0x7f800001);
  uint16_t got;
  k->float_to_bfloat(&nan, 1, &got);
  assert_int_equal(got, 0x7fc0);
}

/* Floats of all exponents, NaN and infinity among them: every instruction set
 * has the bits of plain C, in vectors and behind the last one. */
static void instruction_sets_agree(void **state) {
  enum { N = 40961 };
  static float x[N], a[N], b[N];
  static uint16_t p[N], q[N];
  const bsm_k_convert *plain = bsm_k_convert_select(0);
  (void)state;
  for (uint32_t i = 0; i < N; i++) x[i] = float_of(i * 2654435761u);
  x[0] = float_of(0x7f800001);
  x[1] = float_of(0xffc12345);
  x[2] = -INFINITY;
  k->float_to_half(x, N, p);
  plain->float_to_half(x, N, q);
  assert_memory_equal(p, q, sizeof(p));
  k->float_to_bfloat(x, N, p);
  plain->float_to_bfloat(x, N, q);
  assert_memory_equal(p, q, sizeof(p));
  k->round_to_half(x, N, a);
  plain->round_to_half(x, N, b);
  assert_memory_equal(a, b, sizeof(a));
  k->round_to_bfloat(x, N, a);
  plain->round_to_bfloat(x, N, b);
  assert_memory_equal(a, b, sizeof(a));
  for (uint32_t i = 0; i < N; i++) p[i] = (uint16_t)(65535 - i);
  k->half_to_float(p, N, a);
  plain->half_to_float(p, N, b);
  assert_memory_equal(a, b, sizeof(a));
  k->bfloat_to_float(p, N, a);
  plain->bfloat_to_float(p, N, b);
  assert_memory_equal(a, b, sizeof(a));
  for (int64_t n = 0; n < 20; n++) {
    k->float_to_half(x + 3, n, p);
    plain->float_to_half(x + 3, n, q);
    assert_memory_equal(p, q, (size_t)n * sizeof(*p));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half_is_exact),
      cmocka_unit_test(floats_round_to_the_nearest_half),
      cmocka_unit_test(bfloats_round_to_the_nearest),
      cmocka_unit_test(instruction_sets_agree),
  };
  int failed = 0;
  for (unsigned row = 0; row < BSM_K_ISA_COUNT; row++) {
    const uint32_t needs = bsm_k_isa_needs(row);
    if ((bsm_isa_detect() & needs) != needs) continue;
    k = bsm_k_convert_select(needs);
    printf("isa %x\n", (unsigned)needs);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
