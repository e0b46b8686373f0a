/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: what is taken, with its values; what is refused, and where; and memory
 * that runs out at every allocation. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/resolve_limits.h"
#include "exported/json_reader.h"
#include "tests/base/test_allocator.h"

static bsm_limits limits;

static int set_up(void **state) {
  (void)state;
  limits = bsm_resolve_limits(NULL);
  return 0;
}

/* ---- what is taken ---- */

static const bsm_json *read_text(bsm_arena *arena, const char *text) {
  const bsm_json *root = NULL;
  const bsm_status status =
      bsm_json_read(arena, bsm_str_of(text), "text", &limits, &root);
  if (status) fail_msg("%s: %s", text, bsm_status_message(status));
  return root;
}

static void integers_are_exact(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } rows[] = {{"0", 0},
              {"-0", 0},
              {" \t\r\n7\n", 7},
              {"9007199254740993", INT64_C(9007199254740993)},
              {"9223372036854775807", INT64_MAX},
              {"-9223372036854775808", INT64_MIN}};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    const bsm_json *value = read_text(&arena, rows[i].text);
    assert_int_equal(value->kind, BSM_JSON_INT);
    assert_true(value->u.i == rows[i].value);
  }
  bsm_arena_destroy(&arena);
}

static void numbers_are_rounded_once(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } rows[] = {{"0.1", 0.1},
              {"-0.0", -0.0},
              {"1e2", 100},
              {"1E+2", 100},
              {"25e-1", 2.5},
              {"1.7976931348623157e308", 1.7976931348623157e308},
              {"5e-324", 5e-324},
              {"1e-999", 0},
              {"0e999", 0},
              {"9223372036854775808.0", 9223372036854775808.0},
              {"Infinity", INFINITY},
              {"-Infinity", -INFINITY}};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    const bsm_json *value = read_text(&arena, rows[i].text);
    assert_int_equal(value->kind, BSM_JSON_REAL);
    assert_true(value->u.d == rows[i].value);
    assert_int_equal(!signbit(value->u.d), !signbit(rows[i].value));
  }
  const bsm_json *odd = read_text(&arena, "[NaN]");
  assert_true(isnan(odd->u.array.items[0].u.d));
  bsm_arena_destroy(&arena);
}

static void strings_are_decoded(void **state) {
  (void)state;
  static const struct {
    const char *text, *value;
  } rows[] = {
      {"\"\"", ""},
      {"\"a b\x7f\"", "a b\x7f"},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
      {"\"\\ud83d\\uDE00!\"", "\xf0\x9f\x98\x80!"},
      {"\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
      {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
       "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
      {"\"\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\"",
       "\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf"},
      {"\"NaN [1,{\"", "NaN [1,{"}};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    const bsm_json *value = read_text(&arena, rows[i].text);
    assert_int_equal(value->kind, BSM_JSON_STRING);
    assert_string_equal(value->u.string, rows[i].value);
  }
  bsm_arena_destroy(&arena);
}

static void arrays_and_objects_hold_values(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const bsm_json *root = read_text(
      &arena,
      " { \"b\" : [ ] , \"a\" : { } , \"\" : [ true, [ null ,{\"x\":false}]]}");
  assert_int_equal(root->kind, BSM_JSON_OBJECT);
  const bsm_json_object *object = root->u.object;
  assert_int_equal(object->len, 3);
  assert_string_equal(object->members[0].key, "b"); /* the order of the text */
  assert_int_equal(bsm_json_find(object, "b")->kind, BSM_JSON_ARRAY);
  assert_int_equal(bsm_json_find(object, "b")->u.array.len, 0);
  assert_int_equal(bsm_json_find(object, "a")->kind, BSM_JSON_OBJECT);
  assert_int_equal(bsm_json_find(object, "a")->u.object->len, 0);
  assert_null(bsm_json_find(bsm_json_find(object, "a")->u.object, "b"));
  const bsm_json *outer = bsm_json_find(object, "");
  assert_int_equal(outer->u.array.len, 2);
  assert_true(outer->u.array.items[0].u.b);
  const bsm_json *inner = &outer->u.array.items[1];
  assert_int_equal(inner->u.array.len, 2);
  assert_int_equal(inner->u.array.items[0].kind, BSM_JSON_NULL);
  const bsm_json *x = bsm_json_find(inner->u.array.items[1].u.object, "x");
  assert_int_equal(x->kind, BSM_JSON_BOOL);
  assert_false(x->u.b);
  bsm_arena_destroy(&arena);
}

/* {"k0":0,...}; with `again`, the first key once more. */
static char *many_members(int count, bool again) {
  char *text = malloc((size_t)count * 24 + 32);
  size_t len = 0;
  assert_non_null(text);
  for (int i = 0; i < count; i++) {
    len += (size_t)sprintf(text + len, "%c\"k%d\":%d", i ? ',' : '{', i, i);
  }
  strcpy(text + len, again ? ",\"k0\":1}" : "}");
  return text;
}

/* On both sides of where tables begin and grow. */
static void every_key_is_found(void **state) {
  (void)state;
  static const int counts[] = {1, 7, 8, 9, 10, 16, 17, 100, 5000};
  for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
    bsm_arena arena;
    bsm_arena_init(&arena, NULL);
    char *text = many_members(counts[c], false);
    const bsm_json_object *object = read_text(&arena, text)->u.object;
    assert_int_equal(object->len, counts[c]);
    for (int i = 0; i < counts[c]; i++) {
      char key[16];
      snprintf(key, sizeof(key), "k%d", i);
      assert_true(bsm_json_find(object, key)->u.i == i);
    }
    assert_null(bsm_json_find(object, "k"));
    assert_null(bsm_json_find(object, "k5000"));
    free(text);
    text = many_members(counts[c], true);
    const bsm_json *none;
    const bsm_status status =
        bsm_json_read(&arena, bsm_str_of(text), "text", &limits, &none);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    assert_non_null(strstr(bsm_status_message(status), "key \"k0\" twice"));
    assert_null(none);
    bsm_status_free(status);
    free(text);
    bsm_arena_destroy(&arena);
  }
}

