/* SPDX-License-Identifier: Apache-2.0 */
/* Engines on a GPU for a long time: sixteen contexts of one engine, each in a
 * thread and a stream of its own, and one context that meets thousands of
 * shapes. All results are right, contexts give the same bits each time, and
 * neither the memory of the host and of the device grows, nor the number of
 * open files.
 *
 *   gpu_stress_test [SECONDS [SHAPES]]      1 second and 200 shapes unless told
 *
 * On a GPU it should be alone where the driver does not tell what memory each
 * process has: others' counts then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/cuda/cuda_internal.h"
#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "cuda/memory_map.h"
#include "cuda/process_memory.h"
#include "cuda/standin_cuda.h"
#include "runtime/engine/engine.h"

static double seconds = 1;
static int shapes = 200;
static bool is_standin;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what may not grow ---- */

typedef struct usage {
  double host, device; /* in MB */
  double allocated;    /* of the host's: what malloc has given */
  int files;
} usage;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOST_IS_WATCHED false /* sanitizers keep what is freed */
#else
#define HOST_IS_WATCHED true
#endif

/* malloc keeps what is freed at the end of each of its arenas, which threads
 * have in turn, and keeps more of it the larger the blocks are that it has
 * seen: the most that any turn took, so that a process may grow late, once, and
 * for nothing. With fixed limits it gives that back. */
static void measure_what_is_used(void) {
#ifdef M_TRIM_THRESHOLD
  if (!HOST_IS_WATCHED) return; /* there is another malloc */
  assert_int_equal(mallopt(M_MMAP_THRESHOLD, 128 << 10), 1);
  assert_int_equal(mallopt(M_TRIM_THRESHOLD, 128 << 10), 1);
#endif
}

/* statm has a counter that each CPU adds to now and then: on machines with many
 * it is off by tens of MB, and catches up late. This one looks at the pages. */
static double host_megabytes(void) {
  char line[256];
  long resident = -1;
  malloc_trim(0);
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  assert_non_null(f);
  while (resident < 0 && fgets(line, sizeof(line), f)) {
    if (sscanf(line, "Rss: %ld kB", &resident) != 1) resident = -1;
  }
  fclose(f);
  assert_true(resident >= 0);
  return (double)resident / 1024.0;
}

static double device_megabytes(const bsm_engine *engine) {
  size_t available = 0, total = 0;
  const unsigned long long own = is_standin ? 0 : process_memory();
  if (own) return (double)own / 1048576.0;
  bsm_cuda_device *d = bsm_cuda_device_of(engine->devices[BSM_SPACE_DEVICE]);
  check(bsm_cuda_enter(d));
  assert_int_equal(d->driver.memory_info(&available, &total), 0);
  bsm_cuda_leave(d);
  return (double)(total - available) / 1048576.0;
}

static memory_map maps[2]; /* early and late, for what grows */

static standin_report_fn *report; /* NULL: a real driver */

/* The stand-in keeps a file for each module, which is loaded when a shape is
 * the first to want its kernel. */
static int files_of_standin(void) {
  standin_report r = {0};
  if (report) report(&r);
  return r.modules;
}

static usage look(const bsm_engine *engine) {
  static memory_map malloced;
  usage u = {.host = host_megabytes(), .device = device_megabytes(engine)};
  memory_map_malloc(&malloced);
  u.allocated = (double)(malloced.allocated + malloced.mapped) / 1048576.0;
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  while (readdir(folder)) u.files++;
  u.files -= files_of_standin();
  closedir(folder);
  return u;
}

static void assert_flat(const char *what, const usage *early,
                        const usage *late) {
  const bool is_own = !is_standin && process_memory() > 0;
  print_message(
      "%s: host %.1f MB, then %.1f, of which malloc gave %.1f, then %.1f; "
      "device %.1f MB, then %.1f%s; %d files, then %d\n",
      what, early->host, late->host, early->allocated, late->allocated,
      early->device, late->device, is_own ? " of this process" : "",
      early->files, late->files);
  /* The driver takes memory for streams and graphs in large pieces. */
  const double grain = is_standin ? 4 : 32;
  const bool grows =
      HOST_IS_WATCHED &&
      (late->host > early->host + 8 || late->allocated > early->allocated + 1);
  if (grows) {
    memory_map_read(&maps[1]);
    memory_map_tell(&maps[0], &maps[1], 256);
  }
  assert_false(grows);
  assert_true(late->device < early->device + grain);
  assert_int_equal(late->files, early->files);
}

/* ---- engines ---- */

