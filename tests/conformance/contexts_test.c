/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of an engine for a target, through the public API: arrays in the
 * memory of its device, runs that are not waited for, in streams of the caller,
 * in memory of the caller. What one run at a time on arrays of the host gives
 * is what all of them give, bit for bit. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/cuda/cuda_internal.h"
#include "bessemer/bessemer.h"
#include "cuda/standin_cuda.h"
#include "runtime/engine/engine.h"
#include "tests/conformance/conformance.h"
#include "tests/remote/remote.h"

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

/* ---- the stand-in of the driver, when that is what is opened ---- */

static struct {
  standin_reset_fn *reset;
  standin_mode_fn *mode;
  standin_report_fn *report;
  standin_fail_fn *fail_call;
  int lost_graphs; /* that could not be destroyed, as a test would have it */
} standin;

static void find_standin(void) {
  void *library =
      suite_is_for("cuda") ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
  if (!library) return;
  void *f[] = {dlsym(library, "standin_reset"), dlsym(library, "standin_mode"),
               dlsym(library, "standin_get_report"),
               dlsym(library, "standin_fail")};
  memcpy(&standin.reset, &f[0], sizeof(f[0]));
  memcpy(&standin.mode, &f[1], sizeof(f[1]));
  memcpy(&standin.report, &f[2], sizeof(f[2]));
  memcpy(&standin.fail_call, &f[3], sizeof(f[3]));
  if (standin.reset) standin.reset(2, 13000, (size_t)1 << 30);
}

/* Work is done as late as it may be. */
static void be_late(uint64_t delay) {
  if (standin.mode) standin.mode(delay, 0, 90);
}

/* Nothing was done wrong, and nothing is left. */
static int look_at_report(void) {
  standin_report r;
  if (!standin.report) return 0;
  bsm_cuda_let_go(-1);
  standin.report(&r);
  if (r.misuses) fprintf(stderr, "%s\n", r.last_misuse);
  fprintf(stderr,
          "left: %d contexts, %d streams, %d events, %d modules, %d graphs, %d "
          "executables, %d and %d blocks\n",
          r.contexts, r.streams, r.events, r.modules, r.graphs, r.executables,
          r.device_blocks, r.host_blocks);
  return r.misuses + r.contexts + r.streams + r.events + r.modules +
         (r.graphs - standin.lost_graphs) + r.executables + r.device_blocks +
         r.host_blocks;
}

/* ---- engines ---- */

/* Products, rows, elements, and indices that may be wrong. */
static const char model_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %q : Tensor = aten::relu(%p)\n"
    "  %v : Tensor = aten::softmax(%q, %one, %none)\n"
    "  %c : Tensor = aten::add(%v, %x, %one)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

/* The same in turns, of which data says how many: a program. */
static const char program_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %limit : float = prim::Constant[value=40.]()\n"
    "  %turns : int = prim::Constant[value=9]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %c : Tensor = prim::Loop(%turns, %true, %x)\n"
    "    block0(%k : int, %h : Tensor):\n"
    "      %p : Tensor = aten::matmul(%h, %w)\n"
    "      %q : Tensor = aten::relu(%p)\n"
    "      %v : Tensor = aten::softmax(%q, %one, %none)\n"
    "      %d : Tensor = aten::add(%v, %h, %one)\n"
    "      %s : Tensor = aten::sum(%d, %none)\n"
    "      %n : Scalar = aten::item(%s)\n"
    "      %go : bool = aten::lt(%n, %limit)\n"
    "      -> (%go, %d)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

/* A step between them that only the host runs. */
static const char host_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %v : Tensor = aten::softmax(%p, %one, %none)\n"
    "  %h : Tensor = aten::digamma(%v)\n"
    "  %q : Tensor = aten::matmul(%h, %w)\n"
    "  %c : Tensor = aten::softmax(%q, %one, %none)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

/* Three branches, whose results lie beside each other. */
static const char branches_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %first : int = prim::Constant[value=4]()\n"
    "  %end : int = prim::Constant[value=12]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %a : Tensor = aten::softmax(%p, %one, %none)\n"
    "  %d : Tensor = aten::cumsum(%a, %one, %none)\n"
    "  %b : Tensor = aten::cumsum(%p, %one, %none)\n"
    "  %e : Tensor = aten::softmax(%b, %one, %none)\n"
    "  %g : Tensor = aten::matmul(%p, %w)\n"
    "  %f : Tensor = aten::softmax(%g, %one, %none)\n"
    "  %all : Tensor[] = prim::ListConstruct(%d, %e, %f)\n"
    "  %t : Tensor = aten::cat(%all, %one)\n"
    "  %u : Tensor = aten::softmax(%t, %one, %none)\n"
    "  %c : Tensor = aten::slice(%u, %one, %first, %end, %one)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

enum { INPUTS = 3, OUTPUTS = 2 };
static const bsm_dims input_dims[INPUTS] = {{2, {4, 8}}, {2, {8, 8}}, {1, {3}}};
static const bsm_dims output_dims[OUTPUTS] = {{2, {4, 8}}, {2, {3, 8}}};
static const bsm_dtype input_dtypes[INPUTS] = {BSM_DTYPE_FLOAT, BSM_DTYPE_FLOAT,
                                               BSM_DTYPE_INT64};

static size_t bytes_of(const bsm_array *array) {
  size_t n = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) n *= (size_t)array->dims.d[i];
  return n;
}

