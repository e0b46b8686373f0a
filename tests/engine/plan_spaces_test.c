/* SPDX-License-Identifier: Apache-2.0 */
/* Plans whose tensors are in two memory spaces: what the verifier refuses, and
 * what the text dump and the counts of work say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine_file.h"
#include "engine/plan.h"
#include "engine/plan_bytes.h"
#include "engine/plan_work.h"

/* x (host) -> transfer -> t1 -> fill on the device -> t2 -> transfer -> y. */
typedef struct sample {
  bsm_plan plan;
  bsm_plan_tensor tensors[5];
  bsm_plan_step steps[3];
  bsm_plan_weights weights[1];
  bsm_plan_binding input, output;
  uint32_t ids[5];
  bsm_step_params params;
} sample;

static bsm_plan_tensor tensor_of(bsm_memory_space space, bsm_memory_place place,
                                 uint64_t offset) {
  return (bsm_plan_tensor){.name = "",
                           .dtype = BSM_DTYPE_FLOAT,
                           .dims = {2, {2, 3}},
                           .strides = {3, 1},
                           .space = space,
                           .place = place,
                           .offset = offset};
}

static bsm_plan_step step_of(sample *s, bsm_step_kind kind,
                             bsm_memory_space space, uint32_t in,
                             uint32_t out) {
  return (bsm_plan_step){.kind = kind,
                         .space = space,
                         .name = "",
                         .tactic = "",
                         .input_count = 1,
                         .output_count = 1,
                         .inputs = &s->ids[in],
                         .outputs = &s->ids[out],
                         .weights = BSM_STEP_NO_WEIGHTS,
                         .params = &s->params};
}

static void make(sample *s) {
  static const float data[6] = {0};
  memset(s, 0, sizeof(*s));
  for (uint32_t i = 0; i < 5; i++) s->ids[i] = i;
  s->tensors[0] = tensor_of(BSM_SPACE_HOST, BSM_PLACE_INPUT, 0);
  s->tensors[1] = tensor_of(BSM_SPACE_DEVICE, BSM_PLACE_WORKSPACE, 0);
  s->tensors[2] = tensor_of(BSM_SPACE_DEVICE, BSM_PLACE_WORKSPACE, 64);
  s->tensors[3] = tensor_of(BSM_SPACE_HOST, BSM_PLACE_OUTPUT, 0);
  s->tensors[4] = tensor_of(BSM_SPACE_DEVICE, BSM_PLACE_WEIGHTS, 0);
  s->steps[0] = step_of(s, BSM_STEP_TRANSFER, BSM_SPACE_DEVICE, 0, 1);
  s->steps[1] = step_of(s, BSM_STEP_COPY, BSM_SPACE_DEVICE, 1, 2);
  s->steps[2] = step_of(s, BSM_STEP_TRANSFER, BSM_SPACE_HOST, 2, 3);
  s->weights[0] = (bsm_plan_weights){data, sizeof(data), BSM_SPACE_DEVICE};
  s->input = (bsm_plan_binding){"x", 0};
  s->output = (bsm_plan_binding){"y", 3};
  s->plan = (bsm_plan){.tensors = s->tensors,
                       .tensor_count = 5,
                       .steps = s->steps,
                       .step_count = 3,
                       .weights = s->weights,
                       .weights_count = 1,
                       .inputs = &s->input,
                       .input_count = 1,
                       .outputs = &s->output,
                       .output_count = 1,
                       .workspace_size = {0, 128},
                       .target = "remote:fast"};
}

static void test_fits(void **state) {
  (void)state;
  sample s;
  make(&s);
  bsm_status status = bsm_plan_verify(&s.plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  const bsm_work work = bsm_step_work(&s.plan, &s.steps[0]);
  assert_true(work.flops == 0 && work.bytes == 48);
}

static void refused(const sample *s, const char *why) {
  bsm_status status = bsm_plan_verify(&s->plan);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  if (!strstr(bsm_status_message(status), why)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), why);
  }
  bsm_status_free(status);
}

