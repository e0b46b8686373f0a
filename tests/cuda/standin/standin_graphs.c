/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's graphs: what streams of a capture were given, done again with
 * each launch: in the order of the calls, or, where a test asks for it, in any
 * order in which nothing is ahead of what it waits for. All streams of a
 * capture are one chain, but for dependencies that were set. */
#include <stdlib.h>
#include <string.h>

#include "cuda/standin/block.h"
#include "cuda/standin/standin.h"

/* Operations by their numbers in the queue, from 1 on, which are their handles.
 */
typedef struct numbers {
  size_t *items, count, room;
} numbers;

typedef struct wiring {
  size_t nodes;
  numbers waiting, behind; /* pairs of what waits for what */
  numbers now;             /* what the next operation waits for */
} wiring;

static bool add_number(numbers *n, size_t number) {
  if (n->count == n->room) {
    const size_t room = n->room ? 2 * n->room : 16;
    size_t *items = realloc(n->items, room * sizeof(*items));
    if (!items) return false;
    n->items = items;
    n->room = room;
  }
  n->items[n->count++] = number;
  return true;
}

static bool copy_numbers(const numbers *from, numbers *to) {
  for (size_t i = 0; i < from->count; i++) {
    if (!add_number(to, from->items[i])) return false;
  }
  return true;
}

static bool make_wiring(object *graph) {
  if (!graph->wiring) graph->wiring = calloc(1, sizeof(wiring));
  return graph->wiring != NULL;
}

void free_wiring(object *graph) {
  wiring *w = graph->wiring;
  if (!w) return;
  free(w->waiting.items);
  free(w->behind.items);
  free(w->now.items);
  free(w);
  graph->wiring = NULL;
}

int append_node(object *graph, operation *o) {
  wiring *w = graph->wiring;
  append(&graph->queue, o);
  if (w->nodes && (w->now.count != 1 || w->now.items[0] != w->nodes)) {
    standin.report.unchained++;
  }
  w->nodes++;
  for (size_t i = 0; i < w->now.count; i++) {
    if (!add_number(&w->waiting, w->nodes) ||
        !add_number(&w->behind, w->now.items[i])) {
      return BSM_CU_OUT_OF_MEMORY;
    }
  }
  w->now.count = 0;
  return add_number(&w->now, w->nodes) ? BSM_CU_SUCCESS : BSM_CU_OUT_OF_MEMORY;
}

static __thread int captures;

bool is_capturing_here(void) {
  return captures > 0;
}

void forget_captures(void) {
  captures = 0;
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamBeginCapture_v2(void *stream, int mode) {
  (void)mode;
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  object *graph = make(GRAPH, here());
  NEED(graph && make_wiring(graph));
  --standin.report.graphs; /* it is the caller's when the capture ends */
  ((object *)stream)->graph = graph;
  ((object *)stream)->is_origin = true;
  captures++;
  END();
}

EXPORT int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id,
                                     void **graph, void *const **nodes,
                                     size_t *count);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id,
                              void **graph, void *const **nodes,
                              size_t *count) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  object *g = ((object *)stream)->graph;
  *status = g ? 1 : 0;
  if (!g) goto end;
  _Static_assert(sizeof(void *) == sizeof(size_t), "handles are numbers");
  *id = g->serial;
  *graph = g;
  *nodes = (void *const *)g->wiring->now.items;
  *count = g->wiring->now.count;
  END();
}

EXPORT int cuStreamUpdateCaptureDependencies(void *stream, void **nodes,
                                             size_t count, unsigned flags);
int cuStreamUpdateCaptureDependencies(void *stream, void **nodes, size_t count,
                                      unsigned flags) {
  BEGIN_HERE();
  NEED(is(stream, STREAM) && flags == BSM_CU_CAPTURE_SET_DEPENDENCIES);
  NEED(((object *)stream)->graph);
  wiring *w = ((object *)stream)->graph->wiring;
  w->now.count = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t node = (size_t)(uintptr_t)nodes[i];
    NEED(node >= 1 && node <= w->nodes && add_number(&w->now, node));
  }
  END();
}

/* Streams that had joined leave the capture. False: the origin has not waited
 * for one of them. */
static bool leave_capture(const object *graph) {
  bool joined = true;
  for (int i = 0; i < MAX_OBJECTS; i++) {
    object *o = &objects[i];
    if ((o->kind != STREAM && o->kind != EVENT) || o->graph != graph) continue;
    if (o->has_unjoined) joined = false;
    o->graph = NULL;
    o->is_origin = o->has_unjoined = false;
  }
  return joined;
}

