/* SPDX-License-Identifier: Apache-2.0 */
/* Models compiled for a target that takes some layers and leaves others to the
 * host: the plans move each tensor once to where it is read, and give what
 * PyTorch does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "aten/tensor.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"
#include "tests/runtime/lazy_device.h"
#include "tests/runtime/lazy_target.h"
#include "tools/npy.h"

#define MAX_ARRAYS 32
#define WITHOUT(kind) (UINT64_C(1) << BSM_LAYER_##kind)

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static size_t count_of(bsm_dims dims) {
  size_t n = 1;
  for (int32_t i = 0; i < dims.rank; i++) n *= (size_t)dims.d[i];
  return n;
}

static size_t find_arrays(const bsm_npy_file *file, const char *prefix,
                          bsm_array *out) {
  char key[32];
  for (size_t n = 0;; n++) {
    snprintf(key, sizeof(key), "%s_%zu", prefix, n);
    const bsm_array *array = bsm_npy_find(file, key);
    if (!array) return n;
    assert_true(n < MAX_ARRAYS);
    out[n] = *array;
  }
}

/* `low`: the least size of the first dimension of every input, 0: as given. */
static bsm_engine *compile(const char *name, const char *how,
                           const bsm_array *inputs, size_t count, int64_t low) {
  char path[512];
  bsm_module *module;
  bsm_engine *engine;
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (size_t i = 0; i < count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = inputs[i].dtype;
    specs[i].rank = inputs[i].dims.rank;
    memcpy(specs[i].min, inputs[i].dims.d, sizeof(specs[i].min));
    if (!low) continue;
    memcpy(specs[i].opt, inputs[i].dims.d, sizeof(specs[i].opt));
    memcpy(specs[i].max, inputs[i].dims.d, sizeof(specs[i].max));
    specs[i].min[0] = specs[i].opt[0] = low;
    specs[i].max[0] = 8;
  }
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  options.target = "lazy";
  snprintf(path, sizeof(path), "%s/models/%s-%s.ts", BSM_TEST_DATA_DIR, name,
           how);
  check(bsm_module_load(path, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static double element(const bsm_array *a, size_t i) {
  return a->dtype == BSM_DTYPE_FLOAT ? (double)((const float *)a->data)[i]
                                     : ((const double *)a->data)[i];
}

static void compare(const bsm_array *got, const bsm_array *want) {
  const size_t n = count_of(want->dims);
  double scale = 0, worst = 0;
  assert_int_equal(got->dtype, want->dtype);
  assert_true(bsm_dims_equal(got->dims, want->dims));
  if (want->dtype != BSM_DTYPE_FLOAT && want->dtype != BSM_DTYPE_DOUBLE) {
    assert_memory_equal(got->data, want->data, n * bsm_dtype_size(want->dtype));
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const double error = fabs(element(got, i) - element(want, i));
    scale = fmax(scale, fabs(element(want, i)));
    if (!(error <= worst)) worst = error;
  }
  if (!(worst <= 1e-4 * scale + 1e-6)) {
    fail_msg("differs by %g at scale %g", worst, scale);
  }
}

/* Every transfer moves a tensor that no other one moves, and something that a
 * step needs there. */
static void check_transfers(const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_TRANSFER) continue;
    bool read = plan->tensors[step->outputs[0]].place == BSM_PLACE_OUTPUT;
    for (uint32_t k = 0; k < plan->step_count; k++) {
      const bsm_plan_step *other = &plan->steps[k];
      if (k != i && other->kind == BSM_STEP_TRANSFER) {
        assert_int_not_equal(other->inputs[0], step->inputs[0]);
      }
      for (uint32_t n = 0; k > i && n < other->input_count; n++) {
        const bsm_plan_tensor *t = &plan->tensors[other->inputs[n]];
        read = read ||
               (t->space == step->space && t->place == BSM_PLACE_WORKSPACE);
      }
    }
    assert_true(read);
  }
}

typedef struct counts {
  int host, device, transfers;
} counts;

static counts count_steps(const bsm_plan *plan) {
  counts c = {0, 0, 0};
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    check_transfers(part);
    for (uint32_t i = 0; i < part->step_count; i++) {
      const bsm_plan_step *step = &part->steps[i];
      if (step->kind == BSM_STEP_TRANSFER) {
        c.transfers++;
      } else if (step->space == BSM_SPACE_DEVICE) {
        c.device++;
      } else {
        c.host++;
      }
    }
  }
  return c;
}

