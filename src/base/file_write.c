/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written whole or not at all: to a temporary file beside the
 * path, which is synchronised and then renamed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "base/file.h"

#define MAX_PARTS 1024 /* IOV_MAX */

static bsm_status io_error(const char *path, const char *what, int error) {
  return BSM_FAIL(BSM_IO, "%s: cannot %s: %s", path, what,
                  BSM_ERRNO_TEXT(error));
}

/* ---- what is not finished ---- */

#define MAX_UNFINISHED 8
#define MAX_NAME 1024

enum { SLOT_FREE, SLOT_TAKEN, SLOT_NAMED };

/* Names in memory that is never freed: a handler may run at any time. What
 * finds no slot, or has a longer name, is not remembered. */
static struct {
  atomic_int state;
  char name[MAX_NAME];
} unfinished[MAX_UNFINISHED];

static int remember(const char *name) {
  const size_t size = strlen(name) + 1;
  if (size > MAX_NAME) return -1;
  for (int i = 0; i < MAX_UNFINISHED; i++) {
    int expected = SLOT_FREE;
    if (!atomic_compare_exchange_strong(&unfinished[i].state, &expected,
                                        SLOT_TAKEN)) {
      continue;
    }
    memcpy(unfinished[i].name, name, size);
    atomic_store(&unfinished[i].state, SLOT_NAMED);
    return i;
  }
  return -1;
}

static void forget(int slot) {
  if (slot >= 0) atomic_store(&unfinished[slot].state, SLOT_FREE);
}

void bsm_file_remove_unfinished(void) {
  const int error = errno;
  for (int i = 0; i < MAX_UNFINISHED; i++) {
    if (atomic_load(&unfinished[i].state) == SLOT_NAMED) {
      unlink(unfinished[i].name);
    }
  }
  errno = error;
}

/* ---- writing ---- */

/* Many pieces in one call: the system caches what it is given at once in pages
 * as large as they go, and who maps the file has less to translate. */
static int write_all(int fd, const bsm_file_piece *pieces, size_t count) {
  struct iovec parts[MAX_PARTS];
  size_t done = 0; /* of the first piece */
  while (count) {
    const size_t n = count < MAX_PARTS ? count : MAX_PARTS;
    for (size_t i = 0; i < n; i++) {
      parts[i] =
          (struct iovec){(void *)(uintptr_t)pieces[i].data, pieces[i].size};
    }
    if (done) {
      parts[0].iov_base = (char *)parts[0].iov_base + done;
      parts[0].iov_len -= done;
    }
    const ssize_t written = writev(fd, parts, (int)n);
    if (written < 0 && errno != EINTR) return errno;
    for (done += written > 0 ? (size_t)written : 0;
         count && done >= pieces->size; pieces++, count--) {
      done -= pieces->size;
    }
  }
  return 0;
}

/* File systems without a disk behind them need not know how. */
static int synchronize(int fd) {
  while (fsync(fd)) {
    if (errno == EINVAL || errno == ENOTSUP) return 0;
    if (errno != EINTR) return errno;
  }
  return 0;
}

/* Who may use the file that is replaced may use the new one, and nobody else.
 * A group that cannot be kept gets no rights. */
static int keep_rights(int fd, const struct stat *old) {
  mode_t mode = old->st_mode & 0777;
  struct stat made;
  if (fstat(fd, &made)) return errno;
  if (made.st_uid != old->st_uid && fchown(fd, old->st_uid, (gid_t)-1)) {
    /* Who may write here, but is not the owner, becomes it. */
  }
  if (made.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid)) {
    mode &= ~(mode_t)070;
  }
  return fchmod(fd, mode) ? errno : 0;
}

static int fill(int fd, const struct stat *old, const bsm_file_piece *pieces,
                size_t count) {
  int error = old ? keep_rights(fd, old) : 0;
  if (!error) error = write_all(fd, pieces, count);
  if (!error) error = synchronize(fd);
  if (close(fd) && errno != EINTR && !error) error = errno;
  return error;
}

/* The new name lasts when its folder has been written. */
static int synchronize_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) slash[slash == path ? 1 : 0] = '\0';
  const int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno; /* writable, not readable */
  const int error = synchronize(fd);
  close(fd);
  return error;
}

/* Creates a file that did not exist beside `path`. `name` has room for the
 * suffix. mkstemp would ignore the umask. Returns -1 with errno set. */
static int create_beside(const char *path, char *name, size_t size) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  uint32_t salt = (uint32_t)now.tv_nsec ^ ((uint32_t)getpid() << 16);
  for (int attempt = 0; attempt < 64; attempt++) {
    salt = salt * UINT32_C(1664525) + UINT32_C(1013904223);
    snprintf(name, size, "%s.tmp-%08" PRIx32, path, salt);
    const int fd =
        open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static bsm_status write_renamed(const char *path, const struct stat *old,
                                const bsm_file_piece *pieces, size_t count) {
  const size_t size = strlen(path) + sizeof(".tmp-01234567");
  char *name = malloc(size);
  BSM_TRY_ALLOC(name);
  bsm_status status = BSM_OK;
  const int fd = create_beside(path, name, size);
  if (fd < 0) {
    status = io_error(path, "create", errno);
  } else {
    const int slot = remember(name);
    int error = fill(fd, old, pieces, count);
    if (error) {
      status = io_error(path, "write", error);
    } else if (rename(name, path)) {
      status = io_error(path, "rename the finished file", errno);
    }
    if (status) unlink(name);
    forget(slot);
    if (!status && (error = synchronize_folder(name)) != 0) {
      status = io_error(
          path,
          "make sure that the finished file, which is there, outlasts a "
          "failure of the machine",
          error);
    }
  }
  free(name);
  return status;
}

bsm_status bsm_file_write(const char *path, const bsm_file_piece *pieces,
                          size_t count) {
  struct stat info;
  if (lstat(path, &info)) return write_renamed(path, NULL, pieces, count);
  if (S_ISDIR(info.st_mode)) return io_error(path, "write", EISDIR);
  if (S_ISLNK(info.st_mode)) return write_renamed(path, NULL, pieces, count);
  if (S_ISREG(info.st_mode)) return write_renamed(path, &info, pieces, count);
  return BSM_FAIL(BSM_IO,
                  "%s: cannot write: it is a pipe or a device, not a regular "
                  "file",
                  path);
}
