/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are mapped or copied, and files written whole or not at all.
 *
 * A mapped file that another process truncates raises SIGBUS when the lost
 * pages are touched; replacing a file by rename, as bsm_file_write does, is
 * safe. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/allocate.h"

#define MAX_PARTS 1024 /* IOV_MAX */
/* Copying so little costs no more than mapping it, and a copy cannot shrink. */
#define SMALL_FILE ((size_t)64 << 10)
#define ALIGNMENT 64

/* The text of errno values, safe with threads. */
typedef struct error_text {
  char text[128];
} error_text;

static const char *describe(int error, error_text *buffer) {
  /* The GNU strerror_r returns its text; the XSI one would return an int and
   * not compile. */
  return strerror_r(error, buffer->text, sizeof(buffer->text));
}
#define ERRNO_TEXT(error) describe((error), &(error_text){{0}})

static bsm_status io_error(const char *path, const char *what, int error) {
  return BSM_FAIL(BSM_IO, "%s: cannot %s: %s", path, what, ERRNO_TEXT(error));
}

static bsm_status file_size(const char *path, int fd, uint64_t max_bytes,
                            size_t *out) {
  struct stat info;
  if (fstat(fd, &info)) return io_error(path, "stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return BSM_FAIL(BSM_IO, "%s: not a regular file", path);
  }
  const uint64_t size = (uint64_t)info.st_size;
  if (max_bytes && size > max_bytes) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s: %" PRIu64 " bytes, above the limit of %" PRIu64, path,
                    size, max_bytes);
  }
  if (size > SIZE_MAX) {
    return BSM_FAIL(BSM_LIMIT, "%s: %" PRIu64 " bytes do not fit into memory",
                    path, size);
  }
  *out = (size_t)size;
  return BSM_OK;
}

static bsm_status read_whole(const char *path, int fd, uint8_t *data,
                             size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t got = read(fd, data + at, size - at);
    if (got < 0 && errno != EINTR) return io_error(path, "read", errno);
    if (got == 0) {
      return BSM_FAIL(BSM_IO, "%s: it shrank while it was read", path);
    }
    at += got > 0 ? (size_t)got : 0;
  }
  return BSM_OK;
}

static bsm_status copy_descriptor(const char *path, int fd, size_t size,
                                  bsm_file_map *out) {
  out->copied = bsm_allocate_large(out->allocator, size, ALIGNMENT);
  BSM_TRY_ALLOC(out->copied);
  BSM_TRY(read_whole(path, fd, out->copied, size));
  out->data = out->copied;
  out->size = size;
  return BSM_OK;
}

static bsm_status map_descriptor(const char *path, int fd,
                                 const bsm_file_map_options *options,
                                 bsm_file_map *out) {
  size_t size = 0;
  BSM_TRY(file_size(path, fd, options->max_bytes, &size));
  if (size == 0) return BSM_OK;
  if (options->copy || size <= SMALL_FILE) {
    return copy_descriptor(path, fd, size, out);
  }
  void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return io_error(path, "map", errno);
  *out = (bsm_file_map){memory, size, memory, NULL, NULL};
  return BSM_OK;
}

bsm_status bsm_file_map_open(const char *path,
                             const bsm_file_map_options *options,
                             bsm_file_map *out) {
  const bsm_file_map_options defaults = {0, false, NULL};
  if (!options) options = &defaults;
  *out = (bsm_file_map){.allocator = options->allocator};
  /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error(path, "open", errno);
  bsm_status status = map_descriptor(path, fd, options, out);
  close(fd);
  if (status) bsm_file_map_close(out);
  return status;
}

void bsm_file_map_close(bsm_file_map *map) {
  if (map->mapped) munmap(map->mapped, map->size);
  if (map->copied) bsm_deallocate(map->allocator, map->copied);
  *map = (bsm_file_map){0};
}

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

/* A device or a pipe has no contents to keep whole: it is written directly. */
static bsm_status write_special(const char *path, const bsm_file_piece *pieces,
                                size_t count) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return io_error(path, "open for writing", errno);
  int error = write_all(fd, pieces, count);
  if (close(fd) && !error) error = errno;
  return error ? io_error(path, "write", error) : BSM_OK;
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

static bsm_status write_renamed(const char *path, const bsm_file_piece *pieces,
                                size_t count) {
  const size_t size = strlen(path) + sizeof(".tmp-01234567");
  char *name = malloc(size);
  BSM_TRY_ALLOC(name);
  bsm_status status = BSM_OK;
  const int fd = create_beside(path, name, size);
  if (fd < 0) {
    status = io_error(path, "create", errno);
  } else {
    int error = write_all(fd, pieces, count);
    if (close(fd) && !error) error = errno;
    if (error) {
      status = io_error(path, "write", error);
    } else if (rename(name, path)) {
      status = io_error(path, "rename the finished file", errno);
    }
    if (status) unlink(name);
  }
  free(name);
  return status;
}

bsm_status bsm_file_write(const char *path, const bsm_file_piece *pieces,
                          size_t count) {
  struct stat info;
  if (stat(path, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return io_error(path, "write", EISDIR);
    if (!S_ISREG(info.st_mode)) return write_special(path, pieces, count);
  }
  return write_renamed(path, pieces, count);
}
