/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a context for arrays in another memory space, and the copies to and
 * from it. */
#include "runtime/context/staging.h"

#include <inttypes.h>

#include "runtime/context/check_arrays.h"

bsm_status bsm_staging_check(const bsm_engine *engine, const char *what,
                             size_t index, const char *name,
                             const bsm_array *array) {
  if (array->space == BSM_SPACE_HOST) return BSM_OK;
  if (array->space != BSM_SPACE_DEVICE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s %zu (%s) is in an unknown memory space %d", what, index,
                    name, (int)array->space);
  }
  if (!engine->ops[BSM_SPACE_DEVICE]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s %zu (%s) is on a device; the engine runs on the CPU",
                    what, index, name);
  }
  if (array->device != engine->device_index) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s %zu (%s) is on device %" PRId32
                    ", the engine was loaded for %" PRId32,
                    what, index, name, array->device, engine->device_index);
  }
  return BSM_OK;
}

bsm_status bsm_staged_reserve(bsm_staged *staged, bsm_execution *e,
                              bsm_memory_space space, size_t bytes,
                              void **out) {
  bsm_device *device = e->engine->devices[space];
  void **memory = &staged->memory[space];
  if (!*memory || bytes > staged->size[space]) {
    if (*memory) BSM_TRY(bsm_execution_wait(e));
    device->ops->release(device, e->allocator, *memory);
    *memory = NULL;
    BSM_TRY(device->ops->allocate(device, e->allocator, bytes ? bytes : 1,
                                  BSM_ALIGNMENT, memory));
    staged->size[space] = bytes;
  }
  *out = *memory;
  return BSM_OK;
}

void bsm_staged_release(bsm_staged *staged, bsm_execution *e) {
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    bsm_device *device = e->engine->devices[i];
    if (!staged->memory[i]) continue;
    device->ops->release(device, e->allocator, staged->memory[i]);
    staged->memory[i] = NULL;
  }
}

bsm_status bsm_stage_output(bsm_staged *staged, bsm_execution *e,
                            const bsm_array *array, bsm_memory_space space,
                            void **out) {
  *out = array->data;
  if (array->space == space) return BSM_OK;
  return bsm_staged_reserve(staged, e, space, bsm_array_bytes(array), out);
}

bsm_status bsm_stage_input(bsm_staged *staged, bsm_execution *e,
                           const bsm_array *array, bsm_memory_space space,
                           void **out) {
  BSM_TRY(bsm_stage_output(staged, e, array, space, out));
  if (array->space == space) return BSM_OK;
  return bsm_execution_copy(e, *out, space, array->data, array->space,
                            bsm_array_bytes(array));
}

bsm_status bsm_unstage_output(bsm_execution *e, const void *from,
                              bsm_memory_space space, const bsm_array *array) {
  if (array->space == space) return BSM_OK;
  return bsm_execution_copy(e, array->data, array->space, from, space,
                            bsm_array_bytes(array));
}
