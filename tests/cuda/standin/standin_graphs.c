/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's graphs: what streams of a capture were given, in the order of
 * the calls, done again with each launch. */
#include "cuda/standin/standin.h"

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
  NEED(graph);
  --standin.report.graphs; /* it is the caller's when the capture ends */
  ((object *)stream)->graph = graph;
  ((object *)stream)->is_origin = true;
  captures++;
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
  if (!copy_queue(&((object *)graph)->queue, &e->queue)) {
    (void)destroy(e, EXECUTABLE);
    result_ = BSM_CU_OUT_OF_MEMORY;
    goto end;
  }
  *executable = e;
  END();
}

EXPORT int cuGraphLaunch(void *executable, void *stream);
int cuGraphLaunch(void *executable, void *stream) {
  BEGIN_HERE();
  NEED(is(executable, EXECUTABLE) && is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  queue copies = {0};
  if (!copy_queue(&((object *)executable)->queue, &copies)) {
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
