/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU. The driver takes a hundred microseconds and waits for all
 * streams to give memory, or to take it back: so what is released is kept, in
 * sizes of four steps for each power of two, and given to the next who asks.
 * When the driver has none left, what is kept goes back to it. */
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

/* The driver aligns to 256. */
#define GRAIN ((size_t)512)
#define MAX_BYTES ((uint64_t)1 << 46)

struct bsm_cuda_block {
  bsm_cuda_block *next;
  bsm_cu_address address;
  size_t bytes;
};

/* `bytes` or a little more, so that few sizes are apart. */
static size_t size_class(size_t bytes) {
  size_t step = GRAIN;
  while (step * 4 < bytes) step *= 2;
  step = step > GRAIN ? step / 2 : GRAIN;
  return (bytes + step - 1) / step * step;
}

static bsm_cuda_block *take(bsm_cuda_block **list, size_t bytes,
                            bsm_cu_address address) {
  for (bsm_cuda_block **p = list; *p; p = &(*p)->next) {
    bsm_cuda_block *b = *p;
    if (address ? b->address != address : b->bytes != bytes) continue;
    *p = b->next;
    return b;
  }
  return NULL;
}

static void put(bsm_cuda_block **list, bsm_cuda_block *block) {
  block->next = *list;
  *list = block;
}

static void trim(bsm_cuda_device *d) {
  while (d->spare) {
    bsm_cuda_block *b = d->spare;
    d->spare = b->next;
    (void)d->driver.memory_free(b->address);
    bsm_deallocate(d->allocator, b);
  }
}

void bsm_cuda_trim(bsm_cuda_device *device) {
  pthread_mutex_lock(&device->lock);
  trim(device);
  pthread_mutex_unlock(&device->lock);
}

/* New memory of the driver, after giving it back what is kept if need be. */
static bsm_status ask_driver(bsm_cuda_device *d, bsm_cuda_block *block) {
  bsm_cu_result result =
      d->driver.memory_allocate(&block->address, block->bytes);
  if (result == BSM_CU_OUT_OF_MEMORY && d->spare) {
    trim(d);
    result = d->driver.memory_allocate(&block->address, block->bytes);
  }
  return bsm_status_note(bsm_cuda_status(&d->driver, result, "memory_allocate"),
                         "%zu bytes on device %d, %s", block->bytes,
                         (int)d->index, d->name);
}

static bsm_status find_block(bsm_cuda_device *d, size_t bytes,
                             bsm_cuda_block **out) {
  *out = take(&d->spare, bytes, 0);
  if (*out) return BSM_OK;
  bsm_cuda_block *block =
      bsm_allocate(d->allocator, sizeof(*block), _Alignof(bsm_cuda_block));
  BSM_TRY_ALLOC(block);
  *block = (bsm_cuda_block){.bytes = bytes};
  bsm_status status = ask_driver(d, block);
  if (status) {
    bsm_deallocate(d->allocator, block);
    return status;
  }
  *out = block;
  return BSM_OK;
}

static bsm_status allocate(bsm_cuda_device *d, size_t bytes, void **out) {
  bsm_cuda_block *block = NULL;
  pthread_mutex_lock(&d->lock);
  bsm_status status = find_block(d, size_class(bytes), &block);
  if (block) put(&d->blocks, block);
  pthread_mutex_unlock(&d->lock);
  if (block) *out = (void *)(uintptr_t)block->address;
  return status;
}

bsm_status bsm_cuda_allocate(bsm_device *device, const bsm_allocator *host,
                             size_t bytes, size_t alignment, void **out) {
  (void)host;
  *out = NULL;
  if (bytes > MAX_BYTES || alignment > GRAIN / 2) {
    return BSM_FAIL(BSM_LIMIT, "%zu bytes of a GPU, aligned to %zu", bytes,
                    alignment);
  }
  BSM_CUDA_INSIDE(bsm_cuda_device_of(device),
                  allocate(inside_, bytes ? bytes : 1, out));
}

void bsm_cuda_release(bsm_device *device, const bsm_allocator *host,
                      void *memory) {
  bsm_cuda_device *d = bsm_cuda_device_of(device);
  (void)host;
  if (!memory) return;
  pthread_mutex_lock(&d->lock);
  bsm_cuda_block *block =
      take(&d->blocks, 0, (bsm_cu_address)(uintptr_t)memory);
  if (block) put(&d->spare, block);
  pthread_mutex_unlock(&d->lock);
}

/* ---- memory of callers ---- */

/* Some devices reach all memory of the process. */
static bsm_status refuse_unknown(bsm_cuda_device *d) {
  int pageable = 0;
  BSM_TRY_CUDA(&d->driver, device_get_attribute, &pageable,
               BSM_CU_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, d->device);
  return pageable
             ? BSM_OK
             : BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "it is not memory of a GPU: the driver does not know "
                        "its address");
}

/* Pinned and managed memory is every device's. */
static bool is_shared(const bsm_cuda_device *d, bsm_cu_address at) {
  int type = 0;
  unsigned managed = 0;
  return (!d->driver.pointer_attribute(&type, BSM_CU_POINTER_MEMORY_TYPE, at) &&
          type == BSM_CU_MEMORY_TYPE_HOST) ||
         (!d->driver.pointer_attribute(&managed, BSM_CU_POINTER_IS_MANAGED,
                                       at) &&
          managed);
}

static bsm_status check_address(bsm_cuda_device *d, bsm_cu_address at) {
  int index = d->index;
  const bsm_cu_result result =
      d->driver.pointer_attribute(&index, BSM_CU_POINTER_DEVICE_ORDINAL, at);
  if (result == BSM_CU_INVALID_VALUE) return refuse_unknown(d);
  BSM_TRY(bsm_cuda_status(&d->driver, result, "pointer_attribute"));
  if (index == d->index || is_shared(d, at)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "it is memory of GPU %d, not of GPU %d",
                  index, (int)d->index);
}

bsm_status bsm_cuda_check_address(bsm_device *device, const void *address) {
  BSM_CUDA_INSIDE(bsm_cuda_device_of(device),
                  check_address(inside_, (bsm_cu_address)(uintptr_t)address));
}
