/* SPDX-License-Identifier: Apache-2.0 */
/* Whole models: each archive under tests/data/models is compiled and run on
 * every instruction set of this machine with one and two threads. Outputs must
 * have PyTorch's shapes and dtypes, agree within 1e-4 of the largest value (or
 * what the model's row says),
 * and be bit-identical between thread counts. An engine that was saved and
 * loaded must give the same bits. Programs of torch.export, as they are and
 * decomposed, must agree with the scripted model within a tenth of that. */
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

#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "tests/sample.h"
#include "tools/npy.h"

static test_sample sample;

/* Engines for GPUs carry machine code; these were built by the test. */
static const bsm_engine_load_options own_file = {
    .struct_size = sizeof(own_file), .trust_code = true};

#define MAX_ARRAYS 512

typedef struct model {
  const char *name, *how;
  double tolerance; /* of the largest value; 0: 1e-4 */
} model;

static const model models[] = {
    {"resnet", "script"},
    {"resnet", "trace"},
    {"resnet", "frozen"},
    {"mobilenet", "script"},
    {"mobilenet", "trace"},
    {"mobilenet", "frozen"},
    {"squeezenet", "script"},
    {"squeezenet", "trace"},
    {"squeezenet", "frozen"},
    {"unet", "script"},
    {"unet", "trace"},
    {"unet", "frozen"},
    {"vit", "script"},
    {"vit", "trace"},
    {"vit", "frozen"},
    {"bert", "script"},
    {"bert", "trace"},
    {"bert", "frozen"},
    {"encoder", "script"},
    {"encoder", "trace"},
    {"encoder", "frozen"},
    {"mixed", "script"},
    {"mixed", "frozen"},
    {"dense", "script"},
    {"dense", "trace"},
    {"dense", "frozen"},
    {"state", "script"},
    {"choices", "script"},
    {"choices", "frozen"},
    {"tagger", "script"},
    {"tagger", "trace"},
    {"translator", "script"},
    {"translator", "trace"},
    {"packed", "script"},
    {"packed", "trace"},
    {"double_net", "script", 1e-12},
    {"half_block", "trace", 2e-3},
    {"bfloat_mlp", "trace", 8e-3},
    {"float8", "trace"},
    {"float8", "exported"},
    {"float8", "core"},
    {"integer_net", "script"},
    {"buckets", "script"},
    {"spectral", "script"},
    {"spectral", "trace"},
    {"resnet", "exported"},
    {"resnet", "core"},
    {"mobilenet", "exported"},
    {"mobilenet", "core"},
    {"squeezenet", "exported"},
    {"squeezenet", "core"},
    {"unet", "exported"},
    {"unet", "core"},
    {"vit", "exported"},
    {"vit", "core"},
    {"bert", "exported"},
    {"bert", "core"},
    {"encoder", "exported"},
    {"encoder", "core"},
    {"mixed", "exported"},
    {"mixed", "core"},
    {"dense", "exported"},
    {"dense", "core"},
    {"state", "exported"},
    {"state", "core"},
    {"choices", "exported"},
    {"choices", "core"},
    {"tagger", "exported"},
    {"translator", "exported"},
    {"translator", "core"},
    {"double_net", "exported", 1e-12},
    {"double_net", "core", 1e-12},
    {"half_block", "exported", 2e-3},
    {"half_block", "core", 2e-3},
    {"bfloat_mlp", "exported", 8e-3},
    {"bfloat_mlp", "core", 8e-3},
    {"integer_net", "exported"},
    {"integer_net", "core"},
    {"buckets", "exported"},
    {"buckets", "core"},
    {"operators", "trace"},
    {"operators", "exported"},
    {"operators", "core"},
    {"operators", "v26"},
    {"operators", "v215"},
    {"quantized", "v26"},
    {"quantized_dynamic", "v26"},
    {"resnet", "v26"},
    {"bert", "v26"},
    {"encoder", "v26"},
    {"choices", "v26"},
    {"translator", "v26"},
    {"resnet", "v215"},
    {"bert", "v215"},
    {"encoder", "v215"},
    {"choices", "v215"},
    {"translator", "v215"},
    {"spectral", "exported"},
    {"spectral", "core"},
};

