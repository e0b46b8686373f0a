/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a document of JSON. */
#include "exported/json_place.h"

#include <math.h>
#include <stdio.h>

enum { PLACE_SIZE = 400 };

/* ---- documents ---- */

bsm_status bsm_json_document_parse(const bsm_allocator *allocator, bsm_str text,
                                   const char *member, const bsm_limits *limits,
                                   bsm_json_document *out) {
  *out = (bsm_json_document){.member = member};
  bsm_arena_init(&out->arena, allocator);
  return bsm_json_read(&out->arena, text, member, limits, &out->root);
}

void bsm_json_document_free(bsm_json_document *document) {
  bsm_arena_destroy(&document->arena);
  document->root = NULL;
}

bsm_place bsm_json_document_root(const bsm_json_document *document) {
  return (bsm_place){.json = document->root, .member = document->member};
}

/* ---- places in messages ---- */

typedef struct place_text {
  char bytes[PLACE_SIZE];
  size_t start;
} place_text;

static bool prepend(place_text *text, const char *piece) {
  size_t len = strlen(piece);
  if (len > 80) len = 80; /* a key of the file */
  if (len > text->start) return false;
  text->start -= len;
  for (size_t i = 0; i < len; i++) {
    const char c = piece[i];
    text->bytes[text->start + i] = (unsigned char)c < ' ' ? '?' : c;
  }
  return true;
}

/* "graph.nodes[12].arg", or its end when that is long. */
static const char *print_place(const bsm_place *at, place_text *text) {
  text->start = PLACE_SIZE - 1;
  text->bytes[text->start] = '\0';
  bool fits = true;
  for (; at && at->up && fits; at = at->up) {
    char index[32];
    if (at->key) {
      fits = prepend(text, at->key) && (!at->up->up || prepend(text, "."));
    } else {
      snprintf(index, sizeof(index), "[%zu]", at->index);
      fits = prepend(text, index);
    }
  }
  if (!fits)
    memcpy(text->bytes + text->start, "...",
           text->start < PLACE_SIZE - 4 ? 3 : 0);
  return text->bytes + text->start;
}

bsm_status bsm_place_fail(const bsm_place *at, bsm_code code,
                          const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  place_text text;
  const char *place = print_place(at, &text);
  return BSM_FAIL(code, "%s: %s%s%s", at->member, place, *place ? ": " : "",
                  message);
}

bsm_status bsm_place_note(const bsm_place *at, bsm_status status) {
  if (!status) return status;
  place_text text;
  return bsm_status_note(status, "in %s: %s", at->member,
                         print_place(at, &text));
}

/* ---- kinds ---- */

bsm_json_kind bsm_place_kind_of(const bsm_place *at) {
  return at->json ? at->json->kind : BSM_JSON_NULL;
}

static const char *kind_name(const bsm_place *at) {
  static const char *const names[] = {
      [BSM_JSON_NULL] = "null",       [BSM_JSON_BOOL] = "a bool",
      [BSM_JSON_INT] = "an integer",  [BSM_JSON_REAL] = "a number",
      [BSM_JSON_STRING] = "a string", [BSM_JSON_ARRAY] = "an array",
      [BSM_JSON_OBJECT] = "an object"};
  return names[bsm_place_kind_of(at)];
}

static bsm_status expect(const bsm_place *at, bsm_json_kind kind,
                         const char *what) {
  if (bsm_place_kind_of(at) == kind) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "is %s, not %s", kind_name(at), what);
}

bool bsm_place_is_null(const bsm_place *at) {
  return bsm_place_kind_of(at) == BSM_JSON_NULL;
}

/* ---- objects ---- */

bsm_status bsm_place_optional(const bsm_place *at, const char *key,
                              bsm_place *out) {
  *out = (bsm_place){.up = at, .key = key, .member = at->member};
  BSM_TRY(expect(at, BSM_JSON_OBJECT, "an object"));
  const bsm_json *value = bsm_json_find(at->json->u.object, key);
  if (value && value->kind != BSM_JSON_NULL) out->json = value;
  return BSM_OK;
}

bsm_status bsm_place_field(const bsm_place *at, const char *key,
                           bsm_place *out) {
  BSM_TRY(bsm_place_optional(at, key, out));
  out->json = bsm_json_find(at->json->u.object, key);
  if (out->json) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "has no key \"%s\"", key);
}

bsm_status bsm_place_check_object(const bsm_place *at, size_t *count) {
  *count = 0;
  BSM_TRY(expect(at, BSM_JSON_OBJECT, "an object"));
  *count = at->json->u.object->len;
  return BSM_OK;
}

bool bsm_place_next(const bsm_place *object, bsm_place_iterator *iterator,
                    bsm_place *out) {
  const bsm_json_object *members = object->json->u.object;
  if (iterator->next == members->len) return false;
  const bsm_json_member *member = &members->members[iterator->next++];
  *out = (bsm_place){.up = object,
                     .key = member->key,
                     .json = &member->value,
                     .member = object->member};
  return true;
}

/* ---- arrays ---- */

bsm_status bsm_place_array(const bsm_place *at, size_t *len) {
  *len = 0;
  BSM_TRY(expect(at, BSM_JSON_ARRAY, "an array"));
  *len = at->json->u.array.len;
  return BSM_OK;
}

bsm_place bsm_place_item(const bsm_place *at, size_t index) {
  return (bsm_place){.up = at,
                     .index = index,
                     .json = &at->json->u.array.items[index],
                     .member = at->member};
}

/* ---- values ---- */

bsm_status bsm_place_string(const bsm_place *at, const char **out) {
  *out = "";
  BSM_TRY(expect(at, BSM_JSON_STRING, "a string"));
  *out = at->json->u.string;
  return BSM_OK;
}

bsm_status bsm_place_int(const bsm_place *at, int64_t *out) {
  *out = 0;
  BSM_TRY(expect(at, BSM_JSON_INT, "an integer"));
  *out = at->json->u.i;
  return BSM_OK;
}

bsm_status bsm_place_bool(const bsm_place *at, bool *out) {
  *out = false;
  BSM_TRY(expect(at, BSM_JSON_BOOL, "a bool"));
  *out = at->json->u.b;
  return BSM_OK;
}

bsm_status bsm_place_double(const bsm_place *at, double *out) {
  *out = 0;
  if (bsm_place_kind_of(at) == BSM_JSON_STRING) {
    const bsm_str text = bsm_str_of(at->json->u.string);
    if (bsm_str_eq(text, BSM_STR("Infinity"))) {
      *out = INFINITY;
    } else if (bsm_str_eq(text, BSM_STR("-Infinity"))) {
      *out = -INFINITY;
    } else if (bsm_str_eq(text, BSM_STR("NaN"))) {
      *out = NAN;
    } else {
      return bsm_place_fail(at, BSM_CORRUPT,
                            "is a string that is neither Infinity, -Infinity "
                            "nor NaN");
    }
    return BSM_OK;
  }
  if (bsm_place_kind_of(at) == BSM_JSON_INT) {
    *out = (double)at->json->u.i;
    return BSM_OK;
  }
  BSM_TRY(expect(at, BSM_JSON_REAL, "a number"));
  *out = at->json->u.d;
  return BSM_OK;
}
