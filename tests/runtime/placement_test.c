/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in two memory spaces: whole models, with steps and bindings spread at
 * random over the host and a device that computes as late as it may, give the
 * bits that they give on the CPU; and what the runtime does around them:
 * staging, waiting, profiles, failures, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "aten/tensor.h"
#include "bessemer/bessemer.h"
#include "runtime/engine/engine.h"
#include "tests/base/test_allocator.h"
#include "tests/runtime/lazy_device.h"
#include "tests/runtime/placed_plan.h"
#include "tools/npy.h"

#define MAX_ARRAYS 32

static void check(bsm_status status) {
  if (!status) return;
  const char *message = bsm_status_message(status);
  fail_msg("%s", message);
}

static void expect(bsm_status status, bsm_code code, const char *piece) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), piece)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), piece);
  }
  bsm_status_free(status);
}

static size_t bytes_of(bsm_dtype dtype, bsm_dims dims) {
  size_t n = bsm_dtype_size(dtype);
  for (int32_t i = 0; i < dims.rank; i++) n *= (size_t)dims.d[i];
  return n;
}

/* ---- models ---- */

typedef struct model {
  bsm_npy_file file;
  bsm_engine *cpu, *placed;
  bsm_array inputs[MAX_ARRAYS], want[MAX_ARRAYS], got[MAX_ARRAYS];
  size_t input_count, output_count;
} model;

typedef struct dice {
  uint64_t state;
  int of_four; /* how often it says yes */
} dice;

static bool roll(void *user) {
  dice *d = user;
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (int)(d->state >> 60) % 4 < d->of_four;
}

static bsm_engine *compile(const char *path, model *m) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (size_t i = 0; i < m->input_count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = m->inputs[i].dtype;
    specs[i].rank = m->inputs[i].dims.rank;
    memcpy(specs[i].min, m->inputs[i].dims.d, sizeof(specs[i].min));
  }
  options.inputs = specs;
  options.input_count = m->input_count;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load(path, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static void run(const bsm_engine *engine, int threads, const model *m,
                const bsm_array *outputs) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  check(bsm_context_create(engine, &options, &context));
  for (int i = 0; i < 2; i++) { /* nothing of the first run shows */
    for (size_t k = 0; k < m->output_count; k++) {
      memset(outputs[k].data, 0xee,
             bytes_of(outputs[k].dtype, outputs[k].dims));
    }
    check(bsm_context_run(context, m->inputs, m->input_count, outputs,
                          m->output_count));
  }
  bsm_context_destroy(context);
}

static void load(const char *name, const char *how, model *m) {
  char path[512], key[32];
  memset(m, 0, sizeof(*m));
  snprintf(path, sizeof(path), "%s/models/%s.npz", BSM_TEST_DATA_DIR, name);
  check(bsm_npy_open(path, NULL, &m->file));
  for (;; m->input_count++) {
    snprintf(key, sizeof(key), "in_%zu", m->input_count);
    const bsm_array *array = bsm_npy_find(&m->file, key);
    if (!array) break;
    m->inputs[m->input_count] = *array;
  }
  snprintf(path, sizeof(path), "%s/models/%s-%s.ts", BSM_TEST_DATA_DIR, name,
           how);
  m->cpu = compile(path, m);
  m->output_count = bsm_engine_output_count(m->cpu);
  assert_true(m->output_count <= MAX_ARRAYS);
  for (size_t i = 0; i < m->output_count; i++) {
    bsm_binding b = BSM_BINDING_INIT;
    if (m->cpu->plan->program) break;
    check(bsm_engine_output(m->cpu, i, &b));
    m->want[i] = m->got[i] = (bsm_array){.dtype = b.dtype, .dims = b.dims};
    m->want[i].data = calloc(bytes_of(b.dtype, b.dims) + 1, 1);
    m->got[i].data = calloc(bytes_of(b.dtype, b.dims) + 1, 1);
  }
  if (!m->cpu->plan->program) run(m->cpu, 1, m, m->want);
}

static void place(model *m, uint64_t seed, int of_four) {
  dice d = {seed, of_four};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_plan *plan = placed_plan(m->cpu->plan, roll, &d, &arena);
  check(bsm_engine_adopt(&arena, plan, NULL, NULL, &m->placed));
}

