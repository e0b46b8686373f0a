/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of torch.export that lie: each a small program with one thing
 * changed, refused with the place that is wrong. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "tests/exported/exported_world.h"

static bsm_limits limits;

/* What fails keeps nothing of the file; what does not is not looked at. */
static bsm_status load(exported_world *w, const zip_builder *z) {
  void *copy = NULL;
  assert_int_equal(posix_memalign(&copy, 64, z->len), 0);
  memcpy(copy, z->data, z->len);
  const bsm_status status = exported_load(
      w, NULL, limits.struct_size ? &limits : NULL, copy, z->len, NULL);
  free(copy);
  return status;
}

static void expect_failure(const exported_texts *t, bsm_code code,
                           const char *text) {
  zip_builder z;
  exported_world w;
  exported_build(&z, t);
  const bsm_status status = load(&w, &z);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s, expected %s with \"%s\"",
             bsm_code_name(bsm_status_code(status)), bsm_status_message(status),
             bsm_code_name(code), text);
  }
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
  free(z.data);
}

/* The program whose JSON has `to` instead of `from`. */
static void refuse_model(const char *from, const char *to, bsm_code code,
                         const char *text) {
  exported_texts t = exported_small();
  char *changed = exported_replace(exported_model, from, to);
  t.model = changed;
  expect_failure(&t, code, text);
  free(changed);
}

static void refuse_weights(const char *from, const char *to, bsm_code code,
                           const char *text) {
  exported_texts t = exported_small();
  char *changed = exported_replace(exported_weights, from, to);
  t.weights = changed;
  expect_failure(&t, code, text);
  free(changed);
}

/* ---- what is right ---- */

typedef struct small {
  zip_builder z;
  exported_world w;
} small;

