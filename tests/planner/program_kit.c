/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "planner/program_kit.h"

#include <string.h>

void kit_check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

void kit_expect(bsm_status status, bsm_code code, const char *text) {
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

static uint32_t *copy_ids(program_kit *k, const uint32_t *ids, uint32_t count) {
  uint32_t *out = BSM_NEW_ARRAY(&k->arena, uint32_t, count + 1u);
  assert_non_null(out);
  if (count) memcpy(out, ids, count * sizeof(*ids));
  return out;
}

void kit_init(program_kit *k) {
  memset(k, 0, sizeof(*k));
  bsm_arena_init(&k->arena, NULL);
  kit_check(bsm_aten_library_create(&k->arena, &k->aten));
  bsm_program *p = &k->program;
  p->register_count = KIT_REGISTERS;
  p->blocks = BSM_NEW_ARRAY(&k->arena, bsm_program_block, KIT_BLOCKS);
  p->constant_registers = BSM_NEW_ARRAY(&k->arena, uint32_t, KIT_REGISTERS);
  k->constants.values = BSM_NEW_ARRAY(&k->arena, bsm_ivalue, KIT_REGISTERS);
  assert_true(p->blocks && p->constant_registers && k->constants.values);
  for (int i = 0; i < KIT_BLOCKS; i++) {
    bsm_program_block *b = &p->blocks[i];
    b->instructions =
        BSM_NEW_ARRAY(&k->arena, bsm_instruction, KIT_INSTRUCTIONS);
    b->params = BSM_NEW_ARRAY(&k->arena, uint32_t, KIT_REGISTERS);
    b->results = BSM_NEW_ARRAY(&k->arena, uint32_t, KIT_REGISTERS);
    assert_true(b->instructions && b->params && b->results);
  }
  p->block_count = 1;
  k->plan.program = p;
  k->plan.tensors = k->tensors;
  k->plan.inputs = k->inputs;
  k->plan.outputs = k->outputs;
}

void kit_destroy(program_kit *k) {
  bsm_arena_destroy(&k->arena);
}

static void add_tensor(program_kit *k, bsm_plan_tensor tensor,
                       bsm_plan_binding *binding) {
  binding->name = tensor.place == BSM_PLACE_INPUT ? "in" : "out";
  binding->tensor = k->plan.tensor_count++;
  assert_true(k->plan.tensor_count <= 16);
  k->tensors[binding->tensor] = tensor;
}

void kit_input(program_kit *k, uint32_t reg, bsm_dtype dtype, int32_t rank) {
  const uint32_t index = k->plan.input_count++;
  bsm_plan_tensor t = {.name = "",
                       .dtype = dtype,
                       .dims.rank = rank,
                       .place = BSM_PLACE_INPUT,
                       .index = index};
  bsm_program_range range = {.input = index};
  range.min.rank = range.opt.rank = range.max.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    t.dims.d[i] = -1;
    range.max.d[i] = 64;
    range.opt.d[i] = 4;
  }
  bsm_program *p = &k->program;
  if (rank) {
    if (!p->ranges) p->ranges = BSM_NEW_ARRAY(&k->arena, bsm_program_range, 8);
    assert_non_null(p->ranges);
    p->ranges[p->range_count++] = range;
  }
  add_tensor(k, t, &k->inputs[index]);
  p->blocks[0].params[p->blocks[0].param_count++] = reg;
}

void kit_output(program_kit *k, uint32_t reg) {
  const uint32_t index = k->plan.output_count++;
  add_tensor(k,
             (bsm_plan_tensor){.name = "",
                               .dtype = BSM_DTYPE_UNDEFINED,
                               .dims.rank = -1,
                               .place = BSM_PLACE_OUTPUT,
                               .index = index},
             &k->outputs[index]);
  bsm_program_block *top = &k->program.blocks[0];
  top->results[top->result_count++] = reg;
}

void kit_constant(program_kit *k, uint32_t reg, bsm_ivalue value) {
  bsm_program *p = &k->program;
  p->constant_registers[p->constant_count] = reg;
  k->constants.values[p->constant_count++] = value;
}

static bsm_program_block *block_of(program_kit *k, uint32_t block) {
  assert_true(block < KIT_BLOCKS);
  if (k->program.block_count <= block) k->program.block_count = block + 1;
  return &k->program.blocks[block];
}

void kit_params(program_kit *k, uint32_t block, const uint32_t *regs,
                uint32_t count) {
  bsm_program_block *b = block_of(k, block);
  b->params = copy_ids(k, regs, count);
  b->param_count = count;
}

void kit_results(program_kit *k, uint32_t block, const uint32_t *regs,
                 uint32_t count) {
  bsm_program_block *b = block_of(k, block);
  b->results = copy_ids(k, regs, count);
  b->result_count = count;
}

bsm_instruction *kit_add(program_kit *k, uint32_t block,
                         bsm_instruction_kind kind, const char *name,
                         const uint32_t *inputs, uint32_t input_count,
                         const uint32_t *outputs, uint32_t output_count) {
  bsm_program_block *b = block_of(k, block);
  assert_true(b->instruction_count < KIT_INSTRUCTIONS);
  bsm_instruction *i = &b->instructions[b->instruction_count++];
  *i = (bsm_instruction){.kind = kind,
                         .name = name,
                         .source = "",
                         .input_count = input_count,
                         .output_count = output_count,
                         .inputs = copy_ids(k, inputs, input_count),
                         .outputs = copy_ids(k, outputs, output_count)};
  return i;
}

bsm_instruction *kit_nest(program_kit *k, uint32_t block,
                          bsm_instruction_kind kind, const uint32_t *inputs,
                          uint32_t input_count, const uint32_t *outputs,
                          uint32_t output_count, const uint32_t *blocks,
                          uint32_t block_count) {
  bsm_instruction *i =
      kit_add(k, block, kind, "", inputs, input_count, outputs, output_count);
  i->block_count = block_count;
  for (uint32_t b = 0; b < block_count; b++) {
    i->blocks[b] = blocks[b];
    (void)block_of(k, blocks[b]);
  }
  return i;
}

bsm_ivalue kit_meta(program_kit *k, bsm_dtype dtype, bsm_dims dims) {
  bsm_tensor *t;
  kit_check(bsm_tensor_new(&k->arena, dtype, dims, true, &t));
  return bsm_iv_tensor(t);
}

bsm_ivalue kit_ints(program_kit *k, const int64_t *items, size_t count) {
  bsm_list *list;
  kit_check(bsm_list_new(&k->arena, NULL, count, &list));
  for (size_t i = 0; i < count; i++) list->items[i] = bsm_iv_int(items[i]);
  return bsm_iv_list(list);
}

bsm_ivalue kit_string(program_kit *k, const char *text) {
  bsm_str *s = BSM_NEW(&k->arena, bsm_str);
  assert_non_null(s);
  *s = bsm_str_of(text);
  return (bsm_ivalue){.tag = BSM_IVALUE_STRING, .u.s = s};
}

void kit_verify(program_kit *k) {
  kit_check(bsm_program_verify(&k->plan));
}
