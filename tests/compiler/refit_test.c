/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that get other weights of the same model: they compute with the
 * choices of the old engine, and what a compilation of the new model gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"

#define DIGITS BSM_TEST_DATA_DIR "/../../examples/digits/digits.ts"
#define OPTIONS BSM_TEST_DATA_DIR "/compiler/options.ts"

static void check(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void refused(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* ---- models of one kind, with weights of their own ---- */

enum { ROWS = 6, COLUMNS = 40, HIDDEN = 48 };

static const char text[] =
    "graph(%x : Tensor, %w : Tensor, %v : Tensor):\n"
    "  %a : Tensor = aten::matmul(%x, %w)\n"
    "  %r : Tensor = aten::relu(%a)\n"
    "  %y : Tensor = aten::matmul(%r, %v)\n"
    "  return (%y)\n";

typedef struct model {
  float w[COLUMNS * HIDDEN], v[HIDDEN * COLUMNS];
  bsm_array arrays[2];
  bsm_input_spec specs[3];
  bsm_module *module;
} model;

static void open_model(model *m, uint32_t seed, int64_t rows, int64_t most) {
  for (size_t i = 0; i < COLUMNS * HIDDEN; i++) {
    seed = seed * 1664525u + 1013904223u;
    m->w[i] = (float)(seed >> 8) / (float)(1u << 24) - 0.5f;
    m->v[i] = 0.5f - m->w[i] * m->w[i];
  }
  m->arrays[0] =
      (bsm_array){m->w, BSM_DTYPE_FLOAT, {2, {COLUMNS, HIDDEN}}, NULL};
  m->arrays[1] =
      (bsm_array){m->v, BSM_DTYPE_FLOAT, {2, {HIDDEN, COLUMNS}}, NULL};
  m->specs[0] = (bsm_input_spec){.dtype = BSM_DTYPE_FLOAT,
                                 .rank = 2,
                                 .min = {rows, COLUMNS},
                                 .opt = {most, COLUMNS},
                                 .max = {most, COLUMNS}};
  for (int i = 0; i < 2; i++) {
    m->specs[i + 1] = (bsm_input_spec){.kind = BSM_INPUT_CONSTANT_TENSOR,
                                       .array = &m->arrays[i]};
  }
  check(bsm_module_load_memory(text, strlen(text), "net", NULL, &m->module));
}

static bsm_compile_options options_of(const model *m, bool timing) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = m->specs;
  options.input_count = 3;
  options.no_timing = !timing;
  return options;
}

static void run(const bsm_engine *engine, int64_t rows, float *y) {
  static float x[ROWS * COLUMNS];
  bsm_context *context = NULL;
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 7 - 3);
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {2, {rows, COLUMNS}}, NULL};
  const bsm_array out = {y, BSM_DTYPE_FLOAT, {2, {rows, COLUMNS}}, NULL};
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, &in, 1, &out, 1));
  bsm_context_destroy(context);
}

static void same_tactics(const bsm_engine *a, const bsm_engine *b) {
  assert_int_equal(bsm_engine_step_count(a), bsm_engine_step_count(b));
  assert_true(bsm_engine_step_count(a) > 0);
  for (size_t i = 0; i < bsm_engine_step_count(a); i++) {
    bsm_step_info x = BSM_STEP_INFO_INIT, y = BSM_STEP_INFO_INIT;
    check(bsm_engine_step(a, i, &x));
    check(bsm_engine_step(b, i, &y));
    assert_string_equal(x.kind, y.kind);
    assert_string_equal(x.tactic, y.tactic);
    assert_int_equal(y.trial_count, 0); /* nothing was timed */
  }
}

/* `timing`: the old engine was made with it. */
static void refit(int64_t rows, bool timing) {
  model *old = calloc(1, sizeof(*old)), *new = calloc(1, sizeof(*new));
  bsm_engine *first = NULL, *second = NULL, *fresh = NULL;
  float before[ROWS * COLUMNS], y[ROWS * COLUMNS], want[ROWS * COLUMNS];
  open_model(old, 1, rows, ROWS);
  open_model(new, 2, rows, ROWS);
  const bsm_compile_options then = options_of(old, timing);
  const bsm_compile_options now = options_of(new, true);
  const bsm_compile_options plain = options_of(new, false);
  check(bsm_compile(old->module, &then, &first));
  check(bsm_engine_refit(first, new->module, &now, &second));
  if (rows == ROWS) same_tactics(first, second);
  check(bsm_compile(new->module, &plain, &fresh));
  for (int64_t n = rows; n <= ROWS; n++) {
    run(first, n, before);
    run(second, n, y);
    run(fresh, n, want);
    double most = 0, error = 0;
    for (int64_t i = 0; i < n * COLUMNS; i++) {
      const double difference = (double)y[i] - (double)want[i];
      if (difference > error || -difference > error) {
        error = difference < 0 ? -difference : difference;
      }
      if (want[i] > most) most = want[i];
    }
    assert_true(error <= 1e-5 * most);
    assert_true(memcmp(before, y, (size_t)n * COLUMNS * sizeof(float)) != 0);
  }
  bsm_engine_destroy(first);
  bsm_engine_destroy(second);
  bsm_engine_destroy(fresh);
  bsm_module_destroy(old->module);
  bsm_module_destroy(new->module);
  free(old);
  free(new);
}