static void check_status(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static size_t collect(const bsm_npy_file *file, const char *prefix,
                      const bsm_array **out) {
  size_t count = 0;
  char name[32];
  for (;; count++) {
    snprintf(name, sizeof(name), "%s_%zu", prefix, count);
    const bsm_array *array = bsm_npy_find(file, name);
    if (!array) return count;
    assert_true(count < MAX_ARRAYS);
    out[count] = array;
  }
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

/* A double for float and double elements; others compare exactly. */
static double element(const bsm_array *a, size_t i) {
  return a->dtype == BSM_DTYPE_FLOAT ? (double)((const float *)a->data)[i]
                                     : ((const double *)a->data)[i];
}

static void compare(const bsm_array *got, const bsm_array *want, size_t index,
                    double tolerance) {
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("output %zu is %s%s, PyTorch's is %s%s", index,
             bsm_dtype_name(got->dtype), bsm_dims_str(got->dims),
             bsm_dtype_name(want->dtype), bsm_dims_str(want->dims));
  }
  const size_t count = count_of(want->dims);
  if (want->dtype != BSM_DTYPE_FLOAT && want->dtype != BSM_DTYPE_DOUBLE) {
    assert_memory_equal(got->data, want->data,
                        count * bsm_dtype_size(want->dtype));
    return;
  }
  double scale = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    const double error = fabs(element(got, i) - element(want, i));
    if (fabs(element(want, i)) > scale) scale = fabs(element(want, i));
    if (!(error <= worst)) worst = error;
  }
  if (!(worst <= tolerance * scale + 1e-2 * tolerance)) {
    fail_msg("output %zu differs by %g at scale %g", index, worst, scale);
  }
}

typedef struct run_case {
  double tolerance;
  const bsm_engine *engine;
  const bsm_array **inputs, **expected;
  size_t input_count, output_count;
  bsm_array first[MAX_ARRAYS]; /* results of the first run, to compare bits */
} run_case;

static void allocate_like(const bsm_engine *engine, bsm_array *out) {
  for (size_t i = 0; i < bsm_engine_output_count(engine); i++) {
    bsm_binding b = BSM_BINDING_INIT;
    check_status(bsm_engine_output(engine, i, &b), "binding");
    out[i] = (bsm_array){calloc(count_of(b.dims) + 1, bsm_dtype_size(b.dtype)),
                         b.dtype, b.dims, NULL};
    assert_non_null(out[i].data);
  }
}

static void run_once(const run_case *c, uint32_t isa, int threads,
                     bsm_array *out) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_array in[MAX_ARRAYS];
  options.threads = threads;
  options.isa = isa;
  for (size_t i = 0; i < c->input_count; i++) in[i] = *c->inputs[i];
  check_status(bsm_context_create(c->engine, &options, &context), "context");
  check_status(
      bsm_context_run(context, in, c->input_count, out, c->output_count),
      "run");
  bsm_context_destroy(context);
}

static void free_arrays(bsm_array *arrays, size_t count) {
  for (size_t i = 0; i < count; i++) free(arrays[i].data);
}

static void assert_same_bits(const run_case *c, const bsm_array *a,
                             const bsm_array *b) {
  for (size_t i = 0; i < c->output_count; i++) {
    assert_memory_equal(a[i].data, b[i].data,
                        count_of(a[i].dims) * bsm_dtype_size(a[i].dtype));
  }
}

static void run_everywhere(run_case *c) {
  static const uint32_t isas[] = {BSM_CONTEXT_ISA_SCALAR, BSM_ISA_AVX2,
                                  BSM_ISA_AVX2 | BSM_ISA_AVX512};
  const uint32_t have = bsm_isa_detect();
  for (size_t k = 0; k < sizeof(isas) / sizeof(isas[0]); k++) {
    bsm_array one[MAX_ARRAYS] = {{0}}, two[MAX_ARRAYS] = {{0}};
    if (k > 0 && (isas[k] & ~have)) continue;
    allocate_like(c->engine, one);
    allocate_like(c->engine, two);
    run_once(c, isas[k], 1, one);
    run_once(c, isas[k], 2, two);
    for (size_t i = 0; i < c->output_count; i++) {
      compare(&one[i], c->expected[i], i, c->tolerance);
    }
    assert_same_bits(c, one, two);
    free_arrays(one, c->output_count);
    free_arrays(two, c->output_count);
  }
}

static void make_specs(const run_case *c, bsm_input_spec *specs) {
  for (size_t i = 0; i < c->input_count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = c->inputs[i]->dtype;
    specs[i].rank = c->inputs[i]->dims.rank;
    memcpy(specs[i].min, c->inputs[i]->dims.d, sizeof(specs[i].min));
  }
}

