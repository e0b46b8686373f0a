/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <signal.h>

#include "base/file.h"

typedef struct fixture {
  char folder[64];
  char path[128];
} fixture;

static int set_up(void **state) {
  fixture *self = calloc(1, sizeof(*self));
  if (!self) return -1;
  strcpy(self->folder, "/tmp/bsm-file-test-XXXXXX");
  if (!mkdtemp(self->folder)) return -1;
  snprintf(self->path, sizeof(self->path), "%s/file", self->folder);
  *state = self;
  return 0;
}

static int entries(const char *folder) {
  DIR *dir = opendir(folder);
  int count = 0;
  while (readdir(dir)) count++;
  closedir(dir);
  return count - 2; /* . and .. */
}

static int tear_down(void **state) {
  fixture *self = *state;
  unlink(self->path);
  const int failed = rmdir(self->folder);
  free(self);
  return failed;
}

#define WRITE(path, text) \
  bsm_file_write((path), &(bsm_file_piece){(text), strlen(text)}, 1)

static void expect(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  assert_non_null(strstr(bsm_status_message(status), text));
  bsm_status_free(status);
}

static void files_are_written_and_mapped(void **state) {
  const fixture *self = *state;
  const bsm_file_piece pieces[] = {{"abc", 3}, {NULL, 0}, {"defg", 4}};
  assert_null(bsm_file_write(self->path, pieces, 3));
  bsm_file_map map;
  assert_null(bsm_file_map_open(self->path, NULL, &map));
  assert_int_equal(map.size, 7);
  assert_memory_equal(map.data, "abcdefg", 7);
  /* Replacing the file leaves the map as it was. */
  assert_null(WRITE(self->path, "new"));
  assert_memory_equal(map.data, "abcdefg", 7);
  bsm_file_map_close(&map);
  assert_null(map.data);
  bsm_file_map_close(&map);
  assert_int_equal(entries(self->folder), 1);
}

static bool is_counting(bsm_file_map *map, size_t size) {
  bool same = map->size == size;
  for (size_t i = 0; i < map->size; i++) same &= map->data[i] == i / 7 % 256;
  bsm_file_map_close(map);
  return same;
}

/* Small files, and those of which a copy was wanted, may lose their bytes. */
static void copies_survive_truncation(void **state) {
  const fixture *self = *state;
  const size_t sizes[] = {1, 4097, 65536, 300000};
  static uint8_t bytes[300000];
  for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i / 7 % 256);
  for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
    const bsm_file_piece piece = {bytes, sizes[k]};
    const bsm_file_map_options copied = {.copy = true};
    const bool small = sizes[k] <= 65536;
    bsm_file_map map;
    assert_null(bsm_file_write(self->path, &piece, 1));
    assert_null(bsm_file_map_open(self->path, small ? NULL : &copied, &map));
    assert_null(map.mapped);
    assert_int_equal((uintptr_t)map.data % 64, 0);
    assert_int_equal(truncate(self->path, 0), 0);
    assert_true(is_counting(&map, sizes[k]));
  }
}

static void large_files_are_mapped(void **state) {
  const fixture *self = *state;
  static const uint8_t bytes[65537];
  bsm_file_map map;
  assert_null(
      bsm_file_write(self->path, &(bsm_file_piece){bytes, sizeof(bytes)}, 1));
  assert_null(bsm_file_map_open(self->path, NULL, &map));
  assert_non_null(map.mapped);
  bsm_file_map_close(&map);
}

/* More pieces than one call of the system takes, some of them empty. */
static void many_pieces_follow_each_other(void **state) {
  const fixture *self = *state;
  enum { COUNT = 2500 };
  static uint8_t bytes[7 * COUNT];
  static bsm_file_piece pieces[COUNT];
  size_t size = 0;
  for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i * 31 / 7);
  for (size_t i = 0; i < COUNT; i++) {
    pieces[i] = (bsm_file_piece){bytes + size, i * 5 % 8};
    size += pieces[i].size;
  }
  assert_null(bsm_file_write(self->path, pieces, COUNT));
  bsm_file_map map;
  assert_null(bsm_file_map_open(self->path, NULL, &map));
  assert_int_equal(map.size, size);
  assert_memory_equal(map.data, bytes, size);
  bsm_file_map_close(&map);
}