/* A capture ends though the call is made to fail. */
EXPORT int cuStreamEndCapture(void *stream, void **graph);
int cuStreamEndCapture(void *stream, void **graph) {
  standin_lock();
  int result_ = standin_begin();
  *graph = NULL;
  NEED(here());
  NEED(is(stream, STREAM));
  object *g = ((object *)stream)->graph;
  NEED(g && ((object *)stream)->is_origin);
  ++standin.report.graphs;
  if (captures) captures--;
  if (!leave_capture(g)) {
    (void)destroy(g, GRAPH);
    result_ = misuse("a capture ends before its streams have joined");
    goto end;
  }
  if (!result_) result_ = here()->error;
  if (result_) {
    (void)destroy(g, GRAPH);
    goto end;
  }
  *graph = g;
  END_RELEASE();
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                       unsigned long long flags);
int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                unsigned long long flags) {
  (void)flags;
  BEGIN_HERE();
  NEED(is(graph, GRAPH));
  object *e = make(EXECUTABLE, here());
  NEED(e);
  const wiring *w = ((object *)graph)->wiring;
  if (!make_wiring(e) || !copy_numbers(&w->waiting, &e->wiring->waiting) ||
      !copy_numbers(&w->behind, &e->wiring->behind) ||
      !copy_queue(&((object *)graph)->queue, &e->queue)) {
    (void)destroy(e, EXECUTABLE);
    result_ = BSM_CU_OUT_OF_MEMORY;
    goto end;
  }
  *executable = e;
  END();
}

/* Takes a random one of the operations that wait for nothing any more. `left`:
 * by number, how many each waits for. */
static size_t take_ready(size_t *left, size_t count, const wiring *w,
                         uint64_t *series) {
  size_t ready = 0, chosen;
  for (size_t i = 1; i <= count; i++) ready += left[i] == 0;
  size_t skipped = next_random(series) % ready;
  for (chosen = 1; left[chosen] || skipped; chosen++) {
    if (!left[chosen]) skipped--;
  }
  left[chosen] = SIZE_MAX;
  for (size_t i = 0; i < w->waiting.count; i++) {
    if (w->behind.items[i] == chosen) left[w->waiting.items[i]]--;
  }
  return chosen;
}

/* Brings a copy of a graph's queue into another order. */
static bool shuffle(queue *q, const wiring *w) {
  static uint64_t launches;
  uint64_t series = standin.order + ++launches;
  size_t count = 0;
  for (operation *o = q->first; o; o = o->next) count++;
  operation **all = calloc(count + 1, sizeof(*all));
  size_t *left = calloc(count + 1, sizeof(*left));
  if (all && left) {
    for (size_t i = 1; i <= count; i++) {
      all[i] = q->first;
      q->first = all[i]->next;
    }
    q->last = NULL;
    for (size_t i = 0; i < w->waiting.count; i++) left[w->waiting.items[i]]++;
    for (size_t i = 0; i < count; i++) {
      append(q, all[take_ready(left, count, w, &series)]);
    }
  }
  const bool done = all && left;
  free(all);
  free(left);
  return done;
}

EXPORT int cuGraphLaunch(void *executable, void *stream);
int cuGraphLaunch(void *executable, void *stream) {
  BEGIN_HERE();
  NEED(is(executable, EXECUTABLE) && is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  queue copies = {0};
  if (!copy_queue(&((object *)executable)->queue, &copies) ||
      (standin.order && !shuffle(&copies, ((object *)executable)->wiring))) {
    empty(&copies);
    result_ = BSM_CU_OUT_OF_MEMORY;
    goto end;
  }
  while (copies.first) {
    operation *o = copies.first;
    copies.first = o->next;
    (void)submit(stream, o);
  }
  END();
}

EXPORT int cuGraphDestroy(void *graph);
int cuGraphDestroy(void *graph) {
  BEGIN_RELEASE();
  result_ = destroy(graph, GRAPH);
  END_RELEASE();
}

EXPORT int cuGraphExecDestroy(void *executable);
int cuGraphExecDestroy(void *executable) {
  BEGIN_RELEASE();
  result_ = destroy(executable, EXECUTABLE);
  END_RELEASE();
}
