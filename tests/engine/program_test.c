/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: there and back as bytes, and programs that lie. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "engine/engine_file.h"
#include "engine/ivalue_bytes.h"
#include "engine/plan_bytes.h"
#include "engine/program.h"

/* y = x + w when c, else a segment of x, turned twice; x: [-1, 2]. */
typedef struct sample {
  bsm_arena arena;
  bsm_plan plan, segment, variant;
  bsm_program program;
  bsm_plan_tensor tensors[3], segment_tensors[2], variant_tensors[2];
  bsm_plan_binding in, out;
  bsm_plan_weights weights;
  bsm_plan_step copies[2];
  bsm_step_params params;
  uint32_t step_ids[2];
  bsm_program_block blocks[4];
  bsm_instruction main[2], then[1], otherwise[2], body[1];
  bsm_plan *segments[2];
  uint32_t constant_registers[3], constant_tensors[1], variants[1];
  bsm_program_range range;
  uint32_t ids[32];
} sample;

static _Alignas(64) const float weight_values[2] = {1, 2};

static bsm_plan_tensor matrix(bsm_memory_place place, int64_t rows) {
  return (bsm_plan_tensor){.name = "",
                           .dtype = BSM_DTYPE_FLOAT,
                           .dims = {2, {rows, 2}},
                           .strides = {2, 1},
                           .place = place};
}

/* A plan that copies [rows, 2]. */
static void make_copy(sample *s, int which, bsm_plan *plan,
                      bsm_plan_tensor *tensors, int64_t rows) {
  tensors[0] = matrix(BSM_PLACE_INPUT, rows);
  tensors[1] = matrix(BSM_PLACE_OUTPUT, rows);
  s->copies[which] = (bsm_plan_step){.kind = BSM_STEP_COPY,
                                     .name = "copy",
                                     .tactic = "",
                                     .input_count = 1,
                                     .output_count = 1,
                                     .inputs = &s->step_ids[0],
                                     .outputs = &s->step_ids[1],
                                     .weights = BSM_STEP_NO_WEIGHTS,
                                     .params = &s->params};
  *plan = (bsm_plan){.tensors = tensors,
                     .tensor_count = 2,
                     .steps = &s->copies[which],
                     .step_count = 1,
                     .inputs = &s->in,
                     .outputs = &s->out,
                     .input_count = 1,
                     .output_count = 1};
}

static void make_blocks(sample *s) {
  for (uint32_t i = 0; i < 32; i++) s->ids[i] = i;
  uint32_t *r = s->ids; /* 0 x, 1 y, 2 c, 3 w, 4.. */
  s->main[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_IF,
                                 .name = "",
                                 .source = "m.py:1",
                                 .input_count = 1,
                                 .output_count = 1,
                                 .inputs = r + 2,
                                 .outputs = r + 1,
                                 .block_count = 2,
                                 .blocks = {1, 2}};
  s->main[1] = (bsm_instruction){.kind = BSM_INSTRUCTION_LIST,
                                 .name = "",
                                 .source = "",
                                 .input_count = 2,
                                 .output_count = 1,
                                 .inputs = r,
                                 .outputs = r + 9};
  s->then[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_CALL,
                                 .name = "aten::mul.Tensor",
                                 .source = "m.py:2",
                                 .input_count = 2,
                                 .output_count = 1,
                                 .inputs = r + 3,
                                 .outputs = r + 5};
  s->otherwise[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_SEGMENT,
                                      .name = "",
                                      .source = "",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = r,
                                      .outputs = r + 5};
  s->otherwise[1] = (bsm_instruction){.kind = BSM_INSTRUCTION_LOOP,
                                      .name = "",
                                      .source = "",
                                      .input_count = 3,
                                      .output_count = 1,
                                      .inputs = r + 11, /* 11 n, 12 true, x */
                                      .outputs = r + 6,
                                      .block_count = 1,
                                      .blocks = {3}};
  s->body[0] = (bsm_instruction){.kind = BSM_INSTRUCTION_MOVE,
                                 .name = "unwrap",
                                 .source = "",
                                 .input_count = 1,
                                 .output_count = 1,
                                 .inputs = r + 8,
                                 .outputs = r + 13};
  s->blocks[0] = (bsm_program_block){1, 1, r, r + 1, 2, s->main};
  s->blocks[1] = (bsm_program_block){0, 1, r, r + 5, 1, s->then};
  s->blocks[2] = (bsm_program_block){0, 1, r, r + 6, 2, s->otherwise};
  s->blocks[3] = (bsm_program_block){2, 2, r + 7, r + 12, 1, s->body};
}