/* ---- what is refused ---- */

static void refuse_bytes(const char *text, size_t len, bsm_code code,
                         const char *message) {
  bsm_arena arena;
  const bsm_json *root;
  bsm_arena_init(&arena, NULL);
  /* Of just its size, so that the sanitizer sees a read behind it. */
  char *copy = malloc(len + !len);
  memcpy(copy, text, len);
  const bsm_status status =
      bsm_json_read(&arena, (bsm_str){copy, len}, "text", &limits, &root);
  free(copy);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), message)) {
    fail_msg("%.*s: %s, expected \"%s\"", (int)len, text,
             status ? bsm_status_message(status) : "taken", message);
  }
  assert_null(root);
  bsm_status_free(status);
  bsm_arena_destroy(&arena);
}

static void refuse(const char *text, const char *message) {
  refuse_bytes(text, strlen(text), BSM_CORRUPT, message);
}

static void malformed_texts_are_refused(void **state) {
  (void)state;
  refuse("", "text: line 1, column 1: no value");
  refuse(" \n ", "line 2, column 2: no value");
  refuse("[\n1\n,\n]", "line 4, column 1: no value");
  refuse("[", "no value");
  refuse("[1", "column 3: neither a comma nor the end of the array");
  refuse("[1 2]", "column 4: neither a comma nor the end of the array");
  refuse("[1}", "neither a comma nor the end of the array");
  refuse("[,1]", "no value");
  refuse("]", "no value");
  refuse("{", "no key");
  refuse("{\"a\"", "no colon");
  refuse("{\"a\" 1}", "no colon");
  refuse("{\"a\":}", "no value");
  refuse("{\"a\":1,}", "column 8: no key");
  refuse("{\"a\":1]", "neither a comma nor the end of the object");
  refuse("{1:2}", "no key");
  refuse("{\"a\":1,\"\\u0061\":2}", "key \"a\" twice");
  refuse("{} x", "column 4: more behind the value");
  refuse("null,", "more behind the value");
  refuse("nul", "no value");
  refuse("True", "no value");
  refuse("NaNNaN", "more behind the value");
  refuse("-Infinit", "no value");
  refuse("+1", "no value");
  refuse("-", "no value");
  refuse("01", "more behind the value");
  refuse("-01", "more behind the value");
  refuse(".5", "no value");
  refuse("1.", "no digit");
  refuse("1.e1", "no digit");
  refuse("1e", "no digit");
  refuse("1e+", "no digit");
  refuse("0x10", "more behind the value");
  refuse("9223372036854775808", "column 1: an integer of more than 64 bits");
  refuse("-9223372036854775809", "an integer of more than 64 bits");
  refuse("1e309", "too large for a double");
  refuse("[1] // text", "more behind the value");
  refuse("'a'", "no value");
  refuse("\xef\xbb\xbf{}", "no value"); /* a mark of the order of bytes */
  refuse_bytes("1\0", 2, BSM_CORRUPT, "more behind the value");
  refuse_bytes("\0", 1, BSM_CORRUPT, "no value");
}

static void malformed_strings_are_refused(void **state) {
  (void)state;
  refuse("\"", "column 1: a string without an end");
  refuse("\"\\\"", "a string without an end");
  refuse("\"\\", "a string without an end");
  refuse("\"a\nb\"", "line 1, column 3: a control character");
  refuse_bytes("\"a\0b\"", 5, BSM_CORRUPT, "a control character");
  refuse("\"\\a\"", "an unknown escape");
  refuse_bytes("\"\\\0\"", 4, BSM_CORRUPT, "an unknown escape");
  refuse("\"\\u0000\"", "a NUL");
  refuse("\"\\u12\"", "hexadecimal");
  refuse("\"\\u12g4\"", "hexadecimal");
  static const char *const halves[] = {
      "\"\\ud800\"",     "\"\\udc00\"",        "\"\\ud800x\"",
      "\"\\ud800\\n\"",  "\"\\ud800\\ud800\"", "\"\\ud800\\u0041\"",
      "\"\\ud800\\u00\""};
  for (size_t i = 0; i < sizeof(halves) / sizeof(*halves); i++) {
    refuse(halves[i], "surrogates");
  }
  static const char *const bytes[] = {"\"\x80\"",
                                      "\"\xff\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xc3\"",
                                      "\"\xc3(\"",
                                      "\"\xe0\x9f\xbf\"",
                                      "\"\xe2\x82\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf0\x8f\xbf\xbf\"",
                                      "\"\xf0\x9f\x98\"",
                                      "\"\xf5\x80\x80\x80\"",
                                      "\"\xf4\x90\x80\x80\""};
  for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
    refuse(bytes[i], "column 2: a string that is not UTF-8");
  }
}

