/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of torch.export: each under tests/data/exported_models is compiled
 * as it is, without specs, so that its symbolic sizes range, and run with all
 * the inputs that PyTorch's results are there for. Also what a caller gives
 * against what a program says of its inputs. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aten/tensor.h"
#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define MAX_ARRAYS 64

static const char *const models[] = {
    "cnn",           "cnn_core", "attention",   "attention_core", "nested",
    "sizes",         "branches", "loops",       "sizes_core",     "data",
    "ops",           "ops_core", "state",       "state_core",     "marks",
    "recurrent",     "numbers",  "autocast",    "autocast_core",  "training",
    "training_core", "truths",   "truths_core", "grids"};

static void check(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static const char *path_of(const char *name, const char *ending, char *buffer,
                           size_t size) {
  const size_t length = strstr(name, "_core") && strcmp(ending, "npz") == 0
                            ? (size_t)(strstr(name, "_core") - name)
                            : strlen(name);
  snprintf(buffer, size, "%s/exported_models/%.*s.%s", BSM_TEST_DATA_DIR,
           (int)length, name, ending);
  return buffer;
}

static bsm_module *load(const char *name, bool state_as_output) {
  char path[512];
  bsm_module *module = NULL;
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  options.state_as_output = state_as_output;
  check(bsm_module_load(path_of(name, "pt2", path, sizeof(path)), &options,
                        &module),
        name);
  return module;
}

static bsm_compile_options plain_options(void) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.threads = 1;
  return options;
}

static bsm_engine *compile_with(const char *name, bool state_as_output,
                                bool prefer_size) {
  bsm_engine *engine = NULL;
  bsm_module *module = load(name, state_as_output);
  bsm_compile_options options = plain_options();
  options.prefer_size = prefer_size;
  check(bsm_compile(module, &options, &engine), name);
  bsm_module_destroy(module);
  return engine;
}

static bsm_engine *compile(const char *name, bool state_as_output) {
  return compile_with(name, state_as_output, false);
}

/* ---- results ---- */

static double element(const bsm_array *a, size_t i) {
  switch (a->dtype) {
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)a->data)[i];
    case BSM_DTYPE_DOUBLE:
      return ((const double *)a->data)[i];
    case BSM_DTYPE_INT64:
      return (double)((const int64_t *)a->data)[i];
    case BSM_DTYPE_BOOL:
      return ((const uint8_t *)a->data)[i];
    default:
      fail_msg("dtype %s", bsm_dtype_name(a->dtype));
      return 0;
  }
}

static void compare(const char *name, size_t run, size_t index,
                    const bsm_array *got, const bsm_array *want) {
  double scale = 0, worst = 0;
  size_t count = 1;
  if (got->dtype != want->dtype || !bsm_dims_equal(got->dims, want->dims)) {
    fail_msg("%s, run %zu: output %zu is %s %s, PyTorch's is %s %s", name, run,
             index, bsm_dtype_name(got->dtype), bsm_dims_str(got->dims),
             bsm_dtype_name(want->dtype), bsm_dims_str(want->dims));
  }
  for (int32_t i = 0; i < want->dims.rank; i++) {
    count *= (size_t)want->dims.d[i];
  }
  for (size_t i = 0; i < count; i++) {
    const double a = element(got, i), b = element(want, i);
    if (a == b) continue; /* infinities as well */
    if (fabs(b) > scale) scale = fabs(b);
    if (!(fabs(a - b) <= worst)) worst = fabs(a - b);
  }
  const bool exact =
      want->dtype == BSM_DTYPE_INT64 || want->dtype == BSM_DTYPE_BOOL;
  if (!(worst <= (exact ? 0 : 1e-4 * scale + 1e-6))) {
    fail_msg("%s, run %zu: output %zu differs by %g at scale %g", name, run,
             index, worst, scale);
  }
}

/* The arrays PREFIX_0, PREFIX_1, ... */
static size_t collect(const bsm_npy_file *file, const char *prefix,
                      bsm_array *out) {
  char name[64];
  for (size_t count = 0;; count++) {
    snprintf(name, sizeof(name), "%s_%zu", prefix, count);
    const bsm_array *array = bsm_npy_find(file, name);
    if (!array) return count;
    assert_true(count < MAX_ARRAYS);
    out[count] = *array;
  }
}

