/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the driver, and what its errors become. */
#include "cuda/cuda_kit.h"

static void opens_the_stand_in(void **state) {
  (void)state;
  standin s = standin_open(1);
  bsm_cuda_driver d;
  assert_ok(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &d));
  assert_int_equal(d.version, 13000);
  int count = 0;
  assert_int_equal(d.device_get_count(&count), BSM_CU_SUCCESS);
  assert_int_equal(count, 1);
  bsm_cuda_driver_close(&d);
  assert_null(d.library);
  bsm_cuda_driver_close(&d);
  dlclose(s.library);
}

static void says_what_is_missing(void **state) {
  (void)state;
  bsm_cuda_driver d;
  assert_fails_with(bsm_cuda_driver_open("libnot_there.so.1", &d),
                    BSM_NOT_FOUND, "no NVIDIA driver: libnot_there.so.1");
  bsm_cuda_driver_close(&d);
  /* A library, but no driver. */
  assert_fails_with(bsm_cuda_driver_open("libm.so.6", &d), BSM_VERSION,
                    "lacks cuInit");
  bsm_cuda_driver_close(&d);
}

static void refuses_old_drivers_and_empty_machines(void **state) {
  (void)state;
  standin s = standin_open(1);
  bsm_cuda_driver d;
  s.reset(1, 11040, 1 << 20);
  assert_fails_with(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &d), BSM_VERSION,
                    "supports CUDA 11.4; engines for cuda need 12.0");
  bsm_cuda_driver_close(&d);
  s.reset(0, 13000, 1 << 20);
  assert_fails_with(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &d), BSM_NOT_FOUND,
                    "the driver sees no GPU");
  bsm_cuda_driver_close(&d);
  dlclose(s.library);
}

static void names_the_call_and_the_error(void **state) {
  (void)state;
  standin s = standin_open(1);
  bsm_cuda_driver d;
  assert_ok(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &d));
  assert_null(bsm_cuda_status(&d, BSM_CU_SUCCESS, "memory_allocate"));
  assert_fails_with(
      bsm_cuda_status(&d, BSM_CU_OUT_OF_MEMORY, "memory_allocate"),
      BSM_OUT_OF_MEMORY,
      "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2, the stand-in was "
      "told to fail): the device's memory is full");
  assert_fails_with(bsm_cuda_status(&d, 999, "launch"), BSM_DEVICE,
                    "cuLaunchKernelEx failed: CUDA_ERROR_STANDIN (999");
  assert_true(bsm_cuda_is_sticky(BSM_CU_ILLEGAL_ADDRESS));
  assert_false(bsm_cuda_is_sticky(BSM_CU_OUT_OF_MEMORY));
  s.fail_call(1, BSM_CU_SYSTEM_DRIVER_MISMATCH);
  bsm_cuda_driver again;
  assert_fails_with(bsm_cuda_driver_open(BSM_STANDIN_CUDA, &again), BSM_VERSION,
                    "restart the machine");
  bsm_cuda_driver_close(&again);
  bsm_cuda_driver_close(&d);
  dlclose(s.library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_the_stand_in),
      cmocka_unit_test(says_what_is_missing),
      cmocka_unit_test(refuses_old_drivers_and_empty_machines),
      cmocka_unit_test(names_the_call_and_the_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
