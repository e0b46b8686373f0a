/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of last resort: posix_memalign and free; large pages. */
#include "base/allocate.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

void *bsm_allocate(const bsm_allocator *allocator, size_t size,
                   size_t alignment) {
  if (allocator) return allocator->alloc(allocator->user, size, alignment);
  void *pointer = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&pointer, alignment, size ? size : 1) ? NULL : pointer;
}

/* Only whole large pages are asked for, so that no memory is used for what lies
 * behind the end. */
void *bsm_allocate_large(const bsm_allocator *allocator, size_t size,
                         size_t alignment) {
  if (allocator || size < 2 * LARGE_PAGE || alignment > LARGE_PAGE) {
    return bsm_allocate(allocator, size, alignment);
  }
  void *pointer = bsm_allocate(NULL, size, LARGE_PAGE);
#ifdef MADV_HUGEPAGE
  /* Advice: a system that does not know it says so, and nothing is lost. */
  if (pointer) (void)madvise(pointer, size & ~(LARGE_PAGE - 1), MADV_HUGEPAGE);
#endif
  return pointer;
}

void bsm_deallocate(const bsm_allocator *allocator, void *pointer) {
  if (allocator) {
    allocator->free(allocator->user, pointer);
  } else {
    free(pointer);
  }
}
