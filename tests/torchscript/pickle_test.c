/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle machine: what it builds, and what it refuses. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>

#include "ir/graph.h"
#include "tests/base/test_allocator.h"
#include "torchscript/pickle.h"

/* ---- a small archive around the machine ---- */

typedef struct world {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_pickle_hooks hooks;
  bsm_limits limits;
  float weights[16];
  int storages_read, states_set;
} world;

static bsm_status read_storage(void *user, bsm_str key, bsm_dtype dtype,
                               int64_t numel, bsm_storage **out) {
  world *w = user;
  (void)dtype;
  w->storages_read++;
  *out = BSM_NEW(&w->arena, bsm_storage);
  BSM_TRY_ALLOC(*out);
  if (numel == 0) return BSM_OK;
  if (!bsm_str_eq(key, BSM_STR("w"))) {
    return BSM_FAIL(BSM_CORRUPT, "no member %.*s", (int)key.len, key.data);
  }
  (*out)->data = w->weights;
  (*out)->size = sizeof w->weights;
  return BSM_OK;
}

static bsm_status add_attribute(world *w, const bsm_type *type,
                                const char *name, const bsm_type *of) {
  const bsm_attribute attribute = {name, of};
  return bsm_vec_push(&w->arena, &type->cls->attributes, attribute)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

static bsm_status add_method(world *w, const bsm_type *type, const char *name) {
  bsm_function *method = BSM_NEW(&w->arena, bsm_function);
  BSM_TRY_ALLOC(method);
  method->name = method->qualified = name;
  return bsm_vec_push(&w->arena, &type->cls->methods, method) ? BSM_OK
                                                              : BSM_FAIL_OOM();
}

/* M: a Tensor "w" and a bool "t". E: an enum. S: has __setstate__. */
static bsm_status find_class(void *user, bsm_str name, const bsm_type **out) {
  world *w = user;
  bsm_type_table *types = w->cx->types;
  const char *text = bsm_arena_strndup(&w->arena, name.data, name.len);
  BSM_TRY_ALLOC(text);
  if (strcmp(text, "__torch__.M") != 0 && strcmp(text, "__torch__.E") != 0 &&
      strcmp(text, "__torch__.S") != 0) {
    return BSM_FAIL(BSM_NOT_FOUND, "no class %s", text);
  }
  *out = bsm_type_class(types, text);
  BSM_TRY_ALLOC(*out);
  bsm_class *cls = (*out)->cls;
  if (cls->attributes.len || cls->constants.len) return BSM_OK;
  const bsm_type *tensor = bsm_type_simple(types, BSM_TYPE_TENSOR);
  const bsm_type *boolean = bsm_type_simple(types, BSM_TYPE_BOOL);
  if (text[10] == 'E') {
    cls->is_enum = true;
    const bsm_class_constant red = {"RED", bsm_iv_int(1)};
    const bsm_class_constant green = {"GREEN", bsm_iv_int(2)};
    return bsm_vec_push(&w->arena, &cls->constants, red) &&
                   bsm_vec_push(&w->arena, &cls->constants, green)
               ? BSM_OK
               : BSM_FAIL_OOM();
  }
  if (text[10] == 'S') {
    BSM_TRY(add_method(w, *out, "__getstate__"));
    BSM_TRY(add_method(w, *out, "__setstate__"));
    return add_attribute(w, *out, "t", boolean);
  }
  BSM_TRY(add_attribute(w, *out, "w", tensor));
  return add_attribute(w, *out, "t", boolean);
}

/* A few texts are enough here; the real parser has its own tests. */
static bsm_status parse_type(void *user, bsm_str text, const bsm_type **out) {
  world *w = user;
  bsm_type_table *types = w->cx->types;
  const bsm_type *string = bsm_type_simple(types, BSM_TYPE_STRING);
  const bsm_type *integer = bsm_type_simple(types, BSM_TYPE_INT);
  const bsm_type *any = bsm_type_simple(types, BSM_TYPE_ANY);
  if (bsm_str_eq(text, BSM_STR("List[str]"))) {
    *out = bsm_type_list(types, string);
  } else if (bsm_str_eq(text, BSM_STR("List[Any]"))) {
    *out = bsm_type_list(types, any);
  } else if (bsm_str_eq(text, BSM_STR("List[Pair]"))) {
    const char *const names[] = {"x", "y"};
    const bsm_type *const args[] = {integer, bsm_type_optional(types, string)};
    *out = bsm_type_list(
        types, bsm_type_named_tuple(types, "__torch__.Pair", names, args, 2));
  } else if (bsm_str_eq(text, BSM_STR("List[Union[int, List[str]]]"))) {
    const bsm_type *const args[] = {integer, bsm_type_list(types, string)};
    *out = bsm_type_list(types, bsm_type_union(types, args, 2));
  } else if (bsm_str_eq(text, BSM_STR("Dict[str, int]"))) {
    *out = bsm_type_dict(types, string, integer);
  } else if (bsm_str_eq(text, BSM_STR("Dict[str, List[int]]"))) {
    *out = bsm_type_dict(types, string, bsm_type_list(types, integer));
  } else {
    return BSM_FAIL(BSM_CORRUPT, "no type");
  }
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bsm_status set_state(void *user, bsm_object *object, bsm_ivalue state) {
  world *w = user;
  w->states_set++;
  if (state.tag == BSM_IVALUE_BOOL) object->slots[0] = state;
  return BSM_OK;
}

static bsm_status world_init(world *w, const bsm_allocator *allocator) {
  *w = (world){
      .hooks = {w, read_storage, find_class, set_state, parse_type, false}};
  for (int i = 0; i < 16; i++) w->weights[i] = (float)i;
  bsm_arena_init(&w->arena, allocator);
  return bsm_ir_ctx_create(&w->arena, NULL, NULL, &w->cx);
}

static void begin(world *w) {
  const bsm_status status = world_init(w, NULL);
  assert_null(status);
}

static void end(world *w) {
  bsm_arena_destroy(&w->arena);
}

/* Runs a pickle from memory of exactly its size. */
static bsm_status run(world *w, const void *bytes, size_t size,
                      bsm_ivalue *out) {
  char *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  if (size) memcpy(copy, bytes, size);
  const bsm_status status =
      bsm_unpickle(&w->arena, w->cx->types, (bsm_str){copy, size}, "test.pkl",
                   &w->limits, &w->hooks, out);
  free(copy);
  return status;
}

#define P "\x80\x02" /* every pickle starts like this */
#define TENSOR_FN "ctorch._utils\n_rebuild_tensor_v2\n"
#define HOOKS "ccollections\nOrderedDict\n)R"
#define STORAGE \
  "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0wX\3\0\0\0cpuK\20tQ"
#define TAG(text) "ctorch.jit._pickle\n" text "\n"
#define KEY(c) "X\1\0\0\0" c

#define OK(w, bytes, out) expect_ok(w, bytes, sizeof(bytes) - 1, out)
static void expect_ok(world *w, const char *bytes, size_t size,
                      bsm_ivalue *out) {
  const bsm_status status = run(w, bytes, size, out);
  if (status) fail_msg("%s", bsm_status_message(status));
}

#define FAILS(w, bytes, code, text) \
  expect_failure(w, bytes, sizeof(bytes) - 1, code, text)
static void expect_failure(world *w, const char *bytes, size_t size,
                           bsm_code code, const char *text) {
  bsm_ivalue value;
  const bsm_status status = run(w, bytes, size, &value);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s, expected %s with \"%s\"",
             bsm_code_name(bsm_status_code(status)), bsm_status_message(status),
             bsm_code_name(code), text);
  }
  bsm_status_free(status);
}

