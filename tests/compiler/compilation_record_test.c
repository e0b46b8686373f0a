/* SPDX-License-Identifier: Apache-2.0 */
/* The record that a compilation leaves, when it succeeds and when it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/compile_options.h"
#include "engine/program.h"

/* Shapes that the data tells, after some that it does not. */
static const char numbers[] =
    "graph(%x : Tensor):\n"
    "  %a : Tensor = aten::relu(%x)\n"
    "  %b : Tensor = aten::tanh(%a)\n"
    "  %i : Tensor = aten::nonzero(%b)\n"
    "  %y : Tensor = aten::mul(%i, %i)\n"
    "  return (%y)\n";

typedef struct fixture {
  bsm_module *module;
  bsm_arena engine;
  bsm_compilation_record record;
  bsm_plan *plan;
  char warnings[2000];
} fixture;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void keep_warning(void *user, bsm_log_level level, const char *text) {
  fixture *f = user;
  if (level != BSM_LOG_LEVEL_WARNING) return;
  strncat(f->warnings, text, sizeof(f->warnings) - strlen(f->warnings) - 1);
}

/* `compile` of IR text whose only input is of shape (least to most, 4). */
static bsm_status compile(fixture *f, const char *text, int64_t least,
                          int64_t most, bsm_compile_options options) {
  const bsm_logger logger = {
      .level = BSM_LOG_LEVEL_WARNING, .write = keep_warning, .user = f};
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  memset(f, 0, sizeof(*f));
  check(bsm_module_load_memory(text, strlen(text), "text", NULL, &f->module));
  spec.rank = 2;
  spec.min[0] = least;
  spec.opt[0] = least == most ? 0 : least + 1;
  spec.max[0] = least == most ? 0 : most;
  spec.min[1] = 4;
  if (least != most) spec.opt[1] = spec.max[1] = 4;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.logger = &logger;
  const bsm_compile_options given = options;
  assert_null(bsm_compile_options_resolve(f->module, &given, &options));
  bsm_arena_init(&f->engine, NULL);
  bsm_compilation_record_init(&f->record, NULL, &logger);
  bsm_status status =
      bsm_compile_plan(f->module, &options, &f->engine, &f->record, &f->plan);
  f->record.logger = NULL;
  return status;
}

static void tear_down(fixture *f) {
  bsm_compilation_record_destroy(&f->record);
  bsm_arena_destroy(&f->engine);
  bsm_module_destroy(f->module);
}

static const bsm_node_placement *find(const bsm_placement_list *list,
                                      const char *name) {
  for (size_t i = 0; i < list->items.len; i++) {
    if (strcmp(list->items.items[i].name, name) == 0) {
      return &list->items.items[i];
    }
  }
  return NULL;
}

static void expect(const bsm_placement_list *list, const char *name,
                   bsm_node_run run, const char *why) {
  const bsm_node_placement *node = find(list, name);
  if (!node) fail_msg("%s is not in the list", name);
  if (node->run != run) fail_msg("%s runs as %d", name, (int)node->run);
  if (!why) {
    assert_null(node->why);
  } else {
    assert_non_null(node->why);
    assert_non_null(strstr(node->why, why));
  }
}

static void plan_of_fixed_shapes(void **state) {
  static const char *const ops[] = {"aten::relu"};
  fixture f;
  (void)state;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.fallback_ops = ops;
  options.fallback_op_count = 1;
  check(compile(&f,
                "graph(%x : Tensor):\n"
                "  %a : Tensor = aten::relu(%x)\n"
                "  %y : Tensor = aten::tanh(%a)\n"
                "  return (%y)\n",
                2, 2, options));
  assert_non_null(f.record.lowered);
  assert_ptr_equal(f.record.plan, f.plan);
  assert_int_equal(f.record.nodes.items.len, 2);
  assert_int_equal(f.record.optimal.items.len, 0);
  expect(&f.record.nodes, "aten::relu", BSM_RUN_REFERENCE, "the option");
  expect(&f.record.nodes, "aten::tanh", BSM_RUN_LAYERS, NULL);
  tear_down(&f);
}

