/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a plan of one step by hand and runs it on the device that is tested.
 *
 * Every tensor lives in a mapping of its own that ends at a page without
 * access, on the host and, where the device takes the host's memory, there too:
 * a read or write behind the last element stops the test. On the CPU a step is
 * run on every instruction set of the machine, with one and with two threads;
 * elsewhere twice. The results of both must have the same bits. */
#ifndef TESTS_CONFORMANCE_STEP_HARNESS_H_
#define TESTS_CONFORMANCE_STEP_HARNESS_H_

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "aten/tensor.h"
#include "base/isa.h"
#include "builder/target.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/kernel_families.h"
#include "tests/conformance/other_code.h"
#include "tests/conformance/wide_code.h"

#define HARNESS_TENSORS 20
#define HARNESS_UNUSED __attribute__((unused))

typedef struct guarded {
  uint8_t *map;
  size_t map_size;
  uint8_t *data; /* ends where the mapping's guard begins */
  size_t size, alignment;
} guarded;

typedef struct harness {
  bsm_plan plan;
  bsm_plan_tensor tensors[HARNESS_TENSORS];
  bsm_plan_step step;
  bsm_step_params params;
  bsm_plan_weights weights[BSM_STEP_MAX_WEIGHTS];
  guarded weight_data[BSM_STEP_MAX_WEIGHTS], data[HARNESS_TENSORS];
  uint32_t input_ids[HARNESS_TENSORS], output_ids[HARNESS_TENSORS];
  void *inputs[HARNESS_TENSORS], *outputs[HARNESS_TENSORS];
  bool bytes;     /* runs with instructions for products of bytes, too */
  int code;       /* of those of wide_code.h */
  bool same_bits; /* as with the code of the step's own */
  /* What was packed as the floats of weights[0]; NULL: nothing. */
  const float *unpacked;
  int64_t unpacked_maps;
  bool unpacked_transposed;
} harness;

static HARNESS_UNUSED guarded guard_alloc(size_t size, size_t alignment) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t body = (size + alignment + page - 1) / page * page;
  guarded g = {.size = size, .alignment = alignment, .map_size = body + page};
  g.map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(g.map != MAP_FAILED);
  assert_int_equal(mprotect(g.map + body, page, PROT_NONE), 0);
  g.data = g.map + (body - size) / alignment * alignment;
  return g;
}

static HARNESS_UNUSED void guard_free(guarded *g) {
  if (g->map) munmap(g->map, g->map_size);
  *g = (guarded){0};
}

/* ---- building ---- */

static HARNESS_UNUSED void harness_init(harness *h, bsm_step_kind kind) {
  memset(h, 0, sizeof(*h));
  h->plan.tensors = h->tensors;
  h->plan.steps = &h->step;
  h->plan.step_count = 1;
  h->plan.weights = h->weights;
  h->step.kind = kind;
  h->step.name = "step";
  h->step.tactic = "";
  h->step.params = &h->params;
  h->step.inputs = h->input_ids;
  h->step.outputs = h->output_ids;
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    h->step.weights[i] = BSM_NO_WEIGHTS;
  }
}

static HARNESS_UNUSED bsm_dims dims_of(int rank, ...) {
  bsm_dims d = {.rank = rank};
  va_list args;
  va_start(args, rank);
  for (int i = 0; i < rank; i++) d.d[i] = va_arg(args, int);
  va_end(args);
  return d;
}

/* The last of `strides` may be NULL: row-major. */
static HARNESS_UNUSED uint32_t add_tensor(harness *h, bsm_dtype dtype,
                                          bsm_dims dims, const int64_t *strides,
                                          bsm_memory_place place,
                                          uint32_t index) {
  const uint32_t id = h->plan.tensor_count++;
  assert_true(id < HARNESS_TENSORS);
  bsm_plan_tensor *t = &h->tensors[id];
  *t = (bsm_plan_tensor){.name = "t",
                         .dtype = dtype,
                         .dims = dims,
                         .place = place,
                         .index = index};
  if (strides) {
    memcpy(t->strides, strides, (size_t)dims.rank * sizeof(*strides));
  } else {
    bsm_contiguous_strides(dims, t->strides);
  }
  uint64_t extent;
  assert_true(bsm_plan_tensor_extent(t, &extent));
  h->data[id] = guard_alloc((size_t)extent, bsm_dtype_size(dtype));
  return id;
}