/* ---- what it builds ---- */

static void builds_scalars(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P
     "(K\xffM\x2c\x01J\xff\xff\xff\xff\x8a\x08\0\0\0\0\0\1\0\0"
     "G\x3f\xf8\0\0\0\0\0\0X\3\0\0\0a\0bN\x88\x89t.",
     &v);
  assert_int_equal(v.tag, BSM_IVALUE_TUPLE);
  assert_int_equal(v.u.tuple->len, 9);
  const bsm_ivalue *item = v.u.tuple->items;
  assert_int_equal(item[0].u.i, 255);
  assert_int_equal(item[1].u.i, 300);
  assert_int_equal(item[2].u.i, -1);
  assert_true(item[3].u.i == (int64_t)1 << 40);
  assert_true(item[4].tag == BSM_IVALUE_DOUBLE && item[4].u.d == 1.5);
  assert_true(bsm_str_eq(*item[5].u.s, (bsm_str){"a\0b", 3}));
  assert_int_equal(item[6].tag, BSM_IVALUE_NONE);
  assert_true(item[7].tag == BSM_IVALUE_BOOL && item[7].u.b);
  assert_true(item[8].tag == BSM_IVALUE_BOOL && !item[8].u.b);
  end(&w);
}

static void builds_tuples_lists_and_dicts(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P
     "()K\1\x85K\1K\2\x86K\1K\2K\3\x87](K\1K\2e(K\5l}(K\1K\2K\3K\4u"
     "(K\7K\10dt.",
     &v);
  const bsm_ivalue *item = v.u.tuple->items;
  assert_int_equal(v.u.tuple->len, 8);
  for (size_t i = 0; i < 4; i++) assert_int_equal(item[i].u.tuple->len, i);
  assert_int_equal(item[4].u.list->len, 2);
  assert_int_equal(item[4].u.list->items[1].u.i, 2);
  assert_null(item[4].u.list->elem_type);
  assert_int_equal(item[5].u.list->items[0].u.i, 5);
  assert_int_equal(item[6].u.dict->len, 2);
  assert_int_equal(item[6].u.dict->keys[1].u.i, 3);
  assert_int_equal(item[7].u.dict->values[0].u.i, 8);
  end(&w);
}

/* What Python's own pickler writes for one item, and for integers. */
static void builds_what_python_writes(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P
     "(]K\1aK\2a}K\3K\4sK\5K\6s"
     "\x8a\0\x8a\1\xff\x8a\2\0\x80\x8a\5\0\0\0\0\1t.",
     &v);
  const bsm_ivalue *item = v.u.tuple->items;
  assert_int_equal(v.u.tuple->len, 6);
  assert_int_equal(item[0].u.list->len, 2);
  assert_int_equal(item[0].u.list->items[1].u.i, 2);
  assert_int_equal(item[1].u.dict->len, 2);
  assert_int_equal(item[1].u.dict->keys[1].u.i, 5);
  assert_int_equal(item[1].u.dict->values[0].u.i, 4);
  assert_int_equal(item[2].u.i, 0);
  assert_int_equal(item[3].u.i, -1);
  assert_int_equal(item[4].u.i, -32768);
  assert_true(item[5].u.i == (int64_t)1 << 32);
  /* The attributes of an OrderedDict do not count. */
  OK(&w,
     P "ccollections\nOrderedDict\n)R" KEY("a") "K\1s}" "X\11\0\0\0_metadata" "}sb.",
     &v);
  assert_int_equal(v.tag, BSM_IVALUE_DICT);
  assert_int_equal(v.u.dict->len, 1);
  FAILS(&w, P "}K\1b.", BSM_CORRUPT, "sets the state of Dict");
  FAILS(&w, P "]a.", BSM_CORRUPT, "needs 2");
  FAILS(&w, P "}K\1s.", BSM_CORRUPT, "needs 3");
  FAILS(&w, P "K\1K\1a.", BSM_CORRUPT, "appends to");
  FAILS(&w, P "]K\1K\1s.", BSM_CORRUPT, "sets items of");
  FAILS(&w, P "]q\0h\0a.", BSM_CORRUPT, "");
  end(&w);
}

