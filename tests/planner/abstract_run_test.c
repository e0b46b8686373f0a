/* SPDX-License-Identifier: Apache-2.0 */
/* Programs run on shapes. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "planner/abstract_run.h"
#include "planner/program_kit.h"

typedef struct fixture {
  program_kit k;
  bsm_arena arena; /* of values */
  bsm_abstract_run run;
  uint64_t done;
  int calls; /* told of */
} fixture;

static bsm_status note_call(void *user, const bsm_instruction *i,
                            const bsm_ivalue *args, const bsm_ivalue *outs) {
  fixture *f = user;
  (void)i;
  (void)args;
  assert_true(bsm_abstract_is_meta(&outs[0]));
  f->calls++;
  return BSM_OK;
}

static int set_up(void **state) {
  static fixture f;
  kit_init(&f.k);
  bsm_arena_init(&f.arena, NULL);
  f.done = 0;
  f.calls = 0;
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_arena_destroy(&f->arena);
  kit_destroy(&f->k);
  return 0;
}

/* With x, float [3, 4], in register 0. */
static void start(fixture *f) {
  f->run = (bsm_abstract_run){.walker = {.program = &f->k.program,
                                         .arena = &f->arena,
                                         .budget = 1000,
                                         .done = &f->done},
                              .aten = f->k.aten,
                              .max_bytes = (size_t)64 << 20,
                              .call = note_call,
                              .user = f};
  kit_check(bsm_abstract_start(&f->run, &f->k.constants));
  bsm_abstract_set(&f->run, 0,
                   kit_meta(&f->k, BSM_DTYPE_FLOAT, (bsm_dims){2, {3, 4}}));
}

static bsm_status run(fixture *f) {
  start(f);
  return bsm_abstract_block(&f->run, 0);
}

static const bsm_ivalue *value(const fixture *f, uint32_t reg) {
  assert_true(f->run.known[reg]);
  return &f->run.walker.registers[reg];
}

static void check_int(const fixture *f, uint32_t reg, int64_t want) {
  assert_int_equal(value(f, reg)->tag, BSM_IVALUE_INT);
  assert_int_equal(value(f, reg)->u.i, want);
}

/* ---- tests ---- */

static void shapes_are_computed(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, bsm_iv_int(1));
  kit_call(&f->k, 0, "aten::relu", R(0), R(2));
  kit_call(&f->k, 0, "aten::size.int", R(2, 1), R(3));
  kit_call(&f->k, 0, "aten::mul.int", R(3, 3), R(4));
  kit_check(run(f));
  assert_true(bsm_tensor_is_meta(value(f, 2)->u.tensor));
  assert_int_equal(value(f, 2)->u.tensor->sizes.d[0], 3);
  check_int(f, 4, 16);
  assert_int_equal(f->calls, 1); /* those of numbers are not told of */
  assert_int_equal(f->done, 3);
}

static void what_needs_data_is_unknown(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::nonzero", R(0), R(1));
  kit_call(&f->k, 0, "aten::relu", R(1), R(2));
  kit_call(&f->k, 0, "aten::relu", R(0), R(3));
  start(f);
  const bsm_instruction *i = f->k.program.blocks[0].instructions;
  kit_expect(bsm_abstract_instruction(&f->run, &i[0]), BSM_DATA_DEPENDENT, "");
  kit_expect(bsm_abstract_instruction(&f->run, &i[1]), BSM_DATA_DEPENDENT,
             "it depends on data");
  kit_check(bsm_abstract_instruction(&f->run, &i[2]));
  assert_false(f->run.known[1]);
  assert_false(f->run.known[2]);
  assert_true(f->run.known[3]);
}

/* A register that was known becomes unknown when it is set again in vain. */
static void a_failure_forgets(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(1));
  kit_call(&f->k, 0, "aten::nonzero", R(0), R(1));
  kit_results(&f->k, 0, R(1));
  kit_expect(run(f), BSM_DATA_DEPENDENT, "");
  assert_false(f->run.known[1]);
}

static void a_result_that_nothing_set(void **state) {
  fixture *f = *state;
  kit_results(&f->k, 0, R(7));
  kit_expect(run(f), BSM_DATA_DEPENDENT, "it depends on data");
}

static void branches_on_shapes(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, bsm_iv_int(0));
  kit_constant(&f->k, 2, bsm_iv_int(2));
  kit_call(&f->k, 0, "aten::size.int", R(0, 1), R(3));
  kit_call(&f->k, 0, "aten::gt.int", R(3, 2), R(4));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_IF, R(4), R(5), R(1, 2));
  kit_call(&f->k, 1, "aten::relu", R(0), R(6));
  kit_results(&f->k, 1, R(6));
  kit_results(&f->k, 2, R(3));
  kit_check(run(f));
  assert_int_equal(value(f, 5)->tag, BSM_IVALUE_TENSOR);
  kit_constant(&f->k, 2, bsm_iv_int(3)); /* the same register: the last wins */
  kit_check(run(f));
  check_int(f, 5, 3);
}

