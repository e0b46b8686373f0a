/* SPDX-License-Identifier: Apache-2.0 */
/* The number of CPUs this process may use.
 *
 * A container limits CPU time by a quota, which the affinity mask does not
 * show: more threads than the quota allows are throttled and slow each other
 * down. Version 2 keeps "quota period" in cpu.max, version 1 two files. */
#include "base/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "base/thread_pool.h"

/* Reads the beginning of a small file; false when it cannot be read. */
static bool read_small(const char *path, char *buffer, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t length = 0;
  while (length + 1 < size) {
    const ssize_t got = read(fd, buffer + length, size - 1 - length);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    length += got > 0 ? (size_t)got : 0;
  }
  close(fd);
  buffer[length] = '\0';
  return length > 0;
}

/* The next word of a text of blank-separated words. */
static bsm_str next_word(const char **cursor) {
  const char *start = *cursor + strspn(*cursor, " \t\n");
  const size_t length = strcspn(start, " \t\n");
  *cursor = start + length;
  return (bsm_str){start, length};
}

static int quota_to_cpus(bsm_str quota_text, bsm_str period_text) {
  int64_t quota, period;
  if (!bsm_parse_i64(quota_text, &quota) ||
      !bsm_parse_i64(period_text, &period) || quota <= 0 || period <= 0) {
    return 0; /* "max" and -1 mean no limit */
  }
  const int64_t cpus = quota / period + (quota % period != 0);
  return cpus > INT32_MAX ? 0 : (int)cpus;
}

/* The limit that one directory of version 2 or 1 sets; 0: none. */
static int directory_limit(const char *directory, bool version2) {
  char path[4200], first[128], second[128];
  if (version2) {
    snprintf(path, sizeof(path), "%s/cpu.max", directory);
    if (!read_small(path, first, sizeof(first))) return 0;
    const char *cursor = first;
    const bsm_str quota = next_word(&cursor);
    return quota_to_cpus(quota, next_word(&cursor));
  }
  snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
  if (!read_small(path, first, sizeof(first))) return 0;
  snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
  if (!read_small(path, second, sizeof(second))) return 0;
  const char *quota = first, *period = second;
  return quota_to_cpus(next_word(&quota), next_word(&period));
}

static int lower_limit(int a, int b) {
  if (a == 0 || b == 0) return a + b;
  return a < b ? a : b;
}

/* The lowest limit of `base` + `path` and its ancestors up to `base`. Inside a
 * container the path may name a directory that is not visible; its visible
 * ancestors are the ones that count. */
static int walk_limits(const char *base, bsm_str path, bool version2) {
  char directory[4096];
  const size_t base_length = strlen(base);
  if (base_length + path.len + 1 > sizeof(directory)) return 0;
  memcpy(directory, base, base_length + 1);
  /* "/../x" is what a process outside the cgroup namespace sees. */
  if (!memmem(path.data, path.len, "..", 2)) {
    memcpy(directory + base_length, path.data, path.len);
    directory[base_length + path.len] = '\0';
  }
  int limit = 0;
  for (;;) {
    limit = lower_limit(limit, directory_limit(directory, version2));
    char *slash = strrchr(directory + base_length, '/');
    if (!slash) return limit;
    *slash = '\0';
  }
}

/* Whether the comma-separated list holds the controller "cpu". */
static bool names_cpu(bsm_str controllers) {
  size_t start = 0;
  for (size_t i = 0; i <= controllers.len; i++) {
    if (i < controllers.len && controllers.data[i] != ',') continue;
    if (bsm_str_eq((bsm_str){controllers.data + start, i - start},
                   BSM_STR("cpu"))) {
      return true;
    }
    start = i + 1;
  }
  return false;
}

/* One line of the membership: "ID:CONTROLLERS:PATH". */
static int line_limit(bsm_str line, const char *root) {
  const char *first = memchr(line.data, ':', line.len);
  if (!first) return 0;
  const char *end = line.data + line.len;
  const char *second = memchr(first + 1, ':', (size_t)(end - first - 1));
  if (!second) return 0;
  const bsm_str controllers = {first + 1, (size_t)(second - first - 1)};
  const bsm_str path = {second + 1, (size_t)(end - second - 1)};
  char base[512];
  if (controllers.len == 0) {
    const int limit = walk_limits(root, path, true);
    snprintf(base, sizeof(base), "%s/unified", root);
    return lower_limit(limit, walk_limits(base, path, true));
  }
  if (!names_cpu(controllers)) return 0;
  snprintf(base, sizeof(base), "%s/cpu", root);
  const int limit = walk_limits(base, path, false);
  snprintf(base, sizeof(base), "%s/%.*s", root, (int)controllers.len,
           controllers.data);
  return lower_limit(limit, walk_limits(base, path, false));
}

int bsm_cgroup_cpus(const char *membership, const char *root) {
  int limit = 0;
  while (*membership) {
    const size_t length = strcspn(membership, "\n");
    limit = lower_limit(limit, line_limit((bsm_str){membership, length}, root));
    membership += length;
    if (*membership) membership++;
  }
  return limit;
}

static int affinity_cpus(void) {
  /* The kernel refuses a mask smaller than its own. */
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC((size_t)cpus);
    if (!set) return 1;
    const size_t size = CPU_ALLOC_SIZE((size_t)cpus);
    const bool ok = sched_getaffinity(0, size, set) == 0;
    const int count = ok ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (ok) return count > 0 ? count : 1;
  }
  return 1;
}

int bsm_available_cpus(void) {
  const int allowed = affinity_cpus();
  char membership[8192];
  int quota = 0;
  if (read_small("/proc/self/cgroup", membership, sizeof(membership))) {
    quota = bsm_cgroup_cpus(membership, "/sys/fs/cgroup");
  }
  return lower_limit(allowed, quota);
}
