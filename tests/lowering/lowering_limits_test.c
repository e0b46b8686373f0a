/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of models that ask for too much, without memory, and without
 * touching the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/file.h"
#include "lowering/interpret.h"
#include "lowering/lowering.h"
#include "tests/base/test_allocator.h"
#include "torchscript/module.h"

/* Parses `text`, sets limits (0: the default) and lowers for one Float(2, 3).
 */
typedef struct setup {
  const char *text;
  uint64_t max_depth, max_nodes, max_loop_trips, max_unrolled_nodes;
  size_t inputs;
  const char *expected; /* in the lowered graph; NULL: not looked at */
  const char *missing;
} setup;

static bsm_status lower(bsm_arena *arena, const setup *s) {
  bsm_ir_ctx *cx = NULL;
  bsm_graph *graph = NULL;
  bsm_aten_library *aten = NULL;
  bsm_lowered lowered;
  bsm_tensor *x = NULL;
  const bsm_dims dims = {2, {2, 3}};
  BSM_TRY(bsm_ir_ctx_create(arena, NULL, NULL, &cx));
  BSM_TRY(bsm_aten_library_create(arena, &aten));
  BSM_TRY(bsm_graph_parse(cx, bsm_str_of(s->text), "case", &graph));
  cx->limits.max_depth = s->max_depth ? s->max_depth : cx->limits.max_depth;
  cx->limits.max_nodes = s->max_nodes ? s->max_nodes : cx->limits.max_nodes;
  cx->limits.max_loop_trips =
      s->max_loop_trips ? s->max_loop_trips : cx->limits.max_loop_trips;
  cx->limits.max_unrolled_nodes = s->max_unrolled_nodes
                                      ? s->max_unrolled_nodes
                                      : cx->limits.max_unrolled_nodes;
  BSM_TRY(bsm_tensor_new(arena, BSM_DTYPE_FLOAT, dims, true, &x));
  const bsm_lowering_input inputs[2] = {{"x", bsm_iv_tensor(x)},
                                        {"y", bsm_iv_tensor(x)}};
  const bsm_lowering_options options = {aten, NULL, NULL};
  BSM_TRY(bsm_lower(graph, NULL, inputs, s->inputs ? s->inputs : 1, &options,
                    &lowered));
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_graph_print(&text, lowered.graph, NULL);
  if (text.failed) return BSM_FAIL_OOM();
  if (s->expected && !strstr(text.data, s->expected)) {
    fail_msg("no \"%s\" in:\n%s", s->expected, text.data);
  }
  if (s->missing && strstr(text.data, s->missing)) {
    fail_msg("\"%s\" in:\n%s", s->missing, text.data);
  }
  return BSM_OK;
}

static void expect(const setup *s, bsm_code code, const char *piece) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status st = lower(&arena, s);
  assert_int_equal(bsm_status_code(st), code);
  if (piece && !strstr(bsm_status_message(st), piece)) {
    print_error("'%s' is not in: %s\n", piece, bsm_status_message(st));
    fail();
  }
  bsm_status_free(st);
  bsm_arena_destroy(&arena);
}

static const char long_loop[] =
    "graph(%x : Float(2, 3)):\n"
    "  %n : int = prim::Constant[value=1000]()\n"
    "  %t : bool = prim::Constant[value=1]()\n"
    "  %y : Tensor = prim::Loop(%n, %t, %x)\n"
    "    block0(%i : int, %a : Tensor):\n"
    "      %b : Tensor = aten::relu(%a)\n"
    "      -> (%t, %b)\n"
    "  return (%y)\n";

/* A loop that is too long becomes one of the graph. */
static void test_loops_are_limited(void **state) {
  (void)state;
  static const char kept[] = "prim::Loop[limit=\"max_loop_trips\"]";
  expect(&(setup){.text = long_loop, .missing = "prim::Loop"}, BSM_CODE_OK,
         NULL);
  expect(&(setup){.text = long_loop, .max_loop_trips = 1000, .missing = kept},
         BSM_CODE_OK, NULL);
  expect(&(setup){.text = long_loop, .max_loop_trips = 999, .expected = kept},
         BSM_CODE_OK, NULL);
}

