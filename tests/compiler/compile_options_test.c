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
#include "engine/plan.h"
#include "engine/program.h"
#include "runtime/engine.h"

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

/* ---- what an engine runs ---- */

/* aten_call steps of one plan; `op` NULL: all. */
static size_t count_steps(const bsm_plan *plan, const char *op) {
  size_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_ATEN_CALL) continue;
    count += !op || strcmp(step->params->aten_call.op, op) == 0;
  }
  return count;
}

/* Whether an instruction runs it: the others are plans of regions for certain
 * shapes. */
static bool is_run(const bsm_program *p, uint32_t segment) {
  for (uint32_t b = 0; b < p->block_count; b++) {
    for (uint32_t i = 0; i < p->blocks[b].instruction_count; i++) {
      const bsm_instruction *it = &p->blocks[b].instructions[i];
      if (it->kind == BSM_INSTRUCTION_SEGMENT && it->segment == segment) {
        return true;
      }
    }
  }
  return false;
}

/* Of a plan, or of the segments of its program. */
static size_t reference_steps(const bsm_engine *engine, const char *op) {
  const bsm_program *p = engine->plan->program;
  size_t count = count_steps(engine->plan, op);
  for (uint32_t i = 0; p && i < p->segment_count; i++) {
    if (is_run(p, i)) count += count_steps(p->segments[i], op);
  }
  return count;
}

static size_t other_steps(const bsm_engine *engine) {
  const bsm_program *p = engine->plan->program;
  size_t count = engine->plan->step_count;
  for (uint32_t i = 0; p && i < p->segment_count; i++) {
    if (is_run(p, i)) count += p->segments[i]->step_count;
  }
  return count - reference_steps(engine, NULL);
}

static size_t instructions(const bsm_engine *engine, bsm_instruction_kind kind,
                           const char *name) {
  const bsm_program *p = engine->plan->program;
  size_t count = 0;
  for (uint32_t b = 0; p && b < p->block_count; b++) {
    for (uint32_t i = 0; i < p->blocks[b].instruction_count; i++) {
      const bsm_instruction *it = &p->blocks[b].instructions[i];
      count += it->kind == kind && (!name || strcmp(it->name, name) == 0);
    }
  }
  return count;
}

/* The calls of a block, and of the blocks inside, that are in a region. */
static size_t planned_in(const bsm_program *p, uint32_t id, const char *name,
                         bool inside) {
  size_t count = 0;
  for (uint32_t i = 0; i < p->blocks[id].instruction_count; i++) {
    const bsm_instruction *it = &p->blocks[id].instructions[i];
    count += inside && it->kind == BSM_INSTRUCTION_CALL &&
             strcmp(it->name, name) == 0;
    for (uint32_t b = 0; b < it->block_count; b++) {
      count += planned_in(p, it->blocks[b], name,
                          inside || it->kind == BSM_INSTRUCTION_REGION);
    }
  }
  return count;
}

static size_t planned(const bsm_engine *engine, const char *name) {
  const bsm_program *p = engine->plan->program;
  return p ? planned_in(p, 0, name, false) : 0;
}

/* ---- the report ---- */

static const bsm_operator_info *find(const bsm_operator_list *list,
                                     const char *name) {
  for (size_t i = 0; i < list->count; i++) {
    const char *schema = list->items[i].schema;
    if (strlen(name) == strcspn(schema, "(") &&
        strncmp(schema, name, strlen(name)) == 0) {
      return &list->items[i];
    }
  }
  return NULL;
}

/* Holds the report with these options against the engine with them. */
static void check_report(fixture *f, const bsm_compile_options *options) {
  bsm_operator_list *list = NULL;
  bsm_engine *engine = compile(f, options);
  const bsm_program *p = engine->plan->program;
  size_t calls = 0, reference = 0, layers = 0, optimal = 0;
  bsm_status status = bsm_module_operators(f->module, options, &list);
  if (status) fail_msg("%s", bsm_status_message(status));
  assert_null(list->failure);
  assert_true(list->count > 0);
  for (size_t i = 0; i < list->count; i++) {
    const bsm_operator_info *op = &list->items[i];
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(op->schema, "("),
             op->schema);
    assert_int_equal(op->count, op->layer_nodes + op->evaluated_nodes +
                                    op->reference_nodes + op->planned_nodes +
                                    op->called_nodes + op->program_nodes);
    assert_int_equal(op->reference_nodes, reference_steps(engine, name));
    assert_int_equal(op->planned_nodes, planned(engine, name));
    assert_int_equal(op->planned_nodes + op->called_nodes,
                     instructions(engine, BSM_INSTRUCTION_CALL, name));
    if (p && p->variant_count) {
      assert_int_equal(op->optimal_reference_nodes,
                       count_steps(p->segments[p->variants[0]], name));
    }
    assert_true((op->reference_nodes + op->called_nodes > 0) <=
                (op->why[0] != '\0'));
    assert_true(op->places[0] && op->source[0]);
    reference += op->reference_nodes;
    calls += op->called_nodes + op->planned_nodes;
    layers += op->layer_nodes;
    optimal += op->optimal_layer_nodes;
  }
  const bsm_operator_info *branch = find(list, "prim::If");
  const bsm_operator_info *loop = find(list, "prim::Loop");
  assert_int_equal(branch ? branch->program_nodes : 0,
                   instructions(engine, BSM_INSTRUCTION_IF, NULL));
  assert_int_equal(loop ? loop->program_nodes : 0,
                   instructions(engine, BSM_INSTRUCTION_LOOP, NULL));
  assert_int_equal(reference, reference_steps(engine, NULL));
  assert_int_equal(calls, instructions(engine, BSM_INSTRUCTION_CALL, NULL));
  assert_true((layers > 0) == (other_steps(engine) > 0));
  assert_true((optimal > 0) == (p && p->variant_count > 0));
  bsm_operator_list_free(list);
  bsm_engine_destroy(engine);
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
      check_report(*state, &options);
    }
  }
}

