/* SPDX-License-Identifier: Apache-2.0 */
/* What multiplies each column or map of a product goes into its weights, and
 * what follows is fused with the product; what multiplies rows stays. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { SIZE = 6, COUNT = SIZE * SIZE };

/* Weights are sines: w = [sin 0, sin 1, ..], scale = [2 sin 0, 2 sin 1, ..]. */
#define BEGIN                                                           \
  "graph(%x : Tensor):\n"                                               \
  "  %none : NoneType = prim::Constant()\n"                             \
  "  %no : bool = prim::Constant[value=0]()\n"                          \
  "  %zero : int = prim::Constant[value=0]()\n"                         \
  "  %one : int = prim::Constant[value=1]()\n"                          \
  "  %float : int = prim::Constant[value=6]()\n"                        \
  "  %size : int = prim::Constant[value=6]()\n"                         \
  "  %count : int = prim::Constant[value=36]()\n"                       \
  "  %two : float = prim::Constant[value=2.]()\n"                       \
  "  %r : Tensor = aten::arange(%count, %float, %none, %none, %none)\n" \
  "  %s : Tensor = aten::sin(%r)\n"                                     \
  "  %m : int[] = prim::ListConstruct(%size, %size)\n"                  \
  "  %w : Tensor = aten::view(%s, %m)\n"                                \
  "  %q : Tensor = aten::arange(%size, %float, %none, %none, %none)\n"  \
  "  %t : Tensor = aten::sin(%q)\n"                                     \
  "  %g : Tensor = aten::mul(%t, %two)\n"                               \
  "  %column : int[] = prim::ListConstruct(%size, %one)\n"              \
  "  %gc : Tensor = aten::view(%g, %column)\n"
#define END                                   \
  "  %y : Tensor = aten::add(%v, %x, %one)\n" \
  "  return (%y)\n"

static const char linear[] = BEGIN
    "  %p : Tensor = aten::linear(%x, %w, %q)\n"
    "  %v : Tensor = aten::mul(%p, %g)\n" END;
static const char product[] = BEGIN
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %v : Tensor = aten::mul(%g, %p)\n" END;
static const char by_a_number[] = BEGIN
    "  %p : Tensor = aten::linear(%x, %w, %q)\n"
    "  %v : Tensor = aten::mul(%p, %two)\n" END;
static const char by_rows[] = BEGIN
    "  %p : Tensor = aten::linear(%x, %w, %q)\n"
    "  %v : Tensor = aten::mul(%p, %gc)\n" END;
/* Of bytes: inputs are multiples of their scale. */
static const char of_bytes[] = BEGIN
    "  %quarter : float = prim::Constant[value=0.25]()\n"
    "  %step : float = prim::Constant[value=0.0078125]()\n"
    "  %center : int = prim::Constant[value=128]()\n"
    "  %most : int = prim::Constant[value=255]()\n"
    "  %last : int = prim::Constant[value=127]()\n"
    "  %first : int = prim::Constant[value=-127]()\n"
    "  %xq : Tensor = aten::fake_quantize_per_tensor_affine(%x, %quarter, "
    "%center, %zero, %most)\n"
    "  %wq : Tensor = aten::fake_quantize_per_tensor_affine(%w, %step, %zero, "
    "%first, %last)\n"
    "  %p : Tensor = aten::linear(%xq, %wq, %q)\n"
    "  %v : Tensor = aten::mul(%p, %g)\n" END;
/* Of one line of pixels. */
static const char convolution[] = BEGIN
    "  %d : int[] = prim::ListConstruct(%size, %size, %one)\n"
    "  %k : Tensor = aten::view(%s, %d)\n"
    "  %i : Tensor = aten::unsqueeze(%x, %zero)\n"
    "  %ones : int[] = prim::ListConstruct(%one)\n"
    "  %zeros : int[] = prim::ListConstruct(%zero)\n"
    "  %c : Tensor = aten::conv1d(%i, %k, %q, %ones, %zeros, %ones, %one)\n"
    "  %e : Tensor = aten::mul(%c, %gc)\n"
    "  %v : Tensor = aten::add(%e, %i, %one)\n"
    "  %y : Tensor = aten::squeeze(%v, %zero)\n"
    "  return (%y)\n";

