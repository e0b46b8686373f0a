/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler says of traces that have their example in them, and that it
 * says nothing of those that have not. make_options.py makes the models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"

static char warnings[8192];

static void keep(void *user, bsm_log_level level, const char *message) {
  (void)user;
  const size_t used = strlen(warnings);
  if (level > BSM_LOG_LEVEL_WARNING) return;
  snprintf(warnings + used, sizeof(warnings) - used, "%s\n", message);
}

/* Sizes of one dim after the other: min, opt, max. */
static bsm_input_spec spec_of(int32_t rank, const int64_t (*sizes)[3]) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bool any = false;
  spec.rank = rank;
  for (int32_t i = 0; i < rank; i++) any = any || sizes[i][0] != sizes[i][2];
  for (int32_t i = 0; i < rank; i++) {
    spec.min[i] = sizes[i][0];
    if (any) spec.opt[i] = sizes[i][1];
    if (any) spec.max[i] = sizes[i][2];
  }
  return spec;
}

/* Compiles; the warnings are in `warnings`. The failure, or NULL. */
static bsm_status compile(const char *name, const bsm_input_spec *specs,
                          size_t count) {
  static const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, keep, NULL};
  char path[512];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
  options.logger = &logger;
  warnings[0] = '\0';
  snprintf(path, sizeof(path), "%s/%s.ts", BSM_TEST_DATA_DIR, name);
  bsm_status status = bsm_module_load(path, &options, &module);
  if (status) fail_msg("%s", bsm_status_message(status));
  compiling.inputs = specs;
  compiling.input_count = count;
  compiling.no_timing = true;
  compiling.threads = 1;
  status = bsm_compile(module, &compiling, &engine);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return status;
}

static void assert_warned(const char *text) {
  if (!strstr(warnings, text)) fail_msg("no \"%s\" in: %s", text, warnings);
}

static void test_fixed_batch(void **state) {
  const int64_t range[][3] = {{1, 3, 8}, {4, 4, 4}, {5, 5, 5}};
  const bsm_input_spec spec = spec_of(3, range);
  (void)state;
  assert_null(compile("compiler/frozen_raises", &spec, 1));
  assert_warned(
      "the model fixes dimension 0 of input \"x\": of 1 to 8 it "
      "takes 3 alone");
  assert_warned("make_options.py:");
  assert_warned("a trace has the numbers in it");
}

/* Some sizes are taken, for what they are not. */
static void test_absorbed_batch(void **state) {
  const int64_t range[][3] = {{3, 3, 9}, {4, 4, 4}, {5, 5, 5}};
  const bsm_input_spec spec = spec_of(3, range);
  (void)state;
  assert_null(compile("compiler/frozen_absorbs", &spec, 1));
  assert_warned("aten::reshape at ");
  assert_warned("makes dimension 0 3, which it is for the optimal shape");
  assert_warned(
      "the model does not take every size from 3 to 9 of dimension 0 "
      "of input \"x\"");
}

static void test_fixed_length(void **state) {
  const int64_t both[][3] = {{1, 3, 5}, {2, 6, 40}};
  const bsm_input_spec spec = spec_of(2, both);
  (void)state;
  assert_null(compile("compiler/frozen_length", &spec, 1));
  assert_warned(
      "the model fixes dimension 1 of input \"x\": of 2 to 40 it "
      "takes 6 alone");
  assert_null(strstr(warnings, "dimension 0"));
}