static bsm_engine *compile(const char *target, const char *text) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[INPUTS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (int i = 0; i < INPUTS; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = input_dtypes[i];
    specs[i].rank = input_dims[i].rank;
    memcpy(specs[i].min, input_dims[i].d, sizeof(specs[i].min));
  }
  options.target = target;
  options.inputs = specs;
  options.input_count = INPUTS;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(text, strlen(text), "test.ir", NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

/* The engine of the target, and its device: of index `device` where the engine
 * was loaded from a file for that. */
static bsm_engine *the_engine;

static bsm_device *device_of(const bsm_engine *engine) {
  bsm_device *far = engine->devices[BSM_SPACE_DEVICE];
  return far ? far : engine->devices[BSM_SPACE_HOST];
}

static bsm_memory_space space_of(const bsm_engine *engine) {
  return bsm_engine_space(engine);
}

static bsm_context *open_context(const bsm_engine *engine, void *stream) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  options.threads = 1;
  options.stream = stream;
  check(bsm_context_create(engine, &options, &context));
  return context;
}

/* ---- arrays ---- */

/* The arrays of one run: on the host, and in the memory of the device. */
typedef struct arrays {
  const bsm_engine *engine;
  float x[32], w[64];
  int64_t i[3];
  float c[32], z[24];
  bsm_array in[INPUTS], out[OUTPUTS];
  bsm_array far_in[INPUTS], far_out[OUTPUTS];
} arrays;

static bsm_array array_of(void *data, bsm_dtype dtype, bsm_dims dims) {
  return (bsm_array){.data = data, .dtype = dtype, .dims = dims};
}

static bsm_array far_array(const bsm_engine *engine, const bsm_array *near) {
  bsm_device *device = device_of(engine);
  bsm_array far = *near;
  far.space = space_of(engine);
  far.device = engine->device_index;
  check(device->ops->allocate(device, NULL, bytes_of(near), BSM_ALIGNMENT,
                              &far.data));
  return far;
}

static void arrays_init(arrays *a, const bsm_engine *engine, int seed) {
  *a = (arrays){.engine = engine};
  for (int k = 0; k < 32; k++) a->x[k] = (float)((k * 37 + seed) % 23) / 23;
  for (int k = 0; k < 64; k++) a->w[k] = (float)((k * 17 + seed) % 13) / 13;
  for (int k = 0; k < 3; k++) a->i[k] = (k + seed) % 4;
  void *in[INPUTS] = {a->x, a->w, a->i}, *out[OUTPUTS] = {a->c, a->z};
  for (int k = 0; k < INPUTS; k++) {
    a->in[k] = array_of(in[k], input_dtypes[k], input_dims[k]);
    a->far_in[k] = far_array(engine, &a->in[k]);
  }
  for (int k = 0; k < OUTPUTS; k++) {
    a->out[k] = array_of(out[k], BSM_DTYPE_FLOAT, output_dims[k]);
    a->far_out[k] = far_array(engine, &a->out[k]);
  }
}

static void arrays_destroy(arrays *a) {
  bsm_device *device = device_of(a->engine);
  for (int k = 0; k < INPUTS; k++) {
    device->ops->release(device, NULL, a->far_in[k].data);
  }
  for (int k = 0; k < OUTPUTS; k++) {
    device->ops->release(device, NULL, a->far_out[k].data);
  }
}

/* Into a stream: to the device, and back. */
static void send(bsm_stream *stream, const arrays *a) {
  for (int k = 0; k < INPUTS; k++) {
    check(stream->device->ops->upload(stream, a->far_in[k].data, a->in[k].data,
                                      bytes_of(&a->in[k])));
  }
}

static void receive(bsm_stream *stream, const arrays *a) {
  for (int k = 0; k < OUTPUTS; k++) {
    check(stream->device->ops->download(
        stream, a->out[k].data, a->far_out[k].data, bytes_of(&a->out[k])));
  }
}

static bsm_stream *new_stream(const bsm_engine *engine) {
  const bsm_stream_options options = {.isa = BSM_ISA_DETECT};
  bsm_stream *stream;
  bsm_device *device = device_of(engine);
  check(device->ops->stream_create(device, &options, &stream));
  return stream;
}

static void synchronize(bsm_stream *stream) {
  check(stream->device->ops->synchronize(stream));
}

static void close_stream(bsm_stream *stream) {
  stream->device->ops->stream_destroy(stream);
}

/* What the arrays have to become, from a run on those of the host. */
static void assert_right(const arrays *a) {
  arrays want;
  arrays_init(&want, a->engine, 0);
  bsm_context *context = open_context(a->engine, NULL);
  memcpy(want.x, a->x, sizeof(a->x));
  memcpy(want.w, a->w, sizeof(a->w));
  memcpy(want.i, a->i, sizeof(a->i));
  check(bsm_context_run(context, want.in, INPUTS, want.out, OUTPUTS));
  assert_memory_equal(a->c, want.c, sizeof(a->c));
  assert_memory_equal(a->z, want.z, sizeof(a->z));
  bsm_context_destroy(context);
  arrays_destroy(&want);
}

/* ---- the tests ---- */

static void test_right(void **state) {
  (void)state;
  arrays a;
  float c[32];
  arrays_init(&a, the_engine, 3);
  bsm_context *context = open_context(the_engine, NULL);
  check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
  memcpy(c, a.c, sizeof(c));
  for (int i = 0; i < 3; i++) {
    assert_memory_equal(a.z + 8 * i, a.c + 8 * a.i[i], 8 * sizeof(float));
  }
  bsm_context_destroy(context);
  arrays_destroy(&a);
  bsm_engine *cpu = compile("cpu", model_text);
  arrays_init(&a, cpu, 3);
  context = open_context(cpu, NULL);
  check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
  for (int i = 0; i < 32; i++) assert_true(fabsf(a.c[i] - c[i]) < 1e-5f);
  bsm_context_destroy(context);
  arrays_destroy(&a);
  bsm_engine_destroy(cpu);
}

/* Arrays may be on either side, each of them. */
static void test_arrays_on_either_side(void **state) {
  (void)state;
  bsm_stream *stream = new_stream(the_engine);
  bsm_context *context = open_context(the_engine, NULL);
  for (int mask = 0; mask < 1 << (INPUTS + OUTPUTS); mask += 3) {
    arrays a;
    bsm_array in[INPUTS], out[OUTPUTS];
    arrays_init(&a, the_engine, mask);
    send(stream, &a);
    synchronize(stream);
    for (int k = 0; k < INPUTS; k++) {
      in[k] = mask >> k & 1 ? a.far_in[k] : a.in[k];
    }
    for (int k = 0; k < OUTPUTS; k++) {
      out[k] = mask >> (INPUTS + k) & 1 ? a.far_out[k] : a.out[k];
    }
    check(bsm_context_run(context, in, INPUTS, out, OUTPUTS));
    for (int k = 0; k < OUTPUTS; k++) {
      if (out[k].data == a.out[k].data) continue;
      check(stream->device->ops->download(stream, a.out[k].data, out[k].data,
                                          bytes_of(&out[k])));
    }
    synchronize(stream);
    assert_right(&a);
    arrays_destroy(&a);
  }
  bsm_context_destroy(context);
  close_stream(stream);
}

/* ---- loose arrays ---- */

/* Room for the elements of any of them, and where those of one are. */
enum { ROOM = 1 << 13 };
typedef struct spread {
  int64_t offset, strides[BSM_MAX_RANK];
} spread;

static size_t place_of(const spread *s, const bsm_dims *dims, int64_t k) {
  int64_t at = s->offset;
  for (int32_t i = dims->rank - 1; i >= 0; i--) {
    at += k % dims->d[i] * s->strides[i];
    k /= dims->d[i];
  }
  return (size_t)at;
}

static size_t count_of(const bsm_array *array) {
  return bytes_of(array) / bsm_dtype_size(array->dtype);
}

/* An array on the device whose elements are spread, of which `near` has the
 * values; the rest of its room is 0xee. */
static bsm_array spread_array(bsm_stream *stream, const bsm_array *near,
                              const spread *s) {
  const size_t element = bsm_dtype_size(near->dtype);
  uint8_t *room = malloc(ROOM);
  bsm_array far = *near;
  memset(room, 0xee, ROOM);
  for (size_t k = 0; k < count_of(near); k++) {
    memcpy(room + place_of(s, &near->dims, (int64_t)k) * element,
           (const uint8_t *)near->data + k * element, element);
  }
  const bsm_device_ops *ops = stream->device->ops;
  check(ops->allocate(stream->device, NULL, ROOM, BSM_ALIGNMENT, &far.data));
  check(ops->upload(stream, far.data, room, ROOM));
  synchronize(stream);
  free(room);
  far.data = (uint8_t *)far.data + (size_t)s->offset * element;
  far.strides = s->strides;
  far.space = ops->host_accessible ? BSM_SPACE_HOST : BSM_SPACE_DEVICE;
  return far;
}

/* Back to `near`; nothing else of its room was written. Releases it. */
static void gather_array(bsm_stream *stream, const bsm_array *far,
                         const spread *s, const bsm_array *near) {
  const bsm_device_ops *ops = stream->device->ops;
  const size_t element = bsm_dtype_size(near->dtype), n = count_of(near);
  uint8_t *room = malloc(ROOM);
  void *start = (uint8_t *)far->data - (size_t)s->offset * element;
  check(ops->download(stream, room, start, ROOM));
  synchronize(stream);
  for (size_t k = 0; k < n; k++) {
    uint8_t *at = room + place_of(s, &near->dims, (int64_t)k) * element;
    memcpy((uint8_t *)near->data + k * element, at, element);
  }
  for (size_t k = 0; k < n; k++) {
    memset(room + place_of(s, &near->dims, (int64_t)k) * element, 0xee,
           element);
  }
  for (size_t k = 0; k < ROOM; k++) assert_int_equal(room[k], 0xee);
  ops->release(stream->device, NULL, start);
  free(room);
}

/* Turned, in steps, repeated, between others, and not aligned. */
static const spread input_spreads[][INPUTS] = {
    {{0, {1, 4}}, {0, {16, 2}}, {0, {3}}},
    {{1, {8, 1}}, {3, {1, 9}}, {1, {1}}},
    {{2, {0, 1}}, {0, {8, 0}}, {0, {0}}},
    {{0, {11, 1}}, {0, {8, 1}}, {5, {2}}},
};
static const spread output_spreads[][OUTPUTS] = {
    {{0, {1, 4}}, {0, {1, 3}}},
    {{1, {8, 1}}, {2, {8, 1}}},
    {{0, {40, 3}}, {7, {2, 30}}},
    {{0, {8, 1}}, {0, {100, 1}}},
};

static void run_spread(const bsm_engine *engine, bsm_context *context,
                       bsm_stream *stream, const spread *in,
                       const spread *out) {
  arrays a;
  bsm_array far_in[INPUTS], far_out[OUTPUTS];
  arrays_init(&a, engine, 5);
  for (int k = 0; k < INPUTS; k++) {
    far_in[k] = spread_array(stream, &a.in[k], &in[k]);
  }
  for (int k = 0; k < OUTPUTS; k++) {
    far_out[k] = spread_array(stream, &a.out[k], &out[k]);
  }
  check(bsm_context_run(context, far_in, INPUTS, far_out, OUTPUTS));
  for (int k = 0; k < OUTPUTS; k++) {
    gather_array(stream, &far_out[k], &out[k], &a.out[k]);
  }
  for (int k = 0; k < INPUTS; k++) { /* of those that repeat, one is left */
    gather_array(stream, &far_in[k], &in[k], &a.in[k]);
  }
  assert_right(&a);
  arrays_destroy(&a);
}

static void test_loose_arrays(void **state) {
  (void)state;
  arrays a;
  bsm_engine *program = compile(fixture_device, program_text);
  bsm_engine *engines[2] = {the_engine, program};
  assert_non_null(program->plan->program);
  for (int e = 0; e < 2; e++) {
    bsm_stream *stream = new_stream(engines[e]);
    bsm_context *context = open_context(engines[e], NULL);
    for (int i = 0; i < 4; i++) {
      for (int turn = 0; turn < 2; turn++) {
        run_spread(engines[e], context, stream, input_spreads[i],
                   output_spreads[turn ? 3 - i : i]);
      }
    }
    if (fixture_ops()->host_accessible) { /* strides may be negative */
      bsm_context_destroy(context);
      close_stream(stream);
      continue;
    }
    arrays_init(&a, engines[e], 5);
    a.far_in[1].strides = (const int64_t[]){8, -1};
    expect(bsm_context_run(context, a.far_in, INPUTS, a.far_out, OUTPUTS),
           BSM_INVALID_ARGUMENT, "stride -1 of dimension 1 must be 1");
    arrays_destroy(&a);
    bsm_context_destroy(context);
    close_stream(stream);
  }
  bsm_engine_destroy(program);
}

/* Many runs, each with its own arrays, before anybody waits. */
static void test_many_runs(void **state) {
  (void)state;
  enum { RUNS = 12 };
  static arrays a[RUNS];
  bsm_stream *stream = new_stream(the_engine);
  bsm_context *context = open_context(the_engine, NULL);
  for (uint64_t delay = 0; delay < 4; delay++) {
    be_late(delay);
    for (int i = 0; i < RUNS; i++) {
      arrays_init(&a[i], the_engine, i);
      send(stream, &a[i]);
    }
    synchronize(stream);
    for (int i = 0; i < RUNS; i++) {
      const bool far = i % 3 > 0;
      check(bsm_context_enqueue(context, far ? a[i].far_in : a[i].in, INPUTS,
                                far ? a[i].far_out : a[i].out, OUTPUTS));
    }
    check(bsm_context_synchronize(context));
    for (int i = 0; i < RUNS; i++) {
      if (i % 3) receive(stream, &a[i]);
    }
    synchronize(stream);
    be_late(0);
    for (int i = 0; i < RUNS; i++) {
      assert_right(&a[i]);
      arrays_destroy(&a[i]);
    }
  }
  bsm_context_destroy(context);
  close_stream(stream);
}

/* The handle of a stream in the device's own API; NULL: it has none. */
static void *native_of(bsm_stream *stream) {
  if (suite_is_for("cuda")) return ((bsm_cuda_stream *)stream)->stream;
  return suite_is_for("remote") ? stream : NULL;
}

/* The caller's copies, the runs of two contexts, and copies again, in one
 * stream: nobody waits but at its end. */
static void test_callers_stream(void **state) {
  (void)state;
  bsm_stream *stream = new_stream(the_engine);
  if (!native_of(stream)) {
    close_stream(stream);
    skip();
  }
  bsm_context *one = open_context(the_engine, native_of(stream));
  bsm_context *other = open_context(the_engine, native_of(stream));
  for (uint64_t delay = 0; delay < 8; delay++) {
    arrays a, b;
    arrays_init(&a, the_engine, (int)delay);
    arrays_init(&b, the_engine, (int)delay + 9);
    be_late(delay);
    send(stream, &a);
    check(bsm_context_enqueue(one, a.far_in, INPUTS, a.far_out, OUTPUTS));
    /* The outputs of one are an input of the other. */
    bsm_array chained[INPUTS] = {a.far_out[0], b.far_in[1], b.far_in[2]};
    send(stream, &b);
    check(bsm_context_enqueue(other, chained, INPUTS, b.far_out, OUTPUTS));
    receive(stream, &a);
    receive(stream, &b);
    synchronize(stream);
    be_late(0);
    assert_right(&a);
    memcpy(b.x, a.c, sizeof(b.x));
    assert_right(&b);
    arrays_destroy(&a);
    arrays_destroy(&b);
  }
  check(bsm_context_synchronize(one));
  bsm_context_destroy(one);
  bsm_context_destroy(other);
  synchronize(stream); /* it is still there */
  close_stream(stream);
}

/* More than there is room for on the way, as late as it may come. */
static void test_large_transfers(void **state) {
  (void)state;
  const size_t bytes = ((size_t)18 << 20) + 77;
  bsm_stream *stream = new_stream(the_engine);
  const bsm_device_ops *ops = stream->device->ops;
  uint8_t *given = malloc(bytes), *got = calloc(bytes, 1);
  void *memory;
  assert_true(given && got);
  check(ops->allocate(stream->device, NULL, bytes, BSM_ALIGNMENT, &memory));
  for (uint64_t delay = 1; delay < 4; delay++) {
    for (size_t i = 0; i < bytes; i++) given[i] = (uint8_t)(i * 13 + delay);
    be_late(delay);
    check(ops->upload(stream, memory, given, bytes));
    check(ops->download(stream, got, memory, bytes));
    synchronize(stream);
    be_late(0);
    assert_memory_equal(got, given, bytes);
  }
  ops->release(stream->device, NULL, memory);
  close_stream(stream);
  free(given);
  free(got);
}

/* Nothing waits for arrays of the host either: outputs come when they are
 * waited for. Arrays in pinned memory are copied by the device itself. */
static void test_arrays_of_the_host(void **state) {
  (void)state;
  arrays a;
  if (!standin.reset) skip();
  arrays_init(&a, the_engine, 8);
  bsm_cuda_device *d = bsm_cuda_device_of(device_of(the_engine));
  bsm_context *context = open_context(the_engine, NULL);
  check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
  be_late(1);
  memset(a.c, 0xee, sizeof(a.c));
  check(bsm_context_enqueue(context, a.in, INPUTS, a.out, OUTPUTS));
  for (size_t i = 0; i < sizeof(a.c); i++) {
    assert_int_equal(((const uint8_t *)a.c)[i], 0xee);
  }
  check(bsm_context_synchronize(context));
  bsm_context_destroy(context);
  assert_right(&a);
  /* In a new context, that has no memory for transfers yet. */
  arrays *pinned;
  void *memory;
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.host_allocate(&memory, sizeof(*pinned), 0), 0);
  bsm_cuda_leave(d);
  pinned = memory;
  arrays_init(pinned, the_engine, 8);
  context = open_context(the_engine, NULL);
  standin_report before, after;
  standin.report(&before);
  check(bsm_context_enqueue(context, pinned->in, INPUTS, pinned->out, OUTPUTS));
  check(bsm_context_synchronize(context));
  standin.report(&after);
  assert_int_equal(after.host_blocks, before.host_blocks);
  be_late(0);
  assert_right(pinned);
  bsm_context_destroy(context);
  arrays_destroy(pinned);
  arrays_destroy(&a);
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.host_free(memory), 0);
  bsm_cuda_leave(d);
}

