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
  bsm_arena_init(&s->places.arena, s->allocator);
  s->places.first.items = NULL;
  s->places.first.len = s->places.first.cap = 0;
  s->places.ends.items = NULL;
  s->places.ends.len = s->places.ends.cap = 0;
  return BSM_OK;
}

bsm_status bsm_cuda_record_begin(bsm_stream *stream) {
  bsm_cuda_device *d = bsm_cuda_device_of(stream->device);
  BSM_TRY(bsm_cuda_enter(d));
  bsm_status status = begin(d, stream_of(stream));
  if (status) bsm_cuda_leave(d);
  return status;
}

/* ---- places ---- */

/* Notes where the place that went on until now has ended. */
static bsm_status end_place(bsm_cuda_device *d, bsm_cuda_stream *s) {
  int state;
  uint64_t id;
  bsm_cu_graph graph;
  bsm_cu_node *const *nodes = NULL;
  size_t count = 0;
  BSM_TRY_CUDA(&d->driver, stream_get_capture_info, s->recorder, &state, &id,
               &graph, &nodes, &count);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(&s->places.arena, &s->places.ends, nodes[i]));
  }
  return BSM_OK;
}

/* Places that were left out are empty. */
static bsm_status begin_place(bsm_cuda_stream *s, uint32_t place) {
  while (s->places.first.len <= place) {
    BSM_TRY_ALLOC(bsm_vec_push(&s->places.arena, &s->places.first,
                               (uint32_t)s->places.ends.len));
  }
  return BSM_OK;
}

static bsm_status wait_for(bsm_cuda_device *d, bsm_cuda_stream *s,
                           const uint32_t *behind, uint32_t count) {
  BSM_VEC(bsm_cu_node *) nodes = {0};
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t *first = s->places.first.items + behind[i];
    for (uint32_t k = first[0]; k < first[1]; k++) {
      BSM_TRY_ALLOC(
          bsm_vec_push(&s->places.arena, &nodes, s->places.ends.items[k]));
    }
  }
  BSM_TRY_CUDA(&d->driver, stream_update_capture, s->recorder, nodes.items,
               nodes.len, BSM_CU_CAPTURE_SET_DEPENDENCIES);
  return BSM_OK;
}

bsm_status bsm_cuda_record_place(bsm_stream *stream, uint32_t place,
                                 const uint32_t *behind, uint32_t count) {
  bsm_cuda_device *d = bsm_cuda_device_of(stream->device);
  bsm_cuda_stream *s = stream_of(stream);
  if (s->places.first.len) BSM_TRY(end_place(d, s));
  BSM_TRY(begin_place(s, place));
  return wait_for(d, s, behind, count);
}

/* ---- the end ---- */

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
  bsm_arena_destroy(&s->places.arena);
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
