/* SPDX-License-Identifier: Apache-2.0 */
/* Structured arguments and results: methods of tests/data/structured are
 * compiled with specs in the grammar of the command line, their structures are
 * compared as text, and an engine that went through a file gives PyTorch's
 * results under the names of its outputs. What does not fit is refused with a
 * message that says where. */
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
#include <string.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "tools/input_spec.h"
#include "tools/npy.h"

/* Engines for GPUs carry machine code; these were built by the test. */
static const bsm_engine_load_options own_file = {
    .struct_size = sizeof(own_file), .trust_code = true};

#define MAX_BINDINGS 8

typedef struct io_case {
  const char *name;   /* of the arrays; the method's, unless given */
  const char *method; /* NULL: the name */
  const char *specs;
  const char *arguments, *result;
} io_case;

static const io_case cases[] = {
    {"forward", NULL, "(2,4)", "forward(x=Tensor -> 0)", "Tensor -> 0"},
    {"nested", NULL, "batch={a: [f32[2,3], (1)], \"b.c\": [(4)]}, scale=1.5",
     "nested(batch={\"a\": [Tensor -> 0, Tensor -> 1], \"b.c\": [Tensor -> "
     "2]}, "
     "scale=1.5)",
     "{\"a_scaled\": [Tensor -> 0, Tensor -> 1], \"b.c_scaled\": [Tensor -> "
     "2]}"},
    {"named", NULL, "pair=Pair(left=f32[3,2], right=(3,2)), bias=default",
     "named(pair=Pair(left=Tensor -> 0, right=Tensor -> 1), bias=0.5)",
     "Found(boxes=Tensor -> 0, label=\"found\", pair=Pair(left=Tensor -> 1, "
     "right=Tensor -> 2), count=int -> 3 = 3)"},
    {"named", NULL, "{right: (3,2), left: (3,2)}",
     "named(pair=Pair(left=Tensor -> 0, right=Tensor -> 1), bias=0.5)",
     "Found(boxes=Tensor -> 0, label=\"found\", pair=Pair(left=Tensor -> 1, "
     "right=Tensor -> 2), count=int -> 3 = 3)"},
    {"optional", NULL, "x=(2,2)",
     "optional(x=Tensor -> 0, mask=None, factor=3)", "Tensor -> 0"},
    {"optional_given", "optional", "factor=none, mask=(2,2), x=(2,2)",
     "optional(x=Tensor -> 0, mask=Tensor -> 1, factor=None)", "Tensor -> 0"},
    {"total", NULL, "[(1,2), (3,2), (2,2)]",
     "total(xs=[Tensor -> 0, Tensor -> 1, Tensor -> 2])",
     "(Tensor -> 0, int -> 1 = 3)"},
    {"choose", NULL, "(3), \"relu\", true",
     "choose(x=Tensor -> 0, mode=\"relu\", negate=True)",
     "(Tensor -> 0, \"used relu\")"},
    {"sized", NULL, "(4), 2, [2, 2], tuple(1, 2)",
     "sized(x=Tensor -> 0, n=2, shape=[2, 2], pads=(1, 2))", "Tensor -> 0"},
    {"tuples", NULL, "(((2), (2)), (2))",
     "tuples(p=((Tensor -> 0, Tensor -> 1), Tensor -> 2))",
     "((Tensor -> 0, (Tensor -> 1, (Tensor -> 2,))), Tensor -> 3)"},
    {"mixed", NULL, "(2,3)", "mixed(x=Tensor -> 0)",
     "(Tensor -> 0, int -> 1 = 3, float -> 2 = 0.25, bool -> 3 = True, "
     "\"text\", None, bool -> 4, [int -> 5 = 2, int -> 6 = 7])"},
    {"keyed", NULL, "{1: (2), 7: (3)}",
     "keyed(parts={1: Tensor -> 0, 7: Tensor -> 1})",
     "{10: Tensor -> 0, 70: Tensor -> 1}"},
    {"numbers", NULL, "(3), float, int, bool",
     "numbers(x=Tensor -> 0, alpha=float -> 1, n=int -> 2, flag=bool -> 3)",
     "(Tensor -> 0, float -> 1, int -> 2)"},
    {"numbers", NULL, "(3), 2.5, 4, true",
     "numbers(x=Tensor -> 0, alpha=2.5, n=4, flag=True)",
     "(Tensor -> 0, float -> 1 = 5.0, int -> 2 = 5)"},
    {"either", NULL, "[(2), (2)]", "either(x=[Tensor -> 0, Tensor -> 1])",
     "Tensor -> 0"},
    {"listed", NULL, "(3,4)", "listed(x=Tensor -> 0)",
     "[{\"boxes\": Tensor -> 0, \"scores\": Tensor -> 1}, {\"boxes\": Tensor "
     "-> "
     "2, \"scores\": Tensor -> 3}]"},
    {"encoder.twice", NULL, "(2,4)", "encoder.twice(x=Tensor -> 0, times=2)",
     "Tensor -> 0"},
    {"layers.1.forward", NULL, "(3,4)", "layers.1.forward(input=Tensor -> 0)",
     "Tensor -> 0"},
};

