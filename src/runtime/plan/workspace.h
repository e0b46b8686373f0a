/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that plans compute in, one for each context and memory space: the
 * workspace, followed by the scratch memory of one step. All plans of a context
 * share it, as no two run at a time and nothing stays in it. */
#ifndef BSM_RUNTIME_PLAN_WORKSPACE_H_
#define BSM_RUNTIME_PLAN_WORKSPACE_H_

#include "backend/device.h"

typedef struct bsm_workspace {
  bsm_stream *stream;             /* of the device that has the memory */
  const bsm_allocator *allocator; /* of the host's memory */
  uint8_t *memory;                /* zeros at first */
  size_t size, scratch_size;
  void *given; /* the caller's memory, which cannot grow; or NULL */
  size_t given_size;
} bsm_workspace;

/* `given`: NULL, or the caller's memory of the device, aligned to
 * BSM_ALIGNMENT. */
void bsm_workspace_init(bsm_workspace *w, bsm_stream *stream,
                        const bsm_allocator *allocator, void *given,
                        size_t given_size);
void bsm_workspace_destroy(bsm_workspace *w);

/* Makes room for a plan; the content is lost. Waits for the stream before
 * memory is replaced.
 * BSM_INVALID_ARGUMENT: the caller's memory is too small or misaligned.
 * BSM_LIMIT: there is no such size. */
BSM_NODISCARD bsm_status bsm_workspace_reserve(bsm_workspace *w,
                                               uint64_t workspace,
                                               size_t scratch);
static inline void *bsm_workspace_scratch(const bsm_workspace *w) {
  return w->memory + w->size;
}

#endif /* BSM_RUNTIME_PLAN_WORKSPACE_H_ */
