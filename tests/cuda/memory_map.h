/* SPDX-License-Identifier: Apache-2.0 */
/* Where the memory of this process is, so that a test can say what has grown:
 * the mappings of /proc/self/smaps, and what malloc has of them. */
#ifndef TESTS_CUDA_MEMORY_MAP_H_
#define TESTS_CUDA_MEMORY_MAP_H_

#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_MAPPINGS = 8192, MEMORY_PATH = 48 };

typedef struct memory_mapping {
  uintptr_t from, to;
  long resident; /* in KB */
  char path[MEMORY_PATH];
} memory_mapping;

typedef struct memory_map {
  memory_mapping mappings[MEMORY_MAPPINGS];
  int count;
  size_t allocated; /* by malloc, in bytes */
  size_t kept;      /* by malloc for the next who asks */
  size_t mapped;    /* by malloc, each by itself */
} memory_map;

static inline void memory_map_malloc(memory_map *m) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 info = mallinfo2();
  m->allocated = info.uordblks;
  m->kept = info.fordblks;
  m->mapped = info.hblkhd;
#endif
}

static inline void memory_map_read(memory_map *m) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  m->count = 0;
  while (f && fgets(line, sizeof(line), f)) {
    uintptr_t from, to;
    int path = 0;
    long resident;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &from, &to,
               &path) == 2 &&
        path > 0 && m->count < MEMORY_MAPPINGS) {
      memory_mapping *at = &m->mappings[m->count++];
      *at = (memory_mapping){.from = from, .to = to};
      snprintf(at->path, sizeof(at->path), "%.*s",
               (int)strcspn(line + path, "\n"), line + path);
    } else if (m->count && sscanf(line, "Rss: %ld kB", &resident) == 1) {
      m->mappings[m->count - 1].resident = resident;
    }
  }
  if (f) fclose(f);
  memory_map_malloc(m);
}

/* What a mapping had: those beside it may have become one with it. */
static inline long memory_map_had(const memory_map *early,
                                  const memory_mapping *late) {
  long had = 0;
  for (int i = 0; i < early->count; i++) {
    const memory_mapping *e = &early->mappings[i];
    if (e->from >= late->from && e->from < late->to) had += e->resident;
  }
  return had;
}

/* The mappings that have grown by so many KB and more. */
static inline void memory_map_tell(const memory_map *early,
                                   const memory_map *late, long least) {
  for (int i = 0; i < late->count; i++) {
    const memory_mapping *at = &late->mappings[i];
    const long grown = at->resident - memory_map_had(early, at);
    if (grown < least) continue;
    printf("    %" PRIxPTR "-%" PRIxPTR " %s: %ld KB more, of %ld KB\n",
           at->from, at->to, at->path[0] ? at->path : "(anonymous)", grown,
           (long)((at->to - at->from) >> 10));
  }
  printf(
      "    malloc: %zu KB, then %zu; kept %zu, then %zu; mapped %zu, then "
      "%zu\n",
      early->allocated >> 10, late->allocated >> 10, early->kept >> 10,
      late->kept >> 10, early->mapped >> 10, late->mapped >> 10);
}

#endif /* TESTS_CUDA_MEMORY_MAP_H_ */