static void refits_plans(void **state) {
  (void)state;
  refit(ROWS, false);
  refit(ROWS, true);
}

static void refits_ranges(void **state) {
  (void)state;
  refit(2, true);
}

/* The same weights give the same file; what is left out comes from the engine.
 */
static void same_weights_same_bytes(void **state) {
  (void)state;
  bsm_module *module = NULL;
  bsm_engine *first = NULL, *second = NULL;
  void *a, *b;
  size_t a_size, b_size;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_input_spec rows = {
      .dtype = BSM_DTYPE_FLOAT, .rank = 2, .min = {3, 8}};
  options.no_timing = true;
  options.target = "cpu:avx2,threads=3,l2=1048576";
  options.inputs = &rows;
  options.input_count = 1;
  options.method = "backbone.forward";
  check(bsm_module_load(OPTIONS, NULL, &module));
  check(bsm_compile(module, &options, &first));
  options.target = options.method = NULL;
  options.inputs = NULL;
  options.input_count = 0;
  check(bsm_engine_refit(first, module, &options, &second));
  check(bsm_engine_save_memory(first, NULL, &a, &a_size));
  check(bsm_engine_save_memory(second, NULL, &b, &b_size));
  assert_int_equal(a_size, b_size);
  assert_memory_equal(a, b, a_size);
  bsm_bytes_free(a);
  bsm_bytes_free(b);
  bsm_engine_destroy(first);
  bsm_engine_destroy(second);
  bsm_module_destroy(module);
}

/* An engine that was told of missing VNNI has that in its target, as was done
 * where nothing is quantized, too; of other targets it is refused. */
static void takes_former_targets(void **state) {
  (void)state;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL, *out = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  options.target = "cpu:avx2,threads=3,l2=1048576,vnni=no";
  check(bsm_module_load(DIGITS, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  assert_string_equal(bsm_engine_metadata(engine, "builder.target"),
                      "cpu:avx2,threads=3,l2=1048576");
  const bsm_plan *plan = engine->plan;
  bsm_plan_metadata *target = NULL;
  for (uint32_t i = 0; i < plan->metadata_count; i++) {
    if (strcmp(plan->metadata[i].key, "builder.target") == 0) {
      target = &plan->metadata[i];
    }
  }
  assert_non_null(target);
  target->value = options.target;
  options.target = NULL;
  check(bsm_engine_refit(engine, module, &options, &out));
  bsm_engine_destroy(out);
  options.target = "cpu:avx2,threads=2,l2=1048576";
  refused(bsm_engine_refit(engine, module, &options, &out),
          BSM_INVALID_ARGUMENT, "built with builder.target");
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void refuses_others(void **state) {
  (void)state;
  bsm_module *digits = NULL, *other = NULL;
  bsm_engine *engine = NULL, *out = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.no_timing = true;
  check(bsm_module_load(DIGITS, NULL, &digits));
  check(bsm_module_load(OPTIONS, NULL, &other));
  check(bsm_compile(digits, &options, &engine));
  options.prefer_size = true;
  refused(bsm_engine_refit(engine, digits, &options, &out),
          BSM_INVALID_ARGUMENT,
          "built with options.prefer_size: nothing, and is refitted with yes");
  assert_null(out);
  const bsm_input_spec rows = {
      .dtype = BSM_DTYPE_FLOAT, .rank = 2, .min = {3, 8}};
  options.prefer_size = false;
  options.inputs = &rows;
  options.input_count = 1;
  refused(bsm_engine_refit(engine, other, &options, &out), BSM_INVALID_ARGUMENT,
          "it is another model: ");
  assert_null(out);
  bsm_engine_destroy(engine);
  bsm_module_destroy(digits);
  bsm_module_destroy(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refits_plans),
      cmocka_unit_test(refits_ranges),
      cmocka_unit_test(same_weights_same_bytes),
      cmocka_unit_test(takes_former_targets),
      cmocka_unit_test(refuses_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
