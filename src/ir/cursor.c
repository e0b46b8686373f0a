/* SPDX-License-Identifier: Apache-2.0 */
/* The common pieces of the text readers: names, numbers, strings, places. */
#include "ir/cursor.h"

#include <stdio.h>

void bsm_cursor_place(const bsm_cursor *c, size_t pos, uint32_t *line,
                      uint32_t *col) {
  *line = *col = 1;
  for (size_t i = 0; i < pos && i < c->text.len; i++) {
    if (c->text.data[i] == '\n') {
      ++*line;
      *col = 1;
    } else {
      ++*col;
    }
  }
}

bsm_status bsm_cursor_fail(const bsm_cursor *c, bsm_code code,
                           const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  uint32_t line, col;
  bsm_cursor_place(c, c->pos, &line, &col);
  return BSM_FAIL(code, "%s:%u:%u: %s", c->name, line, col, message);
}

static bool is_space(char ch) {
  return ch == ' ' || ch == '\n' || ch == '\t' || ch == '\r';
}

static bool is_digit(char ch) {
  return ch >= '0' && ch <= '9';
}

static bool is_name_char(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' ||
         is_digit(ch);
}

char bsm_cursor_peek(bsm_cursor *c) {
  while (c->pos < c->text.len && is_space(c->text.data[c->pos])) c->pos++;
  return c->pos < c->text.len ? c->text.data[c->pos] : '\0';
}

bool bsm_cursor_accept(bsm_cursor *c, const char *piece) {
  (void)bsm_cursor_peek(c);
  size_t n = strlen(piece);
  if (c->text.len - c->pos < n ||
      memcmp(c->text.data + c->pos, piece, n) != 0) {
    return false;
  }
  c->pos += n;
  return true;
}

bsm_status bsm_cursor_expect(bsm_cursor *c, const char *piece) {
  if (bsm_cursor_accept(c, piece)) return BSM_OK;
  char ch = bsm_cursor_peek(c);
  if (ch == '\0') {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected '%s' at the end", piece);
  }
  if (ch < ' ' || ch > '~') ch = '?';
  return bsm_cursor_fail(c, BSM_CORRUPT, "expected '%s' before '%c'", piece,
                         ch);
}

bsm_str bsm_cursor_name(bsm_cursor *c, bool dots) {
  char first = bsm_cursor_peek(c);
  size_t start = c->pos;
  if (!is_name_char(first) || is_digit(first)) return (bsm_str){"", 0};
  while (c->pos < c->text.len) {
    char ch = c->text.data[c->pos];
    bool inner_dot = dots && ch == '.' && c->pos + 1 < c->text.len &&
                     is_name_char(c->text.data[c->pos + 1]);
    if (!is_name_char(ch) && !inner_dot) break;
    c->pos++;
  }
  return (bsm_str){c->text.data + start, c->pos - start};
}

bool bsm_cursor_word(bsm_cursor *c, const char *word) {
  (void)bsm_cursor_peek(c);
  size_t start = c->pos;
  if (bsm_str_eq(bsm_cursor_name(c, false), bsm_str_of(word))) return true;
  c->pos = start;
  return false;
}

bsm_status bsm_cursor_enter(bsm_cursor *c) {
  if (c->depth >= c->max_depth) {
    return bsm_cursor_fail(c, BSM_LIMIT, "nested more than %zu deep",
                           c->max_depth);
  }
  c->depth++;
  return BSM_OK;
}

/* The characters of a number without its sign; *real when not an integer. */
static bsm_str number_text(bsm_cursor *c, bool *real) {
  size_t start = c->pos;
  *real = false;
  while (c->pos < c->text.len) {
    char ch = c->text.data[c->pos];
    if (ch == '.' || ch == 'e' || ch == 'E') {
      *real = true;
    } else if (ch == '+' || ch == '-') {
      char before = c->pos > start ? c->text.data[c->pos - 1] : ' ';
      if (before != 'e' && before != 'E') break;
    } else if (!is_digit(ch)) {
      break;
    }
    c->pos++;
  }
  return (bsm_str){c->text.data + start, c->pos - start};
}

