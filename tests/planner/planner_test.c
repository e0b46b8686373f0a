/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made of regions. What a region gets and gives is checked here; that the
 * plans compute the right values, by the tests of the compiler. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "engine/plan_bytes.h"
#include "planner/planner.h"
#include "planner/program_kit.h"
#include "tests/base/test_allocator.h"
#include "tests/target_kit.h"

typedef struct fixture {
  program_kit k;
  bsm_arena arena; /* of plans */
  bsm_planner *planner;
  bsm_instruction *region; /* block 1 */
  bsm_region_plan made;
} fixture;

static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof(f));
  kit_init(&f.k);
  bsm_arena_init(&f.arena, NULL);
  kit_input(&f.k, 0, BSM_DTYPE_FLOAT, 2);
  kit_constant(&f.k, 1, bsm_iv_int(0));
  kit_constant(&f.k, 2, bsm_iv_int(1));
  kit_constant(&f.k, 3, bsm_iv_bool(true));
  kit_constant(&f.k, 4, bsm_iv_none());
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_planner_destroy(f->planner);
  bsm_arena_destroy(&f->arena);
  kit_destroy(&f->k);
  return 0;
}

/* The region of block 1. */
static void set_region(fixture *f, const uint32_t *inputs, uint32_t input_count,
                       const uint32_t *results, uint32_t result_count) {
  static const uint32_t outputs[] = {50, 51, 52, 53, 54, 55};
  kit_results(&f->k, 1, results, result_count);
  f->region = kit_nest(&f->k, 0, BSM_INSTRUCTION_REGION, inputs, input_count,
                       outputs, result_count, R(1));
}

static void start(fixture *f, size_t max_instructions) {
  const bsm_planner_options options = {
      .plan = &f->k.plan,
      .aten = f->k.aten,
      .constants = &f->k.constants,
      .building = {.target = test_target(1), .no_timing = true},
      .max_instructions = max_instructions};
  kit_verify(&f->k);
  kit_check(bsm_planner_create(&options, &f->planner));
}

static bsm_status plan(fixture *f, const bsm_ivalue *inputs) {
  if (!f->planner) start(f, 0);
  return bsm_planner_plan(f->planner, f->region, inputs, NULL, &f->arena,
                          &f->made);
}

static bsm_ivalue matrix(fixture *f, int64_t rows, int64_t columns) {
  return kit_meta(&f->k, BSM_DTYPE_FLOAT, (bsm_dims){2, {rows, columns}});
}

static const bsm_plan_tensor *output(const fixture *f, uint32_t result) {
  const bsm_plan *p = f->made.plan;
  assert_true(f->made.outputs[result] < p->output_count);
  return &p->tensors[p->outputs[f->made.outputs[result]].tensor];
}

/* ---- what comes out ---- */

static void a_region_becomes_a_plan(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  kit_call(&f->k, 1, "aten::matmul", R(10, 5), R(11));
  set_region(f, R(0, 5), R(11));
  const bsm_ivalue in[] = {matrix(f, 3, 4), matrix(f, 4, 5)};
  kit_check(plan(f, in));
  assert_int_equal(f->made.plan->input_count, 2);
  assert_int_equal(f->made.plan->output_count, 1);
  assert_int_equal(output(f, 0)->dims.d[0], 3);
  assert_int_equal(output(f, 0)->dims.d[1], 5);
  kit_check(bsm_plan_verify(f->made.plan));
}

static void results_of_all_kinds(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 5, bsm_iv_double(2.5));
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  kit_call(&f->k, 1, "aten::size.int", R(10, 2), R(11));
  set_region(f, R(0), R(11, 10, 0, 10, 4, 5));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_check(plan(f, &in));
  const uint32_t *o = f->made.outputs;
  assert_int_equal(o[0], BSM_NO_OUTPUT);
  assert_int_equal(f->made.values[0].tag, BSM_IVALUE_INT);
  assert_int_equal(f->made.values[0].u.i, 4);
  assert_int_equal(o[1], 0);
  assert_int_equal(o[2], 1); /* the input itself */
  assert_int_equal(o[3], 0); /* the same once more */
  assert_int_equal(o[4], BSM_NO_OUTPUT);
  assert_int_equal(f->made.values[4].tag, BSM_IVALUE_NONE);
  assert_int_equal(f->made.values[5].tag, BSM_IVALUE_DOUBLE);
  assert_true(f->made.values[5].u.d == 2.5);
  assert_int_equal(f->made.plan->output_count, 2);
}

