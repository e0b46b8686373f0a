/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads and downloads of a program's tensors, and the memory of their copies
 * on the device. */
#include "runtime/program/residency.h"

#include "aten/ivalue_parts.h"
#include "base/allocate.h"

/* Values do not nest deeper; see collector.c. */
#define MAX_DEPTH 200

void bsm_residency_init(bsm_residency *r, bsm_execution *execution,
                        const bsm_allocator *allocator) {
  *r = (bsm_residency){.execution = execution, .allocator = allocator};
}

static bsm_device *device_of(const bsm_residency *r) {
  return r->execution->engine->devices[BSM_SPACE_DEVICE];
}

static void release_list(bsm_residency *r, bsm_resident *list) {
  while (list) {
    bsm_resident *next = list->next;
    if (!list->borrowed) {
      device_of(r)->ops->release(device_of(r), r->allocator, list->memory);
    }
    bsm_deallocate(r->allocator, list);
    list = next;
  }
}

void bsm_residency_destroy(bsm_residency *r) {
  if (!r->execution) return;
  if (r->all || r->free) bsm_status_free(bsm_execution_wait(r->execution));
  release_list(r, r->all);
  release_list(r, r->free);
  r->all = r->free = NULL;
}

bsm_status bsm_residency_wait(bsm_residency *r) {
  if (!r->pending) return BSM_OK;
  r->pending = false;
  bsm_status status = bsm_execution_wait(r->execution);
  if (status) r->failed = true;
  return status;
}

/* ---- memory ---- */

/* Takes released memory of about this size. */
static bsm_resident *take_free(bsm_residency *r, size_t bytes) {
  for (bsm_resident **at = &r->free; *at; at = &(*at)->next) {
    bsm_resident *it = *at;
    if (it->size < bytes || it->size / 2 > bytes) continue;
    *at = it->next;
    return it;
  }
  return NULL;
}

static bsm_status new_memory(bsm_residency *r, size_t bytes,
                             bsm_resident **out) {
  bsm_device *device = device_of(r);
  if (bytes > r->max_bytes || r->bytes > r->max_bytes - bytes) {
    r->refused = true;
    return BSM_FAIL_OOM();
  }
  bsm_resident *it = take_free(r, bytes);
  if (!it) {
    it = bsm_allocate(r->allocator, sizeof(*it), _Alignof(bsm_resident));
    BSM_TRY_ALLOC(it);
    *it = (bsm_resident){.size = bytes};
    bsm_status status = device->ops->allocate(device, r->allocator, bytes,
                                              BSM_ALIGNMENT, &it->memory);
    if (status) {
      bsm_deallocate(r->allocator, it);
      return status;
    }
  }
  *it = (bsm_resident){
      .next = r->all, .memory = it->memory, .size = it->size, .alive = true};
  r->all = it;
  r->bytes += it->size;
  *out = it;
  return BSM_OK;
}

void bsm_residency_forget_all(bsm_residency *r) {
  for (bsm_resident *it = r->all; it; it = it->next) it->alive = false;
}

/* Released memory may be used again at once, because the stream works in order.
 */
void bsm_residency_sweep(bsm_residency *r) {
  bsm_resident **at = &r->all;
  while (*at) {
    bsm_resident *it = *at;
    if (it->alive) {
      at = &it->next;
      continue;
    }
    *at = it->next;
    if (it->borrowed) {
      bsm_deallocate(r->allocator, it);
      continue;
    }
    r->bytes -= it->size;
    it->next = r->free;
    r->free = it;
  }
}

/* ---- tensors ---- */

/* A contiguous tensor whose storage has no memory on the host. */
static bsm_status new_tensor(bsm_arena *arena, bsm_dtype dtype, bsm_dims dims,
                             bsm_tensor **out) {
  int64_t n;
  BSM_TRY(bsm_tensor_new(arena, dtype, dims, true, out));
  (*out)->storage->meta = false;
  if (bsm_dims_numel(dims, &n)) {
    (*out)->storage->size = (size_t)n * bsm_dtype_size(dtype);
  }
  return BSM_OK;
}

