/* SPDX-License-Identifier: Apache-2.0 */
/* Private folders and files, and random bytes. What others may do to them is
 * tested where they are used: tests/trust/built_engines_test.c. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/private_folder.h"
#include "base/secret.h"

static char root[] = "/tmp/bsm_private_XXXXXX";

static const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof(path), "%s/%s", root, name);
  return path;
}

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void refused(bsm_status status, bsm_code code) {
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static bsm_status open_made(const char *path, bsm_private_folder *out) {
  BSM_TRY(bsm_private_folder_make(path));
  return bsm_private_folder_open(path, out);
}

static int set_up(void **state) {
  (void)state;
  return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  return rmdir(root);
}

static void test_folders(void **state) {
  (void)state;
  bsm_private_folder folder;
  struct stat info;
  refused(bsm_private_folder_open(path_of("a/b//c"), &folder), BSM_NOT_FOUND);
  for (int turn = 0; turn < 2; turn++) {
    check(open_made(path_of("a/b//c"), &folder));
    check(bsm_private_folder_lock(&folder));
    bsm_private_folder_close(&folder);
  }
  assert_int_equal(stat(path_of("a/b"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  check(bsm_private_folder_open(path_of("a/b/c/"), &folder));
  bsm_private_folder_close(&folder);
  assert_int_equal(rmdir(path_of("a/b/c")), 0);
  assert_int_equal(rmdir(path_of("a/b")), 0);
  /* What cannot be made: below a file, and where the path is a file. */
  check(bsm_new_file_write(path_of("a/file"), "", 0, true));
  refused(open_made(path_of("a/file/x"), &folder), BSM_IO);
  refused(open_made(path_of("a/file"), &folder), BSM_IO);
  assert_int_equal(unlink(path_of("a/file")), 0);
  assert_int_equal(rmdir(path_of("a")), 0);
}

static void test_files(void **state) {
  (void)state;
  bsm_private_folder folder;
  char got[8];
  size_t size = 99;
  check(open_made(path_of("f"), &folder));
  check(bsm_private_folder_lock(&folder));
  refused(bsm_private_file_read(&folder, "x", got, sizeof(got), &size),
          BSM_NOT_FOUND);
  assert_int_equal(size, 0);
  for (size_t length = 0; length <= sizeof(got); length++) {
    check(bsm_private_file_replace(&folder, "x", "abcdefgh", length));
    check(bsm_private_file_read(&folder, "x", got, sizeof(got), &size));
    assert_int_equal(size, length);
    assert_memory_equal(got, "abcdefgh", length);
  }
  refused(bsm_private_file_read(&folder, "x", got, sizeof(got) - 1, &size),
          BSM_LIMIT);
  check(bsm_private_file_replace_soon(&folder, "x", "soon", 4));
  check(bsm_private_file_read(&folder, "x", got, sizeof(got), &size));
  assert_int_equal(size, 4);
  assert_memory_equal(got, "soon", 4);
  /* A name that cannot be written leaves nothing behind. */
  assert_int_equal(mkdir(path_of("f/y"), 0700), 0);
  refused(bsm_private_file_replace(&folder, "y", "a", 1), BSM_IO);
  assert_int_equal(access(path_of("f/y.new"), F_OK), -1);
  assert_int_equal(rmdir(path_of("f/y")), 0);
  assert_int_equal(unlink(path_of("f/x")), 0);
  assert_int_equal(rmdir(path_of("f")), 0);
  /* The folder is gone, though it is open. */
  refused(bsm_private_file_replace(&folder, "x", "a", 1), BSM_IO);
  bsm_private_folder_close(&folder);
}

/* ---- many who write ---- */

enum { WRITERS = 4, WRITES = 100, BYTES = 30000 };

/* Writes files of one letter each, and reads what is there in between: it is
 * always whole. */
static void *write_often(void *letter) {
  char path[256];
  bsm_private_folder folder;
  size_t size, wrong = 0;
  char *mine = malloc(BYTES), *got = malloc(BYTES);
  snprintf(path, sizeof(path), "%s/w", root);
  memset(mine, *(const char *)letter, BYTES);
  bsm_status status = bsm_private_folder_open(path, &folder);
  for (int i = 0; i < WRITES && !status; i++) {
    status = bsm_private_file_replace_soon(&folder, "x", mine, BYTES);
    if (!status) {
      status = bsm_private_file_read(&folder, "x", got, BYTES, &size);
    }
    if (!status && size != BYTES) wrong++;
    for (size_t k = 1; !status && k < size; k++) wrong += got[k] != got[0];
  }
  if (status) wrong++;
  bsm_status_free(status);
  bsm_private_folder_close(&folder);
  free(mine);
  free(got);
  return wrong ? letter : NULL;
}

