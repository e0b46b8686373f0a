/* SPDX-License-Identifier: Apache-2.0 */
/* An NVIDIA GPU as a device: opening it, and the table of its functions. */
#include "backend/cuda/cuda_device.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

bsm_status bsm_cuda_enter(bsm_cuda_device *device) {
  BSM_TRY_CUDA(&device->driver, context_push, device->context);
  return BSM_OK;
}

void bsm_cuda_leave(bsm_cuda_device *device) {
  bsm_cu_context context;
  (void)device->driver.context_pop(&context);
}

/* ---- opening ---- */

static bsm_status find_device(bsm_cuda_device *d) {
  int count = 0, major = 0, minor = 0;
  BSM_TRY_CUDA(&d->driver, device_get_count, &count);
  if (d->index < 0 || d->index >= count) {
    return BSM_FAIL(BSM_NOT_FOUND,
                    "there is no GPU %d: the driver sees %d, numbered from 0 "
                    "(CUDA_VISIBLE_DEVICES hides some)",
                    (int)d->index, count);
  }
  BSM_TRY_CUDA(&d->driver, device_get, &d->device, d->index);
  BSM_TRY_CUDA(&d->driver, device_get_name, d->name, (int)sizeof(d->name) - 1,
               d->device);
  BSM_TRY_CUDA(&d->driver, device_get_attribute, &major,
               BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->device);
  BSM_TRY_CUDA(&d->driver, device_get_attribute, &minor,
               BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->device);
  d->sm = 10 * major + minor;
  if (d->sm < BSM_CUDA_MIN_SM) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "GPU %d, %s, has compute capability %d.%d; %d.%d is the "
                    "least that engines run on",
                    (int)d->index, d->name, major, minor, BSM_CUDA_MIN_SM / 10,
                    BSM_CUDA_MIN_SM % 10);
  }
  return BSM_OK;
}

static bsm_status open_device(bsm_cuda_device *d) {
  BSM_TRY(bsm_cuda_driver_open(NULL, &d->driver));
  BSM_TRY(find_device(d));
  BSM_TRY_CUDA(&d->driver, primary_context_retain, &d->context, d->device);
  bsm_cuda_keep(d);
  return BSM_OK;
}

/* A context that was lost is of no use to the next engine. */
static bool is_lost(const bsm_cuda_device *d) {
  size_t available, total;
  return bsm_cuda_is_sticky(d->driver.memory_info(&available, &total));
}

static void cuda_close(bsm_device *device) {
  bsm_cuda_device *d = bsm_cuda_device_of(device);
  if (!d) return;
  if (d->context) {
    bsm_status entered = bsm_cuda_enter(d);
    bsm_cuda_trim(d);
    if (!entered && is_lost(d)) bsm_cuda_let_go(d->index);
    if (!entered) bsm_cuda_leave(d);
    bsm_status_free(entered);
    (void)d->driver.primary_context_release(d->device);
  }
  bsm_cuda_driver_close(&d->driver);
  pthread_mutex_destroy(&d->lock);
  bsm_deallocate(d->allocator, d);
}

static bsm_status cuda_open(const bsm_device_options *options,
                            bsm_device **out) {
  *out = NULL;
  bsm_cuda_device *d =
      bsm_allocate(options->allocator, sizeof(*d), _Alignof(bsm_cuda_device));
  BSM_TRY_ALLOC(d);
  *d = (bsm_cuda_device){.base = {&bsm_cuda_device_ops},
                         .allocator = options->allocator,
                         .logger = options->logger,
                         .index = options->index};
  if (pthread_mutex_init(&d->lock, NULL)) {
    bsm_deallocate(options->allocator, d);
    return BSM_FAIL_OOM();
  }
  bsm_status status = open_device(d);
  if (status) {
    cuda_close(&d->base);
    return status;
  }
  *out = &d->base;
  return BSM_OK;
}

/* Without a context, which takes a while to make. */
bsm_status bsm_cuda_find_sm(int32_t index, int *sm) {
  bsm_cuda_device d = {.index = index};
  bsm_status status = bsm_cuda_driver_open(NULL, &d.driver);
  if (!status) status = find_device(&d);
  *sm = d.sm;
  bsm_cuda_driver_close(&d.driver);
  return status;
}

const bsm_device_ops bsm_cuda_device_ops = {
    .version = BSM_DEVICE_VERSION,
    .name = "cuda",
    .host_accessible = false,
    .array_alignment = 16, /* kernels may load so much at a time */
    .open = cuda_open,
    .close = cuda_close,
    .allocate = bsm_cuda_allocate,
    .release = bsm_cuda_release,
    .check_address = bsm_cuda_check_address,
    .code_load = bsm_cuda_code_load,
    .code_unload = bsm_cuda_code_unload,
    .stream_create = bsm_cuda_stream_create,
    .stream_destroy = bsm_cuda_stream_destroy,
    .synchronize = bsm_cuda_synchronize,
    .look = bsm_cuda_look,
    .upload = bsm_cuda_upload,
    .download = bsm_cuda_download,
    .copy = bsm_cuda_copy,
    .fill_zero = bsm_cuda_fill_zero,
    .copy_strided = bsm_cuda_copy_strided,
    .event_create = bsm_cuda_event_create,
    .event_destroy = bsm_cuda_event_destroy,
    .event_record = bsm_cuda_event_record,
    .event_wait = bsm_cuda_event_wait,
    .event_seconds = bsm_cuda_event_seconds,
    .record_begin = bsm_cuda_record_begin,
    .record_place = bsm_cuda_record_place,
    .record_end = bsm_cuda_record_end,
    .replay = bsm_cuda_replay,
    .recording_destroy = bsm_cuda_recording_destroy,
    .check = bsm_cuda_check,
    .prepare = bsm_cuda_prepare,
    .describe = bsm_cuda_describe,
};