static void compare_all(const char *name, size_t run, bsm_context *context,
                        const bsm_array *want, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bsm_array got;
    check(bsm_context_output(context, i, &got), name);
    compare(name, run, i, &got, &want[i]);
  }
}

static bsm_context *new_context(const bsm_engine *engine) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  check(bsm_context_create(engine, &options, &context), "context");
  return context;
}

/* Regions of autocast: where layers compute in float, as they do without
 * AVX-512, roundings between them are left out; with 16 bits from layer to
 * layer results are PyTorch's on every machine. */
static bool needs_roundings(const char *name) {
  return !strncmp(name, "autocast", strlen("autocast"));
}

static void test_model(void **state) {
  const char *name = *state;
  char path[512], prefix[32];
  bsm_npy_file file;
  bsm_array in[MAX_ARRAYS], want[MAX_ARRAYS];
  check(bsm_npy_open(path_of(name, "npz", path, sizeof(path)), NULL, &file),
        path);
  bsm_engine *engine = compile_with(name, false, needs_roundings(name));
  bsm_context *context = new_context(engine);
  size_t run = 0;
  for (;; run++) {
    snprintf(prefix, sizeof(prefix), "r%zu_out", run);
    const size_t outputs = collect(&file, prefix, want);
    if (!outputs) break;
    snprintf(prefix, sizeof(prefix), "r%zu_in", run);
    /* Numbers that were fixed are no inputs. */
    size_t inputs = collect(&file, prefix, in);
    if (inputs > bsm_engine_input_count(engine)) {
      inputs = bsm_engine_input_count(engine);
    }
    check(bsm_context_run_keep(context, in, inputs), name);
    assert_int_equal(bsm_context_output_count(context), outputs);
    compare_all(name, run, context, want, outputs);
  }
  assert_true(run > 0);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_npy_close(&file);
}

/* ---- state ---- */

/* Each run begins with the stored values; with the option their new values are
 * outputs behind the result, buffers first, and the input that is written to.
 */
static void test_state(void **state) {
  const char *const names[] = {"state", "state_core"};
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    char path[512];
    bsm_npy_file file;
    bsm_array in[MAX_ARRAYS], want[MAX_ARRAYS], got;
    check(
        bsm_npy_open(path_of("state", "npz", path, sizeof(path)), NULL, &file),
        path);
    bsm_engine *engine = compile(names[k], true);
    bsm_context *context = new_context(engine);
    size_t index;
    assert_int_equal(collect(&file, "r0_in", in), 1);
    assert_int_equal(collect(&file, "state", want), 3);
    assert_int_equal(bsm_engine_output_count(engine), 4);
    static const char *const outputs[] = {"state.count", "state.cache",
                                          "state.x"};
    for (int turn = 0; turn < 2; turn++) {
      check(bsm_context_run_keep(context, in, 1), names[k]);
      for (size_t i = 0; i < 3; i++) {
        check(bsm_engine_find_output(engine, outputs[i], &index), outputs[i]);
        check(bsm_context_output(context, index, &got), outputs[i]);
        compare(names[k], 0, index, &got, &want[i]);
      }
    }
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
    bsm_npy_close(&file);
  }
}

/* ---- shapes ---- */

static bsm_input_spec spec(int64_t min, int64_t max, int64_t columns) {
  bsm_input_spec s = BSM_INPUT_SPEC_INIT;
  s.rank = columns ? 2 : 1;
  s.min[0] = s.opt[0] = min;
  s.max[0] = max;
  s.min[1] = s.opt[1] = s.max[1] = columns;
  return s;
}

static void expect_range(const bsm_engine *engine, size_t input, int64_t min,
                         int64_t max) {
  bsm_dims least, best, greatest;
  check(bsm_engine_input_range(engine, input, &least, &best, &greatest),
        "range");
  assert_int_equal(least.d[0], min);
  assert_int_equal(greatest.d[0], max);
}

