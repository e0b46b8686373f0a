/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose steps depend on sizes, compiled for ranges of shapes, against
 * PyTorch: data/ranging/make_ranging.py makes them. Whatever shape comes, its
 * plan runs where the plan of the best shape does: no shape runs without a
 * plan, and the reference library runs no call that it does not run there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "engine/program.h"
#include "runtime/engine/engine.h"
#include "tools/npy.h"

enum { MAX_INPUTS = 2, RUNS = 24 };

typedef struct model {
  const char *name;
  size_t inputs, outputs;
  struct {
    bsm_dtype dtype;
    int32_t rank;
    int64_t min[4], opt[4], max[4];
  } ranges[MAX_INPUTS];
  uint32_t precision; /* 0: as the model computes */
  const bsm_precision_override *rule;
  bool finds; /* has sizes that depend on data */
} model;

static const bsm_precision_override all_float = {
    .layer = "*", .precision = BSM_PRECISION_FP32};

#define F BSM_DTYPE_FLOAT
static const model models[] = {
    {"windows", 1, 4, {{F, 4, {0, 4, 3, 3}, {2, 4, 8, 9}, {5, 4, 13, 13}}}},
    {"rows", 1, 9, {{F, 3, {1, 2, 6}, {2, 6, 6}, {3, 1100, 6}}}},
    {"heads",
     2,
     2,
     {{F, 3, {1, 1, 8}, {2, 7, 8}, {4, 20, 8}},
      {F, 3, {1, 1, 8}, {2, 5, 8}, {4, 40, 8}}}},
    {"moves",
     2,
     7,
     {{F, 3, {1, 1, 5}, {3, 4, 5}, {6, 9, 5}},
      {BSM_DTYPE_INT64, 2, {1, 1}, {3, 4}, {6, 9}}}},
    {"elements",
     2,
     8,
     {{F, 2, {0, 1}, {4, 5}, {9, 9}}, {F, 2, {0, 1}, {4, 5}, {9, 9}}}},
    {"recurrent", 1, 4, {{F, 3, {1, 1, 6}, {4, 3, 6}, {9, 11, 6}}}},
    {"sides", 1, 2, {{F, 2, {1, 6}, {3, 6}, {24, 6}}}},
    {"narrow", 1, 2, {{F, 4, {1, 3, 1, 2}, {2, 3, 8, 8}, {3, 3, 17, 17}}}},
    /* The same in half precision: where the target has special kernels for
     * that, those that come with an engine do for all shapes. */
    {"narrow",
     1,
     2,
     {{F, 4, {1, 3, 1, 2}, {2, 3, 8, 8}, {3, 3, 17, 17}}},
     BSM_PRECISION_FP16,
     NULL},
    {"narrow",
     1,
     2,
     {{F, 4, {1, 3, 1, 2}, {2, 3, 8, 8}, {3, 3, 17, 17}}},
     BSM_PRECISION_FP16,
     &all_float},
    {"found", 1, 12, {{F, 2, {0, 1}, {4, 5}, {9, 30}}}, .finds = true},
    {"boxes",
     2,
     4,
     {{F, 2, {0, 4}, {30, 4}, {200, 4}}, {F, 1, {0}, {30}, {200}}},
     .finds = true},
};

static void check(bsm_status status, const char *what) {
  if (status) fail_msg("%s: %s", what, bsm_status_message(status));
}

static void path_of(const model *m, const char *end, char *out, size_t size) {
  snprintf(out, size, "%s/ranging/%s.%s", BSM_TEST_DATA_DIR, m->name, end);
}

static bsm_status try_to_compile(const model *m, bool obey,
                                 bsm_engine **engine) {
  char path[512];
  bsm_module *module = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  path_of(m, "ts", path, sizeof(path));
  for (size_t i = 0; i < m->inputs; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = m->ranges[i].dtype;
    specs[i].rank = m->ranges[i].rank;
    memcpy(specs[i].min, m->ranges[i].min, sizeof(m->ranges[i].min));
    memcpy(specs[i].opt, m->ranges[i].opt, sizeof(m->ranges[i].opt));
    memcpy(specs[i].max, m->ranges[i].max, sizeof(m->ranges[i].max));
  }
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = m->inputs;
  options.no_timing = true;
  options.precisions = m->precision;
  options.precision_overrides = m->rule;
  options.precision_override_count = m->rule ? 1 : 0;
  options.obey_precisions = obey;
  check(bsm_module_load(path, NULL, &module), path);
  const bsm_status status = bsm_compile(module, &options, engine);
  bsm_module_destroy(module);
  return status;
}

static bsm_engine *compile(const model *m) {
  bsm_engine *engine = NULL;
  check(try_to_compile(m, false, &engine), m->name);
  return engine;
}

