/* SPDX-License-Identifier: Apache-2.0 */
/* Programs through the API: branches, loops, garbage, limits, messages, where
 * outputs go. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"

#define CONSTANTS                                           \
  "  %none : NoneType = prim::Constant()\n"                 \
  "  %zero : int = prim::Constant[value=0]()\n"             \
  "  %one : int = prim::Constant[value=1]()\n"              \
  "  %huge : int = prim::Constant[value=1000000000000]()\n" \
  "  %true : bool = prim::Constant[value=1]()\n"            \
  "  %half : float = prim::Constant[value=0.5]()\n"

/* x tanh'ed when it has more than n elements above 0, else halved. */
static const char branch_text[] = "graph(%x : Tensor):\n" CONSTANTS
                                  "  %n : Tensor = aten::nonzero(%x)\n"
                                  "  %r : int = aten::size(%n, %zero)\n"
                                  "  %c : bool = aten::gt(%r, %one)\n"
                                  "  %y : Tensor = prim::If(%c)\n"
                                  "    block0():\n"
                                  "      %a : Tensor = aten::tanh(%x)\n"
                                  "      -> (%a)\n"
                                  "    block1():\n"
                                  "      %b : Tensor = aten::mul(%x, %half)\n"
                                  "      -> (%b)\n"
                                  "  return (%y, %n)\n";

/* As many turns as the first number of x says. What lives through the garbage
 * of a turn: the input, a view of a carried tensor, a list that grows and holds
 * one tensor twice, a number. */
static const char loop_text[] =
    "graph(%x : Tensor):\n" CONSTANTS
    "  %f : Tensor = aten::select(%x, %zero, %zero)\n"
    "  %g : Tensor = aten::select(%f, %zero, %zero)\n"
    "  %n : int = aten::Int(%g)\n"
    "  %s : Tensor = aten::select(%x, %zero, %one)\n"
    "  %l : Tensor[] = prim::ListConstruct(%s, %s)\n"
    "  %t : Tensor, %v : Tensor = prim::Loop(%n, %true, %x, %s)\n"
    "    block0(%i : int, %u : Tensor, %w : Tensor):\n"
    "      %u1 : Tensor = aten::add(%u, %x, %one)\n"
    "      %w1 : Tensor = aten::select(%u1, %zero, %one)\n"
    "      %p : Tensor = aten::sum(%w1, %none)\n"
    "      %l1 : Tensor[] = aten::append(%l, %p)\n"
    "      -> (%true, %u1, %w1)\n"
    "  %k : int = aten::len(%l)\n"
    "  %kt : Tensor = prim::NumToTensor(%k)\n"
    "  %a : Tensor = aten::__getitem__(%l, %one)\n"
    "  return (%t, %v, %kt, %a)\n";

/* For ever. */
static const char endless_text[] = "graph(%x : Tensor):\n" CONSTANTS
                                   "  %g : Tensor = aten::sum(%x, %none)\n"
                                   "  %n : int = aten::Int(%g)\n"
                                   "  %m : int = aten::add(%n, %huge)\n"
                                   "  %v : int = prim::Loop(%m, %true, %zero)\n"
                                   "    block0(%i : int, %u : int):\n"
                                   "      %u1 : int = aten::add(%u, %i)\n"
                                   "      -> (%true, %u1)\n"
                                   "  %t : Tensor = prim::NumToTensor(%v)\n"
                                   "  return (%t)\n";

/* A list of all that was ever computed. */
static const char hoarder_text[] =
    "graph(%x : Tensor):\n" CONSTANTS
    "  %g : Tensor = aten::sum(%x, %none)\n"
    "  %n : int = aten::Int(%g)\n"
    "  %m : int = aten::add(%n, %huge)\n"
    "  %l : Tensor[] = prim::ListConstruct(%x)\n"
    "   = prim::Loop(%m, %true)\n"
    "    block0(%i : int):\n"
    "      %u1 : Tensor = aten::add(%x, %i, %one)\n"
    "      %l1 : Tensor[] = aten::append(%l, %u1)\n"
    "      -> (%true)\n"
    "  %t : Tensor = aten::stack(%l, %zero)\n"
    "  return (%t)\n";

