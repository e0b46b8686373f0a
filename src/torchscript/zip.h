/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives, read from memory: central directory, zip64, stored and
 * deflated members, CRC. The directory is the truth; a local header that
 * disagrees, an overlap of members and a duplicate name are errors. Names are
 * only compared, never opened. */
#ifndef BSM_TORCHSCRIPT_ZIP_H_
#define BSM_TORCHSCRIPT_ZIP_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/limits.h"

typedef struct bsm_zip_entry {
  bsm_str name;    /* full member name */
  uint16_t method; /* 0 stored, 8 deflated */
  uint32_t crc;
  uint64_t compressed, size;
  uint64_t data_offset; /* of the payload in the file */
} bsm_zip_entry;

typedef struct bsm_zip {
  const uint8_t *data;
  size_t data_size;
  bsm_zip_entry *entries; /* in directory order */
  size_t count;
  bsm_strmap by_name;
  bsm_limits limits;
  uint64_t inflated; /* so far */
} bsm_zip;

/* Borrows `data`. BSM_CORRUPT with the file offset when malformed. */
BSM_NODISCARD bsm_status bsm_zip_open(bsm_arena *arena, const void *data,
                                      size_t size, const bsm_limits *limits,
                                      bsm_zip *out);
/* NULL when absent. */
const bsm_zip_entry *bsm_zip_find(const bsm_zip *zip, bsm_str name);
/* The bytes of a member: in place when stored, inflated into the arena
 * otherwise. `check_crc` verifies the CRC. */
BSM_NODISCARD bsm_status bsm_zip_read(bsm_zip *zip, bsm_arena *arena,
                                      const bsm_zip_entry *entry,
                                      bool check_crc, bsm_str *out);

#endif /* BSM_TORCHSCRIPT_ZIP_H_ */
