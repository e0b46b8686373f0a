/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache: round trip, malformed files, keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "builder/timing_cache.h"

static bsm_arena arena;

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

static void test_round_trip(void **state) {
  (void)state;
  char path[] = "/tmp/bsm_timing_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_load(&arena, path, &cache));
  assert_null(bsm_timing_cache_get(&cache, 7));
  assert_null(bsm_timing_cache_put(&cache, 7, "indirect"));
  assert_null(bsm_timing_cache_put(&cache, UINT64_MAX, "im2col"));
  assert_null(bsm_timing_cache_put(&cache, 7, "gemm_1x1"));
  assert_null(bsm_timing_cache_save(&cache, path));
  bsm_timing_cache again;
  assert_null(bsm_timing_cache_load(&arena, path, &again));
  assert_string_equal(bsm_timing_cache_get(&again, 7), "gemm_1x1");
  assert_string_equal(bsm_timing_cache_get(&again, UINT64_MAX), "im2col");
  assert_int_equal(again.keys.len, 2);
  unlink(path);
}

static void assert_corrupt(const char *text) {
  bsm_timing_cache cache;
  bsm_status status = bsm_timing_cache_parse(&arena, bsm_str_of(text), &cache);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  bsm_status_free(status);
}

static void test_malformed(void **state) {
  (void)state;
  assert_corrupt("something else\n");
  assert_corrupt("bessemer timing cache 1\n0123 x\n");
  assert_corrupt("bessemer timing cache 1\n0123456789abcdef\n");
  assert_corrupt("bessemer timing cache 1\n0123456789abcdef \n");
  assert_corrupt("bessemer timing cache 1\n0123456789abcdeF x\n");
  assert_corrupt("bessemer timing cache 1\n0123456789abcdef a b\n");
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_parse(
      &arena, bsm_str_of("bessemer timing cache 1\n0123456789abcdef x"),
      &cache));
  assert_int_equal(cache.keys.len, 1);
}

/* A key changes with everything that changes a timing. */
static void test_keys(void **state) {
  (void)state;
  bsm_plan_tensor tensors[2] = {
      {.name = "", .dtype = BSM_DTYPE_FLOAT, .dims = {2, {4, 4}}},
      {.name = "", .dtype = BSM_DTYPE_FLOAT, .dims = {2, {4, 4}}}};
  bsm_step_params params = {.softmax = {1, 0}};
  bsm_plan_step step = {.kind = BSM_STEP_SOFTMAX,
                        .input_count = 1,
                        .output_count = 1,
                        .inputs = (uint32_t[]){0},
                        .outputs = (uint32_t[]){1},
                        .params = &params};
  bsm_plan plan = {.tensors = tensors, .tensor_count = 2};
  const bsm_str cpu = BSM_STR("cpu");
  const uint64_t key = bsm_timing_key(&plan, &step, 1, 1, cpu);
  assert_true(key == bsm_timing_key(&plan, &step, 1, 1, cpu));
  assert_true(key != bsm_timing_key(&plan, &step, 3, 1, cpu));
  assert_true(key != bsm_timing_key(&plan, &step, 1, 2, cpu));
  assert_true(key != bsm_timing_key(&plan, &step, 1, 1, BSM_STR("other")));
  tensors[0].strides[0] = 8;
  assert_true(key != bsm_timing_key(&plan, &step, 1, 1, cpu));
  tensors[0].strides[0] = 0;
  params.softmax.axis = 0;
  assert_true(key != bsm_timing_key(&plan, &step, 1, 1, cpu));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_malformed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
