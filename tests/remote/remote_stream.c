/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the remote device: a queue of fixed length, and a thread that
 * empties it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "tests/remote/remote_internal.h"

#define QUEUE 64

typedef struct item {
  enum { UPLOAD, DOWNLOAD, COPY, STRIDED, ZERO, STEP, EVENT } kind;
  void *to;
  const void *from;
  size_t bytes;
  const bsm_prepared_step *step;
  bsm_run run; /* of a step, whose tables are the item's own */
  remote_event *event;
  bsm_strided_copy strided;
} item;

typedef struct remote_recording {
  bsm_recording base;
  item *items;
  size_t count;
} remote_recording;

struct remote_stream {
  bsm_stream base;
  const bsm_allocator *allocator;
  /* Whose queue and thread all work goes to: itself, or the caller's stream. */
  remote_stream *server;
  remote_recording *recorder; /* NULL: work is done, not noted */
  bsm_stream *cpu;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  item queue[QUEUE];
  uint64_t pushed, done; /* counts of items */
  bsm_status failed;     /* the first failure that nobody was told of ... */
  uint64_t failed_at;    /* ... and which item it was, counted from 1 */
  bool ends;
  uint32_t random;
};

struct remote_event {
  bsm_event base;
  const bsm_allocator *allocator;
  remote_stream *stream;
  uint64_t behind; /* items, with the record of it */
  double seconds;
};

/* ---- the thread ---- */

/* One item in eight waits a little, so that nothing is done just in time. */
static void pause_now_and_then(remote_stream *s) {
  s->random = s->random * 1664525u + 1013904223u;
  if (s->random >> 29) return;
  const struct timespec moment = {0, (long)(s->random >> 12 & 0x1fff) * 8};
  nanosleep(&moment, NULL);
}

/* Element by element, each of which has to be the device's. */
static bsm_status run_strided(remote_device *d, const bsm_strided_copy *c) {
  int64_t count = 1;
  for (int32_t i = 0; i < c->dims.rank; i++) count *= c->dims.d[i];
  for (int64_t k = 0; k < count; k++) {
    int64_t to_at = 0, from_at = 0, rest = k;
    uint8_t *to, *from;
    for (int32_t i = c->dims.rank - 1; i >= 0; i--) {
      to_at += rest % c->dims.d[i] * c->to_strides[i];
      from_at += rest % c->dims.d[i] * c->from_strides[i];
      rest /= c->dims.d[i];
    }
    const int64_t size = (int64_t)c->element;
    BSM_TRY(remote_near(d, (uint8_t *)c->to + to_at * size, c->element, &to));
    BSM_TRY(remote_near(d, (const uint8_t *)c->from + from_at * size,
                        c->element, &from));
    memcpy(to, from, c->element);
  }
  return BSM_OK;
}

static bsm_status run_copy(remote_device *d, const item *it) {
  uint8_t *to = it->to, *from = (uint8_t *)(uintptr_t)it->from;
  if (remote_shall_fail(REMOTE_FAULT_TRANSFER)) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device lost a transfer");
  }
  if (it->kind == STRIDED) return run_strided(d, &it->strided);
  if (!it->bytes) return BSM_OK;
  if (it->kind != DOWNLOAD) BSM_TRY(remote_near(d, to, it->bytes, &to));
  if (it->kind == DOWNLOAD || it->kind == COPY) {
    BSM_TRY(remote_near(d, from, it->bytes, &from));
  }
  if (it->kind == ZERO) {
    memset(to, 0, it->bytes);
  } else {
    memmove(to, from, it->bytes);
  }
  return BSM_OK;
}

static bsm_status run_item(remote_stream *s, const item *it) {
  if (it->kind == EVENT) return BSM_OK;
  if (it->kind == STEP) {
    return bsm_note_step(remote_run_step(it->step, &it->run), it->step);
  }
  return run_copy((remote_device *)s->base.device, it);
}

static void free_tables(item *it) {
  free((void *)(uintptr_t)it->run.inputs);
}

