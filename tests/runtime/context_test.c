/* SPDX-License-Identifier: Apache-2.0 */
/* Engines and contexts through the public API, on a small compiled graph:
 * bindings, every wrong argument, memory, profiles, determinism, and that
 * running allocates nothing. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bessemer/bessemer.h"

/* out = softmax(relu(conv(x)) mean, ...): a convolution, a reduction, a matrix
 * multiply with two inputs, a softmax, an integer output. */
static const char ir_text[] =
    "graph(%x : Tensor, %w : Tensor, %m : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %minus : int = prim::Constant[value=-1]()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %ones : int[] = prim::Constant[value=[1, 1]]()\n"
    "  %dims : int[] = prim::Constant[value=[2, 3]]()\n"
    "  %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)\n"
    "  %r : Tensor = aten::relu(%c)\n"
    "  %a : Tensor = aten::mean(%r, %dims, %false, %none)\n"
    "  %p : Tensor = aten::matmul(%a, %m)\n"
    "  %s : Tensor = aten::softmax(%p, %minus, %none)\n"
    "  %i : Tensor = aten::argmax(%s, %minus, %false)\n"
    "  return (%s, %i)\n";

enum { CHANNELS = 20, SIDE = 9, CLASSES = 5 };

typedef struct fixture {
  bsm_engine *engine;
  float x[2 * 3 * SIDE * SIDE], m[CHANNELS * CLASSES];
  float out[2 * CLASSES];
  int64_t index[2];
  bsm_array inputs[2], outputs[2];
} fixture;

static void check_status(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static float noise(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1u << 24) - 0.5f;
}

static void compile(bsm_engine **out) {
  static float w[CHANNELS * 3 * 3 * 3];
  uint32_t seed = 1;
  for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++) w[i] = noise(&seed);
  const bsm_array weights = {
      w, BSM_DTYPE_FLOAT, {4, {CHANNELS, 3, 3, 3}}, NULL};
  bsm_input_spec specs[3] = {
      {.dtype = BSM_DTYPE_FLOAT, .rank = 4, .min = {2, 3, SIDE, SIDE}},
      {.kind = BSM_INPUT_CONSTANT_TENSOR, .name = "w", .array = &weights},
      {.dtype = BSM_DTYPE_FLOAT, .rank = 2, .min = {CHANNELS, CLASSES}}};
  bsm_module *module = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = specs;
  options.input_count = 3;
  options.no_timing = true;
  check_status(bsm_module_load_memory(ir_text, sizeof(ir_text) - 1, "test.ir",
                                      NULL, &module));
  check_status(bsm_compile(module, &options, out));
  bsm_module_destroy(module);
}

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  uint32_t seed = 7;
  compile(&f->engine);
  for (size_t i = 0; i < sizeof(f->x) / sizeof(float); i++) {
    f->x[i] = noise(&seed);
  }
  for (size_t i = 0; i < sizeof(f->m) / sizeof(float); i++) {
    f->m[i] = noise(&seed);
  }
  f->inputs[0] =
      (bsm_array){f->x, BSM_DTYPE_FLOAT, {4, {2, 3, SIDE, SIDE}}, NULL};
  f->inputs[1] =
      (bsm_array){f->m, BSM_DTYPE_FLOAT, {2, {CHANNELS, CLASSES}}, NULL};
  f->outputs[0] = (bsm_array){f->out, BSM_DTYPE_FLOAT, {2, {2, CLASSES}}, NULL};
  f->outputs[1] = (bsm_array){f->index, BSM_DTYPE_INT64, {1, {2}}, NULL};
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_engine_destroy(f->engine);
  free(f);
  return 0;
}

static bsm_context *new_context(const fixture *f, int threads) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  check_status(bsm_context_create(f->engine, &options, &context));
  return context;
}

