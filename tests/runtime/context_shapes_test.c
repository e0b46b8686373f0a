/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that a context is told ahead of its runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* Tokens and their mask, both [1..6, 2..20] of int64, best [2, 8]. */
static bsm_engine *compile(bool fixed) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[2];
  for (size_t i = 0; i < 2; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = BSM_DTYPE_INT64;
    specs[i].rank = 2;
    specs[i].min[0] = fixed ? 2 : 1;
    specs[i].min[1] = fixed ? 8 : 2;
    if (fixed) continue;
    specs[i].opt[0] = 2;
    specs[i].opt[1] = 8;
    specs[i].max[0] = 6;
    specs[i].max[1] = 20;
  }
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = 2;
  options.no_timing = true;
  check(bsm_module_load(BSM_TEST_DATA_DIR "/dynamic/text.ts", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static bsm_context *create(const bsm_engine *engine, size_t max_plans) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  options.threads = 1;
  options.max_plans = max_plans;
  check(bsm_context_create(engine, &options, &context));
  return context;
}

static void set(bsm_context *context, int64_t batch, int64_t length) {
  const bsm_dims dims = {2, {batch, length}};
  for (size_t i = 0; i < 2; i++) {
    check(bsm_context_set_input_shape(context, i, &dims));
  }
}

static void refused(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("no \"%s\" in: %s", text, bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void run(bsm_context *context, int64_t batch, int64_t length) {
  int64_t tokens[120], mask[120];
  const bsm_dims dims = {2, {batch, length}};
  for (int64_t i = 0; i < batch * length; i++) {
    tokens[i] = i % 7;
    mask[i] = i % length < length - 1;
  }
  const bsm_array inputs[2] = {{tokens, BSM_DTYPE_INT64, dims, NULL},
                               {mask, BSM_DTYPE_INT64, dims, NULL}};
  check(bsm_context_run_keep(context, inputs, 2));
}

static void the_best_dims_hold_at_first(void **state) {
  (void)state;
  bsm_engine *engine = compile(false);
  bsm_context *context = create(engine, 0);
  bsm_dims dims;
  for (size_t i = 0; i < 2; i++) {
    check(bsm_context_input_shape(context, i, &dims));
    assert_int_equal(dims.rank, 2);
    assert_int_equal(dims.d[0], 2);
    assert_int_equal(dims.d[1], 8);
  }
  set(context, 3, 5);
  check(bsm_context_input_shape(context, 1, &dims));
  assert_int_equal(dims.d[0], 3);
  assert_int_equal(dims.d[1], 5);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void outputs_are_foretold(void **state) {
  (void)state;
  bsm_engine *engine = compile(false);
  bsm_context *context = create(engine, 0);
  for (int64_t batch = 1; batch <= 6; batch++) {
    for (int64_t length = 2; length <= 20; length += 3) {
      set(context, batch, length);
      bsm_dims told[2];
      for (size_t i = 0; i < 2; i++) {
        check(bsm_context_output_shape(context, i, &told[i]));
      }
      run(context, batch, length);
      for (size_t i = 0; i < 2; i++) {
        bsm_array got;
        check(bsm_context_output(context, i, &got));
        assert_int_equal(got.dims.rank, told[i].rank);
        assert_memory_equal(got.dims.d, told[i].d,
                            (size_t)told[i].rank * sizeof(told[i].d[0]));
      }
    }
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void wrong_shapes_are_refused(void **state) {
  (void)state;
  bsm_engine *engine = compile(false);
  bsm_context *context = create(engine, 0);
  const bsm_dims long_one = {2, {2, 21}}, none = {2, {0, 8}}, flat = {1, {8}};
  const bsm_dims odd = {BSM_MAX_RANK + 1, {1}};
  bsm_dims dims = {2, {2, 8}};
  refused(bsm_context_set_input_shape(context, 0, &long_one),
          BSM_INVALID_ARGUMENT,
          "has size 21 in dimension 1, the engine was built for 2 to 20");
  refused(bsm_context_set_input_shape(context, 1, &none), BSM_INVALID_ARGUMENT,
          "has size 0 in dimension 0, the engine was built for 1 to 6");
  refused(bsm_context_set_input_shape(context, 1, &flat), BSM_INVALID_ARGUMENT,
          "has shape [8]");
  refused(bsm_context_set_input_shape(context, 1, &odd), BSM_INVALID_ARGUMENT,
          "of a wrong rank");
  refused(bsm_context_set_input_shape(context, 2, &dims), BSM_OUT_OF_RANGE,
          "input 2");
  refused(bsm_context_input_shape(context, 2, &dims), BSM_OUT_OF_RANGE,
          "input 2");
  refused(bsm_context_output_shape(context, 2, &dims), BSM_OUT_OF_RANGE,
          "output 2");
  refused(bsm_context_set_input_shape(context, 0, NULL), BSM_INVALID_ARGUMENT,
          "dims");
  /* What was refused did not take. */
  check(bsm_context_input_shape(context, 0, &dims));
  assert_int_equal(dims.d[1], 8);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void fixed_engines_have_one_shape(void **state) {
  (void)state;
  bsm_engine *engine = compile(true);
  bsm_context *context = create(engine, 0);
  bsm_dims dims = {2, {2, 8}};
  check(bsm_context_set_input_shape(context, 0, &dims));
  check(bsm_context_prepare(context));
  dims.d[1] = 9;
  refused(bsm_context_set_input_shape(context, 0, &dims), BSM_INVALID_ARGUMENT,
          "[2, 9]");
  bsm_binding binding = BSM_BINDING_INIT;
  check(bsm_engine_output(engine, 0, &binding));
  check(bsm_context_output_shape(context, 0, &dims));
  assert_int_equal(dims.rank, binding.dims.rank);
  assert_memory_equal(dims.d, binding.dims.d,
                      (size_t)dims.rank * sizeof(dims.d[0]));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* Plans that come and go, and such as stay, give the same bits. */
static void a_small_cache_changes_nothing(void **state) {
  (void)state;
  bsm_engine *engine = compile(false);
  bsm_context *one = create(engine, 1), *many = create(engine, 0);
  for (int64_t turn = 0; turn < 20; turn++) {
    const int64_t batch = 1 + turn % 3, length = 4 + turn * 5 % 4;
    run(one, batch, length);
    run(many, batch, length);
    for (size_t i = 0; i < 2; i++) {
      bsm_array a, b;
      check(bsm_context_output(one, i, &a));
      check(bsm_context_output(many, i, &b));
      size_t count = 1;
      for (int32_t d = 0; d < a.dims.rank; d++) count *= (size_t)a.dims.d[d];
      assert_int_equal(a.dtype, BSM_DTYPE_FLOAT);
      assert_memory_equal(a.data, b.data, count * sizeof(float));
    }
  }
  bsm_context_destroy(one);
  bsm_context_destroy(many);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_dims_hold_at_first),
      cmocka_unit_test(outputs_are_foretold),
      cmocka_unit_test(wrong_shapes_are_refused),
      cmocka_unit_test(fixed_engines_have_one_shape),
      cmocka_unit_test(a_small_cache_changes_nothing),
  };
  return cmocka_run_group_tests_name("context_shapes", tests, NULL, NULL);
}
