/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the instructions of a program in order: blocks, branches, loops, and
 * the instructions that only move values.
 *
 * Two interpreters use it: the runtime, which computes, and the planner, which
 * runs programs on shapes. They differ in their policy: how ops, segments and
 * regions are run, and what else happens around an instruction. The program has
 * been verified; the kinds of its values are checked here. */
#ifndef BSM_ENGINE_PROGRAM_WALKER_H_
#define BSM_ENGINE_PROGRAM_WALKER_H_

#include "aten/ivalue.h"
#include "engine/program.h"

typedef struct bsm_program_walker bsm_program_walker;

typedef struct bsm_program_policy {
  /* Runs a CALL, SEGMENT or REGION and sets its outputs. `args` are valid until
   * it returns. */
  bsm_status (*compute)(bsm_program_walker *walker, const bsm_instruction *i,
                        const bsm_ivalue *args);
  /* Called after each instruction with its status; returns that status or
   * another one. May move values: the walker has none outside of registers at
   * this point. */
  bsm_status (*finish)(bsm_program_walker *walker, const bsm_instruction *i,
                       bsm_status status);
  /* Makes the failure for a budget that is used up. */
  bsm_status (*refuse)(const bsm_program_walker *walker);
  /* May be NULL. Checks that registers may be read: the inputs of an
   * instruction before it runs, the results of a block after it ran. */
  bsm_status (*check)(const bsm_program_walker *walker,
                      const uint32_t *registers, uint32_t count);
  /* May be NULL. Called when the parameters of a block have been set. */
  void (*define)(bsm_program_walker *walker, const uint32_t *registers,
                 uint32_t count);
} bsm_program_policy;

/* The state of a run. It is the first member of the interpreter's own struct.
 */
struct bsm_program_walker {
  const bsm_program *program;
  const bsm_program_policy *policy;
  bsm_ivalue *registers;
  bsm_arena *arena; /* for new values; the policy may replace it */
  uint64_t budget;  /* instructions, and turns of loops, that are left */
  uint64_t *done;   /* counts them as well, unless NULL */
  uint32_t block;   /* the block whose instruction is being run */
};

/* Runs an instruction, including the blocks inside of it. */
BSM_NODISCARD bsm_status bsm_walk_instruction(bsm_program_walker *walker,
                                              const bsm_instruction *i);
/* Runs the instructions of a block, whose parameters are set. */
BSM_NODISCARD bsm_status bsm_walk_block(bsm_program_walker *walker,
                                        uint32_t block);
/* Runs a block without parameters that belongs to an IF or a REGION; its
 * results become the outputs of the instruction. */
BSM_NODISCARD bsm_status bsm_walk_inner(bsm_program_walker *walker,
                                        const bsm_instruction *i,
                                        uint32_t block);

#endif /* BSM_ENGINE_PROGRAM_WALKER_H_ */
