/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions of a program become regions. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "planner/planner.h"
#include "planner/program_kit.h"
#include "tests/target_kit.h"

typedef struct fixture {
  program_kit k;
  bool alone[KIT_REGISTERS];
  size_t least;
} fixture;

static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof(f));
  kit_init(&f.k);
  kit_input(&f.k, 0, BSM_DTYPE_FLOAT, 2);
  kit_constant(&f.k, 1, bsm_iv_int(0));
  kit_constant(&f.k, 2, bsm_iv_int(1));
  kit_constant(&f.k, 3, bsm_iv_bool(true));
  f.least = 1;
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  kit_destroy(&f->k);
  return 0;
}

/* For x of [3, 4]; the program is right before and after. */
static void form(fixture *f) {
  bsm_planner *planner;
  const bsm_planner_options options = {
      .plan = &f->k.plan,
      .aten = f->k.aten,
      .constants = &f->k.constants,
      .building = {.target = test_target(1), .no_timing = true}};
  const bsm_ivalue x = kit_meta(&f->k, BSM_DTYPE_FLOAT, (bsm_dims){2, {3, 4}});
  kit_verify(&f->k);
  kit_check(bsm_planner_create(&options, &planner));
  kit_check(bsm_planner_form_regions(planner, &x, f->alone, f->least,
                                     &f->k.program, &f->k.arena));
  bsm_planner_destroy(planner);
  kit_verify(&f->k);
}

static const bsm_instruction *top(const fixture *f, uint32_t index) {
  assert_true(index < f->k.program.blocks[0].instruction_count);
  return &f->k.program.blocks[0].instructions[index];
}

static const bsm_program_block *inside(const fixture *f,
                                       const bsm_instruction *region) {
  assert_int_equal(region->kind, BSM_INSTRUCTION_REGION);
  return &f->k.program.blocks[region->blocks[0]];
}

/* What block 0 is, one letter for each instruction: R region, else the first
 * of its kind or, for calls, of the op. */
static void check_top(const fixture *f, const char *want) {
  char got[KIT_INSTRUCTIONS + 1] = {0};
  const bsm_program_block *b = &f->k.program.blocks[0];
  for (uint32_t i = 0; i < b->instruction_count; i++) {
    const bsm_instruction *n = &b->instructions[i];
    got[i] = n->kind == BSM_INSTRUCTION_REGION ? 'R'
             : n->kind == BSM_INSTRUCTION_CALL
                 ? n->name[strlen("aten::")]
                 : bsm_instruction_kind_name(n->kind)[0];
  }
  assert_string_equal(got, want);
}

static void check_ids(const uint32_t *got, uint32_t count, const uint32_t *want,
                      uint32_t wanted) {
  assert_int_equal(count, wanted);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(got[i], want[i]);
}
#define check_inputs(i, ...) \
  check_ids((i)->inputs, (i)->input_count, __VA_ARGS__)
#define check_outputs(i, ...) \
  check_ids((i)->outputs, (i)->output_count, __VA_ARGS__)

/* ---- tests ---- */

static void everything_fits(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_call(&f->k, 0, "aten::tanh", R(4), R(5));
  kit_call(&f->k, 0, "aten::size.int", R(5, 1), R(6));
  kit_call(&f->k, 0, "aten::mul.Scalar", R(5, 6), R(7));
  kit_output(&f->k, 7);
  kit_output(&f->k, 4);
  form(f);
  check_top(f, "R");
  check_inputs(top(f, 0), R(0));
  check_outputs(top(f, 0), R(7, 4)); /* as the engine's outputs are */
  const bsm_program_block *b = inside(f, top(f, 0));
  assert_int_equal(b->instruction_count, 4);
  /* Results have names of their own inside. */
  for (uint32_t i = 0; i < b->result_count; i++) {
    assert_true(b->results[i] >= KIT_REGISTERS);
  }
  assert_int_equal(b->instructions[0].outputs[0], b->results[1]);
  assert_int_equal(b->instructions[1].inputs[0], b->results[1]);
  assert_int_equal(b->instructions[3].outputs[0], b->results[0]);
}

static void data_stays_outside(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_call(&f->k, 0, "aten::nonzero", R(4), R(5));
  kit_call(&f->k, 0, "aten::abs", R(5), R(6));  /* of unknown shape */
  kit_call(&f->k, 0, "aten::tanh", R(4), R(7)); /* with the first */
  kit_output(&f->k, 6);
  kit_output(&f->k, 7);
  form(f);
  check_top(f, "Rna");
  check_outputs(top(f, 0), R(7, 4));
}

