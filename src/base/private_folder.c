/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of one user. */
#include "base/private_folder.h"
#include "base/errno_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_NAME 128
#define TEMPORARY ".new"
/* Names that are tried for a file that several may write. */
#define NAMES 64
/* Of waiting for who has a claim: some are stopped, or hang. */
#define MAX_WAITS 6000
#define WAIT_NANOSECONDS 5000000

static bsm_status failed(const bsm_private_folder *folder, const char *name,
                         const char *what, int error) {
  return BSM_FAIL(error == ENOENT ? BSM_NOT_FOUND : BSM_IO,
                  "%s%s%s: cannot %s: %s", folder->path, name ? "/" : "",
                  name ? name : "", what, BSM_ERRNO_TEXT(error));
}

/* Whether an open folder or file is this user's alone. */
static bsm_status check_owner(const bsm_private_folder *folder, int fd,
                              const char *name, bool is_folder) {
  struct stat info;
  if (fstat(fd, &info)) return failed(folder, name, "stat", errno);
  const char *slash = name ? "/" : "";
  if (!name) name = "";
  if (is_folder ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode)) {
    return BSM_FAIL(BSM_IO, "%s%s%s: not a %s", folder->path, slash, name,
                    is_folder ? "folder" : "regular file");
  }
  if (info.st_uid != geteuid()) {
    return BSM_FAIL(BSM_IO, "%s%s%s: belongs to user %lu, not to %lu",
                    folder->path, slash, name, (unsigned long)info.st_uid,
                    (unsigned long)geteuid());
  }
  if (info.st_mode & 077) {
    return BSM_FAIL(BSM_IO,
                    "%s%s%s: others may use it (mode %03o): chmod go= %s%s%s",
                    folder->path, slash, name, (unsigned)info.st_mode & 0777,
                    folder->path, slash, name);
  }
  return BSM_OK;
}

bsm_status bsm_private_folder_make(const char *whole) {
  const bsm_private_folder folder = {.path = whole};
  char *path = strdup(whole);
  BSM_TRY_ALLOC(path);
  int error = 0;
  for (char *end = path; *end && !error;) {
    end += strspn(end, "/");
    end += strcspn(end, "/");
    const char after = *end;
    *end = '\0';
    if (mkdir(path, 0700) && errno != EEXIST) error = errno;
    *end = after;
  }
  free(path);
  return error ? failed(&folder, NULL, "make the folder", error) : BSM_OK;
}

bsm_status bsm_private_folder_open(const char *path, bsm_private_folder *out) {
  const bsm_private_folder folder = {.path = path};
  *out = (bsm_private_folder){.fd = -1, .path = path};
  out->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (out->fd < 0) return failed(&folder, NULL, "open", errno);
  bsm_status status = check_owner(&folder, out->fd, NULL, true);
  if (status) bsm_private_folder_close(out);
  return status;
}

void bsm_private_folder_close(bsm_private_folder *folder) {
  if (folder->fd >= 0) close(folder->fd);
  folder->fd = -1;
}

bsm_status bsm_private_folder_lock(const bsm_private_folder *folder) {
  int error = 0;
  do {
    error = flock(folder->fd, LOCK_EX) ? errno : 0;
  } while (error == EINTR);
  return error ? failed(folder, NULL, "lock", error) : BSM_OK;
}

/* ---- claims ---- */

#ifdef F_OFD_SETLK

/* A byte of the file is the claim. The lock goes with the open file, not with
 * the process, so that threads have claims of their own. */
static bool lock_byte(int fd, off_t at) {
  struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  const struct timespec pause = {.tv_nsec = WAIT_NANOSECONDS};
  for (int waits = 0; waits < MAX_WAITS; waits++) {
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
    nanosleep(&pause, NULL);
  }
  return false;
}

int bsm_private_folder_claim(const bsm_private_folder *folder,
                             uint64_t number) {
  const int fd =
      openat(folder->fd, "claims",
             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0 || lock_byte(fd, (off_t)(number & INT32_MAX))) return fd;
  close(fd);
  return -1;
}

#else

int bsm_private_folder_claim(const bsm_private_folder *folder,
                             uint64_t number) {
  (void)folder;
  (void)number;
  return -1;
}

#endif

void bsm_private_release(int claim) {
  if (claim >= 0) close(claim);
}

/* ---- files ---- */

