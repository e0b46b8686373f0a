/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines: which GPU is taken, and what bounds a step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/gpu_roofline.h"

static void test_targets(void **state) {
  (void)state;
  assert_int_equal(bsm_gpu_roofline_of("cuda:sm_90a,avx512")->sm, 90);
  assert_int_equal(bsm_gpu_roofline_of("cuda:sm_87")->sm, 86);
  assert_int_equal(bsm_gpu_roofline_of("cuda:sm_120")->sm, 100);
  assert_null(bsm_gpu_roofline_of("cuda:sm_61"));
  assert_null(bsm_gpu_roofline_of("cpu:avx2,threads=1"));
  assert_null(bsm_gpu_roofline_of(NULL));
}

static void test_bounds(void **state) {
  (void)state;
  const bsm_gpu_roofline r = {80, "", 200, 100, 20, 1000};
  const double flops = 20e12, bytes = 50e9; /* a second, 50 ms */
  assert_true(bsm_gpu_least_seconds(&r, BSM_PRECISION_FP32, flops, bytes) == 1);
  assert_true(bsm_gpu_least_seconds(&r, BSM_PRECISION_TF32, flops, bytes) ==
              0.2);
  assert_true(bsm_gpu_least_seconds(&r, BSM_PRECISION_BF16, flops, bytes) ==
              0.1);
  assert_true(bsm_gpu_least_seconds(&r, BSM_PRECISION_FP16, 1, bytes) == 0.05);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