/* ---- recordings ---- */

static bsm_context *open_with(const bsm_context_options *options) {
  bsm_context *context = NULL;
  check(bsm_context_create(the_engine, options, &context));
  return context;
}

/* How often a recording was done again, or how many graphs there are. */
static int count_replays(void) {
  standin_report r = {0};
  if (standin.report) standin.report(&r);
  return suite_is_for("remote") ? remote_replays() : r.executables;
}

static bool has_recordings(void) {
  return fixture_ops()->record_begin &&
         (!suite_is_for("cuda") || standin.reset);
}

/* More sets of addresses than are remembered, in turns and each several times:
 * every run gives what it gives step by step. */
static void test_recordings(void **state) {
  (void)state;
  enum { SETS = 6 };
  arrays a[SETS];
  bsm_stream *stream = new_stream(the_engine);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  const int before = count_replays();
  for (uint64_t delay = 0; delay < 3; delay++) {
    bsm_context *context = open_with(&options);
    be_late(delay);
    for (int i = 0; i < SETS; i++) {
      arrays_init(&a[i], the_engine, 5 * i);
    }
    for (int turn = 0; turn < 5 * SETS; turn++) {
      const int i = turn / 5 ? turn % (1 + turn / 5) : 0;
      for (int k = 0; k < 32; k++) a[i].x[k] = (float)((k + turn) % 7) - 3;
      a[i].i[0] = turn % 4;
      send(stream, &a[i]);
      synchronize(stream);
      check(bsm_context_enqueue(context, a[i].far_in, INPUTS, a[i].far_out,
                                OUTPUTS));
      check(bsm_context_synchronize(context));
      receive(stream, &a[i]);
      synchronize(stream);
      assert_right(&a[i]);
    }
    be_late(0);
    if (has_recordings()) assert_true(count_replays() > before);
    bsm_context_destroy(context);
    for (int i = 0; i < SETS; i++) arrays_destroy(&a[i]);
  }
  close_stream(stream);
}

