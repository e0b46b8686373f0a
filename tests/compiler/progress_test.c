/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of compilations, and cancelling them anywhere; what users want
 * in the metadata; small engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "bessemer/calibration.h"

#define OPTIONS BSM_TEST_DATA_DIR "/compiler/options.ts"
#define DIGITS BSM_TEST_DATA_DIR "/../../examples/digits/digits.ts"

static void check(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void refused(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

static bsm_module *load(const char *path) {
  bsm_module *module = NULL;
  check(bsm_module_load(path, NULL, &module));
  return module;
}

/* ---- what is told ---- */

typedef struct observer {
  size_t calls, last; /* the call that cancels; 0: none */
  char phases[512];   /* each time that there is another one */
  const char *phase;
  size_t done;
} observer;

static bool observe(void *user, const char *phase, size_t done, size_t total) {
  observer *o = user;
  assert_true(!total || done <= total);
  if (!o->phase || strcmp(o->phase, phase) != 0) {
    strncat(o->phases, phase, sizeof(o->phases) - strlen(o->phases) - 1);
    strncat(o->phases, " ", sizeof(o->phases) - strlen(o->phases) - 1);
  } else {
    assert_true(done >= o->done || done == 0);
  }
  o->phase = phase;
  o->done = done;
  return ++o->calls != o->last;
}

static bsm_compile_options told(observer *o) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  *o = (observer){0};
  options.no_timing = true;
  options.progress = observe;
  options.progress_user = o;
  return options;
}

static void tells_phases(void **state) {
  (void)state;
  bsm_module *module = load(DIGITS);
  bsm_engine *engine = NULL;
  observer o;
  const bsm_compile_options options = told(&o);
  check(bsm_compile(module, &options, &engine));
  assert_string_equal(o.phases, "lowering converting tactics weights ");
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

/* ---- cancelling ---- */

static void save(bsm_engine *engine, void **bytes, size_t *size) {
  check(bsm_engine_save_memory(engine, NULL, bytes, size));
  bsm_engine_destroy(engine);
}

/* Whichever call cancels, nothing comes out, and the module is as before. */
static void cancel_everywhere(const char *path, bsm_compile_options options,
                              observer *o) {
  bsm_module *module = load(path);
  bsm_engine *engine = NULL;
  void *whole, *again;
  size_t whole_size, again_size;
  check(bsm_compile(module, &options, &engine));
  save(engine, &whole, &whole_size);
  const size_t calls = o->calls;
  assert_true(calls > 4);
  for (size_t i = 1; i <= calls; i += 1 + calls / 40) {
    *o = (observer){.last = i};
    refused(bsm_compile(module, &options, &engine), BSM_CANCELLED,
            "cancelled in the phase ");
    assert_null(engine);
    assert_int_equal(o->calls, i); /* nobody is asked again */
  }
  *o = (observer){0};
  check(bsm_compile(module, &options, &engine));
  save(engine, &again, &again_size);
  assert_int_equal(again_size, whole_size);
  assert_memory_equal(again, whole, whole_size);
  bsm_bytes_free(whole);
  bsm_bytes_free(again);
  bsm_module_destroy(module);
}

static bsm_input_spec rows(int64_t min, int64_t max) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = min;
  spec.opt[0] = spec.max[0] = max;
  spec.min[1] = spec.opt[1] = spec.max[1] = 8;
  return spec;
}

static void cancels_plans(void **state) {
  (void)state;
  observer o;
  cancel_everywhere(DIGITS, told(&o), &o);
}

static void cancels_programs(void **state) {
  (void)state;
  observer o;
  bsm_compile_options options = told(&o);
  const bsm_input_spec spec = rows(2, 2);
  options.method = "steps";
  options.inputs = &spec;
  options.input_count = 1;
  cancel_everywhere(OPTIONS, options, &o);
}

static void cancels_ranges(void **state) {
  (void)state;
  observer o;
  bsm_compile_options options = told(&o);
  const bsm_input_spec spec = rows(1, 5);
  options.inputs = &spec;
  options.input_count = 1;
  cancel_everywhere(OPTIONS, options, &o);
}

static void cancels_calibrations(void **state) {
  (void)state;
  bsm_module *module = load(DIGITS);
  bsm_calibration *calibration = NULL;
  observer o;
  const bsm_compile_options compiling = told(&o);
  bsm_parameter parameter = BSM_PARAMETER_INIT;
  check(bsm_module_parameter(module, NULL, 0, &parameter));
  static float data[1 << 14];
  for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
    data[i] = (float)(i % 17) / 16.0f;
  }
  const bsm_array batch = {data, BSM_DTYPE_FLOAT, parameter.example_dims, NULL};
  const bsm_array *batches[] = {&batch, &batch, &batch};
  bsm_calibrate_options options = BSM_CALIBRATE_OPTIONS_INIT;
  options.batches = batches;
  options.batch_count = 3;
  options.measure_layers = true;
  check(bsm_calibrate(module, &compiling, &options, &calibration));
  bsm_calibration_destroy(calibration);
  assert_string_equal(o.phases, "ranges layers ");
  const size_t calls = o.calls;
  for (size_t i = 1; i <= calls; i++) {
    o = (observer){.last = i};
    refused(bsm_calibrate(module, &compiling, &options, &calibration),
            BSM_CANCELLED, "cancelled in the phase ");
    assert_null(calibration);
    assert_int_equal(o.calls, i);
  }
  bsm_module_destroy(module);
}

