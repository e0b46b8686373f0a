/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that call a layer of a plug-in. The backends do not know them.
 *
 * What an engine file says of such a step is checked in three stages: its
 * tensors and sizes when it is loaded; then, as soon as the layer is
 * registered, its arguments against the layer's schema (or its parameters by
 * the layer's `check`), and its outputs against the layer's shape function.
 * Nothing runs before all three passed. */
#ifndef BSM_RUNTIME_STEPS_PLUGIN_STEP_H_
#define BSM_RUNTIME_STEPS_PLUGIN_STEP_H_

#include "backend/device.h"
#include "bessemer/engine.h"
#include "bessemer/plugin.h"

/* `registry` may be NULL, or lack the layer: then the plan's side alone is
 * checked. */
BSM_NODISCARD bsm_status
bsm_plugin_step_check(const bsm_plugin_registry *registry, const bsm_plan *plan,
                      const bsm_plan_step *step);
/* BSM_NOT_FOUND: the layer is not registered. */
BSM_NODISCARD bsm_status bsm_plugin_step_prepare(
    const bsm_plugin_registry *registry, const bsm_plan *plan,
    const bsm_plan_step *step, bsm_arena *arena, bsm_prepared_step *out);
BSM_NODISCARD bsm_status bsm_plugin_step_run(const bsm_prepared_step *prepared,
                                             const bsm_run *run,
                                             bsm_thread_pool *pool);
/* "demo::swish_clamp version 1" */
const char *bsm_plugin_step_describe(const bsm_prepared_step *prepared);

/* The distinct custom layers of a checked plan. */
BSM_NODISCARD bsm_status bsm_plugin_list_layers(const bsm_plan *plan,
                                                bsm_arena *arena,
                                                bsm_engine_layer **out,
                                                size_t *count);

#endif /* BSM_RUNTIME_STEPS_PLUGIN_STEP_H_ */
