/* SPDX-License-Identifier: Apache-2.0 */
/* String views, growing text, and hash maps in arenas. */
#include "base/strings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/siphash.h"

bool bsm_str_eq(bsm_str a, bsm_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool bsm_str_starts_with(bsm_str text, bsm_str prefix) {
  return text.len >= prefix.len &&
         bsm_str_eq((bsm_str){text.data, prefix.len}, prefix);
}

bool bsm_str_ends_with(bsm_str text, bsm_str suffix) {
  if (text.len < suffix.len) return false;
  return suffix.len == 0 || memcmp(text.data + (text.len - suffix.len),
                                   suffix.data, suffix.len) == 0;
}

/* ---- text ---- */

/* Stands for the text of a buffer that has none yet; never written to. */
static char empty[] = "";

void bsm_text_init(bsm_text *text, bsm_arena *arena) {
  *text = (bsm_text){.arena = arena, .data = empty};
}

/* Room for `extra` characters and the NUL. */
static bool reserve(bsm_text *text, size_t extra) {
  size_t needed;
  if (text->failed) return false;
  if (!bsm_size_add(text->len, extra, &needed) ||
      !bsm_size_add(needed, 1, &needed)) {
    text->failed = true;
    return false;
  }
  if (needed <= text->cap) return true;
  size_t cap = text->cap ? text->cap : 64;
  while (cap < needed) {
    if (!bsm_size_mul(cap, 2, &cap)) cap = needed;
  }
  char *data = bsm_arena_alloc(text->arena, cap, 1);
  if (!data) {
    text->failed = true;
    return false;
  }
  if (text->len) memcpy(data, text->data, text->len);
  text->data = data;
  text->cap = cap;
  return true;
}

void bsm_text_append(bsm_text *text, bsm_str piece) {
  if (piece.len == 0 || !reserve(text, piece.len)) return;
  memcpy(text->data + text->len, piece.data, piece.len);
  text->len += piece.len;
  text->data[text->len] = '\0';
}

void bsm_text_puts(bsm_text *text, const char *piece) {
  bsm_text_append(text, bsm_str_of(piece));
}

void bsm_text_printf(bsm_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) text->failed = true;
  if (length <= 0 || !reserve(text, (size_t)length)) return;
  va_start(args, format);
  vsnprintf(text->data + text->len, (size_t)length + 1, format, args);
  va_end(args);
  text->len += (size_t)length;
}

void bsm_text_quoted(bsm_text *text, bsm_str piece) {
  static const char controls[] = "\a\b\t\n\v\f\r";
  static const char letters[] = "abtnvfr";
  bsm_text_puts(text, "\"");
  for (size_t i = 0; i < piece.len; i++) {
    const unsigned char c = (unsigned char)piece.data[i];
    const char *control = c ? strchr(controls, c) : NULL;
    if (c == '\\' || c == '"' || c == '\'') {
      bsm_text_printf(text, "\\%c", c);
    } else if (control) {
      bsm_text_printf(text, "\\%c", letters[control - controls]);
    } else if (c < 0x20 || c > 0x7e) {
      bsm_text_printf(text, "\\%03o", c);
    } else {
      bsm_text_append(text, (bsm_str){piece.data + i, 1});
    }
  }
  bsm_text_puts(text, "\"");
}

/* ---- maps ----
 *
 * Open addressing with linear probing, a power of two of slots, at most three
 * quarters full, nothing is ever removed. Keys may come from a file, so they
 * are hashed under a key of this process; the maps have no order that could
 * show.
 */

struct bsm_strmap_entry {
  bsm_str key; /* data NULL: free */
  void *value;
  uint64_t hash;
};

struct bsm_ptrmap_entry {
  const void *key; /* NULL: free */
  void *value;
};

/* The capacity of the next table; 0 when it would overflow. */
static size_t next_capacity(size_t cap) {
  size_t wanted = 16;
  if (cap && !bsm_size_mul(cap, 2, &wanted)) return 0;
  return wanted;
}

static bool is_full(size_t len, size_t cap) {
  return len + 1 > cap - cap / 4;
}