static void *serve(void *arg) {
  remote_stream *s = arg;
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (s->done == s->pushed && !s->ends) {
      pthread_cond_wait(&s->changed, &s->lock);
    }
    if (s->done == s->pushed) break;
    item it = s->queue[s->done % QUEUE];
    const bool skips = s->failed != NULL;
    pthread_mutex_unlock(&s->lock);
    pause_now_and_then(s);
    bsm_status status = skips ? BSM_OK : run_item(s, &it);
    free_tables(&it);
    pthread_mutex_lock(&s->lock);
    if (it.kind == EVENT) it.event->seconds = bsm_clock_seconds();
    s->done++;
    if (status) {
      s->failed = status;
      s->failed_at = s->done;
    }
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- the host's side ---- */

static remote_stream *server_of(bsm_stream *stream) {
  return ((remote_stream *)stream)->server;
}

/* A step finds its addresses in the item, which are freed when it has run. */
static bsm_status copy_tables(item *it) {
  const size_t inputs = it->step->plan->input_count;
  const size_t outputs = it->step->plan->output_count;
  void **tables = malloc((inputs + outputs + 1) * sizeof(*tables));
  BSM_TRY_ALLOC(tables);
  for (size_t i = 0; i < inputs; i++) tables[i] = it->run.inputs[i];
  for (size_t i = 0; i < outputs; i++) tables[inputs + i] = it->run.outputs[i];
  it->run.inputs = tables;
  it->run.outputs = tables + inputs;
  return BSM_OK;
}

static bsm_status note(remote_recording *r, item it) {
  if (it.kind != STEP && it.kind != COPY && it.kind != ZERO) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device does not record this");
  }
  item *items = realloc(r->items, (r->count + 1) * sizeof(*items));
  BSM_TRY_ALLOC(items);
  r->items = items;
  if (it.kind == STEP) BSM_TRY(copy_tables(&it));
  items[r->count++] = it;
  return BSM_OK;
}

static bsm_status push(bsm_stream *stream, item it) {
  remote_stream *s = server_of(stream);
  remote_recording *recorder = ((remote_stream *)stream)->recorder;
  if (recorder) return note(recorder, it);
  if (it.kind == STEP) BSM_TRY(copy_tables(&it));
  pthread_mutex_lock(&s->lock);
  while (s->pushed - s->done == QUEUE) {
    pthread_cond_wait(&s->changed, &s->lock);
  }
  s->queue[s->pushed++ % QUEUE] = it;
  if (it.event) it.event->behind = s->pushed;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  return BSM_OK;
}

/* Waits for the first `count` items and takes their failure. */
static bsm_status wait_for(remote_stream *s, uint64_t count) {
  bsm_status failed = BSM_OK;
  pthread_mutex_lock(&s->lock);
  while (s->done < count) pthread_cond_wait(&s->changed, &s->lock);
  if (s->failed && s->failed_at <= count) {
    failed = s->failed;
    /* What stands behind the failure is skipped, all of it. */
    while (s->done < s->pushed) pthread_cond_wait(&s->changed, &s->lock);
    s->failed = BSM_OK;
  }
  pthread_mutex_unlock(&s->lock);
  return failed;
}

bsm_status remote_synchronize(bsm_stream *stream) {
  remote_stream *s = server_of(stream);
  if (((remote_stream *)stream)->recorder) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device is recording");
  }
  return wait_for(s, s->pushed); /* by this thread alone */
}

static bsm_status start(remote_stream *s) {
  if (pthread_mutex_init(&s->lock, NULL)) return BSM_FAIL_OOM();
  if (pthread_cond_init(&s->changed, NULL)) {
    pthread_mutex_destroy(&s->lock);
    return BSM_FAIL_OOM();
  }
  if (pthread_create(&s->thread, NULL, serve, s)) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "no thread for a remote stream");
  }
  return BSM_OK;
}

static void stop(remote_stream *s) {
  pthread_mutex_lock(&s->lock);
  s->ends = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
}

bsm_status remote_stream_create(bsm_device *device,
                                const bsm_stream_options *options,
                                bsm_stream **out) {
  static uint32_t seed = 1;
  bsm_device *cpu = ((remote_device *)device)->cpu;
  *out = NULL;
  remote_stream *s =
      bsm_allocate(options->allocator, sizeof(*s), _Alignof(remote_stream));
  BSM_TRY_ALLOC(s);
  *s = (remote_stream){
      .base = {device},
      .allocator = options->allocator,
      .random = __atomic_fetch_add(&seed, 77, __ATOMIC_RELAXED)};
  /* It computes with its own thread: the pool is the host's. */
  const bsm_stream_options inner = {.allocator = options->allocator,
                                    .isa = options->isa};
  bsm_status status = cpu->ops->stream_create(cpu, &inner, &s->cpu);
  s->server = options->native ? server_of(options->native) : s;
  if (!status && s->server == s) status = start(s);
  if (status) {
    cpu->ops->stream_destroy(s->cpu);
    bsm_deallocate(options->allocator, s);
    return status;
  }
  remote_count(1);
  *out = &s->base;
  return BSM_OK;
}