/* Returns the tensor's data. */
static HARNESS_UNUSED void *add_input(harness *h, bsm_dtype dtype,
                                      bsm_dims dims, const int64_t *strides) {
  const uint32_t index = h->step.input_count++;
  h->plan.input_count = h->step.input_count; /* addresses, no names */
  const uint32_t id =
      add_tensor(h, dtype, dims, strides, BSM_PLACE_INPUT, index);
  h->step.inputs[index] = id;
  h->inputs[index] = h->data[id].data;
  return h->data[id].data;
}

static HARNESS_UNUSED void *add_output(harness *h, bsm_dtype dtype,
                                       bsm_dims dims, const int64_t *strides) {
  const uint32_t index = h->step.output_count++;
  h->plan.output_count = h->step.output_count;
  const uint32_t id =
      add_tensor(h, dtype, dims, strides, BSM_PLACE_OUTPUT, index);
  h->step.outputs[index] = id;
  h->outputs[index] = h->data[id].data;
  return h->data[id].data;
}

static HARNESS_UNUSED void *add_weights(harness *h, int slot, size_t size) {
  const uint32_t id = h->plan.weights_count++;
  h->weight_data[id] = guard_alloc(size, slot % 2 == 0 ? BSM_ALIGNMENT : 4);
  h->weights[id] = (bsm_plan_weights){h->weight_data[id].data, size};
  h->step.weights[slot] = id;
  return h->weight_data[id].data;
}

/* Weights in slot `slot`, as the target packs those of `step`. */
static HARNESS_UNUSED void add_packed_for(harness *h, int slot,
                                          const bsm_plan_step *step,
                                          int64_t in_maps, const void *values,
                                          size_t element, bool transposed) {
  uint64_t size;
  const bsm_target *t = suite_target();
  assert_null(
      t->ops->pack(t, step, in_maps, values, element, transposed, NULL, &size));
  void *packed = add_weights(h, slot, (size_t)size);
  assert_null(t->ops->pack(t, step, in_maps, values, element, transposed,
                           packed, &size));
}

static HARNESS_UNUSED void add_packed(harness *h, int64_t in_maps,
                                      const float *values, bool transposed) {
  add_packed_for(h, 0, &h->step, in_maps, values, sizeof(*values), transposed);
  h->unpacked = values;
  h->unpacked_maps = in_maps;
  h->unpacked_transposed = transposed;
}

/* Sets the form of weights that the tactic of the step needs: before packing.
 */
static HARNESS_UNUSED void adopt_tactic(harness *h) {
  const bsm_target *t = suite_target();
  t->ops->adopt(t, &h->step, h->step.tactic, &h->params);
}

/* Whether the target has the tactic that the step names. */
static HARNESS_UNUSED bool has_tactic(const harness *h) {
  const bsm_target *t = suite_target();
  const char *names[BSM_MAX_TACTICS];
  const size_t count = t->ops->tactics(t, &h->plan, &h->step, names);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], h->step.tactic) == 0) return true;
  }
  return false;
}

static HARNESS_UNUSED void harness_free(harness *h) {
  for (int i = 0; i < HARNESS_TENSORS; i++) guard_free(&h->data[i]);
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) guard_free(&h->weight_data[i]);
}

/* ---- narrow dtypes ----
 *
 * What is float in a test can be half or bfloat16 for the device: a twin of the
 * step has tensors and weights of that dtype. Random numbers are then such that
 * all dtypes have them, and others are rounded in the step too, before it runs.
 * Results may be off by the rounding of what is stored. */

static HARNESS_UNUSED uint16_t narrow_of(float value) {
  return suite.dtype == BSM_DTYPE_HALF ? bsm_float_to_half(value)
                                       : bsm_float_to_bfloat16(value);
}

static HARNESS_UNUSED float wide_of(uint16_t narrow) {
  return suite.dtype == BSM_DTYPE_HALF ? bsm_half_to_float(narrow)
                                       : bsm_bfloat16_to_float(narrow);
}

static HARNESS_UNUSED guarded narrow_data(const guarded *wide,
                                          size_t alignment) {
  const guarded g = guard_alloc(wide->size / 2, alignment);
  float *from = (float *)wide->data;
  uint16_t *to = (uint16_t *)g.data;
  for (size_t i = 0; i < wide->size / 4; i++) {
    to[i] = narrow_of(from[i]);
    from[i] = wide_of(to[i]);
  }
  return g;
}