static void test_unrolled_nodes_are_limited(void **state) {
  (void)state;
  static const char kept[] = "prim::Loop[limit=\"max_unrolled_nodes\"]";
  expect(
      &(setup){.text = long_loop, .max_unrolled_nodes = 999, .expected = kept},
      BSM_CODE_OK, NULL);
  expect(
      &(setup){.text = long_loop, .max_unrolled_nodes = 2000, .missing = kept},
      BSM_CODE_OK, NULL);
}

/* The length of a "while" is found out by trying. */
#define COUNTING_LOOP(limit)                                   \
  "graph(%x : Float(2, 3)):\n"                                 \
  "  %n : int = prim::Constant[value=9223372036854775807]()\n" \
  "  %t : bool = prim::Constant[value=1]()\n"                  \
  "  %0 : int = prim::Constant[value=0]()\n"                   \
  "  %1 : int = prim::Constant[value=1]()\n"                   \
  "  %m : int = prim::Constant[value=" limit                   \
  "]()\n"                                                      \
  "  %y : Tensor, %k : int = prim::Loop(%n, %t, %x, %0)\n"     \
  "    block0(%i : int, %a : Tensor, %c : int):\n"             \
  "      %b : Tensor = aten::add(%a, %c, %1)\n"                \
  "      %d : int = aten::add(%c, %1)\n"                       \
  "      %l : bool = aten::lt(%d, %m)\n"                       \
  "      -> (%l, %b, %d)\n"                                    \
  "  return (%y)\n"

static void test_while_loops_are_limited(void **state) {
  (void)state;
  static const char text[] = COUNTING_LOOP("500");
  expect(&(setup){.text = text, .missing = "prim::Loop"}, BSM_CODE_OK, NULL);
  expect(&(setup){.text = text,
                  .max_loop_trips = 499,
                  .expected = "prim::Loop[limit=\"max_loop_trips\"]"},
         BSM_CODE_OK, NULL);
  expect(&(setup){.text = text,
                  .max_unrolled_nodes = 100,
                  .expected = "prim::Loop[limit=\"max_unrolled_nodes\"]"},
         BSM_CODE_OK, NULL);
}

/* Of two loops the one with more turns is kept, the other still unrolled. */
static void test_the_longer_loop_is_kept(void **state) {
  (void)state;
  expect(&(setup){.text = "graph(%x : Float(2, 3)):\n"
                          "  %n : int = prim::Constant[value=3]()\n"
                          "  %m : int = prim::Constant[value=700]()\n"
                          "  %t : bool = prim::Constant[value=1]()\n"
                          "  %y : Tensor = prim::Loop(%n, %t, %x)\n"
                          "    block0(%i : int, %a : Tensor):\n"
                          "      %b : Tensor = prim::Loop(%m, %t, %a)\n"
                          "        block0(%j : int, %c : Tensor):\n"
                          "          %d : Tensor = aten::relu(%c)\n"
                          "          -> (%t, %d)\n"
                          "      -> (%t, %b)\n"
                          "  return (%y)\n",
                  .max_loop_trips = 1000,
                  .expected = "prim::Loop[limit=\"max_loop_trips\"]",
                  .missing = "block0(%i : int"},
         BSM_CODE_OK, NULL);
}

/* Where the turns differ in what a loop cannot carry, all are unrolled. */
static void test_loops_that_must_be_unrolled(void **state) {
  (void)state;
  static const char text[] =
      "graph(%x : Float(2, 3)):\n"
      "  %n : int = prim::Constant[value=200]()\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %s : str = prim::Constant[value=\"s\"]()\n"
      "  %y : Tensor, %r : Any = prim::Loop(%n, %t, %x, %n)\n"
      "    block0(%i : int, %a : Tensor, %k : Any):\n"
      "      %b : Tensor = aten::relu(%a)\n"
      "      -> (%t, %b, %s)\n"
      "  return (%y)\n";
  expect(&(setup){.text = text, .max_unrolled_nodes = 100, .missing = "Loop"},
         BSM_CODE_OK, NULL);
  expect(&(setup){.text = text, .max_loop_trips = 100}, BSM_LIMIT,
         "the limit max_loop_trips is 100; it cannot be a loop of the engine: "
         "a value has another type after a turn of the loop");
  expect(&(setup){.text = text, .max_loop_trips = 100}, BSM_LIMIT,
         "the loop at case:5");
}

