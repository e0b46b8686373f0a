/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of JSON. Values that are complete wait on a stack until what holds
 * them is closed; then they become its array, of just their number. */
#include "exported/json_reader.h"

#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/siphash.h"

enum {
  LEVELS_PER_DEPTH = 4, /* a graph inside a graph is eight levels deeper */
  FEW_MEMBERS = 8,      /* are compared one by one */
};

typedef struct reader {
  const char *text;
  size_t len, at;
  const char *name;
  const bsm_limits *limits;
  bsm_arena *arena, scratch;
  uint64_t count;                   /* of values and keys */
  BSM_VEC(bsm_json_member) pending; /* keys are NULL in arrays */
  BSM_VEC(size_t) open;             /* of what is open, the index in pending */
} reader;

/* ---- errors ---- */

static bsm_status fail(const reader *r, size_t at, const char *problem) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < at && i < r->len; i++) {
    if (r->text[i] != '\n') continue;
    line++;
    start = i + 1;
  }
  return BSM_FAIL(BSM_CORRUPT, "%s: line %zu, column %zu: %s", r->name, line,
                  at - start + 1, problem);
}

static bsm_status count_one(reader *r) {
  if (r->count < r->limits->max_json_values) {
    r->count++;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_LIMIT,
                  "%s has too many values and keys; the limit is %llu", r->name,
                  (unsigned long long)r->limits->max_json_values);
}

/* ---- characters ---- */

/* The next character; 0 at the end, where no character is expected either. */
static char peek(const reader *r) {
  return r->at < r->len ? r->text[r->at] : '\0';
}

static void skip_space(reader *r) {
  while (peek(r) == ' ' || peek(r) == '\n' || peek(r) == '\t' ||
         peek(r) == '\r') {
    r->at++;
  }
}

static bool skip(reader *r, char c) {
  if (r->at == r->len || r->text[r->at] != c) return false;
  r->at++;
  return true;
}

/* ---- words and numbers ---- */

static bool read_word(reader *r, bsm_json *out) {
  static const struct {
    bsm_str text;
    bsm_json value;
  } words[] = {{{"null", 4}, {BSM_JSON_NULL, {0}}},
               {{"true", 4}, {BSM_JSON_BOOL, {.b = true}}},
               {{"false", 5}, {BSM_JSON_BOOL, {.b = false}}},
               {{"NaN", 3}, {BSM_JSON_REAL, {.d = NAN}}},
               {{"Infinity", 8}, {BSM_JSON_REAL, {.d = INFINITY}}},
               {{"-Infinity", 9}, {BSM_JSON_REAL, {.d = -INFINITY}}}};
  const bsm_str rest = {r->text + r->at, r->len - r->at};
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
    if (!bsm_str_starts_with(rest, words[i].text)) continue;
    *out = words[i].value;
    r->at += words[i].text.len;
    return true;
  }
  return false;
}

/* False when there is no digit. */
static bool skip_digits(reader *r) {
  const size_t start = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') r->at++;
  return r->at > start;
}

/* A fraction and an exponent; `*any`: there is one of them. */
static bool skip_fraction(reader *r, bool *any) {
  *any = false;
  if (skip(r, '.')) {
    *any = true;
    if (!skip_digits(r)) return false;
  }
  if (!skip(r, 'e') && !skip(r, 'E')) return true;
  *any = true;
  if (!skip(r, '+')) (void)skip(r, '-');
  return skip_digits(r);
}

static bsm_status read_number(reader *r, bsm_json *out) {
  const size_t start = r->at;
  bool is_real = false;
  (void)skip(r, '-');
  if (!skip(r, '0') && !skip_digits(r)) return fail(r, r->at, "no value");
  if (!skip_fraction(r, &is_real)) return fail(r, r->at, "no digit");
  const bsm_str number = {r->text + start, r->at - start};
  if (!is_real) {
    out->kind = BSM_JSON_INT;
    if (bsm_parse_i64(number, &out->u.i)) return BSM_OK;
    return fail(r, start, "an integer of more than 64 bits");
  }
  out->kind = BSM_JSON_REAL;
  if (!bsm_parse_double(number, &out->u.d)) return BSM_FAIL_OOM();
  if (isfinite(out->u.d)) return BSM_OK;
  return fail(r, start, "a number that is too large for a double");
}

/* ---- strings ---- */

/* The bytes of the character of UTF-8 that is next; 0: none is. */
static size_t utf8_length(const reader *r) {
  const unsigned char *s = (const unsigned char *)r->text + r->at;
  const size_t len = s[0] < 0x80   ? 1
                     : s[0] < 0xc2 ? 0
                     : s[0] < 0xe0 ? 2
                     : s[0] < 0xf0 ? 3
                     : s[0] < 0xf5 ? 4
                                   : 0;
  if (len > r->len - r->at) return 0;
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  /* Longer than they have to be, surrogates, and beyond U+10FFFF. */
  if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
  if (s[0] == 0xed && s[1] > 0x9f) return 0;
  if (s[0] == 0xf0 && s[1] < 0x90) return 0;
  if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
  return len;
}

