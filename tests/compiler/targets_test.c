/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for targets: what is built depends on the model, the target and the
 * options alone, not on the machine that builds. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/isa.h"
#include "bessemer/bessemer.h"

#define MODELS BSM_TEST_DATA_DIR "/models/"

static void check_status(bsm_status status, const char *what) {
  if (status) fail_msg("%s: %s", what, bsm_status_message(status));
}

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

static bytes read_file(const char *path) {
  bytes b = {0};
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  b.size = (size_t)ftell(file);
  rewind(file);
  b.data = malloc(b.size + 1);
  assert_non_null(b.data);
  assert_int_equal(fread(b.data, 1, b.size, file), b.size);
  fclose(file);
  return b;
}

static bsm_status build(const char *model, const char *target, int threads,
                        bool no_timing, bsm_engine **out) {
  char path[512];
  bsm_module *module;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  snprintf(path, sizeof(path), MODELS "%s", model);
  check_status(bsm_module_load(path, NULL, &module), path);
  options.no_timing = no_timing;
  options.target = target;
  options.threads = threads;
  bsm_status status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

/* The file of an engine. */
static bytes file_of(const char *model, const char *target, int threads) {
  char path[] = "/tmp/bsm_targets_XXXXXX";
  const int fd = mkstemp(path);
  bsm_engine *engine;
  assert_true(fd >= 0);
  close(fd);
  check_status(build(model, target, threads, true, &engine), model);
  check_status(bsm_engine_save(engine, path), path);
  bsm_engine_destroy(engine);
  const bytes b = read_file(path);
  unlink(path);
  return b;
}

static void assert_same(const char *model, bytes a, bytes b) {
  if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0) {
    fail_msg("%s: %zu and %zu bytes differ", model, a.size, b.size);
  }
  free(a.data);
  free(b.data);
}

static const char *const models[] = {"mobilenet-exported.pt2",
                                     "unet-exported.pt2", "resnet-exported.pt2",
                                     "bert-exported.pt2"};
#define MODEL_COUNT (sizeof(models) / sizeof(models[0]))

/* This machine by its text is this machine. */
static void test_own_text(void **state) {
  (void)state;
  char *text;
  check_status(bsm_target_text(NULL, &text), "text");
  assert_int_equal(strncmp(text, "cpu:", 4), 0);
  for (size_t i = 0; i < MODEL_COUNT; i++) {
    assert_same(models[i], file_of(models[i], NULL, 0),
                file_of(models[i], text, 0));
    assert_same(models[i], file_of(models[i], "cpu", 0),
                file_of(models[i], text, 0));
  }
  bsm_string_free(text);
}

/* Confined to one CPU, the process builds the same for another machine. */
static void test_other_machines(void **state) {
  (void)state;
  static const char *const targets[] = {"cpu:scalar", "cpu:avx2",
                                        "cpu:avx2,threads=4,l2=512K",
                                        "cpu:avx512,threads=2,l2=1M"};
  bytes free_to_roam[4][MODEL_COUNT];
  cpu_set_t before, one;
  for (size_t t = 0; t < 4; t++) {
    for (size_t i = 0; i < MODEL_COUNT; i++) {
      free_to_roam[t][i] = file_of(models[i], targets[t], 0);
    }
  }
  assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
  for (size_t t = 0; t < 4; t++) {
    for (size_t i = 0; i < MODEL_COUNT; i++) {
      assert_same(models[i], free_to_roam[t][i],
                  file_of(models[i], targets[t], 0));
    }
  }
  assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* The engine tells what it was built for, in full, and other parameters make
 * another engine. */
static void test_stamp(void **state) {
  (void)state;
  bsm_engine *engine;
  check_status(build(models[0], "cpu:avx2,threads=3", 0, true, &engine), "");
  assert_string_equal(bsm_engine_metadata(engine, "builder.target"),
                      "cpu:avx2,threads=3,l2=1048576");
  bsm_engine_destroy(engine);
  check_status(build(models[0], "cpu:scalar", 5, true, &engine), "");
  assert_string_equal(bsm_engine_metadata(engine, "builder.target"),
                      "cpu:scalar,threads=5,l2=1048576");
  bsm_engine_destroy(engine);
}

static void assert_refused(const char *target, int threads, bsm_code code,
                           const char *piece) {
  bsm_engine *engine = NULL;
  bsm_status status = build(models[0], target, threads, true, &engine);
  assert_non_null(status);
  assert_null(engine);
  if (!strstr(bsm_status_message(status), piece)) {
    fail_msg("'%s' is not in: %s", piece, bsm_status_message(status));
  }
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static void test_refused(void **state) {
  (void)state;
  const bsm_code bad = BSM_INVALID_ARGUMENT;
  assert_refused("tpu", 0, bad, "there is no target \"tpu\"; there are: cpu");
  assert_refused("", 0, bad, "there is no target \"\"");
  assert_refused("cpu:", 0, bad, "\"\" is no parameter of the target cpu");
  assert_refused("cpu:neon", 0, bad, "\"neon\" is no parameter");
  assert_refused("cpu:avx512_vnni", 0, bad, "scalar, avx2, avx512");
  assert_refused("cpu:avx2,threads=0", 0, bad, "\"threads=0\" is no");
  assert_refused("cpu:avx2,l2=1G", 0, bad, "\"l2=1G\" is no parameter");
  assert_refused("cpu:avx2,l2=99999999999999999999K", 0, bad, "is no");
  assert_refused("cpu:threads=2", 0, bad, "needs its instruction set");
  assert_refused("cpu:avx2,threads=3", 2, bad,
                 "for 3 threads, the options ask for 2");
  char *text;
  bsm_status status = bsm_target_text("cpu:sse", &text);
  assert_int_equal(bsm_status_code(status), bad);
  bsm_status_free(status);
  assert_null(text);
}

/* What this machine cannot run it cannot time. */
static void test_timing_elsewhere(void **state) {
  (void)state;
  if (bsm_isa_detect() & BSM_ISA_AVX512) return;
  bsm_engine *engine;
  bsm_status status = build(models[0], "cpu:avx512", 0, false, &engine);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "build without timing"));
  bsm_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_text),
      cmocka_unit_test(test_other_machines),
      cmocka_unit_test(test_stamp),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_timing_elsewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
