/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend shares. */
#include "backend/backend.h"

void *bsm_run_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor) {
  const bsm_plan_tensor *t = &plan->tensors[tensor];
  uint8_t *base = NULL;
  switch (t->region) {
    case BSM_REGION_INPUT:
      base = run->inputs[t->index];
      break;
    case BSM_REGION_OUTPUT:
      base = run->outputs[t->index];
      break;
    case BSM_REGION_WORKSPACE:
      base = run->workspace;
      break;
    case BSM_REGION_WEIGHTS:
      /* Steps never write here: bsm_plan_verify refuses such outputs. */
      base = (uint8_t *)(uintptr_t)plan->weights[t->index].data;
      break;
  }
  return base ? base + t->offset : NULL;
}
