/* SPDX-License-Identifier: Apache-2.0 */
/* What fails on a GPU gives a status, and the process goes on: every call of
 * the driver in the life of an engine, memory that is full at whatever stage,
 * a device that is lost, a GPU that the engine has only PTX for; and tensors of
 * more than 2 GB do not fail. On the stand-in of the driver all of it; on a GPU
 * what can be brought about there, the loss of the device last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_internal.h"
#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "cuda/standin_cuda.h"
#include "runtime/engine/engine.h"

static struct {
  standin_reset_fn *reset; /* NULL: there is a GPU */
  standin_fail_fn *fail_call;
  standin_lose_fn *lose;
  standin_report_fn *report;
} standin;

static const size_t standin_memory = (size_t)1 << 30;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* ---- an engine, and its life ---- */

enum { SIDE = 256, MAX_LARGE = 4 };

/* Weights, which are constants, and memory between the steps. */
static const char model_text[] =
    "graph(%x : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %side : int = prim::Constant[value=256]()\n"
    "  %size : int[] = prim::ListConstruct(%side, %side)\n"
    "  %w : Tensor = aten::ones(%size, %none, %none, %none, %none)\n"
    "  %a : Tensor = aten::softmax(%x, %one, %none)\n"
    "  %b : Tensor = aten::matmul(%a, %w)\n"
    "  %c : Tensor = aten::softmax(%b, %one, %none)\n"
    "  %d : Tensor = aten::add(%c, %x, %one)\n"
    "  return (%d)\n";

static bsm_status compile(const char *text, const char *target,
                          const bsm_input_spec *specs, size_t count,
                          bsm_engine **out) {
  bsm_module *module = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.target = target;
  options.inputs = specs;
  options.input_count = count;
  options.no_timing = true;
  options.threads = 1;
  *out = NULL;
  bsm_status status =
      bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module);
  if (!status) status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

static bsm_status compile_model(const char *target, bsm_engine **out) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = 4;
  spec.min[1] = SIDE;
  return compile(model_text, target, &spec, 1, out);
}

static float x[4 * SIDE], y[4 * SIDE], want[4 * SIDE];

/* Several times, so that a graph is recorded and replayed. */
static bsm_status run_often(bsm_context *context) {
  const bsm_dims dims = {2, {4, SIDE}};
  const bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  for (int i = 0; i < 3; i++) {
    memset(y, 0xee, sizeof(y));
    BSM_TRY(bsm_context_run(context, &in, 1, &out, 1));
    if (memcmp(y, want, sizeof(y))) {
      return BSM_FAIL(BSM_INTERNAL, "other results than before");
    }
  }
  return BSM_OK;
}

/* How far a life came. */
typedef enum stage { COMPILED, LOADED, OPENED, RAN } stage;

static bsm_status run_engine(bsm_engine *engine, stage *at) {
  bsm_context *context = NULL;
  *at = LOADED;
  BSM_TRY(bsm_context_create(engine, NULL, &context));
  *at = OPENED;
  bsm_status status = run_often(context);
  if (!status) *at = RAN;
  bsm_context_destroy(context);
  return status;
}

static char engine_path[64];

static bsm_status load_and_run(stage *at) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *engine = NULL;
  options.trust_code = true;
  *at = COMPILED;
  BSM_TRY(bsm_engine_load(engine_path, &options, &engine));
  bsm_status status = run_engine(engine, at);
  bsm_engine_destroy(engine);
  return status;
}

static bsm_status compile_and_run(stage *at) {
  bsm_engine *engine = NULL;
  *at = COMPILED;
  bsm_status status = compile_model("cuda", &engine);
  if (!status) status = run_engine(engine, at);
  bsm_engine_destroy(engine);
  return status;
}

static void assert_lives(void) {
  stage at;
  check(load_and_run(&at));
  assert_int_equal(at, RAN);
}

static int make_engine(void **state) {
  bsm_engine *engine;
  bsm_context *context = NULL;
  const bsm_dims dims = {2, {4, SIDE}};
  const bsm_array in = {.data = x, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  bsm_array out = {.data = want, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  (void)state;
  for (int i = 0; i < 4 * SIDE; i++) x[i] = (float)(i * 7 % 31) / 31;
  snprintf(engine_path, sizeof(engine_path), "/tmp/gpu_failures_test.%ld",
           (long)getpid());
  check(compile_model("cuda", &engine));
  check(bsm_engine_save(engine, engine_path));
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, &in, 1, &out, 1));
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return 0;
}

