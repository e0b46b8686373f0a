/* SPDX-License-Identifier: Apache-2.0 */
/* Hours of what a server does: models at random are compiled, saved, loaded and
 * thrown away, with fixed shapes and with ranges; contexts are made, run with
 * other shapes in every turn and destroyed in any order. Two contexts have to
 * agree. After each lap everything is gone, and memory in use and
 * open files have to be what they were after the first ones.
 *
 *   soak [SECONDS [SEED]]
 */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "soak/random_model.h"

enum {
  ENGINES = 6,  /* alive at a time */
  CONTEXTS = 3, /* of an engine */
  TURNS = 60,   /* of a lap */
  WARM_UP = 4,  /* laps in which caches fill */
  ROWS = 9      /* at most, of an input */
};
/* What malloc keeps of what was freed, and what its heaps and the tables of
 * the kernel may take. */
#define SLACK ((size_t)1 << 20)
#define RESIDENT ((size_t)64 << 20)

typedef struct served {
  bsm_engine *engine;
  bsm_context *contexts[CONTEXTS];
  int64_t width, rows; /* rows 0: 1 to ROWS - 1 */
  random_model model;
} served;

static served pool[ENGINES];
static uint64_t state;
static uint64_t compiled, runs, refused;
static char path[256];

static void fail(const char *what, bsm_status status) {
  fprintf(stderr, "soak: %s%s%s\n", what, status ? ": " : "",
          status ? bsm_status_message(status) : "");
  exit(1);
}

static void check(bsm_status status, const char *what) {
  if (status) fail(what, status);
}

/* ---- engines ---- */

static void discard(served *s) {
  /* The engine may go before its contexts: they keep it. */
  const bool engine_first = random_below(&state, 2) != 0;
  if (engine_first) bsm_engine_destroy(s->engine);
  for (size_t i = 0; i < CONTEXTS; i++) bsm_context_destroy(s->contexts[i]);
  if (!engine_first) bsm_engine_destroy(s->engine);
  memset(s, 0, sizeof(*s));
}

/* Through a file, mapped or read. */
static void reload(bsm_engine **engine) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.no_map = random_below(&state, 2) != 0;
  check(bsm_engine_save(*engine, path), "cannot save");
  bsm_engine_destroy(*engine);
  check(bsm_engine_load(path, &options, engine), "cannot load");
}

static void compile(served *s) {
  random_model *const model = &s->model;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module = NULL;
  random_model_make(model, &state);
  s->width = model->width;
  s->rows = random_below(&state, 3) ? 1 + random_below(&state, ROWS - 1) : 0;
  spec.rank = 2;
  spec.min[0] = s->rows ? s->rows : 1;
  spec.opt[0] = s->rows ? s->rows : 4;
  spec.max[0] = s->rows ? s->rows : ROWS - 1;
  spec.min[1] = spec.opt[1] = spec.max[1] = model->width;
  options.no_timing = true;
  options.threads = 1 + (int)random_below(&state, 2);
  options.inputs = &spec;
  options.input_count = 1;
  check(
      bsm_module_load_memory(model->text, model->length, "soak", NULL, &module),
      model->text);
  check(bsm_compile(module, &options, &s->engine), model->text);
  bsm_module_destroy(module);
  compiled++;
  if (random_below(&state, 2)) reload(&s->engine);
}

/* A file that was damaged on its way is refused, and leaves nothing behind. */
static void load_damaged(const served *s) {
  bsm_engine *engine = NULL;
  void *bytes = NULL;
  size_t size = 0;
  check(bsm_engine_save_memory(s->engine, NULL, &bytes, &size), "cannot save");
  ((uint8_t *)bytes)[random_below(&state, (uint32_t)size)] ^= 0x10;
  bsm_status status = bsm_engine_load_memory(bytes, size, NULL, &engine);
  refused += status != NULL;
  bsm_status_free(status);
  bsm_engine_destroy(engine);
  bsm_bytes_free(bytes);
}

/* ---- runs ---- */

static bsm_context *context_of(served *s, size_t which) {
  if (!s->contexts[which]) {
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    options.threads = 1 + (int)random_below(&state, 2);
    options.max_plans = 2;
    check(bsm_context_create(s->engine, &options, &s->contexts[which]),
          "cannot make a context");
  }
  return s->contexts[which];
}

