/* SPDX-License-Identifier: Apache-2.0 */
/* JSON over Jansson. What a text may ask for is limited before it is parsed:
 * each value takes some forty bytes of the C library's memory, and each level
 * of nesting a frame of the stack. */
#include "exported/json_place.h"

#include <jansson.h>
#include <math.h>

/* A graph inside a graph is eight levels of JSON deeper. */
enum { LEVELS_PER_DEPTH = 4, PLACE_SIZE = 400 };

/* ---- documents ---- */

/* Numbers that JSON lacks. Python writes them all the same, and torch did so
 * up to 2.5; now they are strings. */
static const bsm_str odd_numbers[] = {
    {"-Infinity", 9}, {"Infinity", 8}, {"NaN", 3}};

/* The odd number that `text` starts with; NULL: none. */
static const bsm_str *odd_number(bsm_str text) {
  for (size_t i = 0; i < sizeof(odd_numbers) / sizeof(*odd_numbers); i++) {
    if (bsm_str_starts_with(text, odd_numbers[i])) return &odd_numbers[i];
  }
  return NULL;
}

typedef struct measures {
  uint64_t values; /* what may become one */
  uint64_t depth;  /* of brackets; whether they match is the parser's to say */
  size_t odd_numbers;
} measures;

static measures measure(bsm_str text) {
  uint64_t level = 0;
  bool in_string = false;
  measures out = {.values = 1};
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') {
      level++;
      if (level > out.depth) out.depth = level;
    }
    if ((c == ']' || c == '}') && level) level--;
    if (c == '[' || c == '{' || c == ',' || c == ':') out.values++;
    if (c != '-' && c != 'I' && c != 'N') continue;
    const bsm_str *odd = odd_number((bsm_str){text.data + i, text.len - i});
    if (!odd) continue;
    out.odd_numbers++;
    i += odd->len - 1;
  }
  return out;
}

/* A copy in which odd numbers are strings, as they are today. */
static bsm_status quote_odd_numbers(bsm_arena *arena, bsm_str text,
                                    size_t count, bsm_str *out) {
  char *copy = bsm_arena_alloc(arena, text.len + 2 * count, 1);
  BSM_TRY_ALLOC(copy);
  *out = (bsm_str){copy, text.len + 2 * count};
  bool in_string = false;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    const bsm_str *odd =
        in_string ? NULL : odd_number((bsm_str){text.data + i, text.len - i});
    if (odd) {
      *copy++ = '"';
      memcpy(copy, odd->data, odd->len);
      copy += odd->len;
      *copy++ = '"';
      i += odd->len - 1;
      continue;
    }
    *copy++ = c;
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\' && i + 1 < text.len) *copy++ = text.data[++i];
  }
  return BSM_OK;
}

static bsm_status check_size(bsm_str text, const char *member,
                             const bsm_limits *limits, measures *out) {
  *out = (measures){0};
  if (text.len > limits->max_source_bytes) {
    return BSM_FAIL(BSM_LIMIT, "%s has %zu bytes; the limit is %llu", member,
                    text.len, (unsigned long long)limits->max_source_bytes);
  }
  *out = measure(text);
  if (out->values > limits->max_json_values) {
    return BSM_FAIL(BSM_LIMIT, "%s has %llu values; the limit is %llu", member,
                    (unsigned long long)out->values,
                    (unsigned long long)limits->max_json_values);
  }
  if (out->depth / LEVELS_PER_DEPTH > limits->max_depth) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s nests %llu levels of JSON; the limit max_depth allows "
                    "%llu",
                    member, (unsigned long long)out->depth,
                    (unsigned long long)(limits->max_depth * LEVELS_PER_DEPTH));
  }
  return BSM_OK;
}

