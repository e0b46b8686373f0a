/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "base/arena.h"
#include "base/strings.h"
#include "tests/base/test_allocator.h"

static void memory_is_zeroed_and_aligned(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  static const unsigned char zeros[5000];
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t size = 0; size < 5000; size += 617) {
      unsigned char *p = bsm_arena_alloc(&arena, size, alignment);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % alignment, 0);
      assert_memory_equal(p, zeros, size);
      memset(p, 0xff, size);
    }
  }
  bsm_arena_destroy(&arena);
  assert_int_equal(arena.total, 0);
}

static void objects_do_not_overlap(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  unsigned char *objects[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    /* Some of them get a chunk of their own. */
    const size_t size = i % 500 == 7 ? 40000 : i % 97 + 1;
    objects[i] = bsm_arena_alloc(&arena, size, 1);
    assert_non_null(objects[i]);
    memset(objects[i], (int)(i % 251), size);
  }
  for (size_t i = 0; i < COUNT; i++) {
    const size_t size = i % 500 == 7 ? 40000 : i % 97 + 1;
    for (size_t j = 0; j < size; j++) {
      assert_int_equal(objects[i][j], i % 251);
    }
  }
  bsm_arena_destroy(&arena);
}

static void rewind_releases_what_came_after(void **state) {
  (void)state;
  test_allocator allocator;
  test_allocator_init(&allocator, INT_MAX);
  bsm_arena arena;
  bsm_arena_init(&arena, &allocator.base);
  const bsm_arena_mark empty = bsm_arena_get_mark(&arena);
  char *kept = bsm_arena_strdup(&arena, "kept");
  char *large = bsm_arena_alloc(&arena, 100000, 1);
  memset(large, 'x', 100000);
  const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
  const int live = allocator.live;
  const size_t total = arena.total;
  void *first = NULL;
  for (int round = 0; round < 3; round++) {
    void *small = bsm_arena_alloc(&arena, 10, 1);
    if (round == 0) first = small;
    assert_ptr_equal(small, first); /* the same place every time */
    memset(small, 0xff, 10);
    for (int i = 0; i < 100; i++) {
      memset(bsm_arena_alloc(&arena, 3000, 8), 0xff, 3000);
      memset(bsm_arena_alloc(&arena, 30000, 8), 0xff, 30000);
    }
    assert_true(allocator.live > live);
    bsm_arena_rewind(&arena, mark);
    assert_int_equal(allocator.live, live);
    assert_int_equal(arena.total, total);
    assert_string_equal(kept, "kept");
    assert_int_equal(large[99999], 'x');
  }
  const unsigned char *again = bsm_arena_alloc(&arena, 10, 1);
  for (int i = 0; i < 10; i++) assert_int_equal(again[i], 0);
  bsm_arena_rewind(&arena, empty);
  assert_int_equal(allocator.live, 0);
  bsm_arena_destroy(&arena);
}

/* Chunks grow with what is in the arena, so it is never much larger. */
static void memory_follows_what_is_used(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  size_t used = 0;
  for (int i = 0; i < 4000; i++) {
    assert_non_null(bsm_arena_alloc(&arena, 96, 8));
    used += 96;
    assert_true(arena.total < 5000 || arena.total < 3 * used);
  }
  bsm_arena_destroy(&arena);
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_arena_alloc(&arena, SIZE_MAX, 1));
  assert_null(bsm_arena_alloc(&arena, SIZE_MAX - 8, 64));
  assert_null(bsm_arena_alloc_array(&arena, SIZE_MAX / 2, 3, 8));
  assert_null(bsm_arena_alloc_array(&arena, SIZE_MAX / 2 + 1, 2, 8));
  assert_null(bsm_arena_strndup(&arena, "x", SIZE_MAX));
  assert_int_equal(arena.total, 0);
  bsm_arena_destroy(&arena);
}

static void text_is_formatted(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  assert_string_equal(bsm_arena_printf(&arena, "%d-%s", 7, "seven"), "7-seven");
  assert_string_equal(bsm_arena_strndup(&arena, "abcdef", 3), "abc");
  assert_string_equal(bsm_arena_strndup(&arena, NULL, 0), "");
  bsm_arena_destroy(&arena);
}

typedef BSM_VEC(int64_t) int64_vec;

static void vectors_grow(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  int64_vec vec = {0};
  for (int64_t i = 0; i < 10000; i++) {
    assert_true(bsm_vec_push(&arena, &vec, i * i));
  }
  assert_int_equal(vec.len, 10000);
  for (int64_t i = 0; i < 10000; i++) {
    assert_int_equal(vec.items[i], i * i);
  }
  bsm_arena_destroy(&arena);
}

/* A bit of everything; false as soon as something says out of memory. */
static bool use_everything(bsm_arena *arena) {
  int64_vec vec = {0};
  for (int64_t i = 0; i < 5000; i++) {
    if (!bsm_vec_push(arena, &vec, i)) return false;
  }
  bsm_interner interner;
  bsm_interner_init(&interner, arena);
  bsm_ptrmap pointers = {0};
  for (int i = 0; i < 3000; i++) {
    const char *text = bsm_arena_printf(arena, "name%d", i);
    if (!text) return false;
    const char *name = bsm_intern(&interner, bsm_str_of(text));
    if (!name) return false;
    if (!bsm_ptrmap_set(arena, &pointers, name, (void *)name)) return false;
  }
  bsm_text text;
  bsm_text_init(&text, arena);
  for (int i = 0; i < 20000; i++) bsm_text_printf(&text, "%d,", i);
  bsm_text_double(&text, 0.5);
  bsm_text_quoted(&text, BSM_STR("a\n"));
  return !text.failed;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  int failures = 0;
  for (int n = 0;; n++) {
    test_allocator allocator;
    test_allocator_init(&allocator, n);
    bsm_arena arena;
    bsm_arena_init(&arena, &allocator.base);
    const bool done = use_everything(&arena);
    bsm_arena_destroy(&arena);
    assert_int_equal(allocator.live, 0);
    if (done) break;
    failures++;
  }
  assert_true(failures > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned),
      cmocka_unit_test(objects_do_not_overlap),
      cmocka_unit_test(rewind_releases_what_came_after),
      cmocka_unit_test(memory_follows_what_is_used),
      cmocka_unit_test(impossible_sizes_are_refused),
      cmocka_unit_test(text_is_formatted),
      cmocka_unit_test(vectors_grow),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
