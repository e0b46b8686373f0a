/* SPDX-License-Identifier: Apache-2.0 */
/* One operator of the tables, called with arguments that the bytes choose:
 * compiled and run through the public API. The first two bytes choose the
 * operator. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "fuzz/mutators/mutator.h"
#include "tests/hostile/op_text.h"

enum { MAX_ARRAYS = OP_MAX_TENSORS, MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(NULL, 2);

static bool make_array(const bsm_binding *b, const op_text *t, bsm_array *out) {
  size_t bytes = bsm_dtype_size(b->dtype);
  for (int32_t i = 0; i < b->dims.rank; i++) {
    const size_t d = (size_t)b->dims.d[i];
    if (d > 0 && bytes > MAX_BYTES / d) return false;
    bytes *= d;
  }
  *out = (bsm_array){calloc(1, bytes + 1), b->dtype, b->dims, NULL};
  /* Inputs hold what the choices made for the tensor of that name. */
  const size_t i = strtoul(b->name + (b->name[0] == 't'), NULL, 10);
  if (out->data && t && i < t->tensors && bytes <= sizeof(t->memory[i])) {
    memcpy(out->data, t->memory[i], bytes);
  }
  return out->data != NULL;
}

static void run(const bsm_engine *engine, const op_text *t) {
  bsm_array in[MAX_ARRAYS] = {{0}}, out[MAX_ARRAYS] = {{0}};
  const size_t inputs = bsm_engine_input_count(engine);
  const size_t outputs = bsm_engine_output_count(engine);
  bool fits = inputs <= MAX_ARRAYS && outputs <= MAX_ARRAYS;
  for (size_t i = 0; fits && i < inputs + outputs; i++) {
    const bool input = i < inputs;
    bsm_binding b = BSM_BINDING_INIT;
    bsm_status status = input ? bsm_engine_input(engine, i, &b)
                              : bsm_engine_output(engine, i - inputs, &b);
    fits = !status &&
           make_array(&b, input ? t : NULL, input ? &in[i] : &out[i - inputs]);
    bsm_status_free(status);
  }
  bsm_context *context = NULL;
  if (fits) {
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.max_instructions = 10000; /* keeps runs short */
    bsm_status status = bsm_context_create(engine, &options, &context);
    if (!status) status = bsm_context_run(context, in, inputs, out, outputs);
    bsm_status_free(status);
  }
  bsm_context_destroy(context);
  for (size_t i = 0; i < MAX_ARRAYS; i++) {
    free(in[i].data);
    free(out[i].data);
  }
}

static void compile(const op_text *t) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_nodes = 20000;
  limits.max_tensor_bytes = 1 << 18;
  limits.max_loop_trips = 100;
  limits.max_unrolled_nodes = 1000;
  bsm_module_options loading = BSM_MODULE_OPTIONS_INIT;
  loading.limits = &limits;
  bsm_compile_options compiling = BSM_COMPILE_OPTIONS_INIT;
  compiling.no_timing = true;
  compiling.threads = 1;
  compiling.inputs = t->specs;
  compiling.input_count = t->tensors;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_status status =
      bsm_module_load_memory(t->text, t->length, "operator", &loading, &module);
  if (!status) status = bsm_compile(module, &compiling, &engine);
  if (bsm_status_code(status) == BSM_INTERNAL) abort();
  if (!status) run(engine, t);
  bsm_status_free(status);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static op_text text;
  static bsm_operator_list *list; /* made once, kept until the end */
  if (size < 2) return 0;
  if (!list) {
    bsm_status status = bsm_operators(&list);
    if (status) abort();
  }
  const size_t which =
      (data[0] | (size_t)data[1] << 8) % bsm_operator_list_count(list);
  bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
  if (bsm_operator_list_get(list, which, &info)) abort();
  op_choices choices = {.data = data, .size = size, .at = 2, .seed = 0};
  if (op_text_make(&text, info.schema, &choices)) {
    if (getenv("OPERATOR_PRINT")) fputs(text.text, stderr);
    compile(&text);
  }
  return 0;
}