static void check_status(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

/* ---- the archive and the arrays, shared by all tests ---- */

static bsm_module *module;
static bsm_npy_file arrays;
static bsm_arena arena;

static int open_all(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  check_status(bsm_module_load(BSM_TEST_DATA_DIR "/structured/structured.ts",
                               NULL, &module),
               "module");
  check_status(bsm_npy_open(BSM_TEST_DATA_DIR "/structured/structured.npz",
                            NULL, &arrays),
               "arrays");
  return 0;
}

static int close_all(void **state) {
  (void)state;
  bsm_module_destroy(module);
  bsm_npy_close(&arrays);
  bsm_arena_destroy(&arena);
  return 0;
}

static const bsm_array *array_of(const char *name, const char *side,
                                 const char *path) {
  char text[256];
  snprintf(text, sizeof(text), "%s/%s/%s", name, side, path);
  const bsm_array *array = bsm_npy_find(&arrays, text);
  if (!array) fail_msg("no array %s", text);
  return array;
}

static bsm_status compile(bsm_module *model, const char *method,
                          const bsm_input_spec *specs, size_t count,
                          bsm_engine **out) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.method = method;
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  return bsm_compile(model, &options, out);
}

static bsm_status compile_text(const char *method, const char *text,
                               bsm_engine **out) {
  bsm_spec_items specs = {0};
  check_status(bsm_input_specs_parse(&arena, text, &specs), text);
  return compile(module, method, specs.items, specs.len, out);
}

/* Saved and loaded again. */
static bsm_engine *through_file(bsm_engine *engine) {
  char path[] = "/tmp/bsm_structured_XXXXXX";
  const int file = mkstemp(path);
  bsm_engine *loaded = NULL;
  assert_true(file >= 0);
  close(file);
  check_status(bsm_engine_save(engine, path), "save");
  check_status(bsm_engine_load(path, &own_file, &loaded), "load");
  unlink(path);
  bsm_engine_destroy(engine);
  return loaded;
}

static void check_text(const bsm_structure *structure, const char *want) {
  char *text = NULL;
  check_status(bsm_structure_text(structure, &text), "text");
  assert_string_equal(text, want);
  bsm_string_free(text);
}

static void compare(const bsm_array *got, const bsm_array *want) {
  assert_int_equal(got->dtype, want->dtype);
  assert_int_equal(got->dims.rank, want->dims.rank);
  const size_t count = count_of(want->dims);
  assert_int_equal(count_of(got->dims), count);
  if (want->dtype != BSM_DTYPE_FLOAT) {
    assert_memory_equal(got->data, want->data,
                        count * bsm_dtype_size(want->dtype));
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const float a = ((const float *)got->data)[i];
    const float b = ((const float *)want->data)[i];
    if (!(fabsf(a - b) <= 1e-5f + 1e-5f * fabsf(b))) {
      fail_msg("element %zu is %g, PyTorch's %g", i, (double)a, (double)b);
    }
  }
}

