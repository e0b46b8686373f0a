/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of input specs. */
#include "tools/input_spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/strings.h"

enum { MAX_DEPTH = 64 };

typedef struct parser {
  bsm_arena *arena;
  const char *text;
  const char *p;
  int depth;
} parser;

static bsm_status wrong(const parser *s, const char *what) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "input spec '%s', at column %zu%s%.24s%s: %s", s->text,
                  (size_t)(s->p - s->text) + 1, *s->p ? ", '" : "", s->p,
                  *s->p ? "'" : ", the end", what);
}

static void skip_blanks(parser *s) {
  while (*s->p == ' ' || *s->p == '\t' || *s->p == '\n') s->p++;
}

static bool take(parser *s, char c) {
  skip_blanks(s);
  if (*s->p != c) return false;
  s->p++;
  return true;
}

static size_t word_length(const char *p) {
  size_t length = 0;
  if (isdigit((unsigned char)*p)) return 0;
  while (isalnum((unsigned char)p[length]) || p[length] == '_') length++;
  return length;
}

/* (1,3,224,224), or in other brackets. */
static bsm_status parse_dims(parser *s, const char *brackets, int32_t *rank,
                             int64_t *dims) {
  *rank = 0;
  if (!take(s, brackets[0])) {
    return wrong(s,
                 "dimensions in parentheses expected, such as (1,3,224,224)");
  }
  while (!take(s, brackets[1])) {
    skip_blanks(s);
    const size_t length = strspn(s->p, "0123456789");
    int64_t dim;
    if (!bsm_parse_i64((bsm_str){s->p, length}, &dim)) {
      return wrong(s,
                   "a dimension expected; a tuple that begins with a number is "
                   "written tuple(1, 2)");
    }
    if (*rank == BSM_MAX_RANK) return wrong(s, "too many dimensions");
    dims[(*rank)++] = dim;
    s->p += length;
    if (take(s, ',')) continue;
    if (!take(s, brackets[1])) {
      return wrong(s, brackets[1] == ')' ? "',' or ')' expected"
                                         : "',' or ']' expected");
    }
    break;
  }
  return BSM_OK;
}

/* [(1,3);(4,3);(8,3)] */
static bsm_status parse_range(parser *s, bsm_input_spec *out) {
  int64_t *const parts[] = {out->min, out->opt, out->max};
  int32_t ranks[3];
  for (int i = 0; i < 3; i++) {
    if (!take(s, i == 0 ? '[' : ';')) {
      return wrong(s,
                   "three shapes separated by semicolons expected: "
                   "[(min);(opt);(max)]");
    }
    BSM_TRY(parse_dims(s, "()", &ranks[i], parts[i]));
  }
  if (!take(s, ']')) return wrong(s, "']' expected");
  if (ranks[0] != ranks[1] || ranks[1] != ranks[2]) {
    return wrong(s, "the three shapes have different ranks");
  }
  out->rank = ranks[0];
  for (int32_t i = 0; i < out->rank; i++) {
    if (out->min[i] > out->opt[i] || out->opt[i] > out->max[i]) {
      return wrong(s,
                   "a minimum is above its optimum, or that above the "
                   "maximum");
    }
  }
  return BSM_OK;
}

static const struct {
  const char *name;
  bsm_dtype dtype;
} dtype_names[] = {
    {"float", BSM_DTYPE_FLOAT},       {"float32", BSM_DTYPE_FLOAT},
    {"f32", BSM_DTYPE_FLOAT},         {"fp32", BSM_DTYPE_FLOAT},
    {"half", BSM_DTYPE_HALF},         {"float16", BSM_DTYPE_HALF},
    {"f16", BSM_DTYPE_HALF},          {"fp16", BSM_DTYPE_HALF},
    {"bfloat16", BSM_DTYPE_BFLOAT16}, {"bf16", BSM_DTYPE_BFLOAT16},
    {"double", BSM_DTYPE_DOUBLE},     {"float64", BSM_DTYPE_DOUBLE},
    {"f64", BSM_DTYPE_DOUBLE},        {"char", BSM_DTYPE_INT8},
    {"int8", BSM_DTYPE_INT8},         {"i8", BSM_DTYPE_INT8},
    {"byte", BSM_DTYPE_UINT8},        {"uint8", BSM_DTYPE_UINT8},
    {"u8", BSM_DTYPE_UINT8},          {"short", BSM_DTYPE_INT16},
    {"int16", BSM_DTYPE_INT16},       {"i16", BSM_DTYPE_INT16},
    {"int", BSM_DTYPE_INT32},         {"int32", BSM_DTYPE_INT32},
    {"i32", BSM_DTYPE_INT32},         {"long", BSM_DTYPE_INT64},
    {"int64", BSM_DTYPE_INT64},       {"i64", BSM_DTYPE_INT64},
    {"bool", BSM_DTYPE_BOOL},         {"b", BSM_DTYPE_BOOL},
};

