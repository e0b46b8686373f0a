/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a device that plans compute in, one for each context and memory
 * space: the workspace, and behind it the scratch memory of one step. No two
 * plans run at a time and nothing stays in it, so all plans of a context share
 * it. */
#ifndef BSM_RUNTIME_PLAN_WORKSPACE_H_
#define BSM_RUNTIME_PLAN_WORKSPACE_H_

#include "backend/device.h"

typedef struct bsm_workspace {
  bsm_stream *stream;             /* of the device that has the memory */
  const bsm_allocator *allocator; /* where memory of the host comes from */
  uint8_t *memory;                /* zeros at first */
  size_t size, scratch_size;
  void *given; /* the caller's memory, which cannot grow; or NULL */
  size_t given_size;
} bsm_workspace;

/* `given`: NULL, or memory of the device that the caller has, at a multiple of
 * BSM_ALIGNMENT. */
void bsm_workspace_init(bsm_workspace *w, bsm_stream *stream,
                        const bsm_allocator *allocator, void *given,
                        size_t given_size);
void bsm_workspace_destroy(bsm_workspace *w);

/* Makes room for a plan; what was in it is lost. Where memory is replaced, the
 * stream is waited for.
 * BSM_INVALID_ARGUMENT: the caller's memory is too small or misaligned.
 * BSM_LIMIT: there is no such size. */
BSM_NODISCARD bsm_status bsm_workspace_reserve(bsm_workspace *w,
                                               uint64_t workspace,
                                               size_t scratch);
static inline void *bsm_workspace_scratch(const bsm_workspace *w) {
  return w->memory + w->size;
}

#endif /* BSM_RUNTIME_PLAN_WORKSPACE_H_ */
