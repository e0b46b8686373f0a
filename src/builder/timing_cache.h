/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache: which tactic won for a step, kept between builds.
 *
 * A text file: the line "bessemer timing cache 1", then "<key> <tactic>" lines
 * with a key of 16 hexadecimal digits. A key covers the step, the shapes and
 * layouts of its tensors, the ISA, the number of threads and the CPU's model,
 * so one file serves several machines. Malformed lines are an error. */
#ifndef BSM_BUILDER_TIMING_CACHE_H_
#define BSM_BUILDER_TIMING_CACHE_H_

#include "base/strings.h"
#include "engine/plan.h"

typedef struct bsm_timing_cache {
  bsm_arena *arena;
  bsm_strmap tactics; /* key text -> tactic */
  BSM_VEC(const char *) keys;
  bool changed;
} bsm_timing_cache;

/* Reads `path`; a file that does not exist is an empty cache. */
BSM_NODISCARD bsm_status bsm_timing_cache_load(bsm_arena *arena,
                                               const char *path,
                                               bsm_timing_cache *out);
/* Parses the bytes of a cache: for load and for fuzzing. */
BSM_NODISCARD bsm_status bsm_timing_cache_parse(bsm_arena *arena, bsm_str text,
                                                bsm_timing_cache *out);
/* Writes `path` when anything was added. */
BSM_NODISCARD bsm_status bsm_timing_cache_save(const bsm_timing_cache *cache,
                                               const char *path);

/* NULL when the step is not known. */
const char *bsm_timing_cache_get(const bsm_timing_cache *cache, uint64_t key);
BSM_NODISCARD bsm_status bsm_timing_cache_put(bsm_timing_cache *cache,
                                              uint64_t key, const char *tactic);

/* The key of a step on this machine. */
uint64_t bsm_timing_key(const bsm_plan *plan, const bsm_plan_step *step,
                        uint32_t isa, int threads, bsm_str cpu_model);

#endif /* BSM_BUILDER_TIMING_CACHE_H_ */
