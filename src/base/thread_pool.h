/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads for data-parallel loops.
 *
 * The calling thread takes part. Workers spin for a few microseconds after
 * work and then sleep. bsm_parallel_for hands out the indices 0 .. count-1;
 * which thread runs which index is not defined, so results must not depend on
 * it. Nested calls run on the calling thread. One parallel_for at a time per
 * pool: contexts that share a pool take turns. */
#ifndef BSM_BASE_THREAD_POOL_H_
#define BSM_BASE_THREAD_POOL_H_

#include <stddef.h>

#include "bessemer/thread_pool.h"

typedef void (*bsm_task_fn)(void *arg, size_t index);

/* The number of CPUs this process may use: the affinity mask and the cgroup
 * (v1 and v2) CPU quota, whichever is lower; at least 1. */
int bsm_available_cpus(void);

/* Runs fn(arg, i) for every i below `count`; returns when all are done. A NULL
 * pool runs them in order on the caller. Allocates nothing. */
void bsm_parallel_for(bsm_thread_pool *pool, size_t count, bsm_task_fn fn,
                      void *arg);

#endif /* BSM_BASE_THREAD_POOL_H_ */
