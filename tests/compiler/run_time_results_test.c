/* SPDX-License-Identifier: Apache-2.0 */
/* Results whose length, keys or kind only a run tells: methods of
 * tests/data/results are compiled, go through a file, and give the structure
 * and the tensors that PyTorch gives, call after call in one context. */
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

#define RANGE "[(1,2);(3,3);(8,6)]"

typedef struct result_case {
  const char *name; /* of the method */
  const char *spec;
  const char *result; /* of the engine */
} result_case;

static const result_case cases[] = {
    {"forward", "(3,3)", "List[Tensor] -> ?"},
    {"integers", "(2)@i64", "List[int] -> ?"},
    {"numbers", "(4)",
     "(List[float] -> ?, [bool -> 0, bool -> 1, bool -> 2, "
     "bool -> 3], List[str] -> ?)"},
    {"to_list", "(3,3)", "List[List[int]] -> ?"},
    {"keyed", "(3,3)", "Dict[str, Tensor] -> ?"},
    {"int_keys", "(3,3)", "Dict[int, Tensor] -> ?"},
    {"float_keys", "(4)", "Dict[float, List[int]] -> ?"},
    {"maybe", "(3,3)", "Optional[Tensor] -> ?"},
    {"maybe_int", "(3,3)", "Optional[int] -> ?"},
    {"maybe_list", "(3,3)", "(Tensor -> 0, Optional[List[Tensor]] -> ?)"},
    {"detections", "(3,3)",
     "[{\"labels\": Tensor -> 0, \"scores\": Tensor -> 1}, {\"labels\": Tensor "
     "-> 2, \"scores\": Tensor -> 3}, {\"labels\": Tensor -> 4, \"scores\": "
     "Tensor -> 5}]"},
    {"filtered", "(3,3)", "List[Dict[str, Tensor]] -> ?"},
    {"nested", "(3,3)", "List[List[Tensor]] -> ?"},
    {"mixed", "(3,3)",
     "(Tensor -> 0, List[Tensor] -> ?, int -> 1, \"rows\", {\"n\": int -> 2, "
     "\"rows\": List[Tensor] -> ?})"},
    {"word", "(3,3)", "(str -> ?, Tensor -> 0)"},
    {"pairs", "(3,3)", "List[Tuple[Tensor, int]] -> ?"},
    {"named", "(3,3)",
     "Group(items=List[Found] -> ?, best=Optional[Found] -> "
     "?)"},
    {"optionals", "(4)", "List[Optional[Tensor]] -> ?"},
    {"shared", "(3,3)", "List[Tensor] -> ?"},
    {"complexes", "(2)@i64", "List[other] -> ?"},
    {"tree", "(3,3)", "Dict[str, Dict[int, List[Tensor]]] -> ?"},
    {"maybe_dict", "(3,3)",
     "(int -> 0, Optional[Dict[str, List[Optional[str]]]] -> ?)"},
    {"anything", "(3,3)", "Any -> ?"},
    {"rows", RANGE, "List[Tensor] -> ?"},
    {"chunks", RANGE, "(List[Tensor] -> ?, Tensor -> 0)"},
};

