/* SPDX-License-Identifier: Apache-2.0 */
/* Several GPUs in one process: engines on each of them at once, what is said to
 * be on one and is on another, and one that is lost. On the stand-in of the
 * driver four devices, on a machine those that it has; with one GPU what
 * concerns that is tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_internal.h"
#include "bessemer/bessemer.h"
#include "cuda/standin_cuda.h"
#include "runtime/engine/engine.h"

enum { DEVICES = 4, ROWS = 64, SIDE = 128, COUNT = ROWS * SIDE };

static struct {
  standin_reset_fn *reset; /* NULL: there are GPUs */
  standin_report_fn *report;
} standin;

static int device_count, runs = 50;
static char engine_path[64];
static float x[COUNT], want[COUNT];
static const bsm_dims dims = {2, {ROWS, SIDE}};

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void expect(bsm_status status, bsm_code code, const char *piece) {
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), piece)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* ---- the engine ---- */

/* Weights, which each device has for itself, and memory between the steps. */
static const char model_text[] =
    "graph(%x : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %side : int = prim::Constant[value=128]()\n"
    "  %size : int[] = prim::ListConstruct(%side, %side)\n"
    "  %w : Tensor = aten::ones(%size, %none, %none, %none, %none)\n"
    "  %a : Tensor = aten::softmax(%x, %one, %none)\n"
    "  %b : Tensor = aten::matmul(%a, %w)\n"
    "  %c : Tensor = aten::add(%b, %x, %one)\n"
    "  %d : Tensor = aten::softmax(%c, %one, %none)\n"
    "  return (%d)\n";

static bsm_status load(int device, bsm_engine **out) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.device = device;
  options.trust_code = true;
  *out = NULL;
  return bsm_engine_load(engine_path, &options, out);
}

static bsm_array array_of(void *data) {
  return (bsm_array){.data = data, .dtype = BSM_DTYPE_FLOAT, .dims = dims};
}

static bsm_array far_array_of(void *data, int device) {
  bsm_array array = array_of(data);
  array.space = BSM_SPACE_DEVICE;
  array.device = device;
  return array;
}

static void *allocate(const bsm_engine *engine) {
  bsm_device *device = engine->devices[BSM_SPACE_DEVICE];
  void *memory;
  check(device->ops->allocate(device, NULL, sizeof(x), BSM_ALIGNMENT, &memory));
  return memory;
}

static void release(const bsm_engine *engine, void *memory) {
  bsm_device *device = engine->devices[BSM_SPACE_DEVICE];
  device->ops->release(device, NULL, memory);
}

/* Runs on arrays of the host: the bits that all devices give. */
static void assert_right(bsm_context *context) {
  static float y[COUNT];
  const bsm_array in = array_of(x);
  bsm_array out = array_of(y);
  for (int i = 0; i < 3; i++) {
    memset(y, 0xee, sizeof(y));
    check(bsm_context_run(context, &in, 1, &out, 1));
    assert_memory_equal(y, want, sizeof(y));
  }
}

