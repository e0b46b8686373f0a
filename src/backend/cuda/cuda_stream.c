/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a GPU, transfers and events. */
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

typedef struct cuda_event {
  bsm_event base;
  const bsm_allocator *allocator;
  bsm_cuda_stream *stream; /* that it was last recorded in */
  bsm_cu_event event;
} cuda_event;

static bsm_cuda_device *device_of(const bsm_stream *stream) {
  return bsm_cuda_device_of(stream->device);
}

static bsm_cuda_stream *stream_of(bsm_stream *stream) {
  return (bsm_cuda_stream *)stream;
}

static bsm_cu_address address_of(const void *device_memory) {
  return (bsm_cu_address)(uintptr_t)device_memory;
}

/* ---- streams ---- */

/* The caller's stream, which has to be of the same context. */
static bsm_status adopt(bsm_cuda_device *d, bsm_cuda_stream *s, void *native) {
  bsm_cu_context context = NULL;
  BSM_TRY_CUDA(&d->driver, stream_get_context, native, &context);
  if (context != d->context) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the stream is of another device, or of a context that is "
                    "not the primary one of device %d",
                    (int)d->index);
  }
  s->stream = native;
  s->is_callers = true;
  return BSM_OK;
}

static bsm_status create(bsm_cuda_device *d, bsm_cuda_stream *s, void *native) {
  void *record = NULL;
  BSM_TRY_CUDA(&d->driver, device_get_attribute, &s->multiprocessors,
               BSM_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->device);
  if (native) {
    BSM_TRY(adopt(d, s, native));
  } else {
    BSM_TRY_CUDA(&d->driver, stream_create, &s->stream,
                 BSM_CU_STREAM_NON_BLOCKING);
  }
  BSM_TRY_CUDA(&d->driver, host_allocate, &record, sizeof(*s->fault),
               BSM_CU_HOST_ALLOC_PORTABLE | BSM_CU_HOST_ALLOC_DEVICE_MAP);
  s->fault = record;
  *s->fault = (bsm_cuda_fault){0};
  return BSM_OK;
}

bsm_status bsm_cuda_stream_create(bsm_device *device,
                                  const bsm_stream_options *options,
                                  bsm_stream **out) {
  *out = NULL;
  bsm_cuda_device *d = bsm_cuda_device_of(device);
  bsm_cuda_stream *s =
      bsm_allocate(options->allocator, sizeof(*s), _Alignof(bsm_cuda_stream));
  BSM_TRY_ALLOC(s);
  *s = (bsm_cuda_stream){.base = {device},
                         .allocator = options->allocator,
                         .code = options->code,
                         .profile = options->profile};
  bsm_status status = bsm_cuda_enter(d);
  if (!status) {
    status = create(d, s, options->native);
    bsm_cuda_leave(d);
  }
  if (status) {
    bsm_cuda_stream_destroy(&s->base);
    return status;
  }
  *out = &s->base;
  return BSM_OK;
}

void bsm_cuda_stream_destroy(bsm_stream *stream) {
  if (!stream) return;
  bsm_cuda_stream *s = stream_of(stream);
  bsm_cuda_device *d = device_of(stream);
  bsm_status entered = bsm_cuda_enter(d);
  if (s->stream) {
    (void)d->driver.stream_synchronize(s->stream);
    bsm_cuda_staging_destroy(d, s);
    if (!s->is_callers) (void)d->driver.stream_destroy(s->stream);
  }
  if (s->recorder) (void)d->driver.stream_destroy(s->recorder);
  if (s->fault) (void)d->driver.host_free(s->fault);
  if (s->counters) (void)d->driver.memory_free(s->counters);
  if (!entered) bsm_cuda_leave(d);
  bsm_status_free(entered);
  bsm_deallocate(s->allocator, s);
}

static bsm_status count(bsm_cuda_device *d, bsm_cuda_stream *s) {
  const size_t bytes = BSM_DEVICE_LANES * BSM_CUDA_COUNTERS * sizeof(uint32_t);
  if (s->counters) return BSM_OK;
  BSM_TRY_CUDA(&d->driver, memory_allocate, &s->counters, bytes);
  return bsm_cuda_status(&d->driver,
                         d->driver.fill_async(s->counters, 0, bytes, s->stream),
                         "fill_async");
}

bsm_status bsm_cuda_stream_count(bsm_stream *stream) {
  BSM_CUDA_INSIDE(device_of(stream), count(inside_, stream_of(stream)));
}

static bsm_status synchronize(bsm_cuda_device *d, bsm_cuda_stream *s) {
  bsm_status status =
      bsm_cuda_status(&d->driver, d->driver.stream_synchronize(s->stream),
                      "stream_synchronize");
  if (status) {
    bsm_cuda_staging_abandon(s);
    return status;
  }
  bsm_cuda_staging_finish(s);
  return bsm_cuda_take_fault(s->fault);
}

bsm_status bsm_cuda_synchronize(bsm_stream *stream) {
  BSM_CUDA_INSIDE(device_of(stream), synchronize(inside_, stream_of(stream)));
}