/* What does not compile is told, and nothing else is said not to. */
static void test_report_of_failure(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2);
  bsm_compile_options options = defaults(&fixed);
  bsm_operator_list *list = NULL;
  options.method = "noise";
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::bernoulli");
  assert_null(bsm_module_operators(f->module, &options, &list));
  assert_non_null(list->failure);
  assert_int_equal(find(list, "aten::bernoulli")->unsupported_nodes, 1);
  assert_string_equal(find(list, "aten::bernoulli")->runs, "refused");
  assert_int_equal(find(list, "aten::linear")->unsupported_nodes, 0);
  bsm_operator_list_free(list);
  options.method = "steps";
  options.require_full_compilation = true;
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::nonzero");
  assert_null(bsm_module_operators(f->module, &options, &list));
  assert_non_null(strstr(list->failure, "aten::nonzero"));
  assert_int_equal(find(list, "prim::Loop")->program_nodes, 1);
  bsm_operator_list_free(list);
}

/* ---- options ---- */

static void test_fallback_op(void **state) {
  fixture *f = *state;
  const bsm_input_spec fixed = rows(2, 2), range = rows(1, 9);
  bsm_compile_options options = defaults(&fixed);
  bsm_engine *engine = compile(f, &options);
  assert_int_equal(reference_steps(engine, NULL), 0);
  assert_string_equal(metadata(engine, "options.fallback_ops"), "");
  bsm_engine_destroy(engine);
  static const char *const names[] = {"aten::relu_", "aten::add.Tensor"};
  options.fallback_ops = names;
  options.fallback_op_count = 2;
  engine = compile(f, &options);
  assert_string_equal(f->log, "");
  assert_int_equal(reference_steps(engine, "aten::relu"), 3);
  assert_int_equal(reference_steps(engine, "aten::add.Tensor"), 2);
  assert_int_equal(reference_steps(engine, NULL), 5);
  assert_string_equal(metadata(engine, "options.fallback_ops"),
                      "aten::relu_, aten::add.Tensor");
  bsm_engine_destroy(engine);
  /* In the plans of single shapes, too. */
  options.inputs = &range;
  engine = compile(f, &options);
  const bsm_program *p = engine->plan->program;
  assert_true(p && p->variant_count > 0);
  for (uint32_t i = 0; i < p->variant_count; i++) {
    assert_int_equal(count_steps(p->segments[p->variants[i]], NULL), 5);
  }
  assert_string_equal(metadata(engine, "options.fallback_ops"),
                      "aten::relu_, aten::add.Tensor");
  bsm_engine_destroy(engine);
  options.inputs = &fixed;
  options.method = "steps";
  engine = compile(f, &options);
  assert_int_equal(instructions(engine, BSM_INSTRUCTION_CALL, "aten::relu"), 3);
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
  name = "aten::bernoulli";
  assert_refused(f, &options, BSM_UNSUPPORTED, "random");
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
  const size_t calls = instructions(engine, BSM_INSTRUCTION_CALL, NULL);
  bsm_engine_destroy(engine);
  options.fallback_module_count = 1;
  for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++) {
    name = rows_[i].name;
    options.method = NULL;
    engine = compile(f, &options);
    assert_string_equal(f->log, "");
    assert_int_equal(reference_steps(engine, NULL), rows_[i].steps);
    assert_string_equal(metadata(engine, "options.fallback_modules"), name);
    bsm_engine_destroy(engine);
    options.method = "steps";
    engine = compile(f, &options);
    assert_int_equal(instructions(engine, BSM_INSTRUCTION_CALL, NULL),
                     calls + rows_[i].calls);
    bsm_engine_destroy(engine);
  }
  name = "backbone.layer";
  assert_refused(f, &options, BSM_INVALID_ARGUMENT, "no submodule");
  name = "backbone.layer1";
  options.method = "noise";
  f->log[0] = '\0';
  assert_refused(f, &options, BSM_UNSUPPORTED, "aten::bernoulli");
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
    const size_t calls = instructions(engine, BSM_INSTRUCTION_CALL, NULL);
    const size_t segments = instructions(engine, BSM_INSTRUCTION_SEGMENT, NULL);
    if (i == 0) before = calls;
    assert_int_equal(segments, expected[i].segments);
    assert_int_equal(calls, before + expected[i].calls);
    assert_string_equal(metadata(engine, "options.min_block_size"),
                        expected[i].least == 3     ? "3"
                        : expected[i].least == 100 ? "100"
                                                   : "");
    check_report(f, &options);
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
