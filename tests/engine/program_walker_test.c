/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which programs run, under a policy that adds numbers and moves
 * all values to another arena after each instruction. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine/program_walker.h"

#include <stdio.h>
#include <string.h>

#define R(...)   \
  (uint32_t[]) { \
    __VA_ARGS__  \
  }
#define COUNT(...) (sizeof(R(__VA_ARGS__)) / sizeof(uint32_t))
#define IN(...) .inputs = R(__VA_ARGS__), .input_count = COUNT(__VA_ARGS__)
#define OUT(...) .outputs = R(__VA_ARGS__), .output_count = COUNT(__VA_ARGS__)
#define RESULTS(...) \
  .results = R(__VA_ARGS__), .result_count = COUNT(__VA_ARGS__)
#define PARAMS(...) .params = R(__VA_ARGS__), .param_count = COUNT(__VA_ARGS__)
#define RUN(...)                                    \
  .instructions = (bsm_instruction[]){__VA_ARGS__}, \
  .instruction_count =                              \
      sizeof((bsm_instruction[]){__VA_ARGS__}) / sizeof(bsm_instruction)
#define ADD BSM_INSTRUCTION_CALL, "add", ""

enum { REGISTERS = 32 };

typedef struct runner {
  bsm_program_walker walker;
  bsm_program program;
  bsm_arena arenas[2];
  bsm_ivalue registers[REGISTERS];
  char log[256];   /* "2: add." for an instruction of block 2 that has ended */
  int64_t refused; /* a sum that fails */
} runner;

static void note(runner *r, const char *name, const char *end) {
  const size_t n = strlen(r->log);
  snprintf(r->log + n, sizeof(r->log) - n, "%u:%s%s ", r->walker.block, name,
           end);
}

static bsm_status compute(bsm_program_walker *w, const bsm_instruction *i,
                          const bsm_ivalue *args) {
  runner *r = (runner *)w;
  int64_t sum = 0;
  if (i->kind == BSM_INSTRUCTION_REGION) {
    return bsm_walk_inner(w, i, i->blocks[0]);
  }
  for (uint32_t k = 0; k < i->input_count; k++) sum += args[k].u.i;
  if (sum == r->refused) return BSM_FAIL(BSM_RAISED, "not this sum");
  w->registers[i->outputs[0]] = bsm_iv_int(sum);
  return BSM_OK;
}

/* Lists alone are in an arena here, and have no lists in them. */
static void move_values(runner *r) {
  bsm_arena *from = r->walker.arena, *to = &r->arenas[from == r->arenas];
  for (int k = 0; k < REGISTERS; k++) {
    bsm_ivalue *v = &r->registers[k];
    bsm_list *list;
    if (v->tag != BSM_IVALUE_LIST) continue;
    assert_null(bsm_list_new(to, NULL, v->u.list->len, &list));
    for (size_t i = 0; i < list->len; i++) list->items[i] = v->u.list->items[i];
    *v = bsm_iv_list(list);
  }
  bsm_arena_destroy(from);
  r->walker.arena = to;
}

static bsm_status finish(bsm_program_walker *w, const bsm_instruction *i,
                         bsm_status status) {
  runner *r = (runner *)w;
  note(r, bsm_instruction_kind_name(i->kind), status ? "!" : "");
  move_values(r);
  return status;
}

static bsm_status refuse(const bsm_program_walker *w) {
  (void)w;
  return BSM_FAIL(BSM_LIMIT, "enough");
}

static const bsm_program_policy policy = {
    .compute = compute, .finish = finish, .refuse = refuse};

static void start(runner *r, bsm_program_block *blocks, uint32_t count) {
  *r = (runner){.refused = -1};
  r->program = (bsm_program){
      .register_count = REGISTERS, .blocks = blocks, .block_count = count};
  bsm_arena_init(&r->arenas[0], NULL);
  bsm_arena_init(&r->arenas[1], NULL);
  r->walker = (bsm_program_walker){.program = &r->program,
                                   .policy = &policy,
                                   .registers = r->registers,
                                   .arena = &r->arenas[0],
                                   .budget = 1000};
  for (int k = 0; k < REGISTERS; k++) r->registers[k] = bsm_iv_int(k);
}

static void expect(runner *r, bsm_code code, const char *log) {
  bsm_status status = bsm_walk_block(&r->walker, 0);
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
  assert_string_equal(r->log, log);
  assert_int_equal(r->walker.block, 0);
}

static void stop(runner *r) {
  bsm_arena_destroy(&r->arenas[0]);
  bsm_arena_destroy(&r->arenas[1]);
}

/* ---- tests ---- */

static void branches_take_one_side(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({BSM_INSTRUCTION_IF, "", "", IN(1), OUT(5), .blocks = {1, 2}})},
      {RUN({ADD, IN(2, 3), OUT(4)}), RESULTS(4)},
      {RESULTS(3)}};
  runner r;
  start(&r, blocks, 3);
  r.registers[1] = bsm_iv_bool(true);
  expect(&r, BSM_CODE_OK, "1:call 0:if ");
  assert_int_equal(r.registers[5].u.i, 5);
  stop(&r);
  start(&r, blocks, 3);
  r.registers[1] = bsm_iv_bool(false);
  expect(&r, BSM_CODE_OK, "0:if ");
  assert_int_equal(r.registers[5].u.i, 3);
  stop(&r);
  start(&r, blocks, 3);
  expect(&r, BSM_CORRUPT, "0:if! ");
  stop(&r);
}