/* The slot of `key`, or the free slot where it belongs. `cap` is not 0. */
static struct bsm_strmap_entry *str_slot(struct bsm_strmap_entry *table,
                                         size_t cap, bsm_str key,
                                         uint64_t hash) {
  size_t i = (size_t)hash & (cap - 1);
  while (table[i].key.data &&
         !(table[i].hash == hash && bsm_str_eq(table[i].key, key))) {
    i = (i + 1) & (cap - 1);
  }
  return &table[i];
}

void *bsm_strmap_get(const bsm_strmap *map, bsm_str key) {
  if (map->len == 0) return NULL;
  return str_slot(map->entries, map->cap, key, bsm_siphash(key.data, key.len))
      ->value;
}

static bool strmap_grow(bsm_arena *arena, bsm_strmap *map) {
  const size_t cap = next_capacity(map->cap);
  struct bsm_strmap_entry *table =
      cap ? BSM_NEW_ARRAY(arena, struct bsm_strmap_entry, cap) : NULL;
  if (!table) return false;
  for (size_t i = 0; i < map->cap; i++) {
    const struct bsm_strmap_entry entry = map->entries[i];
    if (!entry.key.data) continue;
    *str_slot(table, cap, entry.key, entry.hash) = entry;
  }
  map->entries = table;
  map->cap = cap;
  return true;
}

/* Inserts or replaces; the key as it is stored, NULL when out of memory. */
static const char *strmap_put(bsm_arena *arena, bsm_strmap *map, bsm_str key,
                              void *value) {
  if (is_full(map->len, map->cap) && !strmap_grow(arena, map)) return NULL;
  const uint64_t hash = bsm_siphash(key.data, key.len);
  struct bsm_strmap_entry *slot = str_slot(map->entries, map->cap, key, hash);
  if (!slot->key.data) {
    char *copy = bsm_arena_strndup(arena, key.data, key.len);
    if (!copy) return NULL;
    slot->key = (bsm_str){copy, key.len};
    slot->hash = hash;
    map->len++;
  }
  slot->value = value;
  return slot->key.data;
}

bool bsm_strmap_set(bsm_arena *arena, bsm_strmap *map, bsm_str key,
                    void *value) {
  return strmap_put(arena, map, key, value) != NULL;
}

static struct bsm_ptrmap_entry *ptr_slot(struct bsm_ptrmap_entry *table,
                                         size_t cap, const void *key) {
  uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
  size_t i = (size_t)(hash >> 32) & (cap - 1);
  while (table[i].key && table[i].key != key) i = (i + 1) & (cap - 1);
  return &table[i];
}

void *bsm_ptrmap_get(const bsm_ptrmap *map, const void *key) {
  if (map->len == 0 || !key) return NULL;
  return ptr_slot(map->entries, map->cap, key)->value;
}

static bool ptrmap_grow(bsm_arena *arena, bsm_ptrmap *map) {
  const size_t cap = next_capacity(map->cap);
  struct bsm_ptrmap_entry *table =
      cap ? BSM_NEW_ARRAY(arena, struct bsm_ptrmap_entry, cap) : NULL;
  if (!table) return false;
  for (size_t i = 0; i < map->cap; i++) {
    const struct bsm_ptrmap_entry entry = map->entries[i];
    if (entry.key) *ptr_slot(table, cap, entry.key) = entry;
  }
  map->entries = table;
  map->cap = cap;
  return true;
}

bool bsm_ptrmap_set(bsm_arena *arena, bsm_ptrmap *map, const void *key,
                    void *value) {
  if (!key) return false;
  if (is_full(map->len, map->cap) && !ptrmap_grow(arena, map)) return false;
  struct bsm_ptrmap_entry *slot = ptr_slot(map->entries, map->cap, key);
  if (!slot->key) {
    slot->key = key;
    map->len++;
  }
  slot->value = value;
  return true;
}

/* ---- interning ---- */

void bsm_interner_init(bsm_interner *interner, bsm_arena *arena) {
  *interner = (bsm_interner){.arena = arena};
}

const char *bsm_intern(bsm_interner *interner, bsm_str text) {
  const char *known = bsm_strmap_get(&interner->map, text);
  if (known) return known;
  const char *copy = strmap_put(interner->arena, &interner->map, text, NULL);
  if (!copy) return NULL;
  /* The value is the key itself, now that its address is known. */
  return strmap_put(interner->arena, &interner->map, text, (void *)copy);
}
