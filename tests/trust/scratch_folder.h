/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test, in which it has its files and the list of what was built.
 */
#ifndef TESTS_TRUST_SCRATCH_FOLDER_H_
#define TESTS_TRUST_SCRATCH_FOLDER_H_

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scratch_path {
  char text[512];
} scratch_path;

static char scratch_name[64];

/* The path of a name in it. */
static inline scratch_path scratch(const char *name) {
  scratch_path out;
  snprintf(out.text, sizeof(out.text), "%s/%s", scratch_name, name);
  return out;
}

static inline int scratch_remove_one(const char *path, const struct stat *info,
                                     int type, struct FTW *at) {
  (void)info, (void)type, (void)at;
  return remove(path);
}

static inline void scratch_remove(const char *path) {
  nftw(path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Removes `built`. */
static inline void scratch_forget(void) {
  scratch_remove(scratch("built").text);
}

/* Makes the folder; the list of what was built is to be `built` in it, which is
 * not there yet. For group setup, as the next for teardown. */
static inline int scratch_set_up(void **state) {
  (void)state;
  strcpy(scratch_name, "/tmp/bsm_trust_XXXXXX");
  if (!mkdtemp(scratch_name)) return -1;
  return setenv("BESSEMER_BUILT_ENGINES", scratch("built").text, 1);
}

static inline int scratch_tear_down(void **state) {
  (void)state;
  scratch_remove(scratch_name);
  return 0;
}

#endif /* TESTS_TRUST_SCRATCH_FOLDER_H_ */
