/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine needs from plug-ins. */
#ifndef BSM_RUNTIME_STEPS_PLUGIN_STEP_H_
#define BSM_RUNTIME_STEPS_PLUGIN_STEP_H_

#include "bessemer/engine.h"
#include "engine/plan.h"

/* The distinct custom layers of a checked plan. */
BSM_NODISCARD bsm_status bsm_plugin_list_layers(const bsm_plan *plan,
                                                bsm_arena *arena,
                                                bsm_engine_layer **out,
                                                size_t *count);

#endif /* BSM_RUNTIME_STEPS_PLUGIN_STEP_H_ */
