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
/* NULL is allowed. No loop may be running. */
BSM_API void bsm_thread_pool_destroy(bsm_thread_pool *pool);
/* Threads including the caller; 1 for NULL. */
BSM_API int bsm_thread_pool_size(const bsm_thread_pool *pool);

BSM_EXTERN_C_END

#endif /* BESSEMER_THREAD_POOL_H_ */
