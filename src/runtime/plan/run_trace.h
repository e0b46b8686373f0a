/* SPDX-License-Identifier: Apache-2.0 */
/* Telling what the threads of a context do, and when. */
#ifndef BSM_RUNTIME_PLAN_RUN_TRACE_H_
#define BSM_RUNTIME_PLAN_RUN_TRACE_H_

#include "base/thread_pool.h"
#include "bessemer/engine.h"

typedef struct bsm_run_trace {
  bsm_trace fn; /* NULL: nothing is told */
  void *user;
  bsm_trace_event current; /* of the calling thread */
} bsm_run_trace;

/* `pool`: whose threads are told of, or NULL. The trace may not move. */
void bsm_run_trace_init(bsm_run_trace *trace, bsm_trace fn, void *user,
                        bsm_thread_pool *pool);
/* The calling thread begins something, and ends it. */
void bsm_run_trace_begin(bsm_run_trace *trace, const char *name,
                         const char *kind, const char *tactic);
void bsm_run_trace_end(bsm_run_trace *trace);
void bsm_run_trace_tell(const bsm_run_trace *trace,
                        const bsm_trace_event *event);

#endif /* BSM_RUNTIME_PLAN_RUN_TRACE_H_ */