static void load_small(small *s, const exported_texts *t) {
  exported_build(&s->z, t);
  const bsm_status status =
      exported_load(&s->w, NULL, NULL, s->z.data, s->z.len, NULL);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void drop_small(small *s) {
  bsm_arena_destroy(&s->w.arena);
  free(s->z.data);
}

static void the_small_program_is_read(void **state) {
  (void)state;
  small s;
  const exported_texts t = exported_small();
  load_small(&s, &t);
  const bsm_exported_program *p = s.w.program;
  assert_int_equal(p->graph->node_count, 1);
  assert_false(p->has_examples);
  assert_true(bsm_tensor_get_double(p->inputs[0].tensor, 1) == 2);
  const bsm_exported_meta *x = bsm_exported_tensor(p->graph, "x");
  assert_int_equal(x->rank, 2);
  assert_non_null(x->sizes[0].expr);
  assert_true(x->sizes[0].has_hint && x->sizes[0].number.i == 3);
  assert_int_equal(p->symbols.symbols.items[0].min, 2);
  assert_int_equal(p->symbols.symbols.items[0].max, 8);
  assert_null(bsm_exported_tensor(p->graph, "z"));
  assert_null(bsm_exported_sym_value(p->graph, "x"));
  drop_small(&s);
}

/* The second argument of the node, when it is `json`. */
static const bsm_exported_arg *argument(small *s, const char *json) {
  exported_texts t = exported_small();
  char *changed = exported_replace(
      exported_model, "\"arg\":{\"as_tensor\":{\"name\":\"w\"}}", json);
  t.model = changed;
  load_small(s, &t);
  free(changed);
  return &s->w.program->graph->nodes[0].inputs[1].arg;
}

#define ARG(text) argument(&s, "\"arg\":{" text "}")

static void plain_arguments_are_read(void **state) {
  (void)state;
  small s;
  const bsm_exported_arg *a = ARG("\"as_none\":true");
  assert_int_equal(a->tag, BSM_EXPORTED_NONE);
  drop_small(&s);
  a = ARG("\"as_none\":[]"); /* before schema 8 */
  assert_int_equal(a->tag, BSM_EXPORTED_NONE);
  drop_small(&s);
  a = ARG("\"as_int\":9223372036854775807");
  assert_true(a->tag == BSM_EXPORTED_INT && a->u.i == INT64_MAX);
  drop_small(&s);
  a = ARG("\"as_ints\":[-9223372036854775808,0]");
  assert_true(a->tag == BSM_EXPORTED_INTS && a->u.ints.len == 2);
  assert_true(a->u.ints.items[0] == INT64_MIN);
  drop_small(&s);
  a = ARG("\"as_float\":\"-Infinity\"");
  assert_true(a->tag == BSM_EXPORTED_FLOAT && a->u.d == -INFINITY);
  drop_small(&s);
  a = ARG("\"as_floats\":[\"Infinity\",\"NaN\",1e-300,3]");
  assert_true(a->tag == BSM_EXPORTED_FLOATS && a->u.floats.len == 4);
  assert_true(a->u.floats.items[0] == INFINITY);
  assert_true(isnan(a->u.floats.items[1]));
  assert_true(a->u.floats.items[2] == 1e-300 && a->u.floats.items[3] == 3);
  drop_small(&s);
  /* Bare, as before torch 2.6; in strings they are text. */
  a = ARG("\"as_floats\":[-Infinity,NaN,Infinity,-1]");
  assert_true(a->u.floats.items[0] == -INFINITY);
  assert_true(isnan(a->u.floats.items[1]));
  assert_true(a->u.floats.items[2] == INFINITY && a->u.floats.items[3] == -1);
  drop_small(&s);
  a = ARG("\"as_strings\":[\"NaN\",\"a\\\"-Infinity\",\"\\\\\"],\"x\":null");
  assert_string_equal(a->u.strings.items[1], "a\"-Infinity");
  drop_small(&s);
  a = ARG("\"as_float\":NaN,\"y\":null,\"as_none\":null");
  assert_true(a->tag == BSM_EXPORTED_FLOAT && isnan(a->u.d));
  drop_small(&s);
  a = ARG("\"as_string\":\"mean\"");
  assert_int_equal(a->tag, BSM_EXPORTED_STRING);
  assert_string_equal(a->u.s, "mean");
  drop_small(&s);
  a = ARG("\"as_strings\":[\"a\",\"\\u00e9\"]");
  assert_true(a->tag == BSM_EXPORTED_STRINGS && a->u.strings.len == 2);
  assert_string_equal(a->u.strings.items[1], "\xc3\xa9");
  drop_small(&s);
  a = ARG("\"as_bool\":false");
  assert_true(a->tag == BSM_EXPORTED_BOOL && !a->u.b);
  drop_small(&s);
  a = ARG("\"as_bools\":[true,false]");
  assert_true(a->tag == BSM_EXPORTED_BOOLS && a->u.bools.items[0]);
  drop_small(&s);
  a = ARG("\"as_complex\":{\"real\":1.5,\"imag\":\"Infinity\"}");
  assert_true(a->tag == BSM_EXPORTED_COMPLEX && a->u.c.re == 1.5);
  assert_true(a->u.c.im == INFINITY);
  drop_small(&s);
  a = ARG("\"as_operator\":\"torch.ops.aten.mul.Tensor\"");
  assert_int_equal(a->tag, BSM_EXPORTED_OPERATOR);
  assert_string_equal(a->u.s, "torch.ops.aten.mul.Tensor");
  drop_small(&s);
}

static void enumerations_are_translated(void **state) {
  (void)state;
  small s;
  const bsm_exported_arg *a = ARG("\"as_scalar_type\":13");
  assert_true(a->tag == BSM_EXPORTED_SCALAR_TYPE);
  assert_int_equal(a->u.dtype.dtype, BSM_DTYPE_BFLOAT16);
  drop_small(&s);
  a = ARG("\"as_scalar_type\":29");
  assert_int_equal(a->u.dtype.dtype, BSM_DTYPE_FLOAT8_E4M3FN);
  drop_small(&s);
  a = ARG("\"as_scalar_type\":31");
  assert_int_equal(a->u.dtype.dtype, BSM_DTYPE_UNDEFINED);
  assert_string_equal(a->u.dtype.name, "float8_e4m3fnuz");
  drop_small(&s);
  a = ARG("\"as_memory_format\":4");
  assert_true(a->tag == BSM_EXPORTED_MEMORY_FORMAT && a->u.i == 1);
  drop_small(&s);
  a = ARG("\"as_layout\":7");
  assert_true(a->tag == BSM_EXPORTED_LAYOUT && a->u.i == BSM_EXPORTED_STRIDED);
  drop_small(&s);
  a = ARG("\"as_device\":{\"type\":\"cuda\",\"index\":1}");
  assert_true(a->tag == BSM_EXPORTED_DEVICE && a->u.device.type == 1);
  assert_int_equal(a->u.device.index, 1);
  drop_small(&s);
}

static void symbolic_arguments_are_read(void **state) {
  (void)state;
  small s;
  const bsm_exported_arg *a = ARG("\"as_sym_int\":{\"as_name\":\"n\"}");
  assert_true(a->tag == BSM_EXPORTED_SYM_INT);
  assert_string_equal(a->u.sym.name, "n");
  drop_small(&s);
  a = ARG("\"as_sym_ints\":[{\"as_name\":\"n\"},{\"as_int\":-1}]");
  assert_true(a->tag == BSM_EXPORTED_SYM_INTS && a->u.syms.len == 2);
  assert_null(a->u.syms.items[1].name);
  assert_int_equal(a->u.syms.items[1].number.i, -1);
  drop_small(&s);
  a = ARG("\"as_sym_float\":{\"as_float\":0.5}");
  assert_true(a->tag == BSM_EXPORTED_SYM_FLOAT && a->u.sym.number.d == 0.5);
  drop_small(&s);
  a = ARG("\"as_sym_floats\":[{\"as_name\":\"f\"}]");
  assert_int_equal(a->u.syms.items[0].number.kind, BSM_SYM_KIND_FLOAT);
  drop_small(&s);
  a = ARG("\"as_sym_bool\":{\"as_bool\":true}");
  assert_true(a->tag == BSM_EXPORTED_SYM_BOOL && a->u.sym.number.i == 1);
  drop_small(&s);
  a = ARG("\"as_sym_bools\":[]");
  assert_true(a->tag == BSM_EXPORTED_SYM_BOOLS && a->u.syms.len == 0);
  drop_small(&s);
}

static void tensors_and_nests_are_read(void **state) {
  (void)state;
  small s;
  const bsm_exported_arg *a =
      ARG("\"as_tensors\":[{\"name\":\"x\"},{\"name\":\"w\"}]");
  assert_true(a->tag == BSM_EXPORTED_TENSORS && a->u.strings.len == 2);
  drop_small(&s);
  a =
      ARG("\"as_optional_tensors\":[{\"as_none\":true},"
          "{\"as_tensor\":{\"name\":\"x\"}}]");
  assert_true(a->tag == BSM_EXPORTED_OPTIONAL_TENSORS);
  assert_null(a->u.strings.items[0]);
  assert_string_equal(a->u.strings.items[1], "x");
  drop_small(&s);
  a = ARG("\"as_optional_tensor\":{\"as_none\":true}");
  assert_true(a->tag == BSM_EXPORTED_OPTIONAL_TENSOR && !a->u.s);
  drop_small(&s);
  a = ARG("\"as_nested_tensors\":[[{\"name\":\"x\"}],[]]");
  assert_true(a->tag == BSM_EXPORTED_NESTED_TENSORS && a->u.list.len == 2);
  assert_int_equal(a->u.list.items[0].u.strings.len, 1);
  drop_small(&s);
  a = ARG("\"as_int_lists\":[[1,2],[3]]");
  assert_int_equal(a->u.list.items[1].u.ints.items[0], 3);
  drop_small(&s);
  a = ARG("\"as_float_lists\":[[0.5]]");
  assert_true(a->u.list.items[0].u.floats.items[0] == 0.5);
  drop_small(&s);
  a =
      ARG("\"as_string_to_argument\":{\"b\":{\"as_int\":1},"
          "\"a\":{\"as_none\":true}}");
  assert_true(a->tag == BSM_EXPORTED_STRING_TO_ARGUMENT);
  assert_string_equal(a->u.list.keys[0], "b");
  assert_int_equal(a->u.list.items[0].u.i, 1);
  drop_small(&s);
  a = ARG("\"as_custom_obj\":{\"name\":\"o\",\"class_fqn\":\"my.Class\"}");
  assert_string_equal(a->u.custom_obj.class_name, "my.Class");
  drop_small(&s);
  a =
      ARG("\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[],"
          "\"outputs\":[],\"nodes\":[],\"tensor_values\":{},"
          "\"sym_int_values\":{\"n\":{\"as_int\":4}},"
          "\"sym_float_values\":{\"f\":{\"as_float\":1.5}},"
          "\"sym_bool_values\":{\"b\":{\"as_expr\":{\"expr_str\":"
          "\"Equality(Symbol('s0', integer=True), Integer(3))\","
          "\"hint\":null}}},\"is_single_tensor_return\":true}}");
  assert_int_equal(a->tag, BSM_EXPORTED_GRAPH);
  assert_string_equal(a->u.graph->name, "g");
  assert_true(a->u.graph->is_single_tensor_return);
  assert_int_equal(bsm_exported_sym_value(a->u.graph, "n")->number.i, 4);
  assert_true(bsm_exported_sym_value(a->u.graph, "f")->number.d == 1.5);
  assert_non_null(bsm_exported_sym_value(a->u.graph, "b")->expr);
  drop_small(&s);
}

/* ---- archives ---- */

static void wrong_archives_are_refused(void **state) {
  (void)state;
  exported_texts t = exported_small();
  t.format = "pt3";
  expect_failure(&t, BSM_UNSUPPORTED, "archive_format is \"pt3\"");
  t = exported_small();
  t.format = NULL;
  expect_failure(&t, BSM_CORRUPT, "not an archive of torch.export");
  t = exported_small();
  t.version = "1";
  expect_failure(&t, BSM_VERSION, "archive_version is \"1\"; \"0\"");
  t = exported_small();
  t.byteorder = "middle";
  expect_failure(&t, BSM_CORRUPT, "byteorder is neither little nor big");
  t = exported_small();
  t.model = NULL;
  expect_failure(&t, BSM_CORRUPT, "it holds no program");
  t = exported_small();
  t.weights = NULL;
  expect_failure(&t, BSM_CORRUPT,
                 "no member \"data/weights/model_weights_config.json\"");
  t = exported_small();
  t.constants = NULL;
  expect_failure(&t, BSM_CORRUPT,
                 "no member \"data/constants/model_constants_config.json\"");
  t = exported_small();
  t.weight = NULL;
  expect_failure(&t, BSM_CORRUPT, "no member \"data/weights/weight_0\"");
  t = exported_small();
  t.weight_size = 0;
  expect_failure(&t, BSM_UNSUPPORTED, "fake tensors");
  t = exported_small();
  t.weight_size = 7;
  expect_failure(&t, BSM_CORRUPT, "tensor_meta");
}

static void other_packages_are_named(void **state) {
  (void)state;
  static const struct {
    const char *member, *text;
  } cases[] = {{"m/data/aotinductor/model/a.so", "AOTInductor"},
               {"m/data/executorch/model.pte", "ExecuTorch"},
               {"m/data/other", "holds no program"}};
  for (size_t i = 0; i < 3; i++) {
    const zip_member members[] = {
        {.name = "m/archive_format", .data = "pt2", .size = 3},
        {.name = cases[i].member, .data = "x", .size = 1}};
    zip_builder z;
    exported_world w;
    zip_build(&z, members, 2, 1);
    assert_true(bsm_exported_is_archive(z.data, z.len));
    const bsm_status status = load(&w, &z);
    assert_non_null(strstr(bsm_status_message(status), cases[i].text));
    bsm_status_free(status);
    bsm_arena_destroy(&w.arena);
    free(z.data);
  }
  assert_false(bsm_exported_is_archive("PK\3\4", 4));
  assert_false(bsm_exported_is_archive("", 0));
  const zip_member other[] = {{.name = "m/data.pkl", .data = "x", .size = 1}};
  zip_builder z;
  zip_build(&z, other, 1, 1);
  assert_false(bsm_exported_is_archive(z.data, z.len));
  free(z.data);
}

static void other_schemas_are_refused(void **state) {
  (void)state;
  refuse_model("\"major\":8", "\"major\":9", BSM_VERSION,
               "schema 9.17, of torch 2.11.0; majors 5 to 8");
  refuse_model("\"major\":8", "\"major\":4", BSM_VERSION, "schema 4.17");
  refuse_model("\"major\":8", "\"major\":\"8\"", BSM_CORRUPT,
               "models/model.json: schema_version.major: is a string, not an "
               "integer");
  refuse_model("\"schema_version\"", "\"other\"", BSM_CORRUPT,
               "models/model.json: has no key \"schema_version\"");
}

/* Numbers of the other order are turned around by their size: one member cannot
 * have two. */
static void sizes_of_turned_numbers_agree(void **state) {
  (void)state;
  exported_texts t = exported_small();
  t.byteorder = BSM_HOST_IS_BIG ? "little" : "big";
  char *two = exported_replace(
      exported_weights, "{\"config\":{",
      "{\"config\":{\"half\":{\"path_name\":\"weight_0\",\"is_param\":false,"
      "\"use_pickle\":false,\"tensor_meta\":" EXPORTED_VECTOR "},");
  char *half = exported_replace(two, "\"dtype\":7", "\"dtype\":6");
  t.weights = two;
  small s;
  load_small(&s, &t);
  drop_small(&s);
  t.weights = half;
  expect_failure(&t, BSM_UNSUPPORTED, "is both float16 and float32");
  free(half);
  free(two);
}

/* ---- JSON ---- */

static void malformed_json_is_refused(void **state) {
  (void)state;
  exported_texts t = exported_small();
  static const char *const texts[] = {"",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,\"a\":2}",
                                      "\"\\u0000\"",
                                      "{} x",
                                      "\"\xff\"",
                                      "-Infinit",
                                      "[NaNNaN]",
                                      "1e999",
                                      "99999999999999999999"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    t.model = texts[i];
    expect_failure(&t, BSM_CORRUPT, "models/model.json: line 1, column");
  }
  t.model = "[]";
  expect_failure(&t, BSM_CORRUPT, "models/model.json: is an array, not an");
  t = exported_small();
  t.weights = "{\"config\":[]}";
  expect_failure(&t, BSM_CORRUPT,
                 "model_weights_config.json: config: is an array");
  /* Every truncation of the program. */
  char copy[sizeof exported_model];
  t = exported_small();
  for (size_t n = 0; n < sizeof exported_model - 1; n += 7) {
    memcpy(copy, exported_model, n);
    copy[n] = 0;
    t.model = copy;
    expect_failure(&t, BSM_CORRUPT, "models/model.json: line 1");
  }
}

static void limits_are_kept(void **state) {
  (void)state;
  const size_t size = 2000;
  char *deep = malloc(2 * size + 1);
  assert_non_null(deep);
  memset(deep, '[', size);
  memset(deep + size, ']', size);
  deep[2 * size] = 0;
  exported_texts t = exported_small();
  t.model = deep;
  expect_failure(&t, BSM_LIMIT, "max_depth");
  deep[size] = 0; /* even when nothing closes */
  expect_failure(&t, BSM_LIMIT, "max_depth");
  free(deep);
  t = exported_small();
  limits = (bsm_limits)BSM_LIMITS_INIT;
  limits.max_json_values = 20;
  expect_failure(&t, BSM_LIMIT, "the limit is 20");
  limits = (bsm_limits)BSM_LIMITS_INIT;
  limits.max_source_bytes = sizeof exported_model - 2;
  expect_failure(&t, BSM_LIMIT, "bytes; the limit is");
  limits = (bsm_limits)BSM_LIMITS_INIT;
  limits.max_tensor_bytes = 7;
  expect_failure(&t, BSM_LIMIT, "the limit is 7 bytes");
  limits = (bsm_limits)BSM_LIMITS_INIT;
  limits.max_nodes = 1;
  small s;
  load_small(&s, &t);
  drop_small(&s);
  char *two = exported_replace(
      exported_model, "\"nodes\":[",
      "\"nodes\":[{\"target\":\"a\",\"inputs\":[],\"outputs\":[],"
      "\"metadata\":{}},");
  t.model = two;
  expect_failure(&t, BSM_LIMIT, "nodes[1]: the program has more than 1 nodes");
  free(two);
  limits = (bsm_limits){0};
}

/* ---- the program ---- */

static void wrong_places_are_named(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *text;
  } cases[] = {
      {"{\"as_tensor\":{\"name\":\"w\"}},\"kind\"",
       "{\"as_tensr\":{\"name\":\"w\"}},\"kind\"",
       "models/model.json: graph_module.graph.nodes[0].inputs[1].arg.as_tensr: "
       "is not known to schema 8.20, the newest that can be read; the file's "
       "is "
       "8.17"},
      {"{\"as_tensor\":{\"name\":\"w\"}},\"kind\"", "{},\"kind\"",
       "nodes[0].inputs[1].arg: has 0 alternatives"},
      {"{\"as_tensor\":{\"name\":\"w\"}},\"kind\"",
       "{\"as_int\":1,\"as_bool\":true},\"kind\"", "has 2 alternatives"},
      {"\"kind\":1", "\"kind\":3", "inputs[0].kind: 3 is no kind"},
      {"\"kind\":1", "\"kind\":-1", "inputs[0].kind: -1 is no kind"},
      {"\"target\":", "\"tarket\":", "nodes[0]: has no key \"target\""},
      {"\"metadata\":{}", "\"metadata\":[]", "nodes[0].metadata: is an array"},
      {"\"metadata\":{}", "\"metadata\":{\"stack_trace\":1}",
       "metadata.stack_trace: is an integer"},
      {"\"is_hop_single_tensor_return\":null",
       "\"is_hop_single_tensor_return\":1",
       "return: is an integer, not a bool"},
      {"\"nodes\":[", "\"nodes\":[1,", "nodes[0]: is an integer"},
      {"\"dtype\":7", "\"dtype\":99", "tensor_values.w.dtype: 99 is no dtype"},
      {"\"dtype\":7", "\"dtype\":-1", "-1 is no dtype"},
      {"\"layout\":7", "\"layout\":8", "w.layout: 8 is no layout"},
      {"\"sizes\":[{\"as_int\":2}]", "\"sizes\":[{\"as_int\":-2}]",
       "w.sizes[0]: is negative"},
      {"\"sizes\":[{\"as_int\":2}]", "\"sizes\":[]",
       "w: has 0 sizes and 1 strides"},
      {"\"sizes\":[{\"as_int\":2}]", "\"sizes\":[{\"as_bool\":true}]",
       "is a number of the wrong kind"},
      {"\"sizes\":[{\"as_int\":2}]", "\"sizes\":[{\"as_it\":2}]",
       "sizes[0].as_it: is not known"},
      {"\"storage_offset\":{\"as_int\":0}",
       "\"storage_offset\":{\"as_int\":-1}", "negative storage offset"},
      {"\"type\":\"cpu\",\"index\":null", "\"type\":\"cpu\",\"index\":999",
       "device.index: 999 is no device"},
      {"\"type\":\"cpu\",\"index\":null", "\"type\":\"\",\"index\":null",
       "empty device"},
      {"Symbol('s0', positive=True, integer=True)", "Symbol(",
       "in models/model.json: graph_module.graph.tensor_values.x.sizes[0]."
       "as_expr.expr_str"},
      {"\"hint\":{\"as_int\":3}", "\"hint\":{\"as_int\":\"3\"}",
       "as_expr.hint.as_int: is a string"},
      {"\"min_val\":2,\"max_val\":8", "\"min_val\":9,\"max_val\":8",
       "range_constraints.s0: is empty"},
      {"\"buffer\":{", "\"puffer\":{", "input_specs[0].puffer: is not known"},
      {"\"buffer_name\":\"m.w\"", "\"buffer_name\":\"m.v\"",
       "input_specs[0].buffer: the archive has no tensor \"m.v\""},
      {"{\"arg\":{\"name\":\"w\"}", "{\"arg\":{\"name\":\"v\"}",
       "input_specs[0]: is \"v\", but input 0 of the graph \"w\""},
      {"{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}", "1",
       "input_specs[1]: is an integer, not an object"},
      {",{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}", "",
       "input_specs: has 1 items, but the graph 2 inputs"},
      {"{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}", "",
       "output_specs: has 0 items, but the graph 1 outputs"},
      {"{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}",
       "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}",
       "output_specs[0]: is \"x\", but output 0 of the graph \"y\""},
      {"\"user_output\":", "\"output\":", "output_specs[0].output: is not"},
      {"\"guards_code\":[]", "\"guards_code\":[1]", "guards_code[0]"},
      {"\"forward_arg_names\":[\"x\"]", "\"forward_arg_names\":{}",
       "signature.forward_arg_names: is an object"},
      {"\"fqn\":\"\"", "\"fqn\":1", "module_call_graph[0].fqn: is an integer"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    refuse_model(cases[i].from, cases[i].to, BSM_CORRUPT, cases[i].text);
  }
  refuse_model("\"sizes\":[{\"as_int\":2}]",
               "\"sizes\":[{\"as_int\":2},{\"as_int\":2},{\"as_int\":2},"
               "{\"as_int\":2},{\"as_int\":2},{\"as_int\":2},{\"as_int\":2},"
               "{\"as_int\":2},{\"as_int\":2},{\"as_int\":2},{\"as_int\":2},"
               "{\"as_int\":2},{\"as_int\":2}]",
               BSM_LIMIT, "rank 13");
}

static void wrong_trees_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *text;
  } cases[] = {
      {"\"in_spec\":\"[1,", "\"in_spec\":\"[2,", "protocol 2"},
      {"\"in_spec\":\"[1,", "\"in_spec\":\"[", "has 1 items instead of 2"},
      {"\"in_spec\":\"[1,", "\"in_spec\":\"{", "in_spec: line 1"},
      {"\"out_spec\":\"[1,", "\"out_spec\":\"[1,[", "out_spec: line 1"},
      {"\"builtins.dict\\\",\\\"context\\\":\\\"[]\\\"",
       "\"builtins.dict\\\",\\\"context\\\":\\\"[1]\\\"",
       "has 1 keys for 0 values"},
      {"\"builtins.dict\\\",\\\"context\\\":\\\"[]\\\"",
       "\"builtins.list\\\",\\\"context\\\":\\\"[]\\\"",
       "no pair of positional and keyword"},
      {"\"builtins.dict\\\",\\\"context\\\":\\\"[]\\\"",
       "\"builtins.dict\\\",\\\"context\\\":\\\"[\\\"", "a context: line 1"},
      {"\"out_spec\":\"[1," EXPORTED_LEAF "]\"",
       "\"out_spec\":\"[1," EXPORTED_NODE("builtins.tuple", "\\\"null\\\"",
                                          EXPORTED_LEAF
                                          "," EXPORTED_LEAF) "]\"",
       "takes 1 values and gives 2, but the graph's signature 1 and 1"},
      {"\"out_spec\":\"[1," EXPORTED_LEAF "]\"",
       "\"out_spec\":\"[1,{\\\"type\\\":null,\\\"context\\\":null,"
       "\\\"children_spec\\\":[" EXPORTED_LEAF "]}]\"",
       "is a leaf with children"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bool is_version = strstr(cases[i].text, "protocol") != NULL;
    refuse_model(cases[i].from, cases[i].to,
                 is_version ? BSM_VERSION : BSM_CORRUPT, cases[i].text);
  }
}

