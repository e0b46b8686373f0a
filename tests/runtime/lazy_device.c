/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/lazy_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"

/* Added to addresses: what results is none of the machine's. */
#define FAR ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 4))

lazy_device_log lazy_log;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static int count(int *counter, int by) {
  pthread_mutex_lock(&log_lock);
  const int now = *counter += by;
  pthread_mutex_unlock(&log_lock);
  return now;
}

static void *far(void *address) {
  return address ? (void *)((uintptr_t)address + FAR) : NULL;
}

/* Of the host's own: as it is. */
static void *near(const void *address) {
  const uintptr_t a = (uintptr_t)address;
  return (void *)(a >= FAR ? a - FAR : a);
}

typedef struct lazy_device {
  bsm_device base;
  bsm_device *cpu;
} lazy_device;

typedef struct item {
  enum { COPY, ZERO, STEP, EVENT } kind;
  void *to;
  const void *from;
  size_t bytes;
  const bsm_prepared_step *step;
  void *workspace, *scratch;
  void **tables; /* of a step: the inputs of its plan, then the outputs */
  struct lazy_event *event;
  struct item *next;
} item;

typedef struct lazy_stream {
  bsm_stream base;
  bsm_stream *cpu;
  item *first, **last;
  bsm_status failed;
} lazy_stream;

typedef struct lazy_event {
  bsm_event base;
  lazy_stream *stream;
  bsm_event *cpu;
  int pending; /* how often it is in the queue */
} lazy_event;

/* A prepared step: the CPU's, and the tables that it runs with. */
typedef struct lazy_step {
  bsm_prepared_step cpu;
  void **inputs, **outputs;
  const void **weights;
} lazy_step;

/* ---- devices and memory ---- */

static bsm_status lazy_open(const bsm_device_options *options,
                            bsm_device **out) {
  *out = NULL;
  if (options->index > 1) {
    return BSM_FAIL(BSM_NOT_FOUND, "there is no lazy device %d",
                    (int)options->index);
  }
  const bsm_device_ops *cpu;
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &cpu));
  lazy_device *d = calloc(1, sizeof(*d));
  BSM_TRY_ALLOC(d);
  d->base.ops = &lazy_device_ops;
  bsm_status status = cpu->open(&(bsm_device_options){0}, &d->cpu);
  if (status) {
    free(d);
    return status;
  }
  count(&lazy_log.open, 1);
  *out = &d->base;
  return BSM_OK;
}

static void lazy_close(bsm_device *device) {
  lazy_device *d = (lazy_device *)device;
  d->cpu->ops->close(d->cpu);
  free(d);
  count(&lazy_log.open, -1);
}

static bsm_status lazy_allocate(bsm_device *device, const bsm_allocator *host,
                                size_t bytes, size_t alignment, void **out) {
  void *memory = NULL;
  (void)device;
  (void)host;
  *out = NULL;
  if (lazy_log.fail_allocation && count(&lazy_log.fail_allocation, -1) == 0) {
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "the lazy device is full");
  }
  if (posix_memalign(&memory, alignment, bytes ? bytes : 1)) {
    return BSM_FAIL_OOM();
  }
  memset(memory, 0xcd, bytes);
  count(&lazy_log.live, 1);
  *out = far(memory);
  return BSM_OK;
}

static void lazy_release(bsm_device *device, const bsm_allocator *host,
                         void *memory) {
  (void)device;
  (void)host;
  if (!memory) return;
  free(near(memory));
  count(&lazy_log.live, -1);
}

/* ---- the queue ---- */

static bsm_status push(bsm_stream *stream, item value) {
  lazy_stream *s = (lazy_stream *)stream;
  item *fresh = malloc(sizeof(*fresh));
  BSM_TRY_ALLOC(fresh);
  *fresh = value;
  fresh->next = NULL;
  *s->last = fresh;
  s->last = &fresh->next;
  return BSM_OK;
}

static bsm_status run_step(lazy_stream *s, const item *it) {
  const lazy_step *l = it->step->impl;
  const bsm_plan *plan = it->step->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    l->inputs[i] = near(it->tables[i]);
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    l->outputs[i] = near(it->tables[plan->input_count + i]);
  }
  const bsm_run run = {.stream = s->cpu,
                       .inputs = l->inputs,
                       .outputs = l->outputs,
                       .weights = l->weights,
                       .workspace = near(it->workspace),
                       .scratch = near(it->scratch)};
  const int which = count(&lazy_log.steps, 1);
  if (which == lazy_log.fail_step) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the device is out of sorts");
  }
  return l->cpu.enqueue(&l->cpu, &run);
}