static void make_sample(sample *s) {
  memset(s, 0, sizeof(*s));
  bsm_arena_init(&s->arena, NULL);
  s->step_ids[1] = 1;
  s->in = (bsm_plan_binding){"x", 0};
  s->out = (bsm_plan_binding){"y", 1};
  make_copy(s, 0, &s->segment, s->segment_tensors, 3);
  make_copy(s, 1, &s->variant, s->variant_tensors, 4);
  make_blocks(s);
  s->tensors[0] = matrix(BSM_PLACE_INPUT, -1);
  s->tensors[1] = (bsm_plan_tensor){.name = "",
                                    .dtype = BSM_DTYPE_UNDEFINED,
                                    .dims = {.rank = -1},
                                    .place = BSM_PLACE_OUTPUT};
  s->tensors[2] = matrix(BSM_PLACE_WEIGHTS, 1);
  s->weights = (bsm_plan_weights){weight_values, sizeof(weight_values)};
  s->segments[0] = &s->segment;
  s->segments[1] = &s->variant;
  s->constant_tensors[0] = 2;
  memcpy(s->constant_registers, (uint32_t[]){3, 11, 12}, 12);
  s->variants[0] = 1;
  s->range = (bsm_program_range){0, {2, {1, 2}}, {2, {4, 2}}, {2, {8, 2}}};
  bsm_tensor w = {0}, *tensors[1] = {&w};
  const bsm_ivalue values[3] = {bsm_iv_tensor(&w), bsm_iv_int(2),
                                bsm_iv_bool(true)};
  bsm_text text;
  bsm_text_init(&text, &s->arena);
  assert_null(bsm_ivalues_to_bytes(&text, values, 3, tensors, 1));
  s->program = (bsm_program){.register_count = 16,
                             .blocks = s->blocks,
                             .block_count = 4,
                             .segments = s->segments,
                             .segment_count = 2,
                             .constants = (const uint8_t *)text.data,
                             .constants_size = (uint32_t)text.len,
                             .constant_registers = s->constant_registers,
                             .constant_count = 3,
                             .constant_tensors = s->constant_tensors,
                             .constant_tensor_count = 1,
                             .ranges = &s->range,
                             .range_count = 1,
                             .variants = s->variants,
                             .variant_count = 1};
  s->plan = (bsm_plan){.tensors = s->tensors,
                       .tensor_count = 3,
                       .weights = &s->weights,
                       .weights_count = 1,
                       .inputs = &s->in,
                       .outputs = &s->out,
                       .input_count = 1,
                       .output_count = 1,
                       .program = &s->program};
}

static const char *print(sample *s, const bsm_plan *plan) {
  bsm_text text;
  bsm_text_init(&text, &s->arena);
  bsm_program_print(&text, plan);
  assert_false(text.failed);
  return text.data;
}

static void there_and_back(void **state) {
  (void)state;
  sample s;
  bsm_str bytes, again;
  bsm_plan *plan;
  const uint64_t offset = 0;
  make_sample(&s);
  assert_null(bsm_plan_verify(&s.plan));
  assert_null(bsm_plan_to_bytes(&s.plan, &offset, &s.arena, &bytes));
  const uint32_t minor = BSM_ENGINE_FORMAT_MINOR;
  const bsm_weights_section section = {(const uint8_t *)weight_values,
                                       sizeof(weight_values)};
  assert_null(
      bsm_plan_from_bytes(bytes, minor, &section, false, &s.arena, &plan));
  assert_null(bsm_plan_verify(plan));
  const char *text = print(&s, plan);
  assert_string_equal(text, print(&s, &s.plan));
  assert_non_null(strstr(text, "r1 = if(r2)  # m.py:1"));
  assert_non_null(strstr(text, "r5 = call aten::mul.Tensor(r3, r4)"));
  assert_non_null(strstr(text, "r5 = segment 0(r0)"));
  assert_non_null(strstr(text, "r6 = loop(r11, r12, r13)"));
  assert_int_equal(plan->program->ranges[0].max.d[0], 8);
  assert_null(bsm_plan_to_bytes(plan, &offset, &s.arena, &again));
  assert_true(bsm_str_eq(bytes, again));
  /* A program inside a segment is refused when it is read. */
  bsm_status status =
      bsm_plan_from_bytes(bytes, minor, &section, true, &s.arena, &plan);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  bsm_status_free(status);
  for (size_t n = 0; n < bytes.len; n++) {
    status = bsm_plan_from_bytes((bsm_str){bytes.data, n}, minor, &section,
                                 false, &s.arena, &plan);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
  }
  bsm_arena_destroy(&s.arena);
}

static void refuse(sample *s, const char *text) {
  bsm_status status = bsm_plan_verify(&s->plan);
  if (bsm_status_code(status) != BSM_CORRUPT ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("not \"%s\": %s", text, bsm_status_message(status));
  }
  bsm_status_free(status);
  bsm_arena_destroy(&s->arena);
  make_sample(s);
}

