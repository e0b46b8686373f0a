/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of last resort: posix_memalign and free; large pages. */
#include "base/allocate.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sanitized.h"

#define LARGE_PAGE ((size_t)2 << 20)
/* What is left of a page that is worth a whole one: a product of a few hundred
 * rows writes to another small page with every row. */
#define WORTH_A_PAGE (LARGE_PAGE / 4)

void *bsm_allocate(const bsm_allocator *allocator, size_t size,
                   size_t alignment) {
  if (allocator) return allocator->alloc(allocator->user, size, alignment);
  void *pointer = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&pointer, alignment, size ? size : 1) ? NULL : pointer;
}

/* Only whole large pages are asked for: no more memory is used than what is
 * rounded up here. */
void *bsm_allocate_large(const bsm_allocator *allocator, size_t size,
                         size_t alignment) {
  if (allocator || size < WORTH_A_PAGE || size > SIZE_MAX - LARGE_PAGE ||
      alignment > LARGE_PAGE) {
    return bsm_allocate(allocator, size, alignment);
  }
  const size_t rest = size % LARGE_PAGE;
  /* Who looks for what reaches behind the end is to see it there. */
  if (!BSM_HAS_ASAN && rest >= WORTH_A_PAGE) size += LARGE_PAGE - rest;
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