static bool is_word(const parser *s, size_t length, const char *word) {
  return strlen(word) == length && strncasecmp(s->p, word, length) == 0;
}

/* The dtype of that name; UNDEFINED: none. */
static bsm_dtype dtype_of_word(const parser *s, size_t length) {
  for (size_t i = 0; i < sizeof(dtype_names) / sizeof(dtype_names[0]); i++) {
    if (is_word(s, length, dtype_names[i].name)) return dtype_names[i].dtype;
  }
  return BSM_DTYPE_UNDEFINED;
}

static bsm_status parse_dtype(parser *s, bsm_dtype *out) {
  skip_blanks(s);
  const size_t length = word_length(s->p);
  *out = dtype_of_word(s, length);
  if (*out == BSM_DTYPE_UNDEFINED) {
    return wrong(s,
                 "a dtype expected: f32, f16, bf16, f64, i8, u8, i16, i32, "
                 "i64 or bool");
  }
  s->p += length;
  return BSM_OK;
}

static bsm_status parse_layout(parser *s) {
  static const char *const same[] = {"linear", "contiguous", "nchw", "chw"};
  static const char *const last[] = {"nhwc", "hwc", "channels_last"};
  skip_blanks(s);
  const size_t length = word_length(s->p);
  for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
    if (is_word(s, length, same[i])) {
      s->p += length;
      return BSM_OK;
    }
  }
  for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
    if (is_word(s, length, last[i])) {
      return wrong(s,
                   "arrays are taken row by row only; the engine uses other "
                   "layouts inside on its own");
    }
  }
  return wrong(s, "a layout expected: contiguous");
}

/* What may follow a shape. */
static bsm_status parse_suffix(parser *s, bsm_input_spec *out) {
  if (take(s, '@')) BSM_TRY(parse_dtype(s, &out->dtype));
  if (take(s, '%')) BSM_TRY(parse_layout(s));
  return BSM_OK;
}

static bsm_status parse_shape(parser *s, const char *brackets,
                              bsm_input_spec *out) {
  out->kind = BSM_INPUT_TENSOR;
  BSM_TRY(parse_dims(s, brackets, &out->rank, out->min));
  memcpy(out->opt, out->min, sizeof(out->opt));
  memcpy(out->max, out->min, sizeof(out->max));
  return parse_suffix(s, out);
}

/* ---- strings ---- */

