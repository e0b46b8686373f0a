/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's streams and events. Work is done at once; or, where a test
 * asks for it, as late as the driver may: when somebody waits for it, or when a
 * random number says so. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cuda/standin/block.h"
#include "cuda/standin/standin.h"

/* ---- queues ---- */

operation *new_operation(operation_kind k, const void *payload, size_t bytes) {
  operation *o = calloc(1, sizeof(*o) + bytes);
  if (!o) return NULL;
  o->kind = k;
  o->payload_bytes = bytes;
  if (bytes) memcpy(o->payload, payload, bytes);
  return o;
}

void append(queue *q, operation *o) {
  o->next = NULL;
  *(q->last ? &q->last->next : &q->first) = o;
  q->last = o;
}

static operation *take(queue *q) {
  operation *o = q->first;
  q->first = o->next;
  if (!q->first) q->last = NULL;
  return o;
}

void empty(queue *q) {
  while (q->first) free(take(q));
}

bool copy_queue(const queue *from, queue *to) {
  for (const operation *o = from->first; o; o = o->next) {
    operation *copy = malloc(sizeof(*o) + o->payload_bytes);
    if (!copy) return false;
    memcpy(copy, o, sizeof(*o) + o->payload_bytes);
    append(to, copy);
  }
  return true;
}

/* ---- doing the work ---- */

static void drain_until(object *stream, const object *event, uint64_t count);

/* Memory that was there when the work was given may be gone. */
static int run_copy(const operation *o) {
  unsigned char *to =
      o->kind == DOWNLOAD ? o->host_to : bytes_of(o->to, o->bytes);
  const unsigned char *from = NULL;
  if (o->kind == UPLOAD) from = o->host_from ? o->host_from : o->payload;
  if (o->kind == DOWNLOAD || o->kind == COPY)
    from = bytes_of(o->from, o->bytes);
  if (!to || (!from && o->kind != FILL)) return BSM_CU_ILLEGAL_ADDRESS;
  if (o->kind == FILL) {
    memset(to, o->value, o->bytes);
  } else {
    memmove(to, from, o->bytes);
  }
  return BSM_CU_SUCCESS;
}

static void run(object *context, const operation *o) {
  char text[512] = "a copy of memory that is not there";
  int result = BSM_CU_SUCCESS;
  const bool lost = context->error != BSM_CU_SUCCESS;
  switch (o->kind) {
    case FREE:
      (void)free_device_block(o->to);
      break;
    case RECORD:
      if (is(o->object, EVENT) && o->object->serial == o->serial &&
          o->object->done < o->count) {
        static uint64_t moments;
        o->object->done = o->count;
        o->object->moment = ++moments;
      }
      break;
    case WAIT:
      if (is(o->object, EVENT) && o->object->serial == o->serial) {
        drain_until(o->stream, o->object, o->count);
      }
      break;
    case LAUNCH:
      if (!lost) result = run_launch(o, text, sizeof(text));
      break;
    default:
      if (!lost) result = run_copy(o);
  }
  if (result) lose(context, result, text);
}

static void run_first(object *stream) {
  operation *o = take(&stream->queue);
  run(stream->owner, o);
  free(o);
}

static void drain_until(object *stream, const object *event, uint64_t count) {
  while (is(stream, STREAM) && event->done < count && stream->queue.first) {
    run_first(stream);
  }
}

void drain(object *stream) {
  while (stream->queue.first) run_first(stream);
}

void drain_all(void) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind == STREAM) drain(&objects[i]);
  }
}

/* One in four calls some stream goes on a step; never with a delay of 1. */
static void drift(void) {
  if (standin.delay < 2 || next_random(&standin.random) % 4) return;
  const int start = (int)(next_random(&standin.random) % MAX_OBJECTS);
  for (int i = 0; i < MAX_OBJECTS; i++) {
    object *o = &objects[(start + i) % MAX_OBJECTS];
    if (o->kind == STREAM && o->queue.first) {
      run_first(o);
      return;
    }
  }
}

int submit(object *stream, operation *o) {
  if (stream->graph) {
    stream->has_unjoined = !stream->is_origin;
    return append_node(stream->graph, o);
  }
  append(&stream->queue, o);
  if (standin.delay) {
    drift();
  } else {
    drain(stream);
  }
  return BSM_CU_SUCCESS;
}

/* ---- streams ---- */

