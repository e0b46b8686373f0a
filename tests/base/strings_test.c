/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/byte_order.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/siphash.h"
#include "base/strings.h"

static void views_compare(void **state) {
  (void)state;
  assert_true(bsm_str_eq(BSM_STR("ab"), bsm_str_of("ab")));
  assert_false(bsm_str_eq(BSM_STR("ab"), BSM_STR("ac")));
  assert_false(bsm_str_eq(BSM_STR("ab"), BSM_STR("abc")));
  assert_true(bsm_str_eq(BSM_STR("a\0b"), (bsm_str){"a\0b", 3}));
  assert_true(bsm_str_eq((bsm_str){NULL, 0}, BSM_STR("")));
  assert_true(bsm_str_starts_with(BSM_STR("aten::relu"), BSM_STR("aten::")));
  assert_false(bsm_str_starts_with(BSM_STR("aten"), BSM_STR("aten::")));
  assert_true(bsm_str_ends_with(BSM_STR("relu_"), BSM_STR("_")));
  assert_true(bsm_str_ends_with(BSM_STR("relu_"), BSM_STR("")));
  assert_false(bsm_str_ends_with(BSM_STR("_"), BSM_STR("u_")));
}

static void text_grows(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_text text;
  bsm_text_init(&text, &arena);
  assert_string_equal(text.data, "");
  bsm_text_append(&text, (bsm_str){"a\0b", 3});
  bsm_text_printf(&text, "%s%d", "c", 5);
  bsm_text_printf(&text, "%s", "");
  assert_int_equal(text.len, 5);
  assert_memory_equal(text.data, "a\0bc5", 6);
  for (int i = 0; i < 1000; i++) bsm_text_puts(&text, "0123456789");
  assert_int_equal(text.len, 10005);
  assert_false(text.failed);
  bsm_arena_destroy(&arena);
}

static void text_is_quoted(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_text text;
  bsm_text_init(&text, &arena);
  bsm_text_quoted(&text, (bsm_str){"a\"'\\\a\b\t\n\v\f\r\0\x1b\xff z", 16});
  assert_string_equal(text.data,
                      "\"a\\\"\\'\\\\\\a\\b\\t\\n\\v\\f\\r\\000\\033\\377 z\"");
  bsm_arena_destroy(&arena);
}

static const char *double_text(bsm_arena *arena, double value) {
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_text_double(&text, value);
  return text.data;
}

static void doubles_are_written_short(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-12.5, "-12.5"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {0.30000000000000004, "0.30000000000000004"},
      {1e-05, "1e-05"},
      {1e22, "1e+22"},
      {123456.0, "123456.0"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {(double)INFINITY, "inf"},
      {-(double)INFINITY, "-inf"},
      {(double)NAN, "nan"},
  };
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_string_equal(double_text(&arena, cases[i].value), cases[i].text);
  }
  bsm_arena_destroy(&arena);
}

static void doubles_read_back(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  uint64_t bits = 0x123456789abcdef;
  for (int i = 0; i < 20000; i++) {
    bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
    double value, back;
    memcpy(&value, &bits, sizeof(value));
    if (isnan(value)) continue;
    const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
    const char *text = double_text(&arena, value);
    assert_true(bsm_parse_double(bsm_str_of(text), &back));
    assert_memory_equal(&back, &value, sizeof(value));
    bsm_arena_rewind(&arena, mark);
  }
  bsm_arena_destroy(&arena);
}

static bool reads_as(const char *text, double expected) {
  double value = 12345;
  return bsm_parse_double(bsm_str_of(text), &value) &&
         memcmp(&value, &expected, sizeof(value)) == 0;
}

static void doubles_are_read(void **state) {
  (void)state;
  assert_true(reads_as("0", 0.0));
  assert_true(reads_as("-0.0", -0.0));
  assert_true(reads_as("1.", 1.0));
  assert_true(reads_as(".5", 0.5));
  assert_true(reads_as("+1e+2", 100.0));
  assert_true(reads_as("0001.5000E-1", 0.15));
  assert_true(reads_as("1e400", (double)INFINITY));
  assert_true(reads_as("1e-400", 0.0));
  assert_true(reads_as("0e999999999999999999999", 0.0));
  assert_true(reads_as("1e999999999999999999999", (double)INFINITY));
  assert_true(reads_as("-inf", -(double)INFINITY));
  assert_true(reads_as("Infinity", (double)INFINITY));
  double value;
  assert_true(bsm_parse_double(BSM_STR("nan"), &value));
  assert_true(isnan(value));
}