static void unload(model *m) {
  for (size_t i = 0; i < m->output_count; i++) {
    free(m->want[i].data);
    free(m->got[i].data);
  }
  bsm_engine_destroy(m->placed);
  bsm_engine_destroy(m->cpu);
  bsm_npy_close(&m->file);
}

static void assert_same(const model *m) {
  for (size_t i = 0; i < m->output_count; i++) {
    assert_memory_equal(m->got[i].data, m->want[i].data,
                        bytes_of(m->want[i].dtype, m->want[i].dims));
  }
}

static void assert_nothing_left(void) {
  assert_int_equal(lazy_log.live, 0);
  assert_int_equal(lazy_log.prepared, 0);
  assert_int_equal(lazy_log.open, 0);
}

static void test_models(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"resnet", "trace"},       {"mobilenet", "script"},
      {"squeezenet", "trace"},   {"unet", "script"},
      {"vit", "script"},         {"bert", "trace"},
      {"encoder", "script"},     {"dense", "trace"},
      {"mixed", "script"},       {"tagger", "trace"},
      {"packed", "trace"},       {"half_block", "trace"},
      {"integer_net", "script"}, {"spectral", "script"},
  };
  int mixed = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    model m;
    load(names[i][0], names[i][1], &m);
    for (int of_four = 0; of_four <= 4 && !m.cpu->plan->program; of_four++) {
      lazy_log = (lazy_device_log){0};
      place(&m, i * 8 + (uint64_t)of_four, of_four);
      run(m.placed, 1 + of_four % 2, &m, m.got);
      assert_same(&m);
      if (of_four) assert_true(lazy_log.steps > 0 && lazy_log.uploads > 0);
      mixed++;
      bsm_engine_destroy(m.placed);
      m.placed = NULL;
      assert_nothing_left();
    }
    unload(&m);
  }
  assert_true(mixed > 40);
}

/* ---- arrays on the device ---- */

/* A copy of an array in the memory of the engine's device. */
static bsm_array on_device(const bsm_engine *engine, const bsm_array *from,
                           bool copy) {
  const bsm_device_ops *ops = engine->ops[BSM_SPACE_DEVICE];
  bsm_device *device = engine->devices[BSM_SPACE_DEVICE];
  const size_t bytes = bytes_of(from->dtype, from->dims);
  bsm_stream *stream;
  bsm_array to = *from;
  to.space = BSM_SPACE_DEVICE;
  check(ops->allocate(device, NULL, bytes, 64, &to.data));
  if (!copy) return to;
  check(ops->stream_create(device, &(bsm_stream_options){0}, &stream));
  check(ops->upload(stream, to.data, from->data, bytes));
  check(ops->synchronize(stream));
  ops->stream_destroy(stream);
  return to;
}

static void release_on_device(const bsm_engine *engine, bsm_array *array) {
  engine->ops[BSM_SPACE_DEVICE]->release(engine->devices[BSM_SPACE_DEVICE],
                                         NULL, array->data);
}

/* ---- programs ---- */

/* An engine of IR text, for inputs of these dims. */
static bsm_engine *compile_text(const char *text, const bsm_array *inputs,
                                size_t count) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (size_t i = 0; i < count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = inputs[i].dtype;
    specs[i].rank = inputs[i].dims.rank;
    memcpy(specs[i].min, inputs[i].dims.d, sizeof(specs[i].min));
  }
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

/* Two contexts run the same; outputs have the same bits. */
static void compare_runs(bsm_context *a, bsm_context *b,
                         const bsm_array *inputs, const bsm_array *other,
                         size_t count) {
  check(bsm_context_run_keep(a, inputs, count));
  check(bsm_context_run_keep(b, other, count));
  const size_t outputs = bsm_context_output_count(a);
  assert_true(outputs > 0);
  assert_int_equal(bsm_context_output_count(b), outputs);
  for (size_t i = 0; i < outputs; i++) {
    bsm_array x, y;
    check(bsm_context_output(a, i, &x));
    check(bsm_context_output(b, i, &y));
    assert_int_equal(x.dtype, y.dtype);
    assert_int_equal(y.space, BSM_SPACE_HOST);
    assert_true(bsm_dims_equal(x.dims, y.dims));
    assert_memory_equal(x.data, y.data, bytes_of(x.dtype, x.dims));
  }
}