static void put_utf8(char **to, uint32_t c) {
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  const size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = len; i-- > 1; c >>= 6) {
    (*to)[i] = (char)(unsigned char)(0x80 | (c & 0x3f));
  }
  (*to)[0] = (char)(unsigned char)(first[len] | c);
  *to += len;
}

/* Four hexadecimal digits. */
static bool read_hex(reader *r, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    const char c = peek(r);
    uint32_t digit;
    if (c >= '0' && c <= '9') {
      digit = (uint32_t)(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = (uint32_t)(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = (uint32_t)(c - 'A') + 10;
    } else {
      return false;
    }
    *out = *out << 4 | digit;
  }
  return true;
}

/* Behind "\u". What is beyond 16 bits are two of them, surrogates. */
static bsm_status read_code_point(reader *r, char **to) {
  const size_t start = r->at;
  uint32_t c, low = 0;
  if (!read_hex(r, &c)) return fail(r, start, "no four hexadecimal digits");
  if (c == 0) return fail(r, start, "a NUL in a string");
  if (c >= 0xd800 && c < 0xe000) {
    if (c >= 0xdc00 || !skip(r, '\\') || !skip(r, 'u') || !read_hex(r, &low) ||
        low < 0xdc00 || low >= 0xe000) {
      return fail(r, start, "half a pair of surrogates");
    }
    c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
  }
  put_utf8(to, c);
  return BSM_OK;
}

/* Behind the backslash. */
static bsm_status read_escape(reader *r, char **to) {
  static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char c = peek(r);
  if (skip(r, 'u')) return read_code_point(r, to);
  const char *known = c ? strchr(from, c) : NULL;
  if (!known) return fail(r, r->at, "an unknown escape");
  *(*to)++ = meant[known - from];
  r->at++;
  return BSM_OK;
}

/* The string whose quote is next. No escape is shorter than what it means. */
static bsm_status read_string(reader *r, const char **out) {
  const size_t start = r->at++;
  size_t end = r->at;
  while (end < r->len && r->text[end] != '"') {
    end += r->text[end] == '\\' ? 2 : 1;
  }
  if (end >= r->len) return fail(r, start, "a string without an end");
  char *to = bsm_arena_alloc(r->arena, end - r->at + 1, 1);
  BSM_TRY_ALLOC(to);
  *out = to;
  while (r->at < end) {
    if (skip(r, '\\')) {
      BSM_TRY(read_escape(r, &to));
      continue;
    }
    if ((unsigned char)peek(r) < ' ') {
      return fail(r, r->at, "a control character in a string");
    }
    const size_t len = utf8_length(r);
    if (len == 0) return fail(r, r->at, "a string that is not UTF-8");
    for (size_t i = 0; i < len; i++) *to++ = r->text[r->at++];
  }
  r->at++;
  return BSM_OK;
}

/* ---- arrays and objects ---- */

/* The slot of `key`, or the free one where it belongs. */
static size_t *find_slot(const bsm_json_object *object, const char *key) {
  size_t i = (size_t)bsm_siphash(key, strlen(key)) & object->mask;
  while (object->slots[i] &&
         strcmp(object->members[object->slots[i] - 1].key, key) != 0) {
    i = (i + 1) & object->mask;
  }
  return &object->slots[i];
}

const bsm_json *bsm_json_find(const bsm_json_object *object, const char *key) {
  if (object->mask) {
    const size_t slot = *find_slot(object, key);
    return slot ? &object->members[slot - 1].value : NULL;
  }
  for (size_t i = 0; i < object->len; i++) {
    if (strcmp(object->members[i].key, key) == 0) {
      return &object->members[i].value;
    }
  }
  return NULL;
}

/* A hash table that the members of an object at most half fill. */
static bsm_status make_slots(bsm_arena *arena, size_t count,
                             bsm_json_object *object) {
  size_t cap = 2 * FEW_MEMBERS;
  while (cap / 2 < count) BSM_TRY_ALLOC(bsm_size_mul(cap, 2, &cap));
  object->slots = BSM_NEW_ARRAY(arena, size_t, cap);
  BSM_TRY_ALLOC(object->slots);
  object->mask = cap - 1;
  return BSM_OK;
}

static bsm_status close_object(reader *r, const bsm_json_member *members,
                               size_t count, bsm_json *out) {
  bsm_json_object *object = BSM_NEW(r->arena, bsm_json_object);
  BSM_TRY_ALLOC(object);
  object->members = BSM_NEW_ARRAY(r->arena, bsm_json_member, count + 1);
  BSM_TRY_ALLOC(object->members);
  if (count > FEW_MEMBERS) BSM_TRY(make_slots(r->arena, count, object));
  for (size_t i = 0; i < count; i++) {
    if (bsm_json_find(object, members[i].key)) {
      char problem[120];
      snprintf(problem, sizeof(problem),
               "the object that ends here has the key \"%.60s\" twice",
               members[i].key);
      return fail(r, r->at - 1, problem);
    }
    object->members[i] = members[i];
    object->len = i + 1;
    if (object->mask) *find_slot(object, members[i].key) = i + 1;
  }
  out->u.object = object;
  return BSM_OK;
}

static bsm_status close_array(reader *r, const bsm_json_member *members,
                              size_t count, bsm_json *out) {
  bsm_json *items = BSM_NEW_ARRAY(r->arena, bsm_json, count + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < count; i++) items[i] = members[i].value;
  out->u.array = (bsm_json_array){items, count};
  return BSM_OK;
}

/* What was opened last takes the values behind it. */
static bsm_status close_last(reader *r) {
  const size_t index = r->open.items[--r->open.len];
  bsm_json *out = &r->pending.items[index].value;
  const bsm_json_member *members = &r->pending.items[index] + 1;
  const size_t count = r->pending.len - index - 1;
  r->pending.len = index + 1;
  return out->kind == BSM_JSON_OBJECT ? close_object(r, members, count, out)
                                      : close_array(r, members, count, out);
}

static bool in_object(const reader *r) {
  return r->open.len &&
         r->pending.items[r->open.items[r->open.len - 1]].value.kind ==
             BSM_JSON_OBJECT;
}

/* ---- the document ---- */

static bsm_status read_key(reader *r, const char **out) {
  skip_space(r);
  if (peek(r) != '"') return fail(r, r->at, "no key");
  BSM_TRY(count_one(r));
  BSM_TRY(read_string(r, out));
  skip_space(r);
  return skip(r, ':') ? BSM_OK : fail(r, r->at, "no colon behind a key");
}

/* A value, of an array or object its beginning. */
static bsm_status read_value(reader *r, bsm_json *out) {
  skip_space(r);
  BSM_TRY(count_one(r));
  if (peek(r) == '"') {
    out->kind = BSM_JSON_STRING;
    return read_string(r, &out->u.string);
  }
  if (skip(r, '[')) {
    out->kind = BSM_JSON_ARRAY;
    return BSM_OK;
  }
  if (skip(r, '{')) {
    out->kind = BSM_JSON_OBJECT;
    return BSM_OK;
  }
  return read_word(r, out) ? BSM_OK : read_number(r, out);
}

static bsm_status read_next(reader *r) {
  bsm_json_member next = {0};
  if (in_object(r)) BSM_TRY(read_key(r, &next.key));
  BSM_TRY(read_value(r, &next.value));
  BSM_TRY_ALLOC(bsm_vec_push(&r->scratch, &r->pending, next));
  if (next.value.kind < BSM_JSON_ARRAY) return BSM_OK;
  const uint64_t levels = r->limits->max_depth <= UINT64_MAX / LEVELS_PER_DEPTH
                              ? r->limits->max_depth * LEVELS_PER_DEPTH
                              : UINT64_MAX;
  if (r->open.len >= levels) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s nests too deep; max_depth allows %llu levels of JSON",
                    r->name, (unsigned long long)levels);
  }
  BSM_TRY_ALLOC(bsm_vec_push(&r->scratch, &r->open, r->pending.len - 1));
  return BSM_OK;
}

