/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for tests: counts what is live and fails on request. */
#ifndef BSM_TESTS_BASE_TEST_ALLOCATOR_H_
#define BSM_TESTS_BASE_TEST_ALLOCATOR_H_

#include <limits.h>
#include <stdlib.h>

#include "bessemer/allocator.h"

typedef struct test_allocator {
  bsm_allocator base;
  int live;       /* blocks not freed yet */
  int calls;      /* allocations asked for */
  int fail_after; /* calls that succeed before all others fail */
  int fail_at;    /* the one call that fails, counted from 1; 0: none */
} test_allocator;

static inline void *test_allocator_alloc(void *user, size_t size,
                                         size_t alignment) {
  test_allocator *self = user;
  if (self->calls++ >= self->fail_after || self->calls == self->fail_at) {
    return NULL;
  }
  void *pointer = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (posix_memalign(&pointer, alignment, size)) return NULL;
  self->live++;
  return pointer;
}

static inline void test_allocator_free(void *user, void *pointer) {
  test_allocator *self = user;
  if (pointer) self->live--;
  free(pointer);
}

static inline void test_allocator_init(test_allocator *self, int fail_after) {
  *self = (test_allocator){
      .base = {test_allocator_alloc, test_allocator_free, self},
      .fail_after = fail_after};
}

#endif /* BSM_TESTS_BASE_TEST_ALLOCATOR_H_ */
