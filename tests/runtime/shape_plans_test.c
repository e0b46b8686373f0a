/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of plans made for shapes. The engines are made by hand: block 1 is
 * a region of x and n. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/thread_pool.h"
#include "engine/ivalue_bytes.h"
#include "runtime/shapes/shape_plans.h"
#include "tests/base/test_allocator.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_aten_library *aten;
  bsm_plan plan;
  bsm_program program;
  bsm_program_block blocks[2];
  bsm_instruction top[1], inner[4];
  bsm_engine engine;
  bsm_execution execution;
  bsm_shape_plans *plans;
  bsm_plan_weights weights[2];
  bsm_program_derived derived[2];
  uint32_t ids[40];
} fixture;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static bsm_instruction call(fixture *f, const char *name, uint32_t input,
                            uint32_t count, uint32_t output) {
  return (bsm_instruction){.kind = BSM_INSTRUCTION_CALL,
                           .name = name,
                           .source = "",
                           .input_count = count,
                           .output_count = 1,
                           .inputs = &f->ids[input],
                           .outputs = &f->ids[output]};
}

/* r2 = x * n, which `second` is done with. */
static int set_up_with(void **state, const char *second) {
  static fixture f;
  memset(&f, 0, sizeof(f));
  bsm_arena_init(&f.arena, NULL);
  for (uint32_t i = 0; i < 40; i++) f.ids[i] = i;
  f.inner[0] = call(&f, "aten::mul.Scalar", 0, 2, 2);
  f.inner[1] = call(&f, second, 2, 1, 3);
  f.blocks[1] = (bsm_program_block){0, 1, f.ids, &f.ids[3], 2, f.inner};
  f.top[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_REGION,
                               .name = "",
                               .source = "",
                               .input_count = 2,
                               .output_count = 1,
                               .inputs = f.ids,
                               .outputs = &f.ids[5],
                               .block_count = 1,
                               .blocks = {1}};
  f.blocks[0] = (bsm_program_block){2, 1, f.ids, &f.ids[5], 1, f.top};
  bsm_text none;
  bsm_text_init(&none, &f.arena);
  check(bsm_ivalues_to_bytes(&none, NULL, 0, NULL, 0));
  f.program = (bsm_program){.register_count = 8,
                            .blocks = f.blocks,
                            .block_count = 2,
                            .constants = (const uint8_t *)none.data,
                            .constants_size = (uint32_t)none.len,
                            .constant_registers = f.ids,
                            .constant_tensors = f.ids};
  f.plan.program = &f.program;
  check(bsm_aten_library_create(&f.arena, &f.aten));
  f.engine = (bsm_engine){.plan = &f.plan, .aten = f.aten};
  const bsm_device_ops **ops = &f.engine.ops[BSM_SPACE_HOST];
  check(bsm_device_find(bsm_str_of("cpu"), ops));
  check((*ops)->open(&(bsm_device_options){0},
                     &f.engine.devices[BSM_SPACE_HOST]));
  check(bsm_execution_open(
      &f.engine, &(bsm_execution_options){.threads = 1, .isa = BSM_ISA_DETECT},
      &f.execution));
  *state = &f;
  return 0;
}

static int set_up(void **state) {
  return set_up_with(state, "aten::relu");
}

static int set_up_unplannable(void **state) {
  return set_up_with(state, "aten::nonzero");
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_shape_plans_destroy(f->plans);
  bsm_execution_close(&f->execution);
  bsm_device *device = f->engine.devices[BSM_SPACE_HOST];
  device->ops->close(device);
  bsm_arena_destroy(&f->arena);
  return 0;
}

static const bsm_run_limits no_limits = {0, 0};

static void create(fixture *f, size_t capacity, bool profile) {
  f->execution.profile = profile;
  check(bsm_shape_plans_create(&f->execution, &no_limits, capacity, &f->plans));
}

static bsm_workspace *workspace(fixture *f) {
  return &f->execution.workspaces[BSM_SPACE_HOST];
}

