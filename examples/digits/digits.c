/* SPDX-License-Identifier: Apache-2.0 */
/* The demo: compiles the digits model, saves and loads the engine, shows some
 * of the held-back scans with the answers, and measures the whole test set.
 *
 *   digits DATA ENGINE    DATA: where digits.ts and the .npy files are;
 *                         ENGINE: the file to write */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bessemer/bessemer.h"
#include "tools/npy.h"

#define CLASSES 10
#define SIDE 8
#define SHOWN 8
#define TIMED_RUNS 2000

typedef struct demo {
  char model_path[4096], engine_path[4096];
  bsm_npy_file images, labels;
  size_t count;
  bsm_engine *engine;
  bsm_context *context;
} demo;

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static bsm_status open_data(demo *d, const char *directory) {
  char path[4096];
  snprintf(d->model_path, sizeof(d->model_path), "%s/digits.ts", directory);
  snprintf(path, sizeof(path), "%s/digits_images.npy", directory);
  BSM_TRY(bsm_npy_open(path, NULL, &d->images));
  snprintf(path, sizeof(path), "%s/digits_labels.npy", directory);
  BSM_TRY(bsm_npy_open(path, NULL, &d->labels));
  const bsm_array *images = &d->images.items[0].array;
  const bsm_array *labels = &d->labels.items[0].array;
  if (images->dtype != BSM_DTYPE_FLOAT || images->dims.rank != 4 ||
      images->dims.d[2] != SIDE || images->dims.d[3] != SIDE ||
      labels->dtype != BSM_DTYPE_INT64 || labels->dims.rank != 1 ||
      labels->dims.d[0] != images->dims.d[0] || labels->dims.d[0] < SHOWN) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the test images are not what the demo expects");
  }
  d->count = (size_t)labels->dims.d[0];
  return BSM_OK;
}

/* Compiles the model, saves the engine and loads it again: what a program
 * would do once, and what it would do at every start. */
static bsm_status prepare(demo *d) {
  bsm_module *module = NULL;
  bsm_engine *built = NULL;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  const double start = milliseconds();
  bsm_status status = bsm_module_load(d->model_path, NULL, &module);
  if (!status) status = bsm_compile(module, &options, &built);
  const double compiled = milliseconds();
  if (!status) status = bsm_engine_save(built, d->engine_path);
  bsm_engine_destroy(built);
  bsm_module_destroy(module);
  BSM_TRY(status);
  const double saved = milliseconds();
  BSM_TRY(bsm_engine_load(d->engine_path, NULL, &d->engine));
  const double loaded = milliseconds();
  printf(
      "Compiled %s in %.0f ms (%zu steps), saved it as %s,\n"
      "loaded the engine in %.1f ms.\n\n",
      d->model_path, compiled - start, bsm_engine_step_count(d->engine),
      d->engine_path, loaded - saved);
  bsm_context_options context = BSM_CONTEXT_OPTIONS_INIT;
  context.threads = 1;
  return bsm_context_create(d->engine, &context, &d->context);
}

static const float *image_at(const demo *d, size_t index) {
  return (const float *)d->images.items[0].array.data + index * SIDE * SIDE;
}

static int64_t label_at(const demo *d, size_t index) {
  return ((const int64_t *)d->labels.items[0].array.data)[index];
}

static bsm_status classify(const demo *d, size_t index, float *probabilities) {
  const bsm_dims in_dims = {4, {1, 1, SIDE, SIDE}};
  const bsm_dims out_dims = {2, {1, CLASSES}};
  bsm_array in = {(void *)(uintptr_t)image_at(d, index), BSM_DTYPE_FLOAT,
                  in_dims, NULL};
  bsm_array out = {probabilities, BSM_DTYPE_FLOAT, out_dims, NULL};
  return bsm_context_run(d->context, &in, 1, &out, 1);
}

static int best_of(const float *probabilities) {
  int best = 0;
  for (int i = 1; i < CLASSES; i++) {
    if (probabilities[i] > probabilities[best]) best = i;
  }
  return best;
}

