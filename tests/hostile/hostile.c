/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "hostile/hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* In front of each block: what free must know. */
typedef struct block_header {
  void *start;
  size_t size;
} block_header;

static void *allocate(void *user, size_t size, size_t alignment) {
  hostile_allocator *self = user;
  const size_t call = atomic_fetch_add(&self->calls, 1) + 1;
  if (self->fail_at && call == self->fail_at) return NULL;
  if (size > self->cap || atomic_load(&self->live_bytes) > self->cap - size) {
    atomic_store(&self->capped, true);
    return NULL;
  }
  if (alignment < sizeof(block_header)) alignment = sizeof(block_header);
  void *start = NULL;
  if (posix_memalign(&start, alignment, size + alignment)) return NULL;
  uint8_t *memory = (uint8_t *)start + alignment;
  memset(memory, self->fill, size);
  const block_header header = {start, size};
  memcpy(memory - sizeof(header), &header, sizeof(header));
  atomic_fetch_add(&self->live_blocks, 1);
  atomic_fetch_add(&self->live_bytes, size);
  return memory;
}

static void deallocate(void *user, void *pointer) {
  hostile_allocator *self = user;
  if (!pointer) return;
  block_header header;
  memcpy(&header, (uint8_t *)pointer - sizeof(header), sizeof(header));
  atomic_fetch_sub(&self->live_blocks, 1);
  atomic_fetch_sub(&self->live_bytes, header.size);
  free(header.start);
}

void hostile_allocator_init(hostile_allocator *allocator) {
  memset(allocator, 0, sizeof(*allocator));
  allocator->base = (bsm_allocator){allocate, deallocate, allocator};
  allocator->cap = (size_t)256 << 20;
  allocator->fill = 0xa5;
}

/* ---- arrays ---- */

bsm_array hostile_array_for(const bsm_binding *binding, int byte) {
  const size_t max = (size_t)16 << 20;
  bsm_array array = {NULL, binding->dtype, binding->dims, NULL};
  size_t bytes = bsm_dtype_size(binding->dtype);
  for (int32_t i = 0; i < binding->dims.rank; i++) {
    const size_t d = (size_t)binding->dims.d[i];
    if (d > 0 && bytes > max / d) return array;
    bytes *= d;
  }
  array.data = malloc(bytes ? bytes : 1);
  if (array.data) memset(array.data, byte, bytes);
  return array;
}

bool hostile_arrays(const bsm_engine *engine, int byte, bsm_array *in,
                    bsm_array *out) {
  const size_t inputs = bsm_engine_input_count(engine);
  const size_t outputs = bsm_engine_output_count(engine);
  memset(in, 0, HOSTILE_MAX_ARRAYS * sizeof(*in));
  memset(out, 0, HOSTILE_MAX_ARRAYS * sizeof(*out));
  if (inputs > HOSTILE_MAX_ARRAYS || outputs > HOSTILE_MAX_ARRAYS) return false;
  bsm_binding binding = BSM_BINDING_INIT;
  for (size_t i = 0; i < inputs; i++) {
    bsm_status status = bsm_engine_input(engine, i, &binding);
    assert_null(status);
    in[i] = hostile_array_for(&binding, byte);
    if (!in[i].data) return false;
  }
  for (size_t i = 0; i < outputs; i++) {
    bsm_status status = bsm_engine_output(engine, i, &binding);
    assert_null(status);
    out[i] = hostile_array_for(&binding, 0xee);
    if (!out[i].data) return false;
  }
  return true;
}

void hostile_free_arrays(bsm_array *arrays) {
  for (size_t i = 0; i < HOSTILE_MAX_ARRAYS; i++) free(arrays[i].data);
}

/* ---- the whole way ---- */

static bsm_status run_engine(const bsm_engine *engine, int byte) {
  bsm_array in[HOSTILE_MAX_ARRAYS], out[HOSTILE_MAX_ARRAYS];
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  bsm_status status = BSM_OK;
  options.threads = 1;
  options.max_instructions = 100000;
  if (hostile_arrays(engine, byte, in, out)) {
    status = bsm_context_create(engine, &options, &context);
    if (!status) {
      status = bsm_context_run(context, in, bsm_engine_input_count(engine), out,
                               bsm_engine_output_count(engine));
    }
    bsm_context_destroy(context);
  }
  hostile_free_arrays(in);
  hostile_free_arrays(out);
  return status;
}

static bsm_status whole_way(const hostile_case *c, const bsm_allocator *base) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 4u << 20;
  limits.max_pickle_ops = 1000000;
  limits.max_nodes = 100000;
  limits.max_tensor_bytes = 4u << 20;
  limits.max_loop_trips = 1000;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  loading.limits = &limits;
  loading.allocator = base;
  bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
  compiling.inputs = c->specs;
  compiling.input_count = c->spec_count;
  compiling.threads = 1;
  compiling.no_timing = true;
  compiling.allocator = base;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_status status =
      bsm_module_load_memory(c->data, c->size, "hostile", &loading, &module);
  if (!status) status = bsm_compile(module, &compiling, &engine);
  if (!status && c->run) status = run_engine(engine, c->input_byte);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return status;
}

void hostile_try(const hostile_case *c, hostile_result *out) {
  hostile_allocator allocator;
  hostile_allocator_init(&allocator);
  bsm_status status = whole_way(c, &allocator.base);
  out->code = bsm_status_code(status);
  snprintf(out->message, sizeof(out->message), "%s",
           bsm_status_message(status));
  bsm_status_free(status);
  if (allocator.live_blocks) {
    fail_msg("%zu blocks leak after: %s", allocator.live_blocks, out->message);
  }
  if (allocator.capped) {
    fail_msg("more than %zu bytes wanted until: %s", allocator.cap,
             out->message);
  }
  if (out->code == BSM_INTERNAL) fail_msg("%s", out->message);
  if (out->code) assert_true(strlen(out->message) > 10);
}

void hostile_compile_text(const char *text, bsm_dims dims,
                          hostile_result *out) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = dims.rank;
  memcpy(spec.min, dims.d, sizeof(dims.d));
  hostile_try(
      &(hostile_case){
          .data = text, .size = strlen(text), .specs = &spec, .spec_count = 1},
      out);
}

uint8_t *hostile_read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  const long length = ftell(file);
  assert_true(length >= 0);
  rewind(file);
  uint8_t *data = malloc((size_t)length + 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, (size_t)length, file), (size_t)length);
  fclose(file);
  *size = (size_t)length;
  return data;
}