static bsm_ivalue tensor(fixture *f, bsm_dtype dtype, bsm_dims dims) {
  bsm_tensor *t;
  check(bsm_tensor_new(&f->arena, dtype, dims, true, &t));
  return bsm_iv_tensor(t);
}

/* Whether the plan was made just now. */
static bool made_for(fixture *f, bsm_ivalue x, bsm_ivalue n) {
  const bsm_ivalue inputs[] = {x, n};
  const uint64_t before = bsm_shape_plans_made(f->plans);
  bsm_shape_plan *found;
  check(bsm_shape_plans_find(f->plans, f->top, inputs, &found));
  assert_non_null(found);
  const bsm_plan *plan = found->planned.plan;
  assert_int_equal(plan->input_count, 1);
  assert_true(bsm_dims_equal(plan->tensors[plan->inputs[0].tensor].dims,
                             x.u.tensor->sizes));
  return bsm_shape_plans_made(f->plans) > before;
}

static bool made(fixture *f, int64_t rows) {
  return made_for(f, tensor(f, BSM_DTYPE_FLOAT, (bsm_dims){2, {rows, 3}}),
                  bsm_iv_int(2));
}

static void the_oldest_goes(void **state) {
  fixture *f = *state;
  create(f, 3, false);
  for (int64_t rows = 1; rows <= 3; rows++) assert_true(made(f, rows));
  for (int64_t rows = 1; rows <= 3; rows++) assert_false(made(f, rows));
  assert_false(made(f, 1)); /* 2 is the oldest now */
  assert_true(made(f, 4));
  assert_false(made(f, 3));
  assert_false(made(f, 1));
  assert_true(made(f, 2)); /* takes the place of 4 */
  assert_false(made(f, 3));
  assert_false(made(f, 1));
  assert_true(made(f, 4));
}

static void one_place_is_enough(void **state) {
  fixture *f = *state;
  create(f, 1, false);
  assert_true(made(f, 1));
  assert_false(made(f, 1));
  assert_true(made(f, 2));
  assert_true(made(f, 1));
}

static void the_default_bounds_too(void **state) {
  fixture *f = *state;
  create(f, 0, false);
  for (int64_t rows = 1; rows <= 16; rows++) assert_true(made(f, rows));
  for (int64_t rows = 1; rows <= 16; rows++) assert_false(made(f, rows));
  assert_true(made(f, 17));
  assert_true(made(f, 1));
}

static void more_places_than_there_can_be(void **state) {
  fixture *f = *state;
  create(f, SIZE_MAX, false);
  assert_true(made(f, 1));
  assert_false(made(f, 1));
}

static void what_tells_shapes_apart(void **state) {
  fixture *f = *state;
  const bsm_dims square = {2, {3, 3}}, flat = {1, {9}}, one = {2, {9, 1}};
  const bsm_ivalue two = bsm_iv_int(2);
  create(f, 64, false);
  const bsm_ivalue x = tensor(f, BSM_DTYPE_FLOAT, square);
  assert_true(made_for(f, x, two));
  assert_true(made_for(f, tensor(f, BSM_DTYPE_FLOAT, flat), two));
  assert_true(made_for(f, tensor(f, BSM_DTYPE_FLOAT, one), two));
  assert_true(made_for(f, tensor(f, BSM_DTYPE_INT32, square), two));
  assert_true(made_for(f, tensor(f, BSM_DTYPE_FLOAT, (bsm_dims){0}), two));
  assert_true(made_for(f, x, bsm_iv_int(3)));
  assert_true(made_for(f, x, bsm_iv_int(-2)));
  assert_true(made_for(f, x, bsm_iv_double(2)));
  assert_true(made_for(f, x, bsm_iv_double(2.5)));
  assert_true(made_for(f, x, bsm_iv_double(0.0)));
  assert_true(made_for(f, x, bsm_iv_double(-0.0)));
  assert_true(made_for(f, x, bsm_iv_bool(true)));
  assert_true(made_for(f, x, bsm_iv_bool(false)));
  assert_true(made_for(f, x, bsm_iv_int(1))); /* is no bool */
  assert_false(made_for(f, tensor(f, BSM_DTYPE_FLOAT, square), two));
  assert_false(made_for(f, x, bsm_iv_double(2.5)));
  assert_false(made_for(f, x, bsm_iv_bool(true)));
}