static void run_often(const bsm_context_options *options, arrays *a) {
  bsm_context *context = open_with(options);
  for (int i = 0; i < 4; i++) {
    check(bsm_context_run(context, a->in, INPUTS, a->out, OUTPUTS));
  }
  assert_right(a);
  bsm_context_destroy(context);
}

/* Arrays of the host are copied to and from the same memory each time, so they
 * are no hindrance; an option and profiles are. */
static void test_what_is_recorded(void **state) {
  (void)state;
  arrays a;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  arrays_init(&a, the_engine, 2);
  bsm_context *context = open_with(&options);
  for (int i = 0; i < 4; i++) {
    const int before = count_replays();
    check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
    if (i == 0 || !has_recordings()) {
      assert_int_equal(count_replays(), before);
    } else if (suite_is_for("remote") || i == 1) {
      assert_int_equal(count_replays(), before + 1);
    }
  }
  bsm_context_destroy(context);
  const int before = count_replays();
  options.no_graphs = true;
  run_often(&options, &a);
  options.no_graphs = false;
  options.profile = true;
  run_often(&options, &a);
  assert_int_equal(count_replays(), before);
  arrays_destroy(&a);
}

/* Before a step of the host and behind it steps are recorded apart, and the
 * results are those of all steps one by one. */
