/* SPDX-License-Identifier: Apache-2.0 */
/* Boxed values: containers, equality, text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "aten/ivalue.h"
#include "aten/ivalue_parts.h"

static void ok(bsm_status st) {
  assert_null(st);
}

static int set_up(void **state) {
  static bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  *state = &arena;
  return 0;
}

static int tear_down(void **state) {
  bsm_arena_destroy(*state);
  return 0;
}

static void test_list_grows(void **state) {
  bsm_list *list;
  ok(bsm_list_new(*state, NULL, 0, &list));
  for (int64_t i = 0; i < 100; i++) ok(bsm_list_append(list, bsm_iv_int(i)));
  assert_int_equal(list->len, 100);
  for (int64_t i = 0; i < 100; i++) {
    assert_int_equal(list->items[i].u.i, i);
  }
}

static void test_parts_of_containers(void **state) {
  bsm_list *list;
  bsm_tuple *tuple;
  bsm_dict *dict;
  ok(bsm_list_new(*state, NULL, 2, &list));
  ok(bsm_tuple_new(*state, 3, &tuple));
  ok(bsm_dict_new(*state, NULL, NULL, &dict));
  ok(bsm_dict_set(dict, bsm_iv_int(1), bsm_iv_int(7)));
  const bsm_ivalue of_list = bsm_iv_list(list), of_dict = bsm_iv_dict(dict);
  const bsm_ivalue of_tuple = bsm_iv_tuple(tuple), number = bsm_iv_int(4);
  assert_ptr_equal(bsm_iv_parts_of(&of_list).items, list->items);
  assert_int_equal(bsm_iv_parts_of(&of_list).len, 2);
  assert_ptr_equal(bsm_iv_parts_of(&of_tuple).items, tuple->items);
  assert_int_equal(bsm_iv_parts_of(&of_tuple).len, 3);
  assert_int_equal(bsm_iv_parts_of(&of_dict).items[0].u.i, 7);
  assert_int_equal(bsm_iv_parts_of(&of_dict).len, 1);
  assert_int_equal(bsm_iv_parts_of(&number).len, 0);
  assert_int_equal(bsm_iv_items_of(&of_tuple).len, 3);
  assert_int_equal(bsm_iv_items_of(&of_dict).len, 0);
  assert_true(bsm_iv_is_sequence(&of_list) && bsm_iv_is_sequence(&of_tuple));
  assert_false(bsm_iv_is_sequence(&of_dict) || bsm_iv_is_sequence(&number));
  assert_true(bsm_iv_is_container(&of_dict));
  assert_false(bsm_iv_is_container(&number));
  assert_ptr_equal(bsm_iv_arena_of(&of_list), *state);
  assert_ptr_equal(bsm_iv_arena_of(&of_dict), *state);
  assert_null(bsm_iv_arena_of(&of_tuple));
}

static void test_containers_of_values(void **state) {
  const bsm_ivalue values[] = {bsm_iv_int(5), bsm_iv_bool(true)};
  bsm_ivalue list, tuple, empty;
  ok(bsm_iv_list_of(*state, NULL, values, 2, &list));
  ok(bsm_iv_tuple_of(*state, NULL, values, 2, &tuple));
  ok(bsm_iv_list_of(*state, NULL, NULL, 0, &empty));
  assert_int_equal(list.tag, BSM_IVALUE_LIST);
  assert_int_equal(tuple.tag, BSM_IVALUE_TUPLE);
  assert_int_equal(bsm_iv_items_of(&list).items[0].u.i, 5);
  assert_true(bsm_iv_items_of(&tuple).items[1].u.b);
  assert_int_equal(bsm_iv_items_of(&empty).len, 0);
  ok(bsm_list_append(list.u.list, values[0])); /* its array is its own */
  assert_int_equal(bsm_iv_items_of(&tuple).len, 2);
}

static bool is_bool(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_BOOL;
}