static void test_writes_at_once(void **state) {
  (void)state;
  pthread_t threads[WRITERS];
  static char letters[WRITERS] = {'a', 'b', 'c', 'd'};
  check(bsm_private_folder_make(path_of("w")));
  /* Another process, which counts as this one does. */
  const pid_t child = fork();
  if (child == 0) _exit(write_often(&letters[0]) ? 1 : 0);
  for (int i = 0; i < WRITERS; i++) {
    assert_int_equal(
        pthread_create(&threads[i], NULL, write_often, &letters[i]), 0);
  }
  int ended = 1;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_int_equal(ended, 0);
  for (int i = 0; i < WRITERS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  /* Nothing is left but the file. */
  assert_int_equal(unlink(path_of("w/x")), 0);
  assert_int_equal(rmdir(path_of("w")), 0);
}

/* Where processes' numbers repeat, one that crashed may have left the name that
 * the next would use. */
static void test_leftovers(void **state) {
  (void)state;
  bsm_private_folder folder;
  char name[64];
  check(bsm_private_folder_make(path_of("l")));
  check(bsm_private_folder_open(path_of("l"), &folder));
  for (int i = 0; i < 40; i++) {
    snprintf(name, sizeof(name), "l/x.%ld-%d.new", (long)getpid(), i);
    check(bsm_new_file_write(path_of(name), "old", 3, false));
  }
  check(bsm_private_file_replace_soon(&folder, "x", "new", 3));
  bsm_private_folder_close(&folder);
  for (int i = 0; i < 40; i++) {
    snprintf(name, sizeof(name), "l/x.%ld-%d.new", (long)getpid(), i);
    assert_int_equal(unlink(path_of(name)), 0);
  }
  assert_int_equal(unlink(path_of("l/x")), 0);
  assert_int_equal(rmdir(path_of("l")), 0);
}

static void test_paths(void **state) {
  (void)state;
  char got[4];
  size_t size;
  struct stat info;
  check(bsm_new_file_write(path_of("p"), "abcd", 4, true));
  refused(bsm_new_file_write(path_of("p"), "xyz", 3, true), BSM_IO);
  check(bsm_private_path_read(path_of("p"), got, sizeof(got), &size));
  assert_int_equal(size, 4);
  assert_memory_equal(got, "abcd", 4);
  refused(bsm_private_path_read(path_of("p"), got, 3, &size), BSM_LIMIT);
  assert_int_equal(stat(path_of("p"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  assert_int_equal(chmod(path_of("p"), 0644), 0);
  refused(bsm_private_path_read(path_of("p"), got, 4, &size), BSM_IO);
  assert_int_equal(unlink(path_of("p")), 0);
  refused(bsm_private_path_read(path_of("p"), got, 4, &size), BSM_NOT_FOUND);
  refused(bsm_private_path_read(root, got, 4, &size), BSM_IO);
}

static void test_random_bytes(void **state) {
  (void)state;
  uint8_t a[1000] = {0}, b[1000] = {0}, seen[256] = {0};
  int kinds = 0;
  check(bsm_secret_random(a, sizeof(a)));
  check(bsm_secret_random(b, sizeof(b)));
  assert_memory_not_equal(a, b, sizeof(a));
  for (size_t i = 0; i < sizeof(a); i++) seen[a[i]] = 1;
  for (size_t i = 0; i < 256; i++) kinds += seen[i];
  assert_true(kinds > 200); /* 251 are expected */
  bsm_secret_wipe(a, sizeof(a));
  for (size_t i = 0; i < sizeof(a); i++) assert_int_equal(a[i], 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_folders),   cmocka_unit_test(test_files),
      cmocka_unit_test(test_leftovers), cmocka_unit_test(test_writes_at_once),
      cmocka_unit_test(test_paths),     cmocka_unit_test(test_random_bytes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