static void test_nodes_are_limited(void **state) {
  (void)state;
  expect(&(setup){.text = long_loop, .max_nodes = 500}, BSM_LIMIT, "nodes");
}

/* A loop that computes nothing is still work. */
static void test_steps_are_limited(void **state) {
  (void)state;
  expect(&(setup){.text = "graph(%x : Float(2, 3)):\n"
                          "  %n : int = prim::Constant[value=1000]()\n"
                          "  %t : bool = prim::Constant[value=1]()\n"
                          "  %r : int = prim::Loop(%n, %t, %n)\n"
                          "    block0(%i : int, %a : int):\n"
                          "      %b : int = aten::neg(%a)\n"
                          "      -> (%t, %b)\n"
                          "  return (%r)\n",
                  .max_nodes = 50},
         BSM_LIMIT, "runs more than");
}

static void test_nesting_is_limited(void **state) {
  (void)state;
  expect(&(setup){.text = "graph(%x : Float(2, 3)):\n"
                          "  %t : bool = prim::Constant[value=1]()\n"
                          "   = prim::If(%t)\n"
                          "    block0():\n"
                          "       = prim::If(%t)\n"
                          "        block0():\n"
                          "           = prim::If(%t)\n"
                          "            block0():\n"
                          "              -> ()\n"
                          "            block1():\n"
                          "              -> ()\n"
                          "          -> ()\n"
                          "        block1():\n"
                          "          -> ()\n"
                          "      -> ()\n"
                          "    block1():\n"
                          "      -> ()\n"
                          "  return (%x)\n",
                  .max_depth = 3},
         BSM_LIMIT, "more than 3 deep");
}

static void test_wrong_number_of_inputs(void **state) {
  (void)state;
  expect(&(setup){.text = long_loop, .inputs = 2}, BSM_INVALID_ARGUMENT,
         "takes 1 inputs, 2 given");
}

static void test_errors_name_the_place(void **state) {
  (void)state;
  expect(&(setup){.text = "graph(%x : Float(2, 3)):\n"
                          "  %s : int[] = prim::Constant[value=[5]]()\n"
                          "  %y : Tensor = aten::view(%x, %s)\n"
                          "  return (%y)\n"},
         BSM_INVALID_ARGUMENT, "in aten::view at case:3");
}

/* Writes through views, a branch, a loop, attention: most of the code. */
static const char busy[] =
    "graph(%x : Float(2, 3)):\n"
    "  %0 : int = prim::Constant[value=0]()\n"
    "  %1 : int = prim::Constant[value=1]()\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %z : float = prim::Constant[value=0.]()\n"
    "  %f : bool = prim::Constant[value=0]()\n"
    "  %y : Tensor = aten::clone(%x, %none)\n"
    "  %v : Tensor = aten::select(%y, %0, %1)\n"
    "  %w : Tensor = aten::mul_(%v, %v)\n"
    "  %s : Tensor = aten::sum(%y, %none)\n"
    "  %c : bool = aten::Bool(%s)\n"
    "  %b : Tensor = prim::If(%c)\n"
    "    block0():\n"
    "      %n : Tensor = aten::neg_(%v)\n"
    "      %p : Tensor = aten::exp(%y)\n"
    "      -> (%p)\n"
    "    block1():\n"
    "      -> (%y)\n"
    "  %a : Tensor = aten::scaled_dot_product_attention(%b, %y, %y, %none, "
    "%z, %f, %none, %f)\n"
    "  %l : Tensor[] = prim::ListConstruct(%a, %y)\n"
    "  %o : Tensor = aten::cat(%l, %0)\n"
    "  return (%o)\n";

static void test_without_memory(void **state) {
  (void)state;
  bool done = false;
  for (int i = 0; !done && i < 10000; i++) {
    test_allocator allocator;
    bsm_arena arena;
    test_allocator_init(&allocator, i);
    bsm_arena_init(&arena, &allocator.base);
    bsm_status st = lower(&arena, &(setup){.text = busy});
    done = !st;
    if (st) {
      assert_int_equal(bsm_status_code(st), BSM_OUT_OF_MEMORY);
    }
    bsm_status_free(st);
    bsm_arena_destroy(&arena);
    assert_int_equal(allocator.live, 0);
  }
  assert_true(done);
}

/* ---- the module ---- */

