/* SPDX-License-Identifier: Apache-2.0 */
/* Threads to run with, shared by any number of contexts that take turns. */
#ifndef BESSEMER_THREAD_POOL_H_
#define BESSEMER_THREAD_POOL_H_

#include "bessemer/allocator.h"
#include "bessemer/status.h"

BSM_EXTERN_C_BEGIN

typedef struct bsm_thread_pool bsm_thread_pool;

/* `threads` counts the calling thread; 0: the CPUs this process may use (its
 * affinity mask and cgroup limit). NULL allocator: malloc. */
BSM_API BSM_NODISCARD bsm_status bsm_thread_pool_create(
    int threads, const bsm_allocator *allocator, bsm_thread_pool **out);

/* The caller's own way to have threads, for programs that name, place and rank
 * threads, or that share theirs with other work. */
typedef struct bsm_thread_pool_options {
  size_t struct_size;             /* set by BSM_THREAD_POOL_OPTIONS_INIT */
  int threads;                    /* as for bsm_thread_pool_create */
  const bsm_allocator *allocator; /* NULL: malloc; must outlive the pool */
  void *user;                     /* for the functions below */
  /* Starts a thread that calls body(arg) once, and returns what stands for it,
   * or NULL when it cannot: then no pool is made. `number` is from 1 to threads
   * - 1. Called while the pool is created. NULL: POSIX threads, which take no
   * signals. */
  void *(*start)(void *user, int number, void (*body)(void *arg), void *arg);
  /* Waits for the end of a thread that `start` returned; NULL exactly when
   * `start` is. Called while the pool is destroyed. */
  void (*join)(void *user, void *thread);
  /* Instead of threads of the pool's own: calls task(arg, i) for every i below
   * `count`, at the same time as far as there are threads for it, and returns
   * when all calls have. `count` is at most `threads`. It is called for every
   * loop of a model, thousands of times in a second, so it has to be quick.
   * Results are right, and the same, in whatever order and threads the calls
   * are made, one after another as well. Called by one thread at a time. */
  void (*run)(void *user, int count, void (*task)(void *arg, int index),
              void *arg);
} bsm_thread_pool_options;
#define BSM_THREAD_POOL_OPTIONS_INIT BSM_SIZED_INIT(bsm_thread_pool_options)

/* As bsm_thread_pool_create, with the caller's functions. Fails with
 * BSM_INVALID_ARGUMENT when `run` is given beside `start`, or only one of
 * `start` and `join`. */
BSM_API BSM_NODISCARD bsm_status bsm_thread_pool_create_with(
    const bsm_thread_pool_options *options, bsm_thread_pool **out);
/* NULL is allowed. No loop may be running. */
BSM_API void bsm_thread_pool_destroy(bsm_thread_pool *pool);
/* Threads including the caller; 1 for NULL. */
BSM_API int bsm_thread_pool_size(const bsm_thread_pool *pool);

BSM_EXTERN_C_END

#endif /* BESSEMER_THREAD_POOL_H_ */