static void run_and_compare(const bsm_engine *engine, const char *name) {
  const size_t n = bsm_engine_input_count(engine);
  const size_t m = bsm_engine_output_count(engine);
  bsm_array in[MAX_BINDINGS], out[MAX_BINDINGS];
  bsm_context *context = NULL;
  bsm_binding binding = BSM_BINDING_INIT;
  assert_true(n <= MAX_BINDINGS && m <= MAX_BINDINGS);
  for (size_t i = 0; i < n; i++) {
    check_status(bsm_engine_input(engine, i, &binding), "input");
    in[i] = *array_of(name, "in", binding.name);
  }
  for (size_t i = 0; i < m; i++) {
    check_status(bsm_engine_output(engine, i, &binding), "output");
    out[i] = (bsm_array){
        calloc(count_of(binding.dims) + 1, bsm_dtype_size(binding.dtype)),
        binding.dtype, binding.dims, NULL};
    assert_non_null(out[i].data);
  }
  check_status(bsm_context_create(engine, NULL, &context), "context");
  check_status(bsm_context_run(context, in, n, out, m), name);
  for (size_t i = 0; i < m; i++) {
    check_status(bsm_engine_output(engine, i, &binding), "output");
    compare(&out[i], array_of(name, "out", binding.name));
    free(out[i].data);
  }
  bsm_context_destroy(context);
}

static void test_case(void **state) {
  const io_case *c = *state;
  bsm_engine *engine = NULL;
  check_status(compile_text(c->method ? c->method : c->name, c->specs, &engine),
               c->name);
  engine = through_file(engine);
  check_text(bsm_engine_input_structure(engine), c->arguments);
  check_text(bsm_engine_output_structure(engine), c->result);
  run_and_compare(engine, c->name);
  bsm_engine_destroy(engine);
}

/* ---- the C API ---- */

static bsm_input_spec tensor(const char *name, int64_t a, int64_t b) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.name = name;
  spec.rank = b ? 2 : 1;
  spec.min[0] = a;
  spec.min[1] = b;
  return spec;
}