/* A tensor that depends on no input. */
static void a_constant_as_a_result(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::size", R(0), R(10));
  kit_call(&f->k, 1, "aten::ones", R(10, 4, 4, 4, 4), R(11));
  set_region(f, R(0), R(11));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_check(plan(f, &in));
  assert_int_equal(output(f, 0)->dims.d[0], 3);
}

static void numbers_go_in(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::select.int", R(0, 1, 5), R(10));
  kit_call(&f->k, 1, "aten::mul.int", R(5, 5), R(11));
  set_region(f, R(5, 0), R(10, 11));
  bsm_ivalue in[] = {bsm_iv_int(2), matrix(f, 3, 4)};
  kit_check(plan(f, in));
  assert_int_equal(f->made.plan->input_count, 1);
  assert_int_equal(f->made.values[1].u.i, 4);
  in[0] = bsm_iv_int(3); /* there is no such row */
  kit_expect(plan(f, in), BSM_OUT_OF_RANGE, "");
}

static void one_register_twice(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  set_region(f, R(0, 0), R(10));
  const bsm_ivalue in[] = {matrix(f, 3, 4), matrix(f, 5, 4)};
  kit_check(plan(f, in));
  assert_int_equal(f->made.plan->input_count, 2);
  assert_int_equal(output(f, 0)->dims.d[0], 5); /* the last one counts */
}

static void lists_inside(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::unbind.int", R(0, 1), R(10));
  kit_add(&f->k, 1, BSM_INSTRUCTION_UNPACK, "", R(10), R(11, 12, 13));
  kit_add(&f->k, 1, BSM_INSTRUCTION_LIST, "", R(13, 11), R(14));
  kit_call(&f->k, 1, "aten::stack", R(14, 1), R(15));
  set_region(f, R(0), R(15));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_check(plan(f, &in));
  assert_int_equal(output(f, 0)->dims.d[0], 2);
  const bsm_ivalue other = matrix(f, 2, 4);
  kit_expect(plan(f, &other), BSM_RAISED, "Expected 3 elements");
}

static void loops_are_unrolled(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::size.int", R(0, 1), R(10));
  kit_nest(&f->k, 1, BSM_INSTRUCTION_LOOP, R(10, 3, 0), R(11), R(2));
  kit_params(&f->k, 2, R(20, 21));
  kit_call(&f->k, 2, "aten::matmul", R(21, 0), R(22));
  kit_results(&f->k, 2, R(3, 22));
  set_region(f, R(0), R(11));
  const bsm_ivalue two = matrix(f, 2, 2), five = matrix(f, 5, 5);
  kit_check(plan(f, &two));
  const uint32_t steps = f->made.plan->step_count;
  kit_check(plan(f, &five));
  assert_true(f->made.plan->step_count >= steps + 3);
}

/* Of every kind that there is: the same again is the same plan. */
static void plans_are_the_same_again(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::softmax.int", R(0, 2, 4), R(10));
  kit_call(&f->k, 1, "aten::matmul", R(10, 5), R(11));
  kit_call(&f->k, 1, "aten::sort", R(11, 2, 3), R(12, 13));
  set_region(f, R(0, 5), R(12, 13));
  const bsm_ivalue in[] = {matrix(f, 3, 4), matrix(f, 4, 5)};
  const bsm_ivalue other[] = {matrix(f, 2, 4), matrix(f, 4, 4)};
  bsm_str bytes[2];
  for (int i = 0; i < 2; i++) {
    kit_check(plan(f, in));
    uint64_t *offsets =
        BSM_NEW_ARRAY(&f->arena, uint64_t, f->made.plan->weights_count + 1u);
    kit_check(bsm_plan_to_bytes(f->made.plan, offsets, &f->arena, &bytes[i]));
    kit_check(plan(f, other));
  }
  assert_true(bsm_str_eq(bytes[0], bytes[1]));
}

/* ---- what cannot be planned ---- */

