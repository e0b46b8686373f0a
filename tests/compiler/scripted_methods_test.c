/* SPDX-License-Identifier: Apache-2.0 */
/* Small models in Python as people write it against PyTorch, each compiled for
 * the shapes of its first run, and for ranges that hold all runs and more:
 * data/scripted/make_scripted.py makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define FILE_OF(end) BSM_TEST_DATA_DIR "/scripted/methods." end

enum {
  MAX_INPUTS = 3,
  MAX_OUTPUTS = 16,
  WIDER = 9 /* dims that range do so further than the runs, so that not all
               shapes have plans of their own */
};

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

/* What the inputs of the first run are, or (ranges) of all runs. */
static size_t describe(const bsm_npy_file *file, const char *method,
                       bool ranges, bsm_input_spec *specs) {
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
    for (int run = 1;
         ranges && (a = find(file, method, run, "in", count)) != NULL; run++) {
      for (int32_t i = 0; i < spec->rank; i++) {
        const int64_t size = a->dims.d[i];
        if (size < spec->min[i]) spec->min[i] = size;
        if (size > spec->max[i]) spec->max[i] = size;
      }
    }
    for (int32_t i = 0; i < spec->rank; i++) {
      if (spec->min[i] != spec->max[i]) spec->max[i] += WIDER;
    }
  }
  return count;
}

static bsm_engine *compile(const bsm_npy_file *file, const char *method,
                           bool ranges) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = describe(file, method, ranges, specs);
  options.method = method;
  options.no_timing = true;
  check(bsm_module_load(FILE_OF("ts"), NULL, &module), "methods.ts");
  check(bsm_compile(module, &options, &engine), method);
  bsm_module_destroy(module);
  return engine;
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

static double item(const bsm_array *a, size_t i) {
  return a->dtype == BSM_DTYPE_DOUBLE ? ((const double *)a->data)[i]
                                      : (double)((const float *)a->data)[i];
}

static void compare(const bsm_array *got, const bsm_array *want,
                    const char *what) {
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("%s is %s%s, PyTorch's is %s%s", what, bsm_dtype_name(got->dtype),
             bsm_dims_str(got->dims), bsm_dtype_name(want->dtype),
             bsm_dims_str(want->dims));
  }
  const size_t count = count_of(want->dims);
  if (want->dtype != BSM_DTYPE_FLOAT && want->dtype != BSM_DTYPE_DOUBLE) {
    if (memcmp(got->data, want->data, count * bsm_dtype_size(want->dtype))) {
      fail_msg("%s differs", what);
    }
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const double a = item(got, i), b = item(want, i);
    if (!(fabs(a - b) <= 1e-5 * fabs(b) + 1e-5) && !(isnan(a) && isnan(b)) &&
        !(isinf(b) && (a > 0) == (b > 0) && isinf(a))) {
      fail_msg("%s differs at %zu: %g, PyTorch's is %g", what, i, a, b);
    }
  }
}

/* Whether there is such a run, of the shapes of the first unless `ranges`. */
static bool may_run(const bsm_npy_file *file, const char *method, int run,
                    bool ranges) {
  const bsm_array *a, *first;
  for (size_t i = 0; (first = find(file, method, 0, "in", i)) != NULL; i++) {
    a = find(file, method, run, "in", i);
    if (!a || (!ranges && memcmp(&a->dims, &first->dims, sizeof(a->dims)))) {
      return false;
    }
  }
  return true;
}

static void run_all(const bsm_npy_file *file, const char *method, bool ranges) {
  bsm_engine *engine = compile(file, method, ranges);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  char what[128];
  int runs = 0;
  check(bsm_context_create(engine, &options, &context), method);
  for (; may_run(file, method, runs, ranges); runs++) {
    bsm_array inputs[MAX_INPUTS], got;
    const bsm_array *found;
    size_t count = 0, outputs = 0;
    snprintf(what, sizeof(what), "%s, run %d", method, runs);
    while ((found = find(file, method, runs, "in", count)) != NULL) {
      inputs[count++] = *found;
    }
    check(bsm_context_run_keep(context, inputs, count), what);
    while ((found = find(file, method, runs, "out", outputs)) != NULL) {
      snprintf(what, sizeof(what), "%s, run %d, output %zu", method, runs,
               outputs);
      check(bsm_context_output(context, outputs++, &got), what);
      compare(&got, found, what);
    }
    assert_int_equal(bsm_engine_output_count(engine), outputs);
  }
  assert_true(runs > (ranges ? 1 : 0));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void agrees(void **state) {
  const char *method = *state;
  bsm_npy_file file;
  check(bsm_npy_open(FILE_OF("npz"), NULL, &file), "methods.npz");
  run_all(&file, method, false);
  run_all(&file, method, true);
  bsm_npy_close(&file);
}

#define METHOD(name) \
  { #name, agrees, NULL, NULL, (void *)(uintptr_t) #name }

int main(void) {
  const struct CMUnitTest tests[] = {
      METHOD(write_then_ask),       METHOD(write_in_a_branch),
      METHOD(write_in_a_loop),      METHOD(write_on_one_side),
      METHOD(views_are_read_again), METHOD(copies_are_not),
      METHOD(list_of_sizes),        METHOD(dict_of_pairs),
      METHOD(fill_the_diagonal),    METHOD(modules_by_number),
      METHOD(encode_padded),        METHOD(write_another_dtype),
      METHOD(view_of_no_dims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