/* ---- metadata ---- */

static void keeps_metadata(void **state) {
  (void)state;
  bsm_module *module = load(OPTIONS);
  bsm_engine *engine = NULL, *loaded = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_input_spec specs[] = {rows(2, 2), rows(1, 4)};
  bsm_metadata rows_[] = {{"licence", "Apache-2.0"}, {"classes", "cat\ndog"}};
  options.no_timing = true;
  options.input_count = 1;
  options.metadata = rows_;
  options.metadata_count = 2;
  for (size_t i = 0; i < 2; i++) { /* a plan, and a program */
    void *bytes;
    size_t size;
    options.inputs = &specs[i];
    check(bsm_compile(module, &options, &engine));
    save(engine, &bytes, &size);
    check(bsm_engine_load_memory(bytes, size, NULL, &loaded));
    assert_string_equal(bsm_engine_metadata(loaded, "licence"), "Apache-2.0");
    assert_string_equal(bsm_engine_metadata(loaded, "classes"), "cat\ndog");
    assert_string_equal(bsm_engine_metadata(loaded, "source.method"),
                        "forward");
    bsm_engine_destroy(loaded);
    bsm_bytes_free(bytes);
  }
  static const struct {
    const char *key, *message;
  } bad[] = {{"builder.version", "the compiler's"},
             {"options.mine", "the compiler's"},
             {"", "missing"},
             {"licence", "twice"}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    rows_[1].key = bad[i].key;
    refused(bsm_compile(module, &options, &engine), BSM_INVALID_ARGUMENT,
            bad[i].message);
  }
  bsm_module_destroy(module);
}

/* ---- size ---- */

static uint64_t weights_of(bsm_module *module, bool small) {
  bsm_engine *engine = NULL;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.target = "cpu:avx2,threads=1,l2=1048576";
  options.prefer_size = small;
  check(bsm_compile(module, &options, &engine));
  const char *noted = bsm_engine_metadata(engine, "options.prefer_size");
  assert_true(small == (noted != NULL));
  check(bsm_engine_memory(engine, 1, &memory));
  bsm_engine_destroy(engine);
  return memory.weights;
}

static void prefers_size(void **state) {
  (void)state;
  bsm_module *module = load(DIGITS);
  const uint64_t fast = weights_of(module, false);
  const uint64_t small = weights_of(module, true);
  assert_true(small + small / 4 < fast);
  bsm_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_phases),         cmocka_unit_test(cancels_plans),
      cmocka_unit_test(cancels_programs),     cmocka_unit_test(cancels_ranges),
      cmocka_unit_test(cancels_calibrations), cmocka_unit_test(keeps_metadata),
      cmocka_unit_test(prefers_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
