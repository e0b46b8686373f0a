/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/schema.h"

#include "ir/ir_fixture.h"

static const bsm_schema *parse(fixture *f, const char *text) {
  bsm_schema *schema;
  assert_ok(
      bsm_schema_parse(f->cx->types, &f->arena, bsm_str_of(text), &schema));
  assert_string_equal(schema->text, text);
  return schema;
}

static const char *value_text(fixture *f, const bsm_ivalue *value) {
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_iv_print(&text, value);
  return text.data;
}

static void a_schema_is_taken_apart(void **state) {
  fixture *f = *state;
  const bsm_schema *s = parse(
      f,
      "aten::foo.bar_out(Tensor(a!) self, int[2] size=1, Scalar? p=None, *, "
      "float eps=1e-05, str mode=\"a\\nb\", Tensor?[] more=[], ...) -> "
      "(Tensor(a!) values, int[] n)");
  assert_string_equal(s->name, "aten::foo");
  assert_string_equal(s->overload, "bar_out");
  assert_string_equal(s->qualified, "aten::foo.bar_out");
  assert_int_equal(s->arg_count, 6);
  assert_true(s->is_vararg);
  assert_false(s->is_varret);
  assert_string_equal(s->args[0].name, "self");
  assert_true(s->args[0].has_alias && s->args[0].is_write);
  assert_string_equal(s->args[0].alias, "a!");
  assert_false(s->args[0].has_default);
  assert_string_equal(bsm_type_str(&f->arena, s->args[1].type), "int[2]");
  assert_string_equal(value_text(f, &s->args[1].default_value), "[1, 1]");
  assert_true(s->args[2].has_default);
  assert_int_equal(s->args[2].default_value.tag, BSM_IVALUE_NONE);
  assert_false(s->args[2].kwarg_only);
  assert_true(s->args[3].kwarg_only);
  assert_true(s->args[3].default_value.u.d == 1e-05);
  assert_string_equal(value_text(f, &s->args[4].default_value), "a\nb");
  assert_int_equal(s->args[5].default_value.tag, BSM_IVALUE_LIST);
  assert_int_equal(s->return_count, 2);
  assert_string_equal(s->returns[0].name, "values");
  assert_true(s->returns[0].is_write);
  assert_string_equal(s->returns[1].name, "n");
}

static void spellings_of_versions_are_accepted(void **state) {
  fixture *f = *state;
  const bsm_schema *a = parse(f, "aten::relu(Tensor input) -> (Tensor)");
  const bsm_schema *b = parse(f, "aten::relu(Tensor input) -> Tensor");
  assert_int_equal(a->return_count, 1);
  assert_ptr_equal(a->returns[0].type, b->returns[0].type);
  a = parse(f, "aten::linear(Tensor input, Tensor? bias = None) -> (Tensor)");
  assert_true(a->args[1].has_default);
  a = parse(f,
            "aten::x(ScalarType d=long, Layout l=strided, MemoryFormat "
            "m=contiguous_format, SymInt n=3, int r=Mean, float f=1) -> ()");
  const bsm_type *integer = bsm_type_simple(f->cx->types, BSM_TYPE_INT);
  const int64_t want[] = {4, 0, 0, 3, 1};
  for (int i = 0; i < 5; i++) {
    assert_ptr_equal(a->args[i].type, integer);
    assert_int_equal(a->args[i].default_value.u.i, want[i]);
  }
  assert_int_equal(a->args[5].default_value.tag, BSM_IVALUE_DOUBLE);
  assert_int_equal(a->return_count, 0);
  a = parse(f, "prim::Print(...) -> ...");
  assert_true(a->is_vararg && a->is_varret);
  a = parse(f, "aten::get(Dict(str, t)(a!) self, t(b -> *) d) -> t(*)?");
  assert_string_equal(a->args[1].alias, "b -> *");
  assert_string_equal(bsm_type_str(&f->arena, a->returns[0].type), "t?");
  a = parse(f, "aten::items(Dict(str, t) self) -> ((str, t)[])");
  assert_string_equal(bsm_type_str(&f->arena, a->returns[0].type),
                      "(str, t)[]");
  a = parse(f, "aten::y(bool[3] mask=[True, False, True], int[1]? k=2) -> int");
  assert_string_equal(value_text(f, &a->args[0].default_value),
                      "[True, False, True]");
  assert_string_equal(value_text(f, &a->args[1].default_value), "[2]");
}

