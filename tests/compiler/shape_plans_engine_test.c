/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for ranges of shapes: a plan made for a shape computes the bits that
 * an engine of just that shape does, is made once, and is the same for each
 * number of threads, each context, and an engine from a file. That the values
 * are PyTorch's, dynamic_shapes_test.c checks. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bessemer/bessemer.h"

/* Engines for GPUs carry machine code; these were built by the test. */
static const bsm_engine_load_options own_file = {
    .struct_size = sizeof(own_file), .trust_code = true};

enum { MAX_INPUTS = 3, MAX_OUTPUTS = 3, THREADS = 3 };

typedef struct model {
  const char *name;
  size_t inputs, outputs;
  bsm_dtype dtype;
  int32_t rank[MAX_INPUTS];
  int64_t min[MAX_INPUTS][4], opt[MAX_INPUTS][4], max[MAX_INPUTS][4];
  bool tied; /* all inputs have the dims of the first */
} model;

static const model models[] = {
    {"adaptive",
     1,
     1,
     BSM_DTYPE_FLOAT,
     {4},
     {{1, 3, 4, 4}},
     {{1, 3, 16, 12}},
     {{5, 3, 20, 20}},
     false},
    {"text",
     2,
     2,
     BSM_DTYPE_INT64,
     {2, 2},
     {{1, 2}, {1, 2}},
     {{2, 8}, {2, 8}},
     {{6, 20}, {6, 20}},
     true},
};
enum { MODELS = sizeof(models) / sizeof(models[0]), SHAPES = 5 };

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* Between the ends, differently for each dimension. */
static int64_t size_of(const model *m, size_t input, int32_t dim, int which) {
  const size_t i = m->tied ? 0 : input;
  const int64_t min = m->min[i][dim], max = m->max[i][dim];
  if (which == 0) return min;
  if (which == 1) return max;
  return min + (max - min) * ((which * 3 + dim * 5) % 8) / 8;
}

static bsm_engine *compile(const model *m, int fixed_shape) {
  char path[512];
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  snprintf(path, sizeof(path), "%s/dynamic/%s.ts", BSM_TEST_DATA_DIR, m->name);
  for (size_t i = 0; i < m->inputs; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = m->dtype;
    specs[i].rank = m->rank[i];
    for (int32_t d = 0; d < m->rank[i]; d++) {
      const int64_t fixed = fixed_shape < 0 ? 0 : size_of(m, i, d, fixed_shape);
      specs[i].min[d] = fixed_shape < 0 ? m->min[i][d] : fixed;
      specs[i].opt[d] = fixed_shape < 0 ? m->opt[i][d] : fixed;
      specs[i].max[d] = fixed_shape < 0 ? m->max[i][d] : fixed;
    }
  }
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = m->inputs;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load(path, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

/* ---- runs ---- */

typedef struct arrays {
  bsm_array in[MAX_INPUTS], out[MAX_OUTPUTS];
} arrays;

static size_t bytes_of(const bsm_array *a) {
  size_t n = bsm_dtype_size(a->dtype);
  for (int32_t i = 0; i < a->dims.rank; i++) n *= (size_t)a->dims.d[i];
  return n;
}

static arrays make_inputs(const model *m, int which) {
  arrays a = {0};
  uint32_t seed = 12345u + (uint32_t)which;
  for (size_t i = 0; i < m->inputs; i++) {
    a.in[i].dtype = m->dtype;
    a.in[i].dims.rank = m->rank[i];
    size_t count = 1;
    for (int32_t d = 0; d < m->rank[i]; d++) {
      a.in[i].dims.d[d] = size_of(m, i, d, which);
      count *= (size_t)a.in[i].dims.d[d];
    }
    a.in[i].data = malloc(bytes_of(&a.in[i]) + 1);
    assert_non_null(a.in[i].data);
    for (size_t k = 0; k < count; k++) {
      seed = seed * 1664525u + 1013904223u;
      if (m->dtype == BSM_DTYPE_INT64) {
        ((int64_t *)a.in[i].data)[k] = i ? 1 : (int64_t)(seed >> 30);
      } else {
        ((float *)a.in[i].data)[k] = (float)(seed >> 8) / 8388608.0F - 1;
      }
    }
  }
  return a;
}

static void free_arrays(arrays *a) {
  for (size_t i = 0; i < MAX_INPUTS; i++) free(a->in[i].data);
  for (size_t i = 0; i < MAX_OUTPUTS; i++) free(a->out[i].data);
}

/* Runs and copies the outputs. */
static void run(const model *m, bsm_context *context, arrays *a) {
  check(bsm_context_run_keep(context, a->in, m->inputs));
  for (size_t i = 0; i < m->outputs; i++) {
    bsm_array kept;
    check(bsm_context_output(context, i, &kept));
    free(a->out[i].data);
    a->out[i] = kept;
    a->out[i].data = malloc(bytes_of(&kept) + 1);
    assert_non_null(a->out[i].data);
    memcpy(a->out[i].data, kept.data, bytes_of(&kept));
  }
}

static bool same(const model *m, const arrays *a, const arrays *b) {
  for (size_t i = 0; i < m->outputs; i++) {
    const bsm_array *x = &a->out[i], *y = &b->out[i];
    if (x->dtype != y->dtype || x->dims.rank != y->dims.rank ||
        memcmp(x->dims.d, y->dims.d,
               (size_t)x->dims.rank * sizeof(x->dims.d[0])) != 0 ||
        memcmp(x->data, y->data, bytes_of(x)) != 0) {
      return false;
    }
  }
  return true;
}

static bsm_context *create(const bsm_engine *engine,
                           const bsm_context_options *given, int threads) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  if (given) options = *given;
  options.threads = threads;
  check(bsm_context_create(engine, &options, &context));
  return context;
}

/* What a context of one thread computes, for all shapes. */
static void run_all(const model *m, const bsm_engine *engine,
                    const bsm_context_options *options, int threads,
                    arrays *out) {
  bsm_context *context = create(engine, options, threads);
  for (int which = 0; which < SHAPES; which++) {
    out[which] = make_inputs(m, which);
    run(m, context, &out[which]);
  }
  bsm_context_destroy(context);
}

static void free_all(arrays *a) {
  for (int which = 0; which < SHAPES; which++) free_arrays(&a[which]);
}

static void check_all(const model *m, const bsm_engine *engine,
                      const bsm_context_options *options, int threads,
                      const arrays *want, const char *what) {
  arrays got[SHAPES];
  run_all(m, engine, options, threads, got);
  for (int which = 0; which < SHAPES; which++) {
    if (!same(m, &got[which], &want[which])) {
      fail_msg("%s: other bits at shape %d %s", m->name, which, what);
    }
  }
  free_all(got);
}

/* ---- tests ---- */

static void fixed_engines_give_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *ranging = compile(m, -1);
    bsm_context *context = create(ranging, NULL, 1);
    for (int which = 0; which < SHAPES; which++) {
      bsm_engine *fixed = compile(m, which);
      bsm_context *other = create(fixed, NULL, 1);
      arrays a = make_inputs(m, which), b = make_inputs(m, which);
      run(m, context, &a);
      run(m, other, &b);
      if (!same(m, &a, &b)) fail_msg("%s at shape %d", m->name, which);
      free_arrays(&a);
      free_arrays(&b);
      bsm_context_destroy(other);
      bsm_engine_destroy(fixed);
    }
    bsm_context_destroy(context);
    bsm_engine_destroy(ranging);
  }
}

