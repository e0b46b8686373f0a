/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that use one module at once. ThreadSanitizer runs it, too. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <string.h>

#include "bessemer/bessemer.h"

enum { THREADS = 4, TURNS = 5 };

static const char text[] =
    "graph(%x : Float(2, 3)):\n"
    "  %y : Tensor = aten::relu(%x)\n"
    "  return (%y)\n";

typedef struct worker {
  pthread_t thread;
  bsm_module *module;
  bsm_status failure; /* the first */
} worker;

static bsm_status use_module(bsm_module *module) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_parameter parameter = BSM_PARAMETER_INIT;
  bsm_operator_list *list = NULL;
  bsm_engine *engine = NULL;
  size_t count;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status = bsm_module_parameter_count(module, NULL, &count);
  if (!status) status = bsm_module_parameter(module, NULL, 0, &parameter);
  if (!status) status = bsm_module_operators(module, &options, &list);
  if (!status) status = bsm_compile(module, &options, &engine);
  bsm_engine_destroy(engine);
  bsm_operator_list_free(list);
  return status;
}

static void *work(void *argument) {
  worker *w = argument;
  for (int i = 0; i < TURNS && !w->failure; i++) {
    w->failure = use_module(w->module);
  }
  return NULL;
}

static void threads_share_a_module(void **state) {
  worker workers[THREADS];
  bsm_module *module = NULL;
  (void)state;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "m.ir", NULL, &module);
  if (status) fail_msg("%s", bsm_status_message(status));
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.module = module};
    assert_int_equal(
        pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    if (workers[i].failure) {
      fail_msg("%s", bsm_status_message(workers[i].failure));
    }
  }
  bsm_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_share_a_module),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
