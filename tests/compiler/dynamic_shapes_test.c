/* SPDX-License-Identifier: Apache-2.0 */
/* Models compiled for ranges of shapes against PyTorch, at the ends of the
 * ranges, the optimum and shapes between: data/dynamic/make_dynamic.py makes
 * them. Shapes outside are refused by name, memory does not grow. */
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
#include "tools/npy.h"

enum { MAX_INPUTS = 3 };

typedef struct range {
  int32_t rank;
  int64_t min[4], opt[4], max[4];
} range;

typedef struct model {
  const char *name;
  size_t inputs, outputs;
  range ranges[MAX_INPUTS];
  bsm_dtype dtype;
  int runs; /* 0: the ends, the optimum and six more */
} model;

static const model adaptive = {
    "adaptive",
    1,
    1,
    {{4, {1, 3, 4, 4}, {1, 3, 16, 12}, {5, 3, 20, 20}}},
    BSM_DTYPE_FLOAT};
static const model text = {
    "text",
    2,
    2,
    {{2, {1, 2}, {2, 8}, {6, 20}}, {2, {1, 2}, {2, 8}, {6, 20}}},
    BSM_DTYPE_INT64};
static const model arithmetic = {
    "arithmetic",
    2,
    3,
    {{4, {1, 2, 6, 6}, {1, 2, 12, 16}, {4, 2, 20, 20}},
     {2, {1, 1}, {1, 4}, {4, 9}}},
    BSM_DTYPE_FLOAT};
static const model shared = {"shared",
                             3,
                             3,
                             {{3, {1, 1, 6}, {2, 5, 6}, {6, 12, 6}},
                              {3, {1, 1, 6}, {2, 7, 6}, {6, 9, 6}},
                              {3, {1, 1, 8}, {1, 2, 8}, {1, 6, 8}}},
                             BSM_DTYPE_FLOAT};

/* Sides of branches that few shapes take. */
static const model ways = {
    "ways", 1, 4, {{2, {1, 1}, {4, 4}, {24, 9}}}, BSM_DTYPE_FLOAT, 43};

static const model strided = {
    "strided",       1, 3, {{3, {1, 2, 6}, {2, 5, 6}, {4, 9, 6}}},
    BSM_DTYPE_FLOAT, 0};

static const model refuses = {
    "refuses", 1, 1, {{2, {1, 1}, {4, 4}, {9, 5}}}, BSM_DTYPE_FLOAT, 9};

static void check(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void path_of(const model *m, const char *end, char *out, size_t size) {
  snprintf(out, size, "%s/dynamic/%s.%s", BSM_TEST_DATA_DIR, m->name, end);
}

static bsm_engine *compile(const model *m) {
  char path[512];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  path_of(m, "ts", path, sizeof(path));
  for (size_t i = 0; i < m->inputs; i++) {
    const range *r = &m->ranges[i];
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = m->dtype;
    specs[i].rank = r->rank;
    memcpy(specs[i].min, r->min, sizeof(r->min));
    memcpy(specs[i].opt, r->opt, sizeof(r->opt));
    memcpy(specs[i].max, r->max, sizeof(r->max));
  }
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = m->inputs;
  options.no_timing = true;
  check(bsm_module_load(path, NULL, &module), path);
  check(bsm_compile(module, &options, &engine), path);
  bsm_module_destroy(module);
  return engine;
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

static void compare(const bsm_array *got, const bsm_array *want,
                    const char *what) {
  if (got->dtype != want->dtype || got->dims.rank != want->dims.rank ||
      memcmp(got->dims.d, want->dims.d,
             (size_t)want->dims.rank * sizeof(int64_t)) != 0) {
    fail_msg("%s is %s%s, PyTorch's is %s%s", what, bsm_dtype_name(got->dtype),
             bsm_dims_str(got->dims), bsm_dtype_name(want->dtype),
             bsm_dims_str(want->dims));
  }
  const size_t count = count_of(want->dims);
  if (want->dtype != BSM_DTYPE_FLOAT) {
    assert_memory_equal(got->data, want->data,
                        count * bsm_dtype_size(want->dtype));
    return;
  }
  const float *a = got->data, *b = want->data;
  float scale = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    if (fabsf(b[i]) > scale) scale = fabsf(b[i]);
    if (!(fabsf(a[i] - b[i]) <= worst)) worst = fabsf(a[i] - b[i]);
  }
  if (!(worst <= 1e-4F * scale + 1e-6F)) {
    fail_msg("%s differs by %g at scale %g", what, (double)worst,
             (double)scale);
  }
}

static bool find(const bsm_npy_file *file, int run, const char *kind, size_t i,
                 bsm_array *out) {
  char name[32];
  snprintf(name, sizeof(name), "r%d_%s_%zu", run, kind, i);
  const bsm_array *found = bsm_npy_find(file, name);
  if (found) *out = *found;
  return found != NULL;
}

static bool run_one(const model *m, bsm_context *context,
                    const bsm_npy_file *file, int run) {
  bsm_array inputs[MAX_INPUTS], want, got;
  char what[64];
  for (size_t i = 0; i < m->inputs; i++) {
    if (!find(file, run, "in", i, &inputs[i])) return false;
  }
  snprintf(what, sizeof(what), "%s, run %d", m->name, run);
  check(bsm_context_run_keep(context, inputs, m->inputs), what);
  for (size_t i = 0; i < m->outputs; i++) {
    snprintf(what, sizeof(what), "%s, run %d, output %zu", m->name, run, i);
    assert_true(find(file, run, "out", i, &want));
    check(bsm_context_output(context, i, &got), what);
    compare(&got, &want, what);
  }
  return true;
}

static void agrees(const model *m, uint32_t isa) {
  char path[512];
  bsm_npy_file file;
  bsm_engine *engine = compile(m);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  int runs = 0;
  options.isa = isa;
  path_of(m, "npz", path, sizeof(path));
  check(bsm_npy_open(path, NULL, &file), path);
  check(bsm_context_create(engine, &options, &context), m->name);
  assert_int_equal(bsm_engine_output_count(engine), m->outputs);
  while (run_one(m, context, &file, runs)) runs++;
  assert_int_equal(runs, m->runs ? m->runs : 9);
  bsm_context_destroy(context);
  bsm_npy_close(&file);
  bsm_engine_destroy(engine);
}

static void all_agree(void **state) {
  const model *m = *state;
  agrees(m, 0);
  agrees(m, 0x80000000U);
}

/* ---- shapes outside ---- */

static void refuse(bsm_context *context, int64_t batch, int64_t length,
                   const char *const *words) {
  static int64_t ids[32 * 32];
  bsm_array in[2];
  for (int i = 0; i < 2; i++) {
    in[i] = (bsm_array){ids, BSM_DTYPE_INT64, {2, {batch, length}}, NULL};
  }
  bsm_status status = bsm_context_run_keep(context, in, 2);
  assert_non_null(status);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  for (; *words; words++) {
    if (!strstr(bsm_status_message(status), *words)) {
      fail_msg("no %s in: %s", *words, bsm_status_message(status));
    }
  }
  bsm_status_free(status);
}

static void outside_is_refused(void **state) {
  bsm_engine *engine = compile(&text);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_binding binding = BSM_BINDING_INIT;
  char path[512];
  bsm_npy_file file;
  (void)state;
  check(bsm_context_create(engine, &options, &context), "context");
  check(bsm_engine_input(engine, 0, &binding), "binding");
  assert_int_equal(binding.dims.d[0], -1);
  const char *const long_ones[] = {binding.name, "21", "2", "20", NULL};
  const char *const short_ones[] = {binding.name, "1", "2", "20", NULL};
  const char *const many[] = {binding.name, "7", "1", "6", NULL};
  refuse(context, 2, 21, long_ones);
  refuse(context, 2, 1, short_ones);
  refuse(context, 7, 8, many);
  /* And it still runs. */
  path_of(&text, "npz", path, sizeof(path));
  check(bsm_npy_open(path, NULL, &file), path);
  assert_true(run_one(&text, context, &file, 3));
  bsm_npy_close(&file);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* A shape that the model itself does not take, in range. */
static void the_model_refuses(void **state) {
  static float x[8 * 4];
  bsm_engine *engine = compile(&refuses);
  bsm_context *context = NULL;
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {2, {8, 4}}, NULL};
  (void)state;
  check(bsm_context_create(engine, NULL, &context), "context");
  bsm_status status = bsm_context_run_keep(context, &in, 1);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status), "is invalid for input"));
  assert_non_null(strstr(bsm_status_message(status), "make_dynamic.py:"));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- memory ---- */

