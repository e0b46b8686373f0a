/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "engine/plan.h"
#include "runtime/plan/workspace.h"
#include "tests/base/test_allocator.h"
#include "tests/conformance/device_fixture.h"

static bsm_stream *stream;

static int set_up(void **state) {
  (void)state;
  stream = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  fixture_stream_close(stream);
  return 0;
}

static void expect(bsm_status status, bsm_code code) {
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static void it_grows_and_never_shrinks(void **state) {
  (void)state;
  test_allocator c;
  test_allocator_init(&c, INT_MAX);
  bsm_workspace w;
  bsm_workspace_init(&w, stream, &c.base, NULL, 0);
  expect(bsm_workspace_reserve(&w, 100, 10), BSM_CODE_OK);
  assert_int_equal((uintptr_t)w.memory % BSM_ALIGNMENT, 0);
  assert_int_equal((uintptr_t)bsm_workspace_scratch(&w) % BSM_ALIGNMENT, 0);
  assert_true(w.size >= 100);
  assert_int_equal(w.scratch_size, 10);
  memset(w.memory, 1, w.size + w.scratch_size);
  const uint8_t *first = w.memory;
  expect(bsm_workspace_reserve(&w, 50, 10), BSM_CODE_OK);
  assert_ptr_equal(w.memory, first);
  assert_int_equal(c.calls, 1);
  /* Less of one, more of the other: neither gets smaller. */
  expect(bsm_workspace_reserve(&w, 10, 500), BSM_CODE_OK);
  assert_true(w.size >= 100);
  assert_int_equal(w.scratch_size, 500);
  expect(bsm_workspace_reserve(&w, 1000, 20), BSM_CODE_OK);
  assert_true(w.size >= 1000);
  assert_int_equal(w.scratch_size, 500);
  for (size_t i = 0; i < w.size + w.scratch_size; i++) {
    assert_int_equal(w.memory[i], 0);
  }
  assert_int_equal(c.live, 1);
  bsm_workspace_destroy(&w);
  assert_int_equal(c.live, 0);
}

static void nothing_is_needed(void **state) {
  (void)state;
  bsm_workspace w;
  bsm_workspace_init(&w, stream, NULL, NULL, 0);
  expect(bsm_workspace_reserve(&w, 0, 0), BSM_CODE_OK);
  assert_non_null(w.memory);
  bsm_workspace_destroy(&w);
}

static void the_callers_cannot_grow(void **state) {
  (void)state;
  static _Alignas(BSM_ALIGNMENT) uint8_t given[256];
  bsm_workspace w;
  bsm_workspace_init(&w, stream, NULL, given, sizeof(given));
  expect(bsm_workspace_reserve(&w, 128, 64), BSM_CODE_OK);
  assert_ptr_equal(w.memory, given);
  expect(bsm_workspace_reserve(&w, 129, 65), BSM_INVALID_ARGUMENT);
  /* What was there still is. */
  assert_ptr_equal(w.memory, given);
  assert_int_equal(w.size, 128);
  assert_int_equal(w.scratch_size, 64);
  expect(bsm_workspace_reserve(&w, 192, 64), BSM_CODE_OK);
  assert_ptr_equal(bsm_workspace_scratch(&w), given + 192);
  bsm_workspace_destroy(&w);
  bsm_workspace_init(&w, stream, NULL, given + 1, sizeof(given) - 1);
  expect(bsm_workspace_reserve(&w, 1, 1), BSM_INVALID_ARGUMENT);
  bsm_workspace_destroy(&w);
}

static void sizes_that_are_not_there(void **state) {
  (void)state;
  bsm_workspace w;
  bsm_workspace_init(&w, stream, NULL, NULL, 0);
  expect(bsm_workspace_reserve(&w, UINT64_MAX, 0), BSM_LIMIT);
  expect(bsm_workspace_reserve(&w, UINT64_MAX - 62, 0), BSM_LIMIT);
  expect(bsm_workspace_reserve(&w, UINT64_MAX - 127, 128), BSM_LIMIT);
  assert_null(w.memory);
  bsm_workspace_destroy(&w);
}

static void memory_runs_out(void **state) {
  (void)state;
  test_allocator c;
  test_allocator_init(&c, INT_MAX);
  c.fail_at = 2;
  bsm_workspace w;
  bsm_workspace_init(&w, stream, &c.base, NULL, 0);
  expect(bsm_workspace_reserve(&w, 64, 64), BSM_CODE_OK);
  const uint8_t *first = w.memory;
  expect(bsm_workspace_reserve(&w, 128, 64), BSM_OUT_OF_MEMORY);
  assert_ptr_equal(w.memory, first);
  assert_int_equal(w.size, 64);
  expect(bsm_workspace_reserve(&w, 128, 64), BSM_CODE_OK);
  bsm_workspace_destroy(&w);
  assert_int_equal(c.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_grows_and_never_shrinks),
      cmocka_unit_test(nothing_is_needed),
      cmocka_unit_test(the_callers_cannot_grow),
      cmocka_unit_test(sizes_that_are_not_there),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests_name("workspace", tests, set_up, tear_down);
}