/* ---- weights ---- */

static void lies_about_weights_are_refused(void **state) {
  (void)state;
  static const char *const sizes[] = {
      "{\"as_int\":3}", "{\"as_int\":4611686018427387904}",
      "{\"as_int\":9223372036854775807}",
      "{\"as_int\":2305843009213693953}", /* times 4 wraps to 4 */
  };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char to[96];
    snprintf(to, sizeof to, "\"sizes\":[%s]", sizes[i]);
    refuse_weights("\"sizes\":[{\"as_int\":2}]", to,
                   i ? BSM_LIMIT : BSM_CORRUPT,
                   "model_weights_config.json: config.m.w.tensor_meta");
  }
  refuse_weights("\"strides\":[{\"as_int\":1}]", "\"strides\":[{\"as_int\":2}]",
                 BSM_CORRUPT, "tensor_meta");
  refuse_weights("\"strides\":[{\"as_int\":1}]",
                 "\"strides\":[{\"as_int\":9223372036854775807}]", BSM_CORRUPT,
                 "tensor_meta");
  refuse_weights("\"strides\":[{\"as_int\":1}]",
                 "\"strides\":[{\"as_int\":-1}]", BSM_CORRUPT,
                 "strides[0]: is negative");
  refuse_weights("\"storage_offset\":{\"as_int\":0}",
                 "\"storage_offset\":{\"as_int\":1}", BSM_CORRUPT,
                 "tensor_meta");
  refuse_weights("\"storage_offset\":{\"as_int\":0}",
                 "\"storage_offset\":{\"as_int\":9223372036854775807}",
                 BSM_CORRUPT, "tensor_meta");
  refuse_weights("\"dtype\":7", "\"dtype\":8", BSM_CORRUPT, "tensor_meta");
  refuse_weights("\"dtype\":7", "\"dtype\":31", BSM_UNSUPPORTED,
                 "stored tensors of float8_e4m3fnuz");
  refuse_weights("\"layout\":7", "\"layout\":1", BSM_UNSUPPORTED, "sparse");
  refuse_weights("\"sizes\":[{\"as_int\":2}]",
                 "\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0')\"}}]",
                 BSM_CORRUPT, "symbolic size");
  refuse_weights("\"weight_0\"", "\"../weights/weight_0\"", BSM_CORRUPT,
                 "no member \"data/weights/../weights/weight_0\"");
  refuse_weights("\"use_pickle\":false", "\"use_pickle\":true", BSM_CORRUPT,
                 "in member data/weights/weight_0");
  refuse_weights("\"tensor_meta\":", "\"meta\":", BSM_CORRUPT,
                 "config.m.w: has no key \"tensor_meta\"");
}

