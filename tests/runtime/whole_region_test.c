/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are one region. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "runtime/shapes/whole_region.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_plan plan, made;
  bsm_program program;
  bsm_program_block blocks[2];
  bsm_instruction top[2];
  bsm_plan_tensor tensors[2], made_tensors[2];
  bsm_plan_binding outputs[2], made_outputs[2];
  uint32_t params[3], results[2], inputs[3], region_outputs[3];
  bsm_whole_region whole;
} fixture;

/* Of (r0, r1, r2) -> (r5, r6); the region: (r2, r0) -> (r6, r7, r5). */
static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof(f));
  bsm_arena_init(&f.arena, NULL);
  memcpy(f.params, (uint32_t[]){0, 1, 2}, sizeof(f.params));
  memcpy(f.results, (uint32_t[]){5, 6}, sizeof(f.results));
  memcpy(f.inputs, (uint32_t[]){2, 0}, 2 * sizeof(uint32_t));
  memcpy(f.region_outputs, (uint32_t[]){6, 7, 5}, sizeof(f.region_outputs));
  f.top[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_REGION,
                               .name = "",
                               .source = "",
                               .inputs = f.inputs,
                               .input_count = 2,
                               .outputs = f.region_outputs,
                               .output_count = 3,
                               .block_count = 1,
                               .blocks = {1}};
  f.blocks[0] = (bsm_program_block){3, 2, f.params, f.results, 1, f.top};
  f.program =
      (bsm_program){.register_count = 8, .blocks = f.blocks, .block_count = 2};
  for (uint32_t i = 0; i < 2; i++) {
    f.tensors[i] =
        (bsm_plan_tensor){.dtype = BSM_DTYPE_FLOAT, .dims = {2, {-1, 4}}};
    f.made_tensors[i] =
        (bsm_plan_tensor){.dtype = BSM_DTYPE_FLOAT, .dims = {2, {3, 4}}};
    f.outputs[i] = f.made_outputs[i] = (bsm_plan_binding){"y", i};
  }
  f.plan = (bsm_plan){.tensors = f.tensors,
                      .tensor_count = 2,
                      .outputs = f.outputs,
                      .input_count = 3,
                      .output_count = 2,
                      .program = &f.program};
  f.made = (bsm_plan){.tensors = f.made_tensors,
                      .tensor_count = 2,
                      .outputs = f.made_outputs,
                      .output_count = 2};
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  bsm_arena_destroy(&((fixture *)*state)->arena);
  return 0;
}

static bool find(fixture *f) {
  bsm_status status = bsm_whole_region_find(&f->plan, &f->arena, &f->whole);
  if (status) fail_msg("%s", bsm_status_message(status));
  return f->whole.region != NULL;
}

static void places_are_found(void **state) {
  fixture *f = *state;
  assert_int_equal(bsm_program_region_count(&f->program), 1);
  assert_true(find(f));
  assert_ptr_equal(f->whole.region, f->top);
  assert_int_equal(f->whole.params[0], 2);
  assert_int_equal(f->whole.params[1], 0);
  assert_int_equal(f->whole.results[0], 2);
  assert_int_equal(f->whole.results[1], 0);
}

static void the_last_of_a_register_counts(void **state) {
  fixture *f = *state;
  f->params[1] = 0; /* r0 is set twice */
  assert_true(find(f));
  assert_int_equal(f->whole.params[1], 1);
  f->region_outputs[1] = 5;
  f->region_outputs[2] = 7;
  f->results[0] = 6;
  f->results[1] = 5;
  assert_true(find(f));
  assert_int_equal(f->whole.results[1], 1);
}

static void what_is_more_than_a_region(void **state) {
  fixture *f = *state;
  f->blocks[0].instruction_count = 2;
  f->top[1] = f->top[0];
  assert_false(find(f));
  f->blocks[0].instruction_count = 1;
  f->top[0].kind = BSM_INSTRUCTION_SEGMENT;
  assert_false(find(f));
  assert_int_equal(bsm_program_region_count(&f->program), 0);
  f->blocks[0].instruction_count = 0;
  assert_false(find(f));
}

static void results_that_only_a_run_tells(void **state) {
  fixture *f = *state;
  f->plan.output_count = 1;
  assert_false(find(f));
}

static void registers_of_nobody(void **state) {
  fixture *f = *state;
  f->inputs[0] = 4; /* no parameter */
  assert_false(find(f));
  f->inputs[0] = 2;
  f->results[0] = 0; /* an input as it is */
  assert_false(find(f));
}

static void arrays_become_inputs(void **state) {
  fixture *f = *state;
  const bsm_array arrays[] = {
      {NULL, BSM_DTYPE_FLOAT, {1, {7}}, NULL},
      {NULL, BSM_DTYPE_BOOL, {0}, NULL},
      {NULL, BSM_DTYPE_INT64, {2, {3, 5}}, NULL},
  };
  assert_true(find(f));
  const bsm_ivalue *in = bsm_whole_region_inputs(&f->whole, arrays);
  assert_int_equal(in[0].u.tensor->dtype, BSM_DTYPE_INT64);
  assert_int_equal(in[0].u.tensor->sizes.d[1], 5);
  assert_int_equal(in[1].u.tensor->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(in[1].u.tensor->sizes.rank, 1);
}

static bool fits(const fixture *f, uint32_t first, uint32_t second,
                 uint32_t third) {
  uint32_t outputs[] = {first, second, third};
  const bsm_region_plan planned = {(bsm_plan *)(uintptr_t)&f->made, outputs,
                                   NULL};
  return bsm_whole_region_fits(&f->whole, &planned);
}

/* The region's third result is the engine's first output. */
static void outputs_have_to_be_the_engines(void **state) {
  fixture *f = *state;
  assert_true(find(f));
  assert_true(fits(f, 1, 0, 0));
  assert_true(fits(f, 1, BSM_NO_OUTPUT, 0));
  assert_false(fits(f, 0, 0, 1));
  assert_false(fits(f, 1, 0, BSM_NO_OUTPUT));
  f->made.output_count = 1;
  assert_false(fits(f, 0, 0, 0));
}

/* An engine that lies about its outputs is run one by one, which tells. */
static void outputs_have_to_be_as_told(void **state) {
  fixture *f = *state;
  assert_true(find(f));
  f->made_tensors[1].dims.d[1] = 5;
  assert_false(fits(f, 1, 0, 0));
  f->made_tensors[1].dims = (bsm_dims){1, {4}};
  assert_false(fits(f, 1, 0, 0));
  f->tensors[1].dims.rank = -1;
  assert_true(fits(f, 1, 0, 0));
  f->made_tensors[1].dtype = BSM_DTYPE_INT64;
  assert_false(fits(f, 1, 0, 0));
  f->tensors[1].dtype = BSM_DTYPE_UNDEFINED;
  assert_true(fits(f, 1, 0, 0));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(places_are_found),
      TEST(the_last_of_a_register_counts),
      TEST(what_is_more_than_a_region),
      TEST(results_that_only_a_run_tells),
      TEST(registers_of_nobody),
      TEST(arrays_become_inputs),
      TEST(outputs_have_to_be_the_engines),
      TEST(outputs_have_to_be_as_told),
  };
  return cmocka_run_group_tests_name("whole_region", tests, NULL, NULL);
}
