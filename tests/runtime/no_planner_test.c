/* SPDX-License-Identifier: Apache-2.0 */
/* A program without a planner, as with libbessemer-runtime: it defines the
 * table itself, which leaves out the archive's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "engine/region_planner.h"

const bsm_region_planner_ops *const bsm_linked_region_planner = NULL;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void refused(bsm_status status) {
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(
      strstr(bsm_status_message(status), "link libbessemer-runtime-shapes"));
  bsm_status_free(status);
}

/* Tokens and their mask, both [1..6, 2..20] of int64, best [2, 8]. */
static bsm_engine *compile(void) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[2];
  for (size_t i = 0; i < 2; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = BSM_DTYPE_INT64;
    specs[i].rank = 2;
    const int64_t dims[3][2] = {{1, 2}, {2, 8}, {6, 20}};
    memcpy(specs[i].min, dims[0], sizeof(dims[0]));
    memcpy(specs[i].opt, dims[1], sizeof(dims[1]));
    memcpy(specs[i].max, dims[2], sizeof(dims[2]));
  }
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = 2;
  options.no_timing = true;
  check(bsm_module_load(BSM_TEST_DATA_DIR "/dynamic/text.ts", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static bsm_status run(bsm_context *context, int64_t batch, int64_t length) {
  int64_t tokens[40] = {1, 2, 3, 1}, mask[40];
  for (int i = 0; i < 40; i++) mask[i] = 1;
  const bsm_dims dims = {2, {batch, length}};
  const bsm_array inputs[2] = {
      {.data = tokens, .dtype = BSM_DTYPE_INT64, .dims = dims},
      {.data = mask, .dtype = BSM_DTYPE_INT64, .dims = dims}};
  return bsm_context_run_keep(context, inputs, 2);
}

static void test_the_best_shape_runs_and_others_name_the_library(void **state) {
  (void)state;
  bsm_engine *engine = compile();
  bsm_context *context = NULL;
  const bsm_dims other = {2, {3, 9}};
  check(bsm_context_create(engine, NULL, &context));
  check(run(context, 2, 8));
  refused(run(context, 3, 9));
  check(run(context, 2, 8));
  for (size_t i = 0; i < 2; i++) {
    check(bsm_context_set_input_shape(context, i, &other));
  }
  refused(bsm_context_prepare(context));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_best_shape_runs_and_others_name_the_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
