/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the driver of a step. */
#include "runtime/steps/step_driver.h"

#define X(name, number, text, member)        \
  _Static_assert(number < BSM_STEP_KIND_END, \
                 "every kind has a place in tables by kind");
BSM_STEP_KINDS(X)
#undef X

const bsm_step_driver *bsm_step_driver_of(bsm_step_kind kind) {
  return bsm_linked_step_drivers[kind];
}
