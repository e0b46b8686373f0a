/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of input specs. */
#include "tools/input_spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/strings.h"

typedef struct parser {
  const char *text;
  const char *p;
} parser;

static bsm_status wrong(const parser *s, const char *what) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "input spec '%s', at '%s': %s", s->text,
                  s->p, what);
}

static void skip_blanks(parser *s) {
  while (*s->p == ' ') s->p++;
}

static bool take(parser *s, char c) {
  skip_blanks(s);
  if (*s->p != c) return false;
  s->p++;
  return true;
}

/* (1,3,224,224) */
static bsm_status parse_dims(parser *s, int32_t *rank, int64_t *dims) {
  *rank = 0;
  if (!take(s, '(')) {
    return wrong(s,
                 "dimensions in parentheses expected, such as (1,3,224,224)");
  }
  while (!take(s, ')')) {
    skip_blanks(s);
    const size_t length = strspn(s->p, "0123456789");
    int64_t dim;
    if (!bsm_parse_i64((bsm_str){s->p, length}, &dim)) {
      return wrong(s, "a dimension expected");
    }
    if (*rank == BSM_MAX_RANK) return wrong(s, "too many dimensions");
    dims[(*rank)++] = dim;
    s->p += length;
    if (take(s, ',')) continue;
    if (!take(s, ')')) return wrong(s, "',' or ')' expected");
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
    BSM_TRY(parse_dims(s, &ranks[i], parts[i]));
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

static bsm_status parse_dtype(parser *s, bsm_dtype *out) {
  skip_blanks(s);
  const size_t length = strcspn(s->p, "% ");
  for (size_t i = 0; i < sizeof(dtype_names) / sizeof(dtype_names[0]); i++) {
    if (!is_word(s, length, dtype_names[i].name)) continue;
    *out = dtype_names[i].dtype;
    s->p += length;
    return BSM_OK;
  }
  return wrong(s,
               "a dtype expected: f32, f16, bf16, f64, i8, u8, i16, i32, "
               "i64 or bool");
}

static bsm_status parse_layout(parser *s) {
  static const char *const same[] = {"linear", "contiguous", "nchw", "chw"};
  static const char *const last[] = {"nhwc", "hwc", "channels_last"};
  skip_blanks(s);
  const size_t length = strcspn(s->p, " ");
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

static bsm_status parse_tensor(parser *s, bsm_input_spec *out) {
  out->kind = BSM_INPUT_TENSOR;
  skip_blanks(s);
  if (*s->p == '[') {
    BSM_TRY(parse_range(s, out));
  } else {
    BSM_TRY(parse_dims(s, &out->rank, out->min));
    memcpy(out->opt, out->min, sizeof(out->opt));
    memcpy(out->max, out->min, sizeof(out->max));
  }
  if (take(s, '@')) BSM_TRY(parse_dtype(s, &out->dtype));
  if (take(s, '%')) BSM_TRY(parse_layout(s));
  skip_blanks(s);
  return *s->p ? wrong(s, "'@dtype', '%layout' or the end expected") : BSM_OK;
}

/* A value of a parameter that is not a tensor. */
static bool parse_scalar(parser *s, bsm_input_spec *out) {
  skip_blanks(s);
  const size_t length = strlen(s->p);
  const bsm_str rest = {s->p, length};
  if (is_word(s, length, "none")) {
    out->kind = BSM_INPUT_NONE;
  } else if (is_word(s, length, "true") || is_word(s, length, "false")) {
    out->kind = BSM_INPUT_BOOL;
    out->bool_value = is_word(s, length, "true");
  } else if (bsm_parse_i64(rest, &out->int_value)) {
    out->kind = BSM_INPUT_INT;
  } else if (bsm_parse_double(rest, &out->float_value)) {
    out->kind = BSM_INPUT_FLOAT;
  } else {
    return false;
  }
  return true;
}

/* The length of "NAME" in "NAME=...", else 0. */
static size_t name_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
         text[length] == '.') {
    length++;
  }
  return text[length] == '=' ? length : 0;
}

bsm_status bsm_input_spec_parse(bsm_arena *arena, const char *text,
                                bsm_input_spec *out) {
  *out = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
  parser s = {text, text};
  const size_t length = name_length(text);
  if (length) {
    out->name = bsm_arena_strndup(arena, text, length);
    BSM_TRY_ALLOC(out->name);
    s.p += length + 1;
  }
  if (parse_scalar(&s, out)) return BSM_OK;
  return parse_tensor(&s, out);
}