/* Tensors with attributes of Python's, as torch.save writes them. */
static void builds_tensors_with_attributes(void **state) {
  (void)state;
#define ARGS "(" STORAGE "K\1(K\2t(K\1t\x89" HOOKS "t"
#define FROM_TYPE "ctorch._tensor\n_rebuild_from_type_v2\n"
#define WITH_STATE "ctorch._utils\n_rebuild_parameter_with_state\n"
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w, P FROM_TYPE "(" TENSOR_FN "ctorch\nTensor\n" ARGS "}" KEY("a") "]stR.",
     &v);
  assert_int_equal(v.tag, BSM_IVALUE_TENSOR);
  assert_true(bsm_tensor_get_double(v.u.tensor, 1) == 2);
  OK(&w, P WITH_STATE "(" TENSOR_FN ARGS "R\x88" HOOKS "}tR.", &v);
  assert_int_equal(v.tag, BSM_IVALUE_TENSOR);
  OK(&w,
     P FROM_TYPE "(" TENSOR_FN "ctorch.nn.parameter\nParameter\n" ARGS "NtR.",
     &v);
  assert_int_equal(v.tag, BSM_IVALUE_TENSOR);
  FAILS(&w, P FROM_TYPE "(" TENSOR_FN "ctorch\nMyTensor\n" ARGS "}tR.",
        BSM_CORRUPT, "torch.MyTensor");
  FAILS(&w, P FROM_TYPE "(" TENSOR_FN TENSOR_FN ARGS "}tR.", BSM_CORRUPT,
        "a tensor made from");
  FAILS(&w, P FROM_TYPE "(" FROM_TYPE "ctorch\nTensor\n" ARGS "}tR.",
        BSM_CORRUPT, "a tensor made from");
  FAILS(&w, P FROM_TYPE "(ccollections\nOrderedDict\nctorch\nTensor\n)}tR.",
        BSM_CORRUPT, "a tensor that is");
  FAILS(&w, P FROM_TYPE "(" TENSOR_FN "ctorch\nTensor\n]}tR.", BSM_CORRUPT,
        "with");
  FAILS(&w, P "ctorch\nTensor\n.", BSM_CORRUPT, "a class of tensors");
  FAILS(&w, P "ctorch\nTensor\n)R.", BSM_CORRUPT, "calls a class of tensors");
#undef ARGS
#undef FROM_TYPE
#undef WITH_STATE
  end(&w);
}

static void builds_devices_complex_numbers_and_enums(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P
     "(ctorch\ndevice\nX\6\0\0\0cuda:1\x85R"
     "cbuiltins\ncomplex\nG\x3f\xf0\0\0\0\0\0\0G\xbf\xf0\0\0\0\0\0\0\x86R"
     "c__torch__\nE\nK\2Rt.",
     &v);
  const bsm_ivalue *item = v.u.tuple->items;
  assert_int_equal(item[0].tag, BSM_IVALUE_DEVICE);
  assert_int_equal(item[0].u.device.type, 1);
  assert_int_equal(item[0].u.device.index, 1);
  assert_int_equal(item[1].tag, BSM_IVALUE_COMPLEX);
  assert_true(item[1].u.c.re == 1 && item[1].u.c.im == -1);
  assert_int_equal(item[2].tag, BSM_IVALUE_ENUM);
  assert_true(bsm_str_eq(*item[2].u.object->slots[0].u.s, BSM_STR("GREEN")));
  assert_int_equal(item[2].u.object->slots[1].u.i, 2);
  FAILS(&w, P "c__torch__\nE\nK\3R.", BSM_CORRUPT, "no item");
  FAILS(&w, P "ctorch\ndevice\nX\5\0\0\0cpu:x\x85R.", BSM_CORRUPT, "device");
  FAILS(&w, P "ctorch\ndevice\nX\0\0\0\0\x85R.", BSM_CORRUPT, "device");
  FAILS(&w, P "ctorch\ndevice\nK\1\x85R.", BSM_CORRUPT, "device");
  FAILS(&w, P "cbuiltins\ncomplex\nK\1K\1\x86R.", BSM_CORRUPT, "complex");
  end(&w);
}

static void gives_lists_and_dicts_their_types(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P "(" TAG("build_intlist") "](K\1e\x85R" TAG("restore_type_tag")
         "}(" KEY("a") "K\1uX\16\0\0\0Dict[str, int]\x86R" TAG(
             "restore_type_tag") "](" KEY("a") "eX\11\0\0\0List[str]\x86Rt.",
     &v);
  const bsm_ivalue *item = v.u.tuple->items;
  bsm_type_table *types = w.cx->types;
  assert_ptr_equal(item[0].u.list->elem_type,
                   bsm_type_simple(types, BSM_TYPE_INT));
  assert_ptr_equal(item[1].u.dict->key_type,
                   bsm_type_simple(types, BSM_TYPE_STRING));
  assert_ptr_equal(item[1].u.dict->value_type,
                   bsm_type_simple(types, BSM_TYPE_INT));
  assert_ptr_equal(item[2].u.list->elem_type,
                   bsm_type_simple(types, BSM_TYPE_STRING));
  /* Inner containers get theirs from the tag of the outer one. */
  OK(&w,
     P TAG("restore_type_tag") "}(" KEY("a") "](K\1euX\24\0\0\0Dict[str, "
                                             "List[int]]\x86R.",
     &v);
  assert_ptr_equal(v.u.dict->values[0].u.list->elem_type,
                   bsm_type_simple(types, BSM_TYPE_INT));
  FAILS(&w, P TAG("build_intlist") "](\x88" "e\x85R.", BSM_CORRUPT, "int");
  FAILS(&w, P TAG("build_doublelist") "](K\1e\x85R.", BSM_CORRUPT, "float");
  FAILS(&w, P TAG("build_boollist") "](K\1e\x85R.", BSM_CORRUPT, "bool");
  FAILS(&w, P TAG("build_tensorlist") "](K\1e\x85R.", BSM_CORRUPT, "Tensor");
  FAILS(&w, P TAG("build_intlist") "K\1\x85R.", BSM_CORRUPT, "int");
  FAILS(&w, P TAG("build_intlist") "]]\x86R.", BSM_CORRUPT, "2 arguments");
  FAILS(&w, P TAG("restore_type_tag") "]X\1\0\0\0x\x86R.", BSM_CORRUPT,
        "no type");
  FAILS(&w, P TAG("restore_type_tag") "K\1X\11\0\0\0List[str]\x86R.",
        BSM_CORRUPT, "restore_type_tag");
  FAILS(&w, P TAG("restore_type_tag") "}X\11\0\0\0List[str]\x86R.", BSM_CORRUPT,
        "List");
  /* One list cannot be of two types. */
  FAILS(&w,
        P
        "(" TAG("build_intlist") "]q\0\x85R" TAG("build_boollist") "h\0\x85Rt.",
        BSM_CORRUPT, "List");
  end(&w);
}

