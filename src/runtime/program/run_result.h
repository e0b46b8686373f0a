/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one run: the structure of the engine's outputs, completed by
 * what is known only after the run, with its tensors and numbers. */
#ifndef BSM_RUNTIME_PROGRAM_RUN_RESULT_H_
#define BSM_RUNTIME_PROGRAM_RUN_RESULT_H_

#include "aten/ivalue.h"
#include "engine/plan.h"

typedef struct bsm_run_result {
  bsm_structure *structure; /* NULL: the engine has none */
  /* When the number of outputs is known only after a run: all outputs and their
   * names, depth first, in the order of the structure's bindings. */
  bsm_array *outputs;
  const char **names;
  size_t output_count;
} bsm_run_result;

/* `outputs`: the engine's outputs in this run. `values`: the further results of
 * the program, bsm_plan_value_count of them. Everything is made in `arena`,
 * except tensors whose memory stays until the next run. BSM_CORRUPT: a value
 * does not have the type that the structure says. */
BSM_NODISCARD bsm_status bsm_run_result_make(const bsm_plan *plan,
                                             const bsm_array *outputs,
                                             const bsm_ivalue *values,
                                             bsm_arena *arena,
                                             bsm_run_result *out);

#endif /* BSM_RUNTIME_PROGRAM_RUN_RESULT_H_ */
