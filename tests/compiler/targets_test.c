/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for targets: what is built depends on the model, the target and the
 * options alone, not on the machine that builds. The linker puts functions of
 * this file in the place of those that ask the machine (cmake/Tests.cmake). */
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

#include "base/caches.h"
#include "base/isa.h"
#include "base/thread_pool.h"
#include "bessemer/bessemer.h"

#define MODELS BSM_TEST_DATA_DIR "/models/"

/* ---- what the machine says of itself ---- */

typedef struct machine {
  const char *name;
  uint32_t without; /* instructions that it does not have */
  bsm_caches caches;
  int cpus;
} machine;

static const machine *pretended; /* NULL: the true one */
static int questions;

uint32_t __real_bsm_isa_detect(void);
uint32_t __wrap_bsm_isa_detect(void);
uint32_t __wrap_bsm_isa_detect(void) {
  questions++;
  return __real_bsm_isa_detect() & ~(pretended ? pretended->without : 0);
}

bsm_caches __real_bsm_detect_caches(void);
bsm_caches __wrap_bsm_detect_caches(void);
bsm_caches __wrap_bsm_detect_caches(void) {
  questions++;
  return pretended ? pretended->caches : __real_bsm_detect_caches();
}

int __real_bsm_available_cpus(void);
int __wrap_bsm_available_cpus(void);
int __wrap_bsm_available_cpus(void) {
  questions++;
  return pretended ? pretended->cpus : __real_bsm_available_cpus();
}

static const machine machines[] = {
    {"small", ~(uint32_t)BSM_ISA_AVX2, {8u << 10, 64u << 10, 1u << 20}, 1},
    {"large", 0, {1u << 20, 64u << 20, 512u << 20}, 7},
    {"old", ~(uint32_t)BSM_ISA_SCALAR, {32u << 10, 256u << 10, 4u << 20}, 2},
};
#define MACHINE_COUNT (sizeof(machines) / sizeof(machines[0]))

/* ---- building ---- */

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