static void test_fixed_turns(void **state) {
  const int64_t longer[][3] = {{1, 3, 8}, {4, 4, 9}, {5, 5, 5}};
  const int64_t batches[][3] = {{1, 3, 8}, {4, 4, 4}, {5, 5, 5}};
  const bsm_input_spec spec = spec_of(3, longer);
  const bsm_input_spec other = spec_of(3, batches);
  (void)state;
  assert_null(compile("compiler/frozen_loop", &spec, 1));
  assert_warned("reads 4 elements of dimension ");
  assert_warned("of 9 the others are ignored");
  assert_null(compile("compiler/frozen_loop", &other, 1));
  assert_string_equal(warnings, "");
  assert_null(compile("compiler/frozen_slice", &spec, 1));
  assert_warned("reads 4 elements of dimension 1 of ");
  assert_null(strstr(warnings, "one by one"));
  assert_null(compile("compiler/frozen_slice", &other, 1));
  assert_string_equal(warnings, "");
}

static void test_multiples(void **state) {
  const int64_t image[][3] = {{1, 1, 1}, {2, 4, 11}, {6, 6, 6}};
  const bsm_input_spec spec = spec_of(3, image);
  (void)state;
  assert_null(compile("compiler/frozen_even", &spec, 1));
  assert_warned(
      "the model does not take every size from 2 to 11 of dimension 1 of input "
      "\"x\"");
}

static void test_other_shape(void **state) {
  const int64_t fixed[][3] = {{2, 2, 2}, {4, 4, 4}, {5, 5, 5}};
  const bsm_input_spec spec = spec_of(3, fixed);
  (void)state;
  bsm_status status = compile("compiler/frozen_raises", &spec, 1);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status),
                         "traced with input \"x\" of shape [3, 4, 5]"));
  bsm_status_free(status);
}

static void test_unused_input(void **state) {
  (void)state;
  assert_null(compile("compiler/frozen_unused", NULL, 0));
  assert_warned("input \"y\" is not used");
  assert_null(strstr(warnings, "input \"x\""));
}

static void test_device(void **state) {
  (void)state;
  assert_null(compile("compiler/frozen_device", NULL, 0));
  assert_warned("names a GPU as the device of its tensors in 2 places, as at ");
}

/* The ends of the range fit, some shapes between do not. */
static void test_refused_between(void **state) {
  const int64_t odd[][3] = {{1, 3, 8}, {2, 4, 12}, {5, 5, 5}};
  const bsm_input_spec spec = spec_of(3, odd);
  (void)state;
  assert_null(compile("compiler/frozen_fine", &spec, 1));
  assert_warned("the model does not take all shapes in range, such as input ");
  assert_warned("\"x\" of shape [");
  assert_warned("is invalid for input of size");
  assert_warned("in aten::reshape at ");
  assert_warned("make_options.py:");
}

/* Models that take what they are given. */
static void test_no_alarm(void **state) {
  const int64_t fine[][3] = {{1, 3, 8}, {2, 4, 12}, {6, 6, 6}};
  const int64_t image[][3] = {{1, 1, 4}, {3, 3, 3}, {32, 32, 32}, {32, 32, 32}};
  const int64_t options[][3] = {{1, 2, 9}, {8, 8, 8}};
  const bsm_input_spec spec = spec_of(3, fine);
  const bsm_input_spec images = spec_of(4, image);
  const bsm_input_spec rows = spec_of(2, options);
  (void)state;
  assert_null(compile("compiler/frozen_fine", &spec, 1));
  assert_string_equal(warnings, "");
  assert_null(compile("compiler/options", &rows, 1));
  assert_string_equal(warnings, "");
  assert_null(compile("compiler/frozen_raises", NULL, 0));
  assert_string_equal(warnings, "");
  assert_null(compile("models/resnet-script", &images, 1));
  assert_string_equal(warnings, "");
  assert_null(compile("models/resnet-trace", &images, 1));
  assert_string_equal(warnings, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fixed_batch),
      cmocka_unit_test(test_absorbed_batch),
      cmocka_unit_test(test_fixed_length),
      cmocka_unit_test(test_fixed_turns),
      cmocka_unit_test(test_multiples),
      cmocka_unit_test(test_other_shape),
      cmocka_unit_test(test_unused_input),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_refused_between),
      cmocka_unit_test(test_no_alarm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