static void named_tuples_get_their_name(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
#define PAIRS(items) \
  P TAG("restore_type_tag") "](" items "eX\12\0\0\0List[Pair]\x86R."
  OK(&w,
     PAIRS("K\1N\x86"
           "K\2" KEY("a") "\x86"),
     &v);
  assert_int_equal(v.u.list->len, 2);
  for (size_t i = 0; i < 2; i++) {
    const bsm_tuple *pair = v.u.list->items[i].u.tuple;
    assert_ptr_equal(pair->type, v.u.list->elem_type);
    assert_string_equal(pair->type->name, "__torch__.Pair");
  }
  FAILS(&w, PAIRS("K\1\x85"), BSM_CORRUPT, "Tuple where");
  FAILS(&w, PAIRS("K\1K\2\x86"), BSM_CORRUPT, "int where str");
  FAILS(&w, PAIRS("NN\x86"), BSM_CORRUPT, "int");
#undef PAIRS
#define UNIONS(items)                  \
  P TAG("restore_type_tag") "](" items \
                            "eX\33\0\0\0List[Union[int, List[str]]]\x86R."
  OK(&w, UNIONS("K\1](" KEY("a") "e"), &v);
  assert_ptr_equal(v.u.list->items[1].u.list->elem_type,
                   bsm_type_simple(w.cx->types, BSM_TYPE_STRING));
  FAILS(&w, UNIONS("N"), BSM_CORRUPT, "None where");
  FAILS(&w, UNIONS("](K\1e"), BSM_CORRUPT, "List where");
#undef UNIONS
  end(&w);
}

static void builds_tensors_that_share(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P "(" TENSOR_FN "q\0(" STORAGE "q\1K\0(K\4K\4t(K\4K\1t\x89" HOOKS
       "tR"
       "h\0(h\1K\2(K\2K\3t(K\1K\4t\x88" HOOKS
       "tR"
       "h\0(h\1K\17)"
       ")\x89" HOOKS
       "}tR"
       "t.",
     &v);
  assert_int_equal(w.storages_read, 1);
  const bsm_tensor *a = v.u.tuple->items[0].u.tensor;
  const bsm_tensor *b = v.u.tuple->items[1].u.tensor;
  assert_ptr_equal(a->storage, b->storage);
  assert_int_equal(a->dtype, BSM_DTYPE_FLOAT);
  assert_true(bsm_tensor_is_contiguous(a));
  assert_true(bsm_tensor_get_double(a, 15) == 15);
  assert_int_equal(b->sizes.rank, 2);
  assert_true(bsm_tensor_get_double(b, 1) == 6);
  assert_true(bsm_tensor_get_double(b, 5) == 11);
  end(&w);
}

/* A storage is asked for once also when it has several persistent ids. */
static void storages_are_known_by_key(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P "(" TENSOR_FN "(" STORAGE "K\0(K\4t(K\1t\x89" HOOKS "tR" TENSOR_FN
       "((X\7\0\0\0storagectorch\nByteStorage\nX\1\0\0\0wX\3\0\0\0cpuK\20NtQ"
       "K\0(K\4t(K\1t\x89" HOOKS "tRt.",
     &v);
  assert_int_equal(w.storages_read, 1);
  const bsm_tensor *bytes = v.u.tuple->items[1].u.tensor;
  assert_ptr_equal(v.u.tuple->items[0].u.tensor->storage, bytes->storage);
  assert_int_equal(bytes->dtype, BSM_DTYPE_UINT8);
  /* 16 doubles do not fit into the bytes of 16 floats. */
  FAILS(&w,
        P "(" TENSOR_FN "(" STORAGE "K\0(K\4t(K\1t\x89" HOOKS "tR" TENSOR_FN
          "((X\7\0\0\0storagectorch\nDoubleStorage\nX\1\0\0\0wX\3\0\0\0cpuK\20"
          "tQK\0(K\4t(K\1t\x89" HOOKS "tRt.",
        BSM_CORRUPT, "need 128");
  end(&w);
}

#define STATE                         \
  "}(" KEY("w") TENSOR_FN "(" STORAGE \
                          "K\0)"      \
                          ")\x89" HOOKS "tR"
#define OBJECT "c__torch__\nM\n)\x81"

static void builds_objects_by_slot(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w, P OBJECT STATE KEY("t") "\x88ub.", &v);
  assert_int_equal(v.tag, BSM_IVALUE_OBJECT);
  assert_string_equal(v.u.object->type->name, "__torch__.M");
  assert_int_equal(v.u.object->slots[0].tag, BSM_IVALUE_TENSOR);
  assert_true(v.u.object->slots[1].u.b);
  /* In another order too. */
  OK(&w,
     P OBJECT "}(" KEY("t") "\x89" KEY("w") TENSOR_FN "(" STORAGE
                                                      "K\0)"
                                                      ")\x89" HOOKS "tRub.",
     &v);
  assert_int_equal(v.u.object->slots[0].tag, BSM_IVALUE_TENSOR);
  assert_false(v.u.object->slots[1].u.b);
  FAILS(&w, P OBJECT STATE "ub.", BSM_CORRUPT,
        "\"t\" of class __torch__.M is "
        "missing");
  FAILS(&w, P OBJECT STATE KEY("t") "\x88" KEY("x") "\x88ub.", BSM_CORRUPT,
        "no attribute \"x\"");
  FAILS(&w, P OBJECT STATE KEY("t") "K\1ub.", BSM_CORRUPT,
        "attribute \"t\" of class __torch__.M");
  FAILS(&w, P OBJECT "K\1b.", BSM_CORRUPT, "state");
  FAILS(&w, P OBJECT "}(K\1K\1ub.", BSM_CORRUPT, "no attributes");
  FAILS(&w, P OBJECT ".", BSM_CORRUPT, "without state");
  FAILS(&w, P "c__torch__\nM\nK\1\x85\x81.", BSM_CORRUPT, "arguments");
  FAILS(&w, P "c__torch__\nM\n)R.", BSM_CORRUPT, "calls a class");
  FAILS(&w, P "c__torch__\nX\n)R.", BSM_NOT_FOUND, "no class __torch__.X");
  FAILS(&w, P "]}b.", BSM_CORRUPT, "state of List");
  end(&w);
}

static void runs_set_state_through_the_hook(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w,
     P
     "c__torch__\nS\n)\x81\x88"
     "b.",
     &v);
  assert_int_equal(w.states_set, 1);
  assert_true(v.u.object->slots[0].u.b);
  FAILS(&w, P "c__torch__\nS\n)\x81K\1b.", BSM_CORRUPT, "__setstate__");
  w.hooks.set_state = NULL;
  FAILS(&w,
        P
        "c__torch__\nS\n)\x81\x88"
        "b.",
        BSM_UNSUPPORTED, "__torch__.S");
  end(&w);
}