static bool is_same(bytes a, bytes b) {
  return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static void assert_same(const char *model, bytes a, bytes b) {
  if (!is_same(a, b)) {
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
  static const char *const targets[] = {"cpu:scalar",
                                        "cpu:avx2",
                                        "cpu:avx2,threads=4,l2=512K",
                                        "cpu:avx512,threads=2,l2=1M",
                                        "cpu:neon,threads=2",
                                        "cpu:amx"};
  bytes free_to_roam[6][MODEL_COUNT];
  cpu_set_t before, one;
  for (size_t t = 0; t < 6; t++) {
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
  for (size_t t = 0; t < 6; t++) {
    for (size_t i = 0; i < MODEL_COUNT; i++) {
      assert_same(models[i], free_to_roam[t][i],
                  file_of(models[i], targets[t], 0));
    }
  }
  assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Whatever instructions, caches and CPUs the machine has. */
static void test_pretended_machines(void **state) {
  (void)state;
  static const char *const targets[] = {"cpu:scalar",
                                        "cpu:avx2,threads=4,l2=64K",
                                        "cpu:avx512_bf16,threads=2,l2=1M"};
  for (size_t t = 0; t < 3; t++) {
    for (size_t i = 0; i < MODEL_COUNT; i++) {
      const bytes true_one = file_of(models[i], targets[t], 0);
      for (size_t m = 0; m < MACHINE_COUNT; m++) {
        pretended = &machines[m];
        const bytes other = file_of(models[i], targets[t], 0);
        pretended = NULL;
        if (!is_same(true_one, other)) {
          fail_msg("%s for %s differs on the %s machine", models[i], targets[t],
                   machines[m].name);
        }
        free(other.data);
      }
      free(true_one.data);
    }
  }
}

/* The machine is not even asked, but to run what bounds roundings; for itself
 * it is. */
static void test_asks_nothing(void **state) {
  (void)state;
  questions = 0;
  free(file_of("bert-exported.pt2", "cpu:avx2,threads=4,l2=64K", 0).data);
  free(file_of("mobilenet-exported.pt2", "cpu:avx512,l2=64K", 0).data);
  free(file_of("dense-exported.pt2", "cpu:scalar", 0).data);
  assert_int_equal(questions, 0);
  free(file_of("bert-exported.pt2", "cpu", 0).data);
  assert_true(questions > 0);
}

/* Caches and threads make another plan, so what is the same above is not so
 * because nothing depends on them. */
static void test_parameters_count(void **state) {
  (void)state;
  static const char *const small = "cpu:avx2,threads=1,l2=1K";
  static const char *const large = "cpu:avx2,threads=1,l2=16M";
  bsm_engine *a, *b;
  check_status(build("mobilenet-exported.pt2", small, 0, true, &a), small);
  check_status(build("mobilenet-exported.pt2", large, 0, true, &b), large);
  assert_true(bsm_engine_step_count(a) < bsm_engine_step_count(b));
  bsm_engine_destroy(a);
  bsm_engine_destroy(b);
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
  /* The plan around a program, whose parts were built first. */
  char *dump;
  check_status(
      build("../ir_graphs/data_dependent.ir", "cpu:avx2", 3, true, &engine),
      "program");
  check_status(bsm_engine_dump(engine, &dump), "dump");
  const char *first = strstr(dump, "target: cpu:avx2,threads=3,l2=1048576\n");
  assert_non_null(first);
  assert_non_null(strstr(first, "segment 0"));
  bsm_string_free(dump);
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
  assert_refused("cpu:scalar,vnni=no", 0, bad, "vnni=no says nothing about");
  assert_refused("cpu:amx,vnni=no", 0, bad, "for avx2 and avx512");
  assert_refused("cpu:sve", 0, bad, "\"sve\" is no parameter");
  assert_refused("cpu:avx512_vnni", 0, bad,
                 "scalar, avx2, avx512, avx512_bf16, amx, neon");
  assert_refused("cpu:avx2,threads=0", 0, bad, "\"threads=0\" is no");
  assert_refused("cpu:avx2,l2=1G", 0, bad, "\"l2=1G\" is no parameter");
  assert_refused("cpu:avx2,l2=99999999999999999999K", 0, bad, "is no");
  assert_refused("cpu:amx,avx512", 0, bad, "\"avx512\" says again");
  assert_refused("cpu:threads=2", 0, bad, "needs its instruction set");
  assert_refused("cpu:avx2,l2=1M,l2=1M", 0, bad, "\"l2=1M\" says again");
  assert_refused("cpu:avx2,scalar", 0, bad, "\"scalar\" says again");
  assert_refused("cpu:avx2,threads=3", 2, bad,
                 "for 3 threads, the options ask for 2");
  char *text;
  bsm_status status = bsm_target_text("cpu:sse", &text);
  assert_int_equal(bsm_status_code(status), bad);
  bsm_status_free(status);
  assert_null(text);
}

/* A machine is described by the instructions that plans depend on, which no
 * others hide. */
static void test_described(void **state) {
  const machine described[] = {
      {"tiles", 0, {32u << 10, 1u << 20, 4u << 20}, 1},
      {"pairs", BSM_ISA_AMX, {32u << 10, 1u << 20, 4u << 20}, 1},
      {"neither",
       BSM_ISA_AMX | BSM_ISA_AVX512_BF16,
       {1u << 15, 1u << 20, 0},
       1},
      {"bytes",
       ~(uint32_t)(BSM_ISA_AVX2 | BSM_ISA_AVX_VNNI),
       {1u << 15, 1u << 20, 0},
       1}};
  const uint32_t has = bsm_isa_detect();
  const char *const levels[] = {
      has & BSM_ISA_AMX ? "amx" : NULL,
      has & BSM_ISA_AVX512_BF16 ? "avx512_bf16" : NULL,
      has & BSM_ISA_AVX512 ? "avx512" : NULL,
      has & BSM_ISA_AVX2 ? "avx2" : NULL};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    char expected[64], *text;
    if (!levels[i]) continue;
    const bool slow = (i == 2 && !(has & BSM_ISA_AVX512_VNNI)) ||
                      (i == 3 && !(has & BSM_ISA_AVX_VNNI));
    snprintf(expected, sizeof(expected), "cpu:%s,threads=1,l2=1048576%s",
             levels[i], slow ? ",vnni=no" : "");
    pretended = &described[i];
    check_status(bsm_target_text("cpu", &text), described[i].name);
    pretended = NULL;
    assert_string_equal(text, expected);
    bsm_string_free(text);
  }
}

/* Every name is a target's; only the first one need be here. */
static void test_names(void **state) {
  (void)state;
  assert_string_equal(bsm_target_name(0), "cpu");
  size_t count = 1;
  for (const char *name; (name = bsm_target_name(count)) != NULL; count++) {
    char *text;
    bsm_status status = bsm_target_text(name, &text);
    assert_int_not_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
    if (!status) assert_memory_equal(text, name, strlen(name));
    bsm_string_free(text);
    bsm_status_free(status);
  }
  assert_true(count > 1);
}

static void assert_not_timed(const char *target, const char *piece) {
  bsm_engine *engine;
  bsm_status status = build(models[0], target, 0, false, &engine);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), piece));
  assert_non_null(strstr(bsm_status_message(status), "build without timing"));
  bsm_status_free(status);
}

/* What is another machine cannot be timed on this one. */
static void test_timing_elsewhere(void **state) {
  (void)state;
  pretended = &machines[0];
  assert_not_timed("cpu:avx512,l2=64K", "this machine has no avx512");
  assert_not_timed("cpu:amx,l2=64K", "this machine has no amx");
  assert_not_timed("cpu:scalar,l2=1M", "cache of this machine has 65536 bytes");
  pretended = &machines[2];
  assert_not_timed("cpu:avx2,l2=256K", "this machine has no avx2");
  pretended = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_text),
      cmocka_unit_test(test_other_machines),
      cmocka_unit_test(test_pretended_machines),
      cmocka_unit_test(test_asks_nothing),
      cmocka_unit_test(test_parameters_count),
      cmocka_unit_test(test_stamp),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_described),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_timing_elsewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