static void test_stretches(void **state) {
  (void)state;
  arrays a;
  float c[32], z[24];
  bsm_engine *engine = compile(fixture_device, host_text);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL, *plain = NULL;
  options.threads = 1;
  arrays_init(&a, engine, 3);
  check(bsm_context_create(engine, &options, &context));
  options.no_graphs = true;
  check(bsm_context_create(engine, &options, &plain));
  for (int i = 0; i < 6; i++) {
    for (int k = 0; k < 32; k++) a.x[k] = (float)((k * 11 + i) % 23) / 23;
    const int before = count_replays();
    check(bsm_context_run(plain, a.in, INPUTS, a.out, OUTPUTS));
    assert_int_equal(count_replays(), before);
    memcpy(c, a.c, sizeof(c));
    memcpy(z, a.z, sizeof(z));
    check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
    assert_memory_equal(a.c, c, sizeof(c));
    assert_memory_equal(a.z, z, sizeof(z));
    if (i == 0 || !has_recordings()) {
      assert_int_equal(count_replays(), before);
    } else if (suite_is_for("remote") || i == 1) {
      assert_int_equal(count_replays(), before + 2);
    }
  }
  bsm_context_destroy(plain);
  bsm_context_destroy(context);
  arrays_destroy(&a);
  bsm_engine_destroy(engine);
}