static void what_is_not_a_double_is_refused(void **state) {
  (void)state;
  static const char *const cases[] = {
      "",     " 1",   "1 ",  "-",   "+",     ".",    "e5", "1e",    "1e+",
      "1.5x", "0x10", "1,5", "--1", "1.2.3", "infi", "na", "1_000", "nan(1)",
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    double value = 7;
    assert_false(bsm_parse_double(bsm_str_of(cases[i]), &value));
    assert_true(value == 7);
  }
  double value;
  assert_false(bsm_parse_double((bsm_str){"1\0", 2}, &value));
  assert_true(bsm_parse_double((bsm_str){"15", 1}, &value));
  assert_true(value == 1);
}

/* Halfway between two doubles, decided by a digit far behind: 2^53 + 1 and a
 * tail. */
static void long_numbers_round_correctly(void **state) {
  (void)state;
  enum { ZEROS = 5000 };
  char text[ZEROS + 64];
  int length = sprintf(text, "9007199254740993.");
  memset(text + length, '0', ZEROS);
  length += ZEROS;
  text[length] = '\0';
  assert_true(reads_as(text, 9007199254740992.0)); /* ties to even */
  strcpy(text + length, "1");
  assert_true(reads_as(text, 9007199254740994.0));
  memset(text, '0', ZEROS);
  strcpy(text + ZEROS, "25e-1");
  assert_true(reads_as(text, 2.5));
  memset(text, '0', ZEROS);
  text[0] = '1';
  sprintf(text + ZEROS, "e-%d", ZEROS - 1);
  assert_true(reads_as(text, 1.0));
  memset(text, '0', ZEROS);
  text[1] = '.';
  sprintf(text + ZEROS, "5e%d", ZEROS - 1);
  assert_true(reads_as(text, 5.0));
}

static void numbers_ignore_the_locale(void **state) {
  (void)state;
  /* Not every machine has a locale with a decimal comma. */
  if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
    skip();
  }
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  assert_string_equal(double_text(&arena, 1234.5), "1234.5");
  assert_true(reads_as("1234.5", 1234.5));
  bsm_arena_destroy(&arena);
  setlocale(LC_ALL, "C");
}

static void integers_are_read(void **state) {
  (void)state;
  int64_t value = 3;
  assert_true(bsm_parse_i64(BSM_STR("9223372036854775807"), &value));
  assert_true(value == INT64_MAX);
  assert_true(bsm_parse_i64(BSM_STR("-9223372036854775808"), &value));
  assert_true(value == INT64_MIN);
  assert_true(bsm_parse_i64(BSM_STR("-007"), &value));
  assert_int_equal(value, -7);
  static const char *const bad[] = {"",
                                    "-",
                                    "+1",
                                    " 1",
                                    "1 ",
                                    "1.",
                                    "0x1",
                                    "9223372036854775808",
                                    "-9223372036854775809"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    assert_false(bsm_parse_i64(bsm_str_of(bad[i]), &value));
  }
  assert_int_equal(value, -7);
}

/* What Python has for bytes(range(n)) with PYTHONHASHSEED=0, a key of zeros;
 * sys.hash_info.algorithm is siphash13. */
static void siphash_is_pythons(void **state) {
  (void)state;
  static const struct {
    size_t size;
    uint64_t hash;
  } expected[] = {
      {1, UINT64_C(0x68a914128e01e473)},  {7, UINT64_C(0x2f098ab0c751325a)},
      {8, UINT64_C(0xead411e67ebe2eea)},  {9, UINT64_C(0x75927f9d95124362)},
      {16, UINT64_C(0x8972188433a5c5b7)}, {31, UINT64_C(0x169739443111d49b)},
      {63, UINT64_C(0x385d3e39e5f37359)},
  };
  static const uint64_t zero[2] = {0, 0};
  uint8_t bytes[64];
  for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)i;
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
    assert_int_equal(bsm_siphash_with(bytes, expected[i].size, zero),
                     expected[i].hash);
  }
}

