/* SPDX-License-Identifier: Apache-2.0 */
/* Structures: what goes through bytes comes back; damaged bytes give an error
 * or a tree that holds together, never anything else; trees that contradict
 * the bindings are refused. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "engine/structure.h"

static bsm_arena arena;

static int open_arena(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  return 0;
}

static int close_arena(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

static void check_status(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static bsm_structure *children_of(bsm_structure *node, size_t count) {
  node->info.child_count = count;
  node->children = BSM_NEW_ARRAY(&arena, bsm_structure, count + 1);
  for (size_t i = 0; i < count; i++) {
    bsm_structure_init(&node->children[i], BSM_STRUCTURE_NONE);
    node->children[i].info.is_fixed = true;
  }
  return node->children;
}

static bsm_structure_info *key(bsm_structure *node, bsm_structure_key kind,
                               const char *text, size_t length) {
  node->info.key_kind = kind;
  node->info.key = text;
  node->info.key_length = length;
  node->info.path = "path";
  return &node->info;
}

/* {"a": Tensor -> 1, 5: [int -> 0 = -3, "x\0y", None, 0.5, True, cpu,
 *  constant int64 [2, 3]], 0.25: Name(field=bool -> 2)} */
static bsm_structure *sample(void) {
  bsm_structure *root = BSM_NEW(&arena, bsm_structure);
  bsm_structure_init(root, BSM_STRUCTURE_DICT);
  bsm_structure *top = children_of(root, 3);
  bsm_structure_info *info = key(&top[0], BSM_STRUCTURE_KEY_STRING, "a", 1);
  info->kind = BSM_STRUCTURE_TENSOR;
  info->is_fixed = false;
  info->binding = 1;
  info = key(&top[1], BSM_STRUCTURE_KEY_INT, "5", 1);
  info->kind = BSM_STRUCTURE_LIST;
  info->is_fixed = false;
  info->int_key = 5;
  info = key(&top[2], BSM_STRUCTURE_KEY_FLOAT, "0.25", 4);
  info->kind = BSM_STRUCTURE_NAMED_TUPLE;
  info->is_fixed = false;
  info->float_key = 0.25;
  info->type_name = "module.Name";
  bsm_structure *list = children_of(&top[1], 7);
  static const char digits[] = "0123456";
  for (size_t i = 0; i < 7; i++) {
    key(&list[i], BSM_STRUCTURE_KEY_POSITION, digits + i, 1)->int_key =
        (int64_t)i;
  }
  list[0].info.kind = BSM_STRUCTURE_INT;
  list[0].info.int_value = -3;
  list[0].info.binding = 0;
  list[1].info.kind = BSM_STRUCTURE_STRING;
  list[1].info.string = "x\0y";
  list[1].info.string_length = 3;
  list[3].info.kind = BSM_STRUCTURE_FLOAT;
  list[3].info.float_value = 0.5;
  list[4].info.kind = BSM_STRUCTURE_BOOL;
  list[4].info.bool_value = true;
  list[5].info.kind = BSM_STRUCTURE_OTHER;
  list[5].info.string = "cpu";
  list[5].info.string_length = 3;
  list[6].info.kind = BSM_STRUCTURE_TENSOR;
  list[6].info.dtype = BSM_DTYPE_INT64;
  list[6].info.dims = (bsm_dims){2, {2, 3}};
  bsm_structure *field = children_of(&top[2], 1);
  info = key(&field[0], BSM_STRUCTURE_KEY_NAME, "field", 5);
  info->kind = BSM_STRUCTURE_BOOL;
  info->is_fixed = false;
  info->binding = 2;
  return root;
}

static bsm_str bytes_of(const bsm_structure *root) {
  bsm_text text;
  bsm_text_init(&text, &arena);
  check_status(bsm_structure_to_bytes(root, &text));
  return (bsm_str){text.data, text.len};
}

static const char *text_of(const bsm_structure *root) {
  bsm_text text;
  bsm_text_init(&text, &arena);
  bsm_structure_print(&text, root);
  return text.data;
}

static const int32_t ranks[] = {0, 4, 0};

static void bytes_and_copies(void **state) {
  (void)state;
  bsm_structure *root = sample(), *read, *copy;
  check_status(bsm_structure_verify(root, ranks, 3, 0, "output"));
  const bsm_str bytes = bytes_of(root);
  check_status(bsm_structure_from_bytes(bytes, &arena, &read));
  check_status(bsm_structure_verify(read, ranks, 3, 0, "output"));
  check_status(bsm_structure_copy(&arena, read, &copy));
  const bsm_str again = bytes_of(copy);
  assert_int_equal(again.len, bytes.len);
  assert_memory_equal(again.data, bytes.data, bytes.len);
  assert_string_equal(
      text_of(copy),
      "{\"a\": Tensor -> 1, 5: [int -> 0 = -3, \"x\\000y\", None, 0.5, True, "
      "cpu, constant int64 [2, 3]], 0.25: Name(field=bool -> 2)}");
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  assert_null(bsm_structure_describe(bsm_structure_find(copy, "5.1"), &info));
  assert_int_equal(info.string_length, 3);
  assert_memory_equal(info.string, "x\0y", 3);
  assert_null(
      bsm_structure_describe(bsm_structure_find(copy, "0.25.field"), &info));
  assert_int_equal(info.binding, 2);
  assert_null(bsm_structure_find(copy, "0.25.field.x"));
  assert_null(bsm_structure_find(copy, "5.9"));
}

