/* SPDX-License-Identifier: Apache-2.0 */
/* Loads an engine with the runtime library alone, runs it on zeros, and prints
 * what comes out.
 *
 *   cc run_engine.c -lbessemer-runtime && ./a.out digits.bsm */
#include <stdio.h>
#include <stdlib.h>

#include "bessemer/engine.h"

enum { MAX_BINDINGS = 16 };

/* A zeroed array as the binding describes it. */
static bsm_array make_array(bsm_binding binding) {
  size_t size = bsm_dtype_size(binding.dtype);
  for (int i = 0; i < binding.dims.rank; i++) {
    size *= (size_t)binding.dims.d[i];
  }
  return (bsm_array){calloc(1, size ? size : 1), binding.dtype, binding.dims,
                     NULL};
}

static bsm_status run(const bsm_engine *engine, bsm_context *context,
                      bsm_array *in, bsm_array *out) {
  const size_t inputs = bsm_engine_input_count(engine);
  const size_t outputs = bsm_engine_output_count(engine);
  bsm_binding binding;
  BSM_CHECK(inputs <= MAX_BINDINGS && outputs <= MAX_BINDINGS,
            "more than %d inputs or outputs", MAX_BINDINGS);
  for (size_t i = 0; i < inputs; i++) {
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    in[i] = make_array(binding);
    BSM_TRY_ALLOC(in[i].data);
  }
  for (size_t i = 0; i < outputs; i++) {
    BSM_TRY(bsm_engine_output(engine, i, &binding));
    out[i] = make_array(binding);
    BSM_TRY_ALLOC(out[i].data);
  }
  BSM_TRY(bsm_context_run(context, in, inputs, out, outputs));
  for (size_t i = 0; i < outputs; i++) {
    printf("output %zu: %s %s\n", i, bsm_dtype_name(out[i].dtype),
           bsm_dims_str(out[i].dims));
  }
  return BSM_OK;
}

int main(int argc, char **argv) {
  bsm_array in[MAX_BINDINGS] = {{0}}, out[MAX_BINDINGS] = {{0}};
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: run_engine ENGINE\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = run(engine, context, in, out);
  for (int i = 0; i < MAX_BINDINGS; i++) {
    free(in[i].data);
    free(out[i].data);
  }
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
