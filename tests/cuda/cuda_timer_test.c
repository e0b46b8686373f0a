/* SPDX-License-Identifier: Apache-2.0 */
/* Building for a GPU that is here, with timing: what is timed, what a cache of
 * times saves, and what is left when the driver fails meanwhile. The stand-in's
 * clock ticks with each event, so that all tactics are equally fast. */
#include "cuda/cuda_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { M = 40, K = 48, N = 56 };

static standin gpu;
static float a[M * K], b[K * N], y[M * N];

static const char model[] =
    "graph(%a : Tensor, %b : Tensor):\n"
    "  %p : Tensor = aten::matmul(%a, %b)\n"
    "  %y : Tensor = aten::relu(%p)\n"
    "  return (%y)\n";

static bsm_status compile(const char *cache, bsm_engine **engine) {
  bsm_module *module = NULL;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const int sizes[2][2] = {{M, K}, {K, N}};
  for (int i = 0; i < 2; i++) {
    specs[i].dtype = BSM_DTYPE_FLOAT;
    specs[i].rank = 2;
    for (int d = 0; d < 2; d++) specs[i].min[d] = sizes[i][d];
  }
  options.target = "cuda";
  options.inputs = specs;
  options.input_count = 2;
  options.threads = 1;
  options.timing_cache = cache;
  assert_ok(
      bsm_module_load_memory(model, strlen(model), "test.ir", NULL, &module));
  bsm_status status = bsm_compile(module, &options, engine);
  bsm_module_destroy(module);
  return status;
}

static const bsm_plan_step *product_of(const bsm_engine *engine) {
  const bsm_plan *plan = engine->plan;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind == BSM_STEP_MATRIX_MULTIPLY) return &plan->steps[i];
  }
  fail_msg("there is no product");
  return NULL;
}

static void check_result(bsm_engine *engine) {
  bsm_context *context = NULL;
  const bsm_array in[2] = {{a, BSM_DTYPE_FLOAT, {2, {M, K}}},
                           {b, BSM_DTYPE_FLOAT, {2, {K, N}}}};
  bsm_array out = {y, BSM_DTYPE_FLOAT, {2, {M, N}}};
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, in, 2, &out, 1));
  bsm_context_destroy(context);
  for (int i = 0; i < M * N; i++) {
    float sum = 0; /* of small integers */
    for (int k = 0; k < K; k++) sum += a[i / N * K + k] * b[k * N + i % N];
    assert_true(y[i] == (sum < 0 ? 0 : sum));
  }
}

static uint64_t launches(void) {
  static standin_launch seen[64];
  return (uint64_t)gpu.launches(seen, 64);
}

static void times_are_kept(void **state) {
  (void)state;
  char path[] = "/tmp/bsm-times-XXXXXX";
  bsm_engine *first = NULL, *second = NULL;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  assert_ok(compile(path, &first));
  const bsm_plan_step *step = product_of(first);
  assert_true(step->trial_count > 1);
  assert_string_equal(step->trials[0].tactic, step->tactic);
  for (uint32_t i = 0; i < step->trial_count; i++) {
    assert_true(step->trials[i].nanoseconds > 0);
    assert_null(strstr(step->trials[i].tactic, "plain"));
  }
  assert_true(launches() > 0);
  check_result(first);
  const char *tactic = step->tactic; /* a static string */
  const uint32_t count = step->trial_count;
  bsm_engine_destroy(first);
  /* From the cache: nothing runs. */
  bsm_cuda_let_go(-1);
  gpu.reset(1, 13000, (size_t)1 << 30);
  assert_ok(compile(path, &second));
  assert_int_equal(launches(), 0);
  assert_int_equal(product_of(second)->trial_count, count);
  assert_string_equal(product_of(second)->tactic, tactic);
  bsm_engine_destroy(second);
  unlink(path);
}

/* Calls by which a timer is closed: what a driver does not release is left. */
#define CLOSING 40

/* Whatever the driver refuses, nothing is left, and an engine is right. */
static void drivers_fail(void **state) {
  (void)state;
  standin_report r;
  bsm_engine *engine = NULL;
  gpu.report(&r);
  const uint64_t before = r.calls;
  assert_ok(compile(NULL, &engine));
  bsm_engine_destroy(engine);
  gpu.report(&r);
  const uint64_t calls = r.calls - before;
  int failed = 0;
  assert_true(calls > 4 * CLOSING);
  for (uint64_t n = 1; n + CLOSING < calls; n += 9) {
    engine = NULL;
    gpu.fail_call(n, BSM_CU_OUT_OF_MEMORY);
    bsm_status status = compile(NULL, &engine);
    gpu.fail_call(0, 0);
    failed += status != NULL;
    bsm_status_free(status);
    if (engine && n % 3 == 0) check_result(engine);
    bsm_engine_destroy(engine);
    assert_int_equal(standin_count_left(&gpu), 0);
  }
  assert_true(failed > 0);
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(times_are_kept, nothing_is_left),
      cmocka_unit_test_teardown(drivers_fail, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  for (int i = 0; i < M * K; i++) a[i] = (float)(i * 7 % 11 - 5);
  for (int i = 0; i < K * N; i++) b[i] = (float)(i * 5 % 13 - 6);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