static bsm_status run_item(lazy_stream *s, const item *it) {
  const bsm_device_ops *cpu = s->cpu->device->ops;
  switch (it->kind) {
    case COPY:
      return cpu->copy(s->cpu, it->to, it->from, it->bytes);
    case ZERO:
      return cpu->fill_zero(s->cpu, it->to, it->bytes);
    case STEP:
      return bsm_note_step(run_step(s, it), it->step);
    case EVENT:
      return cpu->event_record(s->cpu, it->event->cpu);
  }
  return BSM_OK;
}

/* Runs what is in the queue up to the last record of `until`; NULL: all. */
static bsm_status run_queue(lazy_stream *s, const lazy_event *until) {
  while (s->first && (!until || until->pending)) {
    item *it = s->first;
    s->first = it->next;
    if (!s->first) s->last = &s->first;
    if (!s->failed) s->failed = run_item(s, it);
    if (it->kind == EVENT) it->event->pending--;
    free(it->tables);
    free(it);
  }
  bsm_status failed = s->failed;
  s->failed = BSM_OK;
  return failed;
}

/* ---- streams ---- */

static bsm_status lazy_stream_create(bsm_device *device,
                                     const bsm_stream_options *options,
                                     bsm_stream **out) {
  bsm_device *cpu = ((lazy_device *)device)->cpu;
  bsm_stream_options inner = *options;
  *out = NULL;
  if (options->native) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the lazy device shares no streams");
  }
  lazy_stream *s = calloc(1, sizeof(*s));
  BSM_TRY_ALLOC(s);
  inner.allocator = NULL;
  s->base.device = device;
  s->last = &s->first;
  bsm_status status = cpu->ops->stream_create(cpu, &inner, &s->cpu);
  if (status) {
    free(s);
    return status;
  }
  count(&lazy_log.open, 1);
  *out = &s->base;
  return BSM_OK;
}

static void lazy_stream_destroy(bsm_stream *stream) {
  lazy_stream *s = (lazy_stream *)stream;
  if (!s) return;
  bsm_status_free(run_queue(s, NULL));
  s->cpu->device->ops->stream_destroy(s->cpu);
  free(s);
  count(&lazy_log.open, -1);
}

static bsm_status lazy_synchronize(bsm_stream *stream) {
  return run_queue((lazy_stream *)stream, NULL);
}

static bsm_status lazy_upload(bsm_stream *stream, void *to,
                              const void *host_from, size_t bytes) {
  count(&lazy_log.uploads, 1);
  return push(
      stream,
      (item){.kind = COPY, .to = near(to), .from = host_from, .bytes = bytes});
}

static bsm_status lazy_download(bsm_stream *stream, void *host_to,
                                const void *from, size_t bytes) {
  count(&lazy_log.downloads, 1);
  return push(
      stream,
      (item){.kind = COPY, .to = host_to, .from = near(from), .bytes = bytes});
}

static bsm_status lazy_copy(bsm_stream *stream, void *to, const void *from,
                            size_t bytes) {
  return push(
      stream,
      (item){.kind = COPY, .to = near(to), .from = near(from), .bytes = bytes});
}

static bsm_status lazy_fill_zero(bsm_stream *stream, void *to, size_t bytes) {
  count(&lazy_log.zeros, 1);
  return push(stream, (item){.kind = ZERO, .to = near(to), .bytes = bytes});
}

/* ---- events ---- */

static bsm_status lazy_event_create(bsm_stream *stream, bsm_event **out) {
  lazy_stream *s = (lazy_stream *)stream;
  lazy_event *e = calloc(1, sizeof(*e));
  *out = NULL;
  BSM_TRY_ALLOC(e);
  e->base.device = stream->device;
  e->stream = s;
  bsm_status status = s->cpu->device->ops->event_create(s->cpu, &e->cpu);
  if (status) {
    free(e);
    return status;
  }
  count(&lazy_log.open, 1);
  *out = &e->base;
  return BSM_OK;
}

static void lazy_event_destroy(bsm_event *event) {
  lazy_event *e = (lazy_event *)event;
  if (!e) return;
  if (e->pending) bsm_status_free(run_queue(e->stream, e));
  e->cpu->device->ops->event_destroy(e->cpu);
  free(e);
  count(&lazy_log.open, -1);
}