static bsm_status parse_escape(parser *s, bsm_text *out) {
  static const char from[] = "nrt0\\\"'/", to[] = "\n\r\t\0\\\"'/";
  const char *at = *s->p ? strchr(from, *s->p) : NULL;
  if (at) {
    s->p++;
    bsm_text_append(out, (bsm_str){&to[at - from], 1});
    return BSM_OK;
  }
  uint32_t code = 0;
  if (*s->p != 'u') return wrong(s, "an escape expected: \\n, \\\", \\u00e9");
  for (int i = 1; i <= 4; i++) {
    if (!isxdigit((unsigned char)s->p[i])) {
      return wrong(s, "four hexadecimal digits expected");
    }
    const int c = tolower((unsigned char)s->p[i]);
    code = code * 16 + (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
  }
  s->p += 5;
  char utf8[3];
  size_t n = 0;
  if (code < 0x80) {
    utf8[n++] = (char)code;
  } else if (code < 0x800) {
    utf8[n++] = (char)(0xc0 | code >> 6);
    utf8[n++] = (char)(0x80 | (code & 0x3f));
  } else {
    utf8[n++] = (char)(0xe0 | code >> 12);
    utf8[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    utf8[n++] = (char)(0x80 | (code & 0x3f));
  }
  bsm_text_append(out, (bsm_str){utf8, n});
  return BSM_OK;
}

/* "text" or 'text'. */
static bsm_status parse_quoted(parser *s, bsm_text *out) {
  const char quote = *s->p++;
  bsm_text_init(out, s->arena);
  while (*s->p != quote) {
    if (!*s->p) return wrong(s, "the string does not end");
    if (*s->p == '\\') {
      s->p++;
      BSM_TRY(parse_escape(s, out));
      continue;
    }
    bsm_text_append(out, (bsm_str){s->p++, 1});
  }
  s->p++;
  return out->failed ? BSM_FAIL_OOM() : BSM_OK;
}

static bool at_quote(const parser *s) {
  return *s->p == '"' || *s->p == '\'';
}

/* ---- containers ---- */

static bsm_status parse_value(parser *s, bsm_input_spec *out);

static bsm_status push(parser *s, bsm_spec_items *items,
                       const bsm_input_spec *item, bsm_input_spec *out) {
  if (!bsm_vec_push(s->arena, items, *item)) return BSM_FAIL_OOM();
  out->items = items->items;
  out->item_count = items->len;
  return BSM_OK;
}

/* Items up to the closing bracket, behind the opening one. */
static bsm_status parse_items(parser *s, char close, bsm_input_spec *out) {
  bsm_spec_items items = {0};
  while (!take(s, close)) {
    bsm_input_spec item;
    BSM_TRY(parse_value(s, &item));
    BSM_TRY(push(s, &items, &item, out));
    if (take(s, ',')) continue;
    if (!take(s, close)) {
      return wrong(
          s, close == ')' ? "',' or ')' expected" : "',' or ']' expected");
    }
    break;
  }
  return BSM_OK;
}

/* field=value, ... behind the opening parenthesis. */
static bsm_status parse_fields(parser *s, bsm_input_spec *out) {
  bsm_spec_items items = {0};
  out->kind = BSM_INPUT_NAMED_TUPLE;
  while (!take(s, ')')) {
    bsm_input_spec item;
    skip_blanks(s);
    const size_t length = word_length(s->p);
    const char *name = bsm_arena_strndup(s->arena, s->p, length);
    BSM_TRY_ALLOC(name);
    s->p += length;
    if (!length || !take(s, '=')) return wrong(s, "field=value expected");
    BSM_TRY(parse_value(s, &item));
    item.name = name;
    BSM_TRY(push(s, &items, &item, out));
    if (take(s, ',')) continue;
    if (!take(s, ')')) return wrong(s, "',' or ')' expected");
    break;
  }
  return BSM_OK;
}

/* A number up to the next delimiter; *is_int tells which one was set. */
static bool take_number(parser *s, int64_t *i, double *d, bool *is_int) {
  const size_t length = strcspn(s->p, " \t\n,;:()[]{}=");
  const bsm_str token = {s->p, length};
  *is_int = bsm_parse_i64(token, i);
  if (!*is_int && !bsm_parse_double(token, d)) return false;
  s->p += length;
  return true;
}

/* The key of a dict: a string, with or without quotes, or a number. */
static bsm_status parse_key(parser *s, bsm_input_spec *item) {
  skip_blanks(s);
  bsm_text text;
  bool is_int;
  const size_t length = word_length(s->p);
  if (at_quote(s)) {
    BSM_TRY(parse_quoted(s, &text));
    if (strlen(text.data) != text.len) return wrong(s, "a NUL in a key");
    item->name = text.data;
  } else if (is_word(s, length, "true") || is_word(s, length, "false")) {
    item->key_kind = BSM_INPUT_KEY_BOOL;
    item->int_key = is_word(s, length, "true");
    s->p += length;
  } else if (length) {
    item->name = bsm_arena_strndup(s->arena, s->p, length);
    BSM_TRY_ALLOC(item->name);
    s->p += length;
  } else if (take_number(s, &item->int_key, &item->float_key, &is_int)) {
    item->key_kind = is_int ? BSM_INPUT_KEY_INT : BSM_INPUT_KEY_FLOAT;
  } else {
    return wrong(s, "a key expected: \"text\", a word or a number");
  }
  return BSM_OK;
}

/* {"key": value, ...} behind the brace. */
static bsm_status parse_dict(parser *s, bsm_input_spec *out) {
  bsm_spec_items items = {0};
  out->kind = BSM_INPUT_DICT;
  while (!take(s, '}')) {
    bsm_input_spec key = BSM_INPUT_SPEC_INIT, item;
    BSM_TRY(parse_key(s, &key));
    if (!take(s, ':')) return wrong(s, "':' expected behind a key");
    BSM_TRY(parse_value(s, &item));
    item.name = key.name;
    item.key_kind = key.key_kind;
    item.int_key = key.int_key;
    item.float_key = key.float_key;
    BSM_TRY(push(s, &items, &item, out));
    if (take(s, ',')) continue;
    if (!take(s, '}')) return wrong(s, "',' or '}' expected");
    break;
  }
  return BSM_OK;
}

/* Whether "[(1,3);" begins here, and not a list of shapes. */
static bool at_range(const parser *s) {
  const char *p = s->p + 1;
  p += strspn(p, " ");
  if (*p != '(') return false;
  p += strcspn(p, ")");
  if (*p) p++;
  p += strspn(p, " ");
  return *p == ';';
}

static bsm_status parse_brackets(parser *s, bsm_input_spec *out) {
  if (at_range(s)) {
    out->kind = BSM_INPUT_TENSOR;
    BSM_TRY(parse_range(s, out));
    return parse_suffix(s, out);
  }
  s->p++;
  out->kind = BSM_INPUT_LIST;
  return parse_items(s, ']', out);
}

/* A shape when it begins with a digit or is empty; named fields; a tuple. */
static bsm_status parse_parentheses(parser *s, bsm_input_spec *out) {
  const char *inside = s->p + 1;
  inside += strspn(inside, " ");
  if (isdigit((unsigned char)*inside) || *inside == ')') {
    return parse_shape(s, "()", out);
  }
  const size_t length = word_length(inside);
  const char *behind = inside + length;
  behind += strspn(behind, " ");
  s->p++;
  if (length && *behind == '=') return parse_fields(s, out);
  out->kind = BSM_INPUT_TUPLE;
  return parse_items(s, ')', out);
}

/* ---- words ---- */

/* @file.npy, @file.npz:name, @"a file.npy" */
static bsm_status parse_file(parser *s, bsm_input_spec *out) {
  s->p++;
  out->kind = BSM_INPUT_CONSTANT_TENSOR;
  if (at_quote(s)) {
    bsm_text text;
    BSM_TRY(parse_quoted(s, &text));
    out->string = text.data;
  } else {
    const size_t length = strcspn(s->p, " ,()[]{}");
    out->string = bsm_arena_strndup(s->arena, s->p, length);
    s->p += length;
  }
  BSM_TRY_ALLOC(out->string);
  return out->string[0] ? BSM_OK : wrong(s, "a file name expected");
}

/* A dtype: a tensor with dims in brackets, else a number given when running. */
static bsm_status parse_typed(parser *s, size_t length, bsm_dtype dtype,
                              bsm_input_spec *out) {
  if (s->p[length] == '[') {
    s->p += length;
    out->dtype = dtype;
    return parse_shape(s, "[]", out);
  }
  out->kind = BSM_INPUT_TENSOR;
  out->dtype = is_word(s, length, "int")     ? BSM_DTYPE_INT64
               : is_word(s, length, "float") ? BSM_DTYPE_DOUBLE
                                             : dtype;
  s->p += length;
  return BSM_OK;
}

static bsm_status no_value(const parser *s) {
  return wrong(s,
               "a value expected: dimensions in parentheses expected, such as "
               "(1,3,224,224), or f32[1,3], a number, true, none, \"text\", "
               "[list], {\"key\": value}, tuple(...)");
}

static bsm_status parse_word(parser *s, bsm_input_spec *out) {
  const size_t length = word_length(s->p);
  const bsm_dtype dtype = dtype_of_word(s, length);
  if (dtype != BSM_DTYPE_UNDEFINED) return parse_typed(s, length, dtype, out);
  if (s->p[length] == '(') {
    const bool tuple = is_word(s, length, "tuple");
    s->p += length + 1;
    if (!tuple) return parse_fields(s, out);
    out->kind = BSM_INPUT_TUPLE;
    return parse_items(s, ')', out);
  }
  if (is_word(s, length, "none") || is_word(s, length, "null")) {
    out->kind = BSM_INPUT_NONE;
  } else if (is_word(s, length, "default")) {
    out->kind = BSM_INPUT_DEFAULT;
  } else if (is_word(s, length, "true") || is_word(s, length, "false")) {
    out->kind = BSM_INPUT_BOOL;
    out->bool_value = is_word(s, length, "true");
  } else if (bsm_parse_double((bsm_str){s->p, length}, &out->float_value)) {
    out->kind = BSM_INPUT_FLOAT; /* inf, nan */
  } else {
    return no_value(s);
  }
  s->p += length;
  return BSM_OK;
}

static bsm_status parse_plain(parser *s, bsm_input_spec *out) {
  bsm_text text;
  bool is_int;
  switch (*s->p) {
    case '(':
      return parse_parentheses(s, out);
    case '[':
      return parse_brackets(s, out);
    case '{':
      s->p++;
      return parse_dict(s, out);
    case '@':
      return parse_file(s, out);
    case '"':
    case '\'':
      BSM_TRY(parse_quoted(s, &text));
      out->kind = BSM_INPUT_STRING;
      out->string = text.data;
      out->string_length = text.len;
      return BSM_OK;
    default:
      break;
  }
  if (word_length(s->p)) return parse_word(s, out);
  if (*s->p && take_number(s, &out->int_value, &out->float_value, &is_int)) {
    out->kind = is_int ? BSM_INPUT_INT : BSM_INPUT_FLOAT;
    return BSM_OK;
  }
  return no_value(s);
}

static bsm_status parse_value(parser *s, bsm_input_spec *out) {
  *out = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  if (s->depth >= MAX_DEPTH) return wrong(s, "the value is nested too deep");
  skip_blanks(s);
  s->depth++;
  bsm_status status = parse_plain(s, out);
  s->depth--;
  return status;
}

/* ---- whole specs ---- */

/* The length of "NAME" in "NAME=...", else 0. */
static size_t name_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
         text[length] == '.') {
    length++;
  }
  return text[length] == '=' ? length : 0;
}

