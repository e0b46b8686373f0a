/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has of the library what one engine needs: loads an engine with
 * one input and one output of fixed shapes, reads the input's bytes from a
 * file, runs the engine and writes the output's bytes.
 *
 *   bessemer link-list digits.bsm --isa avx2 -o linked.c
 *   cc -Os -ffunction-sections -fdata-sections small_program.c linked.c \
 *     libbessemer-runtime.a -Wl,--gc-sections -lm -lpthread -o digits
 *   strip digits
 *   ./digits digits.bsm image.raw scores.raw */
#include <stdio.h>
#include <stdlib.h>

#include "bessemer/engine.h"

static bsm_status make_array(const bsm_binding *binding, bsm_array *out) {
  size_t size = bsm_dtype_size(binding->dtype);
  BSM_CHECK(binding->dims.rank >= 0, "%s has no fixed shape", binding->name);
  for (int i = 0; i < binding->dims.rank; i++) {
    BSM_CHECK(binding->dims.d[i] > 0, "%s has no fixed shape", binding->name);
    size *= (size_t)binding->dims.d[i];
  }
  *out = (bsm_array){
      .data = malloc(size), .dtype = binding->dtype, .dims = binding->dims};
  BSM_TRY_ALLOC(out->data);
  return BSM_OK;
}

/* Reads or writes all bytes of an array. */
static bsm_status transfer(const bsm_array *array, const char *path,
                           const char *mode) {
  size_t size = bsm_dtype_size(array->dtype);
  for (int i = 0; i < array->dims.rank; i++) size *= (size_t)array->dims.d[i];
  FILE *file = fopen(path, mode);
  BSM_CHECK(file, "%s cannot be opened", path);
  const size_t done = *mode == 'r' ? fread(array->data, 1, size, file)
                                   : fwrite(array->data, 1, size, file);
  const int failed = fclose(file);
  BSM_CHECK(done == size && !failed, "%s: %zu bytes of %zu", path, done, size);
  return BSM_OK;
}

static bsm_status run(const bsm_engine *engine, bsm_context *context,
                      char **paths, bsm_array *in, bsm_array *out) {
  bsm_binding input = BSM_BINDING_INIT, output = BSM_BINDING_INIT;
  BSM_CHECK(bsm_engine_input_count(engine) == 1 &&
                bsm_engine_output_count(engine) == 1,
            "the engine has more than one input or output");
  BSM_TRY(bsm_engine_input(engine, 0, &input));
  BSM_TRY(bsm_engine_output(engine, 0, &output));
  BSM_TRY(make_array(&input, in));
  BSM_TRY(make_array(&output, out));
  BSM_TRY(transfer(in, paths[0], "rb"));
  BSM_TRY(bsm_context_run(context, in, 1, out, 1));
  return transfer(out, paths[1], "wb");
}

int main(int argc, char **argv) {
  bsm_array in = {0}, out = {0};
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  if (argc != 4) {
    fprintf(stderr, "usage: small_program ENGINE INPUT OUTPUT\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = run(engine, context, argv + 2, &in, &out);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int code = status ? 1 : 0;
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  free(in.data);
  free(out.data);
  return code;
}
