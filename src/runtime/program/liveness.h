/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness: where each register of a program is read for the last time. */
#ifndef BSM_RUNTIME_PROGRAM_LIVENESS_H_
#define BSM_RUNTIME_PROGRAM_LIVENESS_H_

#include "engine/program.h"

/* Registers that nothing reads after an instruction. */
typedef struct bsm_dead_registers {
  uint32_t *ids;
  size_t count;
} bsm_dead_registers;

/* (*out)[b][k] belongs to instruction k of block b. It has the registers that
 * block b has set up to there and that nothing reads later: no later
 * instruction of b, no block inside of one, and no result of b. Constants never
 * die. */
BSM_NODISCARD bsm_status bsm_program_liveness(const bsm_program *program,
                                              bsm_arena *arena,
                                              bsm_dead_registers ***out);

#endif /* BSM_RUNTIME_PROGRAM_LIVENESS_H_ */