/* A number that became a tensor promotes dtypes less than a tensor. */
static void wrapped_numbers(void **state) {
  fixture *f = *state;
  bsm_shape_plan *found;
  create(f, 4, false);
  bsm_ivalue in[] = {tensor(f, BSM_DTYPE_INT64, (bsm_dims){0}), bsm_iv_int(2)};
  check(bsm_shape_plans_find(f->plans, f->top, in, &found));
  in[0] = tensor(f, BSM_DTYPE_INT64, (bsm_dims){0});
  in[0].u.tensor->wrapped_number = true;
  check(bsm_shape_plans_find(f->plans, f->top, in, &found));
  assert_int_equal(bsm_shape_plans_made(f->plans), 2);
}

static void containers_are_not_planned(void **state) {
  fixture *f = *state;
  bsm_shape_plan *found;
  bsm_list *list;
  create(f, 4, false);
  check(bsm_list_new(&f->arena, NULL, 0, &list));
  const bsm_ivalue in[] = {tensor(f, BSM_DTYPE_FLOAT, (bsm_dims){1, {2}}),
                           bsm_iv_list(list)};
  check(bsm_shape_plans_find(f->plans, f->top, in, &found));
  assert_null(found);
  assert_int_equal(bsm_shape_plans_made(f->plans), 0);
}

static bool is_refused(fixture *f, int64_t rows) {
  const bsm_ivalue in[] = {tensor(f, BSM_DTYPE_FLOAT, (bsm_dims){1, {rows}}),
                           bsm_iv_int(2)};
  bsm_shape_plan *found;
  check(bsm_shape_plans_find(f->plans, f->top, in, &found));
  return found == NULL;
}

static void refusals_are_remembered(void **state) {
  fixture *f = *state;
  create(f, 2, false);
  for (int i = 0; i < 5; i++) assert_true(is_refused(f, 3));
  assert_int_equal(bsm_shape_plans_made(f->plans), 1);
  assert_true(is_refused(f, 4));
  assert_true(is_refused(f, 3));
  assert_int_equal(bsm_shape_plans_made(f->plans), 2);
  assert_true(is_refused(f, 5)); /* for 4, which is the oldest */
  assert_true(is_refused(f, 3));
  assert_int_equal(bsm_shape_plans_made(f->plans), 3);
  assert_int_equal(bsm_shape_plans_cost(f->plans), 3 * 2);
}

/* The caller's workspace cannot grow. */
static void little_workspace(void **state) {
  fixture *f = *state;
  static _Alignas(64) uint8_t given[64];
  workspace(f)->given = given;
  workspace(f)->given_size = sizeof(given);
  f->inner[1].name = "aten::cumsum"; /* not fused: it needs memory */
  f->inner[1].input_count = 3;
  f->program.register_count = 40;
  f->inner[1].inputs = (uint32_t[]){2, 10, 11};
  static bsm_ivalue values[] = {{.tag = BSM_IVALUE_INT},
                                {.tag = BSM_IVALUE_NONE}};
  bsm_text bytes;
  bsm_text_init(&bytes, &f->arena);
  check(bsm_ivalues_to_bytes(&bytes, values, 2, NULL, 0));
  f->program.constants = (const uint8_t *)bytes.data;
  f->program.constants_size = (uint32_t)bytes.len;
  f->program.constant_registers = &f->ids[10];
  f->program.constant_count = 2;
  create(f, 4, false);
  assert_true(is_refused(f, 1000));
  workspace(f)->given = NULL;
  assert_true(is_refused(f, 1000)); /* remembered */
  assert_false(is_refused(f, 1001));
  assert_true(workspace(f)->size + workspace(f)->scratch_size > 64);
}

