/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON with the place of every value at hand, so that what is wrong
 * says where:
 *
 *   models/model.json: graph_module.graph.nodes[12].inputs[0].arg: has no tag
 *
 * A document has an arena of its own: it is large, and only its reader needs
 * it. */
#ifndef BSM_EXPORTED_JSON_PLACE_H_
#define BSM_EXPORTED_JSON_PLACE_H_

#include "exported/json_reader.h"

typedef struct bsm_json_document {
  bsm_arena arena;
  const bsm_json *root;
  const char *member; /* of the archive: "models/model.json" */
} bsm_json_document;

/* A value and the way to it. Places live on the stack of those who descend:
 * `up` is theirs. */
typedef struct bsm_place {
  const struct bsm_place *up; /* NULL: the root */
  const char *key;            /* in an object, else NULL */
  size_t index;               /* in an array */
  const bsm_json *json;
  const char *member;
} bsm_place;

/* Reads `text`, as bsm_json_read does. `out` is to be freed even after a
 * failure. */
BSM_NODISCARD bsm_status bsm_json_document_parse(const bsm_allocator *allocator,
                                                 bsm_str text,
                                                 const char *member,
                                                 const bsm_limits *limits,
                                                 bsm_json_document *out);
void bsm_json_document_free(bsm_json_document *document);

bsm_place bsm_json_document_root(const bsm_json_document *document);

/* BSM_CORRUPT, or another code, with the place before the message. */
BSM_NODISCARD bsm_status bsm_place_fail(const bsm_place *at, bsm_code code,
                                        const char *format, ...)
    BSM_PRINTF(3, 4);
/* Notes the place. NULL passes. */
BSM_NODISCARD bsm_status bsm_place_note(const bsm_place *at, bsm_status status);

bool bsm_place_is_null(const bsm_place *at);

/* ---- objects; all fail when `at` is none ---- */

/* The value at a key that must be there. */
BSM_NODISCARD bsm_status bsm_place_field(const bsm_place *at, const char *key,
                                         bsm_place *out);
/* One that may be absent or null: then out->json is NULL. */
BSM_NODISCARD bsm_status bsm_place_optional(const bsm_place *at,
                                            const char *key, bsm_place *out);
/* An iterator over the keys in the order of the file: start with zero. */
typedef struct bsm_place_iterator {
  size_t next;
} bsm_place_iterator;
BSM_NODISCARD bsm_status bsm_place_check_object(const bsm_place *at,
                                                size_t *count);
bool bsm_place_next(const bsm_place *object, bsm_place_iterator *iterator,
                    bsm_place *out);

/* ---- arrays ---- */
BSM_NODISCARD bsm_status bsm_place_array(const bsm_place *at, size_t *len);
/* The caller keeps below the length. */
bsm_place bsm_place_item(const bsm_place *at, size_t index);

/* ---- values ---- */
/* Views into the document. */
BSM_NODISCARD bsm_status bsm_place_string(const bsm_place *at,
                                          const char **out);
BSM_NODISCARD bsm_status bsm_place_int(const bsm_place *at, int64_t *out);
BSM_NODISCARD bsm_status bsm_place_bool(const bsm_place *at, bool *out);
/* Numbers, and "Infinity", "-Infinity", "NaN". */
BSM_NODISCARD bsm_status bsm_place_double(const bsm_place *at, double *out);

/* What a value is, for those that may be one of several. */
bsm_json_kind bsm_place_kind_of(const bsm_place *at);

#endif /* BSM_EXPORTED_JSON_PLACE_H_ */
