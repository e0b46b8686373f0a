/* SPDX-License-Identifier: Apache-2.0 */
/* The abstract interpreter of programs: it runs instructions without the data
 * of the inputs. Shapes, numbers and containers are computed; tensors that
 * depend on data are meta. An instruction that needs data fails with
 * BSM_DATA_DEPENDENT, and its outputs are unknown from then on. */
#ifndef BSM_PLANNER_ABSTRACT_RUN_H_
#define BSM_PLANNER_ABSTRACT_RUN_H_

#include "aten/op.h"
#include "engine/program_constants.h"
#include "engine/program_walker.h"

/* Called after a call some of whose results are tensors without data; `outs`
 * are its results. */
typedef bsm_status bsm_abstract_call(void *user, const bsm_instruction *i,
                                     const bsm_ivalue *args,
                                     const bsm_ivalue *outs);

typedef struct bsm_abstract_run {
  bsm_program_walker walker; /* the arena has all values */
  const bsm_aten_library *aten;
  size_t max_bytes;        /* of the arena: beyond it, BSM_LIMIT */
  size_t max_tensor_bytes; /* of one without data; 0: any */
  bsm_abstract_call *call; /* or NULL */
  void *user;
  bool *known;          /* by register */
  bsm_work_budget work; /* of what does not depend on inputs */
} bsm_abstract_run;

/* Whether a container is one of a call's arguments: what the op did to it, it
 * did with what it was given. */
bool bsm_abstract_is_argument(const bsm_ivalue *value, const bsm_ivalue *args,
                              size_t count);

/* Makes the registers of constants known and all others unknown. The caller has
 * set the other fields, and the walker's program, arena and budget. */
BSM_NODISCARD bsm_status bsm_abstract_start(
    bsm_abstract_run *run, const bsm_program_constants *constants);
void bsm_abstract_set(bsm_abstract_run *run, uint32_t reg, bsm_ivalue value);
/* Runs one instruction, and all inside of it. On failure its outputs are
 * unknown. */
BSM_NODISCARD bsm_status bsm_abstract_instruction(bsm_abstract_run *run,
                                                  const bsm_instruction *i);
/* The same, but a failure is only told in *fits. Running out of memory is still
 * returned. */
BSM_NODISCARD bsm_status bsm_abstract_try(bsm_abstract_run *run,
                                          const bsm_instruction *i, bool *fits);
BSM_NODISCARD bsm_status bsm_abstract_block(bsm_abstract_run *run, uint32_t id);

/* Whether the value is, or contains, a tensor without data. */
bool bsm_abstract_is_meta(const bsm_ivalue *value);

#endif /* BSM_PLANNER_ABSTRACT_RUN_H_ */
