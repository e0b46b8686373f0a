/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of bsm_limits, as include/bessemer/limits.h states them. */
#include "base/resolve_limits.h"

bsm_limits bsm_resolve_limits(const bsm_limits *limits) {
  bsm_limits out = BSM_LIMITS_INIT;
  if (limits) out = *limits;
#define DEFAULT(field, value) \
  if (out.field == 0) out.field = (value)
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
  return out;
}