static void failures_name_the_attribute(void **state) {
  (void)state;
  world w;
  begin(&w);
  FAILS(&w,
        P OBJECT "}(" KEY("l") "K\1" KEY("m") OBJECT
        "}(" KEY("w") "ctorch._utils\n_rebuild_qtensor\n((((((((((h\177",
        BSM_CORRUPT, "attribute m.w");
  FAILS(&w,
        P OBJECT "}(" KEY("q") "ctorch._utils\n_rebuild_qtensor\n(NNNNNNNtR",
        BSM_CORRUPT, "(REDUCE), attribute q");
  end(&w);
}

static void large_dicts_are_fast_and_keep_the_last_value(void **state) {
  (void)state;
  world w;
  begin(&w);
  enum { COUNT = 200000 };
  const size_t size = 4 + (size_t)COUNT * 2 * 10 + 2 + 3;
  char *bytes = malloc(size);
  assert_non_null(bytes);
  size_t at = 0;
  memcpy(bytes, P "}(", 4);
  at = 4;
  for (int i = 0; i < COUNT; i++) {
    const int key = i % (COUNT / 2);
    for (int k = 0; k < 2; k++) {
      const int v = k ? i : key;
      bytes[at++] = 'J';
      for (int b = 0; b < 4; b++) bytes[at++] = (char)(v >> (8 * b));
    }
  }
  bytes[at++] = 'u';
  bytes[at++] = '.';
  bsm_ivalue v;
  expect_ok(&w, bytes, at, &v);
  assert_int_equal(v.u.dict->len, COUNT / 2);
  for (int i = 0; i < COUNT / 2; i += 997) {
    assert_int_equal(v.u.dict->keys[i].u.i, i);
    assert_int_equal(v.u.dict->values[i].u.i, i + COUNT / 2);
  }
  free(bytes);
  end(&w);
}

/* ---- what it refuses ---- */

static void names_outside_the_list_are_refused(void **state) {
  (void)state;
  world w;
  begin(&w);
  static const char *const names[] = {
      "os\nsystem\n",
      "posix\nsystem\n",
      "builtins\neval\n",
      "__builtin__\neval\n",
      "builtins\ngetattr\n",
      "torch\nload\n",
      "torch._utils\n_rebuild_tensor\n",
      "torch._utils\n_rebuild_device_tensor_from_numpy\n",
      "torch._utils \n_rebuild_tensor_v2\n",
      "torch._utils\n_rebuild_tensor_v2 \n",
      "torch\nfloatStorage\n",
      "collections\nordereddict\n",
      "__torch\nM\n",
      "__torch__x\nM\n",
      "\n\n",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char bytes[128];
    const int n = snprintf(bytes, sizeof bytes, P "c%s)R.", names[i]);
    expect_failure(&w, bytes, (size_t)n, BSM_CORRUPT, "not part of");
  }
  FAILS(&w, P "cos\nsystem\nX\2\0\0\0id\x85R.", BSM_CORRUPT,
        "\"os.system\", which is not part of the TorchScript format");
  FAILS(&w, P "ctorch._utils\0\n_rebuild_tensor_v2\n.", BSM_CORRUPT,
        "not part");
  FAILS(&w, P "c__torch__\nM\0X\n.", BSM_CORRUPT, "NUL");
  FAILS(&w, P "ctorch\nUInt16Storage\n.", BSM_UNSUPPORTED, "UInt16Storage");
  FAILS(&w, P "c__torch__.torch.classes.quantized\nX\n.", BSM_UNSUPPORTED,
        "TorchBind");
  FAILS(&w, P "ctorch.jit._pickle\nbuild_tensor_from_id\n.", BSM_UNSUPPORTED,
        "1.3");
  FAILS(&w, P "c__main__\nTensorID\n.", BSM_UNSUPPORTED, "1.2");
  FAILS(&w, P "ctorch.distributed.rpc\nrref\n.", BSM_UNSUPPORTED, "remote");
  FAILS(&w, P "cos", BSM_CORRUPT, "without end");
  FAILS(&w, P "cos\nsystem", BSM_CORRUPT, "without end");
  w.hooks = (bsm_pickle_hooks){0};
  FAILS(&w, P OBJECT "}b.", BSM_CORRUPT, "no classes");
  FAILS(&w, P STORAGE ".", BSM_CORRUPT, "no tensors");
  end(&w);
}

static void only_protocol_2_and_one_value(void **state) {
  (void)state;
  world w;
  begin(&w);
  FAILS(&w, "", BSM_CORRUPT, "not a pickle");
  FAILS(&w, "\x80", BSM_CORRUPT, "not a pickle");
  FAILS(&w, "N.", BSM_CORRUPT, "not a pickle");
  for (int protocol = 0; protocol < 256; protocol++) {
    if (protocol == 2) continue;
    const char bytes[] = {(char)0x80, (char)protocol, 'N', '.'};
    expect_failure(&w, bytes, 4, BSM_CORRUPT, "protocol");
  }
  FAILS(&w, P "N", BSM_CORRUPT, "no STOP");
  FAILS(&w, P ".", BSM_CORRUPT, "0 values");
  FAILS(&w, P "NN.", BSM_CORRUPT, "2 values");
  FAILS(&w, P "(N.", BSM_CORRUPT, "1 marks");
  FAILS(&w, P "N..", BSM_CORRUPT, "follow");
  FAILS(&w, P P "N.", BSM_CORRUPT, "not allowed");
  FAILS(&w, P "ctorch\nFloatStorage\n.", BSM_CORRUPT, "a storage type");
  end(&w);
}

/* Every byte as an opcode where it finds nothing to work on. */
static void no_opcode_works_on_an_empty_stack(void **state) {
  (void)state;
  world w;
  begin(&w);
  for (int op = 0; op < 256; op++) {
    static const int pushes[] = {')', ']', '}',  'N', 0x88, 0x89, 'K',
                                 'M', 'J', 0x8a, 'G', 'X',  '('};
    bool alone = false;
    for (size_t i = 0; i < sizeof pushes / sizeof *pushes; i++) {
      alone = alone || pushes[i] == op;
    }
    if (alone) continue;
    for (int mark = 0; mark < 2; mark++) {
      /* Behind a mark, only what takes a mark may work, and then not STOP. */
      const char bytes[] = {
          (char)0x80, 2, 'N', mark ? '(' : 'N', (char)op, 0, 0, 0, 0, 0, 0, 0,
          0,          0, '.'};
      expect_failure(&w, bytes, sizeof bytes, BSM_CORRUPT, "offset");
    }
  }
  end(&w);
}

