/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of compiled kernels: what was written is read again, and nothing
 * that is damaged or that others may write to; what is being compiled is waited
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/cuda/target/kernel_cache.h"

static char root[] = "/tmp/bsm_kernel_cache_XXXXXX";
static bsm_arena arena;

static int warnings;

static void hear(void *user, bsm_log_level level, const char *message) {
  (void)user;
  assert_non_null(strstr(message, "no compiled kernels are kept"));
  warnings += level == BSM_LOG_LEVEL_WARNING;
}

static const char *find(const char *folder) {
  const bsm_logger logger = {BSM_LOG_LEVEL_INFO, hear, NULL};
  setenv("BESSEMER_KERNEL_CACHE", folder, 1);
  return bsm_kernel_cache_find(&arena, &logger);
}

static const char *path_of(const char *name) {
  return bsm_arena_printf(&arena, "%s/%s", root, name);
}

static bool reads(const char *folder, const char *code, const char *ptx) {
  bsm_str a = {0}, b = {0};
  return bsm_kernel_cache_read(folder, "k.bin", &arena, &a, &b) &&
         bsm_str_eq(a, bsm_str_of(code)) && bsm_str_eq(b, bsm_str_of(ptx));
}

static void write_kernel(const char *folder, const char *code,
                         const char *ptx) {
  bsm_kernel_cache_write(folder, "k.bin", &arena, bsm_str_of(code),
                         bsm_str_of(ptx));
}

static void what_is_written_is_read(void **state) {
  (void)state;
  const char *folder = find(path_of("a/b/c"));
  assert_non_null(folder);
  assert_false(reads(folder, "code", "ptx"));
  write_kernel(folder, "code", "ptx");
  assert_true(reads(folder, "code", "ptx"));
  write_kernel(folder, "another code", "text");
  assert_true(reads(folder, "another code", "text"));
  assert_int_equal(warnings, 0);
}

static void large_kernels_are_read(void **state) {
  (void)state;
  const char *folder = find(path_of("large"));
  const size_t size = (size_t)3 << 20;
  char *code = malloc(size + 1);
  assert_non_null(code);
  memset(code, 'x', size);
  code[size] = 0;
  write_kernel(folder, code, "ptx");
  assert_true(reads(folder, code, "ptx"));
  free(code);
}

static void damaged_files_are_not_read(void **state) {
  (void)state;
  const char *folder = find(path_of("damaged"));
  write_kernel(folder, "code", "ptx");
  const char *file = bsm_arena_printf(&arena, "%s/k.bin", folder);
  FILE *f = fopen(file, "r+b");
  assert_non_null(f);
  assert_int_equal(fputc('d', f), 'd');
  fclose(f);
  assert_false(reads(folder, "dode", "ptx"));
  assert_int_equal(truncate(file, 3), 0);
  assert_false(reads(folder, "cod", ""));
  write_kernel(folder, "code", "ptx");
  assert_true(reads(folder, "code", "ptx"));
}

static void what_others_may_use_is_not(void **state) {
  (void)state;
  const char *folder = find(path_of("shared"));
  write_kernel(folder, "code", "ptx");
  const char *file = bsm_arena_printf(&arena, "%s/k.bin", folder);
  assert_int_equal(chmod(file, 0620), 0);
  assert_false(reads(folder, "code", "ptx"));
  write_kernel(folder, "code", "ptx");
  assert_true(reads(folder, "code", "ptx"));
  assert_int_equal(chmod(folder, 0770), 0);
  assert_false(reads(folder, "code", "ptx"));
  assert_int_equal(warnings, 0);
  assert_null(find(folder));
  assert_int_equal(warnings, 1);
}

/* Who comes second waits, and finds what the first has written. */
typedef struct second {
  const char *folder;
  atomic_bool waits;
  bool found;
} second;

static void *come_second(void *arg) {
  second *s = arg;
  bsm_arena own;
  bsm_str code, ptx;
  bsm_arena_init(&own, NULL);
  s->waits = true;
  const int claim = bsm_kernel_cache_claim(s->folder, "k.bin");
  s->found = claim >= 0 &&
             bsm_kernel_cache_read(s->folder, "k.bin", &own, &code, &ptx);
  bsm_kernel_cache_release(claim);
  bsm_arena_destroy(&own);
  return NULL;
}

static void what_is_compiled_is_waited_for(void **state) {
  (void)state;
  const char *folder = find(path_of("claimed"));
  const struct timespec pause = {.tv_nsec = 50000000};
  second other = {.folder = folder};
  pthread_t thread;
  const int claim = bsm_kernel_cache_claim(folder, "k.bin");
  assert_true(claim >= 0);
  assert_int_equal(pthread_create(&thread, NULL, come_second, &other), 0);
  while (!other.waits) nanosleep(&pause, NULL);
  nanosleep(&pause, NULL);
  /* Another kernel is nobody's. */
  const int apart = bsm_kernel_cache_claim(folder, "another.bin");
  assert_true(apart >= 0);
  bsm_kernel_cache_release(apart);
  write_kernel(folder, "code", "ptx");
  bsm_kernel_cache_release(claim);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(other.found);
}

/* What a process had that is gone is nobody's, and what a thread of a folder
 * that is not there asks for is compiled. */
static void claims_end_with_their_process(void **state) {
  (void)state;
  const char *folder = find(path_of("left"));
  const pid_t child = fork();
  if (child == 0) _exit(bsm_kernel_cache_claim(folder, "k.bin") < 0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  const int claim = bsm_kernel_cache_claim(folder, "k.bin");
  assert_true(claim >= 0);
  bsm_kernel_cache_release(claim);
  assert_int_equal(bsm_kernel_cache_claim("/dev/null/folder", "k.bin"), -1);
}

static void none_is_none(void **state) {
  (void)state;
  warnings = 0;
  assert_null(find(""));
  assert_int_equal(warnings, 0);
  assert_null(find("/dev/null/folder"));
  assert_int_equal(warnings, 1);
}

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  const char *command = bsm_arena_printf(&arena, "rm -r %s", root);
  const int result = system(command);
  bsm_arena_destroy(&arena);
  return result;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(large_kernels_are_read),
      cmocka_unit_test(damaged_files_are_not_read),
      cmocka_unit_test(what_others_may_use_is_not),
      cmocka_unit_test(what_is_compiled_is_waited_for),
      cmocka_unit_test(claims_end_with_their_process),
      cmocka_unit_test(none_is_none),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
