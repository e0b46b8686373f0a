/* SPDX-License-Identifier: Apache-2.0 */
/* Strings: views, a growing text buffer, interning, and maps in arenas. */
#ifndef BSM_BASE_STRINGS_H_
#define BSM_BASE_STRINGS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

/* A view of bytes; not NUL-terminated, may contain NUL. */
typedef struct bsm_str {
  const char *data;
  size_t len;
} bsm_str;

#define BSM_STR(literal) ((bsm_str){(literal), sizeof(literal) - 1})
static inline bsm_str bsm_str_of(const char *text) {
  return (bsm_str){text, strlen(text)};
}
bool bsm_str_eq(bsm_str a, bsm_str b);
bool bsm_str_starts_with(bsm_str text, bsm_str prefix);
bool bsm_str_ends_with(bsm_str text, bsm_str suffix);

/* Text that grows in an arena. After a failed append `failed` is set and
 * further appends do nothing: check once at the end. `data` is always
 * NUL-terminated ("" when empty). */
typedef struct bsm_text {
  bsm_arena *arena;
  char *data;
  size_t len, cap;
  bool failed;
} bsm_text;

void bsm_text_init(bsm_text *text, bsm_arena *arena);
void bsm_text_append(bsm_text *text, bsm_str piece);
void bsm_text_puts(bsm_text *text, const char *piece);
void bsm_text_printf(bsm_text *text, const char *format, ...) BSM_PRINTF(2, 3);
/* The shortest decimal form that reads back as the same double, always with a
 * '.', 'e', "inf" or "nan"; independent of the locale. */
void bsm_text_double(bsm_text *text, double value);
/* `piece` as a quoted string with the escapes of TorchScript. */
void bsm_text_quoted(bsm_text *text, bsm_str piece);

/* Locale-independent strtod over [text, text+len): false when the whole range
 * is not a number. */
bool bsm_parse_double(bsm_str text, double *out);
/* Decimal with an optional '-'; false on anything else or overflow. */
bool bsm_parse_i64(bsm_str text, int64_t *out);

/* Map from strings to pointers; keys are copied into the arena. */
typedef struct bsm_strmap {
  struct bsm_strmap_entry *entries;
  size_t len, cap;
} bsm_strmap;
/* NULL when absent. */
void *bsm_strmap_get(const bsm_strmap *map, bsm_str key);
/* Inserts or replaces; false when out of memory. */
bool bsm_strmap_set(bsm_arena *arena, bsm_strmap *map, bsm_str key,
                    void *value);

/* Map from pointers to pointers (keys compare by address). */
typedef struct bsm_ptrmap {
  struct bsm_ptrmap_entry *entries;
  size_t len, cap;
} bsm_ptrmap;
void *bsm_ptrmap_get(const bsm_ptrmap *map, const void *key);
bool bsm_ptrmap_set(bsm_arena *arena, bsm_ptrmap *map, const void *key,
                    void *value);

/* Unique NUL-terminated copies: equal strings have equal addresses. */
typedef struct bsm_interner {
  bsm_arena *arena;
  bsm_strmap map;
} bsm_interner;
void bsm_interner_init(bsm_interner *interner, bsm_arena *arena);
/* NULL when out of memory. */
const char *bsm_intern(bsm_interner *interner, bsm_str text);

#endif /* BSM_BASE_STRINGS_H_ */
