/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's memory functions. */
#ifndef BESSEMER_ALLOCATOR_H_
#define BESSEMER_ALLOCATOR_H_

#include <stddef.h>

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

/* `alloc` returns `size` bytes at a multiple of `alignment` (a power of two) or
 * NULL; `free` takes what `alloc` returned, and NULL. Both may be called from
 * several threads at once. NULL in place of an allocator means the C
 * library's. */
typedef struct bsm_allocator {
  void *(*alloc)(void *user, size_t size, size_t alignment);
  void (*free)(void *user, void *pointer);
  void *user;
} bsm_allocator;

BSM_EXTERN_C_END

#endif /* BESSEMER_ALLOCATOR_H_ */
