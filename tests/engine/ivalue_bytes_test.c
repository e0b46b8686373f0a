/* SPDX-License-Identifier: Apache-2.0 */
/* Values as bytes: round trip, text, and bytes that lie. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>

#include "engine/ivalue_bytes.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_tensor tensors[3], *pointers[3];
  bsm_text bytes;
} fixture;

static bsm_ivalue list_of(fixture *f, const bsm_ivalue *items, size_t count) {
  bsm_list *list;
  assert_null(bsm_list_new(&f->arena, NULL, count, &list));
  if (count) memcpy(list->items, items, count * sizeof(*items));
  return bsm_iv_list(list);
}

/* One value of each kind, and lists of them. */
static size_t make_values(fixture *f, bsm_ivalue *out) {
  size_t n = 0;
  bsm_tuple *tuple;
  out[n++] = bsm_iv_none();
  out[n++] = bsm_iv_int(INT64_MIN);
  out[n++] = bsm_iv_double(-0.5);
  out[n++] = bsm_iv_bool(true);
  out[n++] = (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {1.5, -2}}};
  assert_null(bsm_iv_string(&f->arena, BSM_STR("a\0b"), &out[n++]));
  out[n++] = (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = {1, -1}}};
  out[n++] = bsm_iv_tensor(&f->tensors[2]);
  out[n] = list_of(f, (bsm_ivalue[]){bsm_iv_tensor(&f->tensors[0]), out[0]}, 2);
  n++;
  out[n++] = list_of(f, NULL, 0);
  assert_null(bsm_tuple_new(&f->arena, 1, &tuple));
  tuple->items[0] = list_of(f, out, 3);
  out[n++] = bsm_iv_tuple(tuple);
  return n;
}

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  bsm_ivalue values[16];
  bsm_arena_init(&f->arena, NULL);
  bsm_text_init(&f->bytes, &f->arena);
  for (int i = 0; i < 3; i++) f->pointers[i] = &f->tensors[i];
  f->tensors[2].wrapped_number = true;
  const size_t n = make_values(f, values);
  assert_null(bsm_ivalues_to_bytes(&f->bytes, values, n, f->pointers, 3));
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_arena_destroy(&f->arena);
  free(f);
  return 0;
}

static bsm_code read_code(bsm_str bytes, size_t tensor_count) {
  bsm_arena arena;
  bsm_tensor tensors[3] = {{0}};
  bsm_ivalue *values;
  size_t count;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_ivalues_from_bytes(bytes, &arena, tensors,
                                             tensor_count, &values, &count);
  const bsm_code code = bsm_status_code(status);
  bsm_status_free(status);
  bsm_arena_destroy(&arena);
  return code;
}

static void test_round_trip(void **state) {
  fixture *f = *state;
  bsm_tensor tensors[3] = {{0}};
  bsm_ivalue *values;
  size_t count;
  bsm_text again;
  assert_null(bsm_ivalues_from_bytes((bsm_str){f->bytes.data, f->bytes.len},
                                     &f->arena, tensors, 3, &values, &count));
  assert_int_equal(count, 11);
  assert_true(values[1].u.i == INT64_MIN);
  assert_int_equal(values[5].u.s->len, 3);
  assert_ptr_equal(values[7].u.tensor, &tensors[2]);
  assert_true(tensors[2].wrapped_number);
  assert_false(tensors[0].wrapped_number);
  bsm_text_init(&again, &f->arena);
  bsm_tensor *pointers[] = {&tensors[0], &tensors[1], &tensors[2]};
  assert_null(bsm_ivalues_to_bytes(&again, values, count, pointers, 3));
  assert_int_equal(again.len, f->bytes.len);
  assert_memory_equal(again.data, f->bytes.data, again.len);
}

static void test_text(void **state) {
  fixture *f = *state;
  const uint32_t names[] = {7, 8, 9};
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_ivalue_bytes_print(&text, (bsm_str){f->bytes.data, f->bytes.len}, names,
                         3);
  assert_non_null(strstr(text.data, "t9, [t7, None], [], ([None, "));
  bsm_text_init(&text, &f->arena);
  bsm_ivalue_bytes_print(&text, (bsm_str){f->bytes.data, 9}, names, 3);
  assert_string_equal(text.data, "?");
}

static void test_damage(void **state) {
  fixture *f = *state;
  const bsm_str whole = {f->bytes.data, f->bytes.len};
  assert_int_equal(read_code(whole, 3), BSM_CODE_OK);
  assert_int_equal(read_code(whole, 2), BSM_CORRUPT);
  for (size_t i = 0; i < whole.len; i++) {
    char *cut = malloc(i ? i : 1); /* exact: the sanitizer sees over-reads */
    memcpy(cut, whole.data, i);
    assert_int_equal(read_code((bsm_str){cut, i}, 3), BSM_CORRUPT);
    free(cut);
  }
  char *copy = malloc(whole.len);
  for (size_t bit = 0; bit < whole.len * 8; bit++) {
    memcpy(copy, whole.data, whole.len);
    copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
    const bsm_code code = read_code((bsm_str){copy, whole.len}, 3);
    assert_true(code == BSM_CODE_OK || code == BSM_CORRUPT);
  }
  free(copy);
}

/* Lists in lists in lists; and lengths of what is not there. */
static void test_bombs(void **state) {
  (void)state;
  char deep[4 + 5 * 100] = {1};
  for (size_t i = 0; i < 100; i++) {
    deep[4 + 5 * i] = 8;
    deep[5 + 5 * i] = i < 99;
  }
  assert_int_equal(read_code((bsm_str){deep, sizeof(deep)}, 0), BSM_CORRUPT);
  const char many[] = "\xff\xff\xff\xff\0\0\0";
  assert_int_equal(read_code((bsm_str){many, 7}, 0), BSM_CORRUPT);
}

static void test_refused(void **state) {
  fixture *f = *state;
  bsm_text text;
  bsm_tensor other = {0};
  bsm_ivalue value = bsm_iv_tensor(&other);
  bsm_text_init(&text, &f->arena);
  bsm_status status = bsm_ivalues_to_bytes(&text, &value, 1, f->pointers, 3);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  bsm_status_free(status);
  value = (bsm_ivalue){.tag = BSM_IVALUE_OBJECT};
  status = bsm_ivalues_to_bytes(&text, &value, 1, f->pointers, 3);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  bsm_status_free(status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_round_trip), TEST(test_text),
                                     TEST(test_damage), TEST(test_bombs),
                                     TEST(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