static bsm_status read_all(const bsm_private_folder *folder, const char *name,
                           int fd, void *out, size_t room, size_t *size) {
  char more;
  *size = 0;
  for (;;) {
    const bool full = *size == room;
    const ssize_t got =
        read(fd, full ? &more : (char *)out + *size, full ? 1 : room - *size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(folder, name, "read", errno);
    if (got == 0) return BSM_OK;
    if (full) {
      return BSM_FAIL(BSM_LIMIT, "%s%s%s: more than %zu bytes", folder->path,
                      name ? "/" : "", name ? name : "", room);
    }
    *size += (size_t)got;
  }
}

bsm_status bsm_private_file_read(const bsm_private_folder *folder,
                                 const char *name, void *out, size_t room,
                                 size_t *size) {
  *size = 0;
  /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
  const int fd =
      openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(folder, name, "open", errno);
  bsm_status status = check_owner(folder, fd, name, false);
  if (!status) status = read_all(folder, name, fd, out, room, size);
  close(fd);
  return status;
}

/* Waits for the disk when `synced`: a name must not outlive a crash that its
 * contents do not. */
static int write_all(int fd, const char *data, size_t size, bool synced) {
  while (size) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) {
      data += written;
      size -= (size_t)written;
    }
  }
  return synced && fsync(fd) ? errno : 0;
}

/* Writes `temporary`, which is not there, and gives it its name. */
static bsm_status replace(const bsm_private_folder *folder, const char *name,
                          const char *temporary, const void *data, size_t size,
                          bool synced) {
  const int fd =
      openat(folder->fd, temporary,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    /* A folder that was removed has no entries: that is no file missing. */
    return BSM_FAIL(BSM_IO, "%s/%s: cannot create it", folder->path, temporary);
  }
  int error = write_all(fd, data, size, synced);
  if (close(fd) && !error) error = errno;
  if (!error && renameat(folder->fd, temporary, folder->fd, name)) {
    error = errno;
  }
  if (!error) return BSM_OK;
  unlinkat(folder->fd, temporary, 0);
  return failed(folder, name, "write", error);
}

bsm_status bsm_private_file_replace(const bsm_private_folder *folder,
                                    const char *name, const void *data,
                                    size_t size) {
  char temporary[MAX_NAME];
  snprintf(temporary, sizeof(temporary), "%s" TEMPORARY, name);
  /* Left by a crash, as who has the lock is alone. */
  if (unlinkat(folder->fd, temporary, 0) && errno != ENOENT) {
    return failed(folder, temporary, "remove", errno);
  }
  return replace(folder, name, temporary, data, size, true);
}

bsm_status bsm_private_file_replace_soon(const bsm_private_folder *folder,
                                         const char *name, const void *data,
                                         size_t size) {
  /* Other threads and processes may write that file. Where processes do not see
   * each other, as in containers, their numbers repeat, so that the name may be
   * another's, or be left by one that crashed. */
  static atomic_uint calls;
  char temporary[MAX_NAME];
  bsm_status status = BSM_OK;
  for (int i = 0; i < NAMES; i++) {
    bsm_status_free(status);
    snprintf(temporary, sizeof(temporary), "%s.%ld-%u" TEMPORARY, name,
             (long)getpid(), atomic_fetch_add(&calls, 1));
    status = replace(folder, name, temporary, data, size, false);
    if (!status ||
        faccessat(folder->fd, temporary, F_OK, AT_SYMLINK_NOFOLLOW)) {
      break;
    }
  }
  return status;
}

bsm_status bsm_private_path_read(const char *path, void *out, size_t room,
                                 size_t *size) {
  const bsm_private_folder file = {.path = path};
  *size = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(&file, NULL, "open", errno);
  bsm_status status = check_owner(&file, fd, NULL, false);
  if (!status) status = read_all(&file, NULL, fd, out, room, size);
  close(fd);
  return status;
}

bsm_status bsm_new_file_write(const char *path, const void *data, size_t size,
                              bool is_private) {
  const bsm_private_folder file = {.path = path};
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      is_private ? 0600 : 0666);
  if (fd < 0) {
    const int error = errno;
    return error == EEXIST
               ? BSM_FAIL(BSM_IO, "%s: there is a file already", path)
               : failed(&file, NULL, "create", error);
  }
  int error = write_all(fd, data, size, true);
  if (close(fd) && !error) error = errno;
  if (!error) return BSM_OK;
  unlink(path);
  return failed(&file, NULL, "write", error);
}

const char *bsm_private_variable(const char *name) {
  return secure_getenv(name);
}