static void test_lies(void **state) {
  (void)state;
  sample s;
#define LIE(change, why) \
  make(&s);              \
  change;                \
  refused(&s, why)
  LIE(s.tensors[1].space = (bsm_memory_space)2, "unknown memory space");
  LIE(s.weights[0].space = (bsm_memory_space)7, "unknown memory space");
  LIE(s.tensors[1].space = BSM_SPACE_HOST, "leave a buffer");
  LIE(s.plan.workspace_size[BSM_SPACE_DEVICE] = 80, "leave a buffer");
  LIE(s.weights[0].space = BSM_SPACE_HOST, "no buffer");
  LIE(s.tensors[1].place = BSM_PLACE_INPUT, "place 0 has no buffer 0");
  LIE(s.tensors[2].place = BSM_PLACE_OUTPUT, "place 1 has no buffer 0");
  LIE(s.steps[1].space = BSM_SPACE_HOST, "the step in 0");
  LIE(s.steps[1].space = (bsm_memory_space)2, "the step in 2");
  LIE(s.steps[1].inputs = &s.ids[0], "tensor 0 is in space 0");
  LIE(s.steps[1].outputs = &s.ids[3], "tensor 3 is in space 0");
  LIE((s.steps[1].space = BSM_SPACE_HOST, s.steps[1].inputs = &s.ids[0],
       s.steps[1].outputs = &s.ids[3], s.steps[1].weights[1] = 0),
      "weights 0 are in space 1");
  LIE(s.steps[1].kind = BSM_STEP_PLUGIN, "not on the host");
  LIE(s.steps[1].kind = BSM_STEP_ATEN_CALL, "not on the host");
  LIE(s.steps[0].space = BSM_SPACE_HOST, "a transfer from space 0 to 1");
  LIE(s.steps[0].inputs = &s.ids[2], "a transfer from space 1 to 1");
  LIE(s.steps[0].outputs = &s.ids[4], "read-only");
  LIE(s.steps[0].input_count = 0, "0 inputs");
  LIE(s.tensors[1].strides[0] = 4, "changes the layout");
  LIE(s.tensors[1].dims.d[1] = 2, "changes the layout");
  LIE(s.tensors[1].dtype = BSM_DTYPE_INT32, "changes the layout");
#undef LIE
}

static void test_text(void **state) {
  (void)state;
  sample s;
  bsm_arena arena;
  bsm_text text;
  make(&s);
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  bsm_plan_print(&text, &s.plan);
  assert_false(text.failed);
  assert_non_null(strstr(text.data, "target: remote:fast\n"));
  assert_non_null(strstr(text.data, "128 bytes of workspace on the device"));
  assert_non_null(strstr(text.data, "] device workspace +64"));
  assert_non_null(strstr(text.data, "t1 = transfer(t0) on the device"));
  assert_non_null(strstr(text.data, "t3 = transfer(t2)\n"));
  bsm_arena_destroy(&arena);
}

/* As bytes, and back. */
static void test_bytes(void **state) {
  (void)state;
  static const float zeros[6] = {0};
  const uint64_t offset = 0;
  const bsm_weights_section section = {(const uint8_t *)zeros, sizeof(zeros)};
  sample s;
  bsm_arena arena;
  bsm_str bytes;
  bsm_plan *plan;
  bsm_text before, after;
  make(&s);
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_plan_to_bytes(&s.plan, &offset, &arena, &bytes));
  assert_null(bsm_plan_from_bytes(bytes, BSM_ENGINE_FORMAT_MINOR, &section,
                                  false, &arena, &plan));
  bsm_text_init(&before, &arena);
  bsm_text_init(&after, &arena);
  bsm_plan_print(&before, &s.plan);
  bsm_plan_print(&after, plan);
  assert_string_equal(before.data, after.data);
  assert_int_equal(plan->weights[0].space, BSM_SPACE_DEVICE);
  assert_string_equal(plan->target, "remote:fast");
  bsm_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fits),
      cmocka_unit_test(test_lies),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
