/* SPDX-License-Identifier: Apache-2.0 */
/* Options of compiling, each by what it changes in the engine, and the report
 * of operators against what the engine runs. make_options.py makes the models.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "tests/compiler/report_check.h"

typedef struct fixture {
  bsm_module *module;
  bsm_logger logger;
  char log[8192]; /* warnings */
} fixture;

static void keep_warning(void *user, bsm_log_level level, const char *message) {
  fixture *f = user;
  const size_t used = strlen(f->log);
  if (level > BSM_LOG_LEVEL_WARNING) return;
  snprintf(f->log + used, sizeof(f->log) - used, "%s\n", message);
}

static void open_model(fixture *f, const char *name) {
  char path[512];
  memset(f, 0, sizeof(*f));
  f->logger = (bsm_logger){BSM_LOG_LEVEL_WARNING, keep_warning, f};
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  options.logger = &f->logger;
  snprintf(path, sizeof(path), "%s/compiler/%s.ts", BSM_TEST_DATA_DIR, name);
  bsm_status status = bsm_module_load(path, &options, &f->module);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static int open_options_model(void **state) {
  static fixture f;
  open_model(&f, "options");
  *state = &f;
  return 0;
}

static int close_model(void **state) {
  bsm_module_destroy(((fixture *)*state)->module);
  return 0;
}

/* x: [low..high, 8]. */
static bsm_input_spec rows(int64_t low, int64_t high) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = low;
  spec.min[1] = 8;
  if (high > low) {
    spec.opt[0] = low + 1;
    spec.max[0] = high;
    spec.opt[1] = spec.max[1] = 8;
  }
  return spec;
}

static bsm_compile_options defaults(const bsm_input_spec *spec) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  return options;
}

static bsm_engine *compile(fixture *f, const bsm_compile_options *options) {
  bsm_engine *engine = NULL;
  f->log[0] = '\0';
  bsm_status status = bsm_compile(f->module, options, &engine);
  if (status) fail_msg("%s", bsm_status_message(status));
  return engine;
}

static void assert_refused(fixture *f, const bsm_compile_options *options,
                           bsm_code code, const char *text) {
  bsm_engine *engine = NULL;
  bsm_status status = bsm_compile(f->module, options, &engine);
  assert_null(engine);
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("no \"%s\" in: %s", text, bsm_status_message(status));
  }
  bsm_status_free(status);
}

static const char *metadata(const bsm_engine *engine, const char *key) {
  const char *k, *value;
  for (size_t i = 0; bsm_engine_metadata_at(engine, i, &k, &value); i++) {
    if (strcmp(k, key) == 0) return value;
  }
  return "";
}

static const char *const one_op[] = {"aten::relu"};
static const char *const one_module[] = {"backbone.layer1"};

static void test_report(void **state) {
  const bsm_input_spec fixed = rows(2, 2), range = rows(1, 9);
  const char *const methods[] = {"forward", "steps"};
  for (size_t m = 0; m < 2; m++) {
    for (size_t i = 0; i < 8; i++) {
      bsm_compile_options options = defaults(i & 1 ? &range : &fixed);
      options.method = methods[m];
      options.fallback_ops = one_op;
      options.fallback_op_count = i >> 1 & 1;
      options.fallback_modules = one_module;
      options.fallback_module_count = i >> 2 & 1;
      assert_true(report_check(((fixture *)*state)->module, &options));
    }
  }
}