typedef struct loaded {
  bsm_arena arena;
  bsm_file_map map;
  bsm_ts_module *module;
  bsm_aten_library *aten;
  bsm_function *method; /* "attributes": changes an int, a list, a dict */
  bsm_graph *graph;
} loaded;

static void load(loaded *l) {
  bsm_ir_ctx *cx = NULL;
  bsm_arena_init(&l->arena, NULL);
  assert_null(bsm_file_map_open(BSM_TEST_DATA_DIR "/lowering/scripted.ts", NULL,
                                &l->map));
  assert_null(bsm_ir_ctx_create(&l->arena, NULL, NULL, &cx));
  assert_null(bsm_aten_library_create(&l->arena, &l->aten));
  assert_null(bsm_ts_module_read(cx, l->map.data, l->map.size, &l->module));
  assert_null(bsm_ts_module_method(l->module, "attributes", &l->method));
  assert_null(bsm_function_graph(l->method, &l->graph));
}

static void unload(loaded *l) {
  bsm_file_map_close(&l->map);
  bsm_arena_destroy(&l->arena);
}

static bsm_ivalue *attribute(const loaded *l, const char *name) {
  const bsm_object *root = l->module->root;
  const int64_t slot = bsm_class_find_attribute(root->type->cls, name);
  assert_true(slot >= 0);
  return &root->slots[slot];
}

static void test_lowering_leaves_the_module_alone(void **state) {
  (void)state;
  loaded l;
  load(&l);
  bsm_tensor *x = NULL;
  bsm_lowered lowered;
  const bsm_dims dims = {2, {4, 3}};
  assert_null(bsm_tensor_new(&l.arena, BSM_DTYPE_FLOAT, dims, true, &x));
  const bsm_lowering_input input = {"x", bsm_iv_tensor(x)};
  const bsm_lowering_options options = {l.aten, NULL, NULL};
  for (int i = 0; i < 2; i++) {
    assert_null(
        bsm_lower(l.graph, l.module->root, &input, 1, &options, &lowered));
    assert_int_equal(lowered.leaf_count, 2);
    assert_false(lowered.leaves[1].is_output);
    assert_int_equal(lowered.leaves[1].constant.u.i, 4);
  }
  assert_int_equal(attribute(&l, "counter")->u.i, 3);
  assert_int_equal(attribute(&l, "log")->u.list->len, 1);
  assert_int_equal(attribute(&l, "sizes")->u.dict->len, 2);
  assert_int_equal(attribute(&l, "maybe")->tag, BSM_IVALUE_NONE);
  unload(&l);
}

static void test_interpreting_changes_the_module(void **state) {
  (void)state;
  loaded l;
  load(&l);
  bsm_tensor *x = NULL;
  const bsm_dims dims = {1, {2}};
  assert_null(bsm_tensor_new(&l.arena, BSM_DTYPE_FLOAT, dims, false, &x));
  const bsm_ivalue args[2] = {bsm_iv_object(l.module->root), bsm_iv_tensor(x)};
  bsm_ivalue out;
  assert_null(bsm_interpret(l.method, l.aten, args, 2, &out));
  assert_int_equal(out.tag, BSM_IVALUE_TUPLE);
  assert_int_equal(out.u.tuple->items[1].u.i, 4);
  assert_int_equal(attribute(&l, "counter")->u.i, 4);
  assert_int_equal(attribute(&l, "log")->u.list->len, 2);
  assert_int_equal(attribute(&l, "sizes")->u.dict->len, 3);
  assert_ptr_equal(attribute(&l, "maybe")->u.tensor, x);
  unload(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loops_are_limited),
      cmocka_unit_test(test_unrolled_nodes_are_limited),
      cmocka_unit_test(test_while_loops_are_limited),
      cmocka_unit_test(test_the_longer_loop_is_kept),
      cmocka_unit_test(test_loops_that_must_be_unrolled),
      cmocka_unit_test(test_nodes_are_limited),
      cmocka_unit_test(test_steps_are_limited),
      cmocka_unit_test(test_nesting_is_limited),
      cmocka_unit_test(test_wrong_number_of_inputs),
      cmocka_unit_test(test_errors_name_the_place),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_lowering_leaves_the_module_alone),
      cmocka_unit_test(test_interpreting_changes_the_module),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
