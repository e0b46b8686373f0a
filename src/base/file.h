/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read-only maps, and output that appears whole or not at all. */
#ifndef BSM_BASE_FILE_H_
#define BSM_BASE_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include "bessemer/status.h"

typedef struct bsm_file_map {
  const uint8_t *data; /* NULL for an empty file */
  size_t size;
  void *impl;
} bsm_file_map;

/* Maps a regular file privately. Refuses what is not a regular file and what
 * is larger than `max_bytes` (0: no limit). */
BSM_NODISCARD bsm_status bsm_file_map_open(const char *path, uint64_t max_bytes,
                                           bsm_file_map *out);
void bsm_file_map_close(bsm_file_map *map);

/* One piece of a file to write; pieces follow each other. */
typedef struct bsm_file_piece {
  const void *data;
  size_t size;
} bsm_file_piece;

/* Writes to a temporary file beside `path` and renames it: no partial output
 * is ever left under that name, also after a failure. */
BSM_NODISCARD bsm_status bsm_file_write(const char *path,
                                        const bsm_file_piece *pieces,
                                        size_t count);

#endif /* BSM_BASE_FILE_H_ */
