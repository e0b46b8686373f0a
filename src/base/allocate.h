/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into the caller's allocator, or the C library for NULL. */
#ifndef BSM_BASE_ALLOCATE_H_
#define BSM_BASE_ALLOCATE_H_

#include "bessemer/allocator.h"

/* Memory that is not zeroed, or NULL. `alignment`: a power of two. */
void *bsm_allocate(const bsm_allocator *allocator, size_t size,
                   size_t alignment);
/* The same for memory that is all used at once: where the system allows it, in
 * large pages, which need fewer translations. `allocator` NULL, or it decides
 * by itself. */
void *bsm_allocate_large(const bsm_allocator *allocator, size_t size,
                         size_t alignment);
void bsm_deallocate(const bsm_allocator *allocator, void *pointer);

#endif /* BSM_BASE_ALLOCATE_H_ */