static bsm_status parse_spec(parser *s, bsm_input_spec *out) {
  const char *name = NULL;
  skip_blanks(s);
  const size_t length = name_length(s->p);
  if (length) {
    name = bsm_arena_strndup(s->arena, s->p, length);
    BSM_TRY_ALLOC(name);
    s->p += length + 1;
  }
  BSM_TRY(parse_value(s, out));
  out->name = name;
  skip_blanks(s);
  return BSM_OK;
}

bsm_status bsm_input_spec_parse(bsm_arena *arena, const char *text,
                                bsm_input_spec *out) {
  parser s = {.arena = arena, .text = text, .p = text};
  BSM_TRY(parse_spec(&s, out));
  if (!*s.p) return BSM_OK;
  return wrong(&s, out->kind == BSM_INPUT_TENSOR
                       ? "'@dtype', '%layout' or the end expected"
                       : "the end expected; a shape is written in parentheses, "
                         "(1,3,224,224)");
}

bsm_status bsm_input_specs_parse(bsm_arena *arena, const char *text,
                                 bsm_spec_items *out) {
  parser s = {.arena = arena, .text = text, .p = text};
  do {
    bsm_input_spec spec;
    BSM_TRY(parse_spec(&s, &spec));
    if (!bsm_vec_push(arena, out, spec)) return BSM_FAIL_OOM();
  } while (take(&s, ','));
  return *s.p ? wrong(&s, "',' or the end expected") : BSM_OK;
}