bsm_status bsm_residency_new(bsm_residency *r, bsm_arena *arena,
                             bsm_dtype dtype, bsm_dims dims, bsm_tensor **out,
                             void **address) {
  bsm_resident *resident;
  BSM_TRY(new_tensor(arena, dtype, dims, out));
  BSM_TRY(new_memory(r, (*out)->storage->size, &resident));
  resident->valid = true;
  (*out)->storage->resident = resident;
  *address = resident->memory;
  return BSM_OK;
}

bsm_status bsm_residency_borrow(bsm_residency *r, bsm_arena *arena,
                                const bsm_array *array, bsm_tensor **out) {
  BSM_TRY(new_tensor(arena, array->dtype, array->dims, out));
  bsm_resident *it =
      bsm_allocate(r->allocator, sizeof(*it), _Alignof(bsm_resident));
  BSM_TRY_ALLOC(it);
  *it = (bsm_resident){.next = r->all,
                       .memory = array->data,
                       .size = (*out)->storage->size,
                       .valid = true,
                       .borrowed = true,
                       .alive = true};
  r->all = it;
  (*out)->storage->resident = it;
  (*out)->storage->read_only = true;
  return BSM_OK;
}

/* ---- to the device ---- */

/* A constant is one of the engine's weights, which are on the device for all
 * contexts; *address is NULL for other tensors. */
static bsm_status find_constant(bsm_residency *r, const bsm_tensor *t,
                                void **address) {
  const bsm_engine *engine = r->execution->engine;
  const void *found = NULL;
  const uint64_t bytes =
      (uint64_t)bsm_tensor_numel(t) * bsm_dtype_size(t->dtype);
  if (t->storage->read_only && engine->weights) {
    BSM_TRY(bsm_device_weights_find(engine->weights,
                                    r->execution->env.streams[BSM_SPACE_DEVICE],
                                    bsm_tensor_data(t), bytes, &found));
  }
  *address = (void *)(uintptr_t)found;
  return BSM_OK;
}

static bsm_status upload(bsm_residency *r, bsm_storage *s) {
  if (!s->resident) {
    BSM_TRY(new_memory(r, s->size, &s->resident));
    s->resident->host_valid = true;
  }
  BSM_TRY(bsm_execution_copy(r->execution, s->resident->memory,
                             BSM_SPACE_DEVICE, s->data, BSM_SPACE_HOST,
                             s->size));
  r->pending = true;
  s->resident->valid = true;
  return BSM_OK;
}

/* A view inside of other memory may not be where kernels can read it: it is
 * copied to memory that is used again after the next collection. */
static bsm_status align(bsm_residency *r, const bsm_tensor *t, uint8_t *at,
                        void **address) {
  const size_t bytes = (size_t)bsm_tensor_numel(t) * bsm_dtype_size(t->dtype);
  bsm_resident *copy;
  const uint32_t alignment = device_of(r)->ops->array_alignment;
  *address = at;
  if (!alignment || (uintptr_t)at % alignment == 0) return BSM_OK;
  BSM_TRY(new_memory(r, bytes, &copy));
  *address = copy->memory;
  return bsm_execution_copy(r->execution, copy->memory, BSM_SPACE_DEVICE, at,
                            BSM_SPACE_DEVICE, bytes);
}

