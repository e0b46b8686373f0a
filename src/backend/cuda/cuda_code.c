/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of an engine in a GPU: of each kernel the form that this GPU
 * runs best. It is loaded when a step first needs it, and belongs to all
 * contexts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_forms.h"
#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

#define LOG_BYTES 4096
/* What a kernel may have unasked, less 16 KiB for what it declares itself. */
#define PLAIN_SHARED (32u << 10)

typedef struct entry {
  bsm_cuda_form form;
  int rank; /* bsm_cuda_form_rank */
  const bsm_plan_weights *image;
  bsm_cu_module module; /* NULL until it is needed */
  bsm_cu_function function;
  unsigned shared_bytes; /* that it was allowed so far */
} entry;

struct bsm_code_image {
  bsm_cuda_device *device;
  int sm;               /* that the engine was built for */
  pthread_mutex_t lock; /* of the modules */
  entry *entries;       /* by the name of the kernel */
  size_t count;
};

static int by_kernel(const void *a, const void *b) {
  return strcmp(((const entry *)a)->form.kernel,
                ((const entry *)b)->form.kernel);
}

/* The best form first; of two, code before PTX. */
static int by_kernel_and_rank(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const int order = by_kernel(a, b);
  return order                ? order
         : x->rank != y->rank ? y->rank - x->rank
                              : x->form.is_ptx - y->form.is_ptx;
}

/* ---- which forms there are ---- */

static bsm_status read_entry(const bsm_plan *plan, uint32_t index, int sm,
                             entry *e) {
  const bsm_plan_code *code = &plan->code[index];
  *e = (entry){.image = &plan->weights[code->weights]};
  const uint8_t *bytes = e->image->data;
  const uint64_t size = e->image->size;
  if (!bsm_cuda_form_parse(code->name, &e->form) || !size ||
      (e->form.is_ptx && bytes[size - 1] != 0)) {
    return BSM_FAIL(BSM_CORRUPT, "code %" PRIu32 " is no code of a GPU", index);
  }
  e->rank = bsm_cuda_form_rank(&e->form, sm);
  return BSM_OK;
}

/* Keeps the best form of each kernel. */
static bsm_status choose_forms(bsm_code_image *c) {
  size_t kept = 0;
  for (size_t i = 0; i < c->count; i++) {
    entry *e = &c->entries[i];
    if (kept && by_kernel(&c->entries[kept - 1], e) == 0) continue;
    if (!e->rank) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "the engine was built for sm_%d%s, and GPU %d, %s, is "
                      "sm_%d: compile the model again, for cuda:sm_%d",
                      e->form.sm, e->form.specific ? "a" : "",
                      (int)c->device->index, c->device->name, c->device->sm,
                      c->device->sm);
    }
    c->entries[kept++] = *e;
  }
  c->count = kept;
  return BSM_OK;
}

static bsm_status read_entries(bsm_code_image *c, const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->code_count; i++) {
    BSM_TRY(read_entry(plan, i, c->device->sm, &c->entries[i]));
  }
  c->count = plan->code_count;
  c->sm = c->device->sm;
  if (!c->count) return BSM_OK;
  c->sm = c->entries[0].form.sm;
  qsort(c->entries, c->count, sizeof(entry), by_kernel_and_rank);
  return choose_forms(c);
}

/* ---- loading ---- */

bsm_status bsm_cuda_code_load(bsm_device *device, const bsm_plan *plan,
                              bsm_code_image **out) {
  bsm_cuda_device *d = bsm_cuda_device_of(device);
  *out = NULL;
  bsm_code_image *c =
      bsm_allocate(d->allocator, sizeof(*c), _Alignof(bsm_code_image));
  BSM_TRY_ALLOC(c);
  *c = (bsm_code_image){.device = d};
  c->entries =
      bsm_allocate(d->allocator, ((size_t)plan->code_count + 1) * sizeof(entry),
                   _Alignof(entry));
  if (!c->entries || pthread_mutex_init(&c->lock, NULL)) {
    bsm_deallocate(d->allocator, c->entries);
    bsm_deallocate(d->allocator, c);
    return BSM_FAIL_OOM();
  }
  bsm_status status = read_entries(c, plan);
  if (status) {
    c->count = 0;
    bsm_cuda_code_unload(c);
    return status;
  }
  *out = c;
  return BSM_OK;
}

int bsm_cuda_code_sm(const bsm_code_image *code, const bsm_cuda_device *d) {
  return code ? code->sm : d->sm;
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
      &d->driver,
      d->driver.module_load(&module, e->image->data, 2, options, values),
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

static entry *find_entry(const bsm_code_image *c,
                         const bsm_cuda_kernel *kernel) {
  const entry key = {.form = {.kernel = kernel->name}};
  return c && c->count
             ? bsearch(&key, c->entries, c->count, sizeof(entry), by_kernel)
             : NULL;
}

bool bsm_cuda_code_has(const bsm_code_image *code,
                       const bsm_cuda_kernel *kernel) {
  return find_entry(code, kernel) != NULL;
}

bsm_status bsm_cuda_code_find(bsm_code_image *c, const bsm_cuda_kernel *kernel,
                              unsigned shared_bytes, bsm_cu_function *out) {
  entry *found = find_entry(c, kernel);
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