static void containers_do_not_cross(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 1, BSM_INSTRUCTION_LIST, "", R(0), R(10));
  set_region(f, R(0), R(10));
  bsm_ivalue in = matrix(f, 3, 4);
  kit_expect(plan(f, &in), BSM_UNSUPPORTED, "a List comes out of a region");
  in = kit_string(&f->k, "text");
  kit_expect(plan(f, &in), BSM_UNSUPPORTED, "goes into a region");
  const int64_t items[] = {1};
  in = kit_ints(&f->k, items, 1);
  kit_expect(plan(f, &in), BSM_UNSUPPORTED, "a List goes into a region");
}

static void data_is_needed(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::nonzero", R(0), R(10));
  set_region(f, R(0), R(10));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_expect(plan(f, &in), BSM_DATA_DEPENDENT, "");
}

/* A region that reads what it does not say. */
static void what_nothing_sets(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(9));
  kit_call(&f->k, 1, "aten::relu", R(9), R(10));
  set_region(f, R(0), R(10));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_expect(plan(f, &in), BSM_DATA_DEPENDENT, "it depends on data");
  f->k.program.blocks[1].results[0] = 40;
  f->k.program.blocks[1].instruction_count = 0;
  kit_expect(plan(f, &in), BSM_DATA_DEPENDENT, "it depends on data");
}

static void no_results(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  set_region(f, R(0), NONE);
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_expect(plan(f, &in), BSM_UNSUPPORTED, "the graph has no outputs");
}

static void regions_raise(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 5, kit_string(&f->k, "no good"));
  kit_add(&f->k, 1, BSM_INSTRUCTION_RAISE, "", R(5), NONE);
  set_region(f, R(0), R(0));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_expect(plan(f, &in), BSM_RAISED, "no good");
}

static void quantized_tensors(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  set_region(f, R(0), R(10));
  const bsm_ivalue in = kit_meta(&f->k, BSM_DTYPE_QINT8, (bsm_dims){2, {3, 4}});
  kit_expect(plan(f, &in), BSM_UNSUPPORTED, "a quantized tensor goes into");
}

/* Lists of lists of tensors are no argument of a graph. */
static void lists_of_lists(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 1, BSM_INSTRUCTION_LIST, "", R(0), R(10));
  kit_add(&f->k, 1, BSM_INSTRUCTION_LIST, "", R(10, 10), R(11));
  kit_call(&f->k, 1, "aten::__getitem__.t", R(11, 1), R(12));
  kit_call(&f->k, 1, "aten::cat", R(12, 1), R(13));
  set_region(f, R(0), R(13));
  const bsm_ivalue in = matrix(f, 3, 4);
  kit_check(plan(f, &in)); /* nothing but the concatenation is in the graph */
  assert_int_equal(output(f, 0)->dims.d[0], 3);
}

static void unrolling_ends(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 5, bsm_iv_int(INT64_MAX));
  kit_nest(&f->k, 1, BSM_INSTRUCTION_LOOP, R(5, 3, 0), R(11), R(2));
  kit_params(&f->k, 2, R(20, 21));
  kit_call(&f->k, 2, "aten::relu", R(21), R(22));
  kit_results(&f->k, 2, R(3, 22));
  set_region(f, R(0), R(11));
  const bsm_ivalue in = matrix(f, 2, 2);
  kit_expect(plan(f, &in), BSM_LIMIT, "too many instructions");
  assert_int_equal(bsm_planner_instructions(f->planner), 100000);
  bsm_planner_destroy(f->planner);
  start(f, 10);
  kit_expect(plan(f, &in), BSM_LIMIT, "too many instructions");
  assert_int_equal(bsm_planner_instructions(f->planner), 10);
}

/* An op whose list of results would take all memory. */
static void planning_takes_little_memory(void **state) {
  fixture *f = *state;
  const int64_t shape[] = {INT64_C(1) << 27, 4};
  kit_constant(&f->k, 5, kit_ints(&f->k, shape, 2));
  kit_constant(&f->k, 6, bsm_iv_bool(false));
  kit_call(&f->k, 1, "aten::expand", R(0, 5, 6), R(10));
  kit_call(&f->k, 1, "aten::unbind.int", R(10, 1), R(11));
  kit_call(&f->k, 1, "aten::len.t", R(11), R(12));
  set_region(f, R(0), R(12, 0));
  const bsm_ivalue in = kit_meta(&f->k, BSM_DTYPE_UINT8, (bsm_dims){2, {1, 4}});
  kit_expect(plan(f, &in), BSM_LIMIT, "planning takes more than");
}