/* Segments in a loop whose end depends on data, and of whose values the host
 * sees some: a sum that decides, a list of all, indices. */
static const char loop_text[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %limit : float = prim::Constant[value=40.]()\n"
    "  %turns : int = prim::Constant[value=9]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %list : Tensor[] = prim::ListConstruct()\n"
    "  %r : Tensor = prim::Loop(%turns, %true, %x)\n"
    "    block0(%i : int, %h : Tensor):\n"
    "      %p : Tensor = aten::matmul(%h, %w)\n"
    "      %q : Tensor = aten::relu(%p)\n"
    "      %v : Tensor = aten::softmax(%q, %one, %none)\n"
    "      %c : Tensor = aten::add(%v, %h, %one)\n"
    "      %d : Tensor[] = aten::append(%list, %c)\n"
    "      %s : Tensor = aten::sum(%c, %none)\n"
    "      %n : Scalar = aten::item(%s)\n"
    "      %go : bool = aten::lt(%n, %limit)\n"
    "      -> (%go, %c)\n"
    "  %all : Tensor = aten::stack(%list, %zero)\n"
    "  %nz : Tensor = aten::nonzero(%r)\n"
    "  %m : Tensor = aten::mul(%r, %two)\n"
    "  return (%r, %all, %nz, %m)\n";

static float loop_x[4 * 8], loop_w[8 * 8];
static const bsm_array loop_inputs[2] = {
    {loop_x, BSM_DTYPE_FLOAT, {2, {4, 8}}, NULL},
    {loop_w, BSM_DTYPE_FLOAT, {2, {8, 8}}, NULL},
};

static void fill(float *data, size_t n) {
  for (size_t i = 0; i < n; i++) data[i] = (float)(i * 37 % 23) / 23.0f - 0.3f;
}

static bsm_engine *compile_loop(void) {
  fill(loop_x, 32);
  fill(loop_w, 64);
  bsm_engine *engine = compile_text(loop_text, loop_inputs, 2);
  assert_non_null(engine->plan->program);
  return engine;
}

static void test_loop(void **state) {
  (void)state;
  model m = {.cpu = compile_loop()};
  for (int of_four = 0; of_four <= 4; of_four++) {
    bsm_context *a, *b;
    bsm_array up[2];
    lazy_log = (lazy_device_log){0};
    place(&m, 20 + (uint64_t)of_four, of_four);
    check(bsm_context_create(m.cpu, NULL, &a));
    check(bsm_context_create(m.placed, NULL, &b));
    for (int i = 0; i < 2; i++) {
      up[i] = on_device(m.placed, &loop_inputs[i], true);
    }
    compare_runs(a, b, loop_inputs, loop_inputs, 2);
    compare_runs(a, b, loop_inputs, up, 2);
    compare_runs(a, b, loop_inputs, loop_inputs, 2);
    if (of_four) assert_true(lazy_log.steps > 0);
    for (int i = 0; i < 2; i++) release_on_device(m.placed, &up[i]);
    bsm_context_destroy(a);
    bsm_context_destroy(b);
    bsm_engine_destroy(m.placed);
    assert_nothing_left();
  }
  bsm_engine_destroy(m.cpu);
}

/* Each step fails once in some turn; the next run is as if nothing had been. */
static void test_loop_fails(void **state) {
  (void)state;
  model m = {.cpu = compile_loop()};
  lazy_log = (lazy_device_log){0};
  place(&m, 3, 4);
  bsm_context *a, *b;
  check(bsm_context_create(m.cpu, NULL, &a));
  check(bsm_context_create(m.placed, NULL, &b));
  lazy_log.steps = 0;
  compare_runs(a, b, loop_inputs, loop_inputs, 2);
  const int steps = lazy_log.steps;
  assert_true(steps > 5);
  for (int i = 1; i <= steps; i++) {
    lazy_log.steps = 0;
    lazy_log.fail_step = i;
    bsm_status status = bsm_context_run_keep(b, loop_inputs, 2);
    assert_non_null(status);
    assert_non_null(strstr(bsm_status_message(status), "while running step"));
    expect(status, BSM_DATA_DEPENDENT, "out of sorts");
    assert_int_equal(bsm_context_output_count(b), 0);
    lazy_log.fail_step = 0;
    compare_runs(a, b, loop_inputs, loop_inputs, 2);
  }
  bsm_context_destroy(a);
  bsm_context_destroy(b);
  bsm_engine_destroy(m.placed);
  bsm_engine_destroy(m.cpu);
  assert_nothing_left();
}

/* Rows of three, and a number: what the methods take. */
static float method_x[6] = {0.5f, -1.25f, 2, -0.5f, 1.5f, 0.25f};
static float method_y[6] = {-1, 0.75f, 0.5f, 2.5f, -2, 1};
static int64_t method_n[1] = {2};
static const bsm_array method_inputs[3] = {
    {method_x, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL},
    {method_y, BSM_DTYPE_FLOAT, {2, {2, 3}}, NULL},
    {method_n, BSM_DTYPE_INT64, {0}, NULL},
};

static bool compile_method(bsm_module *module, const char *name,
                           bsm_engine **out) {
  bsm_input_spec specs[3];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (size_t i = 0; i < 3; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = method_inputs[i].dtype;
    specs[i].rank = method_inputs[i].dims.rank;
    memcpy(specs[i].min, method_inputs[i].dims.d, sizeof(specs[i].min));
  }
  options.method = name;
  options.inputs = specs;
  options.input_count = 3;
  options.no_timing = true;
  options.threads = 1;
  bsm_status status = bsm_compile(module, &options, out);
  bsm_status_free(status);
  return !status;
}

/* The same outputs, or failures of the same kind. */
static void compare_methods(bsm_context *a, bsm_context *b) {
  bsm_status x = bsm_context_run_keep(a, method_inputs, 3);
  bsm_status y = bsm_context_run_keep(b, method_inputs, 3);
  assert_int_equal(bsm_status_code(x), bsm_status_code(y));
  if (x) assert_string_equal(bsm_status_message(x), bsm_status_message(y));
  for (size_t i = 0; i < bsm_context_output_count(a); i++) {
    bsm_array p, q;
    check(bsm_context_output(a, i, &p));
    check(bsm_context_output(b, i, &q));
    assert_int_equal(p.dtype, q.dtype);
    assert_true(bsm_dims_equal(p.dims, q.dims));
    assert_memory_equal(p.data, q.data, bytes_of(p.dtype, p.dims));
  }
  bsm_status_free(x);
  bsm_status_free(y);
}

/* Returns how many steps the device ran. */
static int compare_placed(bsm_engine *engine, uint64_t seed) {
  bsm_context *a, *b;
  model m = {.cpu = engine};
  lazy_log = (lazy_device_log){0};
  place(&m, seed, 3);
  check(bsm_context_create(m.cpu, NULL, &a));
  check(bsm_context_create(m.placed, NULL, &b));
  compare_methods(a, b);
  compare_methods(a, b);
  bsm_context_destroy(a);
  bsm_context_destroy(b);
  bsm_engine_destroy(m.placed);
  const int steps = lazy_log.steps;
  assert_nothing_left();
  return steps;
}

/* Programs of random methods (tests/compiler/programs_test.c), in which the
 * segments are small and what is around them is not: conditions and loops on
 * data, lists, dicts, views, writes in place. */
static void test_methods(void **state) {
  (void)state;
  static const char *const files[] = {"programs", "aliasing"};
  int programs = 0, steps = 0;
  for (size_t f = 0; f < 2; f++) {
    char path[512];
    bsm_module *module;
    const char *name;
    snprintf(path, sizeof(path), "%s/programs/%s.ts", BSM_TEST_DATA_DIR,
             files[f]);
    check(bsm_module_load(path, NULL, &module));
    for (size_t i = 0; (name = bsm_module_method_name(module, i)); i += 5) {
      bsm_engine *engine;
      if (!compile_method(module, name, &engine)) continue;
      programs += engine->plan->program != NULL;
      steps += compare_placed(engine, i);
      bsm_engine_destroy(engine);
    }
    bsm_module_destroy(module);
  }
  assert_true(programs > 20 && steps > 100);
}

/* ---- arrays ---- */

static void from_device(const bsm_engine *engine, bsm_array *from,
                        const bsm_array *to) {
  const bsm_device_ops *ops = engine->ops[BSM_SPACE_DEVICE];
  bsm_device *device = engine->devices[BSM_SPACE_DEVICE];
  bsm_stream *stream;
  check(ops->stream_create(device, &(bsm_stream_options){0}, &stream));
  check(ops->download(stream, to->data, from->data,
                      bytes_of(to->dtype, to->dims)));
  check(ops->synchronize(stream));
  ops->stream_destroy(stream);
  ops->release(device, NULL, from->data);
}

/* Arrays on the device are as good as those of the host, wherever the bindings
 * are. */
static void test_arrays_on_the_device(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  for (int of_four = 0; of_four <= 4; of_four += 2) {
    bsm_array inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
    model device = m;
    lazy_log = (lazy_device_log){0};
    place(&device, 5, of_four);
    memcpy(inputs, m.inputs, sizeof(inputs));
    for (size_t i = 0; i < m.input_count; i++) {
      device.inputs[i] = on_device(device.placed, &m.inputs[i], true);
    }
    for (size_t i = 0; i < m.output_count; i++) {
      outputs[i] = on_device(device.placed, &m.got[i], false);
    }
    bsm_context *context;
    check(bsm_context_create(device.placed, NULL, &context));
    const int uploads = lazy_log.uploads, downloads = lazy_log.downloads;
    check(bsm_context_run(context, device.inputs, m.input_count, outputs,
                          m.output_count));
    if (of_four == 4) { /* all is there: nothing was staged */
      int up = 0, down = 0;
      const bsm_plan *plan = device.placed->plan;
      for (uint32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kind != BSM_STEP_TRANSFER) continue;
        if (plan->steps[i].space == BSM_SPACE_DEVICE) up++;
        if (plan->steps[i].space == BSM_SPACE_HOST) down++;
      }
      assert_int_equal(lazy_log.uploads - uploads, up);
      assert_int_equal(lazy_log.downloads - downloads, down);
    }
    for (size_t i = 0; i < m.output_count; i++) {
      from_device(device.placed, &outputs[i], &m.got[i]);
    }
    assert_same(&m);
    bsm_context_destroy(context);
    for (size_t i = 0; i < m.input_count; i++) {
      release_on_device(device.placed, &device.inputs[i]);
    }
    bsm_engine_destroy(device.placed);
    assert_nothing_left();
  }
  unload(&m);
}