/* What does not compile is told, and nothing else is said not to. */
static void test_report_of_failure(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2);
  bsm_compile_options options = defaults(&fixed);
  bsm_operator_list *list = NULL;
  options.method = "gradient";
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::_standard_gamma_grad");
  assert_null(bsm_module_operators(f->module, &options, &list));
  assert_non_null(bsm_operator_list_failure(list));
  assert_int_equal(
      report_find(list, "aten::_standard_gamma_grad")->unsupported_nodes, 1);
  assert_string_equal(report_find(list, "aten::_standard_gamma_grad")->runs,
                      "refused");
  assert_int_equal(report_find(list, "aten::linear")->unsupported_nodes, 0);
  bsm_operator_list_free(list);
  options.method = "steps";
  options.require_full_compilation = true;
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::nonzero");
  assert_null(bsm_module_operators(f->module, &options, &list));
  assert_non_null(strstr(bsm_operator_list_failure(list), "aten::nonzero"));
  assert_int_equal(report_find(list, "prim::Loop")->program_nodes, 1);
  bsm_operator_list_free(list);
}

/* ---- options ---- */

static void test_fallback_op(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2), range = rows(1, 9);
  bsm_compile_options options = defaults(&fixed);
  bsm_engine *engine = compile(f, &options);
  assert_int_equal(engine_reference_steps(engine, NULL), 0);
  assert_string_equal(metadata(engine, "options.fallback_ops"), "");
  bsm_engine_destroy(engine);
  static const char *const names[] = {"aten::relu_", "aten::add.Tensor"};
  options.fallback_ops = names;
  options.fallback_op_count = 2;
  engine = compile(f, &options);
  assert_string_equal(f->log, "");
  assert_int_equal(engine_reference_steps(engine, "aten::relu"), 3);
  assert_int_equal(engine_reference_steps(engine, "aten::add.Tensor"), 2);
  assert_int_equal(engine_reference_steps(engine, NULL), 5);
  assert_string_equal(metadata(engine, "options.fallback_ops"),
                      "aten::relu_, aten::add.Tensor");
  bsm_engine_destroy(engine);
  /* In the plans of single shapes, too. */
  options.inputs = &range;
  engine = compile(f, &options);
  const bsm_program *p = engine->plan->program;
  assert_true(p && p->variant_count > 0);
  for (uint32_t i = 0; i < p->variant_count; i++) {
    assert_int_equal(plan_reference_steps(p->segments[p->variants[i]], NULL),
                     5);
  }
  assert_string_equal(metadata(engine, "options.fallback_ops"),
                      "aten::relu_, aten::add.Tensor");
  bsm_engine_destroy(engine);
  options.inputs = &fixed;
  options.method = "steps";
  engine = compile(f, &options);
  assert_int_equal(
      engine_instructions(engine, BSM_INSTRUCTION_CALL, "aten::relu"), 3);
  bsm_engine_destroy(engine);
}

static void test_names_of_operators(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2);
  bsm_compile_options options = defaults(&fixed);
  const char *name = "aten::sigmoid";
  options.fallback_ops = &name;
  options.fallback_op_count = 1;
  bsm_engine_destroy(compile(f, &options));
  assert_non_null(strstr(f->log, "\"aten::sigmoid\": no node"));
  name = "aten::add.Scalar";
  bsm_engine_destroy(compile(f, &options));
  assert_non_null(strstr(f->log, "\"aten::add.Scalar\": no node"));
  name = "aten::relue";
  assert_refused(f, &options, BSM_INVALID_ARGUMENT, "no such operator");
  name = "aten::relu.Tensr";
  assert_refused(f, &options, BSM_INVALID_ARGUMENT, "of that overload");
  name = "aten::_standard_gamma_grad";
  assert_refused(f, &options, BSM_UNSUPPORTED, "no such operator");
  name = NULL;
  assert_refused(f, &options, BSM_INVALID_ARGUMENT, "");
}

