/* SPDX-License-Identifier: Apache-2.0 */
/* The list of engines that were built here: what it knows, and every way in
 * which it may be another's, or damaged. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/trust/scratch_folder.h"
#include "trust/built_engines.h"

enum { KEY_BYTES = 32, MAC_BYTES = 32, OTHER_USER = 65534 };

typedef struct digest {
  uint8_t bytes[64];
} digest;

/* The hash of engine `n`. */
static digest engine(int n) {
  digest out = {{0}};
  memcpy(out.bytes + 13, &n, sizeof(n));
  return out;
}

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void add(int n) {
  check(bsm_built_engines_add(engine(n).bytes));
}

static bool knows(int n) {
  bsm_status status = bsm_built_engines_find(engine(n).bytes);
  if (status) assert_int_equal(bsm_status_code(status), BSM_UNTRUSTED);
  bsm_status_free(status);
  return !status;
}

static void refused(bsm_status status, bsm_code code, const char *part) {
  assert_int_equal(bsm_status_code(status), code);
  if (!strstr(bsm_status_message(status), part)) {
    fail_msg("\"%s\" lacks \"%s\"", bsm_status_message(status), part);
  }
  bsm_status_free(status);
}

/* Nothing can be looked up, which is said, and nothing added. */
static void nothing_works(const char *part) {
  refused(bsm_built_engines_exist(), BSM_UNTRUSTED, part);
  refused(bsm_built_engines_find(engine(1).bytes), BSM_UNTRUSTED, part);
  bsm_status status = bsm_built_engines_add(engine(2).bytes);
  assert_non_null(status);
  refused(status, bsm_status_code(status), part);
}

static long size_of(const char *name) {
  struct stat info;
  return stat(scratch(name).text, &info) ? -1 : (long)info.st_size;
}

static int mode_of(const char *name) {
  struct stat info;
  assert_int_equal(stat(scratch(name).text, &info), 0);
  return info.st_mode & 0777;
}

static void test_what_was_added_is_known(void **state) {
  (void)state;
  scratch_forget();
  refused(bsm_built_engines_exist(), BSM_UNTRUSTED, "not signed");
  assert_false(knows(1));
  assert_int_equal(size_of("built"), -1); /* looking makes nothing */
  add(1);
  check(bsm_built_engines_exist());
  assert_true(knows(1));
  assert_false(knows(2));
  add(2);
  add(2);
  add(1);
  assert_true(knows(1) && knows(2));
  assert_int_equal(size_of("built/engines"), 2 * MAC_BYTES);
  assert_int_equal(size_of("built/key"), KEY_BYTES);
  assert_int_equal(mode_of("built"), 0700);
  assert_int_equal(mode_of("built/key"), 0600);
  assert_int_equal(mode_of("built/engines"), 0600);
}

/* Without the key, a list says nothing. */
static void test_another_key(void **state) {
  (void)state;
  scratch_forget();
  add(1);
  assert_int_equal(unlink(scratch("built/key").text), 0);
  assert_false(knows(1));
  add(2); /* makes a new key */
  assert_false(knows(1));
  assert_true(knows(2));
}

static void test_the_oldest_are_forgotten(void **state) {
  (void)state;
  scratch_forget();
  for (int i = 0; i < BSM_MAX_BUILT_ENGINES; i++) add(i);
  assert_true(knows(0) && knows(BSM_MAX_BUILT_ENGINES - 1));
  add(0); /* becomes the latest */
  add(-1);
  add(-2);
  assert_true(knows(0) && knows(-1) && knows(-2) && knows(3));
  assert_false(knows(1));
  assert_false(knows(2));
  assert_int_equal(size_of("built/engines"), BSM_MAX_BUILT_ENGINES * MAC_BYTES);
}

static void test_others_may_not_use_it(void **state) {
  static const struct {
    const char *name;
    mode_t mode, good;
  } rows[] = {{"built", 0777, 0700},        {"built", 0701, 0700},
              {"built", 0720, 0700},        {"built/key", 0604, 0600},
              {"built/key", 0620, 0600},    {"built/engines", 0606, 0600},
              {"built/engines", 0640, 0600}};
  (void)state;
  scratch_forget();
  add(1);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const scratch_path path = scratch(rows[i].name);
    assert_int_equal(chmod(path.text, rows[i].mode), 0);
    nothing_works("others may use it");
    assert_int_equal(chmod(path.text, rows[i].good), 0);
    assert_true(knows(1));
  }
}

/* Whoever is not root cannot give files away. */
static void test_of_another_user(void **state) {
  static const char *const names[] = {"built", "built/key", "built/engines"};
  (void)state;
  if (geteuid() != 0) skip();
  scratch_forget();
  add(1);
  for (size_t i = 0; i < 3; i++) {
    const scratch_path path = scratch(names[i]);
    assert_int_equal(chown(path.text, OTHER_USER, OTHER_USER), 0);
    nothing_works("belongs to user 65534, not to 0");
    assert_int_equal(chown(path.text, 0, 0), 0);
    assert_true(knows(1));
  }
}