static int make_engine(void **state) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bsm_array in = array_of(x);
  bsm_array out = array_of(want);
  (void)state;
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i * 7 % 31) / 31;
  snprintf(engine_path, sizeof(engine_path), "/tmp/gpu_devices_test.%ld",
           (long)getpid());
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.min[0] = ROWS;
  spec.min[1] = SIDE;
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(model_text, strlen(model_text), "test.ir", NULL,
                               &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
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

/* ---- all at once ---- */

typedef struct worker {
  pthread_t thread;
  const bsm_engine *engine;
  float y[COUNT];
  int wrong;
  bsm_status status;
} worker;

/* Two runs before each wait, with arrays of the host and of the device. */
static bsm_status work_with(worker *w, bsm_context *context, void *far_x,
                            void *far_y) {
  bsm_stream *stream;
  const bsm_stream_options options = {.isa = 0};
  bsm_device *device = w->engine->devices[BSM_SPACE_DEVICE];
  const int index = w->engine->device_index;
  const bsm_array in = array_of(x), far_in = far_array_of(far_x, index);
  bsm_array out = array_of(w->y), far_out = far_array_of(far_y, index);
  BSM_TRY(device->ops->stream_create(device, &options, &stream));
  bsm_status status = device->ops->upload(stream, far_x, x, sizeof(x));
  if (!status) status = device->ops->synchronize(stream);
  for (int i = 0; !status && i < runs; i++) {
    memset(w->y, 0xee, sizeof(w->y));
    status = bsm_context_enqueue(context, &far_in, 1, &far_out, 1);
    if (!status) status = bsm_context_enqueue(context, &in, 1, &out, 1);
    if (!status) status = bsm_context_synchronize(context);
    w->wrong += memcmp(w->y, want, sizeof(w->y)) != 0;
    memset(w->y, 0xee, sizeof(w->y));
    if (!status) {
      status = device->ops->download(stream, w->y, far_y, sizeof(w->y));
    }
    if (!status) status = device->ops->synchronize(stream);
    w->wrong += memcmp(w->y, want, sizeof(w->y)) != 0;
  }
  device->ops->stream_destroy(stream);
  return status;
}

static void *work(void *arg) {
  worker *w = arg;
  bsm_context *context = NULL;
  void *far_x = allocate(w->engine), *far_y = allocate(w->engine);
  w->status = bsm_context_create(w->engine, NULL, &context);
  if (!w->status) w->status = work_with(w, context, far_x, far_y);
  bsm_context_destroy(context);
  release(w->engine, far_x);
  release(w->engine, far_y);
  return NULL;
}

/* Two contexts on each device, each in a thread of its own. */
static void all_devices_at_once(void **state) {
  static worker workers[2 * DEVICES];
  bsm_engine *engines[DEVICES];
  (void)state;
  for (int i = 0; i < device_count; i++) {
    check(load(i, &engines[i]));
    assert_int_equal(engines[i]->device_index, i);
  }
  for (int i = 0; i < 2 * device_count; i++) {
    workers[i] = (worker){.engine = engines[i / 2]};
    assert_int_equal(
        pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 2 * device_count; i++) {
    assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    check(workers[i].status);
    assert_int_equal(workers[i].wrong, 0);
  }
  for (int i = 0; i < device_count; i++) bsm_engine_destroy(engines[i]);
  print_message("%d devices\n", device_count);
}

/* One thread that turns from device to device, all of them open. */
static void devices_in_turns(void **state) {
  bsm_engine *engines[DEVICES];
  bsm_context *contexts[DEVICES] = {NULL};
  (void)state;
  for (int i = 0; i < device_count; i++) {
    check(load(i, &engines[i]));
    check(bsm_context_create(engines[i], NULL, &contexts[i]));
  }
  for (int turn = 0; turn < 3; turn++) {
    for (int i = device_count; i-- > 0;) assert_right(contexts[i]);
  }
  for (int i = 0; i < device_count; i++) {
    bsm_context_destroy(contexts[i]);
    bsm_engine_destroy(engines[i]);
  }
}

static void devices_that_there_are_not(void **state) {
  bsm_engine *engine;
  (void)state;
  expect(load(device_count, &engine), BSM_NOT_FOUND, "there is no GPU");
  expect(load(-1, &engine), BSM_NOT_FOUND, "there is no GPU -1");
}

/* ---- memory that is elsewhere ---- */

/* Arrays of another device are refused, whatever index they have; the context
 * can be used again. */
static void memory_of_another_device(void **state) {
  bsm_engine *here, *there;
  bsm_context *context = NULL;
  static float y[COUNT];
  (void)state;
  if (device_count < 2) skip();
  check(load(device_count - 1, &here));
  check(load(0, &there));
  void *memory = allocate(there), *own = allocate(here);
  check(bsm_context_create(here, NULL, &context));
  bsm_array in = far_array_of(memory, 0), out = array_of(y);
  expect(bsm_context_run(context, &in, 1, &out, 1), BSM_INVALID_ARGUMENT,
         "is on device 0");
  in = far_array_of(memory, device_count - 1);
  expect(bsm_context_run(context, &in, 1, &out, 1), BSM_INVALID_ARGUMENT,
         "it is memory of GPU 0");
  in = array_of(x);
  out = far_array_of(memory, device_count - 1);
  expect(bsm_context_enqueue(context, &in, 1, &out, 1), BSM_INVALID_ARGUMENT,
         "it is memory of GPU 0");
  out = far_array_of(own, device_count - 1);
  check(bsm_context_run(context, &in, 1, &out, 1));
  assert_right(context);
  bsm_context_destroy(context);
  release(there, memory);
  release(here, own);
  bsm_engine_destroy(here);
  bsm_engine_destroy(there);
}

static int reaches_all_memory(bsm_cuda_device *d) {
  int yes = 0;
  assert_int_equal(
      d->driver.device_get_attribute(
          &yes, BSM_CU_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, d->device),
      0);
  return yes;
}

/* Of an array without elements the address tells nothing. */
static void nothing_anywhere(void **state) {
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %y : Tensor = aten::relu(%x)\n"
      "  return (%y)\n";
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  (void)state;
  spec.dtype = BSM_DTYPE_FLOAT;
  spec.rank = 2;
  spec.opt[0] = spec.max[0] = ROWS;
  spec.min[1] = spec.opt[1] = spec.max[1] = SIDE;
  options.target = "cuda";
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  check(bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  check(bsm_context_create(engine, NULL, &context));
  void *memory = allocate(engine);
  bsm_array in = far_array_of(memory, 0), out;
  check(bsm_context_run_keep(context, &in, 1));
  in.data = NULL;
  in.dims.d[0] = 0;
  check(bsm_context_run_keep(context, &in, 1));
  check(bsm_context_output(context, 0, &out));
  assert_int_equal(out.dims.d[0], 0);
  bsm_context_destroy(context);
  release(engine, memory);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

/* Memory of the host that is said to be the device's: pinned it will do. */
static void memory_of_the_host(void **state) {
  bsm_engine *engine;
  bsm_context *context = NULL;
  static float y[COUNT];
  void *pinned;
  (void)state;
  check(load(0, &engine));
  check(bsm_context_create(engine, NULL, &context));
  bsm_cuda_device *d = bsm_cuda_device_of(engine->devices[BSM_SPACE_DEVICE]);
  bsm_array in = far_array_of(x, 0), out = array_of(y);
  if (!reaches_all_memory(d)) {
    expect(bsm_context_run(context, &in, 1, &out, 1), BSM_INVALID_ARGUMENT,
           "it is not memory of a GPU");
  }
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.host_allocate(&pinned, sizeof(x),
                                           BSM_CU_HOST_ALLOC_PORTABLE |
                                               BSM_CU_HOST_ALLOC_DEVICE_MAP),
                   0);
  bsm_cuda_leave(d);
  memcpy(pinned, x, sizeof(x));
  in = far_array_of(pinned, 0);
  if (!standin.reset) { /* whose kernels do not see pinned memory */
    check(bsm_context_run(context, &in, 1, &out, 1));
    assert_memory_equal(y, want, sizeof(y));
  }
  assert_right(context);
  bsm_context_destroy(context);
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.host_free(pinned), 0);
  bsm_cuda_leave(d);
  bsm_engine_destroy(engine);
}

/* ---- a lost device ---- */

/* The driver takes a kernel that leaves its memory as a fault of the process:
 * every GPU of it may be lost then. On the stand-in it is the one. */
static void assert_right_or_lost(bsm_context *context) {
  static float y[COUNT];
  const bsm_array in = array_of(x);
  bsm_array out = array_of(y);
  if (standin.reset) {
    assert_right(context);
    return;
  }
  bsm_status status = bsm_context_run(context, &in, 1, &out, 1);
  if (!status) {
    assert_memory_equal(y, want, sizeof(y));
  } else if (bsm_status_code(status) != BSM_DEVICE) {
    fail_msg("%s", bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* The caller frees an array that runs still use: the last device is lost, and
 * says so at each call; engines on others go on or say the same. */
static void one_is_lost(void **state) {
  bsm_engine *engine, *other;
  bsm_context *context = NULL, *context_of_other = NULL;
  static float y[COUNT];
  const size_t bytes = (size_t)64 << 20; /* mapped for itself */
  bsm_cu_address freed;
  (void)state;
  if (device_count < 2) skip();
  check(load(device_count - 1, &engine));
  check(load(0, &other));
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_create(other, NULL, &context_of_other));
  bsm_cuda_device *d = bsm_cuda_device_of(engine->devices[BSM_SPACE_DEVICE]);
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.memory_allocate(&freed, bytes), 0);
  bsm_cuda_leave(d);
  const bsm_array in =
      far_array_of((void *)(uintptr_t)freed, engine->device_index);
  bsm_array out = array_of(y);
  check(bsm_context_run(context, &in, 1, &out, 1));
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.memory_free(freed), 0);
  bsm_cuda_leave(d);
  for (int i = 0; i < 3; i++) {
    bsm_status status = bsm_context_run(context, &in, 1, &out, 1);
    if (i == 0) print_message("%s\n", bsm_status_message(status));
    assert_int_equal(bsm_status_code(status), BSM_DEVICE);
    bsm_status_free(status);
    assert_right_or_lost(context_of_other);
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  assert_right_or_lost(context_of_other);
  bsm_context_destroy(context_of_other);
  bsm_engine_destroy(other);
}

/* ---- */

static void find_devices(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return;
  void *f[] = {dlsym(library, "standin_reset"),
               dlsym(library, "standin_get_report")};
  int sm;
  memcpy(&standin.reset, &f[0], sizeof(f[0]));
  memcpy(&standin.report, &f[1], sizeof(f[1]));
  if (standin.reset) {
    standin.reset(DEVICES, 13000, (size_t)1 << 30);
    runs = 3;
  }
  for (device_count = 0; device_count < DEVICES; device_count++) {
    bsm_status status = bsm_cuda_find_sm(device_count, &sm);
    bsm_status_free(status);
    if (status) break;
  }
}

static int nothing_is_left(void **state) {
  standin_report r;
  (void)state;
  if (!standin.reset) return 0;
  bsm_cuda_let_go(-1);
  standin.report(&r);
  if (r.misuses) print_error("%s\n", r.last_misuse);
  return r.misuses + r.contexts + r.streams + r.events + r.modules +
         r.device_blocks + r.host_blocks;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(all_devices_at_once, nothing_is_left),
      cmocka_unit_test_teardown(devices_in_turns, nothing_is_left),
      cmocka_unit_test_teardown(devices_that_there_are_not, nothing_is_left),
      cmocka_unit_test_teardown(memory_of_another_device, nothing_is_left),
      cmocka_unit_test_teardown(nothing_anywhere, nothing_is_left),
      cmocka_unit_test_teardown(memory_of_the_host, nothing_is_left),
      cmocka_unit_test(one_is_lost),
  };
  find_devices();
#ifndef BSM_HAS_EMULATION
  if (standin.reset) {
    print_message("skipped: no C++ compiler was found\n");
    return 0;
  }
#endif
  return cmocka_run_group_tests(tests, make_engine, remove_engine);
}