static void test_bindings(void **state) {
  const fixture *f = *state;
  bsm_binding b = BSM_BINDING_INIT;
  assert_int_equal(bsm_engine_input_count(f->engine), 2);
  assert_int_equal(bsm_engine_output_count(f->engine), 2);
  check_status(bsm_engine_input(f->engine, 0, &b));
  assert_string_equal(b.name, "x");
  assert_int_equal(b.dims.rank, 4);
  check_status(bsm_engine_output(f->engine, 1, &b));
  assert_int_equal(b.dtype, BSM_DTYPE_INT64);
  bsm_status status = bsm_engine_output(f->engine, 2, &b);
  assert_int_equal(bsm_status_code(status), BSM_OUT_OF_RANGE);
  bsm_status_free(status);
  assert_string_equal(bsm_engine_metadata(f->engine, "source.file"), "test.ir");
  assert_null(bsm_engine_metadata(f->engine, "no such key"));
}

static void test_runs(void **state) {
  fixture *f = *state;
  bsm_context *context = new_context(f, 1);
  check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
  for (int n = 0; n < 2; n++) {
    float sum = 0;
    int best = 0;
    for (int i = 0; i < CLASSES; i++) {
      const float value = f->out[n * CLASSES + i];
      assert_true(value > 0 && value < 1);
      sum += value;
      if (value > f->out[n * CLASSES + best]) best = i;
    }
    assert_true(sum > 0.9999f && sum < 1.0001f);
    assert_int_equal(f->index[n], best);
  }
  bsm_context_destroy(context);
}

static void assert_invalid(bsm_context *context, const bsm_array *in,
                           size_t in_count, const bsm_array *out,
                           size_t out_count, const char *text) {
  bsm_status status = bsm_context_run(context, in, in_count, out, out_count);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  if (!strstr(bsm_status_message(status), text)) {
    fail_msg("\"%s\" is not in: %s", text, bsm_status_message(status));
  }
  bsm_status_free(status);
}

static void test_wrong_arguments(void **state) {
  fixture *f = *state;
  bsm_context *context = new_context(f, 1);
  bsm_array in[2];
#define WRONG(change, text)          \
  memcpy(in, f->inputs, sizeof(in)); \
  change;                            \
  assert_invalid(context, in, 2, f->outputs, 2, (text))
  WRONG(in[0].dtype = BSM_DTYPE_DOUBLE, "dtype float64, not float32");
  WRONG(in[0].dims.rank = 3, "shape");
  WRONG(in[0].dims.rank = -1, "rank");
  WRONG(in[0].dims.rank = 99, "rank");
  WRONG(in[0].dims.d[2] = 8, "[2, 3, 8, 9]");
  WRONG(in[1].data = NULL, "no data");
  WRONG(in[1].data = (char *)f->m + 1, "misaligned");
#undef WRONG
  assert_invalid(context, f->inputs, 1, f->outputs, 2, "1 inputs");
  assert_invalid(context, f->inputs, 2, f->outputs, 3, "3 outputs");
  bsm_array out[2] = {f->outputs[1], f->outputs[0]};
  assert_invalid(context, f->inputs, 2, out, 2, "output 0");
  /* Each array needs memory of its own. */
  out[0] = f->outputs[0];
  out[1] = f->outputs[1];
  out[0].data = f->x + 2 * 3 * SIDE * SIDE - 1;
  assert_invalid(context, f->inputs, 2, out, 2, "overlaps input 0 (x)");
  out[0].data = f->m;
  assert_invalid(context, f->inputs, 2, out, 2, "overlaps input 1 (m)");
  out[0] = f->outputs[0];
  out[1].data = f->out + 2;
  assert_invalid(context, f->inputs, 2, out, 2, "output 1 ");
  out[1].data = f->index;
  check_status(bsm_context_run(context, f->inputs, 2, out, 2));
  bsm_context_destroy(context);
}

