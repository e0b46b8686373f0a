/* SPDX-License-Identifier: Apache-2.0 */
/* What programs link that do not say which steps they run: every driver. */
#include "runtime/steps/step_driver.h"

const bsm_step_driver *const bsm_linked_step_drivers[BSM_STEP_KIND_END] = {
#define X(name, number, text, member) [number] = &bsm_device_step_driver,
    BSM_BACKEND_STEP_KINDS(X)
#undef X
#define X(name, number, text, member) [number] = &bsm_##member##_step_driver,
        BSM_RUNTIME_STEP_KINDS(X)
#undef X
};
