/* SPDX-License-Identifier: Apache-2.0 */
/* Files that belong to this user alone, and folders of small ones: for what
 * programs of the user tell each other and nobody else may say.
 *
 * Everything is opened relative to the folder, and checked after it was opened:
 * the folder and its files belong to the effective user, give nobody else any
 * right, and are no links. A folder or file that is not so is refused with
 * BSM_IO; nothing is repaired silently. */
#ifndef BSM_BASE_PRIVATE_FOLDER_H_
#define BSM_BASE_PRIVATE_FOLDER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/status.h"

typedef struct bsm_private_folder {
  int fd;
  const char *path; /* the caller's, for messages */
} bsm_private_folder;

/* Makes the folder, and those above it, when they are not there. */
BSM_NODISCARD bsm_status bsm_private_folder_make(const char *path);
/* BSM_NOT_FOUND: it is not there. */
BSM_NODISCARD bsm_status bsm_private_folder_open(const char *path,
                                                 bsm_private_folder *out);
/* Also gives the lock back. */
void bsm_private_folder_close(bsm_private_folder *folder);

/* Waits until no other program has the folder's lock. Readers need none, as
 * files are replaced whole. */
BSM_NODISCARD bsm_status
bsm_private_folder_lock(const bsm_private_folder *folder);

/* Waits until nobody else, in this process or another, has a claim of that
 * number on the folder. -1: who has it takes half a minute, or it cannot be
 * known. A claim ends with its process at the latest. */
int bsm_private_folder_claim(const bsm_private_folder *folder, uint64_t number);
void bsm_private_release(int claim);

/* Reads a whole file of at most `room` bytes. BSM_NOT_FOUND: it is not there.
 * BSM_LIMIT: it is longer. */
BSM_NODISCARD bsm_status bsm_private_file_read(const bsm_private_folder *folder,
                                               const char *name, void *out,
                                               size_t room, size_t *size);
/* Writes a file, or replaces it; it is there whole or not at all. Needs the
 * lock. */
BSM_NODISCARD bsm_status
bsm_private_file_replace(const bsm_private_folder *folder, const char *name,
                         const void *data, size_t size);
/* The same without the lock, and without waiting for the disk: after a crash of
 * the machine the file may be damaged. Many may write one name at once; it is
 * that of the last. For what readers verify and can do without. */
BSM_NODISCARD bsm_status
bsm_private_file_replace_soon(const bsm_private_folder *folder,
                              const char *name, const void *data, size_t size);

/* The same for a file by its path; links to it may be followed. */
BSM_NODISCARD bsm_status bsm_private_path_read(const char *path, void *out,
                                               size_t room, size_t *size);
/* Writes a file that is not there yet; with `is_private`, for this user alone.
 * BSM_IO: there is one. */
BSM_NODISCARD bsm_status bsm_new_file_write(const char *path, const void *data,
                                            size_t size, bool is_private);

/* getenv, but NULL in a program that has more rights than who started it. */
const char *bsm_private_variable(const char *name);

#endif /* BSM_BASE_PRIVATE_FOLDER_H_ */