/* A value is found at any depth; what nests deeper than all that counts as
 * found, a list in itself for one. */
static void test_any_inside(void **state) {
  bsm_ivalue v[] = {bsm_iv_int(5), bsm_iv_none()};
  bsm_list *list;
  bsm_dict *dict;
  ok(bsm_list_new(*state, NULL, 1, &list));
  ok(bsm_dict_new(*state, NULL, NULL, &dict));
  ok(bsm_dict_set(dict, bsm_iv_bool(true), bsm_iv_list(list)));
  ok(bsm_iv_tuple_of(*state, NULL,
                     &(bsm_ivalue){BSM_IVALUE_DICT, {.dict = dict}}, 1, &v[1]));
  assert_false(bsm_iv_any(v, 2, is_bool)); /* keys are not looked at */
  list->items[0] = bsm_iv_bool(false);
  assert_true(bsm_iv_any(v, 2, is_bool));
  assert_false(bsm_iv_any(v, 1, is_bool));
  list->items[0] = bsm_iv_list(list);
  assert_true(bsm_iv_any(v, 2, is_bool));
  v[1] = bsm_iv_int(0);
  for (int depth = 0; depth < BSM_IV_MAX_DEPTH; depth++) {
    ok(bsm_iv_list_of(*state, NULL, &v[1], 1, &v[1]));
  }
  assert_false(bsm_iv_any(v, 2, is_bool));
  ok(bsm_iv_list_of(*state, NULL, &v[1], 1, &v[1]));
  assert_true(bsm_iv_any(v, 2, is_bool));
}

static void test_identity(void **state) {
  bsm_ivalue a, b;
  const bsm_ivalue one = bsm_iv_int(1), same = bsm_iv_int(1);
  ok(bsm_iv_list_of(*state, NULL, &one, 1, &a));
  ok(bsm_iv_list_of(*state, NULL, &one, 1, &b));
  assert_true(bsm_iv_equal(&a, &b));
  assert_false(bsm_iv_is(&a, &b));
  assert_true(bsm_iv_is(&a, &a));
  assert_true(bsm_iv_is(&one, &same));
  assert_false(bsm_iv_is(&one, &a));
}

static void test_dict_keeps_order(void **state) {
  bsm_dict *dict;
  ok(bsm_dict_new(*state, NULL, NULL, &dict));
  for (int64_t i = 9; i >= 0; i--) {
    ok(bsm_dict_set(dict, bsm_iv_int(i), bsm_iv_int(i * i)));
  }
  ok(bsm_dict_set(dict, bsm_iv_int(5), bsm_iv_int(-1)));
  assert_int_equal(dict->len, 10);
  assert_int_equal(dict->keys[4].u.i, 5);
  assert_int_equal(bsm_dict_find(dict, bsm_iv_int(5))->u.i, -1);
  /* A bool is not the int that it equals. */
  assert_null(bsm_dict_find(dict, bsm_iv_bool(true)));
  assert_true(bsm_dict_delete(dict, bsm_iv_int(9)));
  assert_false(bsm_dict_delete(dict, bsm_iv_int(9)));
  assert_int_equal(dict->keys[0].u.i, 8);
}

static void test_equality(void **state) {
  bsm_ivalue a, b;
  ok(bsm_iv_string(*state, BSM_STR("x"), &a));
  ok(bsm_iv_string(*state, BSM_STR("x"), &b));
  assert_true(bsm_iv_equal(&a, &b));
  const bsm_ivalue one = bsm_iv_int(1), real = bsm_iv_double(1.0),
                   nan = bsm_iv_double(NAN), none = bsm_iv_none();
  assert_true(bsm_iv_equal(&one, &real));
  assert_false(bsm_iv_equal(&nan, &nan));
  assert_true(bsm_iv_equal(&none, &none));
  const int64_t v[] = {1, 2};
  ok(bsm_iv_int_list(*state, v, 2, &a));
  ok(bsm_iv_int_list(*state, v, 2, &b));
  assert_true(bsm_iv_equal(&a, &b));
  b.u.list->len = 1;
  assert_false(bsm_iv_equal(&a, &b));
}

