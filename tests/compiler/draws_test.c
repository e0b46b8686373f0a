/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of methods that draw random numbers give PyTorch's bits, run after
 * run: data/draws/make_draws.py makes the methods and the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define FILE_OF(end) BSM_TEST_DATA_DIR "/draws/draws." end

enum { MAX_INPUTS = 3 };
#define SEED 1234567

static void check(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static const bsm_array *find(const bsm_npy_file *file, const char *method,
                             int run, const char *kind, size_t i) {
  char name[96];
  snprintf(name, sizeof(name), "%s.%d.%s%zu", method, run, kind, i);
  return bsm_npy_find(file, name);
}

/* The inputs of all runs. */
static size_t describe(const bsm_npy_file *file, const char *method,
                       bsm_input_spec *specs) {
  size_t count = 0;
  const bsm_array *a;
  for (; (a = find(file, method, 0, "in", count)) != NULL; count++) {
    bsm_input_spec *spec = &specs[count];
    assert_true(count < MAX_INPUTS);
    *spec = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    spec->dtype = a->dtype;
    spec->rank = a->dims.rank;
    memcpy(spec->min, a->dims.d, sizeof(spec->min));
    memcpy(spec->opt, a->dims.d, sizeof(spec->opt));
    memcpy(spec->max, a->dims.d, sizeof(spec->max));
    for (int run = 1; (a = find(file, method, run, "in", count)) != NULL;
         run++) {
      for (int32_t i = 0; i < spec->rank; i++) {
        const int64_t size = a->dims.d[i];
        if (size < spec->min[i]) spec->min[i] = size;
        if (size > spec->max[i]) spec->max[i] = size;
      }
    }
  }
  return count;
}

static bsm_engine *compile(const bsm_npy_file *file, const char *method) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = describe(file, method, specs);
  options.method = method;
  options.no_timing = true;
  check(bsm_module_load(FILE_OF("ts"), NULL, &module), "draws.ts");
  check(bsm_compile(module, &options, &engine), method);
  bsm_module_destroy(module);
  return engine;
}

static void compare(const bsm_array *got, const bsm_array *want,
                    const char *what) {
  size_t bytes = bsm_dtype_size(want->dtype);
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("%s is %s%s, PyTorch's is %s%s", what, bsm_dtype_name(got->dtype),
             bsm_dims_str(got->dims), bsm_dtype_name(want->dtype),
             bsm_dims_str(want->dims));
  }
  for (int32_t i = 0; i < want->dims.rank; i++) {
    bytes *= (size_t)want->dims.d[i];
  }
  if (memcmp(got->data, want->data, bytes) != 0) fail_msg("%s differs", what);
}

static void run_once(const bsm_npy_file *file, bsm_context *context,
                     const char *method, int run) {
  char what[128];
  bsm_array inputs[MAX_INPUTS], got;
  const bsm_array *found;
  size_t count = 0, outputs = 0;
  snprintf(what, sizeof(what), "%s, run %d", method, run);
  while ((found = find(file, method, run, "in", count)) != NULL) {
    inputs[count++] = *found;
  }
  check(bsm_context_run_keep(context, inputs, count), what);
  while ((found = find(file, method, run, "out", outputs)) != NULL) {
    snprintf(what, sizeof(what), "%s, run %d, output %zu", method, run,
             outputs);
    check(bsm_context_output(context, outputs++, &got), what);
    compare(&got, found, what);
  }
  assert_true(outputs > 0);
}

static void run_all(const bsm_npy_file *file, const bsm_engine *engine,
                    const char *method) {
  bsm_context *context = NULL;
  check(bsm_context_create(engine, NULL, &context), method);
  run_once(file, context, method, 0);
  run_once(file, context, method, 1);
  check(bsm_context_seed(context, SEED), "seed");
  run_once(file, context, method, 2);
  check(bsm_context_seed(context, 0), "seed");
  run_once(file, context, method, 0);
  bsm_context_destroy(context);
}

/* As compiled, and from the file's bytes. */
static void agrees(void **state) {
  const char *method = *state;
  bsm_npy_file file;
  bsm_engine *loaded = NULL;
  void *bytes = NULL;
  size_t size;
  const bsm_engine_load_options own = {.struct_size = sizeof(own),
                                       .trust_code = true};
  check(bsm_npy_open(FILE_OF("npz"), NULL, &file), "draws.npz");
  bsm_engine *engine = compile(&file, method);
  run_all(&file, engine, method);
  check(bsm_engine_save_memory(engine, NULL, &bytes, &size), method);
  bsm_engine_destroy(engine);
  check(bsm_engine_load_memory(bytes, size, &own, &loaded), method);
  run_all(&file, loaded, method);
  bsm_engine_destroy(loaded);
  bsm_bytes_free(bytes);
  bsm_npy_close(&file);
}

/* The listing says how a method's draws run. */
static void listed(void **state) {
  (void)state;
  bsm_module *module = NULL;
  bsm_operator_list *list = NULL;
  bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_input_spec spec = {.dtype = BSM_DTYPE_FLOAT,
                               .rank = 2,
                               .min = {4, 4},
                               .opt = {4, 4},
                               .max = {4, 4}};
  options.inputs = &spec;
  options.input_count = 1;
  options.method = "noise";
  check(bsm_module_load(FILE_OF("ts"), NULL, &module), "draws.ts");
  check(bsm_module_operators(module, &options, &list), "operators");
  assert_null(bsm_operator_list_failure(list));
  size_t seen = 0;
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    check(bsm_operator_list_get(list, i, &info), "operator");
    if (strncmp(info.schema, "aten::randn_like(", 17) != 0) continue;
    assert_string_equal(info.runs, "call");
    assert_non_null(strstr(info.why, "draws random numbers"));
    seen++;
  }
  assert_int_equal(seen, 1);
  bsm_operator_list_free(list);
  bsm_module_destroy(module);
}

#define METHOD(name) \
  { #name, agrees, NULL, NULL, (void *)(uintptr_t) #name }

int main(void) {
  const struct CMUnitTest tests[] = {
      METHOD(noise),
      METHOD(of_sizes),
      METHOD(filled),
      METHOD(transposed),
      METHOD(by_tensors),
      METHOD(in_order),
      METHOD(in_branches),
      METHOD(in_loops),
      METHOD(shared_memory),
      METHOD(sampled),
      METHOD(dropped),
      METHOD(dropped_in_ways),
      METHOD(ranging),
      METHOD(ranging_in_a_branch),
      cmocka_unit_test(listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
