/* SPDX-License-Identifier: Apache-2.0 */
/* What all plans of a context run with: a stream and a workspace in each memory
 * space that the engine uses, threads, and the arena of calls. */
#ifndef BSM_RUNTIME_PLAN_EXECUTION_H_
#define BSM_RUNTIME_PLAN_EXECUTION_H_

#include "runtime/engine/engine.h"
#include "runtime/plan/kept_tensors.h"
#include "runtime/plan/run_trace.h"
#include "runtime/plan/workspace.h"

typedef struct bsm_execution_options {
  const bsm_allocator *allocator;
  const bsm_logger *logger;
  bsm_thread_pool *pool; /* NULL: the execution makes one of so many threads: */
  int threads;
  uint32_t isa;   /* BSM_ISA_DETECT: all that this CPU has */
  bool profile;   /* steps are timed */
  bool no_graphs; /* nothing is recorded */
  /* The caller's workspace and stream in the space of the engine's target, or
   * NULL. */
  void *workspace;
  size_t workspace_size;
  void *stream;
  uint64_t keep_tensors; /* bytes; 0: none is kept */
  bsm_trace trace;       /* NULL: nothing is traced */
  void *trace_user;
} bsm_execution_options;

typedef struct bsm_execution {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  bsm_step_env env; /* with the streams, and the pool */
  bsm_workspace workspaces[BSM_MEMORY_SPACES];
  bsm_thread_pool *own_pool; /* NULL when the pool is the caller's */
  bsm_arena step_arena;
  bsm_work_budget work;   /* of the reference library; who limits it sets it */
  bsm_event *transferred; /* after the last transfer; NULL: no device */
  bsm_kept_tensors kept;  /* max_bytes 0: nothing is kept */
  bsm_run_trace trace;
  uint64_t waits; /* how often the execution was waited for */
  uint32_t isa;
  bool profile, no_graphs;
} bsm_execution;

/* BSM_NOT_FOUND: the machine lacks the device of the engine's target. The
 * execution has to be closed in any case, and may not move before that. */
BSM_NODISCARD bsm_status
bsm_execution_open(const bsm_engine *engine,
                   const bsm_execution_options *options, bsm_execution *out);
void bsm_execution_close(bsm_execution *execution);

/* Waits for everything that was enqueued, and returns its first failure as the
 * device's synchronize does. */
BSM_NODISCARD bsm_status bsm_execution_wait(bsm_execution *execution);
/* A failure of data that has come up so far, without waiting. */
BSM_NODISCARD bsm_status bsm_execution_look(const bsm_execution *execution);
/* As bsm_execution_wait, after enqueueing has failed. Earlier work may have
 * failed before that, so the first of the two failures is returned. */
BSM_NODISCARD bsm_status bsm_execution_fail(bsm_execution *execution,
                                            bsm_status status);

/* Enqueues a copy of `bytes` between or within spaces. What is enqueued later
 * sees the copy. Memory of the host has to stay until the execution was waited
 * for; when both sides are the host's, the copy is done on return. */
BSM_NODISCARD bsm_status bsm_execution_copy(bsm_execution *e, void *to,
                                            bsm_memory_space to_space,
                                            const void *from,
                                            bsm_memory_space from_space,
                                            size_t bytes);

/* What plans need in the spaces; the largest need of each counts. */
typedef struct bsm_memory_need {
  uint64_t workspace[BSM_MEMORY_SPACES];
  size_t scratch[BSM_MEMORY_SPACES];
} bsm_memory_need;

/* Makes room in all workspaces. */
BSM_NODISCARD bsm_status bsm_execution_reserve(bsm_execution *execution,
                                               const bsm_memory_need *need);

#endif /* BSM_RUNTIME_PLAN_EXECUTION_H_ */