static int remove_engine(void **state) {
  (void)state;
  return unlink(engine_path);
}

/* ---- every call of the driver ---- */

/* What is left, but for graphs whose own end was made to fail. */
static void assert_nothing_is_left(void) {
  standin_report r;
  bsm_cuda_let_go(-1);
  standin.report(&r);
  if (r.misuses) fail_msg("%s", r.last_misuse);
  assert_int_equal(r.contexts + r.modules + r.device_blocks + r.host_blocks, 0);
}

/* Releasing without a context is none when entering it was what failed: nobody
 * could make up for that. */
static void assert_no_misuse(const standin_report *r, uint64_t n) {
  if (!r->misuses || strstr(r->last_misuse, " without a context")) return;
  fail_msg("call %llu: %s", (unsigned long long)n, r->last_misuse);
}

typedef bsm_status life(stage *at);

/* A stand-in that begins anew knows nothing of a context that is kept. */
static void begin_anew(size_t memory) {
  bsm_cuda_let_go(-1);
  if (standin.reset) standin.reset(1, 13000, memory);
}

/* The n-th call of a life fails: for all n that it has. */
static void fail_each(life *live, int result, bool lose) {
  int failures = 0, survived = 0;
  for (uint64_t n = 1;; n++) {
    standin_report r;
    stage at;
    begin_anew(standin_memory);
    (lose ? standin.lose : standin.fail_call)(n, result);
    bsm_status status = live(&at);
    standin.report(&r);
    standin.fail_call(0, 0);
    if (r.calls < n) {
      check(status);
      break;
    }
    if (status) {
      failures++;
      assert_true(bsm_status_code(status) != BSM_INTERNAL);
      assert_true(strlen(bsm_status_message(status)) > 20);
    } else {
      survived++;
      assert_int_equal(at, RAN);
    }
    bsm_status_free(status);
    assert_no_misuse(&r, n);
  }
  print_message("%d calls failed the life of an engine, %d did not\n", failures,
                survived);
  assert_true(failures > 40);
  begin_anew(standin_memory);
  assert_lives();
  assert_nothing_is_left();
}

static void each_call_finds_no_memory(void **state) {
  (void)state;
  if (!standin.reset) skip();
  fail_each(load_and_run, BSM_CU_OUT_OF_MEMORY, false);
}

static void each_call_of_compiling_fails(void **state) {
  (void)state;
  if (!standin.reset) skip();
  fail_each(compile_and_run, BSM_CU_OPERATING_SYSTEM, false);
}

static void the_device_is_lost_at_each_call(void **state) {
  (void)state;
  if (!standin.reset) skip();
  fail_each(load_and_run, BSM_CU_ILLEGAL_ADDRESS, true);
  fail_each(load_and_run, BSM_CU_DEVICE_UNAVAILABLE, true);
}

/* ---- memory that is full ---- */

enum { MAX_BLOCKS = 4096 };

typedef struct hog {
  bsm_cuda_device *device;
  bsm_cu_address blocks[MAX_BLOCKS];
  size_t sizes[MAX_BLOCKS];
  int count;
} hog;

/* Takes all memory that the driver gives, in smaller and smaller blocks. */
static void take_all(hog *h) {
  for (size_t size = (size_t)1 << 30; size >= (size_t)64 << 10; size /= 2) {
    while (h->count < MAX_BLOCKS &&
           !h->device->driver.memory_allocate(&h->blocks[h->count], size)) {
      h->sizes[h->count++] = size;
    }
  }
}

/* Gives the last and smallest blocks back, of so many bytes or more. */
static void give_back(hog *h, size_t bytes) {
  for (size_t given = 0; given < bytes && h->count > 0;) {
    given += h->sizes[--h->count];
    assert_int_equal(h->device->driver.memory_free(h->blocks[h->count]), 0);
  }
}