/* Branches run in any order, and give what they give one by one. */
static void test_branches(void **state) {
  (void)state;
  arrays a;
  float c[32], z[24];
  standin_report before = {0}, after = {0};
  bsm_engine *engine = compile(fixture_device, branches_text);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL, *plain = NULL;
  options.threads = 1;
  arrays_init(&a, engine, 3);
  check(bsm_context_create(engine, &options, &context));
  options.no_graphs = true;
  check(bsm_context_create(engine, &options, &plain));
  if (standin.report) standin.report(&before);
  for (uint64_t i = 0; i < 24; i++) {
    for (int k = 0; k < 32; k++) a.x[k] = (float)((k * 11 + (int)i) % 23) / 23;
    check(bsm_context_run(plain, a.in, INPUTS, a.out, OUTPUTS));
    memcpy(c, a.c, sizeof(c));
    memcpy(z, a.z, sizeof(z));
    if (standin.mode) standin.mode(0, i, 90);
    check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
    be_late(0);
    assert_memory_equal(a.c, c, sizeof(c));
    assert_memory_equal(a.z, z, sizeof(z));
  }
  /* Two of three branches begin, and one step ends all of them. */
  if (standin.report) {
    standin.report(&after);
    assert_int_equal(after.unchained - before.unchained, 3);
  }
  bsm_context_destroy(plain);
  bsm_context_destroy(context);
  arrays_destroy(&a);
  bsm_engine_destroy(engine);
}

/* What a recorded step finds wrong is told as always, and a device that does
 * not record runs step by step. */
static void test_failing_recordings(void **state) {
  (void)state;
  arrays a;
  bsm_context *context = open_context(the_engine, NULL);
  arrays_init(&a, the_engine, 2);
  for (int i = 0; i < 5; i++) {
    a.i[2] = i % 2 ? 0 : -9;
    bsm_status status = bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS);
    if (i % 2) {
      check(status);
      assert_right(&a);
    } else {
      assert_non_null(strstr(bsm_status_message(status), "while running step"));
      expect(status, BSM_OUT_OF_RANGE, "index -9 is out of range");
    }
  }
  bsm_context_destroy(context);
  if (suite_is_for("remote")) {
    const int before = remote_replays();
    remote_inject((remote_faults){.recording = 1});
    a.i[2] = 1;
    run_often(&(bsm_context_options)BSM_CONTEXT_OPTIONS_INIT, &a);
    assert_int_equal(remote_replays(), before);
    remote_inject((remote_faults){0});
  }
  arrays_destroy(&a);
}

/* Each call of the driver fails once: the run says so, or does without what
 * failed, and the next run is as if nothing had been. */
static void test_failing_calls(void **state) {
  (void)state;
  arrays a;
  if (!standin.fail_call) skip();
  arrays_init(&a, the_engine, 2);
  int failures = 0;
  for (uint64_t n = 1;; n++) {
    bsm_context *context = open_context(the_engine, NULL);
    standin_report before, after;
    bool failed = false;
    standin.report(&before);
    standin.fail_call(n, BSM_CU_OUT_OF_MEMORY);
    for (int i = 0; i < 3; i++) {
      bsm_status status =
          bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS);
      if (status) {
        expect(status, BSM_OUT_OF_MEMORY, "the device's memory is full");
        failures++;
        failed = true;
      }
    }
    standin.report(&after);
    standin.fail_call(0, 0);
    check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
    assert_right(&a);
    bsm_context_destroy(context);
    if (!failed && after.calls - before.calls < n) break;
  }
  assert_true(failures > 30);
  standin_report left;
  standin.report(&left);
  standin.lost_graphs = left.graphs;
  assert_true(left.graphs <= 1);
  arrays_destroy(&a);
}

