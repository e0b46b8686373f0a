/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a context for arrays in another memory space, and the copies to and
 * from it. */
#include "runtime/context/staging.h"

#include <inttypes.h>
#include <string.h>

#include "aten/tensor.h"
#include "runtime/context/check_arrays.h"

static bsm_status check_strides(const bsm_device_ops *ops, const char *what,
                                size_t index, const char *name,
                                const bsm_array *array) {
  const int32_t loose = bsm_array_loose_dimension(array);
  if (loose < 0) return BSM_OK;
  bool negative = false;
  for (int32_t i = 0; i < array->dims.rank; i++) {
    negative = negative || array->strides[i] < 0;
  }
  if (ops->copy_strided && (!negative || array->space == BSM_SPACE_HOST)) {
    return BSM_OK;
  }
  int64_t strides[BSM_MAX_RANK];
  bsm_contiguous_strides(array->dims, strides);
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s %zu (%s) is not contiguous: stride %" PRId64
                  " of dimension %" PRId32 " must be %" PRId64,
                  what, index, name, array->strides[loose], loose,
                  strides[loose]);
}

static bsm_status check_address(const bsm_engine *engine, const char *what,
                                size_t index, const char *name,
                                const bsm_array *array, bsm_staged *staged) {
  const bsm_device_ops *ops = engine->ops[BSM_SPACE_DEVICE];
  /* Of an empty array nothing is read or written, wherever it lies. */
  if (!ops->check_address || array->data == staged->checked ||
      bsm_array_bytes(array) == 0) {
    return BSM_OK;
  }
  BSM_TRY_NOTE(
      ops->check_address(engine->devices[BSM_SPACE_DEVICE], array->data),
      "%s %zu (%s) is said to be on device %" PRId32, what, index, name,
      array->device);
  staged->checked = array->data;
  return BSM_OK;
}

bsm_status bsm_staging_check(const bsm_engine *engine, const char *what,
                             size_t index, const char *name,
                             const bsm_array *array, bsm_staged *staged) {
  const bsm_device_ops *ops = engine->ops[BSM_SPACE_DEVICE];
  if (array->space == BSM_SPACE_HOST) {
    return check_strides(engine->ops[BSM_SPACE_HOST], what, index, name, array);
  }
  if (array->space != BSM_SPACE_DEVICE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s %zu (%s) is in an unknown memory space %d", what, index,
                    name, (int)array->space);
  }
  if (!ops) {
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
  BSM_TRY(check_address(engine, what, index, name, array, staged));
  return check_strides(ops, what, index, name, array);
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

/* ---- arrays that steps cannot use where they are ---- */

bool bsm_array_is_loose(const bsm_engine *engine, const bsm_array *array) {
  const uint32_t alignment = engine->ops[array->space]->array_alignment;
  return bsm_array_loose_dimension(array) >= 0 ||
         (alignment && (uintptr_t)array->data % alignment != 0);
}

/* Copies between a loose array and a tight one in the same space. */
static bsm_status copy_loose(bsm_execution *e, const bsm_array *array,
                             void *tight, bool in) {
  bsm_strided_copy copy = {.to = in ? tight : array->data,
                           .from = in ? array->data : tight,
                           .element = bsm_dtype_size(array->dtype),
                           .dims = array->dims};
  if (bsm_array_loose_dimension(array) < 0) {
    return bsm_execution_copy(e, copy.to, array->space, copy.from, array->space,
                              bsm_array_bytes(array));
  }
  bsm_contiguous_strides(array->dims, in ? copy.to_strides : copy.from_strides);
  memcpy(in ? copy.from_strides : copy.to_strides, array->strides,
         (size_t)array->dims.rank * sizeof(*array->strides));
  return e->env.ops[array->space]->copy_strided(e->env.streams[array->space],
                                                &copy);
}

bsm_status bsm_stage_tight(bsm_staged *staged, bsm_execution *e,
                           const bsm_array *array, void **out) {
  *out = array->data;
  if (!bsm_array_is_loose(e->engine, array)) return BSM_OK;
  /* Work that was enqueued before may still read what is copied on the host. */
  if (array->space == BSM_SPACE_HOST && e->engine->ops[BSM_SPACE_DEVICE]) {
    BSM_TRY(bsm_execution_wait(e));
  }
  BSM_TRY(
      bsm_staged_reserve(staged, e, array->space, bsm_array_bytes(array), out));
  return copy_loose(e, array, *out, true);
}

/* ---- bindings ---- */

bsm_status bsm_stage_input(bsm_staged *staged, bsm_execution *e,
                           const bsm_array *array, bsm_memory_space space,
                           void **out) {
  void *tight;
  BSM_TRY(bsm_stage_tight(staged, e, array, &tight));
  *out = tight;
  if (array->space == space) return BSM_OK;
  const size_t bytes = bsm_array_bytes(array);
  BSM_TRY(bsm_staged_reserve(staged, e, space, bytes, out));
  return bsm_execution_copy(e, *out, space, tight, array->space, bytes);
}

bsm_status bsm_stage_output(bsm_staged *staged, bsm_execution *e,
                            const bsm_array *array, bsm_memory_space space,
                            void **out) {
  *out = array->data;
  if (array->space == space && !bsm_array_is_loose(e->engine, array)) {
    return BSM_OK;
  }
  return bsm_staged_reserve(staged, e, space, bsm_array_bytes(array), out);
}

bsm_status bsm_unstage_output(bsm_staged *staged, bsm_execution *e,
                              const void *from, bsm_memory_space space,
                              const bsm_array *array) {
  const size_t bytes = bsm_array_bytes(array);
  const bool loose = bsm_array_is_loose(e->engine, array);
  void *tight = loose ? (void *)(uintptr_t)from : array->data;
  if (array->space != space) {
    if (loose) {
      BSM_TRY(bsm_staged_reserve(staged, e, array->space, bytes, &tight));
    }
    BSM_TRY(bsm_execution_copy(e, tight, array->space, from, space, bytes));
    if (loose && array->space == BSM_SPACE_HOST) {
      BSM_TRY(bsm_execution_wait(e));
    }
  }
  return loose ? copy_loose(e, array, tight, false) : BSM_OK;
}
