/* SPDX-License-Identifier: Apache-2.0 */
/* Loads an engine with the runtime library alone, runs it on zeros, and prints
 * what comes out.
 *
 *   cc run_engine.c -lbessemer-runtime && ./a.out digits.bsm */
#include <stdio.h>
#include <stdlib.h>

#include "bessemer/engine.h"

enum { MAX_INPUTS = 16 };

/* A zeroed array for an input; where its dims range, of those that the engine
 * is fastest with. */
static bsm_status make_input(const bsm_engine *engine, size_t index,
                             bsm_array *out) {
  bsm_binding binding = BSM_BINDING_INIT;
  bsm_dims dims;
  BSM_TRY(bsm_engine_input(engine, index, &binding));
  BSM_TRY(bsm_engine_input_range(engine, index, NULL, &dims, NULL));
  size_t size = bsm_dtype_size(binding.dtype);
  for (int i = 0; i < dims.rank; i++) size *= (size_t)dims.d[i];
  *out = (bsm_array){calloc(1, size ? size : 1), binding.dtype, dims, NULL};
  BSM_TRY_ALLOC(out->data);
  return BSM_OK;
}

/* The outputs one by one, then the result that they make up. */
static bsm_status print_outputs(bsm_context *context) {
  const bsm_structure *result;
  char *text = NULL;
  for (size_t i = 0; i < bsm_context_output_count(context); i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_context_output_binding(context, i, &binding));
    printf("output %zu: %s %s %s\n", i, binding.name,
           bsm_dtype_name(binding.dtype), bsm_dims_str(binding.dims));
  }
  BSM_TRY(bsm_context_output_structure(context, &result));
  if (result) BSM_TRY(bsm_structure_text(result, &text));
  if (text) printf("result: %s\n", text);
  bsm_string_free(text);
  return BSM_OK;
}

static bsm_status run(const bsm_engine *engine, bsm_context *context,
                      bsm_array *in) {
  const size_t inputs = bsm_engine_input_count(engine);
  BSM_CHECK(inputs <= MAX_INPUTS, "more than %d inputs", MAX_INPUTS);
  for (size_t i = 0; i < inputs; i++) BSM_TRY(make_input(engine, i, &in[i]));
  BSM_TRY(bsm_context_run_keep(context, in, inputs));
  return print_outputs(context);
}

int main(int argc, char **argv) {
  bsm_array in[MAX_INPUTS] = {{0}};
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: run_engine ENGINE\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = run(engine, context, in);
  for (int i = 0; i < MAX_INPUTS; i++) free(in[i].data);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