static void *give(void *user, size_t index, const char *name, bsm_dtype dtype,
                  const bsm_dims *dims, size_t bytes) {
  void **memory = user;
  (void)name;
  (void)dtype;
  (void)dims;
  free(memory[index]);
  return memory[index] = malloc(bytes + 1);
}

static void options_change_no_bit(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *engine = compile(m, -1);
    arrays want[SHAPES];
    run_all(m, engine, NULL, 1, want);
    check_all(m, engine, NULL, 2, want, "with two threads");
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.profile = true;
    check_all(m, engine, &options, 1, want, "with a profile");
    options.max_plans = 1;
    check_all(m, engine, &options, 1, want, "with one plan");
    void *memory[MAX_OUTPUTS] = {0};
    options.output_allocate = give;
    options.output_user = memory;
    check_all(m, engine, &options, 1, want, "in the caller's memory");
    for (size_t k = 0; k < MAX_OUTPUTS; k++) free(memory[k]);
    free_all(want);
    bsm_engine_destroy(engine);
  }
}

static void files_change_no_bit(void **state) {
  (void)state;
  char path[] = "/tmp/bessemer_shape_plans_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *engine = compile(m, -1), *loaded = NULL;
    arrays want[SHAPES];
    run_all(m, engine, NULL, 1, want);
    check(bsm_engine_save(engine, path));
    bsm_engine_destroy(engine);
    check(bsm_engine_load(path, &own_file, &loaded));
    check_all(m, loaded, NULL, 1, want, "from a file");
    bsm_engine_destroy(loaded);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(file);
    void *bytes = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(bytes);
    rewind(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    check(bsm_engine_load_memory(bytes, size, &own_file, &loaded));
    check_all(m, loaded, NULL, 1, want, "from memory");
    bsm_engine_destroy(loaded);
    free(bytes);
    free_all(want);
  }
  close(fd);
  remove(path);
}

typedef struct worker {
  const model *m;
  const bsm_engine *engine;
  const arrays *want;
  bool right;
} worker;

