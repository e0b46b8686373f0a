/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized networks of PyTorch on a GPU: all of their steps run there, results
 * are PyTorch's, and have the same bits as the CPU's. */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdio.h>

#include "bessemer/bessemer.h"
#include "engine/plan.h"
#include "runtime/engine/engine.h"
#include "tools/npy.h"

#define MOST 4096
/* Of the grid of results whose file does not say it. */
#define STEP 0.0038759690

static standin gpu;

static bsm_engine *compile(const char *path, const bsm_array *x,
                           const char *target, uint32_t precisions) {
  bsm_module *module;
  bsm_engine *engine;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  spec.dtype = x->dtype;
  spec.rank = x->dims.rank;
  memcpy(spec.min, x->dims.d, sizeof(spec.min));
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.target = target;
  options.precisions = precisions;
  assert_ok(bsm_module_load(path, NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static void run(const bsm_engine *engine, const bsm_array *x,
                const bsm_dims *dims, float *y) {
  bsm_context *context;
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = *dims};
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, x, 1, &out, 1));
  bsm_context_destroy(context);
}

/* Of bytes, all on the device; the number of them. */
static int count_products(const bsm_engine *engine) {
  const bsm_plan *plan = engine->plan;
  int count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    count += step->kind == BSM_STEP_INT8_CONVOLUTION;
    assert_int_not_equal(step->kind, BSM_STEP_TRANSFER);
    assert_int_equal(step->space, BSM_SPACE_DEVICE);
  }
  return count;
}

static size_t size_of(const bsm_array *a) {
  size_t count = 1;
  for (int32_t i = 0; i < a->dims.rank; i++) count *= (size_t)a->dims.d[i];
  assert_true(count <= MOST);
  return count;
}

/* `steps`: how far results may be from PyTorch's, in those of its grid. */
static void check_model(const char *folder, const char *name,
                        uint32_t precisions, int products, double steps) {
  static float got[MOST], cpu[MOST];
  char path[512];
  bsm_npy_file file;
  (void)snprintf(path, sizeof(path), "%s/%s/%s.npz", BSM_TEST_DATA_DIR, folder,
                 name);
  assert_ok(bsm_npy_open(path, NULL, &file));
  const bsm_array *x = bsm_npy_find(&file, "in_0");
  const bsm_array *y = bsm_npy_find(&file, "out_0");
  const bsm_array *step = bsm_npy_find(&file, "step");
  assert_true(x && y);
  const size_t count = size_of(y);
  const float *want = y->data;
  const double most =
      steps * (step ? (double)*(const float *)step->data : STEP) + 1e-6;
  (void)snprintf(path, sizeof(path), "%s/%s/%s.ts", BSM_TEST_DATA_DIR, folder,
                 name);
  bsm_engine *of_gpu = compile(path, x, "cuda", precisions);
  assert_int_equal(count_products(of_gpu), products);
  run(of_gpu, x, &y->dims, got);
  bsm_engine_destroy(of_gpu);
  for (size_t i = 0; i < count; i++) {
    if (!(fabs((double)(got[i] - want[i])) <= most)) {
      fail_msg("%s, %zu: %.9g, not %.9g", name, i, (double)got[i],
               (double)want[i]);
    }
  }
  if (!precisions) {
    bsm_engine *of_cpu = compile(path, x, "cpu", 0);
    run(of_cpu, x, &y->dims, cpu);
    assert_memory_equal(got, cpu, count * sizeof(*got));
    bsm_engine_destroy(of_cpu);
  }
  bsm_npy_close(&file);
}

static void gives_integers_of_pytorch(void **state) {
  (void)state;
  check_model("int8", "cnn", 0, 5, 1);
  check_model("quantized", "layers_trace", 0, 2, 0);
  check_model("quantized", "residual_trace", 0, 5, 0);
  check_model("quantized", "mobile_trace", 0, 6, 0);
}

/* What is around the same products computes in half. */
static void computes_halves_around(void **state) {
  (void)state;
  check_model("int8", "cnn", BSM_PRECISION_FP16, 5, 2);
  check_model("quantized", "residual_trace", BSM_PRECISION_FP16, 5, 2);
}

static int nothing_is_left(void **state) {
  (void)state;
  assert_int_equal(standin_count_left(&gpu), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(gives_integers_of_pytorch, nothing_is_left),
      cmocka_unit_test_teardown(computes_halves_around, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