static void new_files_follow_the_umask(void **state) {
  const fixture *self = *state;
  const mode_t before = umask(027);
  assert_null(WRITE(self->path, "x"));
  umask(before);
  struct stat info;
  assert_int_equal(stat(self->path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
}

static void an_empty_file_maps_to_nothing(void **state) {
  const fixture *self = *state;
  assert_null(bsm_file_write(self->path, NULL, 0));
  bsm_file_map map;
  assert_null(bsm_file_map_open(self->path, NULL, &map));
  assert_null(map.data);
  assert_int_equal(map.size, 0);
  bsm_file_map_close(&map);
}

static void what_is_not_a_file_is_refused(void **state) {
  const fixture *self = *state;
  bsm_file_map map;
  expect(bsm_file_map_open("/nonexistent/x", NULL, &map), BSM_IO,
         "/nonexistent/x: cannot open");
  expect(bsm_file_map_open(self->folder, NULL, &map), BSM_IO,
         "not a regular file");
  expect(bsm_file_map_open("/dev/zero", NULL, &map), BSM_IO,
         "not a regular file");
  assert_int_equal(mkfifo(self->path, 0600), 0);
  expect(bsm_file_map_open(self->path, NULL, &map), BSM_IO,
         "not a regular file");
  assert_null(map.data);
}

static void the_size_limit_holds(void **state) {
  const fixture *self = *state;
  const bsm_file_map_options four = {.max_bytes = 4}, five = {.max_bytes = 5};
  assert_null(WRITE(self->path, "12345"));
  bsm_file_map map;
  expect(bsm_file_map_open(self->path, &four, &map), BSM_LIMIT, "limit of 4");
  assert_null(bsm_file_map_open(self->path, &five, &map));
  bsm_file_map_close(&map);
}

/* Of SIGXFSZ, which comes while a file is written that is not allowed to grow:
 * there is a temporary one, and then there is none. */
static const char *watched_folder;
static void end_in_the_middle(int number) {
  (void)number;
  if (entries(watched_folder) != 1) _exit(2);
  bsm_file_remove_unfinished();
  _exit(7);
}

static void unwritable_paths_are_reported(void **state) {
  const fixture *self = *state;
  expect(WRITE("/nonexistent/x", "x"), BSM_IO, "/nonexistent/x: cannot create");
  expect(WRITE(self->folder, "x"), BSM_IO, "Is a directory");
  assert_int_equal(entries(self->folder), 0);
}

/* Neither written to, nor replaced; a pipe without a reader is not waited for.
 */
static void pipes_and_devices_are_refused(void **state) {
  const fixture *self = *state;
  expect(WRITE("/dev/null", "x"), BSM_IO, "/dev/null: cannot write: it is a");
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  assert_int_equal(mkfifo(self->path, 0600), 0);
  expect(WRITE(self->path, "x"), BSM_IO, "not a regular file");
  assert_int_equal(lstat(self->path, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  assert_int_equal(entries(self->folder), 1);
}

static void a_replaced_file_keeps_its_mode(void **state) {
  const fixture *self = *state;
  const mode_t before = umask(0);
  static const mode_t modes[] = {0600, 0640, 0444, 0755, 0};
  for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
    unlink(self->path);
    assert_null(WRITE(self->path, "old"));
    assert_int_equal(chmod(self->path, modes[i]), 0);
    assert_null(WRITE(self->path, "new"));
    struct stat info;
    assert_int_equal(stat(self->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, modes[i]);
    assert_int_equal(info.st_size, 3);
  }
  umask(before);
}

/* As a handler of a signal finds it: the file is written, but has no name. */
static void unfinished_files_are_removed(void **state) {
  const fixture *self = *state;
  watched_folder = self->folder;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGXFSZ, end_in_the_middle);
    const struct rlimit low = {100, 100};
    setrlimit(RLIMIT_FSIZE, &low);
    static const char big[4096];
    bsm_status status =
        bsm_file_write(self->path, &(bsm_file_piece){big, sizeof(big)}, 1);
    bsm_status_free(status);
    _exit(1); /* the signal came, and did not end it */
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
  assert_int_equal(entries(self->folder), 0);
}

/* A full disk, played by a limit on the size of files. */
static void a_failed_write_leaves_the_old_file(void **state) {
  const fixture *self = *state;
  assert_null(WRITE(self->path, "old"));
  struct rlimit before, low;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  low = before;
  low.rlim_cur = 100;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
  static const char big[4096];
  bsm_status status =
      bsm_file_write(self->path, &(bsm_file_piece){big, sizeof(big)}, 1);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  expect(status, BSM_IO, "cannot write");
  assert_int_equal(entries(self->folder), 1);
  bsm_file_map map;
  assert_null(bsm_file_map_open(self->path, NULL, &map));
  assert_int_equal(map.size, 3);
  assert_memory_equal(map.data, "old", 3);
  bsm_file_map_close(&map);
}

static void links_are_replaced_not_followed(void **state) {
  const fixture *self = *state;
  char target[160];
  snprintf(target, sizeof(target), "%s-target", self->path);
  assert_null(WRITE(target, "target"));
  assert_int_equal(symlink(target, self->path), 0);
  assert_null(WRITE(self->path, "new"));
  bsm_file_map map;
  assert_null(bsm_file_map_open(target, NULL, &map));
  assert_memory_equal(map.data, "target", 6);
  bsm_file_map_close(&map);
  assert_int_equal(unlink(target), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(files_are_written_and_mapped),
      TEST(copies_survive_truncation),
      TEST(large_files_are_mapped),
      TEST(many_pieces_follow_each_other),
      TEST(new_files_follow_the_umask),
      TEST(an_empty_file_maps_to_nothing),
      TEST(what_is_not_a_file_is_refused),
      TEST(the_size_limit_holds),
      TEST(unwritable_paths_are_reported),
      TEST(pipes_and_devices_are_refused),
      TEST(a_replaced_file_keeps_its_mode),
      TEST(unfinished_files_are_removed),
      TEST(a_failed_write_leaves_the_old_file),
      TEST(links_are_replaced_not_followed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