/* Products, rows, elements and indices. */
static const char model_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %q : Tensor = aten::relu(%p)\n"
    "  %v : Tensor = aten::softmax(%q, %one, %none)\n"
    "  %c : Tensor = aten::add(%v, %x, %one)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

/* Turns of which data says how many: a program. */
static const char program_text[] =
    "graph(%x : Tensor, %w : Tensor, %i : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %limit : float = prim::Constant[value=150.]()\n"
    "  %turns : int = prim::Constant[value=9]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %c : Tensor = prim::Loop(%turns, %true, %x)\n"
    "    block0(%k : int, %h : Tensor):\n"
    "      %p : Tensor = aten::matmul(%h, %w)\n"
    "      %v : Tensor = aten::softmax(%p, %one, %none)\n"
    "      %d : Tensor = aten::add(%v, %h, %one)\n"
    "      %s : Tensor = aten::sum(%d, %none)\n"
    "      %n : Scalar = aten::item(%s)\n"
    "      %go : bool = aten::lt(%n, %limit)\n"
    "      -> (%go, %d)\n"
    "  %z : Tensor = aten::index_select(%c, %zero, %i)\n"
    "  return (%c, %z)\n";

/* Batches and lengths that range: products of what ranges, rows that are short
 * or long, a concatenation, a mean. */
static const char rows_text[] =
    "graph(%x : Tensor, %w : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %two : int = prim::Constant[value=2]()\n"
    "  %middle : int[] = prim::ListConstruct(%one)\n"
    "  %p : Tensor = aten::matmul(%x, %w)\n"
    "  %t : Tensor = aten::transpose(%p, %one, %two)\n"
    "  %q : Tensor = aten::matmul(%x, %t)\n"
    "  %s : Tensor = aten::softmax(%q, %two, %none)\n"
    "  %o : Tensor = aten::matmul(%s, %p)\n"
    "  %both : Tensor[] = prim::ListConstruct(%o, %x)\n"
    "  %c : Tensor = aten::cat(%both, %one)\n"
    "  %m : Tensor = aten::mean(%c, %middle, %false, %none)\n"
    "  %g : Tensor = aten::gelu(%c)\n"
    "  return (%g, %m)\n";

enum { MAX_INPUTS = 3, MAX_OUTPUTS = 4, ROWS = 12, WIDTH = 24, PICKED = 5 };

typedef struct input {
  bsm_dtype dtype;
  int32_t rank;
  int64_t min[4], opt[4], max[4];
} input;

typedef struct model {
  const char *text; /* NULL: the file */
  const char *file;
  size_t inputs, outputs;
  input ranges[MAX_INPUTS];
} model;

#define F BSM_DTYPE_FLOAT
#define FIXED(...)                \
  {__VA_ARGS__}, {__VA_ARGS__}, { \
    __VA_ARGS__                   \
  }
#define FIXED_INPUTS                                           \
  3, 2, {                                                      \
    {F, 2, FIXED(ROWS, WIDTH)}, {F, 2, FIXED(WIDTH, WIDTH)}, { \
      BSM_DTYPE_INT64, 1, FIXED(PICKED)                        \
    }                                                          \
  }

static const model fixed = {model_text, NULL, FIXED_INPUTS};
static const model program = {program_text, NULL, FIXED_INPUTS};
static const model rows = {
    rows_text,
    NULL,
    2,
    2,
    {{F, 3, {1, 1, 16}, {2, 9, 16}, {3, 60, 16}}, {F, 2, FIXED(16, 16)}}};
static const model windows = {
    NULL,
    BSM_TEST_DATA_DIR "/ranging/windows.ts",
    1,
    4,
    {{F, 4, {0, 4, 3, 3}, {2, 4, 8, 9}, {5, 4, 24, 24}}}};