static void nothing_fits(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::nonzero", R(0), R(4));
  kit_call(&f->k, 0, "aten::abs", R(4), R(5));
  kit_output(&f->k, 5);
  form(f);
  check_top(f, "na");
  assert_int_equal(f->k.program.block_count, 1);
}

static void what_stands_alone(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_call(&f->k, 0, "aten::size.int", R(4, 1), R(5));
  kit_call(&f->k, 0, "aten::tanh", R(4), R(6));
  kit_call(&f->k, 0, "aten::mul.Scalar", R(6, 5), R(7));
  kit_call(&f->k, 0, "aten::add.Tensor", R(7, 0, 2), R(8));
  kit_output(&f->k, 8);
  f->alone[6] = true;
  form(f);
  check_top(f, "RtR");
  check_outputs(top(f, 0), R(4, 5)); /* a number goes along */
  check_inputs(top(f, 1), R(4));
  check_inputs(top(f, 2), R(0, 6, 5)); /* the engine's first */
  check_outputs(top(f, 2), R(8));
}

static void small_regions_are_not_worth_it(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_call(&f->k, 0, "aten::size.int", R(4, 1), R(5)); /* counts for nothing */
  kit_call(&f->k, 0, "aten::tanh", R(4), R(6));
  kit_call(&f->k, 0, "aten::abs", R(6), R(7));
  kit_call(&f->k, 0, "aten::neg", R(7), R(8));
  kit_output(&f->k, 8);
  kit_output(&f->k, 4);
  f->alone[6] = true;
  f->least = 2;
  form(f);
  check_top(f, "rstR");
  assert_int_equal(inside(f, top(f, 3))->instruction_count, 2);
  check_inputs(top(f, 3), R(6));
}

/* A list that only the region reads is inside; one that leaves is made
 * outside, of what leaves instead. */
static void containers_do_not_cross(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_call(&f->k, 0, "aten::tanh", R(0), R(5));
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(4, 5), R(6));
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(5, 4), R(7));
  kit_call(&f->k, 0, "aten::cat", R(6, 1), R(8));
  kit_call(&f->k, 0, "aten::cat", R(7, 1), R(9));
  kit_output(&f->k, 8);
  kit_output(&f->k, 9);
  f->alone[9] = true;
  form(f);
  check_top(f, "Rlc");
  check_outputs(top(f, 0), R(8, 5, 4));
  check_inputs(top(f, 1), R(5, 4));
}

static void a_list_as_a_result(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::relu", R(0), R(4));
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(4, 0), R(5));
  bsm_program_block *block = &f->k.program.blocks[0];
  kit_output(&f->k, 4);
  block->results[block->result_count++] = 5;
  form(f);
  check_top(f, "Rl");
}

/* Who changes a list stays with who made it, and comes when all have read
 * it. */
static void effects_keep_their_order(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(0), R(4));
  kit_call(&f->k, 0, "aten::nonzero", R(0), R(5));
  kit_call(&f->k, 0, "aten::relu", R(0), R(6));
  kit_call(&f->k, 0, "aten::tanh", R(6), R(7));
  kit_call(&f->k, 0, "aten::abs", R(7), R(8));
  kit_call(&f->k, 0, "aten::neg", R(8), R(9));
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(4, 9), R(10)); /* reads */
  kit_call(&f->k, 0, "aten::append.t", R(4, 0), R(11));
  kit_call(&f->k, 0, "aten::len.t", R(4), R(12));
  kit_call(&f->k, 0, "aten::mul.Scalar", R(6, 12), R(13));
  kit_output(&f->k, 13);
  bsm_program_block *block = &f->k.program.blocks[0];
  block->results[block->result_count++] = 10;
  f->alone[7] = true; /* relu | tanh | abs | neg: later and later */
  f->alone[9] = true;
  form(f);
  const bsm_program_block *b = &f->k.program.blocks[0];
  int list = -1, append = -1, len = -1;
  for (uint32_t i = 0; i < b->instruction_count; i++) {
    const bsm_instruction *n = &b->instructions[i];
    if (n->output_count != 1) continue;
    if (n->outputs[0] == 10) list = (int)i;
    if (n->outputs[0] == 11) append = (int)i;
    if (n->outputs[0] == 12) len = (int)i;
  }
  assert_true(list >= 0);
  assert_true(append > list);
  assert_true(len > append);
}