static void strides_of_zero_cost_nothing(void **state) {
  (void)state;
  exported_texts t = exported_small();
  char *one = exported_replace(exported_weights, "\"sizes\":[{\"as_int\":2}]",
                               "\"sizes\":[{\"as_int\":1000000}]");
  char *two = exported_replace(one, "\"strides\":[{\"as_int\":1}]",
                               "\"strides\":[{\"as_int\":0}]");
  t.weights = two;
  small s;
  load_small(&s, &t);
  assert_int_equal(s.w.program->inputs[0].tensor->sizes.d[0], 1000000);
  assert_in_range(s.w.arena.total, 0, 1 << 20);
  drop_small(&s);
  free(one);
  free(two);
}

static void custom_objects_keep_their_class(void **state) {
  (void)state;
  exported_texts t = exported_small();
  char *model = exported_replace(
      exported_model,
      "{\"buffer\":{\"arg\":{\"name\":\"w\"},\"buffer_name\":\"m.w\","
      "\"persistent\":true}}",
      "{\"custom_obj\":{\"arg\":{\"name\":\"w\",\"class_fqn\":\"my.Class\"},"
      "\"custom_obj_name\":\"m.o\"}}");
  t.model = model;
  t.constants =
      "{\"config\":{\"m.o\":{\"path_name\":\"custom_obj_0\","
      "\"is_param\":false,\"use_pickle\":true,\"tensor_meta\":null}}}";
  small s;
  load_small(&s, &t);
  const bsm_exported_input_spec *spec = &s.w.program->inputs[0];
  assert_int_equal(spec->kind, BSM_EXPORTED_CUSTOM_OBJECT);
  assert_string_equal(spec->class_name, "my.Class");
  assert_string_equal(spec->target, "m.o");
  drop_small(&s);
  free(model);
}