/* Results are read before outputs are set, though they are the same. */
static void results_become_outputs_at_once(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({BSM_INSTRUCTION_REGION, "", "", OUT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
            .blocks = {1}})},
      {RESULTS(2, 1, 4, 3, 6, 5, 8, 7, 10, 9)}};
  runner r;
  start(&r, blocks, 2);
  expect(&r, BSM_CODE_OK, "0:region ");
  for (int k = 1; k <= 10; k++) {
    assert_int_equal(r.registers[k].u.i, k % 2 ? k + 1 : k - 1);
  }
  stop(&r);
}

/* Carried: a number, a list, and more than fit on the stack. Values move. */
static void loops_carry_values(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({BSM_INSTRUCTION_LIST, "", "", IN(4, 5), OUT(20)},
           {BSM_INSTRUCTION_LOOP, "", "", IN(3, 1, 2, 20, 6, 7, 8, 9, 10, 11),
            OUT(2, 20, 6, 7, 8, 9, 10, 11), .blocks = {1}})},
      {PARAMS(30, 21, 22, 12, 13, 14, 15, 16, 17),
       RUN({ADD, IN(21, 30), OUT(23)}),
       RESULTS(1, 23, 22, 13, 12, 14, 15, 16, 17)}};
  runner r;
  start(&r, blocks, 2);
  r.registers[1] = bsm_iv_bool(true);
  expect(&r, BSM_CODE_OK, "0:list 1:call 1:call 1:call 0:loop ");
  assert_int_equal(r.registers[2].u.i, 2 + 0 + 1 + 2);
  assert_int_equal(r.registers[20].tag, BSM_IVALUE_LIST);
  assert_int_equal(r.registers[20].u.list->items[1].u.i, 5);
  assert_int_equal(r.registers[6].u.i, 7);
  assert_int_equal(r.registers[7].u.i, 6);
  assert_int_equal(r.registers[11].u.i, 11);
  stop(&r);
}

static void loops_end_when_the_condition_does(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({BSM_INSTRUCTION_LOOP, "", "", IN(9, 1, 5), OUT(6), .blocks = {1}})},
      {PARAMS(7, 8), RUN({ADD, IN(8, 3), OUT(4)}), RESULTS(2, 4)}};
  runner r;
  start(&r, blocks, 2);
  r.registers[1] = bsm_iv_bool(true);
  r.registers[2] = bsm_iv_bool(false);
  expect(&r, BSM_CODE_OK, "1:call 0:loop ");
  assert_int_equal(r.registers[6].u.i, 8);
  stop(&r);
  start(&r, blocks, 2);
  r.registers[1] = bsm_iv_bool(false);
  expect(&r, BSM_CODE_OK, "0:loop ");
  assert_int_equal(r.registers[6].u.i, 5);
  stop(&r);
  start(&r, blocks, 2);
  r.registers[1] = bsm_iv_bool(true);
  expect(&r, BSM_CORRUPT, "1:call 0:loop! "); /* the body's condition */
  stop(&r);
  start(&r, blocks, 2);
  expect(&r, BSM_CORRUPT, "0:loop! "); /* the first one */
  stop(&r);
}

static void failures_end_all_blocks(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({BSM_INSTRUCTION_IF, "", "", IN(1), .blocks = {1, 2}},
           {ADD, IN(1), OUT(2)})},
      {RUN({ADD, IN(3), OUT(4)}, {ADD, IN(5), OUT(6)}, {ADD, IN(6), OUT(7)})},
      {.params = NULL}};
  runner r;
  start(&r, blocks, 3);
  r.registers[1] = bsm_iv_bool(true);
  r.refused = 5;
  expect(&r, BSM_RAISED, "1:call 1:call! 0:if! ");
  stop(&r);
}

/* Turns count, too: a body may be empty. */
static void work_is_bounded(void **state) {
  (void)state;
  bsm_program_block blocks[] = {
      {RUN({ADD, IN(1), OUT(2)},
           {BSM_INSTRUCTION_LOOP, "", "", IN(9, 1), .blocks = {1}})},
      {PARAMS(7), RESULTS(1)}};
  runner r;
  uint64_t done = 0;
  start(&r, blocks, 2);
  r.registers[1] = bsm_iv_bool(true);
  r.walker.done = &done;
  expect(&r, BSM_CODE_OK, "0:call 0:loop ");
  assert_int_equal(done, 1 + 1 + 9);
  assert_int_equal(r.walker.budget, 1000 - done);
  r.walker.budget = 6;
  r.log[0] = '\0';
  expect(&r, BSM_LIMIT, "0:call 0:loop! ");
  assert_int_equal(done, 11 + 6);
  stop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(branches_take_one_side),
      cmocka_unit_test(results_become_outputs_at_once),
      cmocka_unit_test(loops_carry_values),
      cmocka_unit_test(loops_end_when_the_condition_does),
      cmocka_unit_test(failures_end_all_blocks),
      cmocka_unit_test(work_is_bounded),
  };
  return cmocka_run_group_tests_name("program_walker", tests, NULL, NULL);
}
