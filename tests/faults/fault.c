/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload that makes one call of the system or of malloc fail, so
 * that a test can see what a program makes of it: every n-th call in turn.
 *
 *   FAULT_KIND   alloc   malloc and its relatives have no memory
 *                io      calls on files fail with EIO
 *                full    what writes fails with ENOSPC
 *                short   reads and writes do a part of what was asked
 *                eintr   calls that may be interrupted are, once
 *   FAULT_AT     which call of that kind, from 1 on; 0: none
 *   FAULT_MORE   1: and all that follow (not of short and eintr)
 *   FAULT_COUNT  a file: how many calls of that kind there were, and how many
 *                pieces of memory are left at the end
 *
 * Calls on descriptors up to 2 are left alone: what the program says has to be
 * readable. Counted are calls of the program's threads in order of their
 * coming, which is the same each time for one thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, ALLOC, IO, FULL, SHORT, EINTR_ONCE };

static enum kind kind;
static long at;
static bool more;
static atomic_long calls, alive;

/* The next definition of a function, after this library's. */
#define NEXT(name) ((__typeof__(&name))next((void **)&next_##name, #name))
#define DECLARE(name) static void *next_##name

static void *next(void **known, const char *name) {
  if (!*known) *known = dlsym(RTLD_NEXT, name);
  return *known;
}

/* ---- when ---- */

static bool now(void) {
  const long call = atomic_fetch_add(&calls, 1) + 1;
  return at > 0 && (call == at || (more && call > at));
}

static bool fails(enum kind wanted) {
  return kind == wanted && now();
}

/* Of a call on a file: whether it fails, with errno set. `writes`: it may need
 * room on the disk; `waits`: it may be interrupted. */
static bool file_fails(bool writes, bool waits) {
  if (kind == IO && now()) {
    errno = EIO;
    return true;
  }
  if (kind == FULL && writes && now()) {
    errno = ENOSPC;
    return true;
  }
  if (kind == EINTR_ONCE && waits && now()) {
    errno = EINTR;
    return true;
  }
  return false;
}

__attribute__((constructor)) static void begin(void) {
  static const char *const names[] = {"",     "alloc", "io",
                                      "full", "short", "eintr"};
  const char *name = getenv("FAULT_KIND"), *which = getenv("FAULT_AT");
  more = getenv("FAULT_MORE") != NULL;
  for (int i = 1; name && i <= EINTR_ONCE; i++) {
    if (strcmp(name, names[i]) == 0) kind = (enum kind)i;
  }
  at = which ? atol(which) : 0;
  atomic_store(&calls, 0);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAULT_COUNT");
  const long made = atomic_load(&calls), left = atomic_load(&alive);
  kind = NONE;
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld %ld\n", made, left);
  fclose(file);
}

/* ---- memory ---- */

/* dlsym asks for memory itself before malloc is found. */
static char early[4096];
static size_t early_used;

static void *early_memory(size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (size > sizeof(early) - early_used) return NULL;
  early_used += size;
  return early + early_used - size;
}

static bool is_early(const void *p) {
  return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

static bool no_memory(void) {
  if (!fails(ALLOC)) return false;
  errno = ENOMEM;
  return true;
}

static void *count(void *p) {
  if (p) atomic_fetch_add(&alive, 1);
  return p;
}

DECLARE(malloc);
void *malloc(size_t size) {
  static _Thread_local bool inside;
  if (inside) return early_memory(size);
  if (!next_malloc) {
    inside = true;
    (void)NEXT(malloc);
    inside = false;
  }
  return no_memory() ? NULL : count(NEXT(malloc)(size));
}

DECLARE(calloc);
void *calloc(size_t n, size_t size) {
  static _Thread_local bool inside;
  if (inside) return early_memory(n * size); /* zeros, given once */
  if (!next_calloc) {
    inside = true;
    (void)NEXT(calloc);
    inside = false;
  }
  return no_memory() ? NULL : count(NEXT(calloc)(n, size));
}

DECLARE(realloc);
void *realloc(void *old, size_t size) {
  if (is_early(old)) return NULL;
  if (no_memory()) return NULL;
  void *p = NEXT(realloc)(old, size);
  return old ? p : count(p);
}

DECLARE(aligned_alloc);
void *aligned_alloc(size_t alignment, size_t size) {
  return no_memory() ? NULL : count(NEXT(aligned_alloc)(alignment, size));
}

DECLARE(posix_memalign);
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (no_memory()) return ENOMEM;
  const int error = NEXT(posix_memalign)(out, alignment, size);
  if (!error) atomic_fetch_add(&alive, 1);
  return error;
}

DECLARE(free);
void free(void *p) {
  if (!p || is_early(p)) return;
  atomic_fetch_sub(&alive, 1);
  NEXT(free)(p);
}

/* ---- files ---- */

static bool is_ours(int fd) {
  return fd > 2;
}

#define OPEN(name, head, arguments)                    \
  DECLARE(name);                                       \
  int name head {                                      \
    mode_t mode = 0;                                   \
    if (flags & (O_CREAT | __O_TMPFILE)) {             \
      va_list rest;                                    \
      va_start(rest, flags);                           \
      mode = va_arg(rest, mode_t);                     \
      va_end(rest);                                    \
    }                                                  \
    if (file_fails(flags & O_CREAT, false)) return -1; \
    return NEXT(name) arguments;                       \
  }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...),
     (folder, path, flags, mode))

DECLARE(read);
ssize_t read(int fd, void *data, size_t size) {
  if (is_ours(fd)) {
    if (file_fails(false, true)) return -1;
    if (size > 1 && fails(SHORT)) size = size / 2;
  }
  return NEXT(read)(fd, data, size);
}

DECLARE(write);
ssize_t write(int fd, const void *data, size_t size) {
  if (is_ours(fd)) {
    if (file_fails(true, true)) return -1;
    if (size > 1 && fails(SHORT)) size = size / 2;
  }
  return NEXT(write)(fd, data, size);
}

DECLARE(writev);
ssize_t writev(int fd, const struct iovec *parts, int n) {
  if (is_ours(fd)) {
    if (file_fails(true, true)) return -1;
    if (n > 0 && fails(SHORT)) {
      return NEXT(write)(fd, parts[0].iov_base, parts[0].iov_len / 2);
    }
  }
  return NEXT(writev)(fd, parts, n);
}

#define ON_FILE(type, name, head, arguments, writes, waits, failure) \
  DECLARE(name);                                                     \
  type name head {                                                   \
    if (file_fails(writes, waits)) return failure;                   \
    return NEXT(name) arguments;                                     \
  }

ON_FILE(int, fstat, (int fd, struct stat *out), (fd, out), false, false, -1)
ON_FILE(int, fsync, (int fd), (fd), true, true, -1)
ON_FILE(int, fchmod, (int fd, mode_t mode), (fd, mode), false, false, -1)
ON_FILE(int, rename, (const char *from, const char *to), (from, to), true,
        false, -1)
ON_FILE(int, mkdir, (const char *path, mode_t mode), (path, mode), true, false,
        -1)
ON_FILE(void *, mmap,
        (void *where, size_t size, int rights, int flags, int fd, off_t from),
        (where, size, rights, flags, fd, from), false, false, MAP_FAILED)

/* The descriptor is gone, whatever the answer is. */
DECLARE(close);
int close(int fd) {
  const bool failed = is_ours(fd) && file_fails(true, true);
  const int error = errno;
  const int result = NEXT(close)(fd);
  if (failed) errno = error;
  return failed ? -1 : result;
}
