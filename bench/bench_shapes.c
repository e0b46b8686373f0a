/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an engine with ranges on random shapes, and tells how much memory the
 * process has after the first 100 runs and after the last: it does not grow.
 *
 *   bench_shapes ENGINE [RUNS]      2000 runs unless told
 *
 * Dims that range alike and stand at the same place of several inputs get the
 * same size. Float inputs are small numbers, others are zero. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bessemer/bessemer.h"

enum { MAX_INPUTS = 16, EARLY = 100 };

typedef struct input {
  bsm_binding binding;
  bsm_dims min, max;
} input;

static void check(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  exit(1);
}

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static double resident_megabytes(void) {
  long all = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2) exit(1);
  fclose(f);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576.0;
}

static size_t bytes_of(const input *in, bsm_dims dims) {
  size_t n = bsm_dtype_size(in->binding.dtype);
  for (int32_t i = 0; i < dims.rank; i++) n *= (size_t)dims.d[i];
  return n;
}

/* The sizes of this run: `max` for the largest. */
static bsm_dims dims_of(const input *in, const uint64_t *random, bool max) {
  bsm_dims dims = in->max;
  for (int32_t i = 0; i < dims.rank && !max; i++) {
    const int64_t low = in->min.d[i], high = in->max.d[i];
    dims.d[i] = low + (int64_t)(random[i] % (uint64_t)(high - low + 1));
  }
  return dims;
}

static void run(bsm_context *context, const input *inputs, size_t count,
                void *const *data, uint64_t *state, bool max) {
  bsm_array arrays[MAX_INPUTS];
  uint64_t random[BSM_MAX_RANK];
  for (int i = 0; i < BSM_MAX_RANK; i++) random[i] = next(state);
  for (size_t i = 0; i < count; i++) {
    arrays[i] = (bsm_array){data[i], inputs[i].binding.dtype,
                            dims_of(&inputs[i], random, max), NULL};
  }
  check(bsm_context_run_keep(context, arrays, count));
}

int main(int argc, char **argv) {
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  input inputs[MAX_INPUTS];
  void *data[MAX_INPUTS];
  uint64_t state = 88172645463325252U;
  if (argc < 2) {
    fprintf(stderr, "usage: bench_shapes ENGINE [RUNS]\n");
    return 2;
  }
  const long runs = argc > 2 ? atol(argv[2]) : 2000;
  check(bsm_engine_load(argv[1], NULL, &engine));
  options.threads = 1;
  check(bsm_context_create(engine, &options, &context));
  const size_t count = bsm_engine_input_count(engine);
  if (count > MAX_INPUTS) return 2;
  for (size_t i = 0; i < count; i++) {
    inputs[i].binding = (bsm_binding)BSM_BINDING_INIT;
    check(bsm_engine_input(engine, i, &inputs[i].binding));
    check(bsm_engine_input_range(engine, i, &inputs[i].min, NULL,
                                 &inputs[i].max));
    const size_t bytes = bytes_of(&inputs[i], inputs[i].max);
    data[i] = calloc(bytes + 1, 1);
    if (!data[i]) return 1;
    if (inputs[i].binding.dtype != BSM_DTYPE_FLOAT) continue;
    float *x = data[i];
    for (size_t k = 0; k < bytes / sizeof(float); k++) {
      x[k] = (float)(next(&state) % 2001) / 1000.0F - 1.0F;
    }
  }
  double early = 0;
  for (long k = 1; k <= runs; k++) {
    /* What the last run made stays: the largest shape where it is measured. */
    run(context, inputs, count, data, &state, k == EARLY || k == runs);
    if (k == EARLY) early = resident_megabytes();
  }
  printf("resident after %d runs: %.2f MB, after %ld: %.2f MB\n", EARLY, early,
         runs, resident_megabytes());
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  for (size_t i = 0; i < count; i++) free(data[i]);
  return 0;
}