/* With more and more memory a life gets further, and in the end through. */
static void full_memory_fails_each_stage(void **state) {
  static hog h;
  bsm_device *device;
  int failures[RAN + 1] = {0};
  stage at = COMPILED;
  (void)state;
  /* Of a size that leaves blocks of all sizes. */
  begin_anew((size_t)0x7ff << 16);
  check(bsm_cuda_device_ops.open(&(bsm_device_options){0}, &device));
  h = (hog){.device = bsm_cuda_device_of(device)};
  check(bsm_cuda_enter(h.device));
  take_all(&h);
  bsm_cuda_leave(h.device);
  for (int i = 0; at != RAN; i++) {
    bsm_status status = load_and_run(&at);
    if (status) {
      failures[at]++;
      if (bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
        fail_msg("%s", bsm_status_message(status));
      }
      assert_non_null(
          strstr(bsm_status_message(status), "the device's memory is full"));
      bsm_status_free(status);
      assert_true(h.count > 0);
    }
    check(bsm_cuda_enter(h.device));
    give_back(&h, standin.reset ? 1 : (size_t)1 << 20);
    bsm_cuda_leave(h.device);
  }
  print_message("without memory: %d loads, %d contexts, %d runs\n",
                failures[COMPILED], failures[LOADED], failures[OPENED]);
  assert_true(failures[COMPILED] + failures[LOADED] + failures[OPENED] > 0);
  check(bsm_cuda_enter(h.device));
  give_back(&h, SIZE_MAX);
  bsm_cuda_leave(h.device);
  device->ops->close(device);
  assert_lives();
  begin_anew(standin_memory);
}

/* ---- PTX ---- */

/* An engine for an earlier GPU, which this one runs by its PTX. */
static void runs_code_for_earlier_gpus(void **state) {
  bsm_engine *engine;
  stage at;
  (void)state;
  check(compile_model("cuda:sm_75", &engine));
  check(run_engine(engine, &at));
  bsm_engine_destroy(engine);
}

/* ---- large tensors ---- */

enum { COLUMNS = 1 << 20, LAST = 8 };

/* The end of each row, and of some rows: bytes, so that elements and bytes are
 * beyond what 32 bits count. */
static const char large_text[] =
    "graph(%x : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %from : int = prim::Constant[value=1048568]()\n"
    "  %end : int = prim::Constant[value=1048576]()\n"
    "  %ends : Tensor = aten::slice(%x, %one, %from, %end, %one)\n"
    "  %all : Tensor = aten::add(%ends, %one, %one)\n"
    "  %rows : Tensor = aten::index_select(%x, %zero, %i)\n"
    "  %some : Tensor = aten::slice(%rows, %one, %from, %end, %one)\n"
    "  return (%all, %some)\n";

static void check_large(const bsm_engine *engine, int64_t rows) {
  const bsm_device_ops *ops = engine->devices[BSM_SPACE_DEVICE]->ops;
  bsm_device *device = engine->devices[BSM_SPACE_DEVICE];
  const bsm_stream_options streaming = {.isa = BSM_ISA_DETECT};
  int64_t picked[3] = {rows - 1, 0, rows / 2 + 1};
  uint8_t *all = calloc((size_t)rows, LAST), some[3][LAST], given[LAST];
  bsm_context *context = NULL;
  bsm_stream *stream;
  void *large;
  assert_non_null(all);
  check(ops->allocate(device, NULL, (size_t)rows * COLUMNS, BSM_ALIGNMENT,
                      &large));
  check(ops->stream_create(device, &streaming, &stream));
  for (int64_t r = 0; r < rows; r++) {
    for (int k = 0; k < LAST; k++) given[k] = (uint8_t)(r * 7 + k);
    uint8_t *to = (uint8_t *)large + (r + 1) * COLUMNS - LAST;
    check(ops->upload(stream, to, given, LAST));
  }
  check(ops->synchronize(stream));
  const bsm_array in[2] = {
      {.data = large,
       .dtype = BSM_DTYPE_UINT8,
       .dims = {2, {rows, COLUMNS}},
       .space = BSM_SPACE_DEVICE},
      {.data = picked, .dtype = BSM_DTYPE_INT64, .dims = {1, {3}}}};
  bsm_array out[2] = {
      {.data = all, .dtype = BSM_DTYPE_UINT8, .dims = {2, {rows, LAST}}},
      {.data = some, .dtype = BSM_DTYPE_UINT8, .dims = {2, {3, LAST}}}};
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, in, 2, out, 2));
  for (int64_t r = 0; r < rows; r++) {
    for (int k = 0; k < LAST; k++) {
      assert_int_equal(all[r * LAST + k], (uint8_t)(r * 7 + k + 1));
    }
  }
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < LAST; k++) {
      assert_int_equal(some[i][k], (uint8_t)(picked[i] * 7 + k));
    }
  }
  bsm_context_destroy(context);
  ops->stream_destroy(stream);
  ops->release(device, NULL, large);
  free(all);
}

