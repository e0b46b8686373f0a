/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the caller's arrays where plans can reach them. An array in the memory
 * space of its binding is used in place; any other is copied to or from memory
 * of the context in that space. So are loose ones: those on a device whose
 * elements are apart, or less aligned than the device's steps need. */
#ifndef BSM_RUNTIME_CONTEXT_STAGING_H_
#define BSM_RUNTIME_CONTEXT_STAGING_H_

#include "runtime/plan/execution.h"

/* Memory of the context in each space; grows. */
typedef struct bsm_staged {
  void *memory[BSM_MEMORY_SPACES];
  size_t size[BSM_MEMORY_SPACES];
  const void *checked; /* the last array on the device: it is there */
} bsm_staged;

/* Checks that the engine can reach the array: one on a device has to be on the
 * engine's device, which is asked when the address is another than the last
 * time, one of the host has to be contiguous. */
BSM_NODISCARD bsm_status bsm_staging_check(const bsm_engine *engine,
                                           const char *what, size_t index,
                                           const char *name,
                                           const bsm_array *array,
                                           bsm_staged *staged);

/* Memory of at least `bytes` in a space. Waits for the execution before memory
 * is replaced. */
BSM_NODISCARD bsm_status bsm_staged_reserve(bsm_staged *staged,
                                            bsm_execution *e,
                                            bsm_memory_space space,
                                            size_t bytes, void **out);
void bsm_staged_release(bsm_staged *staged, bsm_execution *e);

bool bsm_array_is_loose(const bsm_engine *engine, const bsm_array *array);
/* The address of an array, or of its copy in the same space if it is loose. */
BSM_NODISCARD bsm_status bsm_stage_tight(bsm_staged *staged, bsm_execution *e,
                                         const bsm_array *array, void **out);

/* The address at which a plan that has the binding in `space` finds the array:
 * its own, that of a copy (inputs), or that of memory for one (outputs). */
BSM_NODISCARD bsm_status bsm_stage_input(bsm_staged *staged, bsm_execution *e,
                                         const bsm_array *array,
                                         bsm_memory_space space, void **out);
BSM_NODISCARD bsm_status bsm_stage_output(bsm_staged *staged, bsm_execution *e,
                                          const bsm_array *array,
                                          bsm_memory_space space, void **out);
/* Enqueues a copy of an output from `from`, where the plan wrote it, to its
 * array, unless the plan wrote to the array itself. */
BSM_NODISCARD bsm_status bsm_unstage_output(bsm_staged *staged,
                                            bsm_execution *e, const void *from,
                                            bsm_memory_space space,
                                            const bsm_array *array);

#endif /* BSM_RUNTIME_CONTEXT_STAGING_H_ */