static void huge_tensors(void **state) {
  fixture *f = *state;
  const int64_t shape[] = {INT64_C(1) << 40, 4};
  kit_constant(&f->k, 5, kit_ints(&f->k, shape, 2));
  kit_constant(&f->k, 6, bsm_iv_bool(false));
  kit_call(&f->k, 1, "aten::expand", R(0, 5, 6), R(10));
  kit_call(&f->k, 1, "aten::abs", R(10), R(11));
  set_region(f, R(0), R(11));
  const bsm_ivalue in = matrix(f, 1, 4);
  kit_expect(plan(f, &in), BSM_LIMIT, "exceeds the limit");
}

/* ---- want of memory ---- */

static bsm_status plan_with(fixture *f, bsm_planner *planner,
                            const bsm_allocator *allocator,
                            const bsm_ivalue *in) {
  bsm_arena arena;
  bsm_arena_init(&arena, allocator);
  bsm_status status =
      bsm_planner_plan(planner, f->region, in, NULL, &arena, &f->made);
  bsm_arena_destroy(&arena);
  return status;
}

static bsm_status create_and_plan(fixture *f, test_allocator *a,
                                  const bsm_ivalue *in) {
  const bsm_planner_options options = {
      .plan = &f->k.plan,
      .aten = f->k.aten,
      .constants = &f->k.constants,
      .allocator = &a->base,
      .building = {.target = test_target(1), .no_timing = true}};
  bsm_planner *planner;
  BSM_TRY(bsm_planner_create(&options, &planner));
  bsm_status status = plan_with(f, planner, &a->base, in);
  const bool failed = status != NULL;
  bsm_status again = BSM_OK;
  if (failed) { /* the planner has taken no harm */
    a->fail_at = 0;
    again = plan_with(f, planner, &a->base, in);
  }
  bsm_planner_destroy(planner);
  kit_check(again);
  return status;
}

static void memory_runs_out(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 1, "aten::relu", R(0), R(10));
  kit_call(&f->k, 1, "aten::chunk", R(10, 5, 1), R(11));
  kit_add(&f->k, 1, BSM_INSTRUCTION_UNPACK, "", R(11), R(12, 13));
  kit_add(&f->k, 1, BSM_INSTRUCTION_LIST, "", R(13, 12), R(14));
  kit_call(&f->k, 1, "aten::cat", R(14, 2), R(15));
  kit_call(&f->k, 1, "aten::matmul", R(15, 6), R(16));
  kit_call(&f->k, 1, "aten::cumsum", R(16, 2, 4), R(17));
  kit_constant(&f->k, 5, bsm_iv_int(2));
  set_region(f, R(0, 6), R(17, 16));
  kit_verify(&f->k);
  const bsm_ivalue in[] = {matrix(f, 4, 4), matrix(f, 8, 3)};
  test_allocator a;
  test_allocator_init(&a, INT_MAX);
  kit_check(create_and_plan(f, &a, in));
  assert_int_equal(a.live, 0);
  const int calls = a.calls;
  int failures = 0;
  assert_true(calls > 20);
  for (int n = 1; n <= calls; n++) {
    a.calls = 0;
    a.fail_at = n;
    bsm_status status = create_and_plan(f, &a, in);
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    failures++;
    assert_int_equal(a.live, 0);
  }
  assert_int_equal(failures, calls);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_region_becomes_a_plan),
      TEST(results_of_all_kinds),
      TEST(a_constant_as_a_result),
      TEST(numbers_go_in),
      TEST(one_register_twice),
      TEST(lists_inside),
      TEST(loops_are_unrolled),
      TEST(plans_are_the_same_again),
      TEST(containers_do_not_cross),
      TEST(data_is_needed),
      TEST(what_nothing_sets),
      TEST(no_results),
      TEST(regions_raise),
      TEST(quantized_tensors),
      TEST(lists_of_lists),
      TEST(unrolling_ends),
      TEST(planning_takes_little_memory),
      TEST(huge_tensors),
      TEST(memory_runs_out),
  };
  return cmocka_run_group_tests_name("planner", tests, NULL, NULL);
}