/* Either refused, or a tree that can be printed and written again. */
static void check_hostile(bsm_str bytes) {
  bsm_arena own;
  bsm_arena_init(&own, NULL);
  bsm_structure *read;
  bsm_text text;
  bsm_text_init(&text, &own);
  bsm_status status = bsm_structure_from_bytes(bytes, &own, &read);
  if (!status) {
    bsm_structure_print(&text, read);
    status = bsm_structure_verify(read, ranks, 3, 0, "input");
    assert_true(bsm_status_code(status) != BSM_INTERNAL);
    bsm_status_free(status);
    status = bsm_structure_to_bytes(read, &text);
    assert_null(status);
  } else {
    assert_true(bsm_status_code(status) == BSM_CORRUPT);
  }
  bsm_status_free(status);
  bsm_arena_destroy(&own);
}

static void damaged_bytes(void **state) {
  (void)state;
  const bsm_str bytes = bytes_of(sample());
  for (size_t i = 0; i < bytes.len; i++) {
    bsm_structure *read;
    char *cut = bsm_arena_strndup(&arena, bytes.data, i);
    bsm_status status =
        bsm_structure_from_bytes((bsm_str){cut, i}, &arena, &read);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
  }
  static const unsigned char values[] = {0, 1, 2, 3, 12, 0x7f, 0x80, 0xff};
  char *copy = bsm_arena_alloc(&arena, bytes.len, 1);
  for (size_t i = 0; i < bytes.len; i++) {
    for (size_t k = 0; k < sizeof(values); k++) {
      memcpy(copy, bytes.data, bytes.len);
      copy[i] = (char)values[k];
      check_hostile((bsm_str){copy, bytes.len});
    }
  }
}

static void deep_and_wide(void **state) {
  (void)state;
  bsm_structure *root = BSM_NEW(&arena, bsm_structure), *node = root, *read;
  bsm_structure_init(root, BSM_STRUCTURE_LIST);
  for (int i = 0; i < BSM_STRUCTURE_MAX_DEPTH + 1; i++) {
    bsm_structure *child = children_of(node, 1);
    key(child, BSM_STRUCTURE_KEY_POSITION, "0", 1);
    child->info.kind = BSM_STRUCTURE_LIST;
    child->info.is_fixed = false;
    node = child;
  }
  bsm_text text;
  bsm_text_init(&text, &arena);
  bsm_status status = bsm_structure_to_bytes(root, &text);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  status = bsm_structure_verify(root, NULL, 0, 0, "input");
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  status = bsm_structure_copy(&arena, root, &read);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
  /* A count of children that the bytes cannot hold. */
  bsm_structure_init(root, BSM_STRUCTURE_LIST);
  const bsm_str bytes = bytes_of(root);
  char *copy = bsm_arena_strndup(&arena, bytes.data, bytes.len);
  memset(copy + 4, 0xff, 4);
  status = bsm_structure_from_bytes((bsm_str){copy, bytes.len}, &arena, &read);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  assert_non_null(strstr(bsm_status_message(status), "do not fit"));
  bsm_status_free(status);
}

