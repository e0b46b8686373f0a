/* SPDX-License-Identifier: Apache-2.0 */
/* Registers what plug-ins have for the compiler: schemas, layers, converters.
 */
#ifndef BSM_CONVERSION_PLUGIN_LAYERS_H_
#define BSM_CONVERSION_PLUGIN_LAYERS_H_

#include "conversion/convert.h"

/* Makes the operators of plug-ins known to the front ends. Fails for a schema
 * that does not parse, or that a layer cannot be. */
BSM_NODISCARD bsm_status bsm_plugin_declare(bsm_ir_ctx *cx,
                                            const bsm_plugin_registry *plugins);

/* Registers their layers and converters, over the built-in ones; `arena` is
 * the registry's. */
BSM_NODISCARD bsm_status
bsm_plugin_register(bsm_converter_registry *registry, bsm_arena *arena,
                    const bsm_plugin_registry *plugins);

/* Whether an operator runs as a layer of a plug-in: no converter that was
 * registered after it takes its place. */
bool bsm_plugin_layer_runs(const bsm_plugin_registry *plugins, bsm_str name);

#endif /* BSM_CONVERSION_PLUGIN_LAYERS_H_ */
