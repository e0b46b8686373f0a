/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of what a run computes on the way, taken after each step: memory of
 * the workspace is used again by later steps. The copies stay until the next
 * run starts. */
#ifndef BSM_RUNTIME_PLAN_KEPT_TENSORS_H_
#define BSM_RUNTIME_PLAN_KEPT_TENSORS_H_

#include "aten/tensor.h"
#include "bessemer/engine.h"

struct bsm_plan_runner;

typedef struct bsm_kept_tensors {
  bsm_arena arena; /* of a run */
  BSM_VEC(bsm_kept_tensor) items;
  uint64_t bytes, max_bytes;
} bsm_kept_tensors;

void bsm_kept_init(bsm_kept_tensors *kept, const bsm_allocator *allocator,
                   uint64_t max_bytes);
/* Forgets what is kept: for the next run, and at the end. */
void bsm_kept_clear(bsm_kept_tensors *kept);
/* Waits for step `index` of the plan, and copies its outputs, but not those
 * that only lay another tensor out anew, which have the name of an input. */
BSM_NODISCARD bsm_status
bsm_kept_take_step(bsm_kept_tensors *kept, const struct bsm_plan_runner *runner,
                   uint32_t index);
/* Copies a tensor of the host; the strings of `info` are copied, too. */
BSM_NODISCARD bsm_status bsm_kept_add(bsm_kept_tensors *kept,
                                      const bsm_kept_tensor *info,
                                      const bsm_tensor *tensor);

#endif /* BSM_RUNTIME_PLAN_KEPT_TENSORS_H_ */
