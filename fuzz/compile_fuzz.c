/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to outputs through the public API: IR text or an archive is
 * loaded, compiled with small limits for small inputs, and the engine runs
 * once.
 *
 * The first byte chooses the inputs. What follows is a file: IR text, or an
 * archive ("PK..."), or, because a mutated archive hardly gets past its
 * checksums, what data.pkl (length in 2 bytes, little-endian), the code and 64
 * bytes of storage are made of. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "tests/torchscript/zip_builder.h"

enum { MAX_ARRAYS = 8, MAX_BYTES = 1 << 20, SPECS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_pickled, 1);

static bsm_input_spec make_spec(uint8_t choice, size_t index) {
  static const int64_t dims[4][4] = {{2, 3}, {1, 4, 6, 6}, {2, 4, 8}, {4}};
  static const int32_t ranks[4] = {2, 4, 3, 1};
  const size_t which = (choice + index * (choice >> 4)) % 4;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = ranks[which];
  memcpy(spec.min, dims[which], sizeof(dims[which]));
  if (choice & 8 && index == 1) spec.dtype = BSM_DTYPE_INT64;
  return spec;
}

static bool make_array(const bsm_binding *b, bsm_array *out) {
  size_t bytes = bsm_dtype_size(b->dtype);
  for (int32_t i = 0; i < b->dims.rank; i++) {
    const size_t d = (size_t)b->dims.d[i];
    if (d > 0 && bytes > MAX_BYTES / d) return false;
    bytes *= d;
  }
  *out = (bsm_array){malloc(bytes + 1), b->dtype, b->dims, NULL};
  if (out->data)
    memset(out->data, b->dtype == BSM_DTYPE_FLOAT ? 0x3e : 1, bytes);
  return out->data != NULL;
}

static void run(const bsm_engine *engine) {
  bsm_array in[MAX_ARRAYS] = {{0}}, out[MAX_ARRAYS] = {{0}};
  const size_t inputs = bsm_engine_input_count(engine);
  const size_t outputs = bsm_engine_output_count(engine);
  bool fits = inputs <= MAX_ARRAYS && outputs <= MAX_ARRAYS;
  for (size_t i = 0; fits && i < inputs + outputs; i++) {
    bsm_binding b = BSM_BINDING_INIT;
    bsm_status status = i < inputs ? bsm_engine_input(engine, i, &b)
                                   : bsm_engine_output(engine, i - inputs, &b);
    fits = !status && make_array(&b, i < inputs ? &in[i] : &out[i - inputs]);
    bsm_status_free(status);
  }
  if (fits) {
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.max_instructions = 10000; /* keeps runs short */
    bsm_context *context = NULL;
    bsm_status status = bsm_context_create(engine, &options, &context);
    if (!status) status = bsm_context_run(context, in, inputs, out, outputs);
    bsm_status_free(status);
    bsm_context_destroy(context);
  }
  for (size_t i = 0; i < MAX_ARRAYS; i++) {
    free(in[i].data);
    free(out[i].data);
  }
}

static void compile(const void *data, size_t size, uint8_t choice) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 1 << 20;
  limits.max_pickle_ops = 100000;
  limits.max_nodes = 5000;
  limits.max_tensor_bytes = 1 << 18;
  limits.max_loop_trips = 100;
  limits.max_unrolled_nodes = 1000;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  loading.limits = &limits;
  bsm_input_spec specs[SPECS];
  bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
  compiling.no_timing = true;
  compiling.threads = 1;
  compiling.inputs = specs;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_status status =
      bsm_module_load_memory(data, size, "fuzz", &loading, &module);
  size_t parameters = 0;
  if (!status) {
    status = bsm_module_parameter_count(module, NULL, &parameters);
  }
  compiling.input_count = parameters < SPECS ? parameters : SPECS;
  for (size_t i = 0; i < SPECS; i++) specs[i] = make_spec(choice, i);
  if (!status) status = bsm_compile(module, &compiling, &engine);
  if (bsm_status_code(status) == BSM_INTERNAL) abort();
  if (!status) run(engine);
  fuzz_done(status);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

static void compile_members(const uint8_t *data, size_t size, uint8_t choice) {
  uint8_t storage[64] = {0};
  size_t pickle = data[0] | (size_t)data[1] << 8;
  data += 2;
  size -= 2;
  if (pickle > size) pickle = size;
  const size_t tail = size - pickle < 64 ? size - pickle : 64;
  memcpy(storage, data + size - tail, tail);
  const zip_member members[] = {
      {.name = "m/data.pkl", .data = data, .size = pickle},
      {.name = "m/constants.pkl", .data = "\x80\x02).", .size = 4},
      {.name = "m/code/__torch__.py",
       .data = data + pickle,
       .size = size - pickle - tail},
      {.name = "m/data/0", .data = storage, .size = 64, .align = 64},
      {.name = "m/version", .data = "3\n", .size = 2},
  };
  zip_builder z;
  zip_build(&z, members, sizeof(members) / sizeof(members[0]), 1);
  compile(z.data, z.len, choice);
  free(z.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  const uint8_t choice = data[0];
  data++;
  size--;
  if (memcmp(data, "PK", 2) == 0 || data[0] == 'g' || data[0] == '#') {
    compile(data, size, choice);
  } else {
    compile_members(data, size, choice);
  }
  return 0;
}