/* Where the twin has what the step has at an address: bindings may share. */
static HARNESS_UNUSED void *narrow_address(const harness *twin,
                                           const harness *h, const void *host) {
  for (uint32_t i = 0; host && i < h->plan.tensor_count; i++) {
    const guarded *g = &h->data[i];
    const size_t offset = (size_t)((const uint8_t *)host - g->data);
    if (g->map && (const uint8_t *)host >= g->data && offset <= g->size) {
      const bool is_float = h->tensors[i].dtype == BSM_DTYPE_FLOAT;
      return twin->data[i].data + (is_float ? offset / 2 : offset);
    }
  }
  return NULL;
}

static HARNESS_UNUSED size_t unpacked_count(const harness *h) {
  const bsm_step_convolution *c = &h->params.convolution;
  const bsm_step_matrix_multiply *m = &h->params.matrix_multiply;
  const int64_t *k = c->window.kernel;
  return (size_t)(h->step.kind == BSM_STEP_MATRIX_MULTIPLY
                      ? m->k * m->n
                      : c->out_maps * h->unpacked_maps / c->groups * k[0] *
                            k[1] * k[2]);
}

/* Packs the weights again where narrow ones have an order of their own. */
static HARNESS_UNUSED void narrow_packed(harness *twin) {
  const size_t count = unpacked_count(twin);
  const uint32_t id = twin->step.weights[0];
  uint16_t *narrow = malloc(count * sizeof(*narrow) + 1);
  assert_non_null(narrow);
  for (size_t i = 0; i < count; i++) narrow[i] = narrow_of(twin->unpacked[i]);
  const bsm_target *t = suite_target();
  uint64_t size;
  assert_null(t->ops->pack(t, &twin->step, twin->unpacked_maps, narrow,
                           sizeof(*narrow), twin->unpacked_transposed, NULL,
                           &size));
  guard_free(&twin->weight_data[id]);
  twin->weight_data[id] = guard_alloc((size_t)size, BSM_ALIGNMENT);
  twin->weights[id] = (bsm_plan_weights){twin->weight_data[id].data, size};
  assert_null(t->ops->pack(t, &twin->step, twin->unpacked_maps, narrow,
                           sizeof(*narrow), twin->unpacked_transposed,
                           twin->weight_data[id].data, &size));
  free(narrow);
}

/* A copy of a step of float in the dtype of the suite. */
static HARNESS_UNUSED void narrow_init(harness *twin, const harness *h) {
  *twin = *h;
  twin->plan.tensors = twin->tensors;
  twin->plan.steps = &twin->step;
  twin->plan.weights = twin->weights;
  twin->step.params = &twin->params;
  twin->step.inputs = twin->input_ids;
  twin->step.outputs = twin->output_ids;
  memset(twin->data, 0, sizeof(twin->data));
  memset(twin->weight_data, 0, sizeof(twin->weight_data));
  for (uint32_t i = 0; i < h->plan.tensor_count; i++) {
    bsm_plan_tensor *t = &twin->tensors[i];
    const guarded *own = &h->data[i];
    if (!own->map) continue;
    if (t->dtype == BSM_DTYPE_FLOAT) {
      t->dtype = suite.dtype;
      t->offset /= 2;
      twin->data[i] = narrow_data(own, 2);
    } else {
      twin->data[i] = guard_alloc(own->size, own->alignment);
      memcpy(twin->data[i].data, own->data, own->size);
    }
  }
  for (uint32_t i = 0; i < h->plan.weights_count; i++) {
    twin->weight_data[i] =
        narrow_data(&h->weight_data[i], h->weight_data[i].alignment);
    twin->weights[i] = (bsm_plan_weights){twin->weight_data[i].data,
                                          twin->weight_data[i].size};
  }
  if (h->unpacked && fixture_ops()->host_accessible) narrow_packed(twin);
  for (int k = 0; k < HARNESS_TENSORS; k++) {
    twin->inputs[k] = narrow_address(twin, h, h->inputs[k]);
    twin->outputs[k] = narrow_address(twin, h, h->outputs[k]);
  }
}