/* All that the context's allocator has given and not got back. */
typedef struct counter {
  size_t bytes;
} counter;

static void *count_allocate(void *user, size_t size, size_t alignment) {
  counter *c = user;
  const size_t head = alignment < 64 ? 64 : alignment;
  uint8_t *p = aligned_alloc(head, (size + 2 * head - 1) / head * head);
  if (!p) return NULL;
  memcpy(p, &size, sizeof(size));
  c->bytes += size;
  memcpy(p + head - sizeof(head), &head, sizeof(head));
  return p + head;
}

static void count_release(void *user, void *memory) {
  counter *c = user;
  size_t head, size;
  if (!memory) return;
  memcpy(&head, (uint8_t *)memory - sizeof(head), sizeof(head));
  memcpy(&size, (uint8_t *)memory - head, sizeof(size));
  c->bytes -= size;
  free((uint8_t *)memory - head);
}

static void memory_does_not_grow(void **state) {
  const model *m = &arithmetic;
  counter c = {0};
  const bsm_allocator allocator = {
      .alloc = count_allocate, .free = count_release, .user = &c};
  bsm_engine *engine = compile(m);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_npy_file file;
  char path[512];
  size_t warm = 0;
  (void)state;
  options.allocator = &allocator;
  path_of(m, "npz", path, sizeof(path));
  check(bsm_npy_open(path, NULL, &file), path);
  check(bsm_context_create(engine, &options, &context), m->name);
  for (int turn = 0; turn < 40; turn++) {
    for (int run = 0; run < 9; run++) run_one(m, context, &file, run);
    /* What comes again is recorded, where the device can. */
    if (turn < 10) warm = c.bytes;
    assert_true(warm > 0);
    assert_int_equal(c.bytes, warm);
  }
  bsm_context_destroy(context);
  assert_int_equal(c.bytes, 0);
  bsm_npy_close(&file);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"adaptive", all_agree, NULL, NULL, (void *)(uintptr_t)&adaptive},
      {"text", all_agree, NULL, NULL, (void *)(uintptr_t)&text},
      {"arithmetic", all_agree, NULL, NULL, (void *)(uintptr_t)&arithmetic},
      {"shared", all_agree, NULL, NULL, (void *)(uintptr_t)&shared},
      {"strided", all_agree, NULL, NULL, (void *)(uintptr_t)&strided},
      {"refuses", all_agree, NULL, NULL, (void *)(uintptr_t)&refuses},
      cmocka_unit_test(the_model_refuses),
      {"ways", all_agree, NULL, NULL, (void *)(uintptr_t)&ways},
      cmocka_unit_test(outside_is_refused),
      cmocka_unit_test(memory_does_not_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