static void a_condition_has_to_be_a_bool(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 4, bsm_iv_int(1));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_IF, R(4), NONE, R(1, 2));
  kit_expect(run(f), BSM_CORRUPT, "a condition is a int");
}

static void loops_on_shapes(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, bsm_iv_int(0));
  kit_constant(&f->k, 2, bsm_iv_bool(true));
  kit_call(&f->k, 0, "aten::size.int", R(0, 1), R(3));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_LOOP, R(3, 2, 0, 1), R(4, 5), R(1));
  kit_params(&f->k, 1, R(10, 11, 12));
  kit_call(&f->k, 1, "aten::relu", R(11), R(13));
  kit_call(&f->k, 1, "aten::add", R(12, 10), R(14));
  kit_results(&f->k, 1, R(2, 13, 14));
  kit_check(run(f));
  check_int(f, 5, 0 + 1 + 2);
  assert_int_equal(f->calls, 3);
  assert_true(bsm_tensor_is_meta(value(f, 4)->u.tensor));
}

static void loops_need_numbers(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, bsm_iv_bool(true));
  kit_constant(&f->k, 2, bsm_iv_int(3));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_LOOP, R(1, 1), NONE, R(1));
  kit_params(&f->k, 1, R(9));
  kit_results(&f->k, 1, R(2));
  kit_expect(run(f), BSM_CORRUPT, "a loop of bool turns");
  f->k.program.blocks[0].instructions[0].inputs[0] = 2;
  kit_expect(run(f), BSM_CORRUPT, "a condition is a int");
}

/* Even when there is nothing in them. */
static void loops_end(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, bsm_iv_int(INT64_MAX));
  kit_constant(&f->k, 2, bsm_iv_bool(true));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_LOOP, R(1, 2), NONE, R(1));
  kit_params(&f->k, 1, R(9));
  kit_results(&f->k, 1, R(2));
  kit_expect(run(f), BSM_LIMIT, "too many instructions");
  assert_int_equal(f->done, 1000);
}

static void memory_ends(void **state) {
  fixture *f = *state;
  const int64_t one[] = {16 << 20}, huge[] = {INT64_C(1) << 40};
  kit_constant(&f->k, 1, kit_ints(&f->k, one, 1));
  kit_constant(&f->k, 2, kit_ints(&f->k, huge, 1));
  kit_constant(&f->k, 3, bsm_iv_none());
  kit_call(&f->k, 0, "aten::zeros", R(1, 3, 3, 3, 3), R(4));
  kit_expect(run(f), BSM_LIMIT, ""); /* a tensor of 64 MiB */
  f->k.program.blocks[0].instructions[0].inputs[0] = 2;
  kit_expect(run(f), BSM_LIMIT, "");
  const int64_t some[] = {4 << 20};
  kit_constant(&f->k, 1, kit_ints(&f->k, some, 1));
  f->k.program.blocks[0].instructions[0].inputs[0] = 1;
  for (uint32_t i = 0; i < 6; i++) {
    kit_call(&f->k, 0, "aten::zeros", R(1, 3, 3, 3, 3), R(5));
  }
  kit_expect(run(f), BSM_LIMIT, "constants take too much memory");
}

/* Of tensors without data, as programs bound theirs. */
static void tensors_without_data_are_bounded(void **state) {
  fixture *f = *state;
  const int64_t shape[] = {1 << 20, 3, 4};
  kit_constant(&f->k, 1, kit_ints(&f->k, shape, 3));
  kit_constant(&f->k, 2, bsm_iv_bool(false));
  kit_call(&f->k, 0, "aten::expand", R(0, 1, 2), R(3));
  kit_check(run(f));
  start(f);
  f->run.max_tensor_bytes = 1 << 20;
  kit_expect(bsm_abstract_block(&f->run, 0), BSM_LIMIT, "exceeds the limit");
}

static void own_containers_change(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(0), R(1));
  kit_call(&f->k, 0, "aten::append.t", R(1, 0), R(2));
  kit_call(&f->k, 0, "aten::len.t", R(1), R(3));
  kit_add(&f->k, 0, BSM_INSTRUCTION_COPY, "", R(1), R(4));
  kit_call(&f->k, 0, "aten::append.t", R(4, 0), R(5));
  kit_call(&f->k, 0, "aten::len.t", R(1), R(6));
  kit_call(&f->k, 0, "aten::len.t", R(4), R(7));
  kit_check(run(f));
  check_int(f, 3, 2);
  check_int(f, 6, 2);
  check_int(f, 7, 3);
}

static void constants_do_not_change(void **state) {
  fixture *f = *state;
  const int64_t items[] = {1, 2};
  kit_constant(&f->k, 1, kit_ints(&f->k, items, 2));
  kit_constant(&f->k, 2, bsm_iv_int(3));
  kit_call(&f->k, 0, "aten::append.t", R(1, 2), R(3));
  kit_expect(run(f), BSM_UNSUPPORTED, "aten::append.t has effects");
  assert_int_equal(f->k.constants.values[0].u.list->len, 2);
}

