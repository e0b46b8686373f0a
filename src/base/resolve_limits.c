/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of bsm_limits, as include/bessemer/limits.h states them. */
#include "base/resolve_limits.h"

#include <stdint.h>

/* What is counted in memory, which has no more than size_t can say: so any
 * limit can be taken for one. */
static uint64_t fitting(uint64_t limit) {
  const uint64_t most = SIZE_MAX;
  return limit < most ? limit : most;
}

bsm_limits bsm_resolve_limits(const bsm_limits *limits) {
  bsm_limits out = BSM_LIMITS_INIT;
  if (limits) out = *limits;
#define DEFAULT(field, value) \
  out.field = fitting(out.field ? out.field : (value))
  DEFAULT(max_file_bytes, (uint64_t)64 << 30);
  DEFAULT(max_entries, 1000000);
  DEFAULT(max_name_bytes, 64 << 10);
  DEFAULT(max_inflated, 1 << 30);
  DEFAULT(max_inflate_ratio, 1100);
  DEFAULT(max_pickle_ops, 50000000);
  DEFAULT(max_depth, 200);
  DEFAULT(max_string_bytes, 64 << 20);
  DEFAULT(max_source_bytes, 256 << 20);
  DEFAULT(max_nodes, 4000000);
  DEFAULT(max_tensor_bytes, (uint64_t)16 << 30);
  DEFAULT(max_loop_trips, 100000);
  DEFAULT(max_unrolled_nodes, 100000);
  DEFAULT(max_json_values, 20000000);
#undef DEFAULT
  out.max_memory_bytes = fitting(out.max_memory_bytes);
  return out;
}