/* What the twin has written reaches the outputs of the step. */
static HARNESS_UNUSED void narrow_results(const harness *twin, harness *h) {
  for (uint32_t k = 0; k < h->step.output_count; k++) {
    const uint32_t id = h->step.outputs[k];
    float *to = (float *)h->data[id].data;
    const uint16_t *from = (const uint16_t *)twin->data[id].data;
    if (h->tensors[id].dtype != BSM_DTYPE_FLOAT) {
      memcpy(to, from, h->data[id].size);
      continue;
    }
    for (size_t i = 0; i < h->data[id].size / 4; i++) {
      if (from[i] != narrow_of(to[i])) to[i] = wide_of(from[i]);
    }
  }
}

/* ---- memory of the device ---- */

#define HARNESS_PIECES (HARNESS_TENSORS + BSM_STEP_MAX_WEIGHTS + 2)

/* Gives guarded memory to devices that take the host's. */
typedef struct guard_pool {
  bsm_allocator base;
  guarded pieces[HARNESS_PIECES];
} guard_pool;

static HARNESS_UNUSED void *guard_pool_alloc(void *user, size_t size,
                                             size_t alignment) {
  guard_pool *pool = user;
  for (int i = 0; i < HARNESS_PIECES; i++) {
    if (pool->pieces[i].map) continue;
    pool->pieces[i] = guard_alloc(size, alignment);
    return pool->pieces[i].data;
  }
  fail_msg("more memory than one step needs");
  return NULL;
}

static HARNESS_UNUSED void guard_pool_free(void *user, void *memory) {
  guard_pool *pool = user;
  for (int i = 0; i < HARNESS_PIECES; i++) {
    if (memory && pool->pieces[i].data == memory) {
      guard_free(&pool->pieces[i]);
      return;
    }
  }
  assert_null(memory);
}

/* One run of a step: its device's memory, with a copy there of every tensor and
 * of the weights. */
typedef struct device_run {
  const bsm_device_ops *ops;
  bsm_stream *stream;
  guard_pool pool;
  struct {
    const guarded *host;
    uint8_t *device;
  } tensors[HARNESS_TENSORS];
  int tensor_count;
  void *inputs[HARNESS_TENSORS], *outputs[HARNESS_TENSORS];
  const void *weights[BSM_STEP_MAX_WEIGHTS];
  uint8_t *scratch, *scratch_fill;
  bsm_arena code_arena;
  bsm_code_image *code;
} device_run;

static HARNESS_UNUSED void *device_new(device_run *r, const void *from,
                                       size_t size, size_t alignment) {
  void *memory;
  assert_null(r->ops->allocate(r->stream->device, &r->pool.base, size,
                               alignment, &memory));
  assert_null(r->ops->upload(r->stream, memory, from, size));
  return memory;
}

/* Tensors that share memory on the host share it on the device. */
static HARNESS_UNUSED void upload_tensors(device_run *r, const harness *h) {
  for (uint32_t i = 0; i < h->plan.tensor_count; i++) {
    const guarded *g = &h->data[i];
    bool known = !g->map;
    for (int k = 0; k < r->tensor_count; k++) {
      known = known || r->tensors[k].host->data == g->data;
    }
    if (known) continue;
    r->tensors[r->tensor_count].host = g;
    r->tensors[r->tensor_count++].device =
        device_new(r, g->data, g->size, g->alignment);
  }
  for (uint32_t i = 0; i < h->plan.weights_count; i++) {
    const bsm_plan_weights *w = &h->weights[i];
    if (!r->ops->host_accessible) {
      r->weights[i] = device_new(r, w->data, (size_t)w->size, BSM_ALIGNMENT);
    }
  }
}

/* Where the device has what is at `host`. */
static HARNESS_UNUSED void *address_on_device(const device_run *r,
                                              const void *host) {
  if (!host) return NULL;
  for (int i = 0; i < r->tensor_count; i++) {
    const guarded *g = r->tensors[i].host;
    const size_t offset = (size_t)((const uint8_t *)host - g->data);
    if ((const uint8_t *)host >= g->data && offset <= g->size) {
      return r->tensors[i].device + offset;
    }
  }
  fail_msg("a binding outside of the tensors");
  return NULL;
}

