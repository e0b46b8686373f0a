/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of a run made from values of every kind, and of kinds that the
 * engine's structure does not allow. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "engine/program.h"
#include "runtime/program/run_result.h"

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
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

/* ---- types ---- */

/* A type with one or two parts; NULL: none. */
static bsm_structure type(bsm_structure_kind kind, const bsm_structure *a,
                          const bsm_structure *b) {
  bsm_structure node;
  bsm_structure_init(&node, kind);
  node.info.key_kind = BSM_STRUCTURE_KEY_TYPE;
  node.info.child_count = b ? 2 : a ? 1 : 0;
  node.children = BSM_NEW_ARRAY(&arena, bsm_structure, 2);
  assert_non_null(node.children);
  if (a) node.children[0] = *a;
  if (b) node.children[1] = *b;
  return node;
}

static bsm_structure leaf(bsm_structure_kind kind) {
  return type(kind, NULL, NULL);
}

static bsm_structure list_of(bsm_structure item) {
  return type(BSM_STRUCTURE_LIST, &item, NULL);
}

static bsm_structure dict_of(bsm_structure key, bsm_structure value) {
  return type(BSM_STRUCTURE_DICT, &key, &value);
}

static bsm_structure optional(bsm_structure value) {
  return type(BSM_STRUCTURE_OPTIONAL, &value, NULL);
}

static bsm_structure tuple_of(bsm_structure a, bsm_structure b, bool named) {
  bsm_structure node =
      type(named ? BSM_STRUCTURE_NAMED_TUPLE : BSM_STRUCTURE_TUPLE, &a, &b);
  node.info.type_name = named ? "m.Pair" : "";
  for (size_t i = 0; i < 2; i++) {
    bsm_structure_info *info = &node.children[i].info;
    info->key_kind =
        named ? BSM_STRUCTURE_KEY_NAME : BSM_STRUCTURE_KEY_POSITION;
    info->int_key = (int64_t)i;
    info->key = i ? "right" : "left";
    info->key_length = strlen(info->key);
  }
  return node;
}

/* ---- values ---- */

static bsm_ivalue text(const char *of) {
  bsm_ivalue v;
  check_status(bsm_iv_string(&arena, bsm_str_of(of), &v));
  return v;
}

static bsm_ivalue list(const bsm_ivalue *items, size_t n) {
  bsm_list *l;
  check_status(bsm_list_new(&arena, NULL, n, &l));
  if (n) memcpy(l->items, items, n * sizeof(*items));
  return bsm_iv_list(l);
}

static bsm_ivalue tuple(bsm_ivalue a, bsm_ivalue b) {
  bsm_tuple *t;
  check_status(bsm_tuple_new(&arena, 2, &t));
  t->items[0] = a;
  t->items[1] = b;
  return bsm_iv_tuple(t);
}

static bsm_ivalue dict(const bsm_ivalue *pairs, size_t n) {
  bsm_dict *d;
  check_status(bsm_dict_new(&arena, NULL, NULL, &d));
  for (size_t i = 0; i < n; i++) {
    check_status(bsm_dict_set(d, pairs[2 * i], pairs[2 * i + 1]));
  }
  return bsm_iv_dict(d);
}

static bsm_ivalue tensor(bsm_dtype dtype, int64_t n, bool read_only) {
  bsm_tensor *t;
  check_status(bsm_tensor_new(&arena, dtype, (bsm_dims){1, {n}}, false, &t));
  t->storage->read_only = read_only;
  return bsm_iv_tensor(t);
}

/* ---- results ---- */

/* The result of a plan that is one value of that type. */
static bsm_status make(bsm_structure of, bsm_ivalue value,
                       bsm_run_result *out) {
  bsm_structure root;
  bsm_program_block block = {.result_count = 1};
  bsm_program program = {.blocks = &block, .block_count = 1};
  const bsm_plan plan = {.output_structure = &root, .program = &program};
  bsm_structure_init(&root, BSM_STRUCTURE_RUN_TIME);
  root.info.child_count = 1;
  root.info.path = "output_0";
  root.children = &of;
  check_status(bsm_structure_verify(&root, NULL, 0, 1, "output"));
  return bsm_run_result_make(&plan, NULL, &value, &arena, out);
}

