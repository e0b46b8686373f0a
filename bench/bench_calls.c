/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of an engine costs in C: the least of 1,000 means of 200 calls of
 * bsm_context_run, in microseconds. bench/python_calls.py compares.
 *
 *   bench_calls ENGINE */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bessemer/engine.h"

enum { MAX_BINDINGS = 16, ROUNDS = 1000, CALLS = 200 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bsm_status make_array(const bsm_binding *binding, bsm_array *out) {
  size_t size = bsm_dtype_size(binding->dtype);
  for (int i = 0; i < binding->dims.rank; i++) {
    BSM_CHECK(binding->dims.d[i] > 0, "%s has no fixed shape", binding->name);
    size *= (size_t)binding->dims.d[i];
  }
  *out = (bsm_array){calloc(1, size), binding->dtype, binding->dims, NULL};
  BSM_TRY_ALLOC(out->data);
  return BSM_OK;
}

static bsm_status measure(const bsm_engine *engine, bsm_context *context,
                          bsm_array *in, bsm_array *out, double *best) {
  const size_t inputs = bsm_engine_input_count(engine);
  const size_t outputs = bsm_engine_output_count(engine);
  bsm_binding binding = BSM_BINDING_INIT;
  BSM_CHECK(inputs <= MAX_BINDINGS && outputs <= MAX_BINDINGS,
            "more than %d inputs or outputs", MAX_BINDINGS);
  for (size_t i = 0; i < inputs; i++) {
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    BSM_TRY(make_array(&binding, &in[i]));
  }
  for (size_t i = 0; i < outputs; i++) {
    BSM_TRY(bsm_engine_output(engine, i, &binding));
    BSM_TRY(make_array(&binding, &out[i]));
  }
  for (int round = 0; round < ROUNDS; round++) {
    const double start = now();
    for (int i = 0; i < CALLS; i++) {
      BSM_TRY(bsm_context_run(context, in, inputs, out, outputs));
    }
    const double mean = (now() - start) / CALLS;
    if (round == 0 || mean < *best) *best = mean;
  }
  return BSM_OK;
}

int main(int argc, char **argv) {
  bsm_array in[MAX_BINDINGS] = {{0}}, out[MAX_BINDINGS] = {{0}};
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  double best = 0;
  options.threads = 1;
  if (argc != 2) {
    fprintf(stderr, "usage: bench_calls ENGINE\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, &options, &context);
  if (!status) status = measure(engine, context, in, out, &best);
  if (!status) printf("%.3f\n", 1e6 * best);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  for (int i = 0; i < MAX_BINDINGS; i++) {
    free(in[i].data);
    free(out[i].data);
  }
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