/* ---- limits ---- */

static void limits_are_kept(void **state) {
  (void)state;
  limits.max_json_values = 4;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  read_text(&arena, "{\"a\":[1]}");
  refuse_bytes("{\"a\":[1,2]}", 11, BSM_LIMIT, "the limit is 4");
  set_up(state);
  limits.max_source_bytes = 5;
  read_text(&arena, "[1,2]");
  refuse_bytes("[1,20]", 6, BSM_LIMIT, "text has 6 bytes; the limit is 5");
  set_up(state);
  limits.max_depth = 1; /* four levels of JSON */
  read_text(&arena, "[[[[]]],[[[1]]]]");
  refuse_bytes("[[[[[", 5, BSM_LIMIT, "max_depth allows 4 levels");
  bsm_arena_destroy(&arena);
}

/* Nothing recurses: a million levels where the caller allows them. */
static void nesting_takes_no_stack(void **state) {
  (void)state;
  enum { LEVELS = 1000000 };
  limits.max_depth = UINT64_MAX;
  char *text = malloc(2 * LEVELS + 1);
  assert_non_null(text);
  memset(text, '[', LEVELS);
  memset(text + LEVELS, ']', LEVELS);
  text[2 * LEVELS] = 0;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const bsm_json *value = read_text(&arena, text);
  size_t levels = 1;
  for (; value->u.array.len; levels++) value = value->u.array.items;
  assert_int_equal(levels, LEVELS);
  bsm_arena_destroy(&arena);
  refuse_bytes(text, 2 * LEVELS - 1, BSM_CORRUPT, "neither a comma");
  free(text);
}

/* ---- damage and memory ---- */

/* All that there is: long strings, escapes, tables, nesting. */
static char *whole_text(void) {
  char *members = many_members(40, false);
  char *text = malloc(8192);
  assert_non_null(text);
  int len = sprintf(text,
                    "{\"long\":\"%01500d\",\"a\\u00e9\\ud83d\\ude00\":%s,"
                    "\"list\":[[],{},[1,-2.5e3,NaN,null,true,\"x\\n\"]",
                    7, members);
  for (int i = 0; i < 200; i++) len += sprintf(text + len, ",[%d]", i);
  strcpy(text + len, "]}");
  free(members);
  return text;
}

static void truncations_are_refused(void **state) {
  (void)state;
  char *text = whole_text();
  const size_t len = strlen(text);
  for (size_t n = 0; n < len; n++) {
    refuse_bytes(text, n, BSM_CORRUPT, "text: line 1, column ");
  }
  free(text);
}

/* Each allocation alone, and all from it on: no crash, no leak, and no tree of
 * a part of the text. */
static void failed_allocations_are_reported(void **state) {
  (void)state;
  char *text = whole_text();
  bool succeeded = false;
  for (int at = 1; !succeeded; at++) {
    for (int alone = 0; alone <= 1; alone++) {
      test_allocator memory;
      test_allocator_init(&memory, alone ? INT_MAX : at - 1);
      if (alone) memory.fail_at = at;
      bsm_arena arena;
      const bsm_json *root;
      bsm_arena_init(&arena, &memory.base);
      const bsm_status status =
          bsm_json_read(&arena, bsm_str_of(text), "text", &limits, &root);
      assert_int_equal(bsm_status_code(status),
                       memory.calls < at ? BSM_CODE_OK : BSM_OUT_OF_MEMORY);
      assert_true(!root == (status != NULL));
      succeeded = memory.calls < at;
      bsm_status_free(status);
      bsm_arena_destroy(&arena);
      assert_int_equal(memory.live, 0);
    }
    assert_true(at < 1000);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(integers_are_exact, set_up),
      cmocka_unit_test_setup(numbers_are_rounded_once, set_up),
      cmocka_unit_test_setup(strings_are_decoded, set_up),
      cmocka_unit_test_setup(arrays_and_objects_hold_values, set_up),
      cmocka_unit_test_setup(every_key_is_found, set_up),
      cmocka_unit_test_setup(malformed_texts_are_refused, set_up),
      cmocka_unit_test_setup(malformed_strings_are_refused, set_up),
      cmocka_unit_test_setup(limits_are_kept, set_up),
      cmocka_unit_test_setup(nesting_takes_no_stack, set_up),
      cmocka_unit_test_setup(truncations_are_refused, set_up),
      cmocka_unit_test_setup(failed_allocations_are_reported, set_up),
  };
  return cmocka_run_group_tests_name("json_reader", tests, NULL, NULL);
}