static void some_ops_are_not_planned(void **state) {
  static const char *const names[] = {"aten::relu_", "aten::no_such_op", ""};
  fixture *f = *state;
  bsm_instruction *i = kit_call(&f->k, 0, "aten::relu", R(0), R(1));
  for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
    i->name = names[n];
    kit_expect(run(f), BSM_UNSUPPORTED, "cannot be planned");
  }
  i->name = "aten::relu";
  i->kind = BSM_INSTRUCTION_REGION;
  kit_expect(run(f), BSM_UNSUPPORTED, "inside of a region");
}

static void odd_arguments_are_refused(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, kit_string(&f->k, "text"));
  kit_constant(&f->k, 2, bsm_iv_none());
  static const uint32_t regs[] = {1, 2};
  for (size_t n = 0; n < 2; n++) {
    f->k.program.blocks[0].instruction_count = 0;
    kit_call(&f->k, 0, "aten::relu", &regs[n], 1, R(3));
    kit_expect(run(f), BSM_UNSUPPORTED, "wrong type");
  }
  f->k.program.blocks[0].instruction_count = 0;
  kit_call(&f->k, 0, "aten::relu", R(0, 0), R(3));
  kit_expect(run(f), BSM_UNSUPPORTED, "2 arguments, expected 1");
  f->k.program.blocks[0].instruction_count = 0;
  kit_call(&f->k, 0, "aten::relu", NONE, R(3));
  kit_expect(run(f), BSM_UNSUPPORTED, "missing argument");
  f->k.program.blocks[0].instruction_count = 0;
  kit_call(&f->k, 0, "aten::relu", R(0), R(3, 4));
  kit_expect(run(f), BSM_UNSUPPORTED, "2 results asked");
}

/* Lists that hold one list twice, and so on: each is met too often to walk, by
 * an op that walks or by who gets what is in them. */
static void nesting_is_bounded(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(0), R(1));
  for (uint32_t i = 1; i < 40; i++) {
    kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(i, i), R(i + 1));
  }
  kit_call(&f->k, 0, "aten::list.t", R(40), R(41));
  kit_expect(run(f), BSM_LIMIT, "a nested value has more than");
  kit_constant(&f->k, 42, bsm_iv_int(0));
  f->k.program.blocks[0].instruction_count--;
  kit_call(&f->k, 0, "aten::__getitem__.t", R(40, 42), R(41));
  kit_expect(run(f), BSM_LIMIT, "a nested value has more than");
}

static void a_list_in_itself(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(0), R(1));
  kit_call(&f->k, 0, "aten::append.t", R(1, 1), R(2));
  kit_expect(run(f), BSM_LIMIT, "put into itself");
}

static void models_raise(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 1, kit_string(&f->k, "no good"));
  kit_add(&f->k, 0, BSM_INSTRUCTION_RAISE, "", R(1), NONE);
  kit_expect(run(f), BSM_RAISED, "no good");
}

static void meta_inside_of_values(void **state) {
  fixture *f = *state;
  bsm_ivalue x = kit_meta(&f->k, BSM_DTYPE_FLOAT, (bsm_dims){1, {2}});
  const int64_t items[] = {1, 2};
  bsm_ivalue numbers = kit_ints(&f->k, items, 2), key = bsm_iv_int(1);
  bsm_tuple *tuple;
  bsm_dict *dict;
  kit_check(bsm_tuple_new(&f->arena, 2, &tuple));
  tuple->items[0] = numbers;
  kit_check(bsm_dict_new(&f->arena, NULL, NULL, &dict));
  kit_check(bsm_dict_set(dict, key, numbers));
  bsm_ivalue t = {.tag = BSM_IVALUE_TUPLE, .u.tuple = tuple};
  bsm_ivalue d = {.tag = BSM_IVALUE_DICT, .u.dict = dict};
  assert_true(bsm_abstract_is_meta(&x));
  assert_false(bsm_abstract_is_meta(&numbers));
  assert_false(bsm_abstract_is_meta(&t));
  assert_false(bsm_abstract_is_meta(&d));
  tuple->items[1] = x;
  kit_check(bsm_dict_set(dict, key, t));
  assert_true(bsm_abstract_is_meta(&t));
  assert_true(bsm_abstract_is_meta(&d));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(shapes_are_computed),
      TEST(what_needs_data_is_unknown),
      TEST(a_failure_forgets),
      TEST(a_result_that_nothing_set),
      TEST(branches_on_shapes),
      TEST(a_condition_has_to_be_a_bool),
      TEST(loops_on_shapes),
      TEST(loops_need_numbers),
      TEST(loops_end),
      TEST(memory_ends),
      TEST(tensors_without_data_are_bounded),
      TEST(own_containers_change),
      TEST(constants_do_not_change),
      TEST(some_ops_are_not_planned),
      TEST(odd_arguments_are_refused),
      TEST(nesting_is_bounded),
      TEST(a_list_in_itself),
      TEST(models_raise),
      TEST(meta_inside_of_values),
  };
  return cmocka_run_group_tests_name("abstract_run", tests, NULL, NULL);
}
