/* SPDX-License-Identifier: Apache-2.0 */
/* The store's tables: constants by address, derived weights by key. */
#include "builder/weights_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/plan.h"

void bsm_weights_store_init(bsm_weights_store *store,
                            const bsm_allocator *allocator) {
  *store = (bsm_weights_store){.sorted = true, .room = UINT64_MAX};
  bsm_arena_init(&store->tables, allocator);
  bsm_arena_init(&store->made, allocator);
}

void bsm_weights_store_destroy(bsm_weights_store *store) {
  bsm_arena_destroy(&store->tables);
  bsm_arena_destroy(&store->made);
  *store = (bsm_weights_store){0};
}

/* ---- constants ---- */

bsm_status bsm_weights_store_add_constant(bsm_weights_store *store, uint32_t id,
                                          const void *data, uint64_t size) {
  const bsm_str name = {(const char *)&id, sizeof(id)};
  const bsm_weights_constant *known = bsm_strmap_get(&store->by_id, name);
  if (known) {
    if (known->data == data && known->size == size) return BSM_OK;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "constant %" PRIu32 " is known with %" PRIu64
                    " bytes elsewhere, not these %" PRIu64,
                    id, known->size, size);
  }
  bsm_weights_constant *mine = BSM_NEW(&store->tables, bsm_weights_constant);
  BSM_TRY_ALLOC(mine);
  *mine = (bsm_weights_constant){id, data, size, 0};
  BSM_TRY_ALLOC(bsm_strmap_set(&store->tables, &store->by_id, name, mine));
  if (size == 0) return BSM_OK;
  BSM_TRY_ALLOC(bsm_vec_push(&store->tables, &store->constants, *mine));
  store->sorted = false;
  return BSM_OK;
}

static int by_address(const void *pa, const void *pb) {
  const bsm_weights_constant *a = pa, *b = pb;
  const uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
  if (x != y) return x < y ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

static void sort_constants(bsm_weights_store *store) {
  uint64_t reach = 0;
  if (store->sorted) return;
  qsort(store->constants.items, store->constants.len,
        sizeof(*store->constants.items), by_address);
  for (size_t i = 0; i < store->constants.len; i++) {
    bsm_weights_constant *c = &store->constants.items[i];
    const uint64_t end = (uint64_t)(uintptr_t)c->data + c->size;
    if (end > reach) reach = end;
    c->reach = reach;
  }
  store->sorted = true;
}

bool bsm_weights_store_find_constant(bsm_weights_store *store, const void *data,
                                     uint64_t size, uint32_t *id,
                                     uint64_t *offset) {
  const uint64_t start = (uint64_t)(uintptr_t)data;
  size_t low = 0, high;
  bool found = false;
  uint64_t end;
  if (!data || __builtin_add_overflow(start, size, &end)) return false;
  sort_constants(store);
  high = store->constants.len;
  while (low <
         high) { /* the number of constants that start at or before `data` */
    const size_t middle = low + (high - low) / 2;
    if ((uintptr_t)store->constants.items[middle].data <= start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (size_t i = low; i-- > 0;) {
    const bsm_weights_constant *c = &store->constants.items[i];
    const uint64_t from = (uint64_t)(uintptr_t)c->data;
    if (c->reach < end || c->reach <= start)
      break; /* no other one can have it */
    if (start - from >= c->size || end - from > c->size) continue;
    if (found && *id < c->id) continue;
    found = true;
    *id = c->id;
    *offset = start - from;
  }
  return found;
}

/* ---- derived weights ---- */

static bsm_str key_text(const bsm_weights_key *key) {
  return (bsm_str){(const char *)key, sizeof(*key)};
}

const bsm_weights_entry *bsm_weights_store_find(const bsm_weights_store *store,
                                                bsm_weights_key key,
                                                uint64_t size) {
  const bsm_weights_entry *entry =
      bsm_strmap_get(&store->by_key, key_text(&key));
  return entry && entry->size == size ? entry : NULL;
}

bsm_status bsm_weights_store_put(bsm_weights_store *store, bsm_weights_key key,
                                 const void *data, uint64_t size) {
  if (bsm_strmap_get(&store->by_key, key_text(&key))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "derived weights %016" PRIx64 "%016" PRIx64
                    " are put twice",
                    key.hash[0], key.hash[1]);
  }
  if (!data || (uintptr_t)data % BSM_ALIGNMENT != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "derived weights %016" PRIx64 "%016" PRIx64
                    " are not aligned to %d bytes",
                    key.hash[0], key.hash[1], BSM_ALIGNMENT);
  }
  bsm_weights_entry *entry = BSM_NEW(&store->tables, bsm_weights_entry);
  BSM_TRY_ALLOC(entry);
  *entry = (bsm_weights_entry){key, data, size};
  BSM_TRY_ALLOC(bsm_vec_push(&store->tables, &store->entries, entry));
  if (!bsm_strmap_set(&store->tables, &store->by_key, key_text(&key), entry)) {
    store->entries.len--;
    return BSM_FAIL_OOM();
  }
  if (!(key.hash[0] & 1)) store->without_place++;
  return BSM_OK;
}

size_t bsm_weights_store_count(const bsm_weights_store *store) {
  return store->entries.len;
}

const bsm_weights_entry *bsm_weights_store_at(const bsm_weights_store *store,
                                              size_t index) {
  return store->entries.items[index];
}

/* ---- made by builds ---- */

static void release_pending(bsm_weights_store *store) {
  if (store->pending) bsm_arena_rewind(&store->made, store->mark);
  store->pending = false;
}

bsm_status bsm_weights_store_new(bsm_weights_store *store, uint64_t size,
                                 void **out) {
  *out = NULL;
  release_pending(store);
  if (size > store->room || size > SIZE_MAX - BSM_ALIGNMENT) return BSM_OK;
  store->mark = bsm_arena_get_mark(&store->made);
  store->pending = true;
  *out = bsm_arena_alloc(&store->made, size ? (size_t)size : 1, BSM_ALIGNMENT);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

bsm_status bsm_weights_store_keep(bsm_weights_store *store, bsm_weights_key key,
                                  const void *data, uint64_t size,
                                  const void **kept) {
  const uint64_t content[2] = {bsm_hash64(data, (size_t)size, 0), size};
  const bsm_str name = {(const char *)content, sizeof(content)};
  const void *equal = bsm_strmap_get(&store->by_content, name);
  if (equal && memcmp(equal, data, (size_t)size) == 0) {
    release_pending(store);
    *kept = equal;
    return bsm_weights_store_put(store, key, equal, size);
  }
  BSM_TRY(bsm_weights_store_put(store, key, data, size));
  store->pending = false;
  if (store->room != UINT64_MAX) store->room -= size;
  *kept = data;
  /* When this fails, later equal data is only not found. */
  if (!equal && !bsm_strmap_set(&store->tables, &store->by_content, name,
                                (void *)(uintptr_t)data)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}