/* Runs that are enqueued are done when they are waited for, in order, each with
 * its own arrays; the arrays' structs may go before that. */
static void test_enqueue(void **state) {
  (void)state;
  enum { RUNS = 3 };
  model m;
  load("dense", "trace", &m);
  lazy_log = (lazy_device_log){0};
  place(&m, 5, 4);
  bsm_context *context;
  bsm_array outputs[RUNS][MAX_ARRAYS];
  check(bsm_context_create(m.placed, NULL, &context));
  check(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count));
  const int steps = lazy_log.steps;
  for (int i = 0; i < RUNS; i++) {
    bsm_array given[MAX_ARRAYS];
    for (size_t k = 0; k < m.output_count; k++) {
      outputs[i][k] = given[k] = on_device(m.placed, &m.got[k], false);
    }
    check(bsm_context_enqueue(context, m.inputs, m.input_count, given,
                              m.output_count));
    memset(given, 0xee, sizeof(given));
  }
  assert_int_equal(lazy_log.steps, steps);
  check(bsm_context_synchronize(context));
  assert_int_equal(lazy_log.steps, steps + RUNS * steps);
  for (int i = 0; i < RUNS; i++) {
    for (size_t k = 0; k < m.output_count; k++) {
      from_device(m.placed, &outputs[i][k], &m.got[k]);
    }
    assert_same(&m);
  }
  /* What fails is told by the next who waits, once. */
  lazy_log.fail_step = lazy_log.steps + 2;
  check(bsm_context_enqueue(context, m.inputs, m.input_count, m.got,
                            m.output_count));
  expect(bsm_context_synchronize(context), BSM_DATA_DEPENDENT, "out of sorts");
  lazy_log.fail_step = 0;
  check(bsm_context_synchronize(context));
  check(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count));
  assert_same(&m);
  bsm_context_destroy(context);
  unload(&m);
  assert_nothing_left();
}

