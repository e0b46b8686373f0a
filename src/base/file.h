/* SPDX-License-Identifier: Apache-2.0 */
/* Files: what is read, mapped or copied, and output that appears whole or not
 * at all. */
#ifndef BSM_BASE_FILE_H_
#define BSM_BASE_FILE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/allocator.h"
#include "bessemer/status.h"

typedef struct bsm_file_map {
  const uint8_t *data; /* NULL for an empty file */
  size_t size;
  void *mapped, *copied; /* which of them is not NULL holds the data */
  const bsm_allocator *allocator;
} bsm_file_map;

typedef struct bsm_file_map_options {
  uint64_t max_bytes;             /* what is larger is refused; 0: no limit */
  bool copy;                      /* read the file instead of mapping it */
  const bsm_allocator *allocator; /* for copies; NULL: malloc */
} bsm_file_map_options;

/* Maps a regular file, and refuses what is none. A process that touches pages
 * of a map that the file has lost since is killed by SIGBUS: files that others
 * may truncate are copied, and small ones always. `options` NULL: defaults. */
BSM_NODISCARD bsm_status bsm_file_map_open(const char *path,
                                           const bsm_file_map_options *options,
                                           bsm_file_map *out);
void bsm_file_map_close(bsm_file_map *map);

/* One piece of a file to write; pieces follow each other. */
typedef struct bsm_file_piece {
  const void *data;
  size_t size;
} bsm_file_piece;

/* Writes to a temporary file beside `path`, synchronises it with the disk and
 * renames it: no partial output is ever left under that name, also after a
 * failure of the program or of the machine. A regular file that is replaced
 * passes its mode on, and its owner and group where the system allows it; a
 * symbolic link is replaced, not followed; what else is there (a folder, a
 * pipe, a device) is refused. When only making the new name last fails, the
 * message says that the file is there. */
BSM_NODISCARD bsm_status bsm_file_write(const char *path,
                                        const bsm_file_piece *pieces,
                                        size_t count);

/* Removes the temporary files of calls that have not returned: for handlers of
 * signals that end the process, in which it may be called. */
void bsm_file_remove_unfinished(void);

#endif /* BSM_BASE_FILE_H_ */