static bsm_status lazy_event_record(bsm_stream *stream, bsm_event *event) {
  BSM_TRY(push(stream, (item){.kind = EVENT, .event = (lazy_event *)event}));
  ((lazy_event *)event)->pending++;
  return BSM_OK;
}

static bsm_status lazy_event_wait(bsm_event *event) {
  lazy_event *e = (lazy_event *)event;
  return e->pending ? run_queue(e->stream, e) : BSM_OK;
}

static double lazy_event_seconds(const bsm_event *from, const bsm_event *to) {
  const lazy_event *a = (const lazy_event *)from, *b = (const lazy_event *)to;
  return a->cpu->device->ops->event_seconds(a->cpu, b->cpu);
}

/* ---- steps ---- */

static bsm_status lazy_check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_device_ops *cpu;
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &cpu));
  return cpu->check(plan, step);
}

static bsm_status lazy_enqueue(const bsm_prepared_step *prepared,
                               const bsm_run *run) {
  const size_t inputs = prepared->plan->input_count;
  const size_t outputs = prepared->plan->output_count;
  void **tables = malloc((inputs + outputs + 1) * sizeof(*tables));
  BSM_TRY_ALLOC(tables);
  for (size_t i = 0; i < inputs; i++) tables[i] = run->inputs[i];
  for (size_t i = 0; i < outputs; i++) tables[inputs + i] = run->outputs[i];
  bsm_status status = push(run->stream, (item){.kind = STEP,
                                               .step = prepared,
                                               .workspace = run->workspace,
                                               .scratch = run->scratch,
                                               .tables = tables});
  if (status) free(tables);
  return status;
}

static bsm_status lazy_prepare(bsm_stream *stream, const bsm_plan *plan,
                               const bsm_plan_step *step,
                               const void *const *weights, bsm_arena *arena,
                               bsm_prepared_step *out) {
  lazy_stream *s = (lazy_stream *)stream;
  lazy_step *l = BSM_NEW(arena, lazy_step);
  BSM_TRY_ALLOC(l);
  l->inputs = BSM_NEW_ARRAY(arena, void *, plan->input_count + 1u);
  l->outputs = BSM_NEW_ARRAY(arena, void *, plan->output_count + 1u);
  l->weights = BSM_NEW_ARRAY(arena, const void *, plan->weights_count + 1u);
  if (!l->inputs || !l->outputs || !l->weights) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    l->weights[i] = near(weights[i]);
  }
  BSM_TRY(s->cpu->device->ops->prepare(s->cpu, plan, step, l->weights, arena,
                                       &l->cpu));
  *out = (bsm_prepared_step){.enqueue = lazy_enqueue,
                             .plan = plan,
                             .step = step,
                             .impl = l,
                             .scratch_size = l->cpu.scratch_size};
  count(&lazy_log.prepared, 1);
  return BSM_OK;
}

static void lazy_discard(bsm_prepared_step *prepared) {
  (void)prepared;
  count(&lazy_log.prepared, -1);
}

static const char *lazy_describe(const bsm_prepared_step *prepared) {
  (void)prepared;
  return "lazily";
}

const bsm_device_ops lazy_device_ops = {
    .version = BSM_DEVICE_VERSION,
    .name = "lazy",
    .open = lazy_open,
    .close = lazy_close,
    .allocate = lazy_allocate,
    .release = lazy_release,
    .stream_create = lazy_stream_create,
    .stream_destroy = lazy_stream_destroy,
    .synchronize = lazy_synchronize,
    .upload = lazy_upload,
    .download = lazy_download,
    .copy = lazy_copy,
    .fill_zero = lazy_fill_zero,
    .event_create = lazy_event_create,
    .event_destroy = lazy_event_destroy,
    .event_record = lazy_event_record,
    .event_wait = lazy_event_wait,
    .event_seconds = lazy_event_seconds,
    .check = lazy_check,
    .prepare = lazy_prepare,
    .discard = lazy_discard,
    .describe = lazy_describe,
};

/* ---- the devices of these tests ---- */

extern const bsm_device_ops bsm_cpu_device_ops;

const bsm_device_ops *const *bsm_device_table(size_t *out) {
  static const bsm_device_ops *const devices[] = {&bsm_cpu_device_ops,
                                                  &lazy_device_ops};
  *out = 2;
  return devices;
}
