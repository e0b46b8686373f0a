/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads for data-parallel loops.
 *
 * The calling thread takes part. A loop's units are cut into one consecutive
 * range for each thread before it begins; a thread that is done with its own
 * helps the others. Which thread runs which unit is not defined, so results
 * must not depend on it. Nested loops run on the calling thread. One loop at a
 * time per pool: contexts that share a pool take turns.
 *
 * Between bsm_thread_pool_begin and _end, workers wait for the next loop
 * without sleeping, up to two milliseconds, and find it within a fraction of a
 * microsecond; soon after the end they sleep. In a pool of more threads than
 * there are CPUs for the process they always sleep. */
#ifndef BSM_BASE_THREAD_POOL_H_
#define BSM_BASE_THREAD_POOL_H_

#include <stddef.h>
#include <stdint.h>

#include "bessemer/thread_pool.h"

typedef void (*bsm_task_fn)(void *arg, size_t index);
/* `slot`: which of the threads of the loop runs the unit; below their number.
 * No two threads have the same one. */
typedef void bsm_unit_fn(void *arg, int64_t unit, int slot);

/* The number of CPUs this process may use: the affinity mask and the cgroup
 * (v1 and v2) CPU quota, whichever is lower; at least 1. */
int bsm_available_cpus(void);

/* A run of a model begins, and ends: loops will follow each other. May be
 * nested, and called for a NULL pool. */
void bsm_thread_pool_begin(bsm_thread_pool *pool);
void bsm_thread_pool_end(bsm_thread_pool *pool);

/* Called by the caller of a loop when the loop is over, once for each worker
 * that took part (threads 1 and up), with the times of bsm_clock_seconds
 * between which it did. */
typedef void bsm_pool_trace_fn(void *user, int thread, double begin,
                               double end);
/* Sets it, for a pool that no other thread uses meanwhile; NULL: none. */
void bsm_thread_pool_set_trace(bsm_thread_pool *pool, bsm_pool_trace_fn *trace,
                               void *user);

/* Runs fn(arg, i) for every i below `count`; returns when all are done. A NULL
 * pool runs them in order on the caller. Allocates nothing. */
void bsm_parallel_for(bsm_thread_pool *pool, size_t count, bsm_task_fn fn,
                      void *arg);

/* The same for units, on at most `threads` threads. */
void bsm_parallel_units(bsm_thread_pool *pool, int threads, int64_t count,
                        bsm_unit_fn *fn, void *arg);

/* Runs `phases` times `count` units: those of phase p are p * count to p *
 * count + count - 1, and begin when all of phase p - 1 are done. Threads meet
 * after each phase without leaving the loop, which takes them less than a
 * microsecond, and get the same units of each phase. */
void bsm_parallel_phases(bsm_thread_pool *pool, int threads, int64_t phases,
                         int64_t count, bsm_unit_fn *fn, void *arg);

#endif /* BSM_BASE_THREAD_POOL_H_ */