/* The bytes of the first output; from malloc. */
static void *run(served *s, size_t which, int64_t rows, const float *input,
                 size_t *size) {
  const bsm_array in = {(void *)(uintptr_t)input,
                        BSM_DTYPE_FLOAT,
                        {.rank = 2, .d = {rows, s->width}},
                        NULL};
  bsm_context *context = context_of(s, which);
  bsm_array out;
  check(bsm_context_run_keep(context, &in, 1), "a run failed");
  check(bsm_context_output(context, 0, &out), "no output");
  *size = bsm_dtype_size(out.dtype);
  for (int32_t i = 0; i < out.dims.rank; i++) *size *= (size_t)out.dims.d[i];
  void *copy = malloc(*size + 1);
  if (!copy) fail("no memory", NULL);
  memcpy(copy, out.data, *size);
  runs++;
  return copy;
}

/* A call of a program comes from the reference library at first and from a plan
 * of its own later, so bits may differ. */
static bool agree(const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabsf(a[i] - b[i]) <= 1e-5f * fabsf(a[i]) + 1e-35f)) return false;
  }
  return true;
}

static void serve(served *s) {
  static float input[ROWS * 64];
  const int64_t rows = s->rows ? s->rows : 1 + random_below(&state, ROWS - 1);
  /* Nothing negative: sums in which large numbers cancel would have other first
   * digits where the last bits of the summands differ. */
  for (int64_t i = 0; i < rows * s->width; i++) {
    const bool zero = random_below(&state, 4) == 0;
    input[i] = zero ? 0.0f : (float)random_below(&state, 2048) / 1024.0f;
  }
  size_t sizes[2];
  void *a = run(s, random_below(&state, CONTEXTS), rows, input, &sizes[0]);
  void *b = run(s, random_below(&state, CONTEXTS), rows, input, &sizes[1]);
  if (sizes[0] != sizes[1] || !agree(a, b, sizes[0] / sizeof(float))) {
    fprintf(stderr, "%s%" PRId64 " rows\n", s->model.text, rows);
    fail("two contexts give different results", NULL);
  }
  free(a);
  free(b);
}

static void turn(void) {
  served *s = &pool[random_below(&state, ENGINES)];
  if (s->engine && random_below(&state, 4) == 0) discard(s);
  if (!s->engine) compile(s);
  const uint32_t times = 1 + random_below(&state, 4);
  for (uint32_t i = 0; i < times; i++) serve(s);
  if (random_below(&state, 8) == 0) {
    bsm_context **gone = &s->contexts[random_below(&state, CONTEXTS)];
    bsm_context_destroy(*gone);
    *gone = NULL;
  }
  if (random_below(&state, 8) == 0) load_damaged(s);
}

/* ---- what is in use ---- */

typedef struct usage {
  size_t bytes, resident, files;
} usage;

static usage measure(void) {
  usage now = {0};
#ifndef BSM_SANITIZED /* their allocators say nothing of this */
  const struct mallinfo2 info = mallinfo2();
  now.bytes = info.uordblks + info.hblkhd;
#endif
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long size = 0, resident = 0;
  if (file && fscanf(file, "%lu %lu", &size, &resident) == 2) {
    now.resident = (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
  }
  if (file) fclose(file);
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) now.files++;
  if (folder) closedir(folder);
  return now;
}

static void compare(const usage *first, const usage *now) {
  if (now->bytes > first->bytes + SLACK) fail("memory in use grows", NULL);
  if (now->resident > first->resident + RESIDENT) {
    fail("resident memory grows", NULL);
  }
  if (now->files > first->files) fail("open files grow", NULL);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  state = state * UINT64_C(0x9e3779b97f4a7c15) + 1;
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof(path), "%s/soak-%ld.bsm", folder ? folder : "/tmp",
           (long)getpid());
  usage first = {0}, now = {0};
  uint64_t laps = 0;
  const time_t start = time(NULL);
  do {
    for (int i = 0; i < TURNS; i++) turn();
    for (size_t i = 0; i < ENGINES; i++) discard(&pool[i]);
    unlink(path);
    now = measure();
    if (++laps == WARM_UP) first = now;
    if (laps > WARM_UP) compare(&first, &now);
  } while (laps <= WARM_UP || difftime(time(NULL), start) < seconds);
  printf(
      "%" PRIu64 " laps, %" PRIu64 " engines, %" PRIu64 " runs, %" PRIu64
      " damaged files refused\n"
      "in use after lap %d and now: %zu and %zu bytes, %zu and %zu resident, "
      "%zu and %zu files\n",
      laps, compiled, runs, refused, WARM_UP, first.bytes, now.bytes,
      first.resident, now.resident, first.files, now.files);
  return 0;
}