/* The same numbers where strides say, backwards and with gaps between them. */
static void test_strided_arrays(void **state) {
  fixture *f = *state;
  static float x[4 * 2 * 3 * SIDE * SIDE], out[3 * 2 * CLASSES];
  bsm_context *context = new_context(f, 1);
  check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
  /* Channels last, every second one, the last row first. */
  const int64_t strides[4] = {2 * 3 * SIDE * SIDE, 2, -2 * 3 * SIDE, 2 * 3};
  bsm_array in[2] = {f->inputs[0], f->inputs[1]};
  in[0].strides = strides;
  in[0].data = x + 2 * 3 * SIDE * (SIDE - 1);
  for (int64_t i = 0; i < 2 * 3 * SIDE * SIDE; i++) {
    const int64_t w = i % SIDE, h = i / SIDE % SIDE, c = i / SIDE / SIDE % 3;
    const int64_t n = i / SIDE / SIDE / 3;
    ((float *)in[0].data)[n * strides[0] + c * strides[1] + h * strides[2] +
                          w * strides[3]] = f->x[i];
  }
  const int64_t out_strides[2] = {1, 3};
  bsm_array outputs[2] = {f->outputs[0], f->outputs[1]};
  outputs[0].data = out;
  outputs[0].strides = out_strides;
  out[2] = 7;
  for (int turn = 0; turn < 2; turn++) {
    memset(f->index, 0, sizeof(f->index));
    check_status(bsm_context_run(context, in, 2, outputs, 2));
    for (int n = 0; n < 2; n++) {
      for (int k = 0; k < CLASSES; k++) {
        assert_true(out[n + 3 * k] == f->out[n * CLASSES + k]);
      }
    }
  }
  assert_true(out[2] == 7); /* between the elements */
  bsm_context_destroy(context);
}

static void test_same_bits_for_any_threads(void **state) {
  fixture *f = *state;
  float first[2 * CLASSES];
  for (int threads = 1; threads <= 4; threads++) {
    bsm_context *context = new_context(f, threads);
    check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
    if (threads == 1) memcpy(first, f->out, sizeof(first));
    assert_memory_equal(first, f->out, sizeof(first));
    bsm_context_destroy(context);
  }
}

/* ---- memory ---- */

static _Atomic long allocations;

static void *counting_alloc(void *user, size_t size, size_t alignment) {
  (void)user;
  atomic_fetch_add(&allocations, 1);
  return aligned_alloc(alignment < 16 ? 16 : alignment,
                       (size + alignment + 63) / 64 * 64);
}

static void counting_free(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

static void test_running_allocates_nothing(void **state) {
  fixture *f = *state;
  const bsm_allocator allocator = {counting_alloc, counting_free, NULL};
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  options.allocator = &allocator;
  check_status(bsm_context_create(f->engine, &options, &context));
  const long before = atomic_load(&allocations);
  assert_true(before > 0);
  for (int i = 0; i < 3; i++) {
    check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
  }
  assert_int_equal(atomic_load(&allocations), before);
  bsm_context_destroy(context);
}

static void test_own_workspace(void **state) {
  fixture *f = *state;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  check_status(bsm_engine_memory(f->engine, 1, &memory));
  assert_true(memory.weights > 0 && memory.workspace > 0);
  const size_t size = (size_t)(memory.workspace + memory.scratch) + 256;
  uint8_t *buffer = aligned_alloc(64, (size + 63) / 64 * 64);
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.workspace = buffer;
  options.workspace_size = size;
  check_status(bsm_context_create(f->engine, &options, &context));
  check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
  bsm_context_destroy(context);
  options.workspace_size = 1;
  bsm_status status = bsm_context_create(f->engine, &options, &context);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  bsm_status_free(status);
  assert_null(context);
  free(buffer);
}

static void test_profile(void **state) {
  fixture *f = *state;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.profile = true;
  check_status(bsm_context_create(f->engine, &options, &context));
  for (int i = 0; i < 2; i++) {
    check_status(bsm_context_run(context, f->inputs, 2, f->outputs, 2));
  }
  assert_int_equal(bsm_context_profile_count(context),
                   bsm_engine_step_count(f->engine));
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check_status(bsm_context_profile(context, i, &p));
    assert_int_equal(p.runs, 2);
    assert_true(strlen(p.kind) > 0 && strlen(p.tactic) > 0);
  }
  bsm_context_destroy(context);
}

/* ---- threads: contexts of one engine, each with its own thread ---- */

typedef struct worker {
  const fixture *f;
  bsm_thread_pool *pool;
  float out[2 * CLASSES];
} worker;

static void *work(void *arg) {
  worker *w = arg;
  int64_t index[2];
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  options.pool = w->pool;
  bsm_array outputs[2] = {w->f->outputs[0], w->f->outputs[1]};
  outputs[0].data = w->out;
  outputs[1].data = index;
  bsm_status status = bsm_context_create(w->f->engine, &options, &context);
  for (int i = 0; i < 20 && !status; i++) {
    status = bsm_context_run(context, w->f->inputs, 2, outputs, 2);
  }
  bsm_context_destroy(context);
  return status;
}