EXPORT int cuStreamCreate(void **stream, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags) {
  (void)flags;
  BEGIN_HERE();
  *stream = make(STREAM, here());
  END();
}

EXPORT int cuStreamDestroy_v2(void *stream);
int cuStreamDestroy_v2(void *stream) {
  BEGIN_RELEASE();
  if (is(stream, STREAM)) {
    NEED(!((object *)stream)->graph);
    drain(stream);
  }
  result_ = destroy(stream, STREAM);
  END_RELEASE();
}

EXPORT int cuStreamGetCtx(void *stream, void **context);
int cuStreamGetCtx(void *stream, void **context) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  *context = ((object *)stream)->owner;
  END();
}

EXPORT int cuStreamSynchronize(void *stream);
int cuStreamSynchronize(void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  drain(stream);
  result_ = here()->error;
  END();
}

EXPORT int cuStreamQuery(void *stream);
int cuStreamQuery(void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  /* Who asks again and again gets there. */
  if (((object *)stream)->queue.first) {
    run_first(stream);
    result_ = BSM_CU_NOT_READY;
  }
  if (here()->error) result_ = here()->error;
  END();
}

/* A stream that waits for an event of a capture is in it from then on. */
static void join_capture(object *stream, object *event) {
  object *graph = event->graph;
  if (!stream->graph) stream->graph = graph;
  if (event->stream != stream && is(event->stream, STREAM)) {
    event->stream->has_unjoined = false;
  }
}

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)flags;
  BEGIN_HERE();
  NEED(is(stream, STREAM) && is(event, EVENT));
  object *s = stream, *e = event;
  if (e->graph) {
    NEED(!s->graph || s->graph == e->graph);
    join_capture(s, e);
    goto end;
  }
  NEED(!s->graph); /* a capture waits for nothing outside */
  if (e->recorded == 0) goto end;
  operation *o = new_operation(WAIT, NULL, 0);
  NEED(o);
  o->object = e;
  o->serial = e->serial;
  o->count = e->recorded;
  o->stream = e->stream;
  result_ = submit(s, o);
  END();
}

/* ---- events ---- */

EXPORT int cuEventCreate(void **event, unsigned flags);
int cuEventCreate(void **event, unsigned flags) {
  (void)flags;
  BEGIN_HERE();
  *event = make(EVENT, here());
  END();
}

/* What has been recorded happens all the same. */
EXPORT int cuEventDestroy_v2(void *event);
int cuEventDestroy_v2(void *event) {
  BEGIN_RELEASE();
  object *e = event;
  if (is(event, EVENT) && e->done < e->recorded) {
    drain_until(e->stream, e, e->recorded);
  }
  result_ = destroy(event, EVENT);
  END_RELEASE();
}

EXPORT int cuEventRecord(void *event, void *stream);
int cuEventRecord(void *event, void *stream) {
  BEGIN_HERE();
  NEED(is(event, EVENT) && is(stream, STREAM));
  object *s = stream, *e = event;
  e->stream = s;
  e->graph = s->graph;
  if (s->graph) goto end;
  operation *o = new_operation(RECORD, NULL, 0);
  NEED(o);
  o->object = e;
  o->serial = e->serial;
  o->count = ++e->recorded;
  result_ = submit(s, o);
  END();
}

EXPORT int cuEventSynchronize(void *event);
int cuEventSynchronize(void *event) {
  BEGIN_HERE();
  NEED(is(event, EVENT));
  object *e = event;
  NEED(!e->graph);
  drain_until(e->stream, e, e->recorded);
  result_ = here()->error;
  END();
}

EXPORT int cuEventQuery(void *event);
int cuEventQuery(void *event) {
  BEGIN_HERE();
  NEED(is(event, EVENT));
  object *e = event;
  NEED(!e->graph);
  if (e->done < e->recorded) {
    if (is(e->stream, STREAM) && e->stream->queue.first) run_first(e->stream);
    result_ = BSM_CU_NOT_READY;
  }
  if (here()->error) result_ = here()->error;
  END();
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to);
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  BEGIN_HERE();
  NEED(is(from, EVENT) && is(to, EVENT));
  const object *a = from, *b = to;
  NEED(a->recorded && b->recorded);
  if (a->done < a->recorded || b->done < b->recorded) {
    result_ = BSM_CU_NOT_READY;
    goto end;
  }
  /* A quarter of a millisecond between any two records. */
  *milliseconds = 0.25f * (float)(int64_t)(b->moment - a->moment);
  END();
}