/* Every opcode on every pair of values: a status, never a crash. */
static void every_opcode_meets_every_value(void **state) {
  (void)state;
  world w;
  begin(&w);
#define PIECE(text) \
  { text, sizeof(text) - 1 }
  static const bsm_str values[] = {PIECE("N"),
                                   PIECE("\x88"),
                                   PIECE("K\1"),
                                   PIECE("G\0\0\0\0\0\0\0\0"),
                                   PIECE(KEY("a")),
                                   PIECE(")"),
                                   PIECE("]"),
                                   PIECE("}"),
                                   PIECE("N\x85"),
                                   PIECE("("),
                                   PIECE("ctorch\nFloatStorage\n"),
                                   PIECE(STORAGE),
                                   PIECE(TENSOR_FN),
                                   PIECE(TAG("build_intlist")),
                                   PIECE("c__torch__\nM\n"),
                                   PIECE("c__torch__\nE\n"),
                                   PIECE(OBJECT),
                                   PIECE("c__torch__\nE\nK\1R"),
                                   PIECE("ctorch\nper_tensor_affine\n"),
                                   PIECE("ctorch\nFloatStorage\n\x85"),
                                   PIECE(TENSOR_FN "(" STORAGE "K\0)"
                                                   ")\x89" HOOKS "tR"),
                                   PIECE("ccollections\nOrderedDict\n"),
                                   PIECE("c__torch__\nS\n)\x81")};
#undef PIECE
  static const char ops[] =
      ".()]}t\x85\x86\x87"
      "aseudlN\x88\x89KMJ\x8aGXcqrhjR"
      "\x81"
      "bQ";
  const size_t n = sizeof values / sizeof *values;
  size_t failures = 0, successes = 0;
  for (size_t a = 0; a < n; a++) {
    for (size_t b = 0; b < n; b++) {
      for (size_t o = 0; o < sizeof ops - 1; o++) {
        char bytes[600] = {(char)0x80, 2};
        size_t size = 2;
        memcpy(bytes + size, values[a].data, values[a].len);
        size += values[a].len;
        memcpy(bytes + size, values[b].data, values[b].len);
        size += values[b].len;
        bytes[size++] = ops[o];
        bytes[size++] = '.';
        bsm_ivalue v;
        const bsm_status status = run(&w, bytes, size, &v);
        failures += status != NULL;
        successes += status == NULL;
        bsm_status_free(status);
      }
    }
  }
  assert_in_range(successes, 1, failures);
  end(&w);
}

static void memo_ids_are_checked(void **state) {
  (void)state;
  world w;
  begin(&w);
  bsm_ivalue v;
  OK(&w, P "K\1q\0h\0\x86.", &v);
  OK(&w, P "(K\1q\0K\2q\0h\0t.", &v); /* put again */
  assert_int_equal(v.u.tuple->items[2].u.i, 2);
  OK(&w, P "K\1r\1\0\0\0j\1\0\0\0\x86.", &v);
  FAILS(&w, P "h\0.", BSM_CORRUPT, "never put");
  FAILS(&w, P "K\1q\1h\0\x86.", BSM_CORRUPT, "never put");
  FAILS(&w, P "K\1q\0h\1\x86.", BSM_CORRUPT, "never put");
  FAILS(&w, P "K\1q\0j\xff\xff\xff\xff\x86.", BSM_CORRUPT, "never put");
  FAILS(&w, P "K\1r\xff\xff\xff\xff.", BSM_CORRUPT, "memo id 4294967295");
  FAILS(&w, P "K\1r\0\0\0\x80.", BSM_CORRUPT, "memo id 2147483648");
  FAILS(&w, P "(q\0.", BSM_CORRUPT, "needs 1");
  end(&w);
}

static void nothing_contains_itself(void **state) {
  (void)state;
  world w;
  begin(&w);
  FAILS(&w, P "]q\0(h\0e.", BSM_CORRUPT, "changes after");
  FAILS(&w, P "}q\0(K\1h\0u.", BSM_CORRUPT, "changes after");
  FAILS(&w, P "]q\0]q\1(h\0e0", BSM_CORRUPT, "not allowed");
  FAILS(&w, P "(]q\0]q\1(h\0eh\0(h\1e", BSM_CORRUPT, "changes after");
  FAILS(&w, P "(]q\0h\0\x85h\0(K\1e", BSM_CORRUPT, "changes after");
  FAILS(&w, P "(}q\0h\0\x85h\0(K\1h\0u", BSM_CORRUPT, "changes after");
  end(&w);
}

/* `depth` containers in each other. */
static bsm_status nest(world *w, const char *open, const char *close,
                       size_t depth) {
  const size_t a = strlen(open), b = strlen(close);
  char *bytes = malloc(2 + depth * (a + b) + 2);
  assert_non_null(bytes);
  size_t size = 2;
  memcpy(bytes, P, 2);
  for (size_t i = 0; i < depth; i++, size += a) memcpy(bytes + size, open, a);
  bytes[size++] = 'N';
  for (size_t i = 0; i < depth; i++, size += b) memcpy(bytes + size, close, b);
  bytes[size++] = '.';
  bsm_ivalue v;
  const bsm_status status = run(w, bytes, size, &v);
  free(bytes);
  return status;
}

static void depth_is_limited(void **state) {
  (void)state;
  world w;
  begin(&w);
  static const struct {
    const char *open, *close;
  } kinds[] = {{"](", "e"}, {"", "\x85"}, {"(", "l"}, {"}(K\1", "u"}};
  for (size_t i = 0; i < 4; i++) {
    for (size_t depth = 1; depth < 1000000; depth *= 199) {
      const bsm_status status = nest(&w, kinds[i].open, kinds[i].close, depth);
      assert_int_equal(bsm_status_code(status), depth > 199 ? BSM_LIMIT : 0);
      bsm_status_free(status);
    }
    const bsm_status status = nest(&w, kinds[i].open, kinds[i].close, 200);
    assert_int_equal(bsm_status_code(status), BSM_LIMIT);
    bsm_status_free(status);
  }
  end(&w);
}

