/* SPDX-License-Identifier: Apache-2.0 */
/* What engines say beforehand of the GPU's memory is what they take of it, and
 * plans for shapes that range are graphs, which give the bits of their steps
 * one by one. On the stand-in of the driver, which counts both; on a GPU the
 * bits alone are compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "bessemer/bessemer.h"
#include "cuda/standin_cuda.h"
#include "runtime/engine/engine.h"

enum { SIDE = 64, MOST = 40 };

static struct {
  standin_reset_fn *reset; /* NULL: there is a GPU */
  standin_report_fn *report;
} standin;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static standin_report report(void) {
  standin_report r = {0};
  if (standin.report) standin.report(&r);
  return r;
}

/* Weights, and memory between steps that need scratch memory. */
static const char model_text[] =
    "graph(%x : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %side : int = prim::Constant[value=64]()\n"
    "  %size : int[] = prim::ListConstruct(%side, %side)\n"
    "  %w : Tensor = aten::ones(%size, %none, %none, %none, %none)\n"
    "  %a : Tensor = aten::softmax(%x, %one, %none)\n"
    "  %b : Tensor = aten::matmul(%a, %w)\n"
    "  %c : Tensor = aten::cumsum(%b, %one, %none)\n"
    "  %d : Tensor = aten::softmax(%c, %one, %none)\n"
    "  %e : Tensor = aten::add(%d, %x, %one)\n"
    "  return (%e)\n";

/* Of `least` to `most` rows. */
static bsm_engine *compile(int64_t least, int64_t most) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = least;
  spec.opt[0] = spec.max[0] = most;
  spec.min[1] = spec.opt[1] = spec.max[1] = SIDE;
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(model_text, strlen(model_text), "test.ir", NULL,
                               &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static void fill(float *x, int seed) {
  for (int i = 0; i < MOST * SIDE; i++) {
    x[i] = (float)((i * 7 + seed) % 31) / 31;
  }
}

static void run(bsm_context *context, int64_t rows, float *x, float *y) {
  const bsm_dims dims = {2, {rows, SIDE}};
  const bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  memset(y, 0xee, MOST * SIDE * sizeof(*y));
  check(bsm_context_run(context, &in, 1, &out, 1));
}

/* ---- memory ---- */

/* Blocks are a little larger than what is in them, and each array of the host
 * has a copy on the device. */
static void assert_takes(size_t before, uint64_t said, size_t copies) {
  const size_t taken = report().device_bytes - before;
  if (taken < said || taken > said + said / 4 + copies * 5 / 4 + 8 * 512) {
    fail_msg("%zu bytes were taken, %llu were said", taken,
             (unsigned long long)said);
  }
}

static void memory_is_known_beforehand(void **state) {
  static float x[MOST * SIDE], y[MOST * SIDE];
  bsm_engine_memory_info info = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_context *context = NULL;
  (void)state;
  if (!standin.reset) skip();
  fill(x, 1);
  const size_t empty = report().device_bytes;
  bsm_engine *engine = compile(MOST, MOST);
  check(bsm_engine_memory(engine, 1, &info));
  assert_true(info.device_weights >= SIDE * SIDE * sizeof(float));
  assert_true(info.workspace > 0);
  assert_takes(empty, info.device_weights, 0);
  const size_t loaded = report().device_bytes;
  check(bsm_context_create(engine, NULL, &context));
  run(context, MOST, x, y);
  assert_takes(loaded, info.workspace + info.scratch, sizeof(x) + sizeof(y));
  const size_t ran = report().device_bytes;
  for (int i = 0; i < 4; i++) run(context, MOST, x, y);
  assert_int_equal(report().device_bytes, ran);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  assert_int_equal(report().device_bytes, empty);
}

/* ---- the driver's context ---- */

static bsm_cu_context context_of(const bsm_engine *engine) {
  return bsm_cuda_device_of(engine->devices[BSM_SPACE_DEVICE])->context;
}

/* One after the other and beside each other; it stays when they have gone, and
 * is the one that other libraries of the process retain. */
static void engines_share_the_primary_context(void **state) {
  bsm_cuda_driver driver;
  bsm_cu_context theirs;
  (void)state;
  if (!standin.reset) skip();
  bsm_engine *first = compile(MOST, MOST);
  const bsm_cu_context ours = context_of(first);
  bsm_engine_destroy(first);
  assert_int_equal(report().contexts, 1);
  for (int i = 0; i < 3; i++) {
    bsm_engine *one = compile(MOST, MOST), *other = compile(MOST, MOST);
    assert_ptr_equal(context_of(one), ours);
    assert_ptr_equal(context_of(other), ours);
    bsm_engine_destroy(one);
    bsm_engine_destroy(other);
    assert_int_equal(report().contexts, 1);
    assert_int_equal(report().device_bytes, 0);
  }
  check(bsm_cuda_driver_open(NULL, &driver));
  assert_int_equal(driver.primary_context_retain(&theirs, 0), 0);
  assert_ptr_equal(theirs, ours);
  bsm_cuda_let_go(-1);
  assert_int_equal(report().contexts, 1);
  assert_int_equal(driver.primary_context_release(0), 0);
  assert_int_equal(report().contexts, 0);
  bsm_cuda_driver_close(&driver);
}

/* ---- graphs ---- */

/* Shapes in turns: that which the engine was built for, and others, whose plans
 * the context makes. From the second run on each is a graph. */
static void plans_of_ranging_shapes_are_graphs(void **state) {
  static const int64_t rows[] = {MOST, 3, 17, 1};
  enum { SHAPES = sizeof(rows) / sizeof(rows[0]) };
  static float x[MOST * SIDE], y[MOST * SIDE], want[MOST * SIDE];
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL, *plain = NULL;
  (void)state;
  bsm_engine *engine = compile(1, MOST);
  check(bsm_context_create(engine, &options, &context));
  options.no_graphs = true;
  check(bsm_context_create(engine, &options, &plain));
  for (int turn = 0; turn < 4; turn++) {
    for (int i = 0; i < SHAPES; i++) {
      fill(x, turn + i);
      run(plain, rows[i], x, want);
      run(context, rows[i], x, y);
      assert_memory_equal(y, want, sizeof(y));
    }
    if (!standin.reset) continue;
    if (turn == 0) assert_int_equal(report().executables, 0);
    if (turn > 1) assert_true(report().executables >= SHAPES);
  }
  bsm_context_destroy(plain);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void find_standin(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return;
  void *f[] = {dlsym(library, "standin_reset"),
               dlsym(library, "standin_get_report")};
  memcpy(&standin.reset, &f[0], sizeof(f[0]));
  memcpy(&standin.report, &f[1], sizeof(f[1]));
  if (standin.reset) standin.reset(1, 13000, (size_t)1 << 30);
}

static int nothing_is_left(void **state) {
  bsm_cuda_let_go(-1);
  const standin_report r = report();
  (void)state;
  if (r.misuses) print_error("%s\n", r.last_misuse);
  return r.misuses + r.contexts + r.streams + r.events + r.modules + r.graphs +
         r.executables + r.device_blocks + r.host_blocks;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(memory_is_known_beforehand, nothing_is_left),
      cmocka_unit_test_teardown(engines_share_the_primary_context,
                                nothing_is_left),
      cmocka_unit_test_teardown(plans_of_ranging_shapes_are_graphs,
                                nothing_is_left),
  };
  find_standin();
#ifndef BSM_HAS_EMULATION
  if (standin.reset) {
    print_message("skipped: no C++ compiler was found\n");
    return 0;
  }
#endif
  return cmocka_run_group_tests(tests, NULL, NULL);
}