static void test_links_are_not_followed(void **state) {
  static const char *const names[] = {"built", "built/key", "built/engines"};
  (void)state;
  scratch_forget();
  add(1);
  for (size_t i = 0; i < 3; i++) {
    const scratch_path path = scratch(names[i]), aside = scratch("aside");
    assert_int_equal(rename(path.text, aside.text), 0);
    assert_int_equal(symlink(aside.text, path.text), 0);
    nothing_works("cannot");
    assert_int_equal(unlink(path.text), 0);
    assert_int_equal(rename(aside.text, path.text), 0);
    assert_true(knows(1));
  }
}

static void write_file(const char *name, size_t size) {
  FILE *file = fopen(scratch(name).text, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < size; i++) fputc('x', file);
  fclose(file);
}

static void test_damage(void **state) {
  (void)state;
  for (size_t size = 0; size < 40; size += size < 30 ? 7 : 1) {
    if (size == KEY_BYTES) continue;
    scratch_forget();
    add(1);
    write_file("built/key", size);
    nothing_works(size < KEY_BYTES ? "bytes, not 32" : "more than 32");
  }
  scratch_forget();
  add(1);
  write_file("built/engines", 2 * MAC_BYTES + 1);
  nothing_works("is cut");
  write_file("built/engines", (BSM_MAX_BUILT_ENGINES + 1) * MAC_BYTES);
  nothing_works("more than");
  write_file("built/engines", 0);
  assert_false(knows(1));
  refused(bsm_built_engines_exist(), BSM_UNTRUSTED, "not signed");
  add(1);
  assert_true(knows(1));
  /* A folder or a pipe in place of a file. */
  assert_int_equal(unlink(scratch("built/key").text), 0);
  assert_int_equal(mkdir(scratch("built/key").text, 0700), 0);
  nothing_works("not a regular file");
  assert_int_equal(rmdir(scratch("built/key").text), 0);
  assert_int_equal(mkfifo(scratch("built/key").text, 0600), 0);
  nothing_works("not a regular file");
  /* What a crash left. */
  scratch_forget();
  add(1);
  write_file("built/engines.new", 5);
  add(2);
  assert_true(knows(1) && knows(2));
  assert_int_equal(size_of("built/engines.new"), -1);
}

static void test_where_it_is(void **state) {
  (void)state;
  scratch_forget();
  const scratch_path built = scratch("built"), home = scratch("home");
  setenv("BESSEMER_BUILT_ENGINES", "", 1);
  refused(bsm_built_engines_add(engine(1).bytes), BSM_UNSUPPORTED,
          "says to note no engines");
  assert_false(knows(1));
  setenv("BESSEMER_BUILT_ENGINES", "relative", 1);
  refused(bsm_built_engines_add(engine(1).bytes), BSM_UNSUPPORTED,
          "no absolute path");
  unsetenv("BESSEMER_BUILT_ENGINES");
  setenv("XDG_STATE_HOME", home.text, 1);
  add(1);
  assert_int_equal(size_of("home/bessemer/built/engines"), MAC_BYTES);
  setenv("XDG_STATE_HOME", "relative", 1);
  setenv("HOME", home.text, 1);
  assert_false(knows(1));
  add(1);
  assert_true(knows(1));
  assert_int_equal(size_of("home/.local/state/bessemer/built/engines"),
                   MAC_BYTES);
  unsetenv("XDG_STATE_HOME");
  assert_true(knows(1));
  unsetenv("HOME");
  refused(bsm_built_engines_add(engine(1).bytes), BSM_UNSUPPORTED, "neither");
  setenv("BESSEMER_BUILT_ENGINES", built.text, 1);
}

/* Programs that add at the same time, one of them making the key, lose nothing.
 */
static void test_several_writers(void **state) {
  enum { WRITERS = 6, EACH = 25 };
  pid_t children[WRITERS];
  (void)state;
  scratch_forget();
  for (int w = 0; w < WRITERS; w++) {
    children[w] = fork();
    assert_true(children[w] >= 0);
    if (children[w]) continue;
    for (int i = 0; i < EACH; i++) {
      bsm_status status = bsm_built_engines_add(engine(100 * w + i).bytes);
      if (!status) status = bsm_built_engines_find(engine(100 * w + i).bytes);
      if (status) _exit(1);
    }
    _exit(0);
  }
  for (int w = 0; w < WRITERS; w++) {
    int result;
    assert_int_equal(waitpid(children[w], &result, 0), children[w]);
    assert_int_equal(result, 0);
  }
  for (int w = 0; w < WRITERS; w++) {
    for (int i = 0; i < EACH; i++) assert_true(knows(100 * w + i));
  }
  assert_int_equal(size_of("built/engines"), WRITERS * EACH * MAC_BYTES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_was_added_is_known),
      cmocka_unit_test(test_another_key),
      cmocka_unit_test(test_the_oldest_are_forgotten),
      cmocka_unit_test(test_others_may_not_use_it),
      cmocka_unit_test(test_of_another_user),
      cmocka_unit_test(test_links_are_not_followed),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_where_it_is),
      cmocka_unit_test(test_several_writers),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
