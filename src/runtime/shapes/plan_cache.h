/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by what they were made for. The cache has room for some; the least
 * recently used one makes room for the next. */
#ifndef BSM_RUNTIME_SHAPES_PLAN_CACHE_H_
#define BSM_RUNTIME_SHAPES_PLAN_CACHE_H_

#include "engine/region_planner.h"
#include "runtime/plan/plan_runner.h"

/* One plan, ready to run. */
typedef struct bsm_shape_plan {
  bsm_region_plan planned;
  bsm_plan_runner runner; /* of planned.plan */
} bsm_shape_plan;

/* What a plan is made for, as words. */
typedef struct bsm_plan_key {
  const uint64_t *words;
  size_t count;
  uint64_t hash; /* of the words */
} bsm_plan_key;

typedef struct bsm_plan_entry bsm_plan_entry;
struct bsm_plan_entry {
  bsm_shape_plan plan;
  bool refused;    /* there is no plan for the key */
  bsm_arena arena; /* of the plan and of the key */
  /* The cache's. */
  bsm_plan_key key;
  uint64_t used; /* the time of the last use; 0: empty */
  bsm_plan_entry *same_bucket, *newer, *older;
};

typedef struct bsm_plan_cache {
  bsm_arena *arena; /* of the entries themselves */
  size_t capacity;
  BSM_VEC(bsm_plan_entry *) entries; /* as many as were needed so far */
  bsm_plan_entry **buckets;
  size_t mask;                     /* a hash & mask is a bucket */
  bsm_plan_entry *newest, *oldest; /* of those that are used */
  bsm_plan_entry *empty;           /* linked by `older` */
  size_t bytes;                    /* of all used entries' arenas */
  uint64_t replaced;               /* entries that made room for others */
} bsm_plan_cache;

/* `capacity` is at least 1. */
BSM_NODISCARD bsm_status bsm_plan_cache_init(bsm_plan_cache *cache,
                                             bsm_arena *arena, size_t capacity);
void bsm_plan_cache_destroy(bsm_plan_cache *cache);

/* The entry of a key, which becomes the newest at `time`; NULL: none. */
bsm_plan_entry *bsm_plan_cache_find(bsm_plan_cache *cache,
                                    const bsm_plan_key *key, uint64_t time);

/* An empty entry with an arena. It has to be given to one of the next two. */
BSM_NODISCARD bsm_status bsm_plan_cache_take(bsm_plan_cache *cache,
                                             const bsm_allocator *allocator,
                                             bsm_plan_entry **out);
/* Files the entry under the key, as the newest one. On failure it is dropped.
 */
BSM_NODISCARD bsm_status bsm_plan_cache_put(bsm_plan_cache *cache,
                                            bsm_plan_entry *entry,
                                            const bsm_plan_key *key,
                                            uint64_t time);
/* Empties the entry, which find may have returned. */
void bsm_plan_cache_drop(bsm_plan_cache *cache, bsm_plan_entry *entry);

#endif /* BSM_RUNTIME_SHAPES_PLAN_CACHE_H_ */
