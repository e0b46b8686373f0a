/* SPDX-License-Identifier: Apache-2.0 */
/* When calls of a program get plans of their own: those with many elements at
 * once, others when they come again with the same shapes. What the latter
 * compute is compared with the first run, by the reference library. */
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

#include "aten/element.h"
#include "bessemer/bessemer.h"

/* What is behind nonzero and index has a shape that only the run knows. */
#define HEAD(dtype)                                     \
  "graph(%x : Tensor):\n"                               \
  "  %none : NoneType = prim::Constant()\n"             \
  "  %zero : int = prim::Constant[value=0]()\n"         \
  "  %one : int = prim::Constant[value=1]()\n"          \
  "  %last : int = prim::Constant[value=-1]()\n"        \
  "  %half : float = prim::Constant[value=0.5]()\n"     \
  "  %false : bool = prim::Constant[value=0]()\n"       \
  "  %f : Tensor = aten::select(%x, %one, %zero)\n"     \
  "  %n : Tensor = aten::nonzero(%f)\n"                 \
  "  %i : Tensor = aten::squeeze(%n, %one)\n"           \
  "  %r : Tensor = aten::index_select(%x, %zero, %i)\n" \
  "  %dtype : int = prim::Constant[value=" #dtype       \
  "]()\n"                                               \
  "  %y : Tensor = aten::to(%r, %dtype, %false, %false, %none)\n"

#define HEAD_STEPS 1 /* index_select */

/* Two such tensors have fewer elements than what is planned at once. */
#define ROWS 120
#define COLUMNS 16

typedef struct fixture {
  bsm_engine *engine;
  bsm_context *context;
  float x[ROWS * COLUMNS];
  float first[ROWS * COLUMNS * 4];
} fixture;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void open_program(fixture *f, const char *text) {
  memset(f, 0, sizeof(*f));
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = ROWS;
  spec.min[1] = COLUMNS;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  bsm_module *module = NULL;
  check(bsm_module_load_memory(text, strlen(text), "m", NULL, &module));
  check(bsm_compile(module, &options, &f->engine));
  bsm_module_destroy(module);
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  running.threads = 2;
  running.profile = true;
  check(bsm_context_create(f->engine, &running, &f->context));
  uint32_t seed = 1;
  for (size_t i = 0; i < ROWS * COLUMNS; i++) {
    seed = seed * 1664525u + 1013904223u;
    f->x[i] = (float)(seed >> 8) / (float)(1 << 24) * 2.0f - 0.9f;
    if (i % COLUMNS == 0) f->x[i] = 1; /* its row is taken */
  }
}

static void close_program(fixture *f) {
  bsm_context_destroy(f->context);
  bsm_engine_destroy(f->engine);
}

/* The first output as floats; how many there are. */
static size_t run(fixture *f, int64_t rows, float *out) {
  bsm_array y;
  for (int64_t i = 0; i < ROWS; i++) f->x[i * COLUMNS] = i < rows ? 1.0f : 0;
  const bsm_array in = {
      .data = f->x, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {ROWS, COLUMNS}}};
  check(bsm_context_run_keep(f->context, &in, 1));
  check(bsm_context_output(f->context, 0, &y));
  int64_t n;
  assert_true(bsm_dims_numel(y.dims, &n));
  for (int64_t i = 0; i < n && out; i++) {
    const char *element =
        (const char *)y.data + (size_t)i * bsm_dtype_size(y.dtype);
    out[i] = (float)bsm_load1_f64(y.dtype, element);
  }
  return (size_t)n;
}

/* Steps of plans that were made for this program's calls. */
static size_t planned_steps(const fixture *f) {
  return bsm_context_profile_count(f->context) -
         bsm_engine_step_count(f->engine);
}

/* The first run calls the library, the next ones plans with so many steps, at
 * least; all agree. */