static void *work(void *user) {
  worker *w = user;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.max_plans = 2;
  w->right = !bsm_context_create(w->engine, &options, &context);
  for (int turn = 0; turn < 2 * SHAPES && w->right; turn++) {
    arrays a = make_inputs(w->m, turn % SHAPES);
    run(w->m, context, &a);
    w->right = same(w->m, &a, &w->want[turn % SHAPES]);
    free_arrays(&a);
  }
  bsm_context_destroy(context);
  return NULL;
}

/* Contexts plan side by side, each for itself. */
static void contexts_share_an_engine(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *engine = compile(m, -1);
    arrays want[SHAPES];
    pthread_t threads[THREADS];
    worker workers[THREADS];
    run_all(m, engine, NULL, 1, want);
    for (int t = 0; t < THREADS; t++) {
      workers[t] = (worker){m, engine, want, false};
      assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
      pthread_join(threads[t], NULL);
      assert_true(workers[t].right);
    }
    free_all(want);
    bsm_engine_destroy(engine);
  }
}

/* ---- planning happens once ---- */

/* The fewest and the most runs of the plans that the context keeps. */
static void check_runs(const bsm_context *context, size_t stored,
                       uint64_t least, uint64_t most) {
  uint64_t min = UINT64_MAX, max = 0;
  for (size_t i = stored; i < bsm_context_profile_count(context); i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p));
    if (p.runs < min) min = p.runs;
    if (p.runs > max) max = p.runs;
  }
  assert_int_equal(min, least);
  assert_int_equal(max, most);
}

static void plans_are_made_once(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *engine = compile(m, -1);
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.profile = true;
    options.max_plans = 2;
    bsm_context *context = create(engine, &options, 1);
    const size_t stored = bsm_context_profile_count(context);
    arrays a[3];
    for (int k = 0; k < 3; k++) {
      a[k] = make_inputs(m, k + 2); /* no ends: no plan of the engine's */
      for (int turn = 0; turn < 3; turn++) run(m, context, &a[k]);
      check_runs(context, stored, 3, 3);
    }
    run(m, context, &a[1]); /* still there */
    check_runs(context, stored, 3, 4);
    run(m, context, &a[0]); /* was gone; comes in place of 2 */
    check_runs(context, stored, 1, 4);
    for (int k = 0; k < 3; k++) free_arrays(&a[k]);
    bsm_context_destroy(context);
    bsm_engine_destroy(engine);
  }
}

/* The steps of made plans come after the engine's own. */
static void runs_are_profiled(void **state) {
  (void)state;
  const model *m = &models[0];
  bsm_engine *engine = compile(m, -1);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.profile = true;
  bsm_context *context = create(engine, &options, 1);
  const size_t stored = bsm_context_profile_count(context);
  arrays a = make_inputs(m, 3);
  run(m, context, &a);
  run(m, context, &a);
  const size_t all = bsm_context_profile_count(context);
  assert_true(all > stored);
  for (size_t i = 0; i < all; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p));
    assert_int_equal(p.runs, i < stored ? 0 : 2);
    assert_true(p.name && p.kind && p.tactic);
  }
  bsm_step_profile p = BSM_STEP_PROFILE_INIT;
  bsm_status status = bsm_context_profile(context, all, &p);
  assert_int_equal(bsm_status_code(status), BSM_OUT_OF_RANGE);
  bsm_status_free(status);
  free_arrays(&a);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* No room for other shapes than the stored ones: they run one by one. */
__attribute__((unused)) static void a_workspace_that_cannot_grow(void **state) {
  (void)state;
  for (size_t i = 0; i < MODELS; i++) {
    const model *m = &models[i];
    bsm_engine *engine = compile(m, -1);
    bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
    check(bsm_engine_memory(engine, 1, &memory));
    const size_t size = (size_t)(memory.workspace + memory.scratch + 128);
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.workspace = aligned_alloc(64, (size + 63) / 64 * 64);
    options.workspace_size = size;
    assert_non_null(options.workspace);
    arrays want[SHAPES];
    run_all(m, engine, NULL, 1, want);
    check_all(m, engine, &options, 1, want, "in the caller's workspace");
    free(options.workspace);
    free_all(want);
    bsm_engine_destroy(engine);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_engines_give_the_same_bits),
      cmocka_unit_test(options_change_no_bit),
      cmocka_unit_test(files_change_no_bit),
      cmocka_unit_test(contexts_share_an_engine),
      cmocka_unit_test(plans_are_made_once),
      cmocka_unit_test(runs_are_profiled),
#ifndef REMOTE_FIRST /* a workspace of the host's memory */
      cmocka_unit_test(a_workspace_that_cannot_grow),
#endif
  };
  return cmocka_run_group_tests_name("shape_plans_engine", tests, NULL, NULL);
}