/* One op that asks for too much. */
static const char greedy_text[] =
    "graph(%x : Tensor):\n" CONSTANTS
    "  %many : int = prim::Constant[value=50000000]()\n"
    "  %g : Tensor = aten::sum(%x, %none)\n"
    "  %n : int = aten::Int(%g)\n"
    "  %m : int = aten::add(%n, %many)\n"
    "  %l : int[] = prim::ListConstruct(%n)\n"
    "  %k : int[] = aten::mul(%l, %m)\n"
    "  %v : int = aten::len(%k)\n"
    "  %t : Tensor = prim::NumToTensor(%v)\n"
    "  return (%t)\n";

/* A product of x with weights of 1 KiB. */
static const char linear_text[] =
    "graph(%x : Tensor):\n" CONSTANTS
    "  %d : int[] = prim::Constant[value=[16, 16]]()\n"
    "  %w : Tensor = aten::full(%d, %half, %none, %none, %none, %none)\n"
    "  %y : Tensor = aten::linear(%x, %w, %none)\n"
    "  return (%y)\n";

/* Fails when the rows are not 3. */
static const char picky_text[] =
    "graph(%x : Tensor):\n" CONSTANTS
    "  %d : int[] = prim::Constant[value=[3, 4]]()\n"
    "  %w : Tensor = aten::ones(%d, %none, %none, %none, %none)\n"
    "  %n : Tensor = aten::nonzero(%x)\n"
    "  %y : Tensor = aten::index_select(%w, %zero, %n)\n"
    "  return (%y)\n";

/* ---- memory ---- */

typedef struct counter {
  bsm_allocator base;
  atomic_size_t live, peak, calls;
  size_t fail_at;
} counter;

enum { ROOM = 64 };

static void *count_allocate(void *user, size_t size, size_t alignment) {
  counter *c = user;
  assert_true(alignment <= ROOM);
  if (++c->calls == c->fail_at) return NULL;
  uint8_t *p = aligned_alloc(ROOM, (size + 2 * ROOM - 1) / ROOM * ROOM);
  if (!p) return NULL;
  memcpy(p, &size, sizeof(size));
  c->live += size;
  if (c->live > c->peak) c->peak = c->live;
  return p + ROOM;
}

static void count_free(void *user, void *p) {
  counter *c = user;
  size_t size;
  if (!p) return;
  memcpy(&size, (uint8_t *)p - ROOM, sizeof(size));
  c->live -= size;
  free((uint8_t *)p - ROOM);
}

static void counter_init(counter *c) {
  memset(c, 0, sizeof(*c));
  c->base = (bsm_allocator){count_allocate, count_free, c};
}

/* ---- kit ---- */

