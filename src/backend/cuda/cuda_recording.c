/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of a GPU are CUDA graphs. They are captured in a stream of their
 * own: so the caller's stream may be any, the default one too, which cannot be
 * captured, and what is in it goes on. */
#include "backend/cuda/cuda_internal.h"
#include "base/allocate.h"

typedef struct cuda_recording {
  bsm_recording base;
  const bsm_allocator *allocator;
  bsm_cu_graph_exec graph;
} cuda_recording;

static bsm_cuda_stream *stream_of(bsm_stream *stream) {
  return (bsm_cuda_stream *)stream;
}

/* The context stays current until the recording ends, so that ending it cannot
 * fail before the driver is asked to. */
static bsm_status begin(bsm_cuda_device *d, bsm_cuda_stream *s) {
  if (!s->recorder) {
    BSM_TRY_CUDA(&d->driver, stream_create, &s->recorder,
                 BSM_CU_STREAM_NON_BLOCKING);
  }
  BSM_TRY_CUDA(&d->driver, stream_begin_capture, s->recorder,
               BSM_CU_CAPTURE_THREAD_LOCAL);
  s->live = s->stream;
  s->stream = s->recorder;
  return BSM_OK;
}

bsm_status bsm_cuda_record_begin(bsm_stream *stream) {
  bsm_cuda_device *d = bsm_cuda_device_of(stream->device);
  BSM_TRY(bsm_cuda_enter(d));
  bsm_status status = begin(d, stream_of(stream));
  if (status) bsm_cuda_leave(d);
  return status;
}

static bsm_status instantiate(bsm_cuda_device *d, bsm_cu_graph graph,
                              cuda_recording *r) {
  BSM_TRY_CUDA(&d->driver, graph_instantiate, &r->graph, graph, 0);
  return BSM_OK;
}

static bsm_status end(bsm_cuda_device *d, bsm_cuda_stream *s,
                      cuda_recording *r) {
  bsm_cu_graph graph = NULL;
  BSM_TRY_CUDA(&d->driver, stream_end_capture, s->recorder, &graph);
  bsm_status status = r ? instantiate(d, graph, r) : BSM_FAIL_OOM();
  (void)d->driver.graph_destroy(graph);
  return status;
}

bsm_status bsm_cuda_record_end(bsm_stream *stream, bsm_recording **out) {
  bsm_cuda_stream *s = stream_of(stream);
  bsm_cuda_device *d = bsm_cuda_device_of(stream->device);
  *out = NULL;
  s->stream = s->live;
  cuda_recording *r =
      bsm_allocate(s->allocator, sizeof(*r), _Alignof(cuda_recording));
  if (r) {
    *r = (cuda_recording){.base = {stream->device}, .allocator = s->allocator};
  }
  bsm_status status = end(d, s, r);
  bsm_cuda_leave(d);
  if (status) {
    bsm_deallocate(s->allocator, r);
    return status;
  }
  *out = &r->base;
  return BSM_OK;
}

bsm_status bsm_cuda_replay(bsm_stream *stream, const bsm_recording *recording) {
  const cuda_recording *r = (const cuda_recording *)recording;
  BSM_CUDA_INSIDE(bsm_cuda_device_of(stream->device),
                  bsm_cuda_status(&inside_->driver,
                                  inside_->driver.graph_launch(
                                      r->graph, stream_of(stream)->stream),
                                  "graph_launch"));
}

void bsm_cuda_recording_destroy(bsm_recording *recording) {
  cuda_recording *r = (cuda_recording *)recording;
  if (!r) return;
  bsm_cuda_device *d = bsm_cuda_device_of(recording->device);
  bsm_status entered = bsm_cuda_enter(d);
  if (!entered) {
    (void)d->driver.graph_exec_destroy(r->graph);
    bsm_cuda_leave(d);
  }
  bsm_status_free(entered);
  bsm_deallocate(r->allocator, r);
}