static void compare(const char *text, size_t steps, float tolerance) {
  fixture *f = malloc(sizeof(*f));
  float *next = malloc(sizeof(f->first));
  assert_true(f && next);
  open_program(f, text);
  const size_t n = run(f, ROWS, f->first);
  assert_int_equal(planned_steps(f), 0);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(run(f, ROWS, next), n);
    if (steps) {
      assert_true(planned_steps(f) >= HEAD_STEPS + steps);
    } else {
      assert_int_equal(planned_steps(f), HEAD_STEPS);
    }
    for (size_t i = 0; i < n; i++) {
      const float bound = tolerance * (1.0f + fabsf(f->first[i]));
      if (!(fabsf(next[i] - f->first[i]) <= bound)) {
        fail_msg("run %d, element %zu: %g, not %g", k, i, (double)next[i],
                 (double)f->first[i]);
      }
    }
  }
  close_program(f);
  free(next);
  free(f);
}

#define WEIGHTS                                                          \
  "  %d : int[] = prim::Constant[value=[16, 16]]()\n"                    \
  "  %w : Tensor = aten::full(%d, %half, %dtype, %none, %none, %none)\n" \
  "  %p : Tensor = aten::linear(%y, %w, %none)\n"

/* 5 is half, 15 bfloat16, 7 double, 6 float. */
static void products_of_halves(void **state) {
  (void)state;
  compare(HEAD(5) WEIGHTS
          "  %q : Tensor = aten::softmax(%p, %last, %none)\n"
          "  return (%q)\n",
          2, 2e-3f);
  compare(HEAD(15) WEIGHTS "  return (%p)\n", 1, 1.6e-2f);
}

static void element_wise_of_halves(void **state) {
  (void)state;
  compare(HEAD(5) "  %a : Tensor = aten::tanh(%y)\n"
                  "  %b : Tensor = aten::mul(%a, %y)\n"
                  "  return (%b)\n",
          2, 2e-3f);
}

static void one_tensor_given_twice(void **state) {
  (void)state;
  compare(HEAD(15) "  %b : Tensor = aten::mul(%y, %y)\n"
                   "  return (%b)\n",
          1, 1e-2f);
}

static void lists_of_tensors_and_of_numbers(void **state) {
  (void)state;
  compare(HEAD(7) "  %l : Tensor[] = prim::ListConstruct(%y, %y)\n"
                  "  %c : Tensor = aten::cat(%l, %one)\n"
                  "  %e : int[] = prim::Constant[value=[1]]()\n"
                  "  %s : Tensor = aten::mean(%c, %e, %false, %none)\n"
                  "  return (%s)\n",
          2, 1e-6f);
}

/* Views share memory with their argument: they are never planned. */
static void views_stay_views(void **state) {
  (void)state;
  compare(HEAD(7) "  %v : Tensor = aten::transpose(%y, %zero, %one)\n"
                  "  %w : Tensor = aten::contiguous(%v, %zero)\n"
                  "  return (%w)\n",
          0, 0);
}

/* Shapes that never come again, and small ones, get no plan. */
static void only_what_comes_again(void **state) {
  (void)state;
  fixture *f = malloc(sizeof(*f));
  assert_non_null(f);
  open_program(f, HEAD(5) "  %a : Tensor = aten::tanh(%y)\n"
                          "  return (%a)\n");
  for (int64_t rows = ROWS - 8; rows <= ROWS; rows++) run(f, rows, NULL);
  assert_int_equal(planned_steps(f), 0);
  for (int k = 0; k < 4; k++) run(f, 15, NULL);
  const size_t small = planned_steps(f); /* index_select reads all of x */
  run(f, ROWS - 1, NULL);
  run(f, ROWS - 1, NULL);
  assert_true(planned_steps(f) > small);
  close_program(f);
  free(f);
}

/* What is large is planned the first time. */
static void what_is_large_is_planned_at_once(void **state) {
  (void)state;
  fixture *f = malloc(sizeof(*f));
  assert_non_null(f);
  open_program(f, HEAD(6) "  %l : Tensor[] = prim::ListConstruct(%y, %y, %y)\n"
                          "  %a : Tensor = aten::cat(%l, %one)\n"
                          "  return (%a)\n");
  assert_int_equal(run(f, ROWS, NULL), 3 * ROWS * COLUMNS);
  assert_true(planned_steps(f) > 0);
  close_program(f);
  free(f);
}