static void tensors_of_more_than_2_gb(void **state) {
  const int64_t rows = MAX_LARGE * 1024 + 100;
  bsm_input_spec specs[2] = {BSM_INPUT_SPEC_INIT, BSM_INPUT_SPEC_INIT};
  bsm_engine *engine;
  (void)state;
  begin_anew((size_t)8 << 30);
  specs[0].dtype = BSM_DTYPE_UINT8;
  specs[0].rank = 2;
  specs[0].min[0] = rows;
  specs[0].min[1] = COLUMNS;
  specs[1].dtype = BSM_DTYPE_INT64;
  specs[1].rank = 1;
  specs[1].min[0] = 3;
  check(compile(large_text, "cuda", specs, 2, &engine));
  check_large(engine, rows);
  bsm_engine_destroy(engine);
  begin_anew(standin_memory);
}

/* ---- a lost device ---- */

/* A kernel leaves its memory, as the caller has freed the array that it gives:
 * every later call fails too, and the process goes on. */
static void a_kernel_leaves_its_memory(void **state) {
  bsm_engine_load_options loading = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  const bsm_dims dims = {2, {4, SIDE}};
  const size_t bytes = (size_t)64 << 20; /* mapped for itself */
  bsm_cu_address freed;
  bsm_array out = {.data = y, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
  (void)state;
  loading.trust_code = true;
  check(bsm_engine_load(engine_path, &loading, &engine));
  check(bsm_context_create(engine, NULL, &context));
  bsm_cuda_device *d = bsm_cuda_device_of(engine->devices[BSM_SPACE_DEVICE]);
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.memory_allocate(&freed, bytes), 0);
  const bsm_array in = {.data = (void *)(uintptr_t)freed,
                        .dtype = BSM_DTYPE_FLOAT,
                        .dims = dims,
                        .space = BSM_SPACE_DEVICE};
  check(bsm_context_run(context, &in, 1, &out, 1));
  assert_int_equal(d->driver.memory_free(freed), 0);
  bsm_cuda_leave(d);
  for (int i = 0; i < 2; i++) {
    bsm_status status = bsm_context_run(context, &in, 1, &out, 1);
    assert_int_equal(bsm_status_code(status), BSM_DEVICE);
    print_message("%s\n", bsm_status_message(status));
    bsm_status_free(status);
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
}

static void find_standin(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return;
  void *f[] = {dlsym(library, "standin_reset"), dlsym(library, "standin_fail"),
               dlsym(library, "standin_lose"),
               dlsym(library, "standin_get_report")};
  memcpy(&standin.reset, &f[0], sizeof(f[0]));
  memcpy(&standin.fail_call, &f[1], sizeof(f[1]));
  memcpy(&standin.lose, &f[2], sizeof(f[2]));
  memcpy(&standin.report, &f[3], sizeof(f[3]));
  begin_anew(standin_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_finds_no_memory),
      cmocka_unit_test(each_call_of_compiling_fails),
      cmocka_unit_test(the_device_is_lost_at_each_call),
      cmocka_unit_test(runs_code_for_earlier_gpus),
      cmocka_unit_test(full_memory_fails_each_stage),
      cmocka_unit_test(tensors_of_more_than_2_gb),
      cmocka_unit_test(a_kernel_leaves_its_memory),
  };
  find_standin();
#ifndef BSM_HAS_EMULATION
  if (standin.reset) {
    print_message("skipped: no C++ compiler was found\n");
    return 0;
  }
#endif
  return cmocka_run_group_tests(tests, make_engine, remove_engine);
}
