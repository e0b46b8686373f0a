/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a tree of values in an arena.
 *
 * RFC 8259, strictly, in UTF-8; and bare NaN, Infinity and -Infinity, which
 * Python writes all the same, and so did torch up to 2.5. Integers are exact
 * to 64 bits, and refused beyond. A key that occurs twice in an object is an
 * error, as is a NUL in a string: what one reader took and another left would
 * be two programs.
 *
 * Nothing recurses, so nesting costs memory alone, and all memory is the
 * arena's: it is counted with that of what is loaded, and when there is none
 * the answer is BSM_OUT_OF_MEMORY. */
#ifndef BSM_EXPORTED_JSON_READER_H_
#define BSM_EXPORTED_JSON_READER_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/limits.h"

typedef enum bsm_json_kind {
  BSM_JSON_NULL,
  BSM_JSON_BOOL,
  BSM_JSON_INT,
  BSM_JSON_REAL,
  BSM_JSON_STRING,
  BSM_JSON_ARRAY,
  BSM_JSON_OBJECT
} bsm_json_kind;

typedef struct bsm_json bsm_json;
typedef struct bsm_json_member bsm_json_member;

typedef struct bsm_json_array {
  const bsm_json *items;
  size_t len;
} bsm_json_array;

typedef struct bsm_json_object {
  bsm_json_member *members; /* in the order of the text */
  size_t len;
  size_t *slots; /* a hash table of `mask` + 1: an index plus 1, 0: free */
  size_t mask;   /* 0: few members, no table */
} bsm_json_object;

struct bsm_json {
  bsm_json_kind kind;
  union {
    bool b;
    int64_t i;
    double d;
    const char *string;
    bsm_json_array array;
    const bsm_json_object *object;
  } u;
};

struct bsm_json_member {
  const char *key;
  bsm_json value;
};

/* Reads `text`, which `name` calls in messages. BSM_CORRUPT with the line when
 * malformed; BSM_LIMIT. Nothing points into `text` afterwards. */
BSM_NODISCARD bsm_status bsm_json_read(bsm_arena *arena, bsm_str text,
                                       const char *name,
                                       const bsm_limits *limits,
                                       const bsm_json **out);

/* The value at a key; NULL: none. */
const bsm_json *bsm_json_find(const bsm_json_object *object, const char *key);

#endif /* BSM_EXPORTED_JSON_READER_H_ */
