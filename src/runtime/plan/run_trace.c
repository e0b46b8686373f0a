/* SPDX-License-Identifier: Apache-2.0 */
/* Events of runs. */
#include "runtime/plan/run_trace.h"

#include "base/clock.h"

void bsm_run_trace_tell(const bsm_run_trace *trace,
                        const bsm_trace_event *event) {
  bsm_trace_event told = *event;
  told.struct_size = sizeof(told);
  trace->fn(trace->user, &told);
}

/* A worker has had a part in what the calling thread is at. */
static void tell_worker(void *user, int thread, double begin, double end) {
  const bsm_run_trace *trace = user;
  bsm_trace_event event = trace->current;
  event.thread = thread;
  event.begin = begin;
  event.end = end;
  if (event.name) bsm_run_trace_tell(trace, &event);
}

void bsm_run_trace_init(bsm_run_trace *trace, bsm_trace fn, void *user,
                        bsm_thread_pool *pool) {
  *trace = (bsm_run_trace){.fn = fn, .user = user};
  if (fn && pool) bsm_thread_pool_set_trace(pool, tell_worker, trace);
}

void bsm_run_trace_begin(bsm_run_trace *trace, const char *name,
                         const char *kind, const char *tactic) {
  if (!trace->fn) return;
  trace->current = (bsm_trace_event){.name = name,
                                     .kind = kind,
                                     .tactic = tactic,
                                     .begin = bsm_clock_seconds()};
}

void bsm_run_trace_end(bsm_run_trace *trace) {
  if (!trace->fn) return;
  trace->current.end = bsm_clock_seconds();
  bsm_run_trace_tell(trace, &trace->current);
}