/* An enum item that was read and one that the code names are the same. */
static void test_enum_equality(void **state) {
  bsm_ivalue items[3];
  const char *names[3] = {"NHWC", "NHWC", "NCHW"};
  for (int i = 0; i < 3; i++) {
    items[i] = (bsm_ivalue){BSM_IVALUE_ENUM, {0}};
    ok(bsm_object_new(*state, NULL, 2, &items[i].u.object));
    ok(bsm_iv_string(*state, bsm_str_of(names[i]),
                     &items[i].u.object->slots[0]));
  }
  assert_true(bsm_iv_equal(&items[0], &items[1]));
  assert_false(bsm_iv_equal(&items[0], &items[2]));
}

/* A list inside itself must not hang printing or comparison. */
static void test_cycles(void **state) {
  bsm_list *list;
  ok(bsm_list_new(*state, NULL, 1, &list));
  list->items[0] = bsm_iv_list(list);
  const bsm_ivalue v = bsm_iv_list(list);
  bsm_text text;
  bsm_text_init(&text, *state);
  bsm_iv_print(&text, &v);
  assert_true(text.len < 1000);
  assert_false(bsm_iv_equal(&v, &v));
}

static void check_text(bsm_arena *arena, bsm_ivalue v, const char *want) {
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_iv_print(&text, &v);
  assert_string_equal(text.data, want);
}

static void test_text(void **state) {
  bsm_tuple *tuple;
  ok(bsm_tuple_new(*state, 1, &tuple));
  tuple->items[0] = bsm_iv_double(0.1);
  check_text(*state, bsm_iv_tuple(tuple), "(0.10000000000000001,)");
  check_text(*state, bsm_iv_double(1.0), "1.");
  check_text(*state, bsm_iv_double(1e20), "1e+20");
  check_text(*state, bsm_iv_double(-INFINITY), "-inf");
  check_text(*state, bsm_iv_bool(false), "False");
  check_text(*state, bsm_iv_none(), "None");
  check_text(*state, (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = {1, 0}}},
             "cuda:0");
  bsm_tensor *t;
  ok(bsm_tensor_new(*state, BSM_DTYPE_INT64, (bsm_dims){2, {2, 2}}, false, &t));
  check_text(*state, bsm_iv_tensor(t), "tensor([[0, 0], [0, 0]])");
}

/* As a list of pairs that is searched from its beginning. */
static void test_dict_finds(void **state) {
  enum { KEYS = 300, STEPS = 20000 };
  static int64_t expected[KEYS]; /* of each key; -1: absent */
  bsm_dict *dict;
  size_t count = 0;
  uint32_t random = 1;
  ok(bsm_dict_new(*state, NULL, NULL, &dict));
  for (size_t i = 0; i < KEYS; i++) expected[i] = -1;
  for (int64_t step = 0; step < STEPS; step++) {
    random = random * 1664525 + 1013904223;
    const size_t k = (random >> 8) % KEYS;
    const bsm_ivalue key = k % 3 == 0   ? bsm_iv_int((int64_t)k)
                           : k % 3 == 1 ? bsm_iv_double((double)k / 2)
                                        : bsm_iv_bool(k % 2);
    const size_t same = k % 3 == 2 ? k % 2 ? 5 : 2 : k;
    const bsm_ivalue *found = bsm_dict_find(dict, key);
    assert_int_equal(found ? found->u.i : -1, expected[same]);
    if (random >> 28 < 9) {
      ok(bsm_dict_set(dict, key, bsm_iv_int(step)));
      count += expected[same] < 0;
      expected[same] = step;
    } else if (random >> 28 < 15) {
      assert_int_equal(bsm_dict_delete(dict, key), expected[same] >= 0);
      count -= expected[same] >= 0;
      expected[same] = -1;
    } else if (dict->len) {
      const int64_t last = dict->values[dict->len - 1].u.i;
      bsm_dict_truncate(dict, dict->len - 1);
      for (size_t i = 0; i < KEYS; i++) {
        if (expected[i] == last) expected[i] = -1;
      }
      count--;
    }
    assert_int_equal(dict->len, count);
  }
}

