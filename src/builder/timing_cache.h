/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache: how long the tactics of a step took, kept between builds.
 *
 * A text file: the line "bessemer timing cache 3", then for each step a line:
 * a key of 16 hexadecimal digits, tactics, and behind each its time in
 * nanoseconds, with the fastest first; a tab stands between them. A key covers
 * the step, the shapes and layouts of its tensors, the places of its weights,
 * the target, the model of the machine and the format of engines, so one file
 * serves several machines. A cache of another version is ignored; malformed
 * lines are an error. */
#ifndef BSM_BUILDER_TIMING_CACHE_H_
#define BSM_BUILDER_TIMING_CACHE_H_

#include "base/strings.h"
#include "engine/plan.h"

typedef struct bsm_timing_entry {
  bsm_plan_trial *trials; /* the best one first */
  uint32_t count;         /* at least 1, at most BSM_STEP_MAX_TRIALS */
} bsm_timing_entry;

typedef struct bsm_timing_cache {
  bsm_arena *arena;
  bsm_strmap entries; /* key text -> bsm_timing_entry */
  BSM_VEC(const char *) keys;
  bool changed;
} bsm_timing_cache;

/* Reads `path`; a file that does not exist is an empty cache. */
BSM_NODISCARD bsm_status bsm_timing_cache_load(bsm_arena *arena,
                                               const char *path,
                                               bsm_timing_cache *out);
/* Parses the bytes of a cache, for load and for fuzzing. */
BSM_NODISCARD bsm_status bsm_timing_cache_parse(bsm_arena *arena, bsm_str text,
                                                bsm_timing_cache *out);
/* Writes `path` if anything was added. */
BSM_NODISCARD bsm_status bsm_timing_cache_save(const bsm_timing_cache *cache,
                                               const char *path);

/* NULL when the step is not known. */
const bsm_timing_entry *bsm_timing_cache_get(const bsm_timing_cache *cache,
                                             uint64_t key);
/* Copies the trials. */
BSM_NODISCARD bsm_status bsm_timing_cache_put(bsm_timing_cache *cache,
                                              uint64_t key,
                                              bsm_timing_entry entry);

/* What times depend on besides the step. */
typedef struct bsm_timing_conditions {
  bsm_str machine; /* the target's machine_key */
  int32_t timer;   /* the timer's conditions */
} bsm_timing_conditions;

uint64_t bsm_timing_key(const bsm_plan *plan, const bsm_plan_step *step,
                        const bsm_timing_conditions *conditions);

#endif /* BSM_BUILDER_TIMING_CACHE_H_ */
