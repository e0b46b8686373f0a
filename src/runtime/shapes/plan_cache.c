/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are made as they are needed, and stay where they are. Those in use
 * are in the bucket of their hash, and in a list by their last use. */
#include "runtime/shapes/plan_cache.h"

#include <string.h>

bsm_status bsm_plan_cache_init(bsm_plan_cache *cache, bsm_arena *arena,
                               size_t capacity) {
  size_t buckets = 1;
  while (buckets < capacity) buckets *= 2;
  *cache = (bsm_plan_cache){
      .arena = arena, .capacity = capacity, .mask = buckets - 1};
  cache->buckets = BSM_NEW_ARRAY(arena, bsm_plan_entry *, buckets);
  return cache->buckets ? BSM_OK : BSM_FAIL_OOM();
}

static void clear(bsm_plan_entry *e) {
  bsm_plan_runner_destroy(&e->plan.runner);
  bsm_arena_destroy(&e->arena);
  *e = (bsm_plan_entry){0};
}

void bsm_plan_cache_destroy(bsm_plan_cache *cache) {
  for (size_t i = 0; i < cache->entries.len; i++) {
    clear(cache->entries.items[i]);
  }
  *cache = (bsm_plan_cache){0};
}

/* ---- the lists ---- */

static void link_newest(bsm_plan_cache *cache, bsm_plan_entry *e) {
  e->newer = NULL;
  e->older = cache->newest;
  if (cache->newest) cache->newest->newer = e;
  cache->newest = e;
  if (!cache->oldest) cache->oldest = e;
}

static void unlink_used(bsm_plan_cache *cache, bsm_plan_entry *e) {
  *(e->newer ? &e->newer->older : &cache->newest) = e->older;
  *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static bsm_plan_entry **bucket_of(bsm_plan_cache *cache, uint64_t hash) {
  return &cache->buckets[hash & cache->mask];
}

static bool has_key(const bsm_plan_entry *e, const bsm_plan_key *key) {
  return e->key.hash == key->hash && e->key.count == key->count &&
         memcmp(e->key.words, key->words, key->count * sizeof(uint64_t)) == 0;
}

/* ---- entries ---- */

bsm_plan_entry *bsm_plan_cache_find(bsm_plan_cache *cache,
                                    const bsm_plan_key *key, uint64_t time) {
  bsm_plan_entry *e = *bucket_of(cache, key->hash);
  while (e && !has_key(e, key)) e = e->same_bucket;
  if (!e) return NULL;
  e->used = time;
  if (e != cache->newest) {
    unlink_used(cache, e);
    link_newest(cache, e);
  }
  return e;
}

void bsm_plan_cache_drop(bsm_plan_cache *cache, bsm_plan_entry *e) {
  if (e->used) {
    bsm_plan_entry **at = bucket_of(cache, e->key.hash);
    while (*at != e) at = &(*at)->same_bucket;
    *at = e->same_bucket;
    unlink_used(cache, e);
    cache->bytes -= e->arena.total;
  }
  clear(e);
  e->older = cache->empty;
  cache->empty = e;
}

static bsm_status add_entry(bsm_plan_cache *cache, bsm_plan_entry **out) {
  bsm_plan_entry *e = BSM_NEW(cache->arena, bsm_plan_entry);
  BSM_TRY_ALLOC(e);
  BSM_TRY_ALLOC(bsm_vec_push(cache->arena, &cache->entries, e));
  *out = e;
  return BSM_OK;
}

bsm_status bsm_plan_cache_take(bsm_plan_cache *cache,
                               const bsm_allocator *allocator,
                               bsm_plan_entry **out) {
  if (!cache->empty && cache->entries.len < cache->capacity) {
    BSM_TRY(add_entry(cache, out));
  } else {
    if (!cache->empty) {
      cache->replaced++;
      bsm_plan_cache_drop(cache, cache->oldest);
    }
    *out = cache->empty;
    cache->empty = (*out)->older;
    **out = (bsm_plan_entry){0};
  }
  bsm_arena_init(&(*out)->arena, allocator);
  return BSM_OK;
}

bsm_status bsm_plan_cache_put(bsm_plan_cache *cache, bsm_plan_entry *e,
                              const bsm_plan_key *key, uint64_t time) {
  uint64_t *words = BSM_NEW_ARRAY(&e->arena, uint64_t, key->count + 1);
  if (!words) {
    bsm_plan_cache_drop(cache, e);
    return BSM_FAIL_OOM();
  }
  memcpy(words, key->words, key->count * sizeof(uint64_t));
  e->key = (bsm_plan_key){words, key->count, key->hash};
  e->used = time;
  e->same_bucket = *bucket_of(cache, key->hash);
  *bucket_of(cache, key->hash) = e;
  link_newest(cache, e);
  cache->bytes += e->arena.total;
  return BSM_OK;
}
