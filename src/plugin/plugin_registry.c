/* SPDX-License-Identifier: Apache-2.0 */
/* Registries: lists of borrowed descriptors, checked when they are added. */
#include "plugin/plugin_registry.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/allocate.h"
#include "base/options.h"

typedef struct kept {
  void *handle;
  void (*release)(void *);
} kept;

struct bsm_plugin_registry {
  const bsm_allocator *allocator;
  bsm_arena arena;
  BSM_VEC(const bsm_plugin *) plugins;
  BSM_VEC(kept) kept;
};

bsm_status bsm_plugin_registry_create(const bsm_allocator *allocator,
                                      bsm_plugin_registry **out) {
  BSM_NEED(out);
  *out = NULL;
  bsm_plugin_registry *registry =
      bsm_allocate(allocator, sizeof(*registry), 64);
  BSM_TRY_ALLOC(registry);
  memset(registry, 0, sizeof(*registry));
  registry->allocator = allocator;
  bsm_arena_init(&registry->arena, allocator);
  *out = registry;
  return BSM_OK;
}

void bsm_plugin_registry_destroy(bsm_plugin_registry *registry) {
  if (!registry) return;
  for (size_t i = registry->kept.len; i-- > 0;) {
    registry->kept.items[i].release(registry->kept.items[i].handle);
  }
  bsm_arena_destroy(&registry->arena);
  bsm_deallocate(registry->allocator, registry);
}

bsm_status bsm_plugin_registry_keep(bsm_plugin_registry *registry, void *handle,
                                    void (*release)(void *)) {
  const kept item = {handle, release};
  BSM_TRY_ALLOC(bsm_vec_push(&registry->arena, &registry->kept, item));
  return BSM_OK;
}

static bsm_status check_layer(const bsm_plugin_registry *registry,
                              const bsm_plugin *plugin, size_t index) {
  const bsm_layer_plugin *layer = &plugin->layers[index];
  if (!layer->name || !layer->name[0] ||
      strlen(layer->name) > BSM_PLUGIN_MAX_NAME) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "layer %zu needs a name of at most %d bytes", index,
                    BSM_PLUGIN_MAX_NAME);
  }
  if (!layer->shape || (!layer->run && !layer->schema) ||
      (!layer->check && !layer->schema)) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT, "layer %s lacks its function %s%s", layer->name,
        !layer->shape ? "`shape`"
        : !layer->run ? "`run`"
                      : "`check`",
        layer->shape ? ", which may be absent only with a schema" : "");
  }
  if (layer->outputs > BSM_PLUGIN_MAX_OUTPUTS) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "layer %s has %" PRIu32 " outputs; at most %d are possible",
                    layer->name, layer->outputs, BSM_PLUGIN_MAX_OUTPUTS);
  }
  bool twice =
      bsm_plugin_find_layer(registry, layer->name, layer->version) != NULL;
  for (size_t i = 0; i < index; i++) {
    twice = twice || (plugin->layers[i].version == layer->version &&
                      strcmp(plugin->layers[i].name, layer->name) == 0);
  }
  if (twice) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "layer %s version %" PRIu32 " is registered already",
                    layer->name, layer->version);
  }
  return BSM_OK;
}

static bsm_status check_plugin(const bsm_plugin_registry *registry,
                               const bsm_plugin *plugin) {
  if ((plugin->layer_count && !plugin->layers) ||
      (plugin->evaluator_count && !plugin->evaluators) ||
      (plugin->pattern_count && !plugin->patterns)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a table is NULL, its count is not");
  }
  for (size_t i = 0; i < plugin->layer_count; i++) {
    BSM_TRY(check_layer(registry, plugin, i));
  }
  for (size_t i = 0; i < plugin->evaluator_count; i++) {
    if (!plugin->evaluators[i].schema || !plugin->evaluators[i].evaluate) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "evaluator %zu has no schema or no function", i);
    }
  }
  return BSM_OK;
}

bsm_status bsm_plugin_registry_add(bsm_plugin_registry *registry,
                                   const bsm_plugin *plugin) {
  BSM_NEED(registry);
  BSM_NEED(plugin);
  if (plugin->abi != BSM_PLUGIN_ABI) {
    return BSM_FAIL(BSM_VERSION,
                    "the plug-in was built for version %" PRIu32
                    " of the plug-in interface; this library has version %u: "
                    "build it again with the headers of this version",
                    plugin->abi, BSM_PLUGIN_ABI);
  }
  if (!plugin->name || !plugin->name[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a plug-in without a name");
  }
  BSM_TRY_NOTE(check_plugin(registry, plugin), "in plug-in %s", plugin->name);
  BSM_TRY_ALLOC(bsm_vec_push(&registry->arena, &registry->plugins, plugin));
  return BSM_OK;
}

size_t bsm_plugin_registry_count(const bsm_plugin_registry *registry) {
  return registry ? registry->plugins.len : 0;
}

const bsm_plugin *bsm_plugin_registry_at(const bsm_plugin_registry *registry,
                                         size_t index) {
  return index < bsm_plugin_registry_count(registry)
             ? registry->plugins.items[index]
             : NULL;
}

const bsm_layer_plugin *bsm_plugin_find_layer(
    const bsm_plugin_registry *registry, const char *name, uint32_t version) {
  for (size_t i = 0; i < bsm_plugin_registry_count(registry); i++) {
    const bsm_plugin *plugin = registry->plugins.items[i];
    for (size_t k = 0; k < plugin->layer_count; k++) {
      const bsm_layer_plugin *layer = &plugin->layers[k];
      if (layer->version == version && strcmp(layer->name, name) == 0) {
        return layer;
      }
    }
  }
  return NULL;
}

bsm_status bsm_plugin_need_layer(const bsm_plugin_registry *registry,
                                 const char *name, uint32_t version,
                                 const bsm_layer_plugin **out) {
  char others[160] = "";
  size_t length = 0;
  *out = bsm_plugin_find_layer(registry, name, version);
  if (*out) return BSM_OK;
  for (size_t i = 0; i < bsm_plugin_registry_count(registry); i++) {
    const bsm_plugin *plugin = registry->plugins.items[i];
    for (size_t k = 0; k < plugin->layer_count; k++) {
      if (strcmp(plugin->layers[k].name, name) != 0) continue;
      const int wrote = snprintf(others + length, sizeof(others) - length,
                                 "%s%" PRIu32 " (%s)", length ? ", " : "",
                                 plugin->layers[k].version, plugin->name);
      if (wrote > 0) length += (size_t)wrote;
      if (length >= sizeof(others)) length = sizeof(others) - 1;
    }
  }
  if (length) {
    return BSM_FAIL(BSM_NOT_FOUND,
                    "the custom layer %s version %" PRIu32
                    " is not registered; there is version %s: register the "
                    "plug-in of the version that the engine was built with, or "
                    "compile the model again",
                    name, version, others);
  }
  return BSM_FAIL(BSM_NOT_FOUND,
                  "the custom layer %s version %" PRIu32
                  " is not registered: add the plug-in that has it to the "
                  "registry in the load options (bessemer --plugin FILE)",
                  name, version);
}
