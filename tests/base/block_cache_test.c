/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block_cache.h"
#include "tests/base/test_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Every byte asked for can be written, at every size around the classes. */
static void all_sizes(void **state) {
  (void)state;
  test_allocator c;
  test_allocator_init(&c, INT_MAX);
  bsm_block_cache cache;
  bsm_block_cache_init(&cache, &c.base);
  for (size_t size = 1; size < (size_t)40 << 20; size += size / 7 + 1) {
    unsigned char *p = cache.allocator.alloc(&cache, size, 64);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    memset(p, 1, size);
    const int calls = c.calls;
    cache.allocator.free(&cache, p);
    unsigned char *again = cache.allocator.alloc(&cache, size, 64);
    assert_non_null(again);
    memset(again, 2, size);
    if (size <= (size_t)16 << 20) {
      assert_ptr_equal(p, again);
      assert_int_equal(c.calls, calls);
    }
    cache.allocator.free(&cache, again);
  }
  bsm_block_cache_release(&cache);
  assert_int_equal(c.live, 0);
}

static void what_is_in_use_is_not_given(void **state) {
  (void)state;
  bsm_block_cache cache;
  bsm_block_cache_init(&cache, NULL);
  void *a = cache.allocator.alloc(&cache, 100, 8);
  void *b = cache.allocator.alloc(&cache, 100, 8);
  assert_non_null(a);
  assert_non_null(b);
  assert_ptr_not_equal(a, b);
  cache.allocator.free(&cache, a);
  cache.allocator.free(&cache, NULL);
  assert_ptr_equal(cache.allocator.alloc(&cache, 200, 8), a);
  cache.allocator.free(&cache, a);
  cache.allocator.free(&cache, b);
  bsm_block_cache_release(&cache);
}

/* A block serves sizes down to half of its own, and no smaller ones. */
static void larger_blocks_serve(void **state) {
  (void)state;
  bsm_block_cache cache;
  bsm_block_cache_init(&cache, NULL);
  void *a = cache.allocator.alloc(&cache, 100000, 64);
  assert_non_null(a);
  cache.allocator.free(&cache, a);
  void *b = cache.allocator.alloc(&cache, 70000, 64);
  assert_ptr_equal(a, b);
  cache.allocator.free(&cache, b);
  void *c = cache.allocator.alloc(&cache, 20000, 64);
  assert_ptr_not_equal(a, c);
  cache.allocator.free(&cache, c);
  bsm_block_cache_release(&cache);
}

static void no_memory(void **state) {
  (void)state;
  test_allocator c;
  test_allocator_init(&c, 1);
  bsm_block_cache cache;
  bsm_block_cache_init(&cache, &c.base);
  void *a = cache.allocator.alloc(&cache, 100, 8);
  assert_non_null(a);
  assert_null(cache.allocator.alloc(&cache, 100, 8));
  assert_null(cache.allocator.alloc(&cache, SIZE_MAX, 8));
  assert_null(cache.allocator.alloc(&cache, 100, 128));
  cache.allocator.free(&cache, a);
  bsm_block_cache_release(&cache);
  assert_int_equal(c.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_sizes),
      cmocka_unit_test(what_is_in_use_is_not_given),
      cmocka_unit_test(larger_blocks_serve),
      cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests_name("block_cache", tests, NULL, NULL);
}