static void bad_schemas_are_refused(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "expected 'namespace::name'"},
      {"relu(Tensor x) -> Tensor", "expected 'namespace::name'"},
      {"aten::", "expected 'namespace::name'"},
      {"aten::relu", "schema:1:11: expected '(' at the end"},
      {"aten::relu.(Tensor x) -> Tensor", "expected an overload's name"},
      {"aten::relu(Tensor) -> Tensor", "expected an argument's name"},
      {"aten::relu(Tensor x -> Tensor", "schema:1:21: expected ')' before '-'"},
      {"aten::relu(Tensor x)", "expected '->' at the end"},
      {"aten::relu(Tensor x) ->", "expected a type"},
      {"aten::relu(Tensor x) -> Tensor y z", "text after the schema"},
      {"aten::relu(Foo x) -> Tensor", "unknown type 'Foo'"},
      {"aten::relu(int x=y) -> Tensor", "expected a number"},
      {"aten::relu(int x=1.5) -> Tensor", "default of another type than int"},
      {"aten::relu(int[] x=1) -> Tensor", "one value as the default"},
      {"aten::relu(str x=\"a) -> Tensor", "string without an end"},
      {"aten::relu(str x=\"\\q\") -> Tensor", "unknown escape"},
      {"aten::relu(int x=99999999999999999999) -> Tensor", "out of range"},
      {"aten::relu(Tensor(a; x) -> Tensor", "malformed alias"},
      {"aten::relu(..., int x) -> Tensor", "argument after '...'"},
      {"aten::relu(int[99999999] x) -> Tensor", "list of size 99999999"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    bsm_schema *schema;
    bsm_status status = bsm_schema_parse(f->cx->types, &f->arena,
                                         bsm_str_of(bad[i].text), &schema);
    if (!status) fail_msg("'%s' was accepted", bad[i].text);
    if (!strstr(bsm_status_message(status), bad[i].message)) {
      fail_msg("'%s' is not in: %s", bad[i].message,
               bsm_status_message(status));
    }
    bsm_status_free(status);
    assert_null(schema);
  }
  bsm_schema *schema;
  assert_fails(
      bsm_schema_parse(f->cx->types, &f->arena,
                       BSM_STR("aten::a(Tensor\0 x) -> Tensor"), &schema),
      BSM_CORRUPT, "expected an argument's name");
}

/* Every truncation of a schema is refused or is a schema, without a crash. */
static void truncated_schemas(void **state) {
  fixture *f = *state;
  static const char text[] =
      "aten::conv2d.padding(Tensor(a!) input, Dict(str, t)[]? w=None, str "
      "p=\"v\\n\", int[2] d=[1, -1], float f=-1.5e-3) -> (Tensor(a!), t[] y)";
  for (size_t n = 0; n < sizeof text - 1; n++) {
    char *copy = malloc(n + 1);
    memcpy(copy, text, n);
    bsm_schema *schema;
    bsm_status status =
        bsm_schema_parse(f->cx->types, &f->arena, (bsm_str){copy, n}, &schema);
    assert_non_null(status);
    bsm_status_free(status);
    free(copy);
  }
}

static void every_builtin_schema_is_found(void **state) {
  fixture *f = *state;
  size_t count = bsm_schema_table_builtin_count();
  assert_true(count > 3000);
  assert_null(bsm_schema_table_builtin(count));
  for (size_t i = 0; i < count; i++) {
    const char *line = bsm_schema_table_builtin(i);
    bsm_str name = {line, strcspn(line, "(")};
    const bsm_schema *schema;
    assert_ok(bsm_schema_table_find(f->cx->schemas, name, &schema));
    assert_non_null(schema);
    assert_string_equal(schema->text, line);
  }
}

static void schemas_can_be_added(void **state) {
  fixture *f = *state;
  bsm_schema_table *table = f->cx->schemas;
  const bsm_schema *const *overloads, *schema;
  size_t before, after;
  assert_ok(bsm_schema_table_overloads(table, BSM_STR("my::op"), &overloads,
                                       &before));
  assert_int_equal(before, 0);
  assert_null(overloads);
  assert_ok(bsm_schema_table_add(table, BSM_STR("my::op(Tensor x) -> Tensor")));
  assert_ok(bsm_schema_table_find(table, BSM_STR("my::op"), &schema));
  assert_string_equal(schema->text, "my::op(Tensor x) -> Tensor");
  /* A new overload goes last; one of the same name takes its place. */
  assert_ok(bsm_schema_table_overloads(table, BSM_STR("aten::relu"), &overloads,
                                       &before));
  assert_ok(bsm_schema_table_add(
      table, BSM_STR("aten::relu.mine(Tensor x, int y) -> Tensor")));
  assert_ok(bsm_schema_table_add(
      table, BSM_STR("aten::relu.mine(Tensor x, float y) -> Tensor")));
  assert_ok(bsm_schema_table_overloads(table, BSM_STR("aten::relu"), &overloads,
                                       &after));
  assert_int_equal(after, before + 1);
  assert_string_equal(overloads[before]->text,
                      "aten::relu.mine(Tensor x, float y) -> Tensor");
  assert_fails(bsm_schema_table_add(table, BSM_STR("aten::x(")), BSM_CORRUPT,
               "in schema 'aten::x('");
  assert_ok(bsm_schema_table_find(table, BSM_STR("aten::nope.x"), &schema));
  assert_null(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(a_schema_is_taken_apart),
      fixture_test(spellings_of_versions_are_accepted),
      fixture_test(bad_schemas_are_refused),
      fixture_test(truncated_schemas),
      fixture_test(every_builtin_schema_is_found),
      fixture_test(schemas_can_be_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