/* The code of the step, of devices that need some. */
static HARNESS_UNUSED bsm_code_image *make_code(bsm_device *device,
                                                const harness *h,
                                                bsm_arena *arena) {
  const bsm_target *t = suite_target();
  bsm_plan *plan = BSM_NEW(arena, bsm_plan);
  bsm_plan_step *step = BSM_NEW(arena, bsm_plan_step);
  bsm_code_image *code = NULL;
  assert_true(plan && step);
  if (!t->ops->add_code) return NULL;
  *plan = h->plan;
  *step = h->step;
  plan->steps = step;
  step->space = BSM_SPACE_DEVICE;
  const bsm_plan *with_code;
  bsm_status status = other_code(plan, arena);
  if (!status) status = wide_code(t, h->code, plan, arena, &with_code);
  if (!status) status = device->ops->code_load(device, with_code, &code);
  if (status) fail_msg("%s", bsm_status_message(status));
  return code;
}

static HARNESS_UNUSED void device_run_open(device_run *r, const harness *h,
                                           const bsm_stream_options *options) {
  *r = (device_run){.ops = fixture_ops(),
                    .pool.base = {guard_pool_alloc, guard_pool_free, NULL}};
  r->pool.base.user = &r->pool;
  bsm_device *device = fixture_open();
  bsm_stream_options with_code = *options;
  bsm_arena_init(&r->code_arena, NULL);
  with_code.code = r->code = make_code(device, h, &r->code_arena);
  assert_null(r->ops->stream_create(device, &with_code, &r->stream));
  upload_tensors(r, h);
  for (int i = 0; i < HARNESS_TENSORS; i++) {
    r->inputs[i] = address_on_device(r, h->inputs[i]);
    r->outputs[i] = address_on_device(r, h->outputs[i]);
  }
}

/* Scratch memory full of what no step may rely on. */
static HARNESS_UNUSED void device_run_scratch(device_run *r, size_t size) {
  r->scratch_fill = malloc(size + 1);
  assert_non_null(r->scratch_fill);
  memset(r->scratch_fill, 0xa5, size);
  r->scratch = device_new(r, r->scratch_fill, size, BSM_ALIGNMENT);
}

/* Brings the outputs back, as they are. */
static HARNESS_UNUSED void device_run_results(device_run *r, const harness *h) {
  for (uint32_t k = 0; k < h->step.output_count; k++) {
    const guarded *g = &h->data[h->step.outputs[k]];
    assert_null(r->ops->download(r->stream, g->data,
                                 address_on_device(r, g->data), g->size));
  }
  assert_null(r->ops->synchronize(r->stream));
}

static HARNESS_UNUSED void device_run_close(device_run *r) {
  bsm_device *device = r->stream->device;
  for (int i = 0; i < r->tensor_count; i++) {
    r->ops->release(device, &r->pool.base, r->tensors[i].device);
  }
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    void *weights = (void *)(uintptr_t)r->weights[i];
    r->ops->release(device, &r->pool.base, weights);
  }
  r->ops->release(device, &r->pool.base, r->scratch);
  r->ops->stream_destroy(r->stream);
  if (r->code) r->ops->code_unload(r->code);
  r->ops->close(device);
  bsm_arena_destroy(&r->code_arena);
  free(r->scratch_fill);
}

/* ---- running ---- */

static HARNESS_UNUSED bsm_status harness_check(const harness *h) {
  return fixture_ops()->check(&h->plan, &h->step);
}

/* Prepares and runs what was checked. */
static HARNESS_UNUSED bsm_status
harness_run_once(harness *h, const bsm_stream_options *options) {
  device_run r;
  bsm_prepared_step prepared;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  device_run_open(&r, h, options);
  const void *const *weights = r.ops->host_accessible ? NULL : r.weights;
  bsm_status st = r.ops->synchronize(r.stream);
  if (!st) {
    st = r.ops->prepare(r.stream, &h->plan, &h->step, weights, &arena,
                        &prepared);
  }
  if (!st) {
    device_run_scratch(&r, prepared.scratch_size);
    const bsm_run run = {.stream = r.stream,
                         .inputs = r.inputs,
                         .outputs = r.outputs,
                         .weights = weights,
                         .scratch = r.scratch};
    assert_non_null(r.ops->describe(&prepared));
    st = prepared.enqueue(&prepared, &run);
    bsm_status late = r.ops->synchronize(r.stream);
    if (st) bsm_status_free(late);
    if (!st) st = late;
    device_run_results(&r, h);
    if (r.ops->discard) r.ops->discard(&prepared);
  }
  device_run_close(&r);
  bsm_arena_destroy(&arena);
  return st;
}

