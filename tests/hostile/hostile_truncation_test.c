/* SPDX-License-Identifier: Apache-2.0 */
/* Files that lose their bytes while they are used, as by `cp new old` under a
 * server: what was loaded with no_map goes on as if nothing had happened. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bessemer/bessemer.h"
#include "hostile/hostile.h"

#define MODEL BSM_TEST_DATA_DIR "/models/unet-trace.ts"

typedef struct fixture {
  char folder[64], model[96], engine[96];
} fixture;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* A copy of the model that may be destroyed. */
static int set_up(void **state) {
  static fixture f;
  size_t size;
  uint8_t *bytes = hostile_read_file(MODEL, &size);
  strcpy(f.folder, "/tmp/bsm-truncation-XXXXXX");
  if (!mkdtemp(f.folder)) return -1;
  snprintf(f.model, sizeof(f.model), "%s/model.ts", f.folder);
  snprintf(f.engine, sizeof(f.engine), "%s/model.bsm", f.folder);
  FILE *file = fopen(f.model, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) return -1;
  free(bytes);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  const fixture *f = *state;
  unlink(f->model);
  unlink(f->engine);
  return rmdir(f->folder);
}

static void lose(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_true(info.st_size > 65536); /* smaller files are never mapped */
  assert_int_equal(truncate(path, 100), 0);
}

/* One whose engine is large: 128 KiB of weights. */
static const char product[] =
    "graph(%x : Float(1, 128)):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %count : int = prim::Constant[value=32768]()\n"
    "  %dims : int[] = prim::Constant[value=[128, 256]]()\n"
    "  %n : Tensor = aten::arange(%count, %none, %none, %none, %none)\n"
    "  %s : Tensor = aten::sin(%n)\n"
    "  %w : Tensor = aten::view(%s, %dims)\n"
    "  %y : Tensor = aten::matmul(%x, %w)\n"
    "  return (%y)\n";

static void compile_and_save(bsm_module *module, const bsm_input_spec *spec,
                             const char *path) {
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_engine *engine = NULL;
  options.inputs = spec;
  options.input_count = spec ? 1 : 0;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_compile(module, &options, &engine));
  check(bsm_engine_save(engine, path));
  bsm_engine_destroy(engine);
}

static void make_engine(const char *path) {
  bsm_module *module = NULL;
  check(bsm_module_load_memory(product, strlen(product), "product", NULL,
                               &module));
  compile_and_save(module, NULL, path);
  bsm_module_destroy(module);
}

/* The bytes of the engine of the model, which is lost on the way or not. */
static uint8_t *compile_file(const fixture *f, bool losing, size_t *size) {
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  bsm_module *module = NULL;
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  const int64_t dims[4] = {1, 3, 32, 32};
  spec.rank = 4;
  memcpy(spec.min, dims, sizeof(dims));
  memcpy(spec.opt, dims, sizeof(dims));
  memcpy(spec.max, dims, sizeof(dims));
  options.no_map = true;
  check(bsm_module_load(f->model, &options, &module));
  if (losing) lose(f->model);
  compile_and_save(module, &spec, f->engine);
  bsm_module_destroy(module);
  return hostile_read_file(f->engine, size);
}

/* The first output, of inputs of 0x3c3c3c3c. */
static void run(const bsm_engine *engine, float *out, size_t count) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  bsm_array in[HOSTILE_MAX_ARRAYS] = {{0}}, arrays[HOSTILE_MAX_ARRAYS] = {{0}};
  options.threads = 1;
  assert_true(hostile_arrays(engine, 0x3c, in, arrays));
  check(bsm_context_create(engine, &options, &context));
  check(bsm_context_run(context, in, bsm_engine_input_count(engine), arrays,
                        bsm_engine_output_count(engine)));
  memcpy(out, arrays[0].data, count * sizeof(*out));
  bsm_context_destroy(context);
  hostile_free_arrays(in);
  hostile_free_arrays(arrays);
}

enum { COUNT = 64 };

static void engines_that_were_read_survive(void **state) {
  const fixture *f = *state;
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_engine *engine = NULL;
  float before[COUNT], after[COUNT];
  make_engine(f->engine);
  options.no_map = true;
  check(bsm_engine_load(f->engine, &options, &engine));
  run(engine, before, COUNT);
  lose(f->engine);
  run(engine, after, COUNT);
  assert_memory_equal(before, after, sizeof(before));
  bsm_engine_destroy(engine);
}

static void models_that_were_read_survive(void **state) {
  const fixture *f = *state;
  size_t sizes[2];
  uint8_t *engines[2];
  for (int i = 0; i < 2; i++) engines[i] = compile_file(f, i == 1, &sizes[i]);
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(engines[0], engines[1], sizes[0]);
  free(engines[0]);
  free(engines[1]);
}

/* Which is what the header says, and what no_map is for. */
static void maps_do_not(void **state) {
  const fixture *f = *state;
  int status = 0;
  make_engine(f->engine);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    bsm_engine *engine = NULL;
    float out[COUNT];
    signal(SIGBUS, SIG_DFL); /* sanitizers have a handler */
    check(bsm_engine_load(f->engine, NULL, &engine));
    lose(f->engine);
    run(engine, out, COUNT);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(engines_that_were_read_survive),
      TEST(models_that_were_read_survive),
      TEST(maps_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