/* Four pictures beside each other; a pixel is two characters wide. */
static bsm_status show(const demo *d, size_t first, size_t count) {
  static const char *const shades[] = {"  ", "\u2591\u2591", "\u2592\u2592",
                                       "\u2593\u2593", "\u2588\u2588"};
  for (int y = 0; y < SIDE; y++) {
    for (size_t i = first; i < first + count; i++) {
      for (int x = 0; x < SIDE; x++) {
        const float value = image_at(d, i)[y * SIDE + x];
        int shade = (int)(value * 4.99f);
        if (shade < 0) shade = 0;
        if (shade > 4) shade = 4;
        fputs(shades[shade], stdout);
      }
      fputs("    ", stdout);
    }
    fputs("\n", stdout);
  }
  for (size_t i = first; i < first + count; i++) {
    float probabilities[CLASSES];
    BSM_TRY(classify(d, i, probabilities));
    const int answer = best_of(probabilities);
    char text[48];
    snprintf(text, sizeof(text), "it is a %d (%.1f %%)%s", answer,
             100.0 * (double)probabilities[answer],
             answer == label_at(d, i) ? "" : ", wrong");
    printf("%-20s", text);
  }
  fputs("\n\n", stdout);
  return BSM_OK;
}

static bsm_status measure_accuracy(const demo *d, size_t *right) {
  *right = 0;
  for (size_t i = 0; i < d->count; i++) {
    float probabilities[CLASSES];
    BSM_TRY(classify(d, i, probabilities));
    *right += best_of(probabilities) == label_at(d, i);
  }
  return BSM_OK;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static bsm_status measure_latency(const demo *d, double *median_us) {
  static double times[TIMED_RUNS];
  for (size_t i = 0; i < TIMED_RUNS; i++) {
    float probabilities[CLASSES];
    const double start = milliseconds();
    BSM_TRY(classify(d, i % d->count, probabilities));
    times[i] = milliseconds() - start;
  }
  qsort(times, TIMED_RUNS, sizeof(times[0]), compare);
  *median_us = 1e3 * times[TIMED_RUNS / 2];
  return BSM_OK;
}

/* What was compiled: the steps of the plan. */
static bsm_status list_steps(const demo *d) {
  for (size_t i = 0; i < bsm_engine_step_count(d->engine); i++) {
    bsm_step_info step = BSM_STEP_INFO_INIT;
    BSM_TRY(bsm_engine_step(d->engine, i, &step));
    printf("  %-16s %-12s %.60s\n", step.kind, step.tactic, step.name);
  }
  return BSM_OK;
}

static bsm_status run(demo *d, const char *directory) {
  size_t right;
  double median_us;
  BSM_TRY(open_data(d, directory));
  BSM_TRY(prepare(d));
  for (size_t i = 0; i < SHOWN; i += 4) BSM_TRY(show(d, i, 4));
  BSM_TRY(measure_accuracy(d, &right));
  BSM_TRY(measure_latency(d, &median_us));
  printf("%zu of %zu test digits are right: %.1f %%\n", right, d->count,
         100.0 * (double)right / (double)d->count);
  printf(
      "%.1f microseconds for a digit (median of %d runs, one thread) "
      "with these steps:\n",
      median_us, TIMED_RUNS);
  return list_steps(d);
}

int main(int argc, char **argv) {
  demo d = {.count = 0};
  if (argc != 3) {
    fprintf(stderr, "usage: digits DATA-DIRECTORY ENGINE-FILE\n");
    return 2;
  }
  snprintf(d.engine_path, sizeof(d.engine_path), "%s", argv[2]);
  bsm_status status = run(&d, argv[1]);
  bsm_context_destroy(d.context);
  bsm_engine_destroy(d.engine);
  bsm_npy_close(&d.images);
  bsm_npy_close(&d.labels);
  if (!status) return 0;
  fprintf(stderr, "digits: %s\n", bsm_status_message(status));
  bsm_status_free(status);
  return 1;
}
