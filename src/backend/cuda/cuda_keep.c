/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts that a process keeps. A device retains the primary context of
 * its GPU; when nobody else does, the driver makes it for each engine that is
 * loaded and destroys it with the engine, which takes a tenth of a second or
 * more, and lets other processes wait. So the first device of each GPU retains
 * it once more, and that stays until the process ends, as with CUDA's runtime.
 */
#include "backend/cuda/cuda_internal.h"

/* GPUs beyond are used, but not kept. */
#define MAX_KEPT 64

static struct {
  pthread_mutex_t lock;
  bsm_cuda_driver driver; /* open while a context is kept, and from then on */
  struct {
    bsm_cu_context context; /* NULL: none */
    bsm_cu_device device;
  } gpus[MAX_KEPT];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool has_driver(void) {
  if (kept.driver.library) return true;
  bsm_status status = bsm_cuda_driver_open(NULL, &kept.driver);
  if (!status) return true;
  bsm_status_free(status);
  bsm_cuda_driver_close(&kept.driver);
  return false;
}

static void let_go(int32_t index) {
  if (!kept.gpus[index].context) return;
  kept.gpus[index].context = NULL;
  (void)kept.driver.primary_context_release(kept.gpus[index].device);
}

void bsm_cuda_keep(const bsm_cuda_device *d) {
  bsm_cu_context context = NULL;
  if (d->index < 0 || d->index >= MAX_KEPT) return;
  pthread_mutex_lock(&kept.lock);
  /* One that fails is not kept: the device has its own. */
  if (!kept.gpus[d->index].context && has_driver() &&
      !kept.driver.primary_context_retain(&context, d->device)) {
    kept.gpus[d->index].context = context;
    kept.gpus[d->index].device = d->device;
  }
  pthread_mutex_unlock(&kept.lock);
}

void bsm_cuda_let_go(int32_t index) {
  pthread_mutex_lock(&kept.lock);
  for (int32_t i = 0; i < MAX_KEPT; i++) {
    if (index < 0 || index == i) let_go(i);
  }
  pthread_mutex_unlock(&kept.lock);
}