static void counts_that_lie_cost_nothing(void **state) {
  (void)state;
  world w;
  begin(&w);
  const size_t before = w.arena.total;
  FAILS(&w, P "X\xff\xff\xff\xffmore.", BSM_LIMIT, "string of 4294967295");
  FAILS(&w, P "X\xff\xff\xff\3more.", BSM_CORRUPT, "ends after");
  FAILS(&w, P "\x8a\xff", BSM_CORRUPT, "255 bytes");
  FAILS(&w, P "\x8a\x09\0\0\0\0\0\0\0\0\0.", BSM_CORRUPT, "9 bytes");
  FAILS(&w, P "J\0\0\0", BSM_CORRUPT, "ends after");
  assert_in_range(w.arena.total - before, 0, 1 << 20);
  w.limits.max_pickle_ops = 3;
  bsm_ivalue v;
  OK(&w, P "N\x85.", &v);
  FAILS(&w, P "N\x85\x85.", BSM_LIMIT, "3 steps");
  w.limits.max_pickle_ops = 0;
  w.limits.max_string_bytes = 2;
  OK(&w, P "X\2\0\0\0ab.", &v);
  FAILS(&w, P "X\3\0\0\0abc.", BSM_LIMIT, "string");
  w.limits.max_name_bytes = 5;
  FAILS(&w, P "ctorch.\ndevice\n.", BSM_LIMIT, "name");
  end(&w);
}

/* A tensor of one dimension; numbers as LONG1. */
static bsm_status one_dimension(world *w, int64_t offset, int64_t size,
                                int64_t stride, bsm_ivalue *out) {
  char bytes[400];
  size_t n = 0;
#define ADD(text) \
  (memcpy(bytes + n, text, sizeof(text) - 1), n += sizeof(text) - 1)
#define ADD_INT(v)                                    \
  do {                                                \
    ADD("\x8a\x08");                                  \
    for (int b_ = 0; b_ < 8; b_++) {                  \
      bytes[n++] = (char)((uint64_t)(v) >> (8 * b_)); \
    }                                                 \
  } while (0)
  ADD(P TENSOR_FN "(" STORAGE);
  ADD_INT(offset);
  ADD("(");
  ADD_INT(size);
  ADD("t(");
  ADD_INT(stride);
  ADD("t\x89" HOOKS "tR.");
#undef ADD
#undef ADD_INT
  return run(w, bytes, n, out);
}

static void tensors_stay_in_their_storage(void **state) {
  (void)state;
  world w;
  begin(&w);
  static const struct {
    int64_t offset, size, stride;
    bool ok;
  } cases[] = {
      {0, 16, 1, true},
      {0, 17, 1, false},
      {1, 16, 1, false},
      {15, 1, 1, true},
      {16, 1, 1, false},
      {16, 0, 1, true},
      {INT64_MAX, 0, 1, true},
      {INT64_MAX, 1, 1, false},
      {-1, 1, 1, false},
      {INT64_MIN, 1, 1, false},
      {0, -1, 1, false},
      {0, INT64_MIN, 1, false},
      {0, 2, 15, true},
      {0, 2, 16, false},
      {0, 2, -1, false},
      {0, 2, INT64_MAX, false},
      {0, 3, INT64_MAX / 2 + 1, false},
      {0, ((int64_t)1 << 42) + 1, (int64_t)1 << 22, false},
      {0, 1000, 0, true},
      {0, INT64_MAX, 0, false},
      {0, (int64_t)1 << 33, 0, false},
      {5, 1, INT64_MAX, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bsm_ivalue v;
    const bsm_status status =
        one_dimension(&w, cases[i].offset, cases[i].size, cases[i].stride, &v);
    if ((status == NULL) != cases[i].ok) {
      fail_msg("case %zu: %s", i, bsm_status_message(status));
    }
    const bsm_code code = bsm_status_code(status);
    assert_true(code == BSM_CODE_OK || code == BSM_CORRUPT ||
                code == BSM_LIMIT);
    bsm_status_free(status);
  }
  end(&w);
}

static void malformed_tensors_are_refused(void **state) {
  (void)state;
  world w;
  begin(&w);
#define MAKE(body) P TENSOR_FN "(" body "tR."
  FAILS(&w, MAKE("NK\0))\x89" HOOKS), BSM_CORRUPT, "None");
  FAILS(&w, MAKE(STORAGE "N))\x89" HOOKS), BSM_CORRUPT, "None");
  FAILS(&w, MAKE(STORAGE "K\0])\x89" HOOKS), BSM_CORRUPT, "sizes are List");
  FAILS(&w, MAKE(STORAGE "K\0(Nt)\x89" HOOKS), BSM_CORRUPT, "wrong size");
  FAILS(&w, MAKE(STORAGE "K\0(K\1t)\x89" HOOKS), BSM_CORRUPT, "1 sizes");
  FAILS(&w, MAKE(STORAGE "K\0))K\1" HOOKS), BSM_CORRUPT, "requires_grad");
  FAILS(&w, MAKE(STORAGE "K\0))\x89]"), BSM_CORRUPT, "hooks");
  FAILS(&w, MAKE(STORAGE "K\0))\x89}(K\1K\1u"), BSM_CORRUPT, "hooks");
  FAILS(&w, MAKE(STORAGE "K\0))\x89" HOOKS "}(X\4\0\0\0conj\x88u"), BSM_CORRUPT,
        "conjugate of float32");
  FAILS(&w, MAKE(STORAGE "K\0))\x89" HOOKS "K\1"), BSM_CORRUPT, "math bits");
  FAILS(&w, MAKE(STORAGE "K\0))\x89"), BSM_CORRUPT, "5 arguments");
  FAILS(&w,
        MAKE(STORAGE "K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1t)\x89" HOOKS),
        BSM_UNSUPPORTED, "13 dimensions");
#undef MAKE
#define STORE(body) P "(" body "tQ."
  FAILS(&w, P "NQ.", BSM_CORRUPT, "persistent id");
  FAILS(&w, STORE("X\7\0\0\0storage"), BSM_CORRUPT, "persistent id");
  FAILS(&w, STORE("ctorch\nFloatStorage\nN"), BSM_CORRUPT, "2 parts");
  FAILS(&w, STORE("Nctorch\nFloatStorage\n" KEY("w") KEY("c") "K\1"),
        BSM_CORRUPT, "persistent id");
#define HEAD "X\7\0\0\0storagectorch\nFloatStorage\n"
  FAILS(&w, STORE(HEAD "K\0" KEY("c") "K\1"), BSM_CORRUPT, "persistent id");
  FAILS(&w, STORE(HEAD KEY("w") "NK\1"), BSM_CORRUPT, "persistent id");
  FAILS(&w, STORE(HEAD KEY("w") KEY("c") "N"), BSM_CORRUPT, "persistent id");
  FAILS(&w, STORE(HEAD KEY("w") KEY("c") "K\1K\1"), BSM_UNSUPPORTED, "view");
  FAILS(&w, STORE(HEAD KEY("w") KEY("c") "J\xff\xff\xff\xff"), BSM_CORRUPT,
        "-1 elements");
  FAILS(
      &w,
      STORE(HEAD KEY("w") KEY("c") "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
      BSM_CORRUPT, "elements");
  FAILS(&w, STORE(HEAD KEY("w") KEY("c") "K\21"), BSM_CORRUPT, "64 bytes");
  FAILS(&w, STORE(HEAD KEY("x") KEY("c") "K\1"), BSM_CORRUPT, "no member x");
#undef STORE
  end(&w);
}

/* Random programs of valid opcodes: a status each, under sanitizers nothing
 * else. */
static void random_programs_are_survived(void **state) {
  (void)state;
  static const bsm_str pieces[] = {
#define PIECE(text) {text, sizeof(text) - 1}
      PIECE("("),
      PIECE("("),
      PIECE("t"),
      PIECE("]"),
      PIECE("}"),
      PIECE("a"),
      PIECE("s"),
      PIECE("e"),
      PIECE("u"),
      PIECE("l"),
      PIECE("d"),
      PIECE(")"),
      PIECE("\x85"),
      PIECE("\x86"),
      PIECE("\x87"),
      PIECE("N"),
      PIECE("K\1"),
      PIECE("\x88"),
      PIECE(KEY("w")),
      PIECE(KEY("t")),
      PIECE("q\0"),
      PIECE("q\1"),
      PIECE("h\0"),
      PIECE("h\1"),
      PIECE("R"),
      PIECE("\x81"),
      PIECE("b"),
      PIECE("Q"),
      PIECE(TENSOR_FN),
      PIECE(STORAGE),
      PIECE(HOOKS),
      PIECE(OBJECT),
      PIECE(TAG("build_intlist")),
      PIECE("c__torch__\nE\n"),
      PIECE(TENSOR_FN "(" STORAGE "K\0)"
                      ")\x89" HOOKS "tR"),
#undef PIECE
  };
  uint64_t seed = 1;
  for (int program = 0; program < 20000; program++) {
    world w;
    begin(&w);
    char bytes[4096] = {(char)0x80, 2};
    size_t size = 2;
    for (int i = 0; i < 30; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const bsm_str *p =
          &pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)];
      memcpy(bytes + size, p->data, p->len);
      size += p->len;
    }
    bytes[size++] = '.';
    bsm_ivalue v;
    bsm_status_free(run(&w, bytes, size, &v));
    end(&w);
  }
}