static void specs_and_structures_in_c(void **state) {
  (void)state;
  const bsm_input_spec first[] = {tensor(NULL, 2, 3), tensor(NULL, 1, 0)};
  const bsm_input_spec second[] = {tensor(NULL, 4, 0)};
  bsm_input_spec entries[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  entries[0].kind = entries[1].kind = BSM_INPUT_LIST;
  entries[0].name = "a";
  entries[0].items = first;
  entries[0].item_count = 2;
  entries[1].name = "b.c";
  entries[1].items = second;
  entries[1].item_count = 1;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  specs[0].kind = BSM_INPUT_DICT;
  specs[0].items = entries;
  specs[0].item_count = 2;
  specs[1].kind = BSM_INPUT_INT; /* a float parameter takes it */
  specs[1].int_value = 2;
  bsm_engine *engine = NULL;
  size_t index = 9;
  check_status(compile(module, "nested", specs, 2, &engine), "nested");

  const bsm_structure *arguments = bsm_engine_input_structure(engine);
  const bsm_structure *leaf = bsm_structure_find(arguments, "batch.b.c.0");
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  assert_null(bsm_structure_describe(leaf, &info));
  assert_int_equal(info.kind, BSM_STRUCTURE_TENSOR);
  assert_int_equal(info.binding, 2);
  assert_string_equal(info.path, "batch.b.c.0");
  check_status(bsm_engine_find_input(engine, info.path, &index), "find");
  assert_int_equal(index, 2);
  assert_null(
      bsm_structure_describe(bsm_structure_find(arguments, "scale"), &info));
  assert_int_equal(info.kind, BSM_STRUCTURE_FLOAT);
  assert_true(info.is_fixed && info.float_value == 2.0);
  assert_true(info.binding == BSM_NO_BINDING);
  assert_null(
      bsm_structure_describe(bsm_structure_find(arguments, "batch"), &info));
  assert_int_equal(info.kind, BSM_STRUCTURE_DICT);
  assert_int_equal(info.child_count, 2);
  assert_null(bsm_structure_find(arguments, "batch.z"));
  assert_null(bsm_structure_find(arguments, "batch."));
  assert_ptr_equal(bsm_structure_find(arguments, ""), arguments);
  const bsm_structure *result = bsm_engine_output_structure(engine);
  assert_null(bsm_structure_describe(bsm_structure_child(result, 1), &info));
  assert_int_equal(info.key_kind, BSM_STRUCTURE_KEY_STRING);
  assert_string_equal(info.key, "b.c_scaled");
  assert_null(bsm_structure_child(result, 2));
  bsm_status status = bsm_engine_find_output(engine, "nothing", &index);
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  assert_non_null(strstr(bsm_status_message(status), "a_scaled.0"));
  bsm_status_free(status);
  bsm_engine_destroy(engine);
}

/* Shapes and values from arrays, by path and in order. */
static void examples(void **state) {
  (void)state;
  static const char *const paths[] = {"a.0", "a.1", "b.c.0"};
  bsm_input_spec items[3],
      specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  char path[64];
  bsm_engine *engine = NULL;
  /* A key with a dot, before a list, cannot be told from two keys. */
  for (size_t i = 0; i < 2; i++) {
    items[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    items[i].kind = BSM_INPUT_EXAMPLE;
    items[i].name = paths[i];
    snprintf(path, sizeof(path), "batch.%s", paths[i]);
    items[i].array = array_of("nested", "in", path);
  }
  specs[0].kind = BSM_INPUT_EXAMPLES;
  specs[0].items = items;
  specs[0].item_count = 2;
  specs[1].kind = BSM_INPUT_EXAMPLE;
  specs[1].array = array_of("nested", "in", "scale");
  check_status(compile(module, "nested", specs, 2, &engine), "nested");
  check_text(bsm_engine_input_structure(engine),
             "nested(batch={\"a\": [Tensor -> 0, Tensor -> 1]}, scale=1.5)");
  bsm_engine_destroy(engine);

  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof(path), "%s",
             i == 0   ? "p.0.0"
             : i == 1 ? "p.0.1"
                      : "p.1");
    items[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    items[i].kind = BSM_INPUT_EXAMPLE;
    items[i].array = array_of("tuples", "in", path);
  }
  specs[0].item_count = 3;
  check_status(compile(module, "tuples", specs, 1, &engine), "tuples");
  check_text(bsm_engine_input_structure(engine),
             "tuples(p=((Tensor -> 0, Tensor -> 1), Tensor -> 2))");
  run_and_compare(engine, "tuples");
  bsm_engine_destroy(engine);
  specs[0].item_count = 2;
  bsm_status status = compile(module, "tuples", specs, 1, &engine);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_non_null(
      strstr(bsm_status_message(status), "no array for input \"p.1\""));
  bsm_status_free(status);

  bsm_parameter parameter = BSM_PARAMETER_INIT;
  check_status(bsm_module_parameter(module, "tuples", 0, &parameter), "p");
  assert_int_equal(parameter.array_count, 3);
  check_status(bsm_module_parameter(module, "sized", 2, &parameter), "shape");
  assert_int_equal(parameter.array_count, -1);
  assert_true(parameter.is_number_list);
}

static void shapes_of_a_traced_archive(void **state) {
  (void)state;
  bsm_module *traced = NULL;
  bsm_engine *engine = NULL;
  check_status(
      bsm_module_load(BSM_TEST_DATA_DIR "/structured/traced.ts", NULL, &traced),
      "traced");
  check_status(compile(traced, NULL, NULL, 0, &engine), "traced");
  check_text(bsm_engine_input_structure(engine),
             "forward(x=Tensor -> 0, pair=(Tensor -> 1, Tensor -> 2), "
             "parts={\"a\": Tensor -> 3, \"b\": Tensor -> 4}, "
             "more=[Tensor -> 5, Tensor -> 6])");
  check_text(bsm_engine_output_structure(engine),
             "(Tensor -> 0, {\"difference\": Tensor -> 1}, Tensor -> 2)");
  run_and_compare(engine, "traced");
  bsm_engine_destroy(engine);
  bsm_module_destroy(traced);
}

static void types_of_ir_text(void **state) {
  (void)state;
  static const char fixed[] =
      "graph(%x : Float(2, 3, strides=[3, 1], device=cpu),\n"
      "      %p : (Float(2, 3), Float(3))):\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %a : Tensor, %b : Tensor = prim::TupleUnpack(%p)\n"
      "  %y : Tensor = aten::add(%x, %a, %one)\n"
      "  %z : Tensor = aten::add(%y, %b, %one)\n"
      "  return (%z, %one)\n";
  static const char listed[] =
      "graph(%x : Float(2, 3), %xs : Tensor[], %d : Dict(str, Tensor),\n"
      "      %dims : int[], %n : int):\n"
      "  %b : bool = prim::Constant[value=0]()\n"
      "  %e : NoneType = prim::Constant()\n"
      "  %k : str = prim::Constant[value=\"k\"]()\n"
      "  %zero : int = prim::Constant[value=0]()\n"
      "  %a : Tensor = aten::__getitem__(%xs, %zero)\n"
      "  %c : Tensor = aten::__getitem__(%d, %k)\n"
      "  %y : Tensor = aten::add(%a, %c, %n)\n"
      "  %w : Tensor = aten::add(%x, %y, %n)\n"
      "  %z : Tensor = aten::sum(%w, %dims, %b, %e)\n"
      "  return (%z)\n";
  bsm_module *ir = NULL;
  bsm_engine *engine = NULL;
  check_status(
      bsm_module_load_memory(fixed, strlen(fixed), "fixed.ir", NULL, &ir),
      "fixed");
  check_status(compile(ir, NULL, NULL, 0, &engine), "fixed");
  check_text(bsm_engine_input_structure(engine),
             "forward(x=Tensor -> 0, p=(Tensor -> 1, Tensor -> 2))");
  check_text(bsm_engine_output_structure(engine),
             "(Tensor -> 0, int -> 1 = 1)");
  bsm_engine_destroy(engine);
  bsm_module_destroy(ir);
  check_status(
      bsm_module_load_memory(listed, strlen(listed), "listed.ir", NULL, &ir),
      "listed");
  bsm_spec_items specs = {0};
  check_status(bsm_input_specs_parse(
                   &arena, "xs=[(2,3)], d={k: (2,3)}, dims=[1], n=2", &specs),
               "specs");
  check_status(compile(ir, NULL, specs.items, specs.len, &engine), "listed");
  check_text(bsm_engine_input_structure(engine),
             "forward(x=Tensor -> 0, xs=[Tensor -> 1], d={\"k\": Tensor -> 2}, "
             "dims=[1], n=2)");
  bsm_engine_destroy(engine);
  bsm_module_destroy(ir);
}

/* Keys that make poor names: empty, with control characters, equal after that,
 * very long. */
static void awkward_keys(void **state) {
  (void)state;
  static const char *const names[] = {"_",   "_.x",   "_.x_2", "kkkk",
                                      "a.b", "a.b_2", "kkkk",  "1.0"};
  char key[301], text[2048];
  memset(key, 'k', sizeof(key) - 1);
  key[sizeof(key) - 1] = '\0';
  snprintf(text, sizeof(text),
           "graph(%%x : Float(2)):\n"
           "  %%e : str = prim::Constant[value=\"\"]()\n"
           "  %%c : str = prim::Constant[value=\"\\t\"]()\n"
           "  %%l : str = prim::Constant[value=\"%s\"]()\n"
           "  %%m : str = prim::Constant[value=\"%sm\"]()\n"
           "  %%n : str = prim::Constant[value=\"x\"]()\n"
           "  %%a : str = prim::Constant[value=\"a\"]()\n"
           "  %%b : str = prim::Constant[value=\"b\"]()\n"
           "  %%ab : str = prim::Constant[value=\"a.b\"]()\n"
           "  %%ex : str = prim::Constant[value=\"_.x\"]()\n"
           "  %%f : str = prim::Constant[value=\"1.0\"]()\n"
           "  %%1 : Dict(str, Tensor) = prim::DictConstruct(%%n, %%x)\n"
           "  %%2 : Dict(str, Tensor) = prim::DictConstruct(%%b, %%x)\n"
           "  %%y : Dict(str, Any) = prim::DictConstruct(%%e, %%x, %%c, %%1, "
           "%%ex, %%x, %%m, %%x, %%ab, %%x, %%a, %%2, %%l, %%x, %%f, %%x)\n"
           "  return (%%y)\n",
           key, key);
  bsm_module *ir = NULL;
  bsm_engine *engine = NULL;
  check_status(bsm_module_load_memory(text, strlen(text), "keys.ir", NULL, &ir),
               "keys");
  check_status(compile(ir, NULL, NULL, 0, &engine), "keys");
  assert_int_equal(bsm_engine_output_count(engine), 8);
  for (size_t i = 0; i < 8; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    size_t index;
    check_status(bsm_engine_output(engine, i, &binding), "output");
    check_status(bsm_engine_find_output(engine, binding.name, &index), "find");
    assert_int_equal(index, i);
    assert_true(strlen(binding.name) < 200);
    if (names[i][0] == 'k') {
      assert_memory_equal(binding.name, names[i], 4);
    } else {
      assert_string_equal(binding.name, names[i]);
    }
  }
  check_text(bsm_structure_find(bsm_engine_output_structure(engine), "a.b"),
             "Tensor -> 4");
  bsm_engine_destroy(engine);
  bsm_module_destroy(ir);
}

/* ---- what does not fit ---- */

static void mistakes_are_explained(void **state) {
  (void)state;
  static const struct {
    const char *method, *specs, *message;
  } rows[] = {
      {"nested", "{a: [(2), \"b\"]}, 1.0",
       "input \"batch.a.1\" is of type Tensor, given str \"b\""},
      {"nested", "{a: (2)}, 1.0",
       "input \"batch.a\" is of type List[Tensor], given a tensor, float32 "
       "[2]"},
      {"nested", "{a: [(2)], a: [(3)]}, 1.0", "\"batch.a\" is given twice"},
      {"nested", "{3: [(2)]}, 1.0", "a key of batch"},
      {"nested", "[(2)], 1.0", "given a list of 1"},
      {"nested", "{a: [(2)]}, true", "\"scale\" is of type float, given bool"},
      {"nested", "{a: [(2)]}, f32[2]",
       "\"scale\" is of type float, given a tensor"},
      {"nested", "{a: [(2)]}, i64", "\"scale\" is of type float"},
      {"nested", "{a: [default]}, 1.0", "has no default"},
      {"named", "pair=(left=(2))", "field \"right\" is not given"},
      {"named", "pair=(left=(2), right=(2), up=(2))", "no field \"up\""},
      {"named", "pair=(left=(2), left=(2))", "field \"left\" twice"},
      {"named", "pair=[(2), (2), (2)]", "given a list of 3"},
      {"optional", "(2), mask=1", "\"mask\" is of type Tensor, given int 1"},
      {"optional", "(2), factor=1.5", "\"factor\" is of type int"},
      {"choose", "(2), 1, true", "\"mode\" is of type str, given int 1"},
      {"choose", "(2), \"sin\", true", "unknown mode sin"},
      {"choose", "(2), none, true", "no default"},
      {"sized", "(4), 2, (2,2), tuple(1,2)", "List[int], given a tensor"},
      {"sized", "(4), 2, [2,2], tuple(1,2,3)", "given a tuple of 3"},
      {"tuples", "((2),(2))", "\"p.0\" is of type Tuple[Tensor, Tensor]"},
      {"keyed", "{one: (2)}", "\"one\" is no key of type int"},
      {"either", "3", "Union["},
      {"total", "[]", ""},
      {"total", "(2)", "\"xs\" is of type List[Tensor]"},
      {"total", "wrong=(2)", "has no parameter \"wrong\""},
      {"optional", "(2), maks=none",
       "has no parameter \"maks\", perhaps \"mask\""},
      {"missing", "(2)", "has no method \"missing\""},
      {"encoder.missing", "(2)", "has no method \"missing\""},
      {"nowhere.forward", "(2)", "no submodule \"nowhere\""},
      {"encoder.linear.weight.forward", "(2)", "no submodule \"weight\""},
      {".forward", "(2)", "no submodule \"\""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    bsm_engine *engine = NULL;
    bsm_status status = compile_text(rows[i].method, rows[i].specs, &engine);
    if (!status) fail_msg("%s %s compiles", rows[i].method, rows[i].specs);
    if (!strstr(bsm_status_message(status), rows[i].message)) {
      fail_msg("%s %s: %s", rows[i].method, rows[i].specs,
               bsm_status_message(status));
    }
    bsm_status_free(status);
  }
}

/* A complex number of the result is a tensor of rank 0. */
static void complex_results(void **state) {
  (void)state;
  bsm_module *misc;
  bsm_engine *engine;
  bsm_context *context;
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const bsm_array input = {x, BSM_DTYPE_FLOAT, {2, {2, 4}}, NULL};
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = 2;
  spec.min[1] = 4;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  check_status(bsm_module_load(BSM_TEST_DATA_DIR "/torchscript/v211_misc.pt",
                               NULL, &misc),
               "loading");
  check_status(bsm_compile(misc, &options, &engine), "compiling");
  check_status(bsm_context_create(engine, NULL, &context), "preparing");
  check_status(bsm_context_run_keep(context, &input, 1), "running");
  size_t found = 0;
  for (size_t i = 0; i < bsm_engine_output_count(engine); i++) {
    bsm_array output;
    check_status(bsm_context_output(context, i, &output), "reading");
    if (output.dtype != BSM_DTYPE_COMPLEX_DOUBLE) continue;
    const double *parts = output.data;
    assert_int_equal(output.dims.rank, 0);
    assert_true(!(parts[0] < 1) && !(parts[0] > 1));
    assert_true(!(parts[1] < 2) && !(parts[1] > 2));
    found++;
  }
  assert_int_equal(found, 1);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(misc);
}

int main(void) {
  enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
  struct CMUnitTest tests[COUNT + 7] = {{0}};
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] =
        (struct CMUnitTest){.name = cases[i].name,
                            .test_func = test_case,
                            .initial_state = (void *)(uintptr_t)&cases[i]};
  }
  const struct CMUnitTest others[] = {
      cmocka_unit_test(specs_and_structures_in_c),
      cmocka_unit_test(examples),
      cmocka_unit_test(shapes_of_a_traced_archive),
      cmocka_unit_test(types_of_ir_text),
      cmocka_unit_test(awkward_keys),
      cmocka_unit_test(mistakes_are_explained),
      cmocka_unit_test(complex_results),
  };
  memcpy(&tests[COUNT], others, sizeof(others));
  return cmocka_run_group_tests(tests, open_all, close_all);
}