/* Names that collide under XXH64 whatever its seed: two words of a stripe may
 * be changed together, so that its sum stays. */
enum { COLLIDING = 200, NAME_SIZE = 64 };

static void make_colliding(uint64_t k, uint8_t name[NAME_SIZE]) {
  const uint64_t p1 = UINT64_C(0x9E3779B185EBCA87);
  const uint64_t inverse = UINT64_C(0x0ba79078168d4baf); /* of the 2nd prime */
  uint64_t x, y;
  memset(name, 'a', NAME_SIZE);
  memcpy(&x, name, 8);
  y = x;
  x += k * (UINT64_C(1) << 33) * inverse;
  y -= k * p1 * inverse;
  memcpy(name + 8, &x, 8);
  memcpy(name + 40, &y, 8);
}

static void names_of_a_file_do_not_collide(void **state) {
  (void)state;
  if (BSM_HOST_IS_BIG) skip(); /* the names are made for the other order */
  enum { SLOTS = 1 << 16 };
  static uint8_t used[SLOTS];
  uint64_t first = 0;
  size_t shared = 0;
  memset(used, 0, sizeof(used));
  for (uint64_t k = 0; k < COLLIDING; k++) {
    uint8_t name[NAME_SIZE];
    make_colliding(k, name);
    const uint64_t hash = bsm_hash64(name, sizeof(name), 77);
    if (k == 0) first = hash;
    assert_int_equal(hash, first);
    const size_t slot = bsm_siphash(name, sizeof(name)) % SLOTS;
    if (used[slot]) shared++;
    used[slot] = 1;
  }
  assert_in_range(shared, 0, 20);
}

/* As strings.c has it, which alone looks into it otherwise. */
struct bsm_strmap_entry {
  bsm_str key;
  void *value;
  uint64_t hash;
};

/* A map keeps names by that hash: no two of them in one place. */
static void maps_do_not_collide(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_strmap map = {0};
  size_t equal = 0;
  bsm_arena_init(&arena, NULL);
  for (uint64_t k = 0; k < COLLIDING; k++) {
    uint8_t name[NAME_SIZE];
    make_colliding(k, name);
    const bsm_str key = {(const char *)name, sizeof(name)};
    assert_true(bsm_strmap_set(&arena, &map, key, &map));
  }
  assert_int_equal(map.len, COLLIDING);
  for (size_t i = 0; i < map.cap; i++) {
    for (size_t k = 0; k < i && map.entries[i].key.data; k++) {
      equal +=
          map.entries[k].key.data && map.entries[k].hash == map.entries[i].hash;
    }
  }
  assert_int_equal(equal, 0);
  bsm_arena_destroy(&arena);
}

static void maps_find_what_was_put(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  static int values[COUNT];
  bsm_strmap names = {0};
  bsm_ptrmap pointers = {0};
  assert_null(bsm_strmap_get(&names, BSM_STR("x")));
  assert_null(bsm_ptrmap_get(&pointers, values));
  char key[32];
  for (int i = 0; i < COUNT; i++) {
    snprintf(key, sizeof(key), "key%d", i);
    assert_true(bsm_strmap_set(&arena, &names, bsm_str_of(key), &values[0]));
    assert_true(bsm_strmap_set(&arena, &names, bsm_str_of(key), &values[i]));
    assert_true(bsm_ptrmap_set(&arena, &pointers, &values[i], &values[0]));
    assert_true(bsm_ptrmap_set(&arena, &pointers, &values[i], &values[i]));
  }
  assert_int_equal(names.len, COUNT);
  assert_int_equal(pointers.len, COUNT);
  for (int i = 0; i < COUNT; i++) {
    snprintf(key, sizeof(key), "key%d", i);
    assert_ptr_equal(bsm_strmap_get(&names, bsm_str_of(key)), &values[i]);
    assert_ptr_equal(bsm_ptrmap_get(&pointers, &values[i]), &values[i]);
  }
  assert_null(bsm_strmap_get(&names, BSM_STR("key")));
  assert_null(bsm_ptrmap_get(&pointers, &names));
  assert_null(bsm_ptrmap_get(&pointers, NULL));
  assert_false(bsm_ptrmap_set(&arena, &pointers, NULL, values));
  /* The empty string and a NUL inside are keys like any other. */
  assert_true(bsm_strmap_set(&arena, &names, BSM_STR(""), &values[1]));
  assert_true(bsm_strmap_set(&arena, &names, BSM_STR("a\0b"), &values[2]));
  assert_ptr_equal(bsm_strmap_get(&names, BSM_STR("")), &values[1]);
  assert_ptr_equal(bsm_strmap_get(&names, BSM_STR("a\0b")), &values[2]);
  assert_null(bsm_strmap_get(&names, BSM_STR("a")));
  bsm_arena_destroy(&arena);
}

