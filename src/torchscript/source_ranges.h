/* SPDX-License-Identifier: Apache-2.0 */
/* Source ranges: which Python line a byte of a code member comes from, as the
 * debug files beside it (*.debug_pkl) say. They serve messages only, so they
 * are read leniently: whatever is malformed is left out. */
#ifndef BSM_TORCHSCRIPT_SOURCE_RANGES_H_
#define BSM_TORCHSCRIPT_SOURCE_RANGES_H_

#include "torchscript/pickle.h"

typedef struct bsm_source_range {
  uint64_t offset;  /* of the code, where the range begins */
  const char *file; /* NULL: unknown */
  uint32_t line;    /* from 1 */
} bsm_source_range;

typedef struct bsm_source_ranges {
  BSM_VEC(bsm_source_range) ranges; /* ascending */
} bsm_source_ranges;

/* Reads a debug file. Fails only when out of memory. */
BSM_NODISCARD bsm_status bsm_source_ranges_read(bsm_arena *arena,
                                                bsm_type_table *types,
                                                bsm_str bytes,
                                                const bsm_limits *limits,
                                                bsm_source_ranges *out);
/* The range that `offset` lies in, or NULL. */
const bsm_source_range *bsm_source_ranges_find(const bsm_source_ranges *ranges,
                                               uint64_t offset);

#endif /* BSM_TORCHSCRIPT_SOURCE_RANGES_H_ */