static bsm_status parse(bsm_str text, const char *member,
                        bsm_json_document *out) {
  json_error_t error;
  out->root = json_loadb(text.data ? text.data : "", text.len,
                         JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (out->root) return BSM_OK;
  switch (json_error_code(&error)) {
    case json_error_out_of_memory:
      return BSM_FAIL_OOM();
    case json_error_stack_overflow:
      return BSM_FAIL(BSM_LIMIT, "%s nests too deep", member);
    default:
      return BSM_FAIL(BSM_CORRUPT, "%s: line %d, column %d: %s", member,
                      error.line, error.column, error.text);
  }
}

bsm_status bsm_json_document_parse(bsm_str text, const char *member,
                                   const bsm_limits *limits,
                                   bsm_json_document *out) {
  measures found;
  *out = (bsm_json_document){NULL, member};
  BSM_TRY(check_size(text, member, limits, &found));
  if (!found.odd_numbers) return parse(text, member, out);
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  bsm_str quoted = {0};
  bsm_status status =
      quote_odd_numbers(&scratch, text, found.odd_numbers, &quoted);
  if (!status) status = parse(quoted, member, out);
  bsm_arena_destroy(&scratch);
  return status;
}

void bsm_json_document_free(bsm_json_document *document) {
  json_decref(document->root);
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

bsm_place_kind bsm_place_kind_of(const bsm_place *at) {
  if (!at->json) return BSM_PLACE_NULL;
  switch (json_typeof(at->json)) {
    case JSON_OBJECT:
      return BSM_PLACE_OBJECT;
    case JSON_ARRAY:
      return BSM_PLACE_ARRAY;
    case JSON_STRING:
      return BSM_PLACE_STRING;
    case JSON_INTEGER:
      return BSM_PLACE_INT;
    case JSON_REAL:
      return BSM_PLACE_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
      return BSM_PLACE_BOOL;
    case JSON_NULL:
      break;
  }
  return BSM_PLACE_NULL;
}

static const char *kind_name(const bsm_place *at) {
  static const char *const names[] = {
      [BSM_PLACE_NULL] = "null",       [BSM_PLACE_BOOL] = "a bool",
      [BSM_PLACE_INT] = "an integer",  [BSM_PLACE_REAL] = "a number",
      [BSM_PLACE_STRING] = "a string", [BSM_PLACE_ARRAY] = "an array",
      [BSM_PLACE_OBJECT] = "an object"};
  return names[bsm_place_kind_of(at)];
}

static bsm_status expect(const bsm_place *at, bsm_place_kind kind,
                         const char *what) {
  if (bsm_place_kind_of(at) == kind) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "is %s, not %s", kind_name(at), what);
}

bool bsm_place_is_null(const bsm_place *at) {
  return bsm_place_kind_of(at) == BSM_PLACE_NULL;
}

/* ---- objects ---- */

bsm_status bsm_place_optional(const bsm_place *at, const char *key,
                              bsm_place *out) {
  *out = (bsm_place){.up = at, .key = key, .member = at->member};
  BSM_TRY(expect(at, BSM_PLACE_OBJECT, "an object"));
  const json_t *value = json_object_get(at->json, key);
  if (value && !json_is_null(value)) out->json = value;
  return BSM_OK;
}

bsm_status bsm_place_field(const bsm_place *at, const char *key,
                           bsm_place *out) {
  BSM_TRY(bsm_place_optional(at, key, out));
  out->json = json_object_get(at->json, key);
  if (out->json) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT, "has no key \"%s\"", key);
}

bsm_status bsm_place_check_object(const bsm_place *at, size_t *count) {
  *count = 0;
  BSM_TRY(expect(at, BSM_PLACE_OBJECT, "an object"));
  *count = json_object_size(at->json);
  return BSM_OK;
}

bool bsm_place_next(const bsm_place *object, bsm_place_iterator *iterator,
                    bsm_place *out) {
  /* Iterating changes nothing: the library asks for no const. */
  json_t *json = (json_t *)(uintptr_t)object->json;
  iterator->state = iterator->started
                        ? json_object_iter_next(json, iterator->state)
                        : json_object_iter(json);
  iterator->started = true;
  if (!iterator->state) return false;
  *out = (bsm_place){.up = object,
                     .key = json_object_iter_key(iterator->state),
                     .json = json_object_iter_value(iterator->state),
                     .member = object->member};
  return true;
}

/* ---- arrays ---- */

bsm_status bsm_place_array(const bsm_place *at, size_t *len) {
  *len = 0;
  BSM_TRY(expect(at, BSM_PLACE_ARRAY, "an array"));
  *len = json_array_size(at->json);
  return BSM_OK;
}

bsm_place bsm_place_item(const bsm_place *at, size_t index) {
  return (bsm_place){.up = at,
                     .index = index,
                     .json = json_array_get(at->json, index),
                     .member = at->member};
}

/* ---- values ---- */

bsm_status bsm_place_string(const bsm_place *at, const char **out) {
  *out = "";
  BSM_TRY(expect(at, BSM_PLACE_STRING, "a string"));
  *out = json_string_value(at->json);
  return BSM_OK;
}

bsm_status bsm_place_int(const bsm_place *at, int64_t *out) {
  _Static_assert(sizeof(json_int_t) == sizeof(int64_t), "exact integers");
  *out = 0;
  BSM_TRY(expect(at, BSM_PLACE_INT, "an integer"));
  *out = json_integer_value(at->json);
  return BSM_OK;
}

bsm_status bsm_place_bool(const bsm_place *at, bool *out) {
  *out = false;
  BSM_TRY(expect(at, BSM_PLACE_BOOL, "a bool"));
  *out = json_is_true(at->json);
  return BSM_OK;
}

bsm_status bsm_place_double(const bsm_place *at, double *out) {
  *out = 0;
  if (bsm_place_kind_of(at) == BSM_PLACE_STRING) {
    const bsm_str text = bsm_str_of(json_string_value(at->json));
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
  if (bsm_place_kind_of(at) == BSM_PLACE_INT) {
    *out = (double)json_integer_value(at->json);
    return BSM_OK;
  }
  BSM_TRY(expect(at, BSM_PLACE_REAL, "a number"));
  *out = json_real_value(at->json);
  return BSM_OK;
}