static void lies(void **state) {
  (void)state;
  sample s;
  uint32_t far = 16;
  make_sample(&s);
  s.then[0].inputs = &far;
  s.then[0].input_count = 1;
  refuse(&s, "register 16 of 16");
  s.blocks[1].results = &far;
  refuse(&s, "register 16 of 16");
  s.program.constant_registers = &far;
  s.program.constant_count = 1;
  refuse(&s, "register 16 of 16");
  s.main[0].blocks[1] = 1;
  refuse(&s, "block 1 inside block 0");
  s.main[0].blocks[1] = 0;
  refuse(&s, "block 0 inside block 0");
  s.otherwise[1].blocks[0] = 4;
  refuse(&s, "block 4 inside block 2");
  s.main[0].blocks[0] = 3;
  refuse(&s, "block 3 does not fit its if");
  s.otherwise[1].output_count = 0;
  refuse(&s, "an instruction of kind 4");
  s.main[0].block_count = 1;
  refuse(&s, "an instruction of kind 3");
  s.then[0].kind = BSM_INSTRUCTION_DICT;
  s.then[0].input_count = 1;
  refuse(&s, "an instruction of kind 7");
  s.otherwise[0].segment = 2;
  refuse(&s, "segment 2 of 2");
  s.otherwise[0].input_count = 0;
  refuse(&s, "segment 0 has 1 inputs");
  s.segment.program = &s.program;
  refuse(&s, "segment 0 is a program");
  s.blocks[0].param_count = 0;
  refuse(&s, "does not fit the engine's bindings");
  s.plan.step_count = 1;
  s.plan.steps = s.copies;
  refuse(&s, "does not fit the engine's bindings");
  s.constant_tensors[0] = 0;
  refuse(&s, "not among the weights");
  s.constant_tensors[0] = 3;
  refuse(&s, "not among the weights");
  s.variants[0] = 2;
  refuse(&s, "variant 0");
  s.variant_tensors[0].dtype = BSM_DTYPE_INT32;
  refuse(&s, "variant 0");
  s.range.min.d[0] = 5;
  refuse(&s, "no proper range");
  s.range.max.d[1] = 3;
  refuse(&s, "no proper range");
  s.range.input = 1;
  refuse(&s, "no proper range");
  s.program.range_count = 0;
  refuse(&s, "no proper range");
  s.tensors[0].dims.d[0] = 4;
  refuse(&s, "1 ranges for 0 inputs");
  s.tensors[0].dims.rank = -1;
  refuse(&s, "input 0 has no rank");
  s.tensors[1].dtype = (bsm_dtype)99;
  refuse(&s, "output 0 has unknown dtype 99");
  s.tensors[0].dtype = BSM_DTYPE_QUINT8;
  refuse(&s, "of a program is");
  s.segment_tensors[1].dtype = BSM_DTYPE_QINT8;
  refuse(&s, "of a program is");
  s.segment_tensors[1].offset = 4;
  refuse(&s, "segment 0 of the program");
  assert_null(bsm_plan_verify(&s.plan));
  bsm_arena_destroy(&s.arena);
}

/* Blocks inside blocks: as deep as running allows, and one deeper. */
static void depth(void **state) {
  (void)state;
  enum { MOST = 100 };
  for (uint32_t deep = MOST; deep <= MOST + 1; deep++) {
    sample s;
    make_sample(&s);
    bsm_program_block *blocks =
        BSM_NEW_ARRAY(&s.arena, bsm_program_block, deep);
    bsm_instruction *ifs = BSM_NEW_ARRAY(&s.arena, bsm_instruction, deep);
    assert_non_null(blocks && ifs ? blocks : NULL);
    /* A loop without carried values in each. */
    for (uint32_t i = 0; i < deep; i++) {
      ifs[i] = (bsm_instruction){.kind = BSM_INSTRUCTION_LOOP,
                                 .name = "",
                                 .source = "",
                                 .input_count = 2,
                                 .inputs = s.ids + 11,
                                 .outputs = s.ids,
                                 .block_count = 1,
                                 .blocks = {i + 1}};
      blocks[i] =
          (bsm_program_block){1, 1, s.ids, s.ids + 12, i + 1 < deep, &ifs[i]};
    }
    s.program.blocks = blocks;
    s.program.block_count = deep;
    bsm_status status = bsm_plan_verify(&s.plan);
    assert_int_equal(bsm_status_code(status), deep > MOST ? BSM_CORRUPT : 0);
    bsm_status_free(status);
    assert_true(strlen(print(&s, &s.plan)) > 100);
    bsm_arena_destroy(&s.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(lies),
      cmocka_unit_test(depth),
  };
  return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