static void is(bsm_structure of, bsm_ivalue value, const char *want) {
  bsm_run_result r;
  bsm_text got;
  check_status(make(of, value, &r));
  bsm_text_init(&got, &arena);
  bsm_structure_print(&got, r.structure);
  assert_string_equal(got.data, want);
}

static void refused(bsm_structure of, bsm_ivalue value, bsm_code code,
                    const char *message) {
  bsm_run_result r;
  bsm_status status = make(of, value, &r);
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void values_of_every_kind(void **state) {
  (void)state;
  const bsm_structure any = leaf(BSM_STRUCTURE_ANY);
  const bsm_structure number = leaf(BSM_STRUCTURE_INT);
  const bsm_ivalue one = bsm_iv_int(1), two = bsm_iv_int(2);
  const bsm_ivalue items[] = {one, two};
  is(number, one, "int -> 0 = 1");
  is(optional(number), one, "int -> 0 = 1");
  is(optional(optional(number)), bsm_iv_none(), "None");
  is(leaf(BSM_STRUCTURE_FLOAT), bsm_iv_double(2), "float -> 0 = 2.0");
  is(leaf(BSM_STRUCTURE_BOOL), bsm_iv_bool(true), "bool -> 0 = True");
  is(leaf(BSM_STRUCTURE_STRING), text("a\n"), "\"a\\n\"");
  is(leaf(BSM_STRUCTURE_TENSOR), tensor(BSM_DTYPE_FLOAT, 2, false),
     "Tensor -> 0");
  is(leaf(BSM_STRUCTURE_OTHER),
     (bsm_ivalue){.tag = BSM_IVALUE_DEVICE, .u.device = {0, -1}}, "cpu");
  is(leaf(BSM_STRUCTURE_OTHER),
     (bsm_ivalue){.tag = BSM_IVALUE_COMPLEX, .u.c = {1, 2}}, "Tensor -> 0");
  is(list_of(number), list(NULL, 0), "[]");
  is(list_of(list_of(number)), list((bsm_ivalue[]){list(NULL, 0)}, 1), "[[]]");
  is(list_of(number), list(items, 2), "[int -> 0 = 1, int -> 1 = 2]");
  is(dict_of(number, any), dict(NULL, 0), "{}");
  is(dict_of(number, leaf(BSM_STRUCTURE_STRING)),
     dict((bsm_ivalue[]){two, text("b")}, 1), "{2: \"b\"}");
  is(dict_of(leaf(BSM_STRUCTURE_FLOAT), number),
     dict((bsm_ivalue[]){bsm_iv_double(0.5), one}, 1), "{0.5: int -> 0 = 1}");
  is(dict_of(leaf(BSM_STRUCTURE_BOOL), number),
     dict((bsm_ivalue[]){bsm_iv_bool(false), one}, 1), "{False: int -> 0 = 1}");
  is(tuple_of(number, any, false), tuple(one, text("x")),
     "(int -> 0 = 1, \"x\")");
  is(tuple_of(number, optional(number), true), tuple(one, bsm_iv_none()),
     "Pair(left=int -> 0 = 1, right=None)");
  is(any, tuple(list(items, 1), dict((bsm_ivalue[]){text("k"), two}, 1)),
     "([int -> 0 = 1], {\"k\": int -> 1 = 2})");
}

static void names(void **state) {
  (void)state;
  const bsm_structure number = leaf(BSM_STRUCTURE_INT);
  const bsm_ivalue one = bsm_iv_int(1);
  /* "a\n" and "a\t" make the same name. */
  const bsm_ivalue pairs[] = {text("a\n"), one,      text("a\t"),
                              one,         text(""), one};
  bsm_run_result r;
  check_status(
      make(dict_of(leaf(BSM_STRUCTURE_STRING), number), dict(pairs, 3), &r));
  assert_int_equal(r.output_count, 3);
  assert_string_equal(r.names[0], "a_");
  assert_string_equal(r.names[1], "a__2");
  assert_string_equal(r.names[2], "_");
  assert_string_equal(r.structure->info.path, "");
  check_status(make(number, one, &r));
  assert_string_equal(r.names[0], "output_0");
  check_status(make(list_of(number), list(&one, 1), &r));
  assert_string_equal(r.names[0], "output_0");
  check_status(make(leaf(BSM_STRUCTURE_STRING), text("x"), &r));
  assert_int_equal(r.output_count, 0);
  assert_string_equal(r.structure->info.path, "");
}

static void memory(void **state) {
  (void)state;
  const bsm_structure t = leaf(BSM_STRUCTURE_TENSOR);
  bsm_run_result r;
  const bsm_ivalue own = tensor(BSM_DTYPE_FLOAT, 3, false);
  const bsm_ivalue borrowed = tensor(BSM_DTYPE_FLOAT, 3, true);
  check_status(make(t, own, &r));
  assert_ptr_equal(r.outputs[0].data, bsm_tensor_data(own.u.tensor));
  assert_int_equal(r.outputs[0].dims.d[0], 3);
  check_status(make(t, borrowed, &r));
  assert_ptr_not_equal(r.outputs[0].data, bsm_tensor_data(borrowed.u.tensor));
}

static void types_that_lie(void **state) {
  (void)state;
  const bsm_structure any = leaf(BSM_STRUCTURE_ANY);
  const bsm_structure number = leaf(BSM_STRUCTURE_INT);
  const bsm_ivalue one = bsm_iv_int(1);
  const bsm_structure types[] = {
      leaf(BSM_STRUCTURE_NONE),
      leaf(BSM_STRUCTURE_TENSOR),
      number,
      leaf(BSM_STRUCTURE_FLOAT),
      leaf(BSM_STRUCTURE_BOOL),
      leaf(BSM_STRUCTURE_STRING),
      leaf(BSM_STRUCTURE_OTHER),
      list_of(any),
      tuple_of(any, any, false),
      dict_of(any, any),
      tuple_of(any, any, true),
  };
  const bsm_ivalue values[] = {
      bsm_iv_none(),
      tensor(BSM_DTYPE_FLOAT, 1, false),
      one,
      bsm_iv_double(1),
      bsm_iv_bool(true),
      text("x"),
      (bsm_ivalue){.tag = BSM_IVALUE_COMPLEX},
      list(&one, 1),
      tuple(one, one),
      dict(NULL, 0),
  };
  enum { VALUES = sizeof(values) / sizeof(values[0]), PAIR = 10, TUPLE = 8 };
  for (size_t t = 0; t <= PAIR; t++) {
    for (size_t v = 0; v < VALUES; v++) {
      if (t == v || (t == PAIR && v == TUPLE)) {
        bsm_run_result r;
        check_status(make(types[t], values[v], &r));
        continue;
      }
      refused(types[t], values[v], BSM_CORRUPT, "structure says");
      refused(list_of(types[t]), list(&values[v], 1), BSM_CORRUPT,
              "structure says");
    }
  }
  bsm_tuple *three;
  check_status(bsm_tuple_new(&arena, 3, &three));
  refused(types[TUPLE], bsm_iv_tuple(three), BSM_CORRUPT, "structure says");
  refused(dict_of(number, any), dict((bsm_ivalue[]){text("k"), one}, 1),
          BSM_CORRUPT, "structure says");
  refused(any, tensor(BSM_DTYPE_QINT8, 1, false), BSM_UNSUPPORTED, "qint8");
  refused(any, (bsm_ivalue){.tag = BSM_IVALUE_CONTAINER}, BSM_UNSUPPORTED,
          "output_0");
}

static void deep_and_wide(void **state) {
  (void)state;
  const bsm_structure any = leaf(BSM_STRUCTURE_ANY);
  bsm_ivalue v = bsm_iv_int(1);
  for (int i = 0; i < BSM_STRUCTURE_MAX_DEPTH + 1; i++) v = list(&v, 1);
  refused(any, v, BSM_LIMIT, "deep");
  bsm_list *wide;
  check_status(bsm_list_new(&arena, NULL, ((size_t)1 << 22) + 1, &wide));
  refused(any, bsm_iv_list(wide), BSM_LIMIT, "more than");
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(values_of_every_kind), TEST(names),         TEST(memory),
      TEST(types_that_lie),       TEST(deep_and_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