/* A plan for the optimal shape is recorded beside the program. */
static void plan_of_a_range(void **state) {
  fixture f;
  const bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  check(compile(&f,
                "graph(%x : Tensor):\n"
                "  %a : Tensor = aten::relu(%x)\n"
                "  return (%a)\n",
                1, 5, options));
  assert_true(f.plan->program && f.plan->program->variant_count > 0);
  expect(&f.record.nodes, "aten::relu", BSM_RUN_PLANNED, NULL);
  assert_int_equal(f.record.optimal.items.len, 1);
  expect(&f.record.optimal, "aten::relu", BSM_RUN_LAYERS, NULL);
  tear_down(&f);
}

static void expect_numbers(const fixture *f, bsm_node_run planned) {
  const bsm_placement_list *nodes = &f->record.nodes;
  const char *open = "known only when the engine runs";
  expect(nodes, "aten::relu", planned, NULL);
  expect(nodes, "aten::tanh", planned, NULL);
  expect(nodes, "aten::nonzero", BSM_RUN_CALL, open);
  expect(nodes, "aten::mul.Tensor", BSM_RUN_CALL, open);
  assert_int_equal(nodes->items.len, 4);
}

/* What was found before the failure is what a compilation finds that goes on.
 */
static void failure_after_regions(void **state) {
  fixture f;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  for (int k = 0; k < 2; k++) {
    options.require_full_compilation = false;
    check(compile(&f, numbers, 1, k ? 5 : 1, options));
    expect_numbers(&f, k ? BSM_RUN_PLANNED : BSM_RUN_LAYERS);
    assert_ptr_equal(f.record.plan, f.plan);
    tear_down(&f);
    options.require_full_compilation = true;
    bsm_status status = compile(&f, numbers, 1, k ? 5 : 1, options);
    assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
    bsm_status_free(status);
    expect_numbers(&f, k ? BSM_RUN_PLANNED : BSM_RUN_LAYERS);
    assert_non_null(f.record.lowered);
    assert_null(f.record.plan);
    assert_null(f.plan);
    tear_down(&f);
  }
}

/* Before conversion: what would take each node. */
static void failure_before_conversion(void **state) {
  fixture f;
  const bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  bsm_status status = compile(&f,
                              "graph(%x : Tensor):\n"
                              "  %a : Tensor = aten::relu(%x)\n"
                              "  %y : Tensor = aten::_standard_gamma_grad(%a, "
                              "%a)\n"
                              "  return (%y)\n",
                              2, 2, options);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  bsm_status_free(status);
  assert_non_null(f.record.lowered);
  assert_int_equal(f.record.nodes.items.len, 2);
  expect(&f.record.nodes, "aten::relu", BSM_RUN_LAYERS, NULL);
  expect(&f.record.nodes, "aten::_standard_gamma_grad", BSM_RUN_UNSUPPORTED,
         "no such op");
  assert_null(f.record.plan);
  tear_down(&f);
}

/* Nothing is recorded of nodes that there are not. */
static void failure_of_lowering(void **state) {
  fixture f;
  const bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  bsm_status status = compile(&f,
                              "graph(%x : Tensor):\n"
                              "  %y : Tensor = aten::matmul(%x, %x)\n"
                              "  return (%y)\n",
                              2, 2, options);
  assert_non_null(status);
  bsm_status_free(status);
  assert_null(f.record.lowered);
  assert_int_equal(f.record.nodes.items.len, 0);
  tear_down(&f);
}

static void warnings(void **state) {
  static const char *const ops[] = {"aten::neg"};
  fixture f;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  options.fallback_ops = ops;
  options.fallback_op_count = 1;
  check(compile(&f,
                "graph(%x : Tensor):\n"
                "  %y : Tensor = aten::tanh(%x)\n"
                "  return (%y)\n",
                2, 2, options));
  assert_int_equal(f.record.warnings.len, 1);
  assert_non_null(strstr(f.record.warnings.items[0], "\"aten::neg\": no node"));
  assert_string_equal(f.warnings, f.record.warnings.items[0]);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plan_of_fixed_shapes),
      cmocka_unit_test(plan_of_a_range),
      cmocka_unit_test(failure_after_regions),
      cmocka_unit_test(failure_before_conversion),
      cmocka_unit_test(failure_of_lowering),
      cmocka_unit_test(warnings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
