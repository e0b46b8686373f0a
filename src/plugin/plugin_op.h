/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in's operators as ops of the reference library: lowering runs them for
 * shapes and on constants as it does with its own. */
#ifndef BSM_PLUGIN_PLUGIN_OP_H_
#define BSM_PLUGIN_PLUGIN_OP_H_

#include "aten/op.h"
#include "bessemer/plugin.h"

/* Adds the evaluators and the layers with a schema; `arena` is the library's.
 * An operator that has both is evaluated when it can be. */
BSM_NODISCARD bsm_status
bsm_plugin_add_ops(bsm_arena *arena, bsm_aten_library *library,
                   const bsm_plugin_registry *registry);

/* Whether an op came from a plug-in: it has no code in the runtime. */
bool bsm_plugin_is_op(const bsm_aten_op *op);

#endif /* BSM_PLUGIN_PLUGIN_OP_H_ */
