/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the public headers with NULL: for all pointers, and for
 * each one of them beside good ones. A status, or what the header says, but no
 * crash. The calls are made from the headers (make_null_calls.awk), so that no
 * function is forgotten. Each runs in a process of its own. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bessemer/bessemer.h"

typedef struct null_call {
  const char *name;
  void (*call)(void);
} null_call;

static struct {
  bsm_module *module;
  bsm_engine *engine;
  bsm_context *context;
  bsm_operator_list *operators;
  bsm_plugin_registry *plugins;
  bsm_thread_pool *pool;
  bsm_calibration *calibration;
  const bsm_structure *structure;
  _Alignas(64) char room[1 << 16]; /* zeros, for whatever is asked for */
} f;

#include "null_calls.inl"

static const char text[] =
    "graph(%x : Float(2, 3)):\n"
    "  %y : Tensor = aten::relu(%x)\n"
    "  return (%y)\n";

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static int set_up(void **state) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  (void)state;
  options.no_timing = true;
  running.threads = 1;
  check(bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &f.module));
  check(bsm_compile(f.module, &options, &f.engine));
  check(bsm_context_create(f.engine, &running, &f.context));
  check(bsm_operators(&f.operators));
  check(bsm_plugin_registry_create(NULL, &f.plugins));
  check(bsm_thread_pool_create(1, NULL, &f.pool));
  check(bsm_calibration_create(&f.calibration));
  f.structure = bsm_engine_input_structure(f.engine);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_calibration_destroy(f.calibration);
  bsm_thread_pool_destroy(f.pool);
  bsm_plugin_registry_destroy(f.plugins);
  bsm_operator_list_free(f.operators);
  bsm_context_destroy(f.context);
  bsm_engine_destroy(f.engine);
  bsm_module_destroy(f.module);
  return 0;
}

/* Whether the call came back. */
static bool survives(const null_call *c) {
  int status = 0;
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(20);
    c->call();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void null_is_an_argument(void **state) {
  (void)state;
  const size_t count = sizeof(null_calls) / sizeof(null_calls[0]);
  size_t failed = 0;
  assert_true(count > 150);
  for (size_t i = 0; i < count; i++) {
    if (survives(&null_calls[i])) continue;
    fprintf(stderr, "%s\n", null_calls[i].name);
    failed++;
  }
  assert_int_equal(failed, 0);
}

/* A context keeps its engine. */
static void engines_may_go_before_their_contexts(void **state) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const float x[6] = {-1, 2, -3, 4, -5, 6};
  float y[6] = {0};
  const bsm_dims dims = {2, {2, 3}};
  const bsm_array in = {(void *)(uintptr_t)x, BSM_DTYPE_FLOAT, dims, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, dims, NULL};
  bsm_engine *engine = NULL;
  bsm_context *one = NULL, *two = NULL;
  (void)state;
  options.no_timing = true;
  check(bsm_compile(f.module, &options, &engine));
  check(bsm_context_create(engine, NULL, &one));
  check(bsm_context_create(engine, NULL, &two));
  bsm_engine_destroy(engine);
  bsm_context_destroy(one);
  check(bsm_context_run(two, &in, 1, &out, 1));
  assert_true(y[0] == 0 && y[5] == 6);
  bsm_context_destroy(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(null_is_an_argument, set_up, tear_down),
      cmocka_unit_test_setup_teardown(engines_may_go_before_their_contexts,
                                      set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
