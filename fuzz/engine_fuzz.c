/* SPDX-License-Identifier: Apache-2.0 */
/* Engine files: load, describe, and run on several shapes when it needs little
 * memory: programs with regions make plans for them. The checksums are made
 * right first, as an attacker would, so that the input's description reaches
 * the reader, the verifier and the backend's checks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/engine.h"
#include "engine/engine_file.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"

#define HEADER_SIZE 64
#define SIGNATURE_SIZE sizeof(bsm_engine_signature)
#define MAX_BYTES (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_engine, 0);

/* Makes the header agree with the size and the description. A version that is
 * not read becomes the oldest that is. */
static void repair(uint8_t *file, size_t size) {
  uint32_t version;
  uint64_t description, offset, weights, hash;
  memcpy(&description, file + 24, 8);
  if (description > size - HEADER_SIZE) description = size - HEADER_SIZE;
  offset = (HEADER_SIZE + description + 63) / 64 * 64;
  if (offset > size) {
    description = 0;
    offset = HEADER_SIZE;
  }
  weights = size - offset;
  if (weights >= SIGNATURE_SIZE &&
      memcmp(file + size - SIGNATURE_SIZE, "BSMSIGNS", 8) == 0) {
    weights -= SIGNATURE_SIZE;
  }
  const uint64_t total = size;
  memcpy(&version, file + 8, 4);
  if (version >> 16 != BSM_ENGINE_FORMAT_MAJOR ||
      (version & 0xffff) > BSM_ENGINE_FORMAT_MINOR) {
    version = BSM_ENGINE_FORMAT_MAJOR << 16;
  }
  hash = bsm_engine_file_hash(version, file + HEADER_SIZE, (size_t)description);
  memcpy(file + 8, &version, 4);
  memcpy(file + 16, &total, 8);
  memcpy(file + 24, &description, 8);
  memcpy(file + 32, &offset, 8);
  memcpy(file + 40, &weights, 8);
  memcpy(file + 48, &hash, 8);
}

/* The bytes of an array, or 0 when they are too many for a fuzz run. */
static size_t bytes_of(const bsm_binding *binding) {
  size_t bytes = bsm_dtype_size(binding->dtype);
  for (int32_t i = 0; i < binding->dims.rank; i++) {
    const int64_t d = binding->dims.d[i] < 0 ? 1 : binding->dims.d[i];
    if (d > 0 && bytes > MAX_BYTES / (size_t)d) return 0;
    bytes *= (size_t)d;
  }
  return bytes <= MAX_BYTES ? bytes + 64 : 0;
}

enum { MAX_BINDINGS = 8, SHAPES = 4 };

/* The sizes of shape `which`: the smallest, the best, the largest, and between
 * the first two. */
static bsm_dims pick(int which, bsm_dims min, bsm_dims opt, bsm_dims max) {
  bsm_dims dims = which == 0 ? min : which == 2 ? max : opt;
  for (int32_t i = 0; which == 3 && i < dims.rank; i++) {
    dims.d[i] = min.d[i] + (opt.d[i] - min.d[i]) / 2;
  }
  return dims;
}

static int make_inputs(const bsm_engine *engine, int which, bsm_array *arrays,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    bsm_binding b = BSM_BINDING_INIT;
    bsm_dims min, opt, max;
    bsm_status status = bsm_engine_input(engine, i, &b);
    if (!status) status = bsm_engine_input_range(engine, i, &min, &opt, &max);
    const int failed = status != NULL;
    bsm_status_free(status);
    if (failed) return 0;
    b.dims = pick(which, min, opt, max);
    const size_t bytes = bytes_of(&b);
    if (!bytes) return 0;
    arrays[i] = (bsm_array){calloc(1, bytes), b.dtype, b.dims, NULL};
    if (!arrays[i].data) return 0;
  }
  return 1;
}

static bsm_status read_results(bsm_context *context) {
  const bsm_structure *result = NULL;
  const size_t count = bsm_context_output_count(context);
  char *text = NULL;
  bsm_status status = NULL;
  for (size_t i = 0; !status && i < count; i++) {
    bsm_array out;
    status = bsm_context_output(context, i, &out);
  }
  if (!status) status = bsm_context_output_structure(context, &result);
  if (!status && result) status = bsm_structure_text(result, &text);
  bsm_string_free(text);
  return status;
}

/* Looks ahead and runs, twice: the second time the plan may be there. */
static void run_shape(const bsm_engine *engine, bsm_context *context,
                      int which) {
  bsm_array in[MAX_BINDINGS] = {{0}};
  const size_t n = bsm_engine_input_count(engine);
  if (make_inputs(engine, which, in, n)) {
    for (size_t i = 0; i < n; i++) {
      bsm_status_free(bsm_context_set_input_shape(context, i, &in[i].dims));
    }
    bsm_dims dims;
    bsm_status_free(bsm_context_output_shape(context, 0, &dims));
    for (int turn = 0; turn < 2; turn++) {
      bsm_status status = bsm_context_run_keep(context, in, n);
      if (!status) status = read_results(context);
      bsm_status_free(status);
    }
  }
  for (size_t i = 0; i < MAX_BINDINGS; i++) free(in[i].data);
}

/* An engine may say anything of its outputs. */
static void *bounded_alloc(void *user, size_t size, size_t alignment) {
  (void)user;
  if (size > 16 * (size_t)MAX_BYTES) return NULL;
  return aligned_alloc(alignment,
                       (size + alignment - 1) / alignment * alignment);
}

static void bounded_free(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

static int is_small(const bsm_engine *engine) {
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  bsm_status status = bsm_engine_memory(engine, 1, &memory);
  const int small = !status && memory.workspace + memory.scratch < MAX_BYTES;
  bsm_status_free(status);
  if (!small || bsm_engine_input_count(engine) > MAX_BINDINGS) return 0;
  for (size_t i = 0; i < bsm_engine_output_count(engine); i++) {
    bsm_binding b = BSM_BINDING_INIT;
    status = bsm_engine_output(engine, i, &b);
    const int large = status || !bytes_of(&b);
    bsm_status_free(status);
    if (large && b.dims.rank >= 0) return 0;
  }
  return 1;
}

/* One context, whose few places for plans the shapes take from each other. */
static void run_shapes(const bsm_engine *engine) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  if (!is_small(engine)) return;
  const bsm_allocator bounded = {bounded_alloc, bounded_free, NULL};
  options.threads = 1;
  options.allocator = &bounded;
  options.max_instructions = 500;
  options.max_run_bytes = MAX_BYTES;
  options.max_plans = 2;
  bsm_status status = bsm_context_create(engine, &options, &context);
  for (int which = 0; !status && which < SHAPES; which++) {
    run_shape(engine, context, which);
  }
  bsm_status_free(status);
  bsm_context_destroy(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEADER_SIZE || size > MAX_BYTES) return 0;
  uint8_t *file = aligned_alloc(64, (size + 63) / 64 * 64);
  if (!file) return 0;
  memcpy(file, data, size);
  repair(file, size);
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.skip_checksum = true;
  bsm_engine *engine = NULL;
  bsm_status status = bsm_engine_load_memory(file, size, &options, &engine);
  if (!status) {
    char *text = NULL;
    status = bsm_engine_dump(engine, &text);
    bsm_string_free(text);
    run_shapes(engine);
  }
  fuzz_done(status);
  bsm_engine_destroy(engine);
  free(file);
  return 0;
}