bsm_status bsm_cursor_number(bsm_cursor *c, bsm_ivalue *out) {
  (void)bsm_cursor_peek(c);
  size_t start = c->pos;
  bool minus = bsm_cursor_accept(c, "-");
  bsm_str word = bsm_cursor_name(c, false);
  if (word.len) {
    double value;
    if (bsm_str_eq(word, BSM_STR("inf"))) {
      value = __builtin_inf();
    } else if (bsm_str_eq(word, BSM_STR("nan"))) {
      value = __builtin_nan("");
    } else {
      c->pos = start;
      return bsm_cursor_fail(c, BSM_CORRUPT, "expected a number");
    }
    *out = bsm_iv_double(minus ? -value : value);
    return BSM_OK;
  }
  bool real;
  bsm_str text = number_text(c, &real);
  /* The sign belongs to the digits: -2^63 is a number, 2^63 is not. */
  if (minus) text = (bsm_str){text.data - 1, text.len + 1};
  int64_t i;
  double d;
  if (!real && bsm_parse_i64(text, &i)) {
    *out = bsm_iv_int(i);
    return BSM_OK;
  }
  if (text.len > (minus ? 1u : 0u) && bsm_parse_double(text, &d)) {
    /* An integer that does not fit: as a double it would change silently. */
    if (real) {
      *out = bsm_iv_double(d);
      return BSM_OK;
    }
    c->pos = start;
    return bsm_cursor_fail(c, BSM_CORRUPT, "integer out of range");
  }
  c->pos = start;
  return bsm_cursor_fail(c, BSM_CORRUPT, "expected a number");
}

bsm_status bsm_cursor_int(bsm_cursor *c, int64_t *out) {
  (void)bsm_cursor_peek(c);
  size_t start = c->pos;
  bsm_ivalue value;
  BSM_TRY(bsm_cursor_number(c, &value));
  if (value.tag != BSM_IVALUE_INT) {
    c->pos = start;
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected an integer");
  }
  *out = value.u.i;
  return BSM_OK;
}

/* One escape after the backslash. */
static bsm_status read_escape(bsm_cursor *c, char *out) {
  static const char names[] = "ntabfvr\\'\"";
  static const char bytes[] = "\n\t\a\b\f\v\r\\'\"";
  char ch = c->pos < c->text.len ? c->text.data[c->pos] : '\0';
  const char *at = ch ? strchr(names, ch) : NULL;
  if (at) {
    *out = bytes[at - names];
    c->pos++;
    return BSM_OK;
  }
  unsigned value = 0, digits = 0;
  while (digits < 3 && c->pos < c->text.len && c->text.data[c->pos] >= '0' &&
         c->text.data[c->pos] <= '7') {
    value = value * 8 + (unsigned)(c->text.data[c->pos] - '0');
    c->pos++;
    digits++;
  }
  if (digits == 0 || value > 255) {
    return bsm_cursor_fail(c, BSM_CORRUPT, "unknown escape in a string");
  }
  *out = (char)(unsigned char)value;
  return BSM_OK;
}

/* The position of the closing quote; the text's length when there is none. */
static size_t closing_quote(const bsm_cursor *c, char quote) {
  size_t i = c->pos;
  while (i < c->text.len && c->text.data[i] != quote) {
    i += c->text.data[i] == '\\' ? 2 : 1;
  }
  return i < c->text.len ? i : c->text.len;
}

bsm_status bsm_cursor_string(bsm_cursor *c, bsm_str *out) {
  char quote = bsm_cursor_peek(c);
  if (quote != '"' && quote != '\'') {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected a string");
  }
  size_t start = c->pos++;
  size_t end = closing_quote(c, quote);
  if (end == c->text.len) {
    c->pos = start;
    return bsm_cursor_fail(c, BSM_CORRUPT, "string without an end");
  }
  if (end - c->pos > c->max_string) {
    return bsm_cursor_fail(c, BSM_LIMIT, "string of more than %zu bytes",
                           c->max_string);
  }
  char *data = bsm_arena_alloc(c->arena, end - c->pos + 1, 1);
  BSM_TRY_ALLOC(data);
  size_t len = 0;
  while (c->pos < end) {
    char ch = c->text.data[c->pos++];
    if (ch == '\\') BSM_TRY(read_escape(c, &ch));
    data[len++] = ch;
  }
  c->pos = end + 1;
  *out = (bsm_str){data, len};
  return BSM_OK;
}