/* NaN is equal to nothing, so that each is a key of its own. In one place of
 * the index they would make the test run into the time limit of ctest. */
static void test_dict_of_keys_that_equal_nothing(void **state) {
  enum { KEYS = 200000 };
  const bsm_ivalue keys[] = {bsm_iv_double(NAN),
                             {BSM_IVALUE_COMPLEX, {.c = {0.0, NAN}}}};
  for (size_t k = 0; k < 2; k++) {
    bsm_dict *dict;
    ok(bsm_dict_new(*state, NULL, NULL, &dict));
    for (int i = 0; i < KEYS; i++) {
      ok(bsm_dict_set(dict, keys[k], bsm_iv_int(i)));
    }
    assert_int_equal(dict->len, KEYS);
    assert_null(bsm_dict_find(dict, keys[k]));
    ok(bsm_dict_set(dict, bsm_iv_int(7), bsm_iv_int(8)));
    bsm_dict_truncate(dict, dict->len / 2);
    assert_null(bsm_dict_find(dict, bsm_iv_int(7)));
    bsm_dict_truncate(dict, 0);
    ok(bsm_dict_set(dict, keys[k], bsm_iv_int(1)));
    assert_int_equal(dict->len, 1);
  }
}

/* Complex keys have an index, too, where zeros of either sign are equal. */
static void test_dict_of_complex_keys(void **state) {
  enum { KEYS = 100000 };
  bsm_dict *dict;
  ok(bsm_dict_new(*state, NULL, NULL, &dict));
  for (int i = 0; i < 2 * KEYS; i++) {
    const bsm_ivalue key = {BSM_IVALUE_COMPLEX,
                            {.c = {i % KEYS, i < KEYS ? 0.0 : -0.0}}};
    ok(bsm_dict_set(dict, key, bsm_iv_int(i)));
  }
  assert_int_equal(dict->len, KEYS);
  assert_int_equal(dict->values[5].u.i, KEYS + 5);
}

static void test_copies_are_apart(void **state) {
  bsm_list *a, *b, *c;
  ok(bsm_list_new(*state, NULL, 0, &a));
  for (int i = 0; i < 3; i++) ok(bsm_list_append(a, bsm_iv_int(i)));
  ok(bsm_list_copy(a, &b));
  ok(bsm_list_append(b, bsm_iv_int(10)));
  ok(bsm_list_copy(b, &c));
  ok(bsm_list_append(a, bsm_iv_int(20)));
  ok(bsm_list_append(c, bsm_iv_int(30)));
  ok(bsm_list_own(b));
  b->items[0] = bsm_iv_int(40);
  ok(bsm_list_append(b, bsm_iv_int(50)));
  const int64_t in_a[] = {0, 1, 2, 20}, in_b[] = {40, 1, 2, 10, 50},
                in_c[] = {0, 1, 2, 10, 30};
  assert_int_equal(a->len, 4);
  assert_int_equal(b->len, 5);
  assert_int_equal(c->len, 5);
  for (size_t i = 0; i < 4; i++) assert_int_equal(a->items[i].u.i, in_a[i]);
  for (size_t i = 0; i < 5; i++) assert_int_equal(b->items[i].u.i, in_b[i]);
  for (size_t i = 0; i < 5; i++) assert_int_equal(c->items[i].u.i, in_c[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_list_grows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_containers_of_values, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_any_inside, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_identity, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_parts_of_containers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_dict_keeps_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_equality, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_enum_equality, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cycles, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_dict_finds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_dict_of_keys_that_equal_nothing,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_dict_of_complex_keys, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_copies_are_apart, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