static void refused(const bsm_structure *root, const int32_t *given,
                    size_t count, const char *message) {
  bsm_status status = bsm_structure_verify(root, given, count, 0, "output");
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void contradictions(void **state) {
  (void)state;
  static const int32_t not_numbers[] = {1, 4, 0};
  refused(sample(), ranks, 2, "which is not there");
  refused(sample(), not_numbers, 3, "which is no number");
  const int32_t four[] = {0, 4, 0, 1};
  refused(sample(), four, 4, "lacks output 3");
  bsm_structure *root = sample();
  root->children[0].info.binding = 0;
  refused(root, ranks, 3, "which is named twice");
  root = sample();
  root->children[0].info.key_kind = BSM_STRUCTURE_KEY_POSITION;
  refused(root, ranks, 3, "key kind");
  root = sample();
  root->children[1].children[2].info.int_key = 3;
  refused(root, ranks, 3, "key kind");
  root = sample();
  root->children[1].children[1].info.binding = 0;
  refused(root, ranks, 3, "is no tensor but has a binding");
  root = sample();
  root->children[1].info.binding = 0;
  refused(root, ranks, 3, "is a container with a binding");
  root = sample();
  root->children[0].info.binding = BSM_NO_BINDING;
  refused(root, ranks, 3, "neither value nor binding");
  root = sample();
  children_of(&root->children[0], 1);
  refused(root, ranks, 3, "is no container");
}

/* ---- what only a run tells ---- */

static bsm_structure *type_of(bsm_structure *node, size_t i,
                              bsm_structure_kind kind) {
  bsm_structure *child = &node->children[i];
  key(child, BSM_STRUCTURE_KEY_TYPE, "", 0)->kind = kind;
  child->info.is_fixed = false;
  return child;
}

/* (Tensor, Dict[int, Optional[List[Pair]]], Any) */
static bsm_structure *run_time_sample(void) {
  bsm_structure *root = BSM_NEW(&arena, bsm_structure);
  bsm_structure_init(root, BSM_STRUCTURE_TUPLE);
  bsm_structure *top = children_of(root, 3);
  static const char digits[] = "012";
  for (size_t i = 0; i < 3; i++) {
    bsm_structure_info *info =
        key(&top[i], BSM_STRUCTURE_KEY_POSITION, digits + i, 1);
    info->int_key = (int64_t)i;
    info->is_fixed = false;
    info->kind = BSM_STRUCTURE_RUN_TIME;
  }
  top[0].info.kind = BSM_STRUCTURE_TENSOR;
  top[0].info.binding = 0;
  children_of(&top[1], 1);
  bsm_structure *dict = type_of(&top[1], 0, BSM_STRUCTURE_DICT);
  children_of(dict, 2);
  type_of(dict, 0, BSM_STRUCTURE_INT);
  bsm_structure *maybe = type_of(dict, 1, BSM_STRUCTURE_OPTIONAL);
  children_of(maybe, 1);
  bsm_structure *list = type_of(maybe, 0, BSM_STRUCTURE_LIST);
  children_of(list, 1);
  bsm_structure *pair = type_of(list, 0, BSM_STRUCTURE_NAMED_TUPLE);
  pair->info.type_name = "module.Pair";
  bsm_structure_info *field =
      key(children_of(pair, 1), BSM_STRUCTURE_KEY_NAME, "left", 4);
  field->kind = BSM_STRUCTURE_TENSOR;
  field->is_fixed = false;
  children_of(&top[2], 1);
  type_of(&top[2], 0, BSM_STRUCTURE_ANY);
  return root;
}

static void run_time_values(void **state) {
  (void)state;
  bsm_structure *root = run_time_sample(), *read, *copy;
  check_status(bsm_structure_verify(root, ranks, 1, 2, "output"));
  const bsm_str bytes = bytes_of(root);
  check_status(bsm_structure_from_bytes(bytes, &arena, &read));
  check_status(bsm_structure_copy(&arena, read, &copy));
  check_status(bsm_structure_verify(copy, ranks, 1, 2, "output"));
  assert_string_equal(
      text_of(copy),
      "(Tensor -> 0, Dict[int, Optional[List[Pair]]] -> ?, Any -> ?)");
  assert_string_equal(text_of(&copy->children[1].children[0].children[1]),
                      "Optional[List[Pair]]");
  static const unsigned char values[] = {0, 1, 2, 7, 8, 13, 14, 15, 16, 0xff};
  char *hostile = bsm_arena_alloc(&arena, bytes.len, 1);
  for (size_t i = 0; i < bytes.len; i++) {
    for (size_t k = 0; k < sizeof(values); k++) {
      memcpy(hostile, bytes.data, bytes.len);
      hostile[i] = (char)values[k];
      check_hostile((bsm_str){hostile, bytes.len});
    }
  }
}

static void refused_type(const bsm_structure *root, size_t values,
                         const char *message) {
  bsm_status status = bsm_structure_verify(root, ranks, 1, values, "output");
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void wrong_types(void **state) {
  (void)state;
  refused_type(run_time_sample(), 1, "leaves 2 values to the run");
  refused_type(run_time_sample(), 3, "leaves 2 values to the run");
  bsm_structure *root = run_time_sample();
  root->children[1].info.child_count = 0;
  refused_type(root, 2, "without a type");
  root = run_time_sample();
  root->children[1].info.binding = 0;
  refused_type(root, 2, "without a type");
  root = run_time_sample();
  bsm_structure *dict = root->children[1].children;
  dict->info.child_count = 1;
  refused_type(root, 2, "no proper type");
  dict->info.child_count = 2;
  dict->children[0].info.kind = BSM_STRUCTURE_OBJECT;
  refused_type(root, 2, "no proper type");
  dict->children[0].info.kind = BSM_STRUCTURE_RUN_TIME;
  refused_type(root, 2, "no proper type");
  dict->children[0].info.kind = BSM_STRUCTURE_INT;
  dict->children[0].info.is_fixed = true;
  refused_type(root, 2, "no proper type");
  dict->children[0].info.is_fixed = false;
  dict->children[0].info.key_kind = BSM_STRUCTURE_KEY_INT;
  refused_type(root, 2, "in a type");
  root = run_time_sample();
  root->children[0].info.kind = BSM_STRUCTURE_ANY;
  refused_type(root, 2, "is a type, not a value");
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(bytes_and_copies), TEST(damaged_bytes),   TEST(deep_and_wide),
      TEST(contradictions),   TEST(run_time_values), TEST(wrong_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