/* Runs what is its own twin, or the twin of a step. */
static HARNESS_UNUSED bsm_status harness_run_checked(
    harness *h, harness *twin, const bsm_stream_options *options) {
  h->same_bits =
      !h->code || wide_code_is_same(&twin->plan, &twin->step, h->code);
  bsm_status status = harness_run_once(twin, options);
  if (!status && twin != h) narrow_results(twin, h);
  return status;
}

/* Runs once. The caller frees the status; BSM_UNSUPPORTED is counted. */
static HARNESS_UNUSED bsm_status harness_run(harness *h, uint32_t isa,
                                             int threads) {
  bsm_stream_options options = {.isa = isa, .every_thread = true};
  harness narrow, *twin = suite.is_narrow ? &narrow : h;
  if (suite.is_narrow) narrow_init(twin, h);
  bsm_status st = harness_check(twin);
  if (bsm_status_code(st) == BSM_UNSUPPORTED) suite_skip(&h->step, st);
  if (st) {
    if (twin != h) harness_free(twin);
    return st;
  }
  if (threads > 1) {
    assert_null(bsm_thread_pool_create(threads, NULL, &options.pool));
  }
  st = harness_run_checked(h, twin, &options);
  if (twin != h) harness_free(twin);
  /* What the check has taken has to run. */
  if (bsm_status_code(st) == BSM_UNSUPPORTED) {
    fail_msg("%s", bsm_status_message(st));
  }
  suite.ran += !st;
  bsm_thread_pool_destroy(options.pool);
  return st;
}

/* Whether the device takes the step; runs it then, which must succeed. */
static HARNESS_UNUSED bool harness_runs_it(harness *h, uint32_t isa,
                                           int threads) {
  bsm_status st = harness_run(h, isa, threads);
  const bool taken = bsm_status_code(st) != BSM_UNSUPPORTED;
  if (st && taken) fail_msg("%s", bsm_status_message(st));
  bsm_status_free(st);
  return taken;
}

/* Whether the step is in the sample, or is to be run besides. */
static HARNESS_UNUSED bool harness_takes_next(const harness *h) {
  if (suite_takes_next()) {
    if (families_are_met()) families_meet(&h->plan, &h->step);
    return true;
  }
  return families_are_met() && families_meet(&h->plan, &h->step) &&
         suite_takes_more();
}

/* The same of steps that are in the sample. */
static HARNESS_UNUSED bool harness_runs(harness *h, uint32_t isa, int threads) {
  return harness_takes_next(h) && harness_runs_it(h, isa, threads);
}

/* Adds those of these names that this machine can run to `n` others. */
static HARNESS_UNUSED int harness_add_isas(const char *const *names, int count,
                                           int n, uint32_t *isas) {
  const uint32_t has = bsm_isa_detect();
  for (int i = 0; i < count; i++) {
    uint32_t mask;
    if (bsm_isa_parse(names[i], &mask) && (mask & has) == mask) {
      isas[n++] = mask;
    }
  }
  return n;
}
#define HARNESS_ADD_ISAS(names, n, isas) \
  harness_add_isas(names, (int)(sizeof(names) / sizeof((names)[0])), n, isas)

/* What this machine can run, worst first; one for devices that do not compute
 * with the host's instructions. */
static HARNESS_UNUSED int harness_isas(uint32_t *isas) {
  static const char *const names[] = {"scalar", "avx2", "avx512", "neon"};
  if (!fixture_ops()->host_accessible) {
    isas[0] = bsm_isa_detect();
    return 1;
  }
  static const char *const narrow[] = {"avx512_bf16", "amx"};
  const int n = HARNESS_ADD_ISAS(names, 0, isas);
  return suite.is_narrow ? HARNESS_ADD_ISAS(narrow, n, isas) : n;
}

/* Also those that differ for products of bytes. */
static HARNESS_UNUSED int harness_byte_isas(uint32_t *isas) {
  static const char *const names[] = {"avx2_vnni", "avx512_vnni", "amx",
                                      "neon_i8mm"};
  const int n = harness_isas(isas);
  return fixture_ops()->host_accessible ? HARNESS_ADD_ISAS(names, n, isas) : n;
}

typedef void harness_compare(harness *h, uint32_t isa, void *arg);

/* Runs on each instruction set with 1 and with 2 threads, and then with other
 * code if there is some, starting from outputs full of 0x5a, and compares;
 * nothing when the device does not take the step. */