/* A run that is refused leaves nothing behind it in the stream. */
static void test_refused_run(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  lazy_log = (lazy_device_log){0};
  place(&m, 5, 4);
  bsm_context *context;
  check(bsm_context_create(m.placed, NULL, &context));
  const bsm_array right = m.got[m.output_count - 1], given = m.inputs[0];
  const size_t bytes = bytes_of(given.dtype, given.dims);
  m.got[m.output_count - 1].dims.rank = BSM_MAX_RANK;
  m.inputs[0].data = malloc(bytes);
  memcpy(m.inputs[0].data, given.data, bytes);
  expect(bsm_context_enqueue(context, m.inputs, m.input_count, m.got,
                             m.output_count),
         BSM_INVALID_ARGUMENT, "the engine was built for");
  free(m.inputs[0].data);
  m.inputs[0] = given;
  m.got[m.output_count - 1] = right;
  check(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count));
  assert_same(&m);
  bsm_context_destroy(context);
  /* The lazy device has no streams of a caller, nor has the CPU. */
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.stream = &options;
  expect(bsm_context_create(m.placed, &options, &context), BSM_UNSUPPORTED,
         "shares no streams");
  expect(bsm_context_create(m.cpu, &options, &context), BSM_UNSUPPORTED,
         "no streams of a caller");
  unload(&m);
  assert_nothing_left();
}