static void run_and_compare(const bsm_engine *engine, const bsm_array *inputs,
                            size_t count, const bsm_array *want,
                            size_t want_count) {
  bsm_context *context;
  check(bsm_context_create(engine, NULL, &context));
  for (int turn = 0; turn < 2; turn++) {
    check(bsm_context_run_keep(context, inputs, count));
    assert_int_equal(bsm_context_output_count(context), want_count);
    for (size_t i = 0; i < want_count; i++) {
      bsm_array got;
      check(bsm_context_output(context, i, &got));
      compare(&got, &want[i]);
    }
  }
  bsm_context_destroy(context);
}

/* The engine through a file. */
static bsm_engine *reload(bsm_engine *engine) {
  char path[] = "/tmp/bsm_lazy_XXXXXX";
  bsm_engine *loaded;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  check(bsm_engine_save(engine, path));
  bsm_engine_destroy(engine);
  check(bsm_engine_load(path, NULL, &loaded));
  unlink(path);
  return loaded;
}

static void run_model(const char *name, const char *how, uint64_t refuses,
                      int64_t low, counts *out) {
  char path[512];
  bsm_npy_file file;
  bsm_array inputs[MAX_ARRAYS], want[MAX_ARRAYS];
  snprintf(path, sizeof(path), "%s/models/%s.npz", BSM_TEST_DATA_DIR, name);
  check(bsm_npy_open(path, NULL, &file));
  const size_t count = find_arrays(&file, "in", inputs);
  const size_t want_count = find_arrays(&file, "out", want);
  lazy_target_refuses = refuses;
  lazy_log = (lazy_device_log){0};
  bsm_engine *engine = compile(name, how, inputs, count, low);
  *out = count_steps(engine->plan);
  run_and_compare(engine, inputs, count, want, want_count);
  engine = reload(engine);
  run_and_compare(engine, inputs, count, want, want_count);
  bsm_engine_destroy(engine);
  assert_int_equal(lazy_log.live, 0);
  assert_int_equal(lazy_log.prepared, 0);
  assert_int_equal(lazy_log.open, 0);
  bsm_npy_close(&file);
}

static const char *const models[][2] = {
    {"resnet", "trace"},   {"mobilenet", "script"}, {"squeezenet", "trace"},
    {"unet", "script"},    {"vit", "script"},       {"bert", "trace"},
    {"encoder", "script"}, {"dense", "trace"},      {"mixed", "script"},
    {"tagger", "trace"},   {"packed", "trace"},     {"translator", "script"},
    {"choices", "script"}, {"state", "script"},
};
#define MODELS (sizeof(models) / sizeof(models[0]))

/* All of it on the device: nothing but the reference library is left, and no
 * transfer where there is none. */
static void test_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    counts c;
    run_model(models[i][0], models[i][1], 0, 0, &c);
    assert_true(c.device > 0);
    if (!c.host) assert_int_equal(c.transfers, 0);
  }
}

static void test_parts(void **state) {
  (void)state;
  static const uint64_t refusals[] = {
      WITHOUT(SOFTMAX) | WITHOUT(NORMALIZATION) | WITHOUT(ATTENTION),
      WITHOUT(CONVOLUTION) | WITHOUT(RECURRENT) | WITHOUT(GATHER),
      WITHOUT(MATRIX_MULTIPLY) | WITHOUT(POOLING),
      WITHOUT(FUSED_ELEMENT_WISE) | WITHOUT(RESIZE) | WITHOUT(REDUCE),
      LAZY_EVERY_THIRD,
  };
  int mixed = 0;
  for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
    for (size_t i = 0; i < MODELS; i++) {
      counts c;
      run_model(models[i][0], models[i][1], refusals[k], 0, &c);
      mixed += c.transfers > 0;
    }
  }
  assert_true(mixed > 40);
}

/* Nothing is taken: the plan is the host's, without transfers. */
static void test_nothing(void **state) {
  (void)state;
  counts c;
  run_model("mixed", "script", UINT64_MAX >> 1, 0, &c);
  assert_int_equal(c.device, 0);
  assert_int_equal(c.transfers, 0);
}

/* Plans that a run makes for its shapes are for the same target. */
static void test_open_dims(void **state) {
  (void)state;
  static const char *const open[][2] = {
      {"resnet", "trace"}, {"mobilenet", "trace"}, {"vit", "trace"}};
  for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
    counts c;
    lazy_log.steps = 0;
    run_model(open[i][0], open[i][1], WITHOUT(SOFTMAX) | WITHOUT(POOLING), 2,
              &c);
    assert_true(lazy_log.steps > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_open_dims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
