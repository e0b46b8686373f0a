/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/type.h"

#include "ir/ir_fixture.h"

static const char *python(fixture *f, const bsm_type *type) {
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  return text.data;
}

static void types_print_and_read_back(void **state) {
  fixture *f = *state;
  static const struct {
    const char *ir, *python;
  } cases[] = {
      {"Tensor", "Tensor"},
      {"int", "int"},
      {"float", "float"},
      {"bool", "bool"},
      {"complex", "complex"},
      {"Scalar", "number"},
      {"str", "str"},
      {"Device", "Device"},
      {"NoneType", "NoneType"},
      {"Any", "Any"},
      {"Function", "Function"},
      {"Generator", "Generator"},
      {"int[]", "List[int]"},
      {"Tensor?[]", "List[Optional[Tensor]]"},
      {"Tensor[]?", "Optional[List[Tensor]]"},
      {"int[][]", "List[List[int]]"},
      {"Dict(str, Tensor[])", "Dict[str, List[Tensor]]"},
      {"(int, float[])", "Tuple[int, List[float]]"},
      {"()", "Tuple[()]"},
      {"(int)", "Tuple[int]"},
      {"((int, str), Tensor)[]?",
       "Optional[List[Tuple[Tuple[int, str], Tensor]]]"},
      {"Union(int, str, NoneType)", "Union[int, str, NoneType]"},
      {"Future(Tensor)", "Future[Tensor]"},
      {"RRef(int)", "RRef[int]"},
      {"Await(int)", "Await[int]"},
      {"__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d",
       "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const bsm_type *type = type_of(f, cases[i].ir);
    assert_string_equal(bsm_type_str(&f->arena, type), cases[i].ir);
    assert_string_equal(python(f, type), cases[i].python);
    assert_ptr_equal(type_of(f, cases[i].python), type);
  }
}

static void tensor_types_read_as_pytorch_prints_them(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text, *ours;
  } cases[] = {
      {"Float(1, 3, strides=[3, 1], requires_grad=0, device=cpu)",
       "Float(1, 3)"},
      {"Long(requires_grad=0, device=cuda:0)", "Long()"},
      {"Float(1:150528, 3:50176, requires_grad=0)", "Float(1, 3)"},
      {"Half(*, 3, strides=[*, 1])", NULL},
      {"Double(*, 3)", "Double(*, 3)"},
      {"BFloat16(SS(-2), 3)", "BFloat16(*, 3)"},
      {"FloatTensor", "FloatTensor"},
      {"BoolTensor(requires_grad=0, device=cpu)", "BoolTensor"},
      {"Tensor(2, *)", "Tensor(2, *)"},
      {"Byte()", "Byte()"},
      {"Char(4)[]", "Char(4)[]"},
      {"NamedTuple(x : Tensor, n : int)", "NamedTuple[](x : Tensor, n : int)"},
      {"Enum<__torch__.Color>", "Enum<__torch__.Color>"},
      {"DeviceObjType", "Device"},
      /* A union of many types behind an optional: all of them have room. */
      {"Union[Union[int, str, float, Device, bool, complex]?, Generator]",
       "Union(int, str, float, Device, bool, complex, Generator, NoneType)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const bsm_type *type;
    if (!cases[i].ours) {
      assert_fails(
          bsm_type_parse(f->cx->types, bsm_str_of(cases[i].text), &type),
          BSM_CORRUPT, "type:1:");
      continue;
    }
    type = type_of(f, cases[i].text);
    assert_string_equal(bsm_type_str(&f->arena, type), cases[i].ours);
    assert_ptr_equal(type_of(f, cases[i].ours), type);
  }
  const bsm_type *refined = type_of(f, "Float(1, *)");
  assert_int_equal(refined->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(refined->dims.rank, 2);
  assert_int_equal(refined->dims.d[1], -1);
}

static void bad_types_are_refused(void **state) {
  fixture *f = *state;
  static const char *const bad[] = {
      "",
      "in",
      "int]",
      "int[",
      "int[-1]",
      "List",
      "List[",
      "List[int",
      "List[]",
      "Dict[str]",
      "Dict(a b)",
      "Tuple[int,]",
      "Optional[]",
      "Union[]",
      "(int",
      "Float(1",
      "Float(-2)",
      "Float(x)",
      "int int",
      "Enum<>",
      "Tensor(a!)",
      "[int]",
      "NamedTuple(x int)",
      "Float(1,2,3,4,5,6,7,8,9,10,11,12,13)",
      "Float(99999999999999999999)",
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const bsm_type *type;
    bsm_status status = bsm_type_parse(f->cx->types, bsm_str_of(bad[i]), &type);
    if (!status) fail_msg("'%s' was read as a type", bad[i]);
    if (!strstr(bsm_status_message(status), "type:1:")) {
      fail_msg("%s: %s", bad[i], bsm_status_message(status));
    }
    bsm_status_free(status);
    assert_null(type);
  }
}

static void nesting_is_bounded(void **state) {
  fixture *f = *state;
  enum { DEEP = 100000 };
  char *text = bsm_arena_alloc(&f->arena, DEEP + 1, 1);
  const bsm_type *type;
  memset(text, '(', DEEP);
  assert_fails(bsm_type_parse(f->cx->types, (bsm_str){text, DEEP}, &type),
               BSM_LIMIT, "nested");
  memcpy(text, "int", 3);
  for (size_t i = 3; i + 2 <= DEEP; i += 2) memcpy(text + i, "[]", 2);
  assert_fails(bsm_type_parse(f->cx->types, (bsm_str){text, DEEP - 1}, &type),
               BSM_LIMIT, "nested");
  /* Types that code builds step by step become Any when too large. */
  type = bsm_type_simple(f->cx->types, BSM_TYPE_INT);
  for (int i = 0; i < 1000; i++) type = bsm_type_list(f->cx->types, type);
  assert_true(type->depth <= BSM_TYPE_MAX_DEPTH);
  type = bsm_type_simple(f->cx->types, BSM_TYPE_INT);
  for (int i = 0; i < 1000; i++) {
    const bsm_type *pair[2] = {type, type};
    type = bsm_type_tuple(f->cx->types, pair, 2);
    assert_true(type->weight <= BSM_TYPE_MAX_WEIGHT);
  }
}

static void subtypes(void **state) {
  fixture *f = *state;
  static const struct {
    const char *a, *b;
    bool yes;
  } cases[] = {
      {"int", "int", true},
      {"int", "Any", true},
      {"Any", "int", false},
      {"NoneType", "int?", true},
      {"NoneType", "NoneType", true},
      {"int", "int?", true},
      {"int?", "int", false},
      {"int?", "int?", true},
      {"int?", "Scalar?", true},
      {"int", "Scalar", true},
      {"float", "Scalar", true},
      {"complex", "Scalar", true},
      {"bool", "Scalar", false},
      {"bool", "int", false},
      {"int", "float", false},
      {"Scalar", "int", false},
      {"Float(1, 3)", "Tensor", true},
      {"Float(1, 3)", "Float(*, 3)", true},
      {"Float(1, 3)", "Float(1, 4)", false},
      {"Float(1, 3)", "FloatTensor", true},
      {"Float(1, 3)", "Long(1, 3)", false},
      {"Tensor", "Float(1, 3)", false},
      {"int[]", "float[]", false},
      {"int[]", "Scalar[]", false},
      {"int[]", "int?[]", false},
      {"Float(3)[]", "Tensor[]", true},
      {"(int, int)", "(Scalar, int?)", true},
      {"(int, int)", "(int)", false},
      {"(int, int)", "(int, float)", false},
      {"(int, int)", "int[]", false},
      {"int", "Union(int, str)", true},
      {"float", "Union(int, str)", false},
      {"int?", "Union(int, str, NoneType)", true},
      {"int?", "Union(int, str)", false},
      {"Union(int, str)", "Any", true},
      {"Union(int, float)", "Scalar", true},
      {"Dict(str, int)", "Dict(str, Scalar)", false},
      {"NamedTuple[P](x : int)", "(int)", true},
      {"(int)", "NamedTuple[P](x : int)", false},
      {"NamedTuple[P](x : int)", "NamedTuple[P](y : int)", false},
      {"__torch__.A", "__torch__.B", false},
      {"__torch__.A", "Any", true},
      {"int[]", "AnyListType", true},
      {"int", "AnyListType", false},
      {"Enum<__torch__.E>", "AnyEnumType", true},
      {"__torch__.A", "AnyEnumType", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (bsm_type_is_subtype(type_of(f, cases[i].a), type_of(f, cases[i].b)) !=
        cases[i].yes) {
      fail_msg("%s <: %s", cases[i].a, cases[i].b);
    }
  }
}

static void classes_implement_interfaces(void **state) {
  fixture *f = *state;
  const bsm_type *face = bsm_type_class(f->cx->types, "__torch__.Face");
  const bsm_type *cls = bsm_type_class(f->cx->types, "__torch__.Impl");
  bsm_function forward = {.name = "forward"}, other = {.name = "other"};
  face->cls->is_interface = true;
  assert_true(bsm_vec_push(&f->arena, &face->cls->methods, &forward));
  assert_true(bsm_vec_push(&f->arena, &cls->cls->methods, &other));
  assert_false(bsm_type_is_subtype(cls, face));
  assert_true(bsm_vec_push(&f->arena, &cls->cls->methods, &forward));
  assert_true(bsm_type_is_subtype(cls, face));
  assert_ptr_equal(bsm_class_find_method(cls->cls, "forward"), &forward);
  assert_null(bsm_class_find_method(cls->cls, "backward"));
}

static void joins(void **state) {
  fixture *f = *state;
  static const struct {
    const char *a, *b, *join;
  } cases[] = {
      {"int", "int", "int"},
      {"int", "NoneType", "int?"},
      {"NoneType", "Tensor?", "Tensor?"},
      {"int?", "int", "int?"},
      {"int", "float", NULL},
      {"int", "Scalar", "Scalar"},
      {"Float(1, 3)", "Float(2, 3)", "Float(*, 3)"},
      {"Float(1, 3)", "Long(1, 3)", "Tensor(1, 3)"},
      {"Float(1, 3)", "Long(1)", "Tensor"},
      {"Float(1, 3)", "Float(1)", "FloatTensor"},
      {"(int, NoneType)", "(int, str)", "(int, str?)"},
      {"(int, int)", "(int)", NULL},
      {"int[]", "float[]", NULL},
      {"int[]", "NoneType", "int[]?"},
      {"Float(1)?", "Float(2)", "Float(*)?"},
      {"str", "Any", "Any"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int swap = 0; swap < 2; swap++) {
      const char *a = swap ? cases[i].b : cases[i].a;
      const char *b = swap ? cases[i].a : cases[i].b;
      const bsm_type *join =
          bsm_type_unify(f->cx->types, type_of(f, a), type_of(f, b));
      assert_string_equal(join ? bsm_type_str(&f->arena, join) : "none",
                          cases[i].join ? cases[i].join : "none");
    }
  }
}

static void unions_are_normal(void **state) {
  fixture *f = *state;
  assert_ptr_equal(type_of(f, "Union(int, NoneType)"), type_of(f, "int?"));
  assert_ptr_equal(type_of(f, "Union(int, int)"), type_of(f, "int"));
  assert_ptr_equal(type_of(f, "Union(int, Union(str, int))"),
                   type_of(f, "Union(int, str)"));
  assert_ptr_equal(type_of(f, "int??"), type_of(f, "int?"));
}

/* A rank without sizes is more than a dtype, and less than dims. */
static void tensors_have_ranks(void **state) {
  fixture *f = *state;
  bsm_type_table *types = f->cx->types;
  const bsm_type *rank = bsm_type_tensor_rank(types, BSM_DTYPE_FLOAT, 2);
  const bsm_type *sizes =
      bsm_type_tensor(types, BSM_DTYPE_FLOAT, (bsm_dims){2, {3, 4}});
  const bsm_type *dtype = bsm_type_tensor_dtype(types, BSM_DTYPE_FLOAT);
  assert_string_equal(bsm_type_str(&f->arena, rank), "Float(*, *)");
  assert_false(bsm_type_has_sizes(rank));
  assert_false(bsm_type_has_sizes(dtype));
  assert_false(bsm_type_has_sizes(NULL));
  assert_true(bsm_type_has_sizes(sizes));
  assert_true(bsm_type_is_subtype(sizes, rank));
  assert_true(bsm_type_is_subtype(rank, dtype));
  assert_false(bsm_type_is_subtype(rank, sizes));
  assert_ptr_equal(bsm_type_unify(types, rank, sizes), rank);
}

static void values_have_types(void **state) {
  fixture *f = *state;
  bsm_type_table *types = f->cx->types;
  bsm_list *list, *inner;
  bsm_tuple *tuple;
  assert_ok(bsm_list_new(&f->arena, NULL, 0, &list));
  bsm_ivalue value = bsm_iv_list(list);
  assert_ptr_equal(bsm_type_of_value(types, &value), type_of(f, "Tensor[]"));
  assert_ok(bsm_list_append(list, bsm_iv_int(1)));
  assert_ok(bsm_list_append(list, bsm_iv_none()));
  assert_ptr_equal(bsm_type_of_value(types, &value), type_of(f, "int?[]"));
  assert_ok(bsm_list_append(list, bsm_iv_double(1)));
  assert_ptr_equal(bsm_type_of_value(types, &value), type_of(f, "Any[]"));
  assert_ok(bsm_tuple_new(&f->arena, 2, &tuple));
  tuple->items[0] = bsm_iv_bool(true);
  tuple->items[1] = value;
  value = bsm_iv_tuple(tuple);
  assert_ptr_equal(bsm_type_of_value(types, &value),
                   type_of(f, "(bool, Any[])"));
  /* A list that holds itself has some type, and finding it ends. */
  assert_ok(bsm_list_new(&f->arena, NULL, 0, &inner));
  assert_ok(bsm_list_append(inner, bsm_iv_list(inner)));
  assert_ok(bsm_list_append(inner, bsm_iv_list(inner)));
  value = bsm_iv_list(inner);
  assert_non_null(bsm_type_of_value(types, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(types_print_and_read_back),
      fixture_test(tensor_types_read_as_pytorch_prints_them),
      fixture_test(bad_types_are_refused),
      fixture_test(nesting_is_bounded),
      fixture_test(subtypes),
      fixture_test(classes_implement_interfaces),
      fixture_test(joins),
      fixture_test(unions_are_normal),
      fixture_test(tensors_have_ranks),
      fixture_test(values_have_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