static void test_wrong_arrays(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 1, 2);
  bsm_context *context;
  check(bsm_context_create(m.cpu, NULL, &context));
  m.inputs[0].space = BSM_SPACE_DEVICE;
  expect(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count),
      BSM_INVALID_ARGUMENT, "the engine runs on the CPU");
  bsm_context_destroy(context);
  check(bsm_context_create(m.placed, NULL, &context));
  m.inputs[0].device = 1;
  expect(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count),
      BSM_INVALID_ARGUMENT, "on device 1");
  m.inputs[0].space = (bsm_memory_space)9;
  expect(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count),
      BSM_INVALID_ARGUMENT, "unknown memory space 9");
  m.inputs[0].space = BSM_SPACE_HOST;
  m.inputs[0].device = 0;
  check(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count));
  assert_same(&m);
  bsm_context_destroy(context);
  unload(&m);
}

/* Outputs that the context keeps are on the host. */
static void test_kept_outputs(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 3, 3);
  bsm_context *context;
  check(bsm_context_create(m.placed, NULL, &context));
  for (int turn = 0; turn < 2; turn++) {
    check(bsm_context_run_keep(context, m.inputs, m.input_count));
    for (size_t i = 0; i < m.output_count; i++) {
      bsm_array out;
      check(bsm_context_output(context, i, &out));
      assert_int_equal(out.space, BSM_SPACE_HOST);
      assert_memory_equal(out.data, m.want[i].data,
                          bytes_of(out.dtype, out.dims));
    }
  }
  bsm_context_destroy(context);
  unload(&m);
}

/* ---- profiles ---- */

static void test_profile(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 3, 2);
  bsm_context *context;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.profile = true;
  check(bsm_context_create(m.placed, &options, &context));
  for (int i = 0; i < 3; i++) {
    check(bsm_context_run(context, m.inputs, m.input_count, m.got,
                          m.output_count));
  }
  assert_same(&m);
  int lazily = 0, up = 0, down = 0;
  const size_t count = bsm_context_profile_count(context);
  assert_int_equal(count, m.placed->plan->step_count);
  for (size_t i = 0; i < count; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p));
    assert_int_equal(p.runs, 3);
    assert_true(p.least > 0 && p.seconds >= 3 * p.least && p.seconds < 60);
    lazily += strcmp(p.tactic, "lazily") == 0;
    if (strcmp(p.kind, "transfer") != 0) continue;
    assert_true(p.bytes > 0);
    up += strcmp(p.tactic, "upload") == 0;
    down += strcmp(p.tactic, "download") == 0;
  }
  assert_true(lazily > 0 && up > 0 && down > 0);
  bsm_context_destroy(context);
  unload(&m);
}

/* ---- failures ---- */

/* Each step on the device fails once: the run says which it was, and the next
 * run is as if nothing had happened. */
