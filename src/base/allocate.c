/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of last resort: posix_memalign and free. */
#include "base/allocate.h"

#include <stdlib.h>

void *bsm_allocate(const bsm_allocator *allocator, size_t size,
                   size_t alignment) {
  if (allocator) return allocator->alloc(allocator->user, size, alignment);
  void *pointer = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&pointer, alignment, size ? size : 1) ? NULL : pointer;
}

void bsm_deallocate(const bsm_allocator *allocator, void *pointer) {
  if (allocator) {
    allocator->free(allocator->user, pointer);
  } else {
    free(pointer);
  }
}
