/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations that models write as formulas are one step, and have the
 * numbers of the formula; what only looks like one stays. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

enum { ROWS = 3, COLUMNS = 7, COUNT = ROWS * COLUMNS };

#define BEGIN                                         \
  "graph(%x : Tensor):\n"                             \
  "  %none : NoneType = prim::Constant()\n"           \
  "  %yes : bool = prim::Constant[value=1]()\n"       \
  "  %no : bool = prim::Constant[value=0]()\n"        \
  "  %zero : int = prim::Constant[value=0]()\n"       \
  "  %one : int = prim::Constant[value=1]()\n"        \
  "  %last : int = prim::Constant[value=-1]()\n"      \
  "  %two : float = prim::Constant[value=2.]()\n"     \
  "  %minus : float = prim::Constant[value=-0.5]()\n" \
  "  %e : float = prim::Constant[value=0.25]()\n"     \
  "  %d : int[] = prim::ListConstruct(%last)\n"       \
  "  %other : int[] = prim::ListConstruct(%zero)\n"
#define RMS                                           \
  BEGIN                                               \
  "  %s : Tensor = aten::pow(%x, %two)\n"             \
  "  %m : Tensor = aten::mean(%s, %d, %yes, %none)\n" \
  "  %v : Tensor = aten::add(%m, %e, %one)\n"
#define CENTERED                                      \
  BEGIN                                               \
  "  %u : Tensor = aten::mean(%x, %d, %yes, %none)\n" \
  "  %c : Tensor = aten::sub(%x, %u, %one)\n"

/* x / sqrt(mean(x^2) + 1/4) in three ways. */
static const char rsqrt_rms[] = RMS
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %y : Tensor = aten::mul(%x, %r)\n"
    "  return (%y)\n";
static const char power_rms[] = RMS
    "  %r : Tensor = aten::pow(%v, %minus)\n"
    "  %y : Tensor = aten::mul(%r, %x)\n"
    "  return (%y)\n";
static const char sqrt_rms[] = RMS
    "  %r : Tensor = aten::sqrt(%v)\n"
    "  %y : Tensor = aten::div(%x, %r)\n"
    "  return (%y)\n";
/* The same, times 2 and plus 1/4. */
static const char affine_rms[] = RMS
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %n : Tensor = aten::mul(%x, %r)\n"
    "  %w : Tensor = aten::mul(%n, %two)\n"
    "  %y : Tensor = aten::add(%w, %e, %one)\n"
    "  return (%y)\n";
/* Of what the mean was taken away from. */
static const char layer_norm[] = CENTERED
    "  %s : Tensor = aten::mul(%c, %c)\n"
    "  %m : Tensor = aten::mean(%s, %d, %yes, %none)\n"
    "  %v : Tensor = aten::add(%m, %e, %one)\n"
    "  %r : Tensor = aten::sqrt(%v)\n"
    "  %y : Tensor = aten::div(%c, %r)\n"
    "  return (%y)\n";
static const char variance_norm[] = CENTERED
    "  %m : Tensor = aten::var(%x, %d, %no, %yes)\n"
    "  %v : Tensor = aten::add(%m, %e, %one)\n"
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %y : Tensor = aten::mul(%c, %r)\n"
    "  return (%y)\n";
/* Means over other axes; the variance of a sample. */
static const char other_axes[] = BEGIN
    "  %u : Tensor = aten::mean(%x, %other, %yes, %none)\n"
    "  %c : Tensor = aten::sub(%x, %u, %one)\n"
    "  %m : Tensor = aten::var(%x, %d, %no, %yes)\n"
    "  %v : Tensor = aten::add(%m, %e, %one)\n"
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %y : Tensor = aten::mul(%c, %r)\n"
    "  return (%y)\n";
static const char of_a_sample[] = CENTERED
    "  %m : Tensor = aten::var(%x, %d, %yes, %yes)\n"
    "  %v : Tensor = aten::add(%m, %e, %one)\n"
    "  %r : Tensor = aten::rsqrt(%v)\n"
    "  %y : Tensor = aten::mul(%c, %r)\n"
    "  return (%y)\n";

typedef struct formula {
  const char *text;
  bool subtracts, by_column; /* the mean of the row, or of the column */
  int correction;
  double scale, bias;
  size_t norms, reductions; /* steps of the plan */
} formula;

static double expected(const formula *f, const float *x, int row, int column) {
  double mean = 0, own = 0, squares = 0;
  for (int i = 0; i < COLUMNS; i++) mean += (double)x[row * COLUMNS + i];
  mean = f->subtracts ? mean / COLUMNS : 0;
  for (int i = 0; i < COLUMNS; i++) {
    squares += pow((double)x[row * COLUMNS + i] - mean, 2);
  }
  for (int i = 0; i < ROWS; i++) {
    own += (double)x[i * COLUMNS + column] / ROWS;
  }
  const double from = f->by_column ? own : mean;
  return ((double)x[row * COLUMNS + column] - from) /
             sqrt(squares / (COLUMNS - f->correction) + 0.25) * f->scale +
         f->bias;
}

static size_t count_steps(const bsm_plan *plan, bsm_step_kind kind) {
  size_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    count += plan->steps[i].kind == kind;
  }
  return count;
}

static void check(const formula *f) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  float x[COUNT], y[COUNT];
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_dims dims = {2, {ROWS, COLUMNS}};
  const bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i * 37 % 23) / 4 - 1;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = ROWS;
  spec.min[1] = COLUMNS;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  assert_null(bsm_module_load_memory(f->text, strlen(f->text), "test.ir", NULL,
                                     &module));
  assert_null(bsm_compile(module, &options, &engine));
  assert_int_equal(count_steps(engine->plan, BSM_STEP_NORMALIZATION), f->norms);
  assert_int_equal(count_steps(engine->plan, BSM_STEP_REDUCE), f->reductions);
  assert_null(bsm_context_create(engine, NULL, &context));
  assert_null(bsm_context_run(context, &in, 1, &out, 1));
  for (int i = 0; i < COUNT; i++) {
    const double want = expected(f, x, i / COLUMNS, i % COLUMNS);
    if (!(fabs((double)y[i] - want) <= 1e-5)) {
      fail_msg("element %d: %g, not %g", i, (double)y[i], want);
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void test_rms(void **state) {
  (void)state;
  check(&(formula){rsqrt_rms, false, false, 0, 1, 0, 1, 0});
  check(&(formula){power_rms, false, false, 0, 1, 0, 1, 0});
  check(&(formula){sqrt_rms, false, false, 0, 1, 0, 1, 0});
}

static void test_affine(void **state) {
  (void)state;
  check(&(formula){affine_rms, false, false, 0, 2, 0.25, 1, 0});
}

static void test_layer_norm(void **state) {
  (void)state;
  check(&(formula){layer_norm, true, false, 0, 1, 0, 1, 0});
  check(&(formula){variance_norm, true, false, 0, 1, 0, 1, 0});
}

static void test_what_is_no_norm(void **state) {
  (void)state;
  check(&(formula){other_axes, true, true, 0, 1, 0, 0, 2});
  check(&(formula){of_a_sample, true, false, 1, 1, 0, 0, 2});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rms),
      cmocka_unit_test(test_affine),
      cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_what_is_no_norm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