typedef struct form {
  const char *text;
  bool transposes, has_bias, by_rows, of_maps; /* x is [maps, pixels] */
  double number;       /* in place of the scales, or 0 */
  size_t element_wise; /* steps that are left */
  bool of_bytes;
} form;

static double weight(const form *f, int at) {
  return f->of_bytes ? fmin(fmax(rint(sin(at) * 128), -127), 127) / 128
                     : sin(at);
}

static double scaled(const form *f, int row, int column) {
  if (f->number != 0) return f->number;
  return 2 * sin(f->by_rows ? row : column);
}

static double expected(const form *f, const float *x, int row, int column) {
  double sum = 0;
  for (int k = 0; k < SIZE; k++) {
    const double w = f->of_maps ? weight(f, row * SIZE + k)
                                : weight(f, f->transposes ? column * SIZE + k
                                                          : k * SIZE + column);
    sum += (double)x[f->of_maps ? k * SIZE + column : row * SIZE + k] * w;
  }
  if (f->has_bias) sum += f->of_maps ? row : column;
  return sum * scaled(f, row, column) + (double)x[row * SIZE + column];
}

/* Steps of a kind that are left. */
static size_t run(const char *text, bsm_step_kind kind, const float *x,
                  float *y) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  size_t count = 0;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_dims dims = {2, {SIZE, SIZE}};
  const bsm_array in = {
      .data = (void *)(uintptr_t)x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = spec.min[1] = SIZE;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  assert_null(
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  assert_null(bsm_compile(module, &options, &engine));
  for (uint32_t i = 0; i < engine->plan->step_count; i++) {
    count += engine->plan->steps[i].kind == kind;
  }
  assert_null(bsm_context_create(engine, NULL, &context));
  assert_null(bsm_context_run(context, &in, 1, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return count;
}

static void fill(float *x) {
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i * 29 % 17) / 4 - 2;
}

static void compare(const float *y, int i, double want) {
  if (!(fabs((double)y[i] - want) <= 1e-5 * fmax(1, fabs(want)))) {
    fail_msg("element %d: %g, not %g", i, (double)y[i], want);
  }
}

static void check(const form *f) {
  float x[COUNT], y[COUNT];
  fill(x);
  assert_int_equal(run(f->text, BSM_STEP_ELEMENT_WISE, x, y), f->element_wise);
  for (int i = 0; i < COUNT; i++) {
    compare(y, i, expected(f, x, i / SIZE, i % SIZE));
  }
}

static void test_columns(void **state) {
  (void)state;
  check(&(form){linear, true, true, false, false, 0, 0});
  check(&(form){product, false, false, false, false, 0, 0});
}

static void test_a_number(void **state) {
  (void)state;
  check(&(form){by_a_number, true, true, false, false, 2, 0});
}

static void test_maps(void **state) {
  (void)state;
  check(&(form){convolution, false, true, true, true, 0, 0});
}

static void test_bytes(void **state) {
  const form f = {
      .text = of_bytes, .transposes = true, .has_bias = true, .of_bytes = true};
  float x[COUNT], y[COUNT];
  (void)state;
  fill(x);
  assert_int_equal(run(f.text, BSM_STEP_INT8_CONVOLUTION, x, y), 1);
  for (int i = 0; i < COUNT; i++) {
    compare(y, i, expected(&f, x, i / SIZE, i % SIZE));
  }
}

/* 0 times a factor that is not finite is none of the product's. */
static void test_infinite_factors_stay(void **state) {
  static const char text[] = BEGIN
      "  %p : Tensor = aten::matmul(%x, %w)\n"
      "  %l : Tensor = aten::log(%q)\n" /* -inf, 0, .. */
      "  %v : Tensor = aten::mul(%p, %l)\n" END;
  float x[COUNT], y[COUNT];
  (void)state;
  fill(x);
  assert_int_equal(run(text, BSM_STEP_ELEMENT_WISE, x, y), 1);
  for (int i = 0; i < COUNT; i += SIZE) assert_true(isinf(y[i]));
}

static void test_rows_stay(void **state) {
  (void)state;
  check(&(form){by_rows, true, true, true, false, 0, 1});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_a_number),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_rows_stay),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_infinite_factors_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
