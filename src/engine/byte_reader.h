/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the bytes of an engine's description. Nothing is trusted: a count is
 * compared with the number of bytes left before anything is allocated for it.
 * `what` names the field in messages. */
#ifndef BSM_ENGINE_BYTE_READER_H_
#define BSM_ENGINE_BYTE_READER_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/status.h"

typedef struct bsm_byte_reader {
  const uint8_t *data;
  size_t size, at;
  bsm_arena *arena; /* of what is read */
  uint32_t minor;   /* minor version of the format; fields of later versions are
                       absent */
} bsm_byte_reader;

BSM_NODISCARD bsm_status bsm_read(bsm_byte_reader *r, void *out, size_t size,
                                  const char *what);
BSM_NODISCARD bsm_status bsm_read_u32(bsm_byte_reader *r, uint32_t *out,
                                      const char *what);
BSM_NODISCARD bsm_status bsm_read_u64(bsm_byte_reader *r, uint64_t *out,
                                      const char *what);
/* Reads the count of records, each of which takes at least `min_bytes`. */
BSM_NODISCARD bsm_status bsm_read_count(bsm_byte_reader *r, uint32_t *out,
                                        size_t min_bytes, const char *what);
/* Reads a string without NUL bytes inside. */
BSM_NODISCARD bsm_status bsm_read_string(bsm_byte_reader *r, const char **out,
                                         const char *what);
/* Reads a counted block of bytes and copies it. */
BSM_NODISCARD bsm_status bsm_read_bytes(bsm_byte_reader *r, const uint8_t **out,
                                        uint32_t *size, const char *what);
/* Reads a counted array of at most `max` u32. */
BSM_NODISCARD bsm_status bsm_read_ids(bsm_byte_reader *r, uint32_t **out,
                                      uint32_t *count, uint32_t max,
                                      const char *what);

#endif /* BSM_ENGINE_BYTE_READER_H_ */
