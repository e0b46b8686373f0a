/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins in shared libraries: the one place that opens code. */
#include <dlfcn.h>
#include <string.h>

#include "base/options.h"
#include "compiler/modules/module_internal.h"
#include "plugin/plugin_registry.h"

static void close_library(void *handle) {
  (void)dlclose(handle);
}

static bsm_status add_library(bsm_plugin_registry *registry, void *handle,
                              const char *path) {
  /* A pointer to a function in an object pointer: as POSIX wants it. */
  void *symbol = dlsym(handle, BSM_PLUGIN_ENTRY);
  bsm_plugin_entry_fn entry;
  if (!symbol) {
    return BSM_FAIL(BSM_NOT_FOUND,
                    "%s is no plug-in: it exports no " BSM_PLUGIN_ENTRY, path);
  }
  memcpy(&entry, &symbol, sizeof(entry));
  const bsm_plugin *plugin = entry();
  if (!plugin) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: " BSM_PLUGIN_ENTRY " gave NULL",
                    path);
  }
  return bsm_status_note(bsm_plugin_registry_add(registry, plugin),
                         "in the plug-in %s", path);
}

bsm_status bsm_plugin_open(bsm_plugin_registry *registry, const char *path) {
  BSM_NEED(registry);
  BSM_NEED(path);
  /* A name without a slash would be looked for in the system's folders. */
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  const char *name =
      strchr(path, '/') ? path : bsm_arena_printf(&scratch, "./%s", path);
  void *handle = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
  bsm_status status = BSM_OK;
  if (!name) {
    status = BSM_FAIL_OOM();
  } else if (!handle) {
    const char *why = dlerror();
    status = BSM_FAIL(BSM_IO, "the plug-in %s cannot be opened: %s", path,
                      why ? why : "?");
  }
  bsm_arena_destroy(&scratch);
  if (status) return status;
  /* The library is noted first: once registered it must stay open. */
  status = bsm_plugin_registry_keep(registry, handle, close_library);
  if (status) {
    (void)dlclose(handle);
    return status;
  }
  return add_library(registry, handle, path);
}
