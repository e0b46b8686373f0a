/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command that decide whether machine code runs, on a device
 * that has some (coded_device.h). */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "bessemer/signature.h"
#include "tests/trust/scratch_folder.h"
#include "tests/trusted/coded_device.h"
#include "tools/cli.h"

enum { MAX_WORDS = 8 };

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* Runs a command of up to seven words; what it loads is in the log. */
static int command(int (*run)(int argc, char **argv), const char *name,
                   const char *const words[MAX_WORDS - 1]) {
  char text[MAX_WORDS][512];
  char *argv[MAX_WORDS + 1] = {text[0]};
  int argc = 1;
  strcpy(text[0], name);
  for (int i = 0; i < MAX_WORDS - 1 && words[i]; i++) {
    assert_true(strlen(words[i]) < sizeof(text[0]));
    strcpy(text[argc], words[i]);
    argv[argc] = text[argc];
    argc++;
  }
  coded_log = (coded_device_log){0};
  return run(argc, argv);
}
#define COMMAND(run, name, ...) \
  command(run, name, (const char *const[MAX_WORDS - 1]){__VA_ARGS__})

/* Loads the engine and runs it once. */
#define BENCH(...) \
  COMMAND(bsm_cmd_bench, "bench", "--iterations=1", "--warmup=0", __VA_ARGS__)

static void save(const char *path, bool unrecorded) {
  bsm_engine *engine = coded_engine(true, "cli");
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  options.unrecorded = unrecorded;
  check(bsm_engine_save_with(engine, path, &options));
  bsm_engine_destroy(engine);
}

static void runs(int code) {
  assert_int_equal(code, 0);
  assert_int_equal(coded_log.loads, 1);
}

static void is_refused(int code) {
  assert_int_equal(code, BSM_EXIT_FAILED);
  assert_int_equal(coded_log.loads, 0);
}

static void test_options(void **state) {
  (void)state;
  const scratch_path x = scratch("x.bsm"), key = scratch("my.key"),
                     open = scratch("my.key.pub"), other = scratch("other"),
                     other_open = scratch("other.pub");
  save(x.text, true);
  is_refused(BENCH(x.text));
  runs(BENCH("--trust-code", x.text));
  assert_int_equal(COMMAND(bsm_cmd_keygen, "keygen", key.text), 0);
  assert_int_equal(COMMAND(bsm_cmd_keygen, "keygen", other.text), 0);
  is_refused(BENCH("--public-key", open.text, x.text));
  assert_int_equal(COMMAND(bsm_cmd_sign, "sign", "--key", key.text, x.text), 0);
  is_refused(BENCH(x.text));
  is_refused(BENCH("--public-key", other_open.text, x.text));
  runs(BENCH("--public-key", open.text, x.text));
  runs(BENCH("--public-key", other_open.text, "--public-key", open.text,
             x.text));
  runs(BENCH("--ignore-built", "--public-key", open.text, x.text));
  is_refused(BENCH("--public-key", key.text, x.text)); /* the wrong half */
  is_refused(BENCH("--public-key", "/nonexistent", x.text));
}

static void test_built_here(void **state) {
  (void)state;
  const scratch_path x = scratch("built.bsm");
  save(x.text, false);
  runs(BENCH(x.text));
  is_refused(BENCH("--ignore-built", x.text));
  scratch_forget();
  is_refused(BENCH(x.text));
}

/* Looking at an engine needs no trust, and loads nothing. */
static void test_inspect(void **state) {
  (void)state;
  const scratch_path x = scratch("y.bsm");
  save(x.text, true);
  assert_int_equal(COMMAND(bsm_cmd_inspect, "inspect", x.text), 0);
  assert_int_equal(coded_log.loads, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_built_here),
      cmocka_unit_test(test_inspect),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