/* The remote device says of no layer what it computes in. */
static bool has_precisions(void) {
#ifdef REMOTE_FIRST
  return getenv("BSM_TEST_TARGET") != NULL;
#else
  return true;
#endif
}

/* Where the host has the memory, what data say the sizes of is left to it. */
static bool has_bounds(void) {
#ifdef REMOTE_FIRST
  return true;
#else
  return false;
#endif
}

/* ---- results ---- */

/* What a value may differ by, of the greatest. */
static double tolerance_of(const model *m, bsm_dtype dtype) {
  return m->precision && !m->rule  ? 5e-3
         : dtype == BSM_DTYPE_HALF ? 1e-3
                                   : 1e-4;
}

static double half_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double magnitude =
      exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return bits >> 15 ? -magnitude : magnitude;
}

static double value_of(const bsm_array *a, size_t i) {
  switch (a->dtype) {
    case BSM_DTYPE_HALF:
      return half_of(((const uint16_t *)a->data)[i]);
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)a->data)[i];
    default:
      return ((const double *)a->data)[i];
  }
}

static void compare(const model *m, const bsm_array *got, const bsm_array *want,
                    const char *what) {
  size_t count = 1;
  for (int32_t i = 0; i < want->dims.rank; i++) {
    count *= (size_t)want->dims.d[i];
  }
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("%s is %s%s, PyTorch's is %s%s", what, bsm_dtype_name(got->dtype),
             bsm_dims_str(got->dims), bsm_dtype_name(want->dtype),
             bsm_dims_str(want->dims));
  }
  if (want->dtype != BSM_DTYPE_HALF && want->dtype != BSM_DTYPE_FLOAT &&
      want->dtype != BSM_DTYPE_DOUBLE) {
    if (memcmp(got->data, want->data, count * bsm_dtype_size(want->dtype))) {
      fail_msg("%s differs", what);
    }
    return;
  }
  double scale = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    const double a = value_of(got, i), b = value_of(want, i);
    if (fabs(b) > scale) scale = fabs(b);
    if (!(fabs(a - b) <= worst)) worst = fabs(a - b);
  }
  if (!(worst <= tolerance_of(m, want->dtype) * scale + 1e-6)) {
    fail_msg("%s differs by %g at scale %g", what, worst, scale);
  }
}

/* ---- runs ---- */

static void hear(void *user, bsm_log_level level, const char *message) {
  (void)level;
  if (strstr(message, "run without a plan")) {
    print_message("%s: %s\n", (const char *)user, message);
    fail();
  }
}

static void find(const bsm_npy_file *file, int run, const char *kind, size_t i,
                 bsm_array *out) {
  char name[32];
  snprintf(name, sizeof(name), "r%d_%s_%zu", run, kind, i);
  const bsm_array *found = bsm_npy_find(file, name);
  if (!found) fail_msg("no %s", name);
  *out = *found;
}

static void run_one(const model *m, bsm_context *context,
                    const bsm_npy_file *file, int run) {
  bsm_array inputs[MAX_INPUTS], want, got;
  char what[96];
  for (size_t i = 0; i < m->inputs; i++) find(file, run, "in", i, &inputs[i]);
  snprintf(what, sizeof(what), "%s%s, run %d", m->name,
           bsm_dims_str(inputs[0].dims), run);
  check(bsm_context_run_keep(context, inputs, m->inputs), what);
  for (size_t i = 0; i < m->outputs; i++) {
    snprintf(what, sizeof(what), "%s%s, run %d, output %zu", m->name,
             bsm_dims_str(inputs[0].dims), run, i);
    find(file, run, "out", i, &want);
    check(bsm_context_output(context, i, &got), what);
    compare(m, &got, &want, what);
  }
}

/* How many calls of the reference library are in the plans from step `first`
 * on. */
static size_t count_calls(const bsm_context *context, size_t first,
                          size_t end) {
  size_t calls = 0;
  for (size_t i = first; i < end; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p), "profile");
    calls += strcmp(p.kind, "aten_call") == 0;
  }
  return calls;
}

/* Kernels for tensor cores, of the plans from step `first` on. */
static size_t count_special(const bsm_context *context, size_t first,
                            size_t end) {
  size_t count = 0;
  for (size_t i = first; i < end; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p), "profile");
    count += strstr(p.tactic, "mma_") || strstr(p.tactic, "few_maps");
  }
  return count;
}

/* Kernels that run on the host take its compiler long: there are very many. */
static bool takes_long(const model *m) {
  const char *nvrtc = getenv("BESSEMER_NVRTC");
  return strcmp(m->name, "found") == 0 && nvrtc && strstr(nvrtc, "standin");
}