static void check_status(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static void expect(bsm_status status, bsm_code code, const char *text) {
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* For x of rows from `min` to `max`. */
static bsm_engine *compile(const char *text, int64_t min, int64_t max,
                           int64_t columns) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = spec.opt[0] = min;
  spec.max[0] = max;
  spec.min[1] = spec.opt[1] = spec.max[1] = columns;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  check_status(bsm_module_load_memory(text, strlen(text), "m", NULL, &module));
  check_status(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  char *dump = NULL;
  check_status(bsm_engine_dump(engine, &dump));
  assert_non_null(strstr(dump, "program:"));
  bsm_string_free(dump);
  return engine;
}

static bsm_context *new_context(const bsm_engine *engine, counter *memory,
                                uint64_t instructions, uint64_t bytes) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  options.threads = 1;
  options.allocator = memory ? &memory->base : NULL;
  options.max_instructions = instructions;
  options.max_run_bytes = bytes;
  check_status(bsm_context_create(engine, &options, &context));
  return context;
}

static bsm_array array_of(float *data, int64_t rows, int64_t columns) {
  return (bsm_array){data, BSM_DTYPE_FLOAT, {2, {rows, columns}}, NULL};
}

static bsm_array output(bsm_context *context, size_t index) {
  bsm_array out;
  check_status(bsm_context_output(context, index, &out));
  return out;
}

/* ---- running ---- */

static void both_branches(void **state) {
  (void)state;
  bsm_engine *engine = compile(branch_text, 1, 1, 4);
  bsm_context *context = new_context(engine, NULL, 0, 0);
  float x[4] = {0, 2, 0, 0};
  const bsm_array in = array_of(x, 1, 4);
  check_status(bsm_context_run_keep(context, &in, 1));
  assert_true(((float *)output(context, 0).data)[1] == 1.0f);
  assert_int_equal(output(context, 1).dims.d[0], 1);
  x[3] = 1;
  check_status(bsm_context_run_keep(context, &in, 1));
  assert_true(fabsf(((float *)output(context, 0).data)[3] - 0.76159416f) <
              1e-6f);
  const bsm_array n = output(context, 1);
  assert_int_equal(n.dims.d[0], 2);
  assert_int_equal(((int64_t *)n.data)[3], 3);
  /* The same into arrays of the caller's: of the dims that come out. */
  float y[4];
  int64_t places[4];
  bsm_array out[2] = {array_of(y, 1, 4),
                      {places, BSM_DTYPE_INT64, {2, {2, 2}}, NULL}};
  check_status(bsm_context_run(context, &in, 1, out, 2));
  assert_int_equal(places[3], 3);
  expect(bsm_context_output(context, 0, &out[0]), BSM_INVALID_ARGUMENT,
         "there are no outputs");
  x[3] = 0;
  expect(bsm_context_run(context, &in, 1, out, 2), BSM_INVALID_ARGUMENT,
         "output 1");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

enum { ROWS = 64, COLUMNS = 1024, TURNS = 2000 };

static void run_loop(bsm_context *context, float *x, int turns) {
  for (size_t i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 3);
  x[0] = (float)turns;
  const bsm_array in = array_of(x, ROWS, COLUMNS);
  check_status(bsm_context_run_keep(context, &in, 1));
  const float *sum = output(context, 0).data, *row = output(context, 1).data;
  for (size_t i = 0; i < ROWS * COLUMNS; i++) {
    assert_true(sum[i] == x[i] * (float)(turns + 1));
  }
  assert_memory_equal(row, sum + COLUMNS, COLUMNS * sizeof(float));
  assert_int_equal(*(int64_t *)output(context, 2).data, turns + 2);
  assert_memory_equal(output(context, 3).data, x + COLUMNS,
                      COLUMNS * sizeof(float));
}

/* 500 MB of garbage, of which at most some 64 are there at a time. */
static void garbage_of_a_loop(void **state) {
  (void)state;
  bsm_engine *engine = compile(loop_text, ROWS, ROWS, COLUMNS);
  counter memory;
  counter_init(&memory);
  bsm_context *context = new_context(engine, &memory, 0, 0);
  float *x = malloc(ROWS * COLUMNS * sizeof(*x));
  assert_non_null(x);
  run_loop(context, x, TURNS);
  assert_true(memory.peak > (32u << 20) && memory.peak < (100u << 20));
  run_loop(context, x, 0);
  for (int i = 0; i < 4; i++) run_loop(context, x, 3); /* makes its plans */
  const size_t live = memory.live;
  for (int i = 0; i < 1000; i++) run_loop(context, x, 3);
  assert_int_equal(memory.live, live);
  bsm_context_destroy(context);
  assert_int_equal(memory.live, 0);
  /* In little room, collected all the time: a few tensors are alive. */
  context = new_context(engine, &memory, 0, 3u << 20);
  run_loop(context, x, 200);
  bsm_context_destroy(context);
  free(x);
  bsm_engine_destroy(engine);
}

/* Without a loop, too. */
static void garbage_of_a_line(void **state) {
  (void)state;
  enum { OPS = 300 };
  char *text = malloc(OPS * 80 + 1000);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text,
                             "graph(%%x : Tensor):\n"
                             "  %%one : int = prim::Constant[value=1]()\n"
                             "  %%y0 : Tensor = aten::relu(%%x)\n");
  for (int i = 1; i < OPS; i++) {
    n += (size_t)sprintf(text + n,
                         "  %%y%d : Tensor = aten::add(%%y%d, %%x, %%one)\n", i,
                         i - 1);
  }
  sprintf(text + n, "  return (%%y%d)\n", OPS - 1);
  bsm_engine *engine = compile(text, 1, 256, 1024);
  free(text);
  counter memory;
  counter_init(&memory);
  bsm_context *context = new_context(engine, &memory, 0, 8u << 20);
  float *x = malloc(256 * 1024 * sizeof(*x));
  assert_non_null(x);
  for (int i = 0; i < 255 * 1024; i++) x[i] = (float)(i % 2);
  const bsm_array in = array_of(x, 255, 1024); /* no variant has these rows */
  check_status(bsm_context_run_keep(context, &in, 1));
  const float *y = output(context, 0).data;
  for (int i = 0; i < 255 * 1024; i++) assert_true(y[i] == OPS * x[i]);
  assert_true(memory.peak < (26u << 20));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  free(x);
}

static void limits(void **state) {
  (void)state;
  float x[16] = {0};
  const bsm_array in = array_of(x, 4, 4);
  bsm_engine *engine = compile(endless_text, 4, 4, 4);
  bsm_context *context = new_context(engine, NULL, 100000, 0);
  expect(bsm_context_run_keep(context, &in, 1), BSM_LIMIT, "max_instructions");
  bsm_array out;
  expect(bsm_context_output(context, 0, &out), BSM_INVALID_ARGUMENT,
         "has failed");
  x[0] = -1e12f; /* about no turns: the same context runs again */
  bsm_status status = bsm_context_run_keep(context, &in, 1);
  assert_true(!status || bsm_status_code(status) == BSM_LIMIT);
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  engine = compile(hoarder_text, 4, 4, 4);
  context = new_context(engine, NULL, 0, 1u << 20);
  x[0] = 0;
  expect(bsm_context_run_keep(context, &in, 1), BSM_LIMIT, "max_run_bytes");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void one_greedy_op(void **state) {
  (void)state;
  float x[16] = {0};
  const bsm_array in = array_of(x, 4, 4);
  bsm_engine *engine = compile(greedy_text, 4, 4, 4);
  counter memory;
  counter_init(&memory);
  bsm_context *context = new_context(engine, &memory, 0, 1u << 20);
  expect(bsm_context_run_keep(context, &in, 1), BSM_LIMIT, "max_run_bytes");
  assert_true(memory.peak < (80u << 20));
  x[0] = -49999000; /* the same context, when it asks for less */
  check_status(bsm_context_run_keep(context, &in, 1));
  assert_int_equal(*(int64_t *)output(context, 0).data, 1000);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void weights_are_counted_once(void **state) {
  (void)state;
  bsm_engine *engine = compile(linear_text, 1, 40, 16);
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  char *text = NULL;
  check_status(bsm_engine_memory(engine, 1, &memory));
  assert_true(memory.weights >= 1024 && memory.weights < 3 * 1024);
  check_status(bsm_engine_dump(engine, &text));
  const char *first = strstr(text, "matrix_multiply");
  assert_non_null(first); /* in a variant, and in another */
  assert_non_null(strstr(first + 1, "matrix_multiply"));
  bsm_string_free(text);
  bsm_engine_destroy(engine);
}

static void messages(void **state) {
  (void)state;
  float x[80] = {0};
  bsm_engine *engine = compile(picky_text, 1, 8, 4);
  bsm_context *context = new_context(engine, NULL, 0, 0);
  bsm_array in = array_of(x, 3, 4);
  x[4] = 1;
  expect(bsm_context_run_keep(context, &in, 1), BSM_OUT_OF_RANGE,
         "while running aten::index_select at m:11");
  in.dims.d[0] = 9;
  expect(bsm_context_run_keep(context, &in, 1), BSM_INVALID_ARGUMENT,
         "input 0 (x) has size 9 in dimension 0, the engine was built for 1 "
         "to 8");
  in.dims.d[0] = 3;
  in.dims.d[1] = 5;
  expect(bsm_context_run_keep(context, &in, 1), BSM_INVALID_ARGUMENT, "shape");
  bsm_dims min, opt, max;
  check_status(bsm_engine_input_range(engine, 0, &min, &opt, &max));
  assert_int_equal(min.d[0], 1);
  assert_int_equal(opt.d[0], 1);
  assert_int_equal(max.d[0], 8);
  assert_int_equal(max.d[1], 4);
  check_status(bsm_engine_input_range(engine, 0, NULL, NULL, NULL));
  expect(bsm_engine_input_range(engine, 1, &min, &opt, &max), BSM_OUT_OF_RANGE,
         "input 1");
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

/* ---- memory of the caller's ---- */

typedef struct giver {
  float *memory;
  size_t calls, bytes;
} giver;

static void *give(void *user, size_t index, const char *name, bsm_dtype dtype,
                  const bsm_dims *dims, size_t bytes) {
  giver *g = user;
  assert_int_equal(index, g->calls++ % 2);
  assert_true(strlen(name) > 0 && dims->rank == 2);
  if (index == 0) {
    assert_int_equal(dtype, BSM_DTYPE_FLOAT);
    g->bytes = bytes;
    return g->memory;
  }
  static int64_t places[64];
  return places;
}

static void memory_of_the_caller(void **state) {
  (void)state;
  bsm_engine *engine = compile(branch_text, 1, 6, 4);
  float x[24] = {1}, y[24];
  giver g = {y, 0, 0};
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  options.output_allocate = give;
  options.output_user = &g;
  options.profile = true;
  check_status(bsm_context_create(engine, &options, &context));
  for (int64_t rows = 1; rows <= 6; rows++) {
    const bsm_array in = array_of(x, rows, 4);
    memset(y, 0, sizeof y);
    check_status(bsm_context_run_keep(context, &in, 1));
    assert_int_equal(g.bytes, rows * 16);
    assert_ptr_equal(output(context, 0).data, y);
    assert_true(y[0] == 0.5f);
  }
  assert_int_equal(g.calls, 12);
  g.memory = NULL;
  const bsm_array in = array_of(x, 2, 4);
  expect(bsm_context_run_keep(context, &in, 1), BSM_OUT_OF_MEMORY, "output 0");
  bsm_step_profile profile = BSM_STEP_PROFILE_INIT;
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    check_status(bsm_context_profile(context, i, &profile));
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void memory_runs_out(void **state) {
  (void)state;
  bsm_engine *engine = compile(loop_text, 4, 4, 4);
  float x[16] = {3};
  const bsm_array in = array_of(x, 4, 4);
  size_t failures = 0;
  for (size_t n = 1;; n++) {
    counter memory;
    counter_init(&memory);
    memory.fail_at = n;
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.allocator = &memory.base;
    options.max_run_bytes = 4096; /* collects all the time */
    bsm_context *context = NULL;
    bsm_status status = bsm_context_create(engine, &options, &context);
    if (!status) status = bsm_context_run_keep(context, &in, 1);
    const bsm_code code = bsm_status_code(status);
    assert_true(!status || code == BSM_OUT_OF_MEMORY || code == BSM_LIMIT);
    failures += code == BSM_OUT_OF_MEMORY;
    bsm_status_free(status);
    bsm_context_destroy(context);
    assert_int_equal(memory.live, 0);
    if (memory.calls < n) break;
  }
  assert_true(failures > 5);
  bsm_engine_destroy(engine);
}

/* ---- threads ---- */

static void *run_in_thread(void *engine) {
  float *x = malloc(ROWS * COLUMNS * sizeof(*x));
  bsm_context *context = new_context(engine, NULL, 0, 4u << 20);
  for (int i = 0; i < 20; i++) run_loop(context, x, 10 + i);
  bsm_context_destroy(context);
  free(x);
  return NULL;
}

static void contexts_in_threads(void **state) {
  (void)state;
  bsm_engine *engine = compile(loop_text, ROWS, ROWS, COLUMNS);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_in_thread, engine), 0);
  (void)run_in_thread(engine);
  pthread_join(thread, NULL);
  bsm_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_branches),
      cmocka_unit_test(garbage_of_a_loop),
      cmocka_unit_test(garbage_of_a_line),
      cmocka_unit_test(limits),
      cmocka_unit_test(one_greedy_op),
      cmocka_unit_test(weights_are_counted_once),
      cmocka_unit_test(messages),
      cmocka_unit_test(memory_of_the_caller),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(contexts_in_threads),
  };
  return cmocka_run_group_tests_name("program_runner", tests, NULL, NULL);
}
