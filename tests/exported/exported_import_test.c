/* SPDX-License-Identifier: Apache-2.0 */
/* Imported programs as text: data/exported_models/NAME.pt2 and the graph of its
 * forward, NAME.ir. `exported_import_test --update` writes what it gets: look
 * at the difference before you commit it. Also programs that are damaged where
 * only importing can tell. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "exported/import.h"

static const char *const names[] = {"nested", "branches", "loops",
                                    "sizes",  "data",     "state",
                                    "marks",  "numbers",  "cnn"};

static bool update;

static void check(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

typedef struct world {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_file_map map;
  bsm_exported_program *program;
  bsm_model model;
} world;

static void open_world(world *w, const char *name, bool state_as_output) {
  char path[512];
  const bsm_exported_import_options options = {state_as_output};
  *w = (world){0};
  snprintf(path, sizeof(path), "%s/exported_models/%s.pt2", BSM_TEST_DATA_DIR,
           name);
  bsm_arena_init(&w->arena, NULL);
  check(bsm_ir_ctx_create(&w->arena, NULL, NULL, &w->cx), name);
  check(bsm_file_map_open(path, NULL, &w->map), path);
  check(bsm_exported_program_read(w->cx, w->map.data, w->map.size, NULL,
                                  &w->program),
        path);
  check(bsm_exported_import(w->program, &options, &w->model), path);
}

static void close_world(world *w) {
  bsm_arena_destroy(&w->arena);
  bsm_file_map_close(&w->map);
}

static bsm_status graph_of(const world *w, bsm_graph **out) {
  bsm_function *forward;
  BSM_TRY(w->model.find_method(w->model.front_end, w->model.root, "forward",
                               &forward));
  return bsm_function_graph(forward, out);
}

/* ---- texts ---- */

static void compare(const char *name, const char *got) {
  char path[512];
  bsm_file_map map;
  snprintf(path, sizeof(path), "%s/exported_models/%s.ir", BSM_TEST_DATA_DIR,
           name);
  if (update) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(got, file);
    fclose(file);
    return;
  }
  check(bsm_file_map_open(path, NULL, &map), path);
  if (map.size != strlen(got) || memcmp(map.data, got, map.size) != 0) {
    fprintf(stderr, "%s is now:\n%s", path, got);
    fail();
  }
  bsm_file_map_close(&map);
}

static void test_text(void **state) {
  world w;
  bsm_graph *graph;
  bsm_text text;
  open_world(&w, *state, false);
  check(graph_of(&w, &graph), *state);
  bsm_text_init(&text, &w.arena);
  bsm_graph_print(&text, graph, NULL);
  assert_false(text.failed);
  compare(*state, text.data);
  close_world(&w);
}

/* ---- the model around it ---- */

static void test_attributes(void **state) {
  world w;
  (void)state;
  open_world(&w, "cnn", false);
  const bsm_class *cls = w.model.root->type->cls;
  const int64_t slot = bsm_class_find_attribute(cls, "stem.0.weight");
  assert_true(slot >= 0);
  const bsm_ivalue *value = &w.model.root->slots[slot];
  assert_int_equal(value->tag, BSM_IVALUE_TENSOR);
  assert_int_equal(value->u.tensor->sizes.d[0], 8);
  assert_true(bsm_class_find_attribute(cls, "stem.1.running_mean") >= 0);
  assert_true(bsm_class_find_attribute(cls, "stem.2.weight") < 0);
  bsm_function *none;
  bsm_status status =
      w.model.find_method(w.model.front_end, w.model.root, "backward", &none);
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  assert_non_null(strstr(bsm_status_message(status), "it has: forward"));
  bsm_status_free(status);
  close_world(&w);
}

/* Parameters, their defaults and examples. */
static void test_parameters(void **state) {
  static const char *const expected[] = {"self",  "pair", "batch",
                                         "scale", "mode", "extra"};
  world w;
  bsm_function *forward;
  (void)state;
  open_world(&w, "nested", false);
  check(w.model.find_method(NULL, w.model.root, "forward", &forward), "find");
  assert_int_equal(forward->schema->arg_count, 6);
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(forward->schema->args[i].name, expected[i]);
    assert_int_equal(forward->schema->args[i].kwarg_only, i >= 3);
    assert_int_equal(forward->schema->args[i].has_default, i >= 3);
  }
  assert_true(forward->schema->args[3].default_value.u.d == 2.5);
  assert_int_equal(w.model.example_count, 5);
  assert_int_equal(w.model.examples[0].tag, BSM_IVALUE_TUPLE);
  assert_false(w.model.traced);
  close_world(&w);
}

