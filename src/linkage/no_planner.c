/* SPDX-License-Identifier: Apache-2.0 */
/* The small runtime has no planner: it runs the plans that engines bring. */
#include "engine/region_planner.h"

const bsm_region_planner_ops *const bsm_linked_region_planner = NULL;
