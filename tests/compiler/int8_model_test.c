/* SPDX-License-Identifier: Apache-2.0 */
/* A quantized network by PyTorch, compiled and run on every instruction set:
 * results are those of fake quantization and of PyTorch's x86 engine within one
 * step of the output's grid, most of them equal, and the same bits everywhere.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define FOLDER BSM_TEST_DATA_DIR "/int8/"

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static bsm_engine *compile(const bsm_array *x) {
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
  check(bsm_module_load(FOLDER "cnn.ts", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static void run(const bsm_engine *engine, const bsm_array *x, uint32_t isa,
                int threads, bsm_array *y) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context;
  options.threads = threads;
  options.isa = isa;
  check(bsm_context_create(engine, &options, &context));
  check(bsm_context_run(context, x, 1, y, 1));
  bsm_context_destroy(context);
}

/* All but a few results are on the same step of the grid, the others on the
 * next one. */
static void compare(const float *got, const bsm_array *expected, float step) {
  const float *want = expected->data;
  size_t count = 1, others = 0;
  for (int32_t i = 0; i < expected->dims.rank; i++) {
    count *= (size_t)expected->dims.d[i];
  }
  for (size_t i = 0; i < count; i++) {
    const double steps = fabs((double)(got[i] - want[i]) / (double)step);
    if (steps > 1.001) fail_msg("%zu: %g steps off", i, steps);
    others += steps > 0.001;
  }
  if (others > count / 10) fail_msg("%zu of %zu differ", others, count);
}

static const bsm_array *entry(const bsm_npy_file *file, const char *name) {
  const bsm_array *array = bsm_npy_find(file, name);
  assert_non_null(array);
  return array;
}

static void test_as_pytorch(void **state) {
  static const uint32_t isas[] = {
      BSM_CONTEXT_ISA_SCALAR,
      BSM_ISA_AVX2,
      BSM_ISA_AVX2 | BSM_ISA_AVX512,
      BSM_ISA_AVX2 | BSM_ISA_AVX_VNNI,
      BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_AVX512_VNNI,
      BSM_ISA_AVX2 | BSM_ISA_AVX512 | BSM_ISA_AMX};
  bsm_npy_file file;
  (void)state;
  check(bsm_npy_open(FOLDER "cnn.npz", NULL, &file));
  const bsm_array *x = entry(&file, "in_0"), *fake = entry(&file, "out_0");
  const float step = *(const float *)entry(&file, "step")->data;
  bsm_engine *engine = compile(x);
  float results[40], first[40];
  bsm_array y = {results, BSM_DTYPE_FLOAT, fake->dims, NULL};
  bool has_first = false;
  for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
    if (i > 0 && (isas[i] & ~bsm_isa_detect())) continue;
    for (int threads = 1; threads <= 2; threads++) {
      run(engine, x, isas[i], threads, &y);
      compare(results, fake, step);
      compare(results, entry(&file, "x86_0"), step);
      if (has_first) assert_memory_equal(results, first, sizeof(results));
      memcpy(first, results, sizeof(first));
      has_first = true;
    }
  }
  bsm_engine_destroy(engine);
  bsm_npy_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_pytorch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