static void run_workers(const fixture *f, bsm_thread_pool *pool) {
  enum { WORKERS = 3 };
  static worker workers[WORKERS];
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.f = f, .pool = pool};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    void *status = NULL;
    assert_int_equal(pthread_join(threads[i], &status), 0);
    check_status(status);
    assert_memory_equal(workers[i].out, workers[0].out, sizeof(workers[0].out));
  }
}

static void run_one_by_one(void *user, int count,
                           void (*task)(void *arg, int index), void *arg) {
  (void)user;
  for (int i = count; i-- > 0;) task(arg, i);
}

static void test_contexts_in_threads(void **state) {
  run_workers(*state, NULL);
  bsm_thread_pool *pool = NULL;
  check_status(bsm_thread_pool_create(2, NULL, &pool));
  run_workers(*state, pool);
  bsm_thread_pool_destroy(pool);
  bsm_thread_pool_options options = BSM_THREAD_POOL_OPTIONS_INIT;
  options.threads = 3;
  options.run = run_one_by_one;
  check_status(bsm_thread_pool_create_with(&options, &pool));
  run_workers(*state, pool);
  bsm_thread_pool_destroy(pool);
}

static void test_missing_and_foreign_files(void **state) {
  (void)state;
  bsm_engine *engine = NULL;
  bsm_status status = bsm_engine_load("/no/such/engine.bsm", NULL, &engine);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  bsm_status_free(status);
  status = bsm_engine_load("/", NULL, &engine);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  bsm_status_free(status);
  status = bsm_engine_load_memory(ir_text, sizeof(ir_text), NULL, &engine);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  bsm_status_free(status);
  assert_null(engine);
}

/* ---- engines in streams and in memory ---- */

typedef struct received {
  uint8_t *data;
  size_t size, room;
  bool refuse;
} received;

static bsm_status receive(void *user, const void *data, size_t size) {
  received *r = user;
  if (r->refuse) return BSM_FAIL(BSM_IO, "the line is dead");
  assert_true(size > 0 && size <= r->room - r->size);
  memcpy(r->data + r->size, data, size);
  r->size += size;
  return BSM_OK;
}

/* A stream, memory and a file get the same bytes, and memory loads. */
static void test_saved_bytes(void **state) {
  fixture *f = *state;
  void *data = NULL;
  size_t size = 0;
  check_status(bsm_engine_save_memory(f->engine, NULL, &data, &size));
  assert_int_equal((uintptr_t)data % 64, 0);
  received r = {malloc(size), 0, size, false};
  assert_non_null(r.data);
  check_status(bsm_engine_save_stream(f->engine, receive, &r, NULL));
  assert_int_equal(r.size, size);
  assert_memory_equal(r.data, data, size);

  bsm_engine *loaded = NULL;
  bsm_context *own = new_context(f, 1), *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  check_status(bsm_engine_load_memory(data, size, NULL, &loaded));
  check_status(bsm_context_create(loaded, &options, &context));
  check_status(bsm_context_run_keep(own, f->inputs, 2));
  check_status(bsm_context_run_keep(context, f->inputs, 2));
  for (size_t i = 0; i < 2; i++) {
    bsm_array a, b;
    check_status(bsm_context_output(own, i, &a));
    check_status(bsm_context_output(context, i, &b));
    assert_memory_equal(a.data, b.data, i ? 16 : 2 * CLASSES * 4);
  }
  bsm_context_destroy(context);
  bsm_context_destroy(own);
  bsm_engine_destroy(loaded);
  free(r.data);
  bsm_bytes_free(data);
  bsm_bytes_free(NULL);
}

static void test_streams_that_refuse(void **state) {
  fixture *f = *state;
  received r = {.refuse = true};
  bsm_status status = bsm_engine_save_stream(f->engine, receive, &r, NULL);
  assert_int_equal(bsm_status_code(status), BSM_IO);
  assert_non_null(strstr(bsm_status_message(status), "the line is dead"));
  assert_non_null(
      strstr(bsm_status_message(status), "while writing the engine"));
  bsm_status_free(status);
}

