/* SPDX-License-Identifier: Apache-2.0 */
/* Branches of a plan: steps of a device that need not wait for each other run
 * beside each other where a device records them, in *lanes*, of which each has
 * scratch memory of its own. Steps that fill the device by themselves have no
 * others beside them. */
#ifndef BSM_RUNTIME_PLAN_BRANCHES_H_
#define BSM_RUNTIME_PLAN_BRANCHES_H_

#include "backend/device.h"

typedef struct bsm_branches {
  /* By step, and one more: where in `waits` the steps begin that it waits for,
   * of those since the last one that is not the device's. */
  uint32_t *first, *waits;
  uint8_t *lanes;  /* by step */
  size_t *scratch; /* by lane: where its scratch memory begins */
} bsm_branches;

/* Finds the branches of prepared steps of the device, and makes *scratch_size
 * that of all lanes together. *out is NULL, and nothing else happens, where
 * each step waits for the one ahead of it. */
BSM_NODISCARD bsm_status bsm_branches_find(const bsm_plan *plan,
                                           const bsm_prepared_step *steps,
                                           bsm_arena *arena,
                                           size_t *scratch_size,
                                           bsm_branches **out);

/* Whether a device can record the step. */
static inline bool bsm_step_is_recordable(const bsm_plan_step *step) {
  return step->space == BSM_SPACE_DEVICE && step->kind != BSM_STEP_TRANSFER;
}

#endif /* BSM_RUNTIME_PLAN_BRANCHES_H_ */