static void check_status(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void check_refused(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
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
  check_status(
      bsm_module_load(BSM_TEST_DATA_DIR "/results/results.ts", NULL, &module),
      "module");
  check_status(
      bsm_npy_open(BSM_TEST_DATA_DIR "/results/results.npz", NULL, &arrays),
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

static const bsm_npy_array *find(const char *method, size_t call,
                                 const char *what) {
  char name[128];
  snprintf(name, sizeof(name), "%s.%zu/%s", method, call, what);
  for (size_t i = 0; i < arrays.count; i++) {
    if (strcmp(arrays.items[i].name, name) == 0) return &arrays.items[i];
  }
  return NULL;
}

/* Compiled, saved and loaded again. */
static bsm_engine *make_of(bsm_module *of, const char *method,
                           const char *spec) {
  char path[] = "/tmp/bsm_results_XXXXXX";
  bsm_engine *engine = NULL, *loaded = NULL;
  bsm_spec_items specs = {0};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  check_status(bsm_input_specs_parse(&arena, spec, &specs), spec);
  options.method = method;
  options.inputs = specs.items;
  options.input_count = specs.len;
  options.no_timing = true;
  options.threads = 1;
  check_status(bsm_compile(of, &options, &engine), method);
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  check_status(bsm_engine_save(engine, path), "save");
  check_status(bsm_engine_load(path, &own_file, &loaded), "load");
  unlink(path);
  bsm_engine_destroy(engine);
  return loaded;
}

static bsm_engine *make(const char *method, const char *spec) {
  return make_of(module, method, spec);
}

static bsm_context *make_context(const bsm_engine *engine,
                                 bsm_output_allocate allocate, void *user) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.output_allocate = allocate;
  options.output_user = user;
  check_status(bsm_context_create(engine, &options, &context), "context");
  return context;
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
  for (int32_t i = 0; i < want->dims.rank; i++) {
    assert_int_equal(got->dims.d[i], want->dims.d[i]);
  }
  const size_t count = count_of(want->dims);
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

/* Every leaf that has an output tells the same as that; counts them. */
static void check_leaves(bsm_context *context, const bsm_structure *node,
                         size_t *leaves) {
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  assert_null(bsm_structure_describe(node, &info));
  assert_true(info.kind < BSM_STRUCTURE_ARGUMENTS);
  for (size_t i = 0; i < info.child_count; i++) {
    check_leaves(context, bsm_structure_child(node, i), leaves);
  }
  if (info.binding == BSM_NO_BINDING) {
    assert_true(info.is_fixed || info.kind >= BSM_STRUCTURE_LIST);
    return;
  }
  bsm_array array;
  bsm_binding binding = BSM_BINDING_INIT;
  check_status(bsm_context_output(context, info.binding, &array), "output");
  check_status(bsm_context_output_binding(context, info.binding, &binding),
               "binding");
  assert_string_equal(binding.name, info.path);
  assert_int_equal(binding.dtype, array.dtype);
  assert_int_equal(info.binding, *leaves);
  ++*leaves;
  if (info.kind == BSM_STRUCTURE_TENSOR) {
    assert_int_equal(info.dtype, array.dtype);
    assert_int_equal(info.dims.rank, array.dims.rank);
    return;
  }
  assert_int_equal(array.dims.rank, 0);
  assert_true(info.is_fixed);
  if (info.kind == BSM_STRUCTURE_INT) {
    assert_int_equal(*(const int64_t *)array.data, info.int_value);
  } else if (info.kind == BSM_STRUCTURE_FLOAT) {
    assert_memory_equal(array.data, &info.float_value, sizeof(double));
  } else {
    assert_int_equal(info.kind, BSM_STRUCTURE_BOOL);
    assert_int_equal(*(const uint8_t *)array.data, info.bool_value);
  }
}

/* The result of the last run is that of the call. */
static void check_result(bsm_context *context, const char *method,
                         size_t call) {
  const bsm_structure *result = NULL;
  const bsm_npy_array *text = find(method, call, "text");
  assert_non_null(text);
  check_status(bsm_context_output_structure(context, &result), "structure");
  check_text(result, text->strings[0]);
  size_t leaves = 0;
  check_leaves(context, result, &leaves);
  assert_int_equal(bsm_context_output_count(context), leaves);
  for (size_t i = 0; i < leaves; i++) {
    char name[24];
    bsm_array got;
    snprintf(name, sizeof(name), "%zu", i);
    const bsm_npy_array *want = find(method, call, name);
    check_status(bsm_context_output(context, i, &got), "output");
    if (want) compare(&got, &want->array);
  }
  bsm_array none;
  check_refused(bsm_context_output(context, leaves, &none), BSM_OUT_OF_RANGE,
                "output");
}

static void test_case(void **state) {
  const result_case *c = *state;
  bsm_engine *engine = make(c->name, c->spec);
  check_text(bsm_engine_output_structure(engine), c->result);
  bsm_context *context = make_context(engine, NULL, NULL);
  size_t calls = 0;
  for (size_t turn = 0; turn < 2; turn++) {
    for (calls = 0; find(c->name, calls, "in"); calls++) {
      const bsm_array *in = &find(c->name, calls, "in")->array;
      check_status(bsm_context_run_keep(context, in, 1), c->name);
      check_result(context, c->name, calls);
    }
  }
  assert_true(calls >= 3);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- memory of the caller's ---- */

typedef struct given {
  void *data[64];
  size_t count;
} given;

static void *allocate(void *user, size_t index, const char *name,
                      bsm_dtype dtype, const bsm_dims *dims, size_t bytes) {
  given *g = user;
  assert_int_equal(index, g->count);
  assert_true(g->count < 64);
  assert_non_null(strstr(name, "output_"));
  assert_int_equal(bytes, count_of(*dims) * bsm_dtype_size(dtype));
  return g->data[g->count++] = malloc(bytes ? bytes : 1);
}

static void *refuse(void *user, size_t index, const char *name, bsm_dtype dtype,
                    const bsm_dims *dims, size_t bytes) {
  (void)name, (void)dtype, (void)dims, (void)bytes;
  return index == 2 ? NULL : allocate(user, index, name, dtype, dims, bytes);
}

static void release(given *g) {
  for (size_t i = 0; i < g->count; i++) free(g->data[i]);
  g->count = 0;
}

static void callers_memory(void **state) {
  (void)state;
  given g = {.count = 0};
  bsm_engine *engine = make("mixed", "(3,3)");
  bsm_context *context = make_context(engine, allocate, &g);
  const bsm_array *in = &find("mixed", 0, "in")->array;
  bsm_array out;
  check_status(bsm_context_run_keep(context, in, 1), "run");
  check_result(context, "mixed", 0);
  assert_int_equal(g.count, bsm_context_output_count(context));
  for (size_t i = 0; i < g.count; i++) {
    check_status(bsm_context_output(context, i, &out), "output");
    assert_ptr_equal(out.data, g.data[i]);
  }
  release(&g);
  bsm_context_destroy(context);
  context = make_context(engine, refuse, &g);
  check_refused(bsm_context_run_keep(context, in, 1), BSM_OUT_OF_MEMORY,
                "output_1.1");
  assert_int_equal(bsm_context_output_count(context), 0);
  release(&g);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- what is not possible ---- */

static void refusals(void **state) {
  (void)state;
  const bsm_structure *result = NULL;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_engine *engine = make("shared", "(3,3)");
  bsm_context *context = make_context(engine, NULL, NULL);
  const bsm_array *in = &find("shared", 0, "in")->array;
  bsm_array out = {0};
  assert_int_equal(bsm_engine_output_count(engine), 0);
  assert_int_equal(bsm_context_output_count(context), 0);
  check_refused(bsm_context_output_structure(context, &result),
                BSM_INVALID_ARGUMENT, "bsm_context_run_keep");
  check_refused(bsm_context_output(context, 0, &out), BSM_INVALID_ARGUMENT,
                "bsm_context_run_keep");
  check_refused(bsm_context_output_binding(context, 0, &binding),
                BSM_INVALID_ARGUMENT, "bsm_context_run_keep");
  check_refused(bsm_context_run(context, in, 1, NULL, 0), BSM_UNSUPPORTED,
                "bsm_context_run_keep");
  check_status(bsm_context_run_keep(context, in, 1), "run");
  /* The argument and the weight are copies. */
  check_status(bsm_context_output(context, 0, &out), "output");
  assert_ptr_not_equal(out.data, in->data);
  check_status(bsm_context_output(context, 1, &out), "output");
  memset(out.data, 0, 4 * sizeof(float));
  check_status(bsm_context_run_keep(context, in, 1), "run");
  check_result(context, "shared", 0);
  const bsm_array wrong = {in->data, in->dtype, {1, {9}}, NULL};
  check_refused(bsm_context_run_keep(context, &wrong, 1), BSM_INVALID_ARGUMENT,
                "shape");
  assert_int_equal(bsm_context_output_count(context), 0);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* A result counts against the memory of the run. */
static void limits(void **state) {
  (void)state;
  enum { ROWS = 100000 };
  bsm_engine *engine = make("to_list", "[(1,3);(3,3);(100000,3)]");
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  float *many = calloc(ROWS, 3 * sizeof(float));
  assert_non_null(many);
  for (size_t i = 0; i < ROWS; i++) many[3 * i] = 1;
  bsm_array in = {many, BSM_DTYPE_FLOAT, {2, {ROWS, 3}}, NULL};
  options.threads = 1;
  options.max_run_bytes = (size_t)20 << 20;
  check_status(bsm_context_create(engine, &options, &context), "context");
  check_refused(bsm_context_run_keep(context, &in, 1), BSM_LIMIT,
                "max_run_bytes");
  assert_int_equal(bsm_context_output_count(context), 0);
  in.dims.d[0] = 100;
  check_status(bsm_context_run_keep(context, &in, 1), "run");
  assert_int_equal(bsm_context_output_count(context), 300);
  free(many);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* An engine of fixed outputs has the structure of a run as well. */
static void fixed_results(void **state) {
  (void)state;
  bsm_engine *engine = make("forward", "(3,3)");
  bsm_engine_destroy(engine);
  engine = make("detections", "(3,3)");
  bsm_context *context = make_context(engine, NULL, NULL);
  const bsm_structure *result = NULL;
  check_status(
      bsm_context_run_keep(context, &find("detections", 3, "in")->array, 1),
      "run");
  check_status(bsm_context_output_structure(context, &result), "structure");
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  assert_null(
      bsm_structure_describe(bsm_structure_find(result, "0.labels"), &info));
  assert_int_equal(info.dtype, BSM_DTYPE_INT64);
  assert_int_equal(info.dims.rank, 1);
  assert_int_equal(info.dims.d[0], 2);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- random methods ---- */

/* What is to come of random.npz. */
typedef struct expected {
  const char *const *text;
  const int64_t *counts, *dims;
  const float *data;
} expected;

static void compare_tensor(const bsm_array *got, const char *method,
                           expected *e) {
  const int64_t rank = *e->dims++;
  assert_int_equal(got->dims.rank, rank);
  for (int32_t i = 0; i < rank; i++) {
    assert_int_equal(got->dims.d[i], e->dims[i]);
  }
  e->dims += rank;
  const size_t n = count_of(got->dims);
  for (size_t i = 0; i < n; i++) {
    const double value = got->dtype == BSM_DTYPE_INT64
                             ? (double)((const int64_t *)got->data)[i]
                             : (double)((const float *)got->data)[i];
    if (!(fabs(value - (double)e->data[i]) < 1e-5)) {
      fail_msg("%s: %g, PyTorch's %g", method, value, (double)e->data[i]);
    }
  }
  e->data += n;
}

/* Of the leaf that has output `index`. */
static bsm_structure_kind kind_of_output(const bsm_structure *node,
                                         size_t index) {
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  assert_null(bsm_structure_describe(node, &info));
  bsm_structure_kind kind = BSM_STRUCTURE_NONE;
  if (info.binding == index) return info.kind;
  for (size_t i = 0; i < info.child_count && kind == BSM_STRUCTURE_NONE; i++) {
    kind = kind_of_output(bsm_structure_child(node, i), index);
  }
  return kind;
}

static void check_random(bsm_context *context, const char *method,
                         expected *e) {
  const bsm_structure *result = NULL;
  size_t leaves = 0, tensors = 0;
  check_status(bsm_context_output_structure(context, &result), method);
  check_text(result, *e->text++);
  check_leaves(context, result, &leaves);
  assert_int_equal(leaves, bsm_context_output_count(context));
  for (size_t i = 0; i < leaves; i++) {
    bsm_array out;
    check_status(bsm_context_output(context, i, &out), method);
    /* The text has the values of numbers. */
    if (kind_of_output(result, i) != BSM_STRUCTURE_TENSOR) continue;
    compare_tensor(&out, method, e);
    tensors++;
  }
  assert_int_equal(tensors, *e->counts++);
}

static void random_methods(const char *spec) {
  enum { METHODS = 160, CALLS = 3 };
  bsm_module *random = NULL;
  bsm_npy_file file;
  expected e = {0};
  check_status(
      bsm_module_load(BSM_TEST_DATA_DIR "/results/random.ts", NULL, &random),
      "random.ts");
  check_status(
      bsm_npy_open(BSM_TEST_DATA_DIR "/results/random.npz", NULL, &file),
      "random.npz");
  for (size_t i = 0; i < file.count; i++) {
    if (strcmp(file.items[i].name, "text") == 0) e.text = file.items[i].strings;
  }
  e.counts = bsm_npy_find(&file, "counts")->data;
  e.dims = bsm_npy_find(&file, "dims")->data;
  e.data = bsm_npy_find(&file, "data")->data;
  const bsm_array *inputs = bsm_npy_find(&file, "in");
  for (size_t m = 0; m < METHODS; m++) {
    char name[16];
    snprintf(name, sizeof(name), "r%zu", m);
    bsm_engine *engine = make_of(random, name, spec);
    bsm_context *context = make_context(engine, NULL, NULL);
    for (size_t call = 0; call < CALLS; call++) {
      const bsm_array in = {
          (float *)inputs->data + 9 * call, BSM_DTYPE_FLOAT, {2, {3, 3}}, NULL};
      check_status(bsm_context_run_keep(context, &in, 1), name);
      check_random(context, name, &e);
    }
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
  }
  bsm_npy_close(&file);
  bsm_module_destroy(random);
}

static void random_of_fixed_shapes(void **state) {
  (void)state;
  random_methods("(3,3)");
}

static void random_of_ranges(void **state) {
  (void)state;
  random_methods("[(3,3);(4,3);(9,3)]");
}

int main(void) {
  enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
  struct CMUnitTest tests[COUNT + 6] = {{0}};
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] =
        (struct CMUnitTest){.name = cases[i].name,
                            .test_func = test_case,
                            .initial_state = (void *)(uintptr_t)&cases[i]};
  }
  const struct CMUnitTest others[] = {
      cmocka_unit_test(callers_memory),
      cmocka_unit_test(refusals),
      cmocka_unit_test(limits),
      cmocka_unit_test(fixed_results),
      cmocka_unit_test(random_of_fixed_shapes),
      cmocka_unit_test(random_of_ranges),
  };
  memcpy(&tests[COUNT], others, sizeof(others));
  return cmocka_run_group_tests(tests, open_all, close_all);
}
