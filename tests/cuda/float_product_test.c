/* SPDX-License-Identifier: Apache-2.0 */
/* Products in 16 bits whose results a model has as float: one kernel makes
 * them, rounded nowhere in between, where nobody reads those of 16 bits. */
#include "cuda/cuda_kit.h"

#include <math.h>

#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_products.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { ROWS = 12, K = 16, COLUMNS = 27, COUNT = ROWS * COLUMNS };

static standin gpu;
static float x[ROWS * K];

#define WEIGHTS                                                       \
  "graph(%x : Tensor):\n"                                             \
  "  %none : NoneType = prim::Constant()\n"                           \
  "  %one : int = prim::Constant[value=1]()\n"                        \
  "  %three : int = prim::Constant[value=3]()\n"                      \
  "  %four : int = prim::Constant[value=4]()\n"                       \
  "  %k : int = prim::Constant[value=16]()\n"                         \
  "  %n : int = prim::Constant[value=27]()\n"                         \
  "  %count : int = prim::Constant[value=432]()\n"                    \
  "  %six : int = prim::Constant[value=6]()\n"                        \
  "  %a : Tensor = aten::arange(%count, %six, %none, %none, %none)\n" \
  "  %s : Tensor = aten::sin(%a)\n"                                   \
  "  %m : int[] = prim::ListConstruct(%k, %n)\n"                      \
  "  %w : Tensor = aten::view(%s, %m)\n"

static const char rows[] = WEIGHTS
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %y : Tensor = aten::relu(%p)\n"
    "  return (%y)\n";

static const char batches[] = WEIGHTS
    "  %v : int[] = prim::ListConstruct(%three, %four, %k)\n"
    "  %t : Tensor = aten::view(%x, %v)\n"
    "  %p : Tensor = aten::matmul(%t, %w)\n"
    "  %y : Tensor = aten::relu(%p)\n"
    "  return (%y)\n";

/* Of three rows. */
static const char few_rows[] = WEIGHTS
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %t : Tensor = aten::slice(%x, %zero, %zero, %three, %one)\n"
    "  %p : Tensor = aten::matmul(%t, %w)\n"
    "  %y : Tensor = aten::relu(%p)\n"
    "  return (%y)\n";

/* The softmax reads what is narrow. */
static const char read_twice[] = WEIGHTS
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %y : Tensor = aten::relu(%p)\n"
    "  %z : Tensor = aten::softmax(%y, %one, %none)\n"
    "  return (%y, %z)\n";

static bsm_engine *compile(const char *text, uint32_t precisions) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = ROWS;
  spec.min[1] = K;
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = precisions;
  assert_ok(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static uint32_t joined_steps(const bsm_plan *plan, int sm) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    found += bsm_cuda_float_product_steps(plan, i, sm);
  }
  return found;
}

static void run(const bsm_engine *engine, float *y, float *z) {
  bsm_context *context = NULL;
  const bsm_array in = {
      .data = x, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {ROWS, K}}};
  bsm_array out[2] = {{.data = y, .dtype = BSM_DTYPE_FLOAT},
                      {.data = z, .dtype = BSM_DTYPE_FLOAT}};
  for (size_t i = 0; i < ROWS * K; i++) x[i] = cosf((float)i * 0.7f);
  for (size_t i = 0; i < bsm_engine_output_count(engine); i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    assert_ok(bsm_engine_output(engine, i, &binding));
    out[i].dims = binding.dims;
  }
  assert_ok(bsm_context_create(engine, NULL, &context));
  for (int i = 0; i < 3; i++) {
    memset(y, 0xff, COUNT * sizeof(float));
    assert_ok(
        bsm_context_run(context, &in, 1, out, bsm_engine_output_count(engine)));
  }
  bsm_context_destroy(context);
}

static void check_values(const float *y, int rows_made, double tolerance) {
  for (int m = 0; m < rows_made; m++) {
    for (int n = 0; n < COLUMNS; n++) {
      double sum = 0;
      for (int k = 0; k < K; k++) {
        sum += (double)x[m * K + k] * sin(k * COLUMNS + n);
      }
      const double want = sum > 0 ? sum : 0;
      const double seen = (double)y[m * COLUMNS + n];
      if (!(fabs(seen - want) <= tolerance)) {
        fail_msg("row %d, column %d: %g instead of %g", m, n, seen, want);
      }
    }
  }
}

/* How many numbers half does not hold. */
static int count_wide(const float *y, int numbers) {
  int count = 0;
  for (int i = 0; i < numbers; i++) {
    count += bsm_half_to_float(bsm_float_to_half(y[i])) != y[i];
  }
  return count;
}

static void check(const char *text, uint32_t precisions, int rows_made,
                  double tolerance) {
  float y[COUNT];
  bsm_engine *engine = compile(text, precisions);
  assert_int_equal(joined_steps(engine->plan, 90), 2);
  run(engine, y, NULL);
  check_values(y, rows_made, tolerance);
  /* Half of them are zeros. */
  assert_true(count_wide(y, rows_made * COLUMNS) > rows_made * COLUMNS / 4);
  bsm_engine_destroy(engine);
}

static void products_make_floats(void **state) {
  (void)state;
  check(rows, BSM_PRECISION_FP16, ROWS, 5e-3);
  check(rows, BSM_PRECISION_BF16, ROWS, 4e-2);
  check(batches, BSM_PRECISION_FP16, ROWS, 5e-3);
  check(few_rows, BSM_PRECISION_FP16, 3, 5e-3);
  check(few_rows, BSM_PRECISION_BF16, 3, 4e-2);
}

static void narrow_ones_are_read(void **state) {
  (void)state;
  float y[COUNT], z[COUNT];
  bsm_engine *engine = compile(read_twice, BSM_PRECISION_FP16);
  assert_int_equal(joined_steps(engine->plan, 90), 0);
  run(engine, y, z);
  check_values(y, ROWS, 5e-3);
  for (int m = 0; m < ROWS; m++) {
    double sum = 0;
    for (int n = 0; n < COLUMNS; n++) sum += (double)z[m * COLUMNS + n];
    assert_true(fabs(sum - 1) < 1e-2);
  }
  bsm_engine_destroy(engine);
}

static void float_has_no_cast(void **state) {
  (void)state;
  bsm_engine *engine = compile(rows, BSM_PRECISION_FP32);
  assert_int_equal(joined_steps(engine->plan, 90), 0);
  bsm_engine_destroy(engine);
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(products_make_floats, nothing_is_left),
      cmocka_unit_test_teardown(narrow_ones_are_read, nothing_is_left),
      cmocka_unit_test_teardown(float_has_no_cast, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