/* ---- whole files ---- */

static void every_flipped_byte_is_survived(void **state) {
  (void)state;
  exported_texts t = exported_small();
  char copy[sizeof exported_model];
  for (size_t i = 0; i < sizeof exported_model - 1; i++) {
    memcpy(copy, exported_model, sizeof copy);
    copy[i] = (char)(copy[i] ^ 1 << i % 7);
    t.model = copy;
    zip_builder z;
    exported_world w;
    exported_build(&z, &t);
    bsm_status_free(load(&w, &z));
    bsm_arena_destroy(&w.arena);
    free(z.data);
  }
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  exported_blob b = exported_file("old.pt2", 0);
  for (size_t n = 0; n < b.size; n += 97) {
    uint8_t *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, b.data, n);
    exported_world w;
    const bsm_status status = exported_load(&w, NULL, NULL, copy, n, NULL);
    assert_non_null(status);
    bsm_status_free(status);
    bsm_arena_destroy(&w.arena);
    free(copy);
  }
  free(b.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_small_program_is_read),
      cmocka_unit_test(plain_arguments_are_read),
      cmocka_unit_test(enumerations_are_translated),
      cmocka_unit_test(symbolic_arguments_are_read),
      cmocka_unit_test(tensors_and_nests_are_read),
      cmocka_unit_test(wrong_archives_are_refused),
      cmocka_unit_test(other_packages_are_named),
      cmocka_unit_test(other_schemas_are_refused),
      cmocka_unit_test(sizes_of_turned_numbers_agree),
      cmocka_unit_test(malformed_json_is_refused),
      cmocka_unit_test(limits_are_kept),
      cmocka_unit_test(wrong_places_are_named),
      cmocka_unit_test(wrong_trees_are_refused),
      cmocka_unit_test(lies_about_weights_are_refused),
      cmocka_unit_test(strides_of_zero_cost_nothing),
      cmocka_unit_test(custom_objects_keep_their_class),
      cmocka_unit_test(every_flipped_byte_is_survived),
      cmocka_unit_test(every_truncation_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