void remote_stream_destroy(bsm_stream *stream) {
  remote_stream *s = (remote_stream *)stream;
  if (!s) return;
  bsm_status_free(remote_synchronize(stream));
  if (s->server == s) stop(s);
  s->cpu->device->ops->stream_destroy(s->cpu);
  bsm_deallocate(s->allocator, s);
  remote_count(-1);
}

bsm_stream *remote_cpu_stream(bsm_stream *stream) {
  return ((remote_stream *)stream)->cpu;
}

bsm_status remote_upload(bsm_stream *stream, void *to, const void *from,
                         size_t bytes) {
  return push(stream,
              (item){.kind = UPLOAD, .to = to, .from = from, .bytes = bytes});
}

bsm_status remote_download(bsm_stream *stream, void *to, const void *from,
                           size_t bytes) {
  return push(stream,
              (item){.kind = DOWNLOAD, .to = to, .from = from, .bytes = bytes});
}

bsm_status remote_copy(bsm_stream *stream, void *to, const void *from,
                       size_t bytes) {
  return push(stream,
              (item){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

bsm_status remote_copy_strided(bsm_stream *stream,
                               const bsm_strided_copy *copy) {
  return push(stream, (item){.kind = STRIDED, .strided = *copy});
}

bsm_status remote_fill_zero(bsm_stream *stream, void *to, size_t bytes) {
  return push(stream, (item){.kind = ZERO, .to = to, .bytes = bytes});
}

bsm_status remote_push_step(const bsm_prepared_step *prepared,
                            const bsm_run *run) {
  return push(run->stream, (item){.kind = STEP, .step = prepared, .run = *run});
}

/* ---- recordings ---- */

bsm_status remote_record_begin(bsm_stream *stream) {
  remote_stream *s = (remote_stream *)stream;
  if (s->recorder) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device is recording");
  }
  s->recorder = calloc(1, sizeof(*s->recorder));
  BSM_TRY_ALLOC(s->recorder);
  s->recorder->base.device = stream->device;
  remote_count(1);
  return BSM_OK;
}

bsm_status remote_record_end(bsm_stream *stream, bsm_recording **out) {
  remote_stream *s = (remote_stream *)stream;
  *out = NULL;
  if (!s->recorder) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device is not recording");
  }
  bsm_recording *r = &s->recorder->base;
  s->recorder = NULL;
  if (remote_shall_fail(REMOTE_FAULT_RECORDING)) {
    remote_recording_destroy(r);
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "the remote device records no more");
  }
  *out = r;
  return BSM_OK;
}

bsm_status remote_replay(bsm_stream *stream, const bsm_recording *recording) {
  const remote_recording *r = (const remote_recording *)recording;
  remote_count_replay();
  for (size_t i = 0; i < r->count; i++) {
    item it = r->items[i];
    it.run.stream = stream;
    BSM_TRY(push(stream, it));
  }
  return BSM_OK;
}

void remote_recording_destroy(bsm_recording *recording) {
  remote_recording *r = (remote_recording *)recording;
  if (!r) return;
  for (size_t i = 0; i < r->count; i++) free_tables(&r->items[i]);
  free(r->items);
  free(r);
  remote_count(-1);
}

/* ---- events ---- */

bsm_status remote_event_create(bsm_stream *stream, bsm_event **out) {
  remote_stream *s = (remote_stream *)stream;
  *out = NULL;
  remote_event *e =
      bsm_allocate(s->allocator, sizeof(*e), _Alignof(remote_event));
  BSM_TRY_ALLOC(e);
  *e = (remote_event){
      .base = {stream->device}, .allocator = s->allocator, .stream = s->server};
  remote_count(1);
  *out = &e->base;
  return BSM_OK;
}

void remote_event_destroy(bsm_event *event) {
  remote_event *e = (remote_event *)event;
  if (!e) return;
  /* The thread may still have to come by; what failed others are told. */
  pthread_mutex_lock(&e->stream->lock);
  while (e->stream->done < e->behind) {
    pthread_cond_wait(&e->stream->changed, &e->stream->lock);
  }
  pthread_mutex_unlock(&e->stream->lock);
  bsm_deallocate(e->allocator, e);
  remote_count(-1);
}

bsm_status remote_event_record(bsm_stream *stream, bsm_event *event) {
  ((remote_event *)event)->stream = server_of(stream);
  return push(stream, (item){.kind = EVENT, .event = (remote_event *)event});
}

bsm_status remote_event_wait(bsm_event *event) {
  remote_event *e = (remote_event *)event;
  return wait_for(e->stream, e->behind);
}

double remote_event_seconds(const bsm_event *from, const bsm_event *to) {
  return ((const remote_event *)to)->seconds -
         ((const remote_event *)from)->seconds;
}
