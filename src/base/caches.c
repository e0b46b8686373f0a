/* SPDX-License-Identifier: Apache-2.0 */
/* Caches by CPUID: leaf 4 of Intel, its copy at 0x8000001d of AMD; elsewhere by
 * what Linux says of the first CPU. */
#include "base/caches.h"

#include <pthread.h>
#include <stdint.h>

/* Of the bytes of each level, 0 where nothing is known: what is usual. */
static bsm_caches caches_of(const size_t levels[4]) {
  bsm_caches out = {32u << 10, 512u << 10, 8u << 20};
  if (levels[1]) out.l1 = levels[1];
  if (levels[2]) out.l2 = levels[2];
  if (levels[1] && levels[2]) out.l3 = levels[3] ? levels[3] : levels[2];
  return out;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <emmintrin.h>

enum { TYPE_NONE = 0, TYPE_DATA = 1, TYPE_UNIFIED = 3, MAX_CACHES = 16 };

static size_t cache_bytes(uint32_t b, uint32_t c) {
  const size_t ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1,
               line = (b & 0xfff) + 1, sets = (size_t)c + 1;
  return ways * partitions * line * sets;
}

static void read_leaf(uint32_t leaf, size_t *levels) {
  for (uint32_t i = 0; i < MAX_CACHES; i++) {
    uint32_t a, b, c, d;
    if (!__get_cpuid_count(leaf, i, &a, &b, &c, &d)) return;
    const uint32_t type = a & 31, level = a >> 5 & 7;
    if (type == TYPE_NONE) return;
    if ((type == TYPE_DATA || type == TYPE_UNIFIED) && level <= 3) {
      levels[level] = cache_bytes(b, c);
    }
  }
}

static bsm_caches ask(void) {
  size_t levels[4] = {0};
  read_leaf(4, levels);
  if (!levels[1]) read_leaf(0x8000001d, levels);
  return caches_of(levels);
}

void bsm_evict_from_caches(const void *data, size_t size) {
  const char *p = data;
  for (size_t i = 0; i < size; i += 64) _mm_clflush(p + i);
  _mm_mfence();
}

#else

#include <stdio.h>
#include <string.h>

/* The word of one file of cache `index`, or an empty one. */
static void read_word(int index, const char *name, char word[32]) {
  char path[96];
  snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
           index, name);
  word[0] = 0;
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fscanf(file, "%31s", word) != 1) word[0] = 0;
  fclose(file);
}

static bsm_caches ask(void) {
  size_t levels[4] = {0};
  for (int i = 0; i < 8; i++) {
    char type[32], level[32], size[32];
    read_word(i, "type", type);
    read_word(i, "level", level);
    read_word(i, "size", size);
    unsigned at = 0;
    unsigned long kilobytes = 0;
    if (strcmp(type, "Data") != 0 && strcmp(type, "Unified") != 0) continue;
    if (sscanf(level, "%u", &at) != 1 || at < 1 || at > 3) continue;
    if (sscanf(size, "%luK", &kilobytes) != 1 || kilobytes > 1ul << 22)
      continue;
    levels[at] = (size_t)kilobytes << 10;
  }
  return caches_of(levels);
}

void bsm_evict_from_caches(const void *data, size_t size) {
  (void)data;
  (void)size;
}

#endif

static bsm_caches detected;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void detect(void) {
  detected = ask();
}

bsm_caches bsm_detect_caches(void) {
  pthread_once(&once, detect);
  return detected;
}