static const char sample[] =
    P "(" OBJECT STATE KEY("t") "\x88ub" TAG("restore_type_tag")
        "}(" KEY("a") "K\1uX\16\0\0\0Dict[str, int]\x86R"
        "c__torch__\nE\nK\2Rt.";

static void every_truncation_and_flip_is_survived(void **state) {
  (void)state;
  for (size_t size = 0; size < sizeof sample - 1; size++) {
    world w;
    begin(&w);
    bsm_ivalue v;
    const bsm_status status = run(&w, sample, size, &v);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
    end(&w);
  }
  for (size_t bit = 0; bit < (sizeof sample - 1) * 8; bit++) {
    world w;
    begin(&w);
    char copy[sizeof sample];
    memcpy(copy, sample, sizeof sample);
    copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
    bsm_ivalue v;
    bsm_status_free(run(&w, copy, sizeof sample - 1, &v));
    end(&w);
  }
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  bool succeeded = false;
  for (int n = 0; !succeeded; n++) {
    assert_in_range(n, 0, 1000);
    test_allocator allocator;
    test_allocator_init(&allocator, n);
    world w;
    bsm_status status = world_init(&w, &allocator.base);
    bsm_ivalue v;
    if (!status) {
      status = bsm_unpickle(&w.arena, w.cx->types,
                            (bsm_str){sample, sizeof sample - 1}, "test.pkl",
                            NULL, &w.hooks, &v);
    }
    succeeded = !status;
    if (status) assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    end(&w);
    assert_int_equal(allocator.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builds_scalars),
      cmocka_unit_test(builds_tuples_lists_and_dicts),
      cmocka_unit_test(builds_what_python_writes),
      cmocka_unit_test(builds_tensors_with_attributes),
      cmocka_unit_test(builds_devices_complex_numbers_and_enums),
      cmocka_unit_test(gives_lists_and_dicts_their_types),
      cmocka_unit_test(named_tuples_get_their_name),
      cmocka_unit_test(builds_tensors_that_share),
      cmocka_unit_test(storages_are_known_by_key),
      cmocka_unit_test(builds_objects_by_slot),
      cmocka_unit_test(runs_set_state_through_the_hook),
      cmocka_unit_test(failures_name_the_attribute),
      cmocka_unit_test(large_dicts_are_fast_and_keep_the_last_value),
      cmocka_unit_test(names_outside_the_list_are_refused),
      cmocka_unit_test(only_protocol_2_and_one_value),
      cmocka_unit_test(no_opcode_works_on_an_empty_stack),
      cmocka_unit_test(every_opcode_meets_every_value),
      cmocka_unit_test(memo_ids_are_checked),
      cmocka_unit_test(nothing_contains_itself),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(counts_that_lie_cost_nothing),
      cmocka_unit_test(tensors_stay_in_their_storage),
      cmocka_unit_test(malformed_tensors_are_refused),
      cmocka_unit_test(random_programs_are_survived),
      cmocka_unit_test(every_truncation_and_flip_is_survived),
      cmocka_unit_test(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