static bsm_engine *compile(const model *m, const char *target) {
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  bsm_input_spec specs[MAX_INPUTS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  for (size_t i = 0; i < m->inputs; i++) {
    const input *in = &m->ranges[i];
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = in->dtype;
    specs[i].rank = in->rank;
    memcpy(specs[i].min, in->min, sizeof(in->min));
    if (!memcmp(in->min, in->max, sizeof(in->min))) continue;
    memcpy(specs[i].opt, in->opt, sizeof(in->opt));
    memcpy(specs[i].max, in->max, sizeof(in->max));
  }
  options.target = target;
  options.inputs = specs;
  options.input_count = m->inputs;
  options.no_timing = true;
  options.threads = 1;
  check(m->text ? bsm_module_load_memory(m->text, strlen(m->text), "test.ir",
                                         NULL, &module)
                : bsm_module_load(m->file, NULL, &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

/* ---- arrays ---- */

static size_t count_of(const bsm_array *a) {
  size_t n = 1;
  for (int32_t i = 0; i < a->dims.rank; i++) n *= (size_t)a->dims.d[i];
  return n;
}

static size_t bytes_of(const bsm_array *a) {
  return count_of(a) * bsm_dtype_size(a->dtype);
}

static void fill(bsm_array *a, uint32_t *state) {
  for (size_t i = 0; i < count_of(a); i++) {
    *state = *state * 1664525u + 1013904223u;
    if (a->dtype == F) {
      ((float *)a->data)[i] = (float)(*state >> 8) / 8388608.0f - 1.0f;
    } else {
      ((int64_t *)a->data)[i] = *state >> 8 & 7;
    }
  }
}

/* The largest difference, beside the largest value that is wanted. */
static void assert_near(const bsm_array *got, const bsm_array *want) {
  double scale = 0, worst = 0;
  const float *a = got->data, *b = want->data;
  assert_int_equal(got->dtype, want->dtype);
  assert_int_equal(got->dims.rank, want->dims.rank);
  assert_memory_equal(got->dims.d, want->dims.d,
                      (size_t)want->dims.rank * sizeof(int64_t));
  for (size_t i = 0; i < count_of(want); i++) {
    const double difference = fabs((double)a[i] - (double)b[i]);
    if (!(difference <= worst)) worst = difference;
    scale = fmax(scale, fabs((double)b[i]));
  }
  if (!(worst <= 2e-5 * scale + 1e-6)) {
    fail_msg("%s differs by %g at scale %g", bsm_dims_str(want->dims), worst,
             scale);
  }
}

/* ---- sixteen threads ---- */

enum { WORKERS = 16, SETS = 3, LIFE = 40, OUTPUTS = 2 };

/* The arrays of one run. */
typedef struct set {
  float x[ROWS * WIDTH], w[WIDTH * WIDTH];
  int64_t i[PICKED];
  float c[ROWS * WIDTH], z[PICKED * WIDTH];           /* what came */
  float want_c[ROWS * WIDTH], want_z[PICKED * WIDTH]; /* the first time */
  bsm_array in[MAX_INPUTS], out[OUTPUTS];
  bsm_array far_in[MAX_INPUTS], far_out[OUTPUTS];
} set;

typedef struct worker {
  const bsm_engine *engine;
  set sets[SETS];
  double until;
  long turns;
  int wrong;
  bsm_status status;
} worker;

static bsm_device *device_of(const bsm_engine *engine) {
  return engine->devices[BSM_SPACE_DEVICE];
}

static bsm_array far_array(const bsm_engine *engine, const bsm_array *near) {
  bsm_device *device = device_of(engine);
  bsm_array far = *near;
  far.space = BSM_SPACE_DEVICE;
  check(device->ops->allocate(device, NULL, bytes_of(near), BSM_ALIGNMENT,
                              &far.data));
  return far;
}

static void set_init(set *s, const bsm_engine *engine, const model *m,
                     uint32_t seed) {
  void *in[MAX_INPUTS] = {s->x, s->w, s->i}, *out[OUTPUTS] = {s->c, s->z};
  const bsm_dims out_dims[OUTPUTS] = {{2, {ROWS, WIDTH}}, {2, {PICKED, WIDTH}}};
  for (size_t k = 0; k < MAX_INPUTS; k++) {
    const input *range = &m->ranges[k];
    s->in[k] = (bsm_array){.data = in[k], .dtype = range->dtype};
    s->in[k].dims.rank = range->rank;
    memcpy(s->in[k].dims.d, range->min, sizeof(range->min));
    fill(&s->in[k], &seed);
    s->far_in[k] = far_array(engine, &s->in[k]);
  }
  for (size_t k = 0; k < OUTPUTS; k++) {
    s->out[k] = (bsm_array){.data = out[k], .dtype = F, .dims = out_dims[k]};
    s->far_out[k] = far_array(engine, &s->out[k]);
  }
}

static void set_destroy(set *s, const bsm_engine *engine) {
  bsm_device *d = device_of(engine);
  for (int k = 0; k < MAX_INPUTS; k++) {
    d->ops->release(d, NULL, s->far_in[k].data);
  }
  for (int k = 0; k < OUTPUTS; k++) {
    d->ops->release(d, NULL, s->far_out[k].data);
  }
}

static void run_once(const bsm_engine *engine, set *s) {
  bsm_context *context = NULL;
  check(bsm_context_create(engine, NULL, &context));
  check(bsm_context_run(context, s->in, MAX_INPUTS, s->out, OUTPUTS));
  bsm_context_destroy(context);
}

/* What has to come: the CPU's numbers, in the bits of the GPU's first run. */
static void expect(set *s, const bsm_engine *engine, const bsm_engine *cpu) {
  run_once(engine, s);
  memcpy(s->want_c, s->c, sizeof(s->c));
  memcpy(s->want_z, s->z, sizeof(s->z));
  run_once(cpu, s);
  bsm_array have[OUTPUTS] = {s->out[0], s->out[1]};
  have[0].data = s->want_c;
  have[1].data = s->want_z;
  for (int k = 0; k < OUTPUTS; k++) assert_near(&have[k], &s->out[k]);
}

/* Arrays of the host, or of the device with copies in the same stream. */
static bsm_status run_set(set *s, bsm_context *context, bsm_stream *stream,
                          bool far) {
  const bsm_device_ops *ops = stream->device->ops;
  memset(s->c, 0xee, sizeof(s->c));
  memset(s->z, 0xee, sizeof(s->z));
  if (!far) {
    return bsm_context_run(context, s->in, MAX_INPUTS, s->out, OUTPUTS);
  }
  for (int k = 0; k < MAX_INPUTS; k++) {
    BSM_TRY(ops->upload(stream, s->far_in[k].data, s->in[k].data,
                        bytes_of(&s->in[k])));
  }
  BSM_TRY(
      bsm_context_enqueue(context, s->far_in, MAX_INPUTS, s->far_out, OUTPUTS));
  for (int k = 0; k < OUTPUTS; k++) {
    BSM_TRY(ops->download(stream, s->out[k].data, s->far_out[k].data,
                          bytes_of(&s->out[k])));
  }
  BSM_TRY(bsm_context_synchronize(context));
  return ops->synchronize(stream);
}

/* A context and a stream, for some turns. */
static bsm_status live(worker *w, bsm_context *context, bsm_stream *stream) {
  for (int i = 0; i < LIFE && now() < w->until; i++, w->turns++) {
    set *s = &w->sets[w->turns % SETS];
    BSM_TRY(run_set(s, context, stream, w->turns / SETS % 2));
    w->wrong += memcmp(s->c, s->want_c, sizeof(s->c)) != 0;
    w->wrong += memcmp(s->z, s->want_z, sizeof(s->z)) != 0;
  }
  return BSM_OK;
}

static void *work(void *arg) {
  worker *w = arg;
  bsm_device *device = device_of(w->engine);
  while (!w->status && now() < w->until) {
    const bsm_stream_options streaming = {.isa = BSM_ISA_DETECT};
    bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
    bsm_context *context = NULL;
    bsm_stream *stream = NULL;
    w->status = device->ops->stream_create(device, &streaming, &stream);
    if (w->status) break;
    options.threads = 1;
    options.stream = ((bsm_cuda_stream *)stream)->stream;
    w->status = bsm_context_create(w->engine, &options, &context);
    if (!w->status) w->status = live(w, context, stream);
    bsm_context_destroy(context);
    device->ops->stream_destroy(stream);
  }
  return NULL;
}

static long run_workers(worker *workers, double duration) {
  pthread_t threads[WORKERS];
  const double until = now() + duration;
  long turns = 0;
  for (int i = 0; i < WORKERS; i++) {
    workers[i].until = until;
    workers[i].turns = 0;
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    check(workers[i].status);
    assert_int_equal(workers[i].wrong, 0);
    turns += workers[i].turns;
  }
  return turns;
}

static void test_contexts(void **state) {
  const model *m = *state;
  static worker workers[WORKERS];
  bsm_engine *engine = compile(m, "cuda"), *cpu = compile(m, "cpu");
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.engine = engine};
    for (int k = 0; k < SETS; k++) {
      set_init(&workers[i].sets[k], engine, m, (uint32_t)(i * SETS + k + 1));
      expect(&workers[i].sets[k], engine, cpu);
    }
  }
  for (int part = 0; part < 2; part++) run_workers(workers, seconds / 10);
  /* What a load takes once comes in its first seconds; what leaks, as long as
   * it lasts. */
  usage early = look(engine), late = early;
  long turns = 0;
  for (int part = 0; part < 4; part++) {
    turns += run_workers(workers, seconds / 5);
    late = look(engine);
    if (part == 0) {
      early = late;
      memory_map_read(&maps[0]);
    }
    print_message("%ld runs: host %.1f MB, device %.1f MB\n", turns, late.host,
                  late.device);
  }
  print_message("%ld runs in %d threads\n", turns, WORKERS);
  assert_true(turns >= WORKERS);
  assert_flat(m == &fixed ? "contexts" : "programs", &early, &late);
  for (int i = 0; i < WORKERS; i++) {
    for (int k = 0; k < SETS; k++) set_destroy(&workers[i].sets[k], engine);
  }
  bsm_engine_destroy(cpu);
  bsm_engine_destroy(engine);
}

/* ---- many shapes ---- */

/* Arrays of a shape in the range, new memory each. */
static void draw_inputs(const model *m, bsm_array *arrays, uint32_t *state) {
  for (size_t k = 0; k < m->inputs; k++) {
    const input *range = &m->ranges[k];
    arrays[k] = (bsm_array){.dtype = range->dtype};
    arrays[k].dims.rank = range->rank;
    for (int32_t d = 0; d < range->rank; d++) {
      *state = *state * 1664525u + 1013904223u;
      arrays[k].dims.d[d] =
          range->min[d] +
          (int64_t)((*state >> 8) %
                    (uint32_t)(range->max[d] - range->min[d] + 1));
    }
    arrays[k].data = malloc(bytes_of(&arrays[k]) + 1);
    assert_non_null(arrays[k].data);
    fill(&arrays[k], state);
  }
}

static void run_shape(const model *m, bsm_context *gpu, bsm_context *cpu,
                      uint32_t *state) {
  bsm_array in[MAX_INPUTS], got, want;
  draw_inputs(m, in, state);
  check(bsm_context_run_keep(gpu, in, m->inputs));
  check(bsm_context_run_keep(cpu, in, m->inputs));
  for (size_t k = 0; k < m->outputs; k++) {
    check(bsm_context_output(gpu, k, &got));
    check(bsm_context_output(cpu, k, &want));
    assert_near(&got, &want);
  }
  for (size_t k = 0; k < m->inputs; k++) free(in[k].data);
}

static void test_shapes(void **state) {
  const model *m = *state;
  bsm_engine *engine = compile(m, "cuda"), *cpu = compile(m, "cpu");
  bsm_context *on_gpu = NULL, *on_cpu = NULL;
  uint32_t random = 7;
  usage early = {0};
  check(bsm_context_create(engine, NULL, &on_gpu));
  check(bsm_context_create(cpu, NULL, &on_cpu));
  for (int i = 0; i < shapes / 2; i++) {
    if (i == shapes / 10) {
      early = look(engine);
      memory_map_read(&maps[0]);
    }
    run_shape(m, on_gpu, on_cpu, &random);
  }
  const usage late = look(engine);
  print_message("%d shapes\n", shapes / 2);
  assert_flat(m == &rows ? "rows" : "windows", &early, &late);
  bsm_context_destroy(on_gpu);
  bsm_context_destroy(on_cpu);
  bsm_engine_destroy(cpu);
  bsm_engine_destroy(engine);
}

/* ---- the stand-in ---- */

static void find_standin(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return;
  void *f[] = {dlsym(library, "standin_get_report"),
               dlsym(library, "standin_reset")};
  standin_reset_fn *reset;
  memcpy(&report, &f[0], sizeof(f[0]));
  memcpy(&reset, &f[1], sizeof(f[1]));
  is_standin = reset != NULL;
  if (reset) reset(1, 13000, (size_t)1 << 30);
}

/* Nothing was done wrong, and nothing is left. */
static int nothing_is_left(void **state) {
  standin_report r;
  (void)state;
  if (!is_standin) return 0;
  bsm_cuda_let_go(-1);
  report(&r);
  if (r.misuses) print_error("%s\n", r.last_misuse);
  return r.misuses + r.contexts + r.streams + r.events + r.modules + r.graphs +
         r.executables + r.device_blocks + r.host_blocks;
}

#define STRESS(name, function, model)             \
  {                                               \
    name, function, NULL, nothing_is_left,        \
        (void *)(uintptr_t)(const void *)&(model) \
  }

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      STRESS("contexts", test_contexts, fixed),
      STRESS("programs", test_contexts, program),
      STRESS("rows", test_shapes, rows),
      STRESS("windows", test_shapes, windows),
  };
#ifndef BSM_HAS_EMULATION
  if (argc < 2) {
    print_message("skipped: no C++ compiler was found\n");
    return 0;
  }
#endif
  if (argc > 1) seconds = atof(argv[1]);
  if (argc > 2) shapes = atoi(argv[2]);
  if (argc > 3 || !(seconds > 0) || shapes < 20) {
    fprintf(stderr, "usage: %s [SECONDS [SHAPES]]\n", argv[0]);
    return 1;
  }
  measure_what_is_used();
  find_standin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
