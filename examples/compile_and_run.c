/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles examples/digits/digits.ts for one picture at a time, runs it on
 * buffers of its own and saves the engine.
 *
 *   cc compile_and_run.c -lbessemer && ./a.out digits.ts digits.bsm */
#include <stdio.h>

#include "bessemer/bessemer.h"

int main(int argc, char **argv) {
  static float picture[1 * 1 * 8 * 8], probabilities[10];
  bsm_array in = {picture, BSM_DTYPE_FLOAT, {4, {1, 1, 8, 8}}, NULL};
  bsm_array out = {probabilities, BSM_DTYPE_FLOAT, {2, {1, 10}}, NULL};
  bsm_input_spec input = {
      .dtype = BSM_DTYPE_FLOAT, .rank = 4, .min = {1, 1, 8, 8}};
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &input;
  options.input_count = 1;
  if (argc != 3) {
    fprintf(stderr, "usage: compile_and_run MODEL ENGINE\n");
    return 2;
  }
  for (int i = 0; i < 8; i++) picture[8 * i + 4] = 1; /* a one, more or less */

  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_status status = bsm_module_load(argv[1], NULL, &module);
  if (!status) status = bsm_compile(module, &options, &engine);
  if (!status) status = bsm_engine_save(engine, argv[2]);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = bsm_context_run(context, &in, 1, &out, 1);
  for (int i = 0; i < 10 && !status; i++) {
    printf("%d: %5.1f %%\n", i, 100 * (double)probabilities[i]);
  }
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_module_destroy(module);
  return failed;
}