/* Weights that are not what a plan would pack, twice under one name: the
 * engine lies, its regions run one by one. */
static void lies_about_packed_weights(void **state) {
  fixture *f = *state;
  static const _Alignas(64) uint8_t data[128];
  f->weights[0] = (bsm_plan_weights){data, 128};
  f->weights[1] = (bsm_plan_weights){data + 4, 64};
  f->plan.weights = f->weights;
  f->plan.weights_count = 1;
  f->derived[0] = f->derived[1] = (bsm_program_derived){{1, 2}, 0};
  f->program.derived = f->derived;
  f->program.derived_count = 2;
  create(f, 4, false);
  for (int64_t rows = 1; rows < 4; rows++) assert_true(is_refused(f, rows));
  bsm_shape_plans_destroy(f->plans);
  f->plan.weights_count = 2;
  f->program.derived_count = 1;
  f->derived[0].weights = 1; /* misaligned */
  create(f, 4, false);
  for (int64_t rows = 1; rows < 4; rows++) assert_true(is_refused(f, rows));
}

static void plans_are_profiled(void **state) {
  fixture *f = *state;
  create(f, 4, true);
  assert_int_equal(bsm_shape_plans_step_count(f->plans), 0);
  assert_true(made(f, 2));
  const size_t steps = bsm_shape_plans_step_count(f->plans);
  assert_true(steps > 0);
  assert_true(made(f, 3));
  assert_int_equal(bsm_shape_plans_step_count(f->plans), 2 * steps);
  for (size_t i = 0; i < 2 * steps; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    bsm_shape_plans_profile(f->plans, i, &p);
    assert_non_null(p.name);
    assert_int_equal(p.runs, 0);
  }
}

/* ---- want of memory ---- */

static bsm_status find_twice(fixture *f, test_allocator *a) {
  const bsm_ivalue in[] = {tensor(f, BSM_DTYPE_FLOAT, (bsm_dims){1, {7}}),
                           bsm_iv_int(2)};
  bsm_shape_plan *found;
  f->execution.allocator = &a->base;
  bsm_status status =
      bsm_shape_plans_create(&f->execution, &no_limits, 2, &f->plans);
  f->execution.allocator = NULL;
  BSM_TRY(status);
  status = bsm_shape_plans_find(f->plans, f->top, in, &found);
  if (status) { /* the cache has taken no harm */
    a->fail_at = 0;
    check(bsm_shape_plans_find(f->plans, f->top, in, &found));
    assert_non_null(found);
  }
  bsm_shape_plans_destroy(f->plans);
  f->plans = NULL;
  return status;
}

static void memory_runs_out(void **state) {
  fixture *f = *state;
  static const _Alignas(64) uint8_t data[128];
  f->weights[0] = (bsm_plan_weights){data, 128};
  f->plan.weights = f->weights;
  f->plan.weights_count = 1;
  f->derived[0] = (bsm_program_derived){{1, 2}, 0};
  f->program.derived = f->derived;
  f->program.derived_count = 1;
  test_allocator a;
  test_allocator_init(&a, INT_MAX);
  check(find_twice(f, &a));
  assert_int_equal(a.live, 0);
  const int calls = a.calls;
  assert_true(calls > 10);
  for (int n = 1; n <= calls; n++) {
    a.calls = 0;
    a.fail_at = n;
    bsm_status status = find_twice(f, &a);
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    assert_int_equal(a.live, 0);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(the_oldest_goes),
      TEST(one_place_is_enough),
      TEST(the_default_bounds_too),
      TEST(more_places_than_there_can_be),
      TEST(what_tells_shapes_apart),
      TEST(wrapped_numbers),
      TEST(containers_are_not_planned),
      cmocka_unit_test_setup_teardown(refusals_are_remembered,
                                      set_up_unplannable, tear_down),
      TEST(little_workspace),
      TEST(lies_about_packed_weights),
      TEST(plans_are_profiled),
      TEST(memory_runs_out),
  };
  return cmocka_run_group_tests_name("shape_plans", tests, NULL, NULL);
}
