/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "bessemer/log.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

static void success_has_a_code_and_a_text(void **state) {
  (void)state;
  assert_int_equal(bsm_status_code(BSM_OK), BSM_CODE_OK);
  assert_string_equal(bsm_status_message(BSM_OK), "ok");
  bsm_status_free(BSM_OK);
  assert_null(bsm_status_note(BSM_OK, "unused %d", 1));
  assert_null(bsm_status_join(BSM_OK, BSM_OK));
}

static void notes_follow_the_cause(void **state) {
  (void)state;
  bsm_status status = BSM_FAIL(BSM_CORRUPT, "byte %d is %s", 7, "wrong");
  status = bsm_status_note(status, "in member %s", "data.pkl");
  status = bsm_status_note(status, "while loading");
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  assert_string_equal(bsm_status_message(status),
                      "byte 7 is wrong\nin member data.pkl\nwhile loading");
  bsm_status_free(status);
}

static void control_characters_do_not_pass(void **state) {
  (void)state;
  bsm_status status =
      BSM_FAIL(BSM_IO, "a\x1b[2J\tb\x7f\n%s", "\xc2\x9b\xc3\xa9");
  status = bsm_status_note(status, "\x07");
  assert_string_equal(bsm_status_message(status), "a?[2J\tb?\n??\xc3\xa9\n?");
  bsm_status_free(status);
}

static void long_messages_are_kept_whole(void **state) {
  (void)state;
  char text[5000];
  memset(text, 'a', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  bsm_status status = BSM_FAIL(BSM_IO, "%s", text);
  status = bsm_status_note(status, "%s", text);
  assert_int_equal(strlen(bsm_status_message(status)), 2 * 4999 + 1);
  bsm_status_free(status);
  status = BSM_FAIL(BSM_IO, "%s", "");
  assert_string_equal(bsm_status_message(status), "");
  bsm_status_free(status);
}

static void the_first_failure_is_kept(void **state) {
  (void)state;
  bsm_status joined =
      bsm_status_join(BSM_FAIL(BSM_IO, "first"), BSM_FAIL(BSM_LIMIT, "second"));
  assert_int_equal(bsm_status_code(joined), BSM_IO);
  assert_string_equal(bsm_status_message(joined), "first\nsecond");
  bsm_status_free(joined);
  joined = bsm_status_join(BSM_OK, BSM_FAIL(BSM_LIMIT, "second"));
  assert_string_equal(bsm_status_message(joined), "second");
  joined = bsm_status_join(joined, BSM_OK);
  assert_string_equal(bsm_status_message(joined), "second");
  bsm_status_free(joined);
}

static void out_of_memory_is_one_object(void **state) {
  (void)state;
  bsm_status status = BSM_FAIL_OOM();
  assert_ptr_equal(status, bsm_status_out_of_memory());
  assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
  status = bsm_status_note(status, "this needs memory");
  assert_ptr_equal(status, bsm_status_out_of_memory());
  assert_string_equal(bsm_status_message(status), "out of memory");
  status = bsm_status_join(status, BSM_FAIL(BSM_IO, "x"));
  assert_ptr_equal(status, bsm_status_out_of_memory());
  bsm_status_free(status);
}

static void a_failure_never_reads_as_success(void **state) {
  (void)state;
  bsm_status status = bsm_status_make(BSM_CODE_OK, "odd");
  assert_non_null(status);
  assert_int_equal(bsm_status_code(status), BSM_INTERNAL);
  bsm_status_free(status);
}

static bsm_status fail_with_note(void) {
  BSM_TRY(BSM_OK);
  BSM_TRY_NOTE(BSM_FAIL(BSM_RAISED, "inner"), "outer %d", 2);
  return BSM_OK;
}

static bsm_status check_condition(bool condition) {
  BSM_CHECK(condition, "condition is %s", "false");
  return BSM_OK;
}

static void macros_return_early(void **state) {
  (void)state;
  bsm_status status = fail_with_note();
  assert_string_equal(bsm_status_message(status), "inner\nouter 2");
  bsm_status_free(status);
  assert_null(check_condition(true));
  status = check_condition(false);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_string_equal(bsm_status_message(status), "condition is false");
  bsm_status_free(status);
}

static void codes_have_names(void **state) {
  (void)state;
  for (int code = BSM_CODE_OK; code <= BSM_CANCELLED; code++) {
    assert_string_not_equal(bsm_code_name((bsm_code)code), "UNKNOWN");
  }
  assert_string_equal(bsm_code_name(BSM_CORRUPT), "CORRUPT");
  assert_string_equal(bsm_code_name((bsm_code)999), "UNKNOWN");
}

typedef struct recorder {
  int count;
  bsm_log_level level;
  char text[4096];
} recorder;

static void record(void *user, bsm_log_level level, const char *message) {
  recorder *self = user;
  self->count++;
  self->level = level;
  snprintf(self->text, sizeof(self->text), "%s", message);
}

static void logging_respects_the_level(void **state) {
  (void)state;
  recorder seen = {0};
  const bsm_logger logger = {BSM_LOG_LEVEL_INFO, record, &seen};
  bsm_log(NULL, BSM_LOG_LEVEL_ERROR, "nobody");
  bsm_log(&logger, BSM_LOG_LEVEL_DEBUG, "too much");
  assert_int_equal(seen.count, 0);
  bsm_log(&logger, BSM_LOG_LEVEL_WARNING, "%d of %s", 3, "these");
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.level, BSM_LOG_LEVEL_WARNING);
  assert_string_equal(seen.text, "3 of these");
  char text[2001];
  memset(text, 'b', 2000);
  text[2000] = '\0';
  bsm_log(&logger, BSM_LOG_LEVEL_INFO, "%s", text);
  assert_string_equal(seen.text, text);
}