#define TANH(from, to) "  %" #to " : Tensor = aten::tanh(%" #from ")\n"
#define FEWEST 17 /* rows of a call that is worth a plan */
#define TANHS 8

/* More shapes in turn than there is room for: they do not push each other out
 * for ever, which would make a plan for each call. */
static void shapes_in_turn_make_few_plans(void **state) {
  (void)state;
  fixture *f = malloc(sizeof(*f));
  assert_non_null(f);
  open_program(f, HEAD(5) TANH(y, a) TANH(a, b) TANH(b, c) TANH(c, d) TANH(d, e)
                      TANH(e, g) TANH(g, h) TANH(h, j) "  return (%j)\n");
  for (int k = 0; k < 3; k++) {
    for (int64_t rows = FEWEST; rows <= ROWS; rows++) run(f, rows, NULL);
  }
  const size_t full = planned_steps(f);
  assert_in_range(full, 64, TANHS * (ROWS - FEWEST));
  bsm_step_profile before = BSM_STEP_PROFILE_INIT;
  bsm_step_profile after = BSM_STEP_PROFILE_INIT;
  const size_t last = bsm_engine_step_count(f->engine) + full - 1;
  check(bsm_context_profile(f->context, last, &before));
  for (int k = 0; k < 3; k++) {
    for (int64_t rows = FEWEST; rows <= ROWS; rows++) run(f, rows, NULL);
  }
  check(bsm_context_profile(f->context, last, &after));
  /* The plan that was there is there yet, and has served. */
  assert_true(after.runs >= before.runs + 3);
  close_program(f);
  free(f);
}

/* A convolution leaves channels inside; a view of it is one all the same. */
static void views_of_what_lies_otherwise(void **state) {
  (void)state;
  fixture *f = malloc(sizeof(*f));
  assert_non_null(f);
  open_program(
      f, HEAD(6) "  %d : int[] = prim::Constant[value=[6, 1, 3, 3]]()\n"
                 "  %w : Tensor = aten::full(%d, %half, %dtype, %none, %none, "
                 "%none)\n"
                 "  %p : int[] = prim::Constant[value=[1, 1]]()\n"
                 "  %s : int[] = prim::Constant[value=[-1, 1, 4, 4]]()\n"
                 "  %i4 : Tensor = aten::view(%y, %s)\n"
                 "  %c : Tensor = aten::conv2d(%i4, %w, %none, %p, %p, %p, "
                 "%one)\n"
                 "  %flat : int[] = prim::Constant[value=[-1]]()\n"
                 "  %v : Tensor = aten::view(%c, %flat)\n"
                 "  return (%v)\n");
  float *next = malloc(sizeof(f->first));
  assert_non_null(next);
  const size_t n = 30 * 6 * 16;
  assert_int_equal(run(f, 30, f->first), n); /* by the library */
  for (int k = 0; k < 2; k++) {
    assert_int_equal(run(f, 30, next), n);
    assert_true(planned_steps(f) > HEAD_STEPS);
    for (size_t i = 0; i < n; i++) {
      assert_true(fabsf(next[i] - f->first[i]) < 1e-5f);
    }
  }
  close_program(f);
  free(next);
  free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_halves),
      cmocka_unit_test(element_wise_of_halves),
      cmocka_unit_test(one_tensor_given_twice),
      cmocka_unit_test(lists_of_tensors_and_of_numbers),
      cmocka_unit_test(views_stay_views),
      cmocka_unit_test(only_what_comes_again),
      cmocka_unit_test(what_is_large_is_planned_at_once),
      cmocka_unit_test(views_of_what_lies_otherwise),
      cmocka_unit_test(shapes_in_turn_make_few_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