/* ---- threads ---- */

enum { WORKERS = 16, TURNS = 8 };

typedef struct worker {
  arrays a;
  float c[32], z[24]; /* what has to come */
  int wrong;
  bsm_status status;
} worker;

/* Runs with arrays of the host and of the device in turns, two before each
 * wait, in a stream of its own or of the context. */
static bsm_status work_with(worker *w, bsm_stream *stream,
                            bsm_context *context) {
  const arrays *a = &w->a;
  for (int turn = 0; turn < TURNS; turn++) {
    memset(w->a.c, 0xee, sizeof(w->a.c));
    memset(w->a.z, 0xee, sizeof(w->a.z));
    send(stream, a);
    BSM_TRY(stream->device->ops->synchronize(stream));
    BSM_TRY(
        bsm_context_enqueue(context, a->far_in, INPUTS, a->far_out, OUTPUTS));
    BSM_TRY(bsm_context_enqueue(context, a->in, INPUTS,
                                turn % 2 ? a->far_out : a->out, OUTPUTS));
    BSM_TRY(bsm_context_synchronize(context));
    if (turn % 2) receive(stream, a);
    BSM_TRY(stream->device->ops->synchronize(stream));
    w->wrong += memcmp(a->c, w->c, sizeof(w->c)) != 0;
    w->wrong += memcmp(a->z, w->z, sizeof(w->z)) != 0;
  }
  return BSM_OK;
}

static void *work(void *arg) {
  worker *w = arg;
  bsm_stream *stream = new_stream(the_engine);
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  options.threads = 1;
  if (w->a.i[0] % 2) options.stream = native_of(stream);
  w->status = bsm_context_create(the_engine, &options, &context);
  if (!w->status) w->status = work_with(w, stream, context);
  bsm_context_destroy(context);
  close_stream(stream);
  return NULL;
}