/* Closes what ends here, up to where the next value begins. */
static bsm_status end_value(reader *r) {
  while (r->open.len) {
    const bool is_first = r->open.items[r->open.len - 1] + 1 == r->pending.len;
    skip_space(r);
    if (skip(r, in_object(r) ? '}' : ']')) {
      BSM_TRY(close_last(r));
      continue;
    }
    if (is_first || skip(r, ',')) return BSM_OK;
    return fail(r, r->at,
                in_object(r) ? "neither a comma nor the end of the object"
                             : "neither a comma nor the end of the array");
  }
  return BSM_OK;
}

static bsm_status read_document(reader *r, const bsm_json **out) {
  bsm_json *root = BSM_NEW(r->arena, bsm_json);
  BSM_TRY_ALLOC(root);
  do {
    BSM_TRY(read_next(r));
    BSM_TRY(end_value(r));
  } while (r->open.len);
  skip_space(r);
  if (r->at < r->len) return fail(r, r->at, "more behind the value");
  *root = r->pending.items[0].value;
  *out = root;
  return BSM_OK;
}

bsm_status bsm_json_read(bsm_arena *arena, bsm_str text, const char *name,
                         const bsm_limits *limits, const bsm_json **out) {
  *out = NULL;
  if (text.len > limits->max_source_bytes) {
    return BSM_FAIL(BSM_LIMIT, "%s has %zu bytes; the limit is %llu", name,
                    text.len, (unsigned long long)limits->max_source_bytes);
  }
  reader r = {.text = text.data ? text.data : "",
              .len = text.len,
              .name = name,
              .limits = limits,
              .arena = arena};
  bsm_arena_init(&r.scratch, arena->allocator);
  const bsm_status status = read_document(&r, out);
  bsm_arena_destroy(&r.scratch);
  return status;
}