bsm_status bsm_cuda_look(bsm_stream *stream) {
  return bsm_cuda_take_fault(stream_of(stream)->fault);
}

/* ---- transfers ---- */

/* A recording would read the host's memory whenever it is replayed. */
static bsm_status refuse_recording(const bsm_cuda_stream *s) {
  return s->recorder && s->stream == s->recorder
             ? BSM_FAIL(BSM_INTERNAL, "a transfer cannot be recorded")
             : BSM_OK;
}

bsm_status bsm_cuda_upload(bsm_stream *stream, void *to, const void *from,
                           size_t bytes) {
  if (!bytes) return BSM_OK;
  BSM_TRY(refuse_recording(stream_of(stream)));
  BSM_CUDA_INSIDE(device_of(stream),
                  bsm_cuda_stage_upload(inside_, stream_of(stream),
                                        address_of(to), from, bytes));
}

bsm_status bsm_cuda_download(bsm_stream *stream, void *to, const void *from,
                             size_t bytes) {
  if (!bytes) return BSM_OK;
  BSM_TRY(refuse_recording(stream_of(stream)));
  BSM_CUDA_INSIDE(device_of(stream),
                  bsm_cuda_stage_download(inside_, stream_of(stream), to,
                                          address_of(from), bytes));
}

bsm_status bsm_cuda_copy(bsm_stream *stream, void *to, const void *from,
                         size_t bytes) {
  if (!bytes) return BSM_OK;
  BSM_CUDA_INSIDE(device_of(stream),
                  bsm_cuda_status(&inside_->driver,
                                  inside_->driver.copy_async(
                                      address_of(to), address_of(from), bytes,
                                      stream_of(stream)->stream),
                                  "copy_async"));
}

bsm_status bsm_cuda_fill_zero(bsm_stream *stream, void *to, size_t bytes) {
  if (!bytes) return BSM_OK;
  BSM_CUDA_INSIDE(
      device_of(stream),
      bsm_cuda_status(&inside_->driver,
                      inside_->driver.fill_async(address_of(to), 0, bytes,
                                                 stream_of(stream)->stream),
                      "fill_async"));
}

/* ---- events ---- */

static bsm_status make_event(bsm_cuda_device *d, bool timed,
                             bsm_cu_event *out) {
  BSM_TRY_CUDA(&d->driver, event_create, out,
               timed ? 0 : BSM_CU_EVENT_DISABLE_TIMING);
  return BSM_OK;
}

bsm_status bsm_cuda_event_create(bsm_stream *stream, bsm_event **out) {
  bsm_cuda_stream *s = stream_of(stream);
  bsm_cuda_device *d = device_of(stream);
  *out = NULL;
  cuda_event *e = bsm_allocate(s->allocator, sizeof(*e), _Alignof(cuda_event));
  BSM_TRY_ALLOC(e);
  *e = (cuda_event){
      .base = {stream->device}, .allocator = s->allocator, .stream = s};
  bsm_status status = bsm_cuda_enter(d);
  if (!status) {
    status = make_event(d, s->profile, &e->event);
    bsm_cuda_leave(d);
  }
  if (status) {
    bsm_deallocate(s->allocator, e);
    return status;
  }
  *out = &e->base;
  return BSM_OK;
}

void bsm_cuda_event_destroy(bsm_event *event) {
  cuda_event *e = (cuda_event *)event;
  if (!e) return;
  bsm_cuda_device *d = bsm_cuda_device_of(event->device);
  bsm_status entered = bsm_cuda_enter(d);
  (void)d->driver.event_destroy(e->event);
  if (!entered) bsm_cuda_leave(d);
  bsm_status_free(entered);
  bsm_deallocate(e->allocator, e);
}

bsm_status bsm_cuda_event_record(bsm_stream *stream, bsm_event *event) {
  cuda_event *e = (cuda_event *)event;
  e->stream = stream_of(stream);
  BSM_CUDA_INSIDE(device_of(stream),
                  bsm_cuda_status(&inside_->driver,
                                  inside_->driver.event_record(
                                      e->event, stream_of(stream)->stream),
                                  "event_record"));
}

static bsm_status wait_for(bsm_cuda_device *d, const cuda_event *e) {
  BSM_TRY_CUDA(&d->driver, event_synchronize, e->event);
  BSM_TRY(bsm_cuda_staging_advance(d, e->stream));
  return bsm_cuda_take_fault(e->stream->fault);
}

bsm_status bsm_cuda_event_wait(bsm_event *event) {
  BSM_CUDA_INSIDE(bsm_cuda_device_of(event->device),
                  wait_for(inside_, (const cuda_event *)event));
}

double bsm_cuda_event_seconds(const bsm_event *from, const bsm_event *to) {
  bsm_cuda_device *d = bsm_cuda_device_of(from->device);
  float milliseconds = 0;
  bsm_status entered = bsm_cuda_enter(d);
  if (!entered) {
    (void)d->driver.event_elapsed(&milliseconds,
                                  ((const cuda_event *)from)->event,
                                  ((const cuda_event *)to)->event);
    bsm_cuda_leave(d);
  }
  bsm_status_free(entered);
  return (double)milliseconds * 1e-3;
}