static void assert_null_refused(bsm_status status) {
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_non_null(strstr(bsm_status_message(status), "is NULL"));
  bsm_status_free(status);
}

/* What a program does that goes on after a failure. */
static void test_null_arguments(void **state) {
  fixture *f = *state;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  assert_null_refused(bsm_engine_load(NULL, NULL, &engine));
  assert_null_refused(bsm_engine_load_memory(NULL, 64, NULL, &engine));
  assert_null_refused(bsm_engine_save(NULL, "x"));
  void *data = f;
  size_t size = 1;
  assert_null_refused(bsm_engine_save_stream(f->engine, NULL, NULL, NULL));
  assert_null_refused(bsm_engine_save_memory(NULL, NULL, &data, &size));
  assert_null(data);
  assert_int_equal(size, 0);
  assert_null_refused(bsm_engine_save_memory(f->engine, NULL, NULL, &size));
  assert_null_refused(bsm_engine_input(NULL, 0, &binding));
  assert_null_refused(bsm_engine_output(NULL, 0, &binding));
  assert_null_refused(bsm_engine_memory(NULL, 1, &memory));
  assert_null_refused(bsm_context_create(NULL, NULL, &context));
  assert_null_refused(bsm_context_run(NULL, f->inputs, 2, f->outputs, 2));
  context = new_context(f, 1);
  assert_null_refused(bsm_context_run(context, NULL, 2, f->outputs, 2));
  assert_null_refused(bsm_context_run(context, f->inputs, 2, NULL, 2));
  bsm_context_destroy(context);
}

/* Memory for outputs, told apart by its place. */
typedef struct given {
  _Alignas(64) unsigned char memory[2][256];
  size_t asked;
  bool refuse;
} given;

static void *give(void *user, size_t index, const char *name, bsm_dtype dtype,
                  const bsm_dims *dims, size_t bytes) {
  given *g = user;
  assert_true(index < 2);
  assert_string_equal(name, index ? "output_1" : "output_0");
  assert_int_equal(dtype, index ? BSM_DTYPE_INT64 : BSM_DTYPE_FLOAT);
  assert_int_equal(dims->d[0], 2);
  assert_int_equal(bytes, index ? 16 : 2 * CLASSES * 4);
  g->asked++;
  return g->refuse ? NULL : g->memory[index];
}

/* Kept outputs lie where the caller says, or in the context. */
static void test_kept_outputs(void **state) {
  fixture *f = *state;
  given g = {.asked = 0};
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *own = new_context(f, 1), *context = NULL;
  options.threads = 1;
  options.output_allocate = give;
  options.output_user = &g;
  check_status(bsm_context_create(f->engine, &options, &context));
  check_status(bsm_context_run(own, f->inputs, 2, f->outputs, 2));
  check_status(bsm_context_run_keep(own, f->inputs, 2));
  check_status(bsm_context_run_keep(context, f->inputs, 2));
  assert_int_equal(g.asked, 2);
  for (size_t i = 0; i < 2; i++) {
    bsm_array kept, there;
    const size_t bytes = i ? 16 : 2 * CLASSES * 4;
    check_status(bsm_context_output(own, i, &kept));
    check_status(bsm_context_output(context, i, &there));
    assert_ptr_equal(there.data, g.memory[i]);
    assert_memory_equal(there.data, f->outputs[i].data, bytes);
    assert_memory_equal(kept.data, f->outputs[i].data, bytes);
  }
  g.refuse = true;
  bsm_status status = bsm_context_run_keep(context, f->inputs, 2);
  assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_context_destroy(own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_bindings),
      TEST(test_runs),
      TEST(test_wrong_arguments),
      TEST(test_strided_arrays),
      TEST(test_null_arguments),
      TEST(test_same_bits_for_any_threads),
      TEST(test_running_allocates_nothing),
      TEST(test_own_workspace),
      TEST(test_profile),
      TEST(test_kept_outputs),
      TEST(test_saved_bytes),
      TEST(test_streams_that_refuse),
      TEST(test_contexts_in_threads),
      cmocka_unit_test(test_missing_and_foreign_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