/* The engine through a file: the same bits. */
static void check_saved(const run_case *c) {
  char path[] = "/tmp/bsm_models_XXXXXX";
  const int file = mkstemp(path);
  bsm_engine *loaded = NULL;
  bsm_array before[MAX_ARRAYS] = {{0}}, after[MAX_ARRAYS] = {{0}};
  assert_true(file >= 0);
  close(file);
  check_status(bsm_engine_save(c->engine, path), "save");
  check_status(bsm_engine_load(path, &own_file, &loaded), "load");
  run_case other = *c;
  other.engine = loaded;
  allocate_like(c->engine, before);
  allocate_like(loaded, after);
  run_once(c, 0, 1, before);
  run_once(&other, 0, 1, after);
  assert_same_bits(c, before, after);
  free_arrays(before, c->output_count);
  free_arrays(after, c->output_count);
  bsm_engine_destroy(loaded);
  unlink(path);
}

static bool is_exported(const char *how) {
  return strcmp(how, "exported") == 0 || strcmp(how, "core") == 0 ||
         how[0] == 'v'; /* by another version of PyTorch */
}

static bsm_engine *compile(const char *name, const char *how,
                           const run_case *c) {
  char path[512];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  snprintf(path, sizeof(path), "%s/models/%s-%s.%s", BSM_TEST_DATA_DIR, name,
           how, is_exported(how) ? "pt2" : "ts");
  check_status(bsm_module_load(path, NULL, &module), path);
  make_specs(c, specs);
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = c->input_count;
  options.no_timing = true;
  options.threads = 1;
  check_status(bsm_compile(module, &options, &engine), path);
  bsm_module_destroy(module);
  return engine;
}

/* TorchScript and torch.export: the same results. */
static void check_front_ends(const model *m, const run_case *c) {
  bsm_array ours[MAX_ARRAYS] = {{0}}, theirs[MAX_ARRAYS] = {{0}};
  /* Some are traced only. */
  const bool traced = strcmp(m->name, "half_block") == 0 ||
                      strcmp(m->name, "bfloat_mlp") == 0 ||
                      strcmp(m->name, "float8") == 0 ||
                      strcmp(m->name, "operators") == 0;
  run_case other = *c;
  bsm_engine *engine = compile(m->name, traced ? "trace" : "script", c);
  other.engine = engine;
  allocate_like(c->engine, ours);
  allocate_like(engine, theirs);
  run_once(c, 0, 1, ours);
  run_once(&other, 0, 1, theirs);
  for (size_t i = 0; i < c->output_count; i++) {
    /* Of half, the last bit may be another. */
    compare(&ours[i], &theirs[i], i,
            (c->tolerance > 1e-4 ? 1 : 0.1) * c->tolerance);
  }
  free_arrays(ours, c->output_count);
  free_arrays(theirs, c->output_count);
  bsm_engine_destroy(engine);
}

static void test_model(void **state) {
  const model *m = *state;
  char path[512];
  bsm_npy_file file;
  bsm_engine *engine;
  if (!test_sample_takes(&sample)) skip();
  const bsm_array *inputs[MAX_ARRAYS], *expected[MAX_ARRAYS];
  snprintf(path, sizeof(path), "%s/models/%s.npz", BSM_TEST_DATA_DIR, m->name);
  check_status(bsm_npy_open(path, NULL, &file), path);
  run_case c = {.tolerance = m->tolerance > 0 ? m->tolerance : 1e-4,
                .inputs = inputs,
                .expected = expected};
  c.input_count = collect(&file, "in", inputs);
  c.output_count = collect(&file, "out", expected);
  assert_true(c.input_count > 0 && c.output_count > 0);
  engine = compile(m->name, m->how, &c);
  assert_int_equal(bsm_engine_output_count(engine), c.output_count);
  c.engine = engine;
  run_everywhere(&c);
  check_saved(&c);
  const bool quantized = strncmp(m->name, "quantized", 9) == 0;
  if (is_exported(m->how) && !quantized) check_front_ends(m, &c);
  bsm_engine_destroy(engine);
  bsm_npy_close(&file);
}

int main(int argc, char **argv) {
  enum { COUNT = sizeof(models) / sizeof(models[0]) };
  static char names[COUNT][32];
  struct CMUnitTest tests[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    snprintf(names[i], sizeof(names[i]), "%s-%s", models[i].name,
             models[i].how);
    tests[i] =
        (struct CMUnitTest){.name = names[i],
                            .test_func = test_model,
                            .initial_state = (void *)(uintptr_t)&models[i]};
  }
  if (argc > 2 || !test_sample_init(&sample, argc > 1 ? argv[1] : NULL)) {
    fprintf(stderr, "usage: %s [SAMPLE[/FIRST]]\n", argv[0]);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