/* Contexts of one engine, each in a thread and a stream of its own. */
static void test_threads(void **state) {
  (void)state;
  static worker workers[WORKERS];
  pthread_t threads[WORKERS];
  for (uint64_t delay = 0; delay < 3; delay++) {
    for (int i = 0; i < WORKERS; i++) {
      worker *w = &workers[i];
      *w = (worker){.wrong = 0};
      arrays_init(&w->a, the_engine, i);
      bsm_context *context = open_context(the_engine, NULL);
      check(bsm_context_run(context, w->a.in, INPUTS, w->a.out, OUTPUTS));
      memcpy(w->c, w->a.c, sizeof(w->c));
      memcpy(w->z, w->a.z, sizeof(w->z));
      bsm_context_destroy(context);
    }
    be_late(delay);
    for (int i = 0; i < WORKERS; i++) {
      assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
      assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    be_late(0);
    for (int i = 0; i < WORKERS; i++) {
      check(workers[i].status);
      assert_int_equal(workers[i].wrong, 0);
      arrays_destroy(&workers[i].a);
    }
  }
}

/* Steps are timed by the device. The stand-in's clock, which goes on by a
 * quarter of a millisecond with each record of an event, is not the host's. */
static void test_profile(void **state) {
  (void)state;
  enum { RUNS = 3 };
  arrays a;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.profile = true;
  arrays_init(&a, the_engine, 2);
  bsm_context *context = open_with(&options);
  for (int i = 0; i < RUNS; i++) {
    check(bsm_context_enqueue(context, a.in, INPUTS, a.out, OUTPUTS));
  }
  check(bsm_context_synchronize(context));
  assert_right(&a);
  const size_t count = bsm_context_profile_count(context);
  assert_true(count >= 3);
  for (size_t i = 0; i < count; i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    check(bsm_context_profile(context, i, &p));
    assert_int_equal(p.runs, RUNS);
    assert_true(p.least > 0 && p.seconds >= RUNS * p.least && p.seconds < 60);
    if (!standin.reset) continue;
    assert_true(fabs(p.least - 0.25e-3) < 1e-9);
    assert_true(fabs(p.seconds - RUNS * 0.25e-3) < 1e-9);
  }
  bsm_context_destroy(context);
  arrays_destroy(&a);
}

/* An index that is out of range is told of by whoever waits. */
static void test_bad_data(void **state) {
  (void)state;
  arrays good, bad;
  bsm_context *context = open_context(the_engine, NULL);
  arrays_init(&good, the_engine, 1);
  arrays_init(&bad, the_engine, 1);
  bad.i[1] = 4;
  for (uint64_t delay = 0; delay < 4; delay++) {
    be_late(delay);
    bsm_status now =
        bsm_context_enqueue(context, bad.in, INPUTS, bad.out, OUTPUTS);
    if (!suite_is_for("cpu")) {
      check(now);
      now = bsm_context_synchronize(context);
    }
    assert_non_null(strstr(bsm_status_message(now), "while running step"));
    expect(now, BSM_OUT_OF_RANGE, "index 4 is out of range");
    check(bsm_context_synchronize(context));
    check(bsm_context_run(context, good.in, INPUTS, good.out, OUTPUTS));
    be_late(0);
    assert_right(&good);
  }
  bsm_context_destroy(context);
  arrays_destroy(&good);
  arrays_destroy(&bad);
}

/* Who waits for the stream in another way learns of it from a later call. */
static void test_bad_data_is_seen_later(void **state) {
  (void)state;
  arrays good, bad;
  bsm_status status = BSM_OK;
  if (!fixture_ops()->look) skip();
  bsm_context *context = open_context(the_engine, NULL);
  arrays_init(&good, the_engine, 1);
  arrays_init(&bad, the_engine, 1);
  bad.i[1] = 4;
  check(bsm_context_enqueue(context, bad.in, INPUTS, bad.out, OUTPUTS));
  for (int i = 0; i < 5000 && !status; i++) {
    usleep(1000);
    status = bsm_context_enqueue(context, good.in, INPUTS, good.out, OUTPUTS);
  }
  expect(status, BSM_OUT_OF_RANGE, "index 4 is out of range");
  check(bsm_context_run(context, good.in, INPUTS, good.out, OUTPUTS));
  assert_right(&good);
  bsm_context_destroy(context);
  arrays_destroy(&good);
  arrays_destroy(&bad);
}

/* The caller's workspace has to be as large as the engine says. */
static void test_callers_workspace(void **state) {
  (void)state;
  bsm_engine_memory_info info = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_device *device = device_of(the_engine);
  bsm_context *context;
  arrays a;
  options.threads = 1;
  check(bsm_engine_memory(the_engine, 1, &info));
  const size_t bytes = (size_t)(info.workspace + info.scratch) + 64;
  void *memory;
  check(device->ops->allocate(device, NULL, bytes, 64, &memory));
  options.workspace = memory;
  options.workspace_size = bytes;
  check(bsm_context_create(the_engine, &options, &context));
  arrays_init(&a, the_engine, 4);
  check(bsm_context_run(context, a.in, INPUTS, a.out, OUTPUTS));
  assert_right(&a);
  bsm_context_destroy(context);
  if (info.workspace + info.scratch > 0) {
    options.workspace_size = (size_t)(info.workspace + info.scratch) - 1;
    expect(bsm_context_create(the_engine, &options, &context),
           BSM_INVALID_ARGUMENT, "the given workspace has");
  }
  options.workspace = (uint8_t *)memory + 8;
  options.workspace_size = bytes - 8;
  expect(bsm_context_create(the_engine, &options, &context),
         BSM_INVALID_ARGUMENT, "at a multiple of 64");
  device->ops->release(device, NULL, memory);
  arrays_destroy(&a);
}

/* The engine on the second device, where there is one. */
static void test_second_device(void **state) {
  (void)state;
  char path[64];
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *engine;
  arrays a;
  snprintf(path, sizeof(path), "/tmp/contexts_test.%ld", (long)getpid());
  check(bsm_engine_save(the_engine, path));
  options.device = 1;
  options.trust_code = true;
  bsm_status status = bsm_engine_load(path, &options, &engine);
  unlink(path);
  if (bsm_status_code(status) == BSM_NOT_FOUND && !standin.reset) {
    bsm_status_free(status);
    skip();
  }
  check(status);
  arrays_init(&a, engine, 6);
  assert_int_equal(a.far_in[0].device, 1);
  bsm_context *context = open_context(engine, NULL);
  bsm_stream *stream = new_stream(engine);
  send(stream, &a);
  synchronize(stream);
  check(bsm_context_run(context, a.far_in, INPUTS, a.far_out, OUTPUTS));
  receive(stream, &a);
  synchronize(stream);
  assert_right(&a);
  a.far_in[0].device = 0;
  expect(bsm_context_run(context, a.far_in, INPUTS, a.far_out, OUTPUTS),
         BSM_INVALID_ARGUMENT, "is on device 0");
  /* A stream of the first device will not do. */
  bsm_stream *first = new_stream(the_engine);
  bsm_context_options given = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *none;
  given.stream = native_of(first);
  expect(bsm_context_create(engine, &given, &none), BSM_INVALID_ARGUMENT,
         "of another device");
  close_stream(first);
  bsm_context_destroy(context);
  close_stream(stream);
  arrays_destroy(&a);
  bsm_engine_destroy(engine);
}

static int open_engine(void **state) {
  (void)state;
  the_engine = compile(fixture_device, model_text);
  return 0;
}

static int close_engine(void **state) {
  (void)state;
  bsm_engine_destroy(the_engine);
  return look_at_report();
}

int main(int argc, char **argv) {
  if (argc > 1) fixture_device = argv[1];
  find_standin();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right),
      cmocka_unit_test(test_arrays_on_either_side),
      cmocka_unit_test(test_loose_arrays),
      cmocka_unit_test(test_many_runs),
      cmocka_unit_test(test_callers_stream),
      cmocka_unit_test(test_large_transfers),
      cmocka_unit_test(test_arrays_of_the_host),
      cmocka_unit_test(test_recordings),
      cmocka_unit_test(test_what_is_recorded),
      cmocka_unit_test(test_stretches),
      cmocka_unit_test(test_branches),
      cmocka_unit_test(test_failing_recordings),
      cmocka_unit_test(test_failing_calls),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_bad_data),
      cmocka_unit_test(test_bad_data_is_seen_later),
      cmocka_unit_test(test_callers_workspace),
      cmocka_unit_test(test_second_device),
  };
  return cmocka_run_group_tests(tests, open_engine, close_engine);
}
