/* SPDX-License-Identifier: Apache-2.0 */
/* When the registers of a program are read for the last time. */
#ifndef BSM_RUNTIME_PROGRAM_LIVENESS_H_
#define BSM_RUNTIME_PROGRAM_LIVENESS_H_

#include "engine/program.h"

/* Registers that nothing reads after an instruction. */
typedef struct bsm_dead_registers {
  uint32_t *ids;
  size_t count;
} bsm_dead_registers;

/* For block b and its instruction k, (*out)[b][k]: the registers that b itself
 * has set before, and that neither its later instructions, with all inside
 * them, nor its results read. Constants never die. */
BSM_NODISCARD bsm_status bsm_program_liveness(const bsm_program *program,
                                              bsm_arena *arena,
                                              bsm_dead_registers ***out);

#endif /* BSM_RUNTIME_PROGRAM_LIVENESS_H_ */
