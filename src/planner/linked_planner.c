/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries with this file plan for shapes while engines run. */
#include "planner/engine_planner.h"

const bsm_region_planner_ops *const bsm_linked_region_planner =
    &bsm_engine_planner_ops;