bsm_status bsm_residency_to_device(bsm_residency *r, bsm_arena *arena,
                                   const bsm_tensor *t, void **address) {
  bsm_tensor *x = (bsm_tensor *)(uintptr_t)t;
  *address = NULL;
  if (bsm_tensor_numel(t) == 0) return BSM_OK;
  if (!bsm_tensor_is_contiguous(t)) {
    const bsm_ivalue value = bsm_iv_tensor(x);
    BSM_TRY(bsm_residency_fetch(r, arena, &value, 1));
    BSM_TRY(bsm_tensor_contiguous(arena, t, &x));
  }
  bsm_storage *s = x->storage;
  if (!s->resident) BSM_TRY(find_constant(r, x, address));
  if (*address) return BSM_OK;
  if (!s->resident || !s->resident->valid) BSM_TRY(upload(r, s));
  return align(r, x,
               (uint8_t *)s->resident->memory +
                   (size_t)x->offset * bsm_dtype_size(x->dtype),
               address);
}

/* ---- to the host ---- */

static bsm_status fetch_storage(bsm_residency *r, bsm_arena *arena,
                                bsm_storage *s) {
  if (!s->resident || s->resident->host_valid) return BSM_OK;
  if (!s->data) {
    s->data = bsm_arena_alloc(arena, s->size + 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(s->data);
    s->resident->host_own = true;
  }
  BSM_TRY(bsm_execution_copy(r->execution, s->data, BSM_SPACE_HOST,
                             s->resident->memory, BSM_SPACE_DEVICE, s->size));
  r->pending = true;
  s->resident->host_valid = true;
  return BSM_OK;
}

bsm_status bsm_residency_detach(bsm_residency *r, bsm_arena *arena,
                                bsm_tensor *t) {
  const bsm_resident *resident = t->storage->resident;
  const size_t size = bsm_dtype_size(t->dtype);
  const size_t bytes = (size_t)bsm_tensor_numel(t) * size;
  if (!resident || !resident->valid || resident->host_valid ||
      bytes > t->storage->size / 2 || !bsm_tensor_is_contiguous(t)) {
    return BSM_OK;
  }
  bsm_storage *own = BSM_NEW(arena, bsm_storage);
  BSM_TRY_ALLOC(own);
  own->size = bytes;
  own->data = bsm_arena_alloc(arena, bytes + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(own->data);
  const uint8_t *from = (const uint8_t *)resident->memory;
  if (bytes) {
    BSM_TRY(bsm_execution_copy(r->execution, own->data, BSM_SPACE_HOST,
                               from + (size_t)t->offset * size,
                               BSM_SPACE_DEVICE, bytes));
  }
  r->pending = true;
  t->storage = own;
  t->offset = 0;
  return BSM_OK;
}

static bsm_status fetch_value(bsm_residency *r, bsm_arena *arena,
                              const bsm_ivalue *v, int depth);

static bsm_status fetch_values(bsm_residency *r, bsm_arena *arena,
                               const bsm_ivalue *values, size_t n, int depth) {
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(fetch_value(r, arena, &values[i], depth));
  }
  return BSM_OK;
}

static bsm_status fetch_value(bsm_residency *r, bsm_arena *arena,
                              const bsm_ivalue *v, int depth) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %d deep",
                    MAX_DEPTH);
  }
  const bsm_iv_parts parts = bsm_iv_parts_of(v);
  return v->tag == BSM_IVALUE_TENSOR
             ? fetch_storage(r, arena, v->u.tensor->storage)
             : fetch_values(r, arena, parts.items, parts.len, depth + 1);
}

bsm_status bsm_residency_fetch(bsm_residency *r, bsm_arena *arena,
                               const bsm_ivalue *values, size_t n) {
  const bool waiting = r->pending;
  r->pending = false;
  bsm_status status = fetch_values(r, arena, values, n, 0);
  const bool fetched = r->pending;
  r->pending = waiting || fetched;
  return status || !fetched ? status : bsm_residency_wait(r);
}

bsm_status bsm_residency_write(bsm_residency *r, const bsm_tensor *t) {
  BSM_TRY(bsm_residency_wait(r)); /* an upload may be reading it */
  if (t->storage->resident) t->storage->resident->valid = false;
  return BSM_OK;
}