static HARNESS_UNUSED void harness_run_all(harness *h, harness_compare *compare,
                                           void *arg) {
  uint32_t isas[8];
  const int n = h->bytes ? harness_byte_isas(isas) : harness_isas(isas);
  if (!harness_takes_next(h)) return;
  for (int i = 0; i < n; i++) {
    uint8_t *first[HARNESS_TENSORS] = {NULL};
    const int wide = wide_code_next(), runs = wide ? 3 : 2;
    for (int run = 1; run <= runs; run++) {
      h->code = run > 2 ? wide : 0;
      for (uint32_t k = 0; k < h->step.output_count; k++) {
        guarded *g = &h->data[h->step.outputs[k]];
        memset(g->data, 0x5a, g->size);
      }
      if (!harness_runs_it(h, isas[i], run > 1 ? 2 : 1)) return;
      compare(h, isas[i], arg);
      for (uint32_t k = 0; k < h->step.output_count; k++) {
        guarded *g = &h->data[h->step.outputs[k]];
        if (run == 1) {
          first[k] = malloc(g->size + 1);
          assert_non_null(first[k]);
          memcpy(first[k], g->data, g->size);
        } else {
          if (h->same_bits && memcmp(first[k], g->data, g->size) != 0) {
            fail_msg("output %u of run %d differs", k, run);
          }
          if (run == runs) free(first[k]);
        }
      }
    }
  }
}

/* ---- values ---- */

typedef struct harness_rng {
  uint64_t state;
} harness_rng;

static HARNESS_UNUSED uint32_t rng_next(harness_rng *r) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(r->state >> 33);
}
static HARNESS_UNUSED int rng_range(harness_rng *r, int lo, int hi) {
  const uint32_t span = (uint32_t)hi - (uint32_t)lo + 1;
  return (int)(lo + (int64_t)(rng_next(r) % span));
}
static HARNESS_UNUSED float rng_float(harness_rng *r) {
  const float x = (float)rng_next(r) / 1073741824.0f - 1.0f; /* [-1, 1) */
  return suite.is_narrow ? floorf(x * 64) / 64 : x;
}
static HARNESS_UNUSED void fill_floats(harness_rng *r, void *data,
                                       size_t bytes) {
  float *p = data;
  for (size_t i = 0; i < bytes / sizeof(float); i++) p[i] = rng_float(r);
}
/* All bytes of an input that add_input gave. */
static HARNESS_UNUSED void fill_input(harness *h, harness_rng *r,
                                      uint32_t index) {
  guarded *g = &h->data[h->step.inputs[index]];
  fill_floats(r, g->data, g->size);
}

/* Channels-last strides of [N, C, ...], with `extra` floats between pixels. */
static HARNESS_UNUSED void channels_last(bsm_dims d, int64_t extra,
                                         int64_t *strides) {
  int64_t step = d.d[1] + extra;
  strides[1] = 1;
  for (int32_t i = d.rank - 1; i >= 2; i--) {
    strides[i] = step;
    step *= d.d[i];
  }
  strides[0] = step;
}

/* The element offset of an index. */
static HARNESS_UNUSED int64_t offset_of(const bsm_plan_tensor *t,
                                        const int64_t *index) {
  int64_t o = 0;
  for (int32_t i = 0; i < t->dims.rank; i++) o += index[i] * t->strides[i];
  return o;
}

/* Steps through all indices in row-major order; false at the end. Start with
 * zeros. */
static HARNESS_UNUSED bool next_index(bsm_dims d, int64_t *index) {
  for (int32_t i = d.rank - 1; i >= 0; i--) {
    if (++index[i] < d.d[i]) return true;
    index[i] = 0;
  }
  return false;
}

static HARNESS_UNUSED void assert_close(double got, double expected,
                                        double tolerance, const char *what) {
  if (isnan(got) && isnan(expected)) return;
  if (got == expected) return;
  if (suite.is_narrow) {
    const double rounding = suite.dtype == BSM_DTYPE_HALF ? 0x1p-10 : 0x1p-7;
    tolerance += rounding * (1 + fabs(expected));
  }
  if (!(fabs(got - expected) <= tolerance)) {
    fail_msg("%s: %.9g, expected %.9g", what, got, expected);
  }
}

#endif /* TESTS_CONFORMANCE_STEP_HARNESS_H_ */