/* The same inside of a loop. */
static void effects_inside_of_loops(void **state) {
  fixture *f = *state;
  kit_add(&f->k, 0, BSM_INSTRUCTION_LIST, "", R(0), R(4));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_LOOP, R(2, 3), NONE, R(1));
  kit_params(&f->k, 1, R(20));
  kit_call(&f->k, 1, "aten::nonzero", R(0), R(21));
  kit_call(&f->k, 1, "aten::append.t", R(4, 21), R(22));
  kit_results(&f->k, 1, R(3));
  kit_call(&f->k, 0, "aten::len.t", R(4), R(5));
  kit_call(&f->k, 0, "aten::mul.Scalar", R(0, 5), R(6));
  kit_output(&f->k, 6);
  form(f);
  const bsm_program_block *b = &f->k.program.blocks[0];
  uint32_t loop = UINT32_MAX;
  for (uint32_t i = 0; i < b->instruction_count; i++) {
    const bsm_instruction *n = &b->instructions[i];
    if (n->kind == BSM_INSTRUCTION_LOOP) loop = i;
    /* The list is not in a region, and its length is taken afterwards. */
    if (n->kind == BSM_INSTRUCTION_LIST) assert_true(loop == UINT32_MAX);
    if (n->output_count == 1 && n->outputs[0] == 5) {
      assert_int_equal(n->kind, BSM_INSTRUCTION_CALL);
      assert_true(loop < i);
    }
  }
  assert_true(loop != UINT32_MAX);
}

/* Loops and branches over shapes go in with their blocks, which come behind
 * the region's; those over data stay. */
static void blocks_stay_in_order(void **state) {
  fixture *f = *state;
  kit_call(&f->k, 0, "aten::size.int", R(0, 1), R(4));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_LOOP, R(4, 3, 0), R(5), R(1));
  kit_params(&f->k, 1, R(20, 21));
  kit_call(&f->k, 1, "aten::relu", R(21), R(22));
  kit_results(&f->k, 1, R(3, 22));
  kit_call(&f->k, 0, "aten::any", R(5), R(6));
  kit_call(&f->k, 0, "aten::Bool.Tensor", R(6), R(7));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_IF, R(7), R(8), R(2, 3));
  kit_call(&f->k, 2, "aten::tanh", R(5), R(23));
  kit_results(&f->k, 2, R(23));
  kit_results(&f->k, 3, R(5));
  kit_output(&f->k, 8);
  form(f);
  check_top(f, "RBi");
  const bsm_instruction *region = top(f, 0);
  assert_int_equal(region->blocks[0], 1);
  const bsm_program_block *b = inside(f, region);
  assert_int_equal(b->instruction_count, 3);
  assert_int_equal(b->instructions[1].kind, BSM_INSTRUCTION_LOOP);
  assert_int_equal(b->instructions[1].blocks[0], 2);
  assert_int_equal(top(f, 2)->blocks[0], 3);
  assert_int_equal(top(f, 2)->blocks[1], 4);
  check_outputs(region, R(6, 5)); /* what the blocks of the branch read, too */
}

/* What raises for the best shapes is left to the run. */
static void checks_that_raise(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 4, kit_string(&f->k, "no"));
  kit_call(&f->k, 0, "aten::size.int", R(0, 1), R(5));
  kit_call(&f->k, 0, "aten::gt.int", R(5, 2), R(6));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_IF, R(6), NONE, R(1, 2));
  kit_add(&f->k, 1, BSM_INSTRUCTION_RAISE, "", R(4), NONE);
  kit_call(&f->k, 0, "aten::relu", R(0), R(7));
  kit_output(&f->k, 7);
  form(f);
  check_top(f, "Ri");
  assert_int_equal(inside(f, top(f, 0))->instruction_count, 3);
}

/* A check that passes for them goes in. */
static void checks_that_pass(void **state) {
  fixture *f = *state;
  kit_constant(&f->k, 4, kit_string(&f->k, "no"));
  kit_call(&f->k, 0, "aten::size.int", R(0, 1), R(5));
  kit_call(&f->k, 0, "aten::gt.int", R(5, 2), R(6));
  kit_nest(&f->k, 0, BSM_INSTRUCTION_IF, R(6), NONE, R(1, 2));
  kit_add(&f->k, 2, BSM_INSTRUCTION_RAISE, "", R(4), NONE);
  kit_call(&f->k, 0, "aten::relu", R(0), R(7));
  kit_output(&f->k, 7);
  form(f);
  check_top(f, "R");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(everything_fits),
      TEST(data_stays_outside),
      TEST(nothing_fits),
      TEST(what_stands_alone),
      TEST(small_regions_are_not_worth_it),
      TEST(containers_do_not_cross),
      TEST(a_list_as_a_result),
      TEST(effects_keep_their_order),
      TEST(effects_inside_of_loops),
      TEST(blocks_stay_in_order),
      TEST(checks_that_raise),
      TEST(checks_that_pass),
  };
  return cmocka_run_group_tests_name("form_regions", tests, NULL, NULL);
}
