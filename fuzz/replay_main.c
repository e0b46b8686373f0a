/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files and folders, with any compiler: what libFuzzer
 * found once stays a test. Fails when there was nothing to run.
 *
 *   NAME_fuzz [--mutate=TURNS,LEAST] PATH...
 *
 * With --mutate it runs TURNS inputs that the target's mutator makes of each
 * file instead, and fails when less than LEAST of 100 were accepted. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/replay_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static replay_mutations mutations;

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return -1;
  uint8_t *data = NULL;
  size_t size = 0, room = 0;
  for (;;) {
    if (size == room) {
      room = room ? room * 2 : 4096;
      uint8_t *grown = realloc(data, room);
      if (!grown) break;
      data = grown;
    }
    const size_t got = fread(data + size, 1, room - size, file);
    if (got == 0) break;
    size += got;
  }
  const int failed = ferror(file) || !feof(file);
  fclose(file);
  if (!failed && mutations.turns) {
    replay_mutate(&mutations, data, size);
  } else if (!failed) {
    /* A block of exactly this size: reads beyond the end are seen. */
    uint8_t *exact = malloc(size ? size : 1);
    if (exact) {
      if (size) memcpy(exact, data, size);
      LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
  }
  free(data);
  return failed ? -1 : 0;
}

/* The number of files run, or -1. */
static int replay(const char *path) {
  struct stat info;
  if (stat(path, &info)) return -1;
  if (!S_ISDIR(info.st_mode)) return replay_file(path) ? -1 : 1;
  DIR *folder = opendir(path);
  if (!folder) return -1;
  int count = 0;
  const struct dirent *entry;
  while (count >= 0 && (entry = readdir(folder)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    char name[4096];
    if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >=
            (int)sizeof(name) ||
        replay_file(name)) {
      count = -1;
    } else {
      count++;
    }
  }
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  int total = 0, first = 1;
  size_t least = 0;
  if (argc > 1 &&
      sscanf(argv[1], "--mutate=%zu,%zu", &mutations.turns, &least) == 2) {
    first = 2;
  }
  for (int i = first; i < argc; i++) {
    const int count = replay(argv[i]);
    if (count < 0) {
      fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    total += count;
  }
  printf("%d inputs\n", total);
  if (mutations.turns) {
    printf("accepted of %zu mutated ones: %zu, where bytes were changed: %zu\n",
           mutations.tried, mutations.accepted, mutations.of_bytes);
    if (mutations.accepted * 100 < mutations.tried * least) return 1;
  }
  return total > 0 ? 0 : 1;
}