static void test_fallback_module(void **state) {
  static const struct {
    const char *name;
    size_t steps, calls;
  } rows_[] = {{"backbone.layer1", 3, 3},
               {"backbone.layer1.act", 1, 1},
               {"backbone", 6, 6},
               {"Block", 6, 6},
               {"torch.nn.modules.activation.ReLU", 2, 2},
               {"Linear", 3, 3}};
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2);
  bsm_compile_options options = defaults(&fixed);
  const char *name = NULL;
  options.fallback_modules = &name;
  options.fallback_module_count = 1;
  options.method = "steps";
  options.fallback_module_count = 0;
  bsm_engine *engine = compile(f, &options);
  const size_t calls = engine_instructions(engine, BSM_INSTRUCTION_CALL, NULL);
  bsm_engine_destroy(engine);
  options.fallback_module_count = 1;
  for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++) {
    name = rows_[i].name;
    options.method = NULL;
    engine = compile(f, &options);
    assert_string_equal(f->log, "");
    assert_int_equal(engine_reference_steps(engine, NULL), rows_[i].steps);
    assert_string_equal(metadata(engine, "options.fallback_modules"), name);
    bsm_engine_destroy(engine);
    options.method = "steps";
    engine = compile(f, &options);
    assert_int_equal(engine_instructions(engine, BSM_INSTRUCTION_CALL, NULL),
                     calls + rows_[i].calls);
    bsm_engine_destroy(engine);
  }
  name = "backbone.layer";
  assert_refused(f, &options, BSM_INVALID_ARGUMENT, "no submodule");
  name = "backbone.layer1";
  options.method = "gradient";
  f->log[0] = '\0';
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::_standard_gamma_grad");
  assert_non_null(strstr(f->log, "no node of the lowered model comes from"));
}

static void test_min_block_size(void **state) {
  static const struct {
    size_t least, segments, calls;
  } expected[] = {{0, 3, 0}, {1, 3, 0}, {3, 2, 2}, {100, 0, 19}};
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2);
  bsm_compile_options options = defaults(&fixed);
  size_t before = 0;
  options.method = "steps";
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
    options.min_block_size = expected[i].least;
    bsm_engine *engine = compile(f, &options);
    const size_t calls =
        engine_instructions(engine, BSM_INSTRUCTION_CALL, NULL);
    const size_t segments =
        engine_instructions(engine, BSM_INSTRUCTION_SEGMENT, NULL);
    if (i == 0) before = calls;
    assert_int_equal(segments, expected[i].segments);
    assert_int_equal(calls, before + expected[i].calls);
    assert_string_equal(metadata(engine, "options.min_block_size"),
                        expected[i].least == 3     ? "3"
                        : expected[i].least == 100 ? "100"
                                                   : "");
    assert_true(report_check(f->module, &options));
    bsm_engine_destroy(engine);
  }
  /* A model that is one plan stays one. */
  options.method = NULL;
  bsm_engine *engine = compile(f, &options);
  assert_null(engine->plan->program);
  bsm_engine_destroy(engine);
}

static void test_require_full_compilation(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2), range = rows(1, 9);
  bsm_compile_options options = defaults(&fixed);
  options.require_full_compilation = true;
  bsm_engine *engine = compile(f, &options);
  assert_string_equal(metadata(engine, "options.require_full_compilation"),
                      "yes");
  bsm_engine_destroy(engine);
  /* Shapes that range get plans when they are run. */
  options.inputs = &range;
  bsm_engine_destroy(compile(f, &options));
  options.fallback_ops = one_op;
  options.fallback_op_count = 1;
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::relu");
  options.inputs = &fixed;
  assert_refused(f, &options, BSM_UNSUPPORTED, "by the option aten::relu");
  options.fallback_op_count = 0;
  options.method = "steps";
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::nonzero");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_report, open_options_model,
                                      close_model),
      cmocka_unit_test_setup_teardown(test_report_of_failure,
                                      open_options_model, close_model),
      cmocka_unit_test_setup_teardown(test_fallback_op, open_options_model,
                                      close_model),
      cmocka_unit_test_setup_teardown(test_names_of_operators,
                                      open_options_model, close_model),
      cmocka_unit_test_setup_teardown(test_fallback_module, open_options_model,
                                      close_model),
      cmocka_unit_test_setup_teardown(test_min_block_size, open_options_model,
                                      close_model),
      cmocka_unit_test_setup_teardown(test_require_full_compilation,
                                      open_options_model, close_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