static void test_steps_fail(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 7, 3);
  bsm_context *context;
  check(bsm_context_create(m.placed, NULL, &context));
  const bsm_plan *plan = m.placed->plan;
  int which = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    char place_in_plan[64];
    if (plan->steps[i].kind == BSM_STEP_TRANSFER ||
        plan->steps[i].space != BSM_SPACE_DEVICE) {
      continue;
    }
    lazy_log.steps = 0;
    lazy_log.fail_step = ++which;
    snprintf(place_in_plan, sizeof(place_in_plan),
             "while running step %u: ", i);
    bsm_status status = bsm_context_run(context, m.inputs, m.input_count, m.got,
                                        m.output_count);
    assert_non_null(strstr(bsm_status_message(status), "out of sorts"));
    expect(status, BSM_DATA_DEPENDENT, place_in_plan);
    lazy_log.fail_step = 0;
    check(bsm_context_run(context, m.inputs, m.input_count, m.got,
                          m.output_count));
    assert_same(&m);
  }
  assert_true(which > 5);
  bsm_context_destroy(context);
  unload(&m);
}

static void test_no_memory_on_the_device(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  lazy_log = (lazy_device_log){0};
  place(&m, 7, 2);
  int failures = 0;
  for (int n = 1;; n++) {
    bsm_context *context = NULL;
    lazy_log.fail_allocation = n;
    bsm_status status = bsm_context_create(m.placed, NULL, &context);
    if (!status) {
      status = bsm_context_run(context, m.inputs, m.input_count, m.got,
                               m.output_count);
    }
    bsm_context_destroy(context);
    if (!status) break;
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
    failures++;
  }
  lazy_log.fail_allocation = 0;
  assert_true(failures > 3);
  assert_same(&m);
  unload(&m);
  assert_nothing_left();
}

static void test_no_memory_on_the_host(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 7, 2);
  int failures = 0;
  for (int n = 0;; n++, failures++) {
    test_allocator allocator;
    bsm_context *context = NULL;
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    test_allocator_init(&allocator, n);
    options.allocator = &allocator.base;
    options.threads = 1;
    bsm_status status = bsm_context_create(m.placed, &options, &context);
    if (!status) {
      status = bsm_context_run(context, m.inputs, m.input_count, m.got,
                               m.output_count);
    }
    bsm_context_destroy(context);
    assert_int_equal(allocator.live, 0);
    if (!status) break;
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
  }
  assert_true(failures > 3);
  assert_same(&m);
  unload(&m);
  assert_nothing_left();
}

/* ---- engines ---- */

static void test_weights_are_uploaded_once(void **state) {
  (void)state;
  model m;
  load("resnet", "trace", &m);
  lazy_log = (lazy_device_log){0};
  place(&m, 9, 4);
  bsm_context *a, *b;
  check(bsm_context_create(m.placed, NULL, &a));
  const int uploads = lazy_log.uploads, live = lazy_log.live;
  assert_true(uploads > 10);
  check(bsm_context_create(m.placed, NULL, &b));
  assert_int_equal(lazy_log.uploads, uploads);
  bsm_context_destroy(a);
  check(bsm_context_run(b, m.inputs, m.input_count, m.got, m.output_count));
  assert_same(&m);
  bsm_context_destroy(b);
  assert_true(lazy_log.live > uploads - 1 && lazy_log.live < live);
  unload(&m);
  assert_nothing_left();
}

static bool never(void *user) {
  (void)user;
  return false;
}

typedef struct worker {
  const model *m;
  bsm_array got[MAX_ARRAYS];
  bsm_status status;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  w->status = bsm_context_create(w->m->placed, &options, &context);
  for (int i = 0; i < 5 && !w->status; i++) {
    w->status = bsm_context_run(context, w->m->inputs, w->m->input_count,
                                w->got, w->m->output_count);
  }
  bsm_context_destroy(context);
  return NULL;
}

/* Contexts of one engine in threads of their own: they share its weights, which
 * the first one that needs them uploads. */
