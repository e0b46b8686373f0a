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

#define HEADING "bessemer timing cache 3\n"

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
  bsm_plan_trial two[2] = {{"mma 64x64x32", 1200}, {"im2col", 0}};
  bsm_plan_trial one[1] = {{"im2col", INT64_MAX}};
  bsm_plan_trial other[1] = {{"gemm_1x1", 7}};
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_load(&arena, path, &cache));
  assert_null(bsm_timing_cache_get(&cache, 7));
  assert_null(bsm_timing_cache_put(&cache, 7, (bsm_timing_entry){other, 1}));
  assert_null(
      bsm_timing_cache_put(&cache, UINT64_MAX, (bsm_timing_entry){one, 1}));
  assert_null(bsm_timing_cache_put(&cache, 7, (bsm_timing_entry){two, 2}));
  assert_null(bsm_timing_cache_save(&cache, path));
  bsm_timing_cache again;
  assert_null(bsm_timing_cache_load(&arena, path, &again));
  const bsm_timing_entry *entry = bsm_timing_cache_get(&again, 7);
  assert_int_equal(entry->count, 2);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(entry->trials[i].tactic, two[i].tactic);
    assert_int_equal(entry->trials[i].nanoseconds, two[i].nanoseconds);
  }
  entry = bsm_timing_cache_get(&again, UINT64_MAX);
  assert_int_equal(entry->count, 1);
  assert_string_equal(entry->trials[0].tactic, "im2col");
  assert_int_equal(entry->trials[0].nanoseconds, INT64_MAX);
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
  assert_corrupt(HEADING "0123\tx\t1\n");
  assert_corrupt(HEADING "0123456789abcdef\n");
  assert_corrupt(HEADING "0123456789abcdef\t\n");
  assert_corrupt(HEADING "0123456789abcdef\tx\n");
  assert_corrupt(HEADING "0123456789abcdef\tx\t\n");
  assert_corrupt(HEADING "0123456789abcdeF\tx\t1\n");
  assert_corrupt(HEADING "0123456789abcdef0\tx\t1\n");
  assert_corrupt(HEADING "0123456789abcdef\tX\t1\n");
  assert_corrupt(HEADING "0123456789abcdef\t x\t1\n");
  assert_corrupt(HEADING "0123456789abcdef x 1\n");
  assert_corrupt(HEADING "0123456789abcdef\tx\t-1\n");
  assert_corrupt(HEADING "0123456789abcdef\tx\t1\ty\n");
  assert_corrupt(HEADING "0123456789abcdef\tx\t99999999999999999999\n");
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_parse(
      &arena, bsm_str_of(HEADING "0123456789abcdef\tx\t1\ty\t2"), &cache));
  assert_int_equal(cache.keys.len, 1);
}

/* More trials than a step may have are malformed. */
static void test_many_trials(void **state) {
  (void)state;
  for (int extra = 0; extra < 2; extra++) {
    bsm_timing_cache cache;
    bsm_text text;
    bsm_text_init(&text, &arena);
    bsm_text_puts(&text, HEADING "0123456789abcdef");
    for (int i = 0; i < BSM_STEP_MAX_TRIALS + extra; i++) {
      bsm_text_puts(&text, "\tx\t1");
    }
    bsm_status status =
        bsm_timing_cache_parse(&arena, (bsm_str){text.data, text.len}, &cache);
    assert_int_equal(bsm_status_code(status),
                     extra ? BSM_CORRUPT : BSM_CODE_OK);
    bsm_status_free(status);
  }
}

/* What an older version wrote is as good as nothing. */
static void test_other_version(void **state) {
  (void)state;
  bsm_timing_cache cache;
  assert_null(bsm_timing_cache_parse(
      &arena,
      bsm_str_of("bessemer timing cache 1\n0123456789abcdef indirect\n"),
      &cache));
  assert_int_equal(cache.keys.len, 0);
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
  const bsm_timing_conditions usual = {BSM_STR("cpu:avx2"), 0};
  const bsm_timing_conditions others[] = {{BSM_STR("cpu:avx2,threads=2"), 0},
                                          {BSM_STR("cpu:avx2"), 1}};
  const uint64_t key = bsm_timing_key(&plan, &step, &usual);
  assert_true(key == bsm_timing_key(&plan, &step, &usual));
  step.precision = BSM_PRECISION_TF32;
  assert_true(key != bsm_timing_key(&plan, &step, &usual));
  step.precision = BSM_PRECISION_NONE;
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    assert_true(key != bsm_timing_key(&plan, &step, &others[i]));
  }
  tensors[0].strides[0] = 8;
  assert_true(key != bsm_timing_key(&plan, &step, &usual));
  tensors[0].strides[0] = 0;
  params.softmax.axis = 0;
  assert_true(key != bsm_timing_key(&plan, &step, &usual));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_malformed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_trials, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_other_version, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