/* x [rows, 2*half], y [rows], z [rows + 1]: rows from 3 to 12. */
static void test_ranges(void **state) {
  bsm_module *module = load("sizes", false);
  bsm_compile_options options = plain_options();
  bsm_engine *engine = NULL;
  bsm_parameter parameter = BSM_PARAMETER_INIT;
  (void)state;
  check(bsm_module_parameter(module, NULL, 0, &parameter), "parameter");
  assert_string_equal(parameter.name, "x");
  assert_int_equal(parameter.example_dims.d[0], 6);
  assert_int_equal(parameter.min_dims.d[0], 3);
  assert_int_equal(parameter.max_dims.d[0], 12);
  /* `half` is from 2 in the file, and 1 to PyTorch when it runs. */
  assert_int_equal(parameter.min_dims.d[1], 2);
  assert_int_equal(parameter.max_dims.d[1], 16);
  check(bsm_compile(module, &options, &engine), "sizes");
  expect_range(engine, 0, 3, 12);
  expect_range(engine, 1, 3, 12);
  expect_range(engine, 2, 4, 13);
  bsm_engine_destroy(engine);
  /* A narrower range of one input is that of the others too. */
  const bsm_input_spec narrow = spec(4, 6, 8);
  options.inputs = &narrow;
  options.input_count = 1;
  check(bsm_compile(module, &options, &engine), "sizes");
  expect_range(engine, 0, 4, 6);
  expect_range(engine, 1, 4, 6);
  expect_range(engine, 2, 5, 7);
  bsm_engine_destroy(engine);
  /* And so is a size that is fixed. */
  bsm_binding binding = BSM_BINDING_INIT;
  const bsm_input_spec fixed = spec(5, 5, 8);
  options.inputs = &fixed;
  check(bsm_compile(module, &options, &engine), "sizes");
  check(bsm_engine_input(engine, 2, &binding), "input");
  assert_int_equal(binding.dims.d[0], 6);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void expect_refusal(const char *name, const bsm_input_spec *specs,
                           size_t count, const char *message) {
  bsm_module *module = load(name, false);
  bsm_compile_options options = plain_options();
  bsm_engine *engine = NULL;
  options.inputs = specs;
  options.input_count = count;
  bsm_status status = bsm_compile(module, &options, &engine);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("\"%s\" is not in: %s", message, bsm_status_message(status));
  }
  bsm_status_free(status);
  bsm_module_destroy(module);
}

static void test_refused_specs(void **state) {
  (void)state;
  const bsm_input_spec large = spec(3, 20, 8),
                       apart[2] = {spec(4, 4, 8), spec(5, 5, 0)};
  const bsm_input_spec odd = spec(4, 4, 7), flat = spec(4, 4, 0);
  bsm_input_spec half = spec(4, 4, 8);
  half.dtype = BSM_DTYPE_HALF;
  expect_refusal("sizes", &large, 1,
                 "dimension 0 of input \"x\" is given as 3 to 20, but the "
                 "program was exported for");
  expect_refusal("sizes", apart, 2,
                 "dimension 0 of input \"y\" is given as 5, but dimension 0 of "
                 "input \"x\", which is the same size");
  expect_refusal("sizes", &odd, 1, "dimension 1 of input \"x\" is given as 7");
  expect_refusal("sizes", &flat, 1,
                 "input \"x\" is given with 1 dimensions, but the program was "
                 "exported for 2");
  expect_refusal(
      "sizes", &half, 1,
      "input \"x\" is given as float16, but the program was exported "
      "for float32");
  const bsm_input_spec wide = spec(3, 3, 5);
  expect_refusal(
      "marks", &wide, 1,
      "dimension 1 of input \"x\" is given as 5, but the program was "
      "exported for 4 alone");
}

