/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one run: the structure of the engine's outputs with what only
 * the run tells filled in, and the tensors and numbers in that. */
#ifndef BSM_RUNTIME_PROGRAM_RUN_RESULT_H_
#define BSM_RUNTIME_PROGRAM_RUN_RESULT_H_

#include "aten/ivalue.h"
#include "engine/plan.h"

typedef struct bsm_run_result {
  bsm_structure *structure; /* NULL: the engine has none */
  /* Of an engine whose outputs only a run counts: all of them and their names,
   * depth first, as the bindings of the structure number them. */
  bsm_array *outputs;
  const char **names;
  size_t output_count;
} bsm_run_result;

/* `outputs`: of the engine, in this run; `values`: what the program gave beyond
 * them, bsm_plan_value_count of them. Everything is made in `arena`, but for
 * tensors that lie in memory that can be kept until the next run. BSM_CORRUPT:
 * a value is not of the type that the structure says. */
BSM_NODISCARD bsm_status bsm_run_result_make(const bsm_plan *plan,
                                             const bsm_array *outputs,
                                             const bsm_ivalue *values,
                                             bsm_arena *arena,
                                             bsm_run_result *out);

#endif /* BSM_RUNTIME_PROGRAM_RUN_RESULT_H_ */