static void equal_strings_are_interned_once(void **state) {
  (void)state;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_interner interner;
  bsm_interner_init(&interner, &arena);
  const char *relu = bsm_intern(&interner, BSM_STR("aten::relu"));
  assert_string_equal(relu, "aten::relu");
  for (int i = 0; i < 100; i++) {
    char key[32];
    snprintf(key, sizeof(key), "%d", i);
    assert_ptr_not_equal(bsm_intern(&interner, bsm_str_of(key)), relu);
  }
  assert_ptr_equal(bsm_intern(&interner, BSM_STR("aten::relu")), relu);
  assert_ptr_equal(bsm_intern(&interner, BSM_STR("")),
                   bsm_intern(&interner, BSM_STR("")));
  bsm_arena_destroy(&arena);
}

/* Reference values of the xxHash library. */
static void hash_is_xxh64(void **state) {
  (void)state;
  assert_true(bsm_hash64("", 0, 0) == UINT64_C(0xef46db3751d8e999));
  assert_true(bsm_hash64("a", 1, 0) == UINT64_C(0xd24ec4f1a98c6e5b));
  assert_true(bsm_hash64("abc", 3, 0) == UINT64_C(0x44bc2cf5ad770999));
  assert_true(bsm_hash64("xxhash", 6, 0) == UINT64_C(0x32dd38952c4bc720));
  assert_true(bsm_hash64("xxhash", 6, 20141025) ==
              UINT64_C(0xb559b98d844e0635));
  assert_true(bsm_hash64("Nobody inspects the spammish repetition", 39, 0) ==
              UINT64_C(0xfbcea83c8a378bf1));
}

static void sizes_are_checked(void **state) {
  (void)state;
  size_t size = 5;
  assert_false(bsm_size_add(SIZE_MAX, 1, &size));
  assert_false(bsm_size_mul(SIZE_MAX / 2 + 1, 2, &size));
  assert_false(bsm_size_align(SIZE_MAX - 2, 64, &size));
  assert_int_equal(size, 5);
  assert_true(bsm_size_align(65, 64, &size));
  assert_int_equal(size, 128);
  int64_t number = 6;
  assert_false(bsm_i64_add(INT64_MAX, 1, &number));
  assert_false(bsm_i64_sub(INT64_MIN, 1, &number));
  assert_false(bsm_i64_mul(INT64_MIN, -1, &number));
  assert_int_equal(number, 6);
  assert_true(bsm_i64_mul(-3, 4, &number));
  assert_int_equal(number, -12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views_compare),
      cmocka_unit_test(text_grows),
      cmocka_unit_test(text_is_quoted),
      cmocka_unit_test(doubles_are_written_short),
      cmocka_unit_test(doubles_read_back),
      cmocka_unit_test(doubles_are_read),
      cmocka_unit_test(what_is_not_a_double_is_refused),
      cmocka_unit_test(long_numbers_round_correctly),
      cmocka_unit_test(numbers_ignore_the_locale),
      cmocka_unit_test(integers_are_read),
      cmocka_unit_test(maps_find_what_was_put),
      cmocka_unit_test(equal_strings_are_interned_once),
      cmocka_unit_test(hash_is_xxh64),
      cmocka_unit_test(siphash_is_pythons),
      cmocka_unit_test(names_of_a_file_do_not_collide),
      cmocka_unit_test(maps_do_not_collide),
      cmocka_unit_test(sizes_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