/* Sizes that do not agree are told when running. */
static void test_refused_run(void **state) {
  static float data[64];
  static const char *const message = "dimension 0 of input \"y\" must be ";
  bsm_engine *engine = compile("sizes", false);
  bsm_context *context = new_context(engine);
  bsm_array in[3] = {
      {data, BSM_DTYPE_FLOAT, {2, {4, 8}}, NULL},
      {data, BSM_DTYPE_FLOAT, {1, {5}}, NULL},
      {data, BSM_DTYPE_FLOAT, {1, {5}}, NULL},
  };
  (void)state;
  bsm_status status = bsm_context_run_keep(context, in, 3);
  assert_non_null(status);
  if (!strstr(bsm_status_message(status), message)) {
    fail_msg("\"%s\" is not in: %s", message, bsm_status_message(status));
  }
  bsm_status_free(status);
  in[1].dims.d[0] = 4;
  check(bsm_context_run_keep(context, in, 3), "sizes that agree");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- literals ---- */

/* A number that exporting fixed is no other. */
static void test_fixed_number(void **state) {
  bsm_module *module = load("nested", false);
  bsm_compile_options options = plain_options();
  bsm_engine *engine = NULL;
  bsm_input_spec scale = BSM_INPUT_SPEC_INIT;
  (void)state;
  scale.name = "scale";
  scale.kind = BSM_INPUT_FLOAT;
  scale.float_value = 2.5;
  options.inputs = &scale;
  options.input_count = 1;
  check(bsm_compile(module, &options, &engine), "the same number");
  bsm_engine_destroy(engine);
  scale.float_value = 3;
  bsm_status status = bsm_compile(module, &options, &engine);
  assert_non_null(status);
  assert_non_null(
      strstr(bsm_status_message(status), "input \"scale\" was fixed as 2.5"));
  bsm_status_free(status);
  bsm_module_destroy(module);
}

/* The result has the structure, and the names, that the module gave it. */
static void test_structure(void **state) {
  static const char *const names[] = {"pair.left", "pair.right", "list.0",
                                      "list.1",    "list.2",     "numbers.0",
                                      "numbers.1", "numbers.2",  "numbers.5"};
  bsm_engine *engine = compile("nested", false);
  (void)state;
  assert_int_equal(bsm_engine_output_count(engine), 9);
  for (size_t i = 0; i < 9; i++) {
    size_t index;
    check(bsm_engine_find_output(engine, names[i], &index), names[i]);
    assert_int_equal(index, i);
  }
  static const char *const inputs[] = {"pair.left", "pair.right", "batch.a.0",
                                       "batch.b"};
  assert_int_equal(bsm_engine_input_count(engine), 4);
  for (size_t i = 0; i < 4; i++) {
    size_t index;
    check(bsm_engine_find_input(engine, inputs[i], &index), inputs[i]);
    assert_int_equal(index, i);
  }
  bsm_engine_destroy(engine);
}

/* Submodules are known by their paths and classes, as in TorchScript. */
static void test_fallback_modules(void **state) {
  static const char *const names[] = {
      "Conv2d", "torch.nn.modules.linear.Linear", "stem.1", "stem"};
  bsm_module *module = load("cnn", false);
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    bsm_compile_options options = plain_options();
    bsm_engine *engine = NULL;
    options.fallback_modules = &names[i];
    options.fallback_module_count = 1;
    check(bsm_compile(module, &options, &engine), names[i]);
    bsm_engine_destroy(engine);
  }
  const char *const none = "Conv3d";
  bsm_compile_options options = plain_options();
  bsm_engine *engine = NULL;
  options.fallback_modules = &none;
  options.fallback_module_count = 1;
  bsm_status status = bsm_compile(module, &options, &engine);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  bsm_status_free(status);
  bsm_module_destroy(module);
}

int main(void) {
  enum { COUNT = sizeof(models) / sizeof(models[0]) };
  struct CMUnitTest tests[COUNT + 7];
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] = (struct CMUnitTest){models[i], test_model, NULL, NULL,
                                   (void *)(uintptr_t)models[i]};
  }
  tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(test_state);
  tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(test_ranges);
  tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(test_refused_specs);
  tests[COUNT + 3] = (struct CMUnitTest)cmocka_unit_test(test_refused_run);
  tests[COUNT + 4] = (struct CMUnitTest)cmocka_unit_test(test_fixed_number);
  tests[COUNT + 5] = (struct CMUnitTest)cmocka_unit_test(test_structure);
  tests[COUNT + 6] = (struct CMUnitTest)cmocka_unit_test(test_fallback_modules);
  return cmocka_run_group_tests_name("exported_models", tests, NULL, NULL);
}