static void dtypes_have_sizes_and_names(void **state) {
  (void)state;
  assert_int_equal(bsm_dtype_size(BSM_DTYPE_COMPLEX_DOUBLE), 16);
  assert_int_equal(bsm_dtype_size(BSM_DTYPE_BFLOAT16), 2);
  assert_int_equal(bsm_dtype_size(BSM_DTYPE_BOOL), 1);
  assert_int_equal(bsm_dtype_size(BSM_DTYPE_UNDEFINED), 0);
  assert_int_equal(bsm_dtype_size((bsm_dtype)16), 0);
  assert_int_equal(bsm_dtype_size((bsm_dtype)-1), 0);
  assert_string_equal(bsm_dtype_name(BSM_DTYPE_FLOAT), "float32");
  assert_string_equal(bsm_dtype_name(BSM_DTYPE_HALF), "float16");
  assert_string_equal(bsm_dtype_name((bsm_dtype)99), "undefined");
}

static void dims_have_a_text(void **state) {
  (void)state;
  assert_string_equal(bsm_dims_str(((bsm_dims){0, {0}})), "[]");
  assert_string_equal(bsm_dims_str(((bsm_dims){4, {1, 3, -1, 224}})),
                      "[1, 3, -1, 224]");
  bsm_dims wide = {.rank = BSM_MAX_RANK};
  for (int i = 0; i < BSM_MAX_RANK; i++) wide.d[i] = INT64_MIN;
  char buffer[BSM_DIMS_STR_SIZE];
  assert_ptr_equal(bsm_dims_format(buffer, wide), buffer);
  assert_true(strlen(buffer) < sizeof(buffer));
  assert_non_null(strstr(buffer, ", ...]"));
  assert_string_equal(bsm_dims_str(((bsm_dims){.rank = 13})), "[rank 13]");
  assert_string_equal(bsm_dims_str(((bsm_dims){.rank = -1})), "[rank -1]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(success_has_a_code_and_a_text),
      cmocka_unit_test(notes_follow_the_cause),
      cmocka_unit_test(control_characters_do_not_pass),
      cmocka_unit_test(long_messages_are_kept_whole),
      cmocka_unit_test(the_first_failure_is_kept),
      cmocka_unit_test(out_of_memory_is_one_object),
      cmocka_unit_test(a_failure_never_reads_as_success),
      cmocka_unit_test(macros_return_early),
      cmocka_unit_test(codes_have_names),
      cmocka_unit_test(logging_respects_the_level),
      cmocka_unit_test(dtypes_have_sizes_and_names),
      cmocka_unit_test(dims_have_a_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
