/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of this library, as the runtime sees it. */
#ifndef BSM_PLANNER_ENGINE_PLANNER_H_
#define BSM_PLANNER_ENGINE_PLANNER_H_

#include "engine/region_planner.h"

extern const bsm_region_planner_ops bsm_engine_planner_ops;

#endif /* BSM_PLANNER_ENGINE_PLANNER_H_ */
