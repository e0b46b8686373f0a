/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are mapped or copied.
 *
 * A mapped file that another process truncates raises SIGBUS when the lost
 * pages are touched; replacing a file by rename, as bsm_file_write does, is
 * safe. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/errno_text.h"

/* Copying so little costs no more than mapping it, and a copy cannot shrink. */
#define SMALL_FILE ((size_t)64 << 10)
#define ALIGNMENT 64

static bsm_status io_error(const char *path, const char *what, int error) {
  return BSM_FAIL(BSM_IO, "%s: cannot %s: %s", path, what,
                  BSM_ERRNO_TEXT(error));
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
