/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in large pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"

#define KIB ((size_t)1 << 10)
#define LARGE_PAGE (2048 * KIB)

/* Sizes around whole large pages, all of whose bytes can be used, and which
 * start at a page where at least one is asked for. */
static void sizes_around_a_page(void **state) {
  (void)state;
  static const size_t sizes[] = {1,
                                 511 * KIB,
                                 512 * KIB,
                                 LARGE_PAGE - 1,
                                 LARGE_PAGE,
                                 LARGE_PAGE + 1,
                                 LARGE_PAGE + 512 * KIB,
                                 3 * LARGE_PAGE + 600 * KIB};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    unsigned char *p = bsm_allocate_large(NULL, sizes[i], 64);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % (sizes[i] < 512 * KIB ? 64 : LARGE_PAGE),
                     0);
    memset(p, 0x5a, sizes[i]);
    assert_int_equal(p[sizes[i] - 1], 0x5a);
    bsm_deallocate(NULL, p);
  }
}

static void *note_size(void *user, size_t size, size_t alignment) {
  (void)alignment;
  *(size_t *)user = size;
  return NULL;
}

static void release_nothing(void *user, void *memory) {
  (void)user;
  (void)memory;
}

static void an_allocator_gets_the_size_as_it_is(void **state) {
  (void)state;
  size_t asked = 0;
  const bsm_allocator allocator = {note_size, release_nothing, &asked};
  assert_null(bsm_allocate_large(&allocator, LARGE_PAGE + 700 * KIB, 64));
  assert_int_equal(asked, LARGE_PAGE + 700 * KIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_around_a_page),
      cmocka_unit_test(an_allocator_gets_the_size_as_it_is)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
