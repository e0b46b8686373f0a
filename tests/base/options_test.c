/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of callers that were built with older and with newer headers. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "base/options.h"

/* One struct in three versions of a header. */
typedef struct older {
  size_t struct_size;
  int64_t first;
} older;
typedef struct known {
  size_t struct_size;
  int64_t first, second;
} known;
typedef struct newer {
  size_t struct_size;
  int64_t first, second, third;
} newer;

static const known defaults = {sizeof(known), 1, 2};

static void expect(bsm_status status, bsm_code code, const char *part) {
  assert_int_equal(bsm_status_code(status), code);
  assert_non_null(strstr(bsm_status_message(status), part));
  bsm_status_free(status);
}

static void options_of_older_callers_keep_defaults(void **state) {
  (void)state;
  /* What lies behind the caller's struct is not read. */
  struct {
    older given;
    int64_t beyond;
  } caller = {{sizeof(older), 7}, 99};
  known out = defaults;
  assert_null(bsm_options_copy(&out, sizeof(out), &caller.given, "known"));
  assert_int_equal(out.struct_size, sizeof(known));
  assert_int_equal(out.first, 7);
  assert_int_equal(out.second, 2);
  out = defaults;
  assert_null(bsm_options_copy(&out, sizeof(out), NULL, "known"));
  assert_memory_equal(&out, &defaults, sizeof(out));
}

static void options_of_newer_callers_may_say_nothing_new(void **state) {
  (void)state;
  newer given = {sizeof(newer), 7, 8, 0};
  known out = defaults;
  assert_null(bsm_options_copy(&out, sizeof(out), &given, "known"));
  assert_int_equal(out.struct_size, sizeof(known));
  assert_int_equal(out.second, 8);
  out = defaults;
  given.third = INT64_C(1) << 56; /* the last byte alone */
  char part[80];                  /* 32 bytes and 24 on most machines */
  snprintf(part, sizeof(part),
           "known has %zu bytes and sets what lies behind "
           "the %zu",
           sizeof(newer), sizeof(known));
  expect(bsm_options_copy(&out, sizeof(out), &given, "known"), BSM_UNSUPPORTED,
         part);
  assert_memory_equal(&out, &defaults, sizeof(out));
}

static void sizes_have_to_be_set(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 65537, SIZE_MAX};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    known given = {sizes[i], 7, 8}, out = defaults;
    const known before = given;
    expect(bsm_options_copy(&out, sizeof(out), &given, "known"),
           BSM_INVALID_ARGUMENT, "known.struct_size is");
    assert_memory_equal(&out, &defaults, sizeof(out));
    expect(BSM_OUT(known, &given, defaults), BSM_INVALID_ARGUMENT,
           "known.struct_size is");
    assert_memory_equal(&given, &before, sizeof(given));
  }
  expect(BSM_OUT(known, NULL, defaults), BSM_INVALID_ARGUMENT, "is NULL");
}

static void results_end_where_the_caller_s_struct_does(void **state) {
  (void)state;
  struct {
    older got;
    int64_t beyond;
  } caller = {{sizeof(older), 0}, 99};
  assert_null(BSM_OUT(known, &caller.got, defaults));
  assert_int_equal(caller.got.struct_size, sizeof(older));
  assert_int_equal(caller.got.first, 1);
  assert_int_equal(caller.beyond, 99);
  newer got = {sizeof(newer), -1, -1, -1};
  assert_null(BSM_OUT(known, &got, defaults));
  assert_int_equal(got.struct_size, sizeof(newer));
  assert_int_equal(got.second, 2);
  assert_int_equal(got.third, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_of_older_callers_keep_defaults),
      cmocka_unit_test(options_of_newer_callers_may_say_nothing_new),
      cmocka_unit_test(sizes_have_to_be_set),
      cmocka_unit_test(results_end_where_the_caller_s_struct_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
