/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of an engine in a GPU: each image is loaded when a step
 * first needs it, and belongs to all contexts. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

#define LOG_BYTES 4096
#define PLAIN_SHARED (48u << 10) /* what a kernel may have unasked */

typedef struct entry {
  const bsm_plan_code *code;
  const void *image;
  bsm_cu_module module; /* NULL until it is needed */
  bsm_cu_function function;
  unsigned shared_bytes; /* that it was allowed so far */
} entry;

struct bsm_code_image {
  bsm_cuda_device *device;
  pthread_mutex_t lock; /* of the modules */
  entry *entries;       /* by name */
  size_t count;
};

static int by_name(const void *a, const void *b) {
  return strcmp(((const entry *)a)->code->name, ((const entry *)b)->code->name);
}

bsm_status bsm_cuda_code_load(bsm_device *device, const bsm_plan *plan,
                              bsm_code_image **out) {
  bsm_cuda_device *d = bsm_cuda_device_of(device);
  *out = NULL;
  bsm_code_image *c =
      bsm_allocate(d->allocator, sizeof(*c), _Alignof(bsm_code_image));
  BSM_TRY_ALLOC(c);
  *c = (bsm_code_image){.device = d, .count = plan->code_count};
  c->entries = bsm_allocate(d->allocator, (c->count + 1) * sizeof(*c->entries),
                            _Alignof(entry));
  if (!c->entries || pthread_mutex_init(&c->lock, NULL)) {
    bsm_deallocate(d->allocator, c->entries);
    bsm_deallocate(d->allocator, c);
    return BSM_FAIL_OOM();
  }
  for (size_t i = 0; i < c->count; i++) {
    c->entries[i] = (entry){.code = &plan->code[i],
                            .image = plan->weights[plan->code[i].weights].data};
  }
  if (c->count) qsort(c->entries, c->count, sizeof(entry), by_name);
  *out = c;
  return BSM_OK;
}

void bsm_cuda_code_unload(bsm_code_image *c) {
  if (!c) return;
  bsm_cuda_device *d = c->device;
  bsm_status entered = bsm_cuda_enter(d);
  for (size_t i = 0; i < c->count; i++) {
    if (c->entries[i].module) {
      (void)d->driver.module_unload(c->entries[i].module);
    }
  }
  if (!entered) bsm_cuda_leave(d);
  bsm_status_free(entered);
  pthread_mutex_destroy(&c->lock);
  bsm_deallocate(d->allocator, c->entries);
  bsm_deallocate(d->allocator, c);
}

static bsm_status load(bsm_cuda_device *d, entry *e, const char *name) {
  char log[LOG_BYTES] = "";
  int options[] = {BSM_CU_JIT_ERROR_LOG, BSM_CU_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
  bsm_cu_module module = NULL;
  bsm_status status = bsm_cuda_status(
      &d->driver, d->driver.module_load(&module, e->image, 2, options, values),
      "module_load");
  if (status && log[0]) {
    log[sizeof(log) - 1] = 0;
    status = bsm_status_note(status, "%s", log);
  }
  BSM_TRY(status);
  status = bsm_cuda_status(
      &d->driver, d->driver.module_get_function(&e->function, module, name),
      "module_get_function");
  if (status) {
    (void)d->driver.module_unload(module);
    return status;
  }
  e->module = module;
  return BSM_OK;
}

static bsm_status ready(bsm_cuda_device *d, entry *e, const char *name,
                        unsigned shared_bytes) {
  if (!e->module) BSM_TRY(load(d, e, name));
  if (shared_bytes > PLAIN_SHARED && shared_bytes > e->shared_bytes) {
    BSM_TRY_CUDA(&d->driver, function_set_attribute, e->function,
                 BSM_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE, (int)shared_bytes);
    e->shared_bytes = shared_bytes;
  }
  return BSM_OK;
}

bsm_status bsm_cuda_code_find(bsm_code_image *c, const bsm_cuda_kernel *kernel,
                              unsigned shared_bytes, bsm_cu_function *out) {
  const bsm_plan_code wanted = {.name = kernel->name};
  const entry key = {.code = &wanted};
  entry *found = c && c->count ? bsearch(&key, c->entries, c->count,
                                         sizeof(entry), by_name)
                               : NULL;
  if (!found) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the engine has no code for %s",
                    kernel->name);
  }
  pthread_mutex_lock(&c->lock);
  bsm_status status = ready(c->device, found, kernel->entry, shared_bytes);
  *out = found->function;
  pthread_mutex_unlock(&c->lock);
  return bsm_status_note(status, "in the code of %s", kernel->name);
}
