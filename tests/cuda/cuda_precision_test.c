/* SPDX-License-Identifier: Apache-2.0 */
/* Models of float in the precisions that the options allow on a GPU: what is
 * computed has the error of that precision, and inputs and outputs stay float.
 */
#include "cuda/cuda_kit.h"

#include <math.h>
#include <stdlib.h>

#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { SIZE = 8, COUNT = SIZE * SIZE };

static standin gpu;

static const char model[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %r : Tensor = aten::relu(%p)\n"
    "  %s : Tensor = aten::softmax(%r, %one, %none)\n"
    "  %v : Tensor = aten::matmul(%s, %w)\n"
    "  return (%v)\n";

/* A product with an activation that is written as a formula. */
static const char formula[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %half : float = prim::Constant[value=0.5]()\n"
    "  %three : float = prim::Constant[value=3.]()\n"
    "  %a : float = prim::Constant[value=0.044715]()\n"
    "  %b : float = prim::Constant[value=0.79788456080286541]()\n"
    "  %c : float = prim::Constant[value=1.]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %q : Tensor = aten::mul(%p, %half)\n"
    "  %cube : Tensor = aten::pow(%p, %three)\n"
    "  %d : Tensor = aten::mul(%cube, %a)\n"
    "  %e : Tensor = aten::add(%p, %d, %one)\n"
    "  %f : Tensor = aten::mul(%e, %b)\n"
    "  %g : Tensor = aten::tanh(%f)\n"
    "  %h : Tensor = aten::add(%g, %c, %one)\n"
    "  %y : Tensor = aten::mul(%q, %h)\n"
    "  return (%y)\n";

/* A GRU of 8 units over the rows of x, and its last state. */
static const char recurrent[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %yes : bool = prim::Constant[value=1]()\n"
    "  %no : bool = prim::Constant[value=0]()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %units : int = prim::Constant[value=8]()\n"
    "  %gates : int = prim::Constant[value=24]()\n"
    "  %count : int = prim::Constant[value=192]()\n"
    "  %six : int = prim::Constant[value=6]()\n"
    "  %p : float = prim::Constant[value=0.]()\n"
    "  %half : float = prim::Constant[value=0.5]()\n"
    "  %r : Tensor = aten::arange(%count, %six, %none, %none, %none)\n"
    "  %s : Tensor = aten::sin(%r)\n"
    "  %m : int[] = prim::ListConstruct(%gates, %units)\n"
    "  %wi : Tensor = aten::view(%s, %m)\n"
    "  %wh : Tensor = aten::mul(%wi, %half)\n"
    "  %all : Tensor[] = prim::ListConstruct(%wi, %wh)\n"
    "  %d : int[] = prim::ListConstruct(%one, %one, %units)\n"
    "  %h : Tensor = aten::zeros(%d, %six, %none, %none, %none)\n"
    "  %t : Tensor = aten::unsqueeze(%x, %one)\n"
    "  %y : Tensor, %l : Tensor = aten::gru(%t, %h, %all, %no, %one, %p, %no, "
    "%no, %no)\n"
    "  %a : Tensor = aten::squeeze(%y, %one)\n"
    "  %b : Tensor = aten::squeeze(%l, %one)\n"
    "  %c : Tensor = aten::add(%a, %b, %one)\n"
    "  %v : Tensor = aten::matmul(%c, %w)\n"
    "  return (%v)\n";

/* An LSTM of 448 units, of whose weights registers hold a part. */
static const char large[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %no : bool = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %inputs : int = prim::Constant[value=8]()\n"
    "  %units : int = prim::Constant[value=448]()\n"
    "  %gates : int = prim::Constant[value=1792]()\n"
    "  %count : int = prim::Constant[value=802816]()\n"
    "  %six : int = prim::Constant[value=6]()\n"
    "  %p : float = prim::Constant[value=0.]()\n"
    "  %part : float = prim::Constant[value=0.0625]()\n"
    "  %r : Tensor = aten::arange(%count, %six, %none, %none, %none)\n"
    "  %s : Tensor = aten::sin(%r)\n"
    "  %a : Tensor = aten::mul(%s, %part)\n"
    "  %m : int[] = prim::ListConstruct(%gates, %units)\n"
    "  %wh : Tensor = aten::view(%a, %m)\n"
    "  %wi : Tensor = aten::slice(%wh, %one, %zero, %inputs, %one)\n"
    "  %all : Tensor[] = prim::ListConstruct(%wi, %wh)\n"
    "  %d : int[] = prim::ListConstruct(%one, %two, %units)\n"
    "  %h : Tensor = aten::zeros(%d, %six, %none, %none, %none)\n"
    "  %hc : Tensor[] = prim::ListConstruct(%h, %h)\n"
    "  %v : int[] = prim::ListConstruct(%inputs, %inputs)\n"
    "  %four : int = prim::Constant[value=4]()\n"
    "  %tb : int[] = prim::ListConstruct(%four, %two, %inputs)\n"
    "  %t : Tensor = aten::view(%x, %tb)\n"
    "  %y : Tensor, %l : Tensor, %c : Tensor = aten::lstm(%t, %hc, %all, %no, "
    "%one, %p, %no, %no, %no)\n"
    "  %f : Tensor = aten::slice(%y, %two, %zero, %inputs, %one)\n"
    "  %b : Tensor = aten::reshape(%f, %v)\n"
    "  %o : Tensor = aten::matmul(%b, %w)\n"
    "  return (%o)\n";

static bsm_engine *compile(const char *text, uint32_t precisions) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (int i = 0; i < 2; i++) {
    specs[i].dtype = BSM_DTYPE_FLOAT;
    specs[i].rank = 2;
    specs[i].min[0] = specs[i].min[1] = SIZE;
  }
  options.target = "cuda";
  options.inputs = specs;
  options.input_count = 2;
  options.no_timing = true;
  options.threads = 1;
  options.precisions = precisions;
  assert_ok(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_ok(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static float x[COUNT], w[COUNT];

/* The model in double. */
static void expect(double *out) {
  double s[COUNT];
  for (int i = 0; i < SIZE; i++) {
    double sum = 0;
    for (int j = 0; j < SIZE; j++) {
      double p = 0;
      for (int k = 0; k < SIZE; k++) {
        p += (double)x[i * SIZE + k] * (double)w[k * SIZE + j];
      }
      s[i * SIZE + j] = exp(p > 0 ? p : 0);
      sum += s[i * SIZE + j];
    }
    for (int j = 0; j < SIZE; j++) s[i * SIZE + j] /= sum;
  }
  for (int i = 0; i < COUNT; i++) {
    out[i] = 0;
    for (int k = 0; k < SIZE; k++) {
      out[i] += s[i / SIZE * SIZE + k] * (double)w[k * SIZE + i % SIZE];
    }
  }
}

/* The largest error of the model in some precisions, beside the largest
 * value. */
static double error_of(uint32_t precisions) {
  float y[COUNT];
  double want[COUNT], error = 0, most = 0;
  bsm_engine *engine = compile(model, precisions);
  bsm_context *context = NULL;
  const bsm_dims dims = {2, {SIZE, SIZE}};
  const bsm_array in[2] = {{.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims},
                           {.data = w, .dtype = BSM_DTYPE_FLOAT, .dims = dims}};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  for (int i = 0; i < COUNT; i++) {
    x[i] = sinf((float)i);
    w[i] = cosf((float)i * 0.7f);
  }
  for (uint32_t i = 0; i < engine->plan->step_count; i++) {
    assert_int_equal(engine->plan->steps[i].space, BSM_SPACE_DEVICE);
  }
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, in, 2, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  expect(want);
  for (int i = 0; i < COUNT; i++) {
    error = fmax(error, fabs((double)y[i] - want[i]));
    most = fmax(most, fabs(want[i]));
  }
  return error / most;
}

static void float_means_float(void **state) {
  (void)state;
  assert_true(error_of(0) < 1e-6);
  assert_true(error_of(BSM_PRECISION_FP32) < 1e-6);
}

/* Half has 11 bits, bfloat16 8: errors between an eighth of the last one and
 * some of them. */
static void narrow_ones_round(void **state) {
  (void)state;
  const double half = error_of(BSM_PRECISION_FP16);
  const double bfloat = error_of(BSM_PRECISION_BF16);
  if (half < 0x1p-14 || half > 0x1p-9) fail_msg("half: %g", half);
  if (bfloat < 0x1p-11 || bfloat > 0x1p-6) fail_msg("bfloat16: %g", bfloat);
}

/* tf32 has as many bits as half. */
static void tensor_cores_round(void **state) {
  (void)state;
  const double error = error_of(BSM_PRECISION_TF32);
  if (error < 0x1p-14 || error > 0x1p-9) fail_msg("tf32: %g", error);
}

/* It is one activation also where its constants would be rounded. */
static void formulas_are_activations(void **state) {
  (void)state;
  const uint32_t precisions[] = {BSM_PRECISION_FP32, BSM_PRECISION_FP16,
                                 BSM_PRECISION_BF16};
  for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); i++) {
    bsm_engine *engine = compile(formula, precisions[i]);
    size_t found = 0;
    for (uint32_t k = 0; k < engine->plan->step_count; k++) {
      const bsm_plan_step *step = &engine->plan->steps[k];
      if (step->kind != BSM_STEP_MATRIX_MULTIPLY) continue;
      found++;
      assert_int_equal(step->params->matrix_multiply.epilogue.activation,
                       BSM_ACTIVATION_GELU_TANH);
    }
    assert_int_equal(found, 1);
    bsm_engine_destroy(engine);
  }
}

static void run_recurrent(const char *text, int64_t weights,
                          uint32_t precisions, bsm_dtype dtype, float *y) {
  bsm_engine *engine = compile(text, precisions);
  bsm_context *context = NULL;
  const bsm_dims dims = {2, {SIZE, SIZE}};
  const bsm_array in[2] = {{.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims},
                           {.data = w, .dtype = BSM_DTYPE_FLOAT, .dims = dims}};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  size_t found = 0;
  for (uint32_t i = 0; i < engine->plan->step_count; i++) {
    const bsm_plan_step *step = &engine->plan->steps[i];
    if (step->kind != BSM_STEP_RECURRENT) continue;
    found++;
    for (uint32_t k = 0; k < step->output_count; k++) {
      assert_int_equal(engine->plan->tensors[step->outputs[k]].dtype, dtype);
    }
    assert_int_equal(engine->plan->weights[step->weights[0]].size,
                     (size_t)weights * bsm_dtype_size(dtype));
  }
  assert_int_equal(found, 1);
  assert_ok(bsm_context_create(engine, NULL, &context));
  assert_ok(bsm_context_run(context, in, 2, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* All of their outputs and their weights are narrowed. */
static void check_recurrent(const char *text, int64_t weights) {
  float want[COUNT], y[COUNT];
  double error = 0, most = 0;
  run_recurrent(text, weights, BSM_PRECISION_FP32, BSM_DTYPE_FLOAT, want);
  run_recurrent(text, weights, BSM_PRECISION_FP16, BSM_DTYPE_HALF, y);
  for (int i = 0; i < COUNT; i++) {
    error = fmax(error, fabs((double)y[i] - (double)want[i]));
    most = fmax(most, fabs((double)want[i]));
  }
  if (!(most > 1e-3 && error / most >= 0x1p-15 && error / most <= 0x1p-8)) {
    fail_msg("half: %g of %g", error, most);
  }
}

static void recurrent_networks_round(void **state) {
  (void)state;
  check_recurrent(recurrent, 2 * (3 * SIZE * SIZE + 3 * SIZE));
}

static void large_ones_share_memory(void **state) {
  (void)state;
  check_recurrent(large, (int64_t)1792 * (SIZE + 448 + 2));
}

static int nothing_is_left(void **state) {
  (void)state;
  return standin_count_left(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(float_means_float, nothing_is_left),
      cmocka_unit_test_teardown(narrow_ones_round, nothing_is_left),
      cmocka_unit_test_teardown(tensor_cores_round, nothing_is_left),
      cmocka_unit_test_teardown(formulas_are_activations, nothing_is_left),
      cmocka_unit_test_teardown(recurrent_networks_round, nothing_is_left),
      cmocka_unit_test_teardown(large_ones_share_memory, nothing_is_left),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
