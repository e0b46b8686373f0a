/* SPDX-License-Identifier: Apache-2.0 */
/* The table of drivers. */
#include "runtime/steps/step_driver.h"

static const bsm_step_driver *const drivers[] = {
#define X(name, number, text, member) [number] = &bsm_device_step_driver,
    BSM_BACKEND_STEP_KINDS(X)
#undef X
        [BSM_STEP_ATEN_CALL] = &bsm_aten_step_driver,
    [BSM_STEP_PLUGIN] = &bsm_plugin_step_driver,
    [BSM_STEP_TRANSFER] = &bsm_transfer_step_driver,
};

#define X(name, number, text, member)                           \
  _Static_assert(number < sizeof(drivers) / sizeof(drivers[0]), \
                 "every kind has a place in the table of drivers");
BSM_STEP_KINDS(X)
#undef X

const bsm_step_driver *bsm_step_driver_of(bsm_step_kind kind) {
  return drivers[kind];
}
