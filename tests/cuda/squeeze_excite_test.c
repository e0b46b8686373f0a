/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that squeeze and excite: on GPUs with clusters one kernel does so,
 * and its errors against float64 are at most 1.5 times those of PyTorch in 16
 * bits. */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/steps/cuda_squeeze_excite.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"
#include "tools/npy.h"

#define FOLDER BSM_TEST_DATA_DIR "/squeeze_excite/"
#define MOST 512

static standin gpu;

typedef struct network {
  const char *name;
  uint32_t steps; /* that the kernel does */
} network;

static bsm_engine *compile(const network *n, bsm_precision precision,
                           const bsm_dims *dims) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  char path[256];
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = dims->rank;
  memcpy(spec.min, dims->d, sizeof(spec.min));
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = (uint32_t)precision;
  snprintf(path, sizeof(path), FOLDER "%s.ts", n->name);
  assert_ok(bsm_module_load(path, NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static size_t count_of(const bsm_dims *d) {
  size_t count = 1;
  for (int32_t i = 0; i < d->rank; i++) count *= (size_t)d->d[i];
  return count;
}

/* The root mean square of the differences. */
static double error_of(const float *got, const double *exact, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double d = (double)got[i] - exact[i];
    sum += d * d;
  }
  return sqrt(sum / (double)count);
}

/* Steps that one kernel does in the plan for a GPU. */
static uint32_t joined_steps(const bsm_plan *plan, int sm) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    found += bsm_cuda_squeeze_excite_steps(plan, i, sm);
  }
  return found;
}

static void run(const bsm_engine *engine, const bsm_array *x,
                const bsm_dims *dims, float *out) {
  bsm_context *context = NULL;
  bsm_array output = {.data = out, .dtype = BSM_DTYPE_FLOAT, .dims = *dims};
  assert_ok(bsm_context_create(engine, NULL, &context));
  for (int i = 0; i < 3; i++) {
    memset(out, 0xff, MOST * sizeof(float));
    assert_ok(bsm_context_run(context, x, 1, &output, 1));
  }
  bsm_context_destroy(context);
}

static void check(const network *n, bsm_precision precision) {
  char path[256];
  bsm_npy_file file;
  float out[MOST];
  snprintf(path, sizeof(path), FOLDER "%s.npz", n->name);
  assert_ok(bsm_npy_open(path, NULL, &file));
  const bsm_array *x = bsm_npy_find(&file, "x");
  const bsm_array *exact = bsm_npy_find(&file, "exact");
  const bsm_array *theirs =
      bsm_npy_find(&file, precision == BSM_PRECISION_FP16 ? "half" : "bfloat");
  assert_true(x && exact && theirs);
  const size_t count = count_of(&exact->dims);
  assert_true(count <= MOST);
  bsm_engine *engine = compile(n, precision, &x->dims);
  assert_int_equal(joined_steps(engine->plan, 90), n->steps);
  assert_int_equal(joined_steps(engine->plan, 80), 0); /* has no clusters */
  run(engine, x, &exact->dims, out);
  const double error = error_of(out, exact->data, count);
  const double limit = 1.5 * error_of(theirs->data, exact->data, count);
  if (!(error <= limit)) {
    fail_msg("%s: an error of %g, at most %g", n->name, error, limit);
  }
  bsm_engine_destroy(engine);
  bsm_npy_close(&file);
}

static const network few = {"few", 4}, many = {"many", 4}, plain = {"plain", 4},
                     added = {"added", 3};

static void half(void **state) {
  (void)state;
  check(&few, BSM_PRECISION_FP16);
  check(&plain, BSM_PRECISION_FP16);
}

static void bfloat(void **state) {
  (void)state;
  check(&many, BSM_PRECISION_BF16);
}

static void gates_alone(void **state) {
  (void)state;
  check(&added, BSM_PRECISION_FP16);
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(half, nothing_is_left),
      cmocka_unit_test_teardown(bfloat, nothing_is_left),
      cmocka_unit_test_teardown(gates_alone, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
