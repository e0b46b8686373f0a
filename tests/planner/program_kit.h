/* SPDX-License-Identifier: Apache-2.0 */
/* Programs made by hand, for tests: registers and blocks are numbered as the
 * test likes, and constants are values. Lists of registers are written R(1, 2),
 * or NONE. */
#ifndef BSM_TESTS_PLANNER_PROGRAM_KIT_H_
#define BSM_TESTS_PLANNER_PROGRAM_KIT_H_

#include "aten/op.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "engine/program_constants.h"

#define R(...)                     \
  (const uint32_t[]){__VA_ARGS__}, \
      (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define NONE NULL, 0

enum { KIT_REGISTERS = 64, KIT_BLOCKS = 8, KIT_INSTRUCTIONS = 48 };

typedef struct program_kit {
  bsm_arena arena;
  bsm_aten_library *aten;
  bsm_plan plan;
  bsm_program program;
  bsm_program_constants constants; /* as a reader would have made them */
  bsm_plan_tensor tensors[16];
  bsm_plan_binding inputs[8], outputs[8];
} program_kit;

void kit_init(program_kit *k);
void kit_destroy(program_kit *k);

/* Block 0 gets a parameter, the engine an input of any dims. */
void kit_input(program_kit *k, uint32_t reg, bsm_dtype dtype, int32_t rank);
/* Block 0 gets a result, the engine an output of any dims. */
void kit_output(program_kit *k, uint32_t reg);
void kit_constant(program_kit *k, uint32_t reg, bsm_ivalue value);
/* The parameters and results of another block. */
void kit_params(program_kit *k, uint32_t block, const uint32_t *regs,
                uint32_t count);
void kit_results(program_kit *k, uint32_t block, const uint32_t *regs,
                 uint32_t count);
/* Appends an instruction; `name` is the op of a CALL. */
bsm_instruction *kit_add(program_kit *k, uint32_t block,
                         bsm_instruction_kind kind, const char *name,
                         const uint32_t *inputs, uint32_t input_count,
                         const uint32_t *outputs, uint32_t output_count);
/* The same with blocks. */
bsm_instruction *kit_nest(program_kit *k, uint32_t block,
                          bsm_instruction_kind kind, const uint32_t *inputs,
                          uint32_t input_count, const uint32_t *outputs,
                          uint32_t output_count, const uint32_t *blocks,
                          uint32_t block_count);
#define kit_call(k, block, name, ...) \
  kit_add(k, block, BSM_INSTRUCTION_CALL, name, __VA_ARGS__)

/* A tensor without data. */
bsm_ivalue kit_meta(program_kit *k, bsm_dtype dtype, bsm_dims dims);
bsm_ivalue kit_ints(program_kit *k, const int64_t *items, size_t count);
bsm_ivalue kit_string(program_kit *k, const char *text);
/* The verifier is content. */
void kit_verify(program_kit *k);

/* Fails the test unless the status is of this code and says so. */
void kit_expect(bsm_status status, bsm_code code, const char *text);
void kit_check(bsm_status status);

#endif /* BSM_TESTS_PLANNER_PROGRAM_KIT_H_ */
