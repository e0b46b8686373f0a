/* SPDX-License-Identifier: Apache-2.0 */
/* Registries behind the public handle, and looking layers up. */
#ifndef BSM_PLUGIN_PLUGIN_REGISTRY_H_
#define BSM_PLUGIN_PLUGIN_REGISTRY_H_

#include "base/strings.h"
#include "bessemer/plugin.h"

/* The layer of this name and version; NULL when there is none (also for a NULL
 * registry). */
const bsm_layer_plugin *bsm_plugin_find_layer(
    const bsm_plugin_registry *registry, const char *name, uint32_t version);

/* The layer, or BSM_NOT_FOUND, which says what is wanted and what there is. */
BSM_NODISCARD bsm_status
bsm_plugin_need_layer(const bsm_plugin_registry *registry, const char *name,
                      uint32_t version, const bsm_layer_plugin **out);

/* Calls release(handle) when the registry is destroyed. */
BSM_NODISCARD bsm_status bsm_plugin_registry_keep(bsm_plugin_registry *registry,
                                                  void *handle,
                                                  void (*release)(void *));

static inline uint32_t bsm_plugin_outputs(const bsm_layer_plugin *layer) {
  return layer->outputs ? layer->outputs : 1;
}

#endif /* BSM_PLUGIN_PLUGIN_REGISTRY_H_ */