static void test_threads(void **state) {
  (void)state;
  enum { WORKERS = 4 };
  model m;
  load("mixed", "script", &m);
  lazy_log = (lazy_device_log){0};
  place(&m, 7, 2);
  static worker workers[WORKERS];
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.m = &m};
    memcpy(workers[i].got, m.got, sizeof(m.got));
    for (size_t k = 0; k < m.output_count; k++) {
      workers[i].got[k].data =
          calloc(bytes_of(m.got[k].dtype, m.got[k].dims) + 1, 1);
    }
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    check(workers[i].status);
    for (size_t k = 0; k < m.output_count; k++) {
      assert_memory_equal(workers[i].got[k].data, m.want[k].data,
                          bytes_of(m.want[k].dtype, m.want[k].dims));
      free(workers[i].got[k].data);
    }
  }
  unload(&m);
  assert_nothing_left();
}

/* An engine for a device that is not there can be saved, not run. */
static void test_device_is_missing(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_plan *plan = placed_plan(m.cpu->plan, never, NULL, &arena);
  plan->target = "abacus";
  expect(bsm_engine_adopt(&arena, plan, NULL, NULL, &m.placed), BSM_UNSUPPORTED,
         "no device \"abacus\"; there are: cpu, lazy");
  bsm_arena_destroy(&arena);
  place(&m, 1, 2);
  bsm_device *device = m.placed->devices[BSM_SPACE_DEVICE];
  bsm_context *context;
  m.placed->devices[BSM_SPACE_DEVICE] = NULL; /* as after such a build */
  expect(bsm_context_create(m.placed, NULL, &context), BSM_NOT_FOUND,
         "built for lazy:test, which is not here");
  m.placed->devices[BSM_SPACE_DEVICE] = device;
  unload(&m);
}

/* An engine for the CPU has nothing on a device. */
static void test_no_target(void **state) {
  (void)state;
  model m;
  dice d = {4, 2};
  load("mixed", "script", &m);
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_plan *plan = placed_plan(m.cpu->plan, roll, &d, &arena);
  plan->target = "cpu:avx2";
  expect(bsm_engine_adopt(&arena, plan, NULL, NULL, &m.placed), BSM_CORRUPT,
         "in an engine for the CPU");
  bsm_arena_destroy(&arena);
  unload(&m);
}

static void test_memory(void **state) {
  (void)state;
  model m;
  load("mixed", "script", &m);
  place(&m, 3, 2);
  bsm_engine_memory_info info = BSM_ENGINE_MEMORY_INFO_INIT;
  check(bsm_engine_memory(m.placed, 1, &info));
  assert_int_equal(info.workspace,
                   m.placed->plan->workspace_size[BSM_SPACE_DEVICE]);
  assert_int_equal(info.host_workspace,
                   m.placed->plan->workspace_size[BSM_SPACE_HOST]);
  assert_true(info.device_weights > 0 && info.device_weights <= info.weights);
  bsm_binding binding = BSM_BINDING_INIT;
  for (size_t i = 0; i < m.input_count; i++) {
    const bsm_plan *p = m.placed->plan;
    check(bsm_engine_input(m.placed, i, &binding));
    assert_int_equal(binding.space, p->tensors[p->inputs[i].tensor].space);
  }
  /* The caller's workspace is the device's. */
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_device *device = m.placed->devices[BSM_SPACE_DEVICE];
  bsm_context *context;
  options.threads = 1;
  options.workspace_size = (size_t)(info.workspace + info.scratch + 64);
  check(device->ops->allocate(device, NULL, options.workspace_size, 64,
                              &options.workspace));
  check(bsm_context_create(m.placed, &options, &context));
  check(
      bsm_context_run(context, m.inputs, m.input_count, m.got, m.output_count));
  assert_same(&m);
  bsm_context_destroy(context);
  device->ops->release(device, NULL, options.workspace);
  unload(&m);
  assert_nothing_left();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_loop_fails),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_arrays_on_the_device),
      cmocka_unit_test(test_enqueue),
      cmocka_unit_test(test_refused_run),
      cmocka_unit_test(test_wrong_arrays),
      cmocka_unit_test(test_kept_outputs),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_steps_fail),
      cmocka_unit_test(test_no_memory_on_the_device),
      cmocka_unit_test(test_no_memory_on_the_host),
      cmocka_unit_test(test_weights_are_uploaded_once),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_device_is_missing),
      cmocka_unit_test(test_no_target),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