/* The example sizes tell the best of each symbol, the file its range. */
static void test_symbols(void **state) {
  world w;
  (void)state;
  open_world(&w, "sizes", false);
  const bsm_tensor *z = w.model.examples[2].u.tensor;
  const bsm_model_dim *dim = bsm_ptrmap_get(&w.model.shapes, z);
  assert_non_null(dim);
  assert_int_equal(dim->scale, 1);
  assert_int_equal(dim->offset, 1);
  assert_int_equal(dim->min, 4);
  assert_int_equal(dim->opt, 7);
  assert_int_equal(dim->max, 13);
  const bsm_model_symbol *rows = &w.model.symbols[dim->symbol - 1];
  assert_int_equal(rows->min, 3);
  assert_int_equal(rows->opt, 6);
  assert_int_equal(rows->max, 12);
  assert_false(rows->max_is_open);
  close_world(&w);
}

/* ---- damage ---- */

/* A program whose node calls something else, or with something else. */
static void expect_failure(const char *name, const char *target,
                           void (*damage)(bsm_exported_node *node),
                           bsm_code code, const char *message) {
  world w;
  bsm_graph *graph;
  bool found = false;
  open_world(&w, name, false);
  for (size_t i = 0; i < w.program->graph->node_count && !found; i++) {
    bsm_exported_node *node =
        (bsm_exported_node *)(uintptr_t)&w.program->graph->nodes[i];
    found = strcmp(node->target, target) == 0;
    if (found) damage(node);
  }
  assert_true(found);
  bsm_status status = graph_of(&w, &graph);
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("\"%s\" is not in: %s", message, bsm_status_message(status));
  }
  bsm_status_free(status);
  close_world(&w);
}

static void call_unknown_function(bsm_exported_node *node) {
  node->target = "os.system";
}

static void call_unknown_higher_order(bsm_exported_node *node) {
  node->target = "torch.ops.higher_order.flex_attention";
}

static void give_string(bsm_exported_node *node) {
  bsm_exported_named_arg *arg =
      (bsm_exported_named_arg *)(uintptr_t)&node->inputs[1];
  arg->arg = (bsm_exported_arg){BSM_EXPORTED_STRING, {.s = "text"}};
}

static void take_arguments(bsm_exported_node *node) {
  node->input_count = 0;
}

static void rename_argument(bsm_exported_node *node) {
  bsm_exported_named_arg *arg =
      (bsm_exported_named_arg *)(uintptr_t)&node->inputs[0];
  arg->arg.u.s = "nowhere";
}

static void name_no_formal(bsm_exported_node *node) {
  bsm_exported_named_arg *arg =
      (bsm_exported_named_arg *)(uintptr_t)&node->inputs[0];
  arg->name = "nothing";
  arg->kind = BSM_EXPORTED_KEYWORD;
}

static void test_damage(void **state) {
  (void)state;
  static const char *const sin = "torch.ops.aten.linear.default";
  static const char *const cond = "torch.ops.higher_order.cond";
  expect_failure("cnn", sin, call_unknown_function, BSM_UNSUPPORTED,
                 "calls of os.system");
  expect_failure("branches", cond, call_unknown_higher_order, BSM_UNSUPPORTED,
                 "flex_attention");
  expect_failure("branches", cond, take_arguments, BSM_CORRUPT, "no graph");
  expect_failure("cnn", sin, give_string, BSM_UNSUPPORTED, "aten::linear");
  expect_failure("cnn", sin, take_arguments, BSM_UNSUPPORTED, "aten::linear");
  expect_failure("cnn", sin, rename_argument, BSM_CORRUPT,
                 "value \"nowhere\" is used, but nothing before gives it");
  expect_failure("cnn", sin, name_no_formal, BSM_INVALID_ARGUMENT,
                 "\"nothing\"");
  /* The node and its line of Python. */
  expect_failure("cnn", sin, rename_argument, BSM_CORRUPT,
                 "in node \"linear\", a call of torch.ops.aten.linear.default, "
                 "at ");
  expect_failure("sizes", "_operator.mul", take_arguments, BSM_CORRUPT,
                 "_operator.mul of 0 operands");
  expect_failure("loops", "torch.ops.higher_order.while_loop", take_arguments,
                 BSM_CORRUPT, "no graph");
  expect_failure("loops", "torch.ops.higher_order.map_impl", take_arguments,
                 BSM_CORRUPT, "no graph");
  expect_failure("loops", "torch.ops.higher_order.scan", take_arguments,
                 BSM_CORRUPT, "no graph");
}

int main(int argc, char **argv) {
  enum { COUNT = sizeof(names) / sizeof(names[0]) };
  struct CMUnitTest tests[COUNT + 4];
  update = argc > 1 && strcmp(argv[1], "--update") == 0;
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] = (struct CMUnitTest){names[i], test_text, NULL, NULL,
                                   (void *)(uintptr_t)names[i]};
  }
  tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_attributes);
  tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(test_parameters);
  tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(test_symbols);
  tests[COUNT + 3] = (struct CMUnitTest)cmocka_unit_test(test_damage);
  return cmocka_run_group_tests_name("exported_import", tests, NULL, NULL);
}