static void all_shapes_have_plans(void **state) {
  const model *m = *state;
  char path[512];
  bsm_npy_file file;
  if (m->rule && !has_precisions()) skip();
  if (takes_long(m)) skip();
  bsm_engine *engine = compile(m);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  const bsm_logger logger = {BSM_LOG_LEVEL_INFO, hear,
                             (void *)(uintptr_t)m->name};
  if (!m->finds || has_bounds()) options.logger = &logger;
  options.profile = true;
  options.max_plans = 1; /* so that the profile has one */
  path_of(m, "npz", path, sizeof(path));
  check(bsm_npy_open(path, NULL, &file), path);
  check(bsm_context_create(engine, &options, &context), m->name);
  assert_int_equal(bsm_engine_output_count(engine), m->outputs);
  const size_t stored = bsm_context_profile_count(context);
  const bool calls = count_calls(context, 0, stored) > 0;
  const size_t special = count_special(context, 0, stored);
  if (m->rule) assert_int_equal(special, 0);
  for (int run = 0; run < RUNS; run++) {
    run_one(m, context, &file, run);
    const size_t all = bsm_context_profile_count(context);
    /* The engine stores two: for the best shapes and for the largest. */
    if (all > stored && 2 * count_special(context, stored, all) < special) {
      fail_msg("%s, run %d: a plan has plain kernels", m->name, run);
    }
    if (m->rule) assert_int_equal(count_special(context, stored, all), 0);
    if (calls || !count_calls(context, stored, all)) continue;
    fail_msg("%s, run %d: a plan calls the reference library", m->name, run);
  }
  bsm_context_destroy(context);
  bsm_npy_close(&file);
  bsm_engine_destroy(engine);
}

/* Plans that come and go, and recorded ones, give PyTorch's results too. */
static void shapes_come_again(void **state) {
  (void)state;
  const model *m = &models[4];
  char path[512];
  bsm_npy_file file;
  bsm_engine *engine = compile(m);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.max_plans = 5;
  path_of(m, "npz", path, sizeof(path));
  check(bsm_npy_open(path, NULL, &file), path);
  check(bsm_context_create(engine, &options, &context), m->name);
  for (int i = 0; i < 120; i++) {
    run_one(m, context, &file, (i * 7 + i / 5) % 8);
  }
  bsm_context_destroy(context);
  bsm_npy_close(&file);
  bsm_engine_destroy(engine);
}

/* How long is what a GPU finds comes home; nothing else is called. */
static void what_is_found_stays(void **state) {
  const model *m = *state;
  static const char *const called[] = {"aten::Int.Tensor", "aten::slice.Tensor",
                                       "aten::add.Scalar"};
  const char *target = getenv("BSM_TEST_TARGET");
  if (!target || strcmp(target, "cuda") != 0 || takes_long(m)) skip();
  bsm_engine *engine = compile(m);
  const bsm_program *p = engine->plan->program;
  assert_non_null(p);
  for (uint32_t i = 0; i < p->blocks[0].instruction_count; i++) {
    const bsm_instruction *at = &p->blocks[0].instructions[i];
    bool is_known = at->kind != BSM_INSTRUCTION_CALL;
    for (size_t k = 0; k < sizeof(called) / sizeof(called[0]); k++) {
      is_known = is_known || strcmp(at->name, called[k]) == 0;
    }
    if (!is_known) fail_msg("%s calls %s", m->name, at->name);
  }
  bsm_engine_destroy(engine);
}

/* No target computes these layers in int8. */
static void rules_are_obeyed(void **state) {
  (void)state;
  const bsm_precision_override rule = {.module = "point",
                                       .precision = BSM_PRECISION_INT8};
  model m = models[7];
  bsm_engine *engine = NULL;
  if (!has_precisions()) skip();
  m.rule = &rule;
  bsm_status status = try_to_compile(&m, true, &engine);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "in int8"));
  bsm_status_free(status);
  check(try_to_compile(&m, false, &engine), "a rule that is a wish");
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"windows", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[0]},
      {"rows", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[1]},
      {"heads", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[2]},
      {"moves", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[3]},
      {"elements", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[4]},
      {"recurrent", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[5]},
      {"sides", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[6]},
      {"narrow", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[7]},
      {"narrow in fp16", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[8]},
      {"narrow in fp16 but for rules", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[9]},
      {"found", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[10]},
      {"boxes", all_shapes_have_plans, NULL, NULL,
       (void *)(uintptr_t)&models[11]},
      {"found on the device", what_is_found_stays, NULL, NULL,
       (void *)(uintptr_t)&models[10]},
      {"boxes on the device", what_is_found_stays, NULL, NULL,
       (void *)(uintptr_t)&models[11]},
      cmocka_unit_test(rules_are_obeyed),
      cmocka_unit_test(shapes_come_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
