/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that plans compute in: it grows to the largest need. */
#include "runtime/plan/workspace.h"

#include <inttypes.h>

#include "base/checked.h"

void bsm_workspace_init(bsm_workspace *w, bsm_stream *stream,
                        const bsm_allocator *allocator, void *given,
                        size_t given_size) {
  *w = (bsm_workspace){.stream = stream,
                       .allocator = allocator,
                       .given = given,
                       .given_size = given_size};
}

static void release(bsm_workspace *w, void *memory) {
  if (!memory) return;
  w->stream->device->ops->release(w->stream->device, w->allocator, memory);
}

void bsm_workspace_destroy(bsm_workspace *w) {
  if (!w->given) release(w, w->memory);
  w->memory = NULL;
}

/* Zeros, so that a plan that reads what it never wrote does not see old memory.
 */
static bsm_status replace(bsm_workspace *w, size_t bytes) {
  const bsm_device_ops *ops = w->stream->device->ops;
  void *memory;
  if (w->memory) BSM_TRY(ops->synchronize(w->stream));
  BSM_TRY(ops->allocate(w->stream->device, w->allocator, bytes ? bytes : 1,
                        BSM_ALIGNMENT, &memory));
  bsm_status status = ops->fill_zero(w->stream, memory, bytes);
  if (status) {
    release(w, memory);
    return status;
  }
  release(w, w->memory);
  w->memory = memory;
  return BSM_OK;
}

static bsm_status use_given(bsm_workspace *w, size_t total) {
  if (w->given_size < total || (uintptr_t)w->given % BSM_ALIGNMENT != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the given workspace has %zu bytes; %zu are needed, at a "
                    "multiple of %d",
                    w->given_size, total, BSM_ALIGNMENT);
  }
  w->memory = w->given;
  return BSM_OK;
}

bsm_status bsm_workspace_reserve(bsm_workspace *w, uint64_t workspace,
                                 size_t scratch) {
  size_t size, total;
  if (w->memory && workspace <= w->size && scratch <= w->scratch_size) {
    return BSM_OK;
  }
  if (workspace > SIZE_MAX ||
      !bsm_size_align((size_t)workspace, BSM_ALIGNMENT, &size)) {
    return BSM_FAIL(BSM_LIMIT, "the workspace of %" PRIu64 " bytes is too big",
                    workspace);
  }
  if (size < w->size) size = w->size;
  if (scratch < w->scratch_size) scratch = w->scratch_size;
  if (!bsm_size_add(size, scratch, &total)) {
    return BSM_FAIL(BSM_LIMIT, "the workspace of %" PRIu64 " bytes is too big",
                    workspace);
  }
  if (w->given) {
    BSM_TRY(use_given(w, total));
  } else {
    BSM_TRY(replace(w, total));
  }
  w->size = size;
  w->scratch_size = scratch;
  return BSM_OK;
}
