/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's arrays where plans can reach them: an array in the memory space
 * of its binding is used in place, another one is copied to or from memory of
 * the context there. */
#ifndef BSM_RUNTIME_CONTEXT_STAGING_H_
#define BSM_RUNTIME_CONTEXT_STAGING_H_

#include "runtime/plan/execution.h"

/* Memory of the context in each space; grows. */
typedef struct bsm_staged {
  void *memory[BSM_MEMORY_SPACES];
  size_t size[BSM_MEMORY_SPACES];
} bsm_staged;

/* Whether the engine can reach the array: one on a device has to be on the
 * engine's. */
BSM_NODISCARD bsm_status bsm_staging_check(const bsm_engine *engine,
                                           const char *what, size_t index,
                                           const char *name,
                                           const bsm_array *array);

/* Memory of at least `bytes` in a space, while nothing is enqueued. */
BSM_NODISCARD bsm_status bsm_staged_reserve(bsm_staged *staged,
                                            bsm_execution *e,
                                            bsm_memory_space space,
                                            size_t bytes, void **out);
void bsm_staged_release(bsm_staged *staged, bsm_execution *e);

/* Where a plan that has the binding in `space` finds the array: *out is its own
 * address, or that of a copy (inputs), or of room for one (outputs). */
BSM_NODISCARD bsm_status bsm_stage_input(bsm_staged *staged, bsm_execution *e,
                                         const bsm_array *array,
                                         bsm_memory_space space, void **out);
BSM_NODISCARD bsm_status bsm_stage_output(bsm_staged *staged, bsm_execution *e,
                                          const bsm_array *array,
                                          bsm_memory_space space, void **out);
/* Copies what an output's plan left at `from` to its array, if that is
 * elsewhere, behind what is enqueued. */
BSM_NODISCARD bsm_status bsm_unstage_output(bsm_execution *e, const void *from,
                                            bsm_memory_space space,
                                            const bsm_array *array);

#endif /* BSM_RUNTIME_CONTEXT_STAGING_H_ */
