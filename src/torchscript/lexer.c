/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer: indentation, numbers, strings, names and punctuation. */
#include "torchscript/lexer.h"

#include <stdio.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}

/* The byte `ahead` places on, or NUL behind the end (a NUL in the text begins
 * no token either). */
static char peek(const bsm_lexer *lx, size_t ahead) {
  const bsm_str text = lx->file->text;
  return ahead < text.len - lx->at ? text.data[lx->at + ahead] : '\0';
}

static bool at_end(const bsm_lexer *lx) {
  return lx->at >= lx->file->text.len;
}

static bsm_code_pos here(const bsm_lexer *lx) {
  return (bsm_code_pos){(uint32_t)lx->at, lx->line,
                        (uint32_t)(lx->at - lx->line_start + 1)};
}

bsm_status bsm_lexer_init(bsm_lexer *lexer, bsm_arena *arena,
                          const bsm_code_file *file, const bsm_limits *limits) {
  *lexer = (bsm_lexer){.file = file,
                       .arena = arena,
                       .limits = limits,
                       .line = 1,
                       .line_begins = true};
  if (file->text.len > limits->max_source_bytes ||
      file->text.len >= UINT32_MAX) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s: %zu bytes of code, the limit max_source_bytes is %llu",
                    file->path, file->text.len,
                    (unsigned long long)limits->max_source_bytes);
  }
  BSM_TRY_ALLOC(bsm_vec_push(arena, &lexer->indents, 0));
  return BSM_OK;
}

static void next_line(bsm_lexer *lx) {
  lx->at++;
  lx->line++;
  lx->line_start = lx->at;
}

/* Skips blanks, comments, joined lines, and newlines inside brackets. */
static bsm_status skip_blanks(bsm_lexer *lx) {
  for (;;) {
    const char c = peek(lx, 0);
    if (at_end(lx)) return BSM_OK;
    if (c == ' ' || c == '\t' || (c == '\r' && peek(lx, 1) == '\n')) {
      lx->at++;
    } else if (c == '#') {
      while (!at_end(lx) && peek(lx, 0) != '\n') lx->at++;
    } else if (c == '\\' && peek(lx, 1) == '\n') {
      lx->at++;
      next_line(lx);
    } else if (c == '\n' && lx->brackets > 0) {
      next_line(lx);
    } else {
      return BSM_OK;
    }
  }
}

/* At the start of a line: skips blank lines, then compares the indentation of
 * the first line that has something with the enclosing blocks. */
static bsm_status read_indentation(bsm_lexer *lx, bsm_token *out, bool *given) {
  *given = false;
  for (;;) {
    const size_t begin = lx->at;
    while (peek(lx, 0) == ' ') lx->at++;
    if (peek(lx, 0) == '\t') {
      return bsm_code_error(lx->file, here(lx), BSM_CORRUPT,
                            "tab in indentation");
    }
    const size_t width = lx->at - begin;
    BSM_TRY(skip_blanks(lx));
    if (!at_end(lx) && peek(lx, 0) == '\n') {
      next_line(lx);
      continue;
    }
    lx->line_begins = false;
    const size_t indent = at_end(lx) ? 0 : width;
    const uint32_t top = lx->indents.items[lx->indents.len - 1];
    out->pos = here(lx);
    if (indent > top) {
      if (lx->indents.len > lx->limits->max_depth) {
        return bsm_code_error(
            lx->file, here(lx), BSM_LIMIT,
            "blocks nested deeper than the limit max_depth (%llu)",
            (unsigned long long)lx->limits->max_depth);
      }
      BSM_TRY_ALLOC(bsm_vec_push(lx->arena, &lx->indents, (uint32_t)indent));
      out->kind = BSM_TOKEN_INDENT;
      *given = true;
      return BSM_OK;
    }
    while (indent < lx->indents.items[lx->indents.len - 1]) {
      lx->indents.len--;
      lx->dedents++;
    }
    if (indent != lx->indents.items[lx->indents.len - 1]) {
      return bsm_code_error(lx->file, here(lx), BSM_CORRUPT,
                            "indentation matches no enclosing block");
    }
    return BSM_OK;
  }
}

static const struct {
  const char *text;
  int kind;
} keywords[] = {
    {"def", BSM_TOKEN_DEF},
    {"class", BSM_TOKEN_CLASS},
    {"if", BSM_TOKEN_IF},
    {"else", BSM_TOKEN_ELSE},
    {"while", BSM_TOKEN_WHILE},
    {"for", BSM_TOKEN_FOR},
    {"in", BSM_TOKEN_IN},
    {"return", BSM_TOKEN_RETURN},
    {"pass", BSM_TOKEN_PASS},
    {"with", BSM_TOKEN_WITH},
    {"as", BSM_TOKEN_AS},
    {"None", BSM_TOKEN_NONE},
    {"True", BSM_TOKEN_TRUE},
    {"False", BSM_TOKEN_FALSE},
    {"import", BSM_TOKEN_IMPORT},
    {"elif", BSM_TOKEN_OTHER_KEYWORD},
    {"not", BSM_TOKEN_OTHER_KEYWORD},
    {"and", BSM_TOKEN_OTHER_KEYWORD},
    {"or", BSM_TOKEN_OTHER_KEYWORD},
    {"is", BSM_TOKEN_OTHER_KEYWORD},
    {"raise", BSM_TOKEN_OTHER_KEYWORD},
    {"assert", BSM_TOKEN_OTHER_KEYWORD},
    {"break", BSM_TOKEN_OTHER_KEYWORD},
    {"continue", BSM_TOKEN_OTHER_KEYWORD},
    {"del", BSM_TOKEN_OTHER_KEYWORD},
    {"lambda", BSM_TOKEN_OTHER_KEYWORD},
    {"global", BSM_TOKEN_OTHER_KEYWORD},
    {"yield", BSM_TOKEN_OTHER_KEYWORD},
    {"try", BSM_TOKEN_OTHER_KEYWORD},
    {"except", BSM_TOKEN_OTHER_KEYWORD},
};

static bsm_status read_name(bsm_lexer *lx, bsm_token *out) {
  const size_t begin = lx->at;
  while (is_name(peek(lx, 0))) lx->at++;
  out->text = (bsm_str){lx->file->text.data + begin, lx->at - begin};
  if (out->text.len > lx->limits->max_name_bytes) {
    return bsm_code_error(lx->file, out->pos, BSM_LIMIT,
                          "a name of %zu bytes, the limit max_name_bytes is "
                          "%llu",
                          out->text.len,
                          (unsigned long long)lx->limits->max_name_bytes);
  }
  out->kind = BSM_TOKEN_NAME;
  for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
    if (bsm_str_eq(out->text, bsm_str_of(keywords[i].text))) {
      out->kind = keywords[i].kind;
    }
  }
  return BSM_OK;
}

/* digits [. digits] [e [+-] digits] [j]: an integer has none of . e j. A sign
 * is never part of it. */
static bsm_status read_number(bsm_lexer *lx, bsm_token *out) {
  const size_t begin = lx->at;
  out->kind = BSM_TOKEN_INT;
  while (is_digit(peek(lx, 0))) lx->at++;
  if (peek(lx, 0) == '.') {
    out->kind = BSM_TOKEN_FLOAT;
    lx->at++;
    while (is_digit(peek(lx, 0))) lx->at++;
  }
  if (peek(lx, 0) == 'e' || peek(lx, 0) == 'E') {
    const size_t sign = peek(lx, 1) == '+' || peek(lx, 1) == '-' ? 1 : 0;
    if (is_digit(peek(lx, 1 + sign))) {
      out->kind = BSM_TOKEN_FLOAT;
      lx->at += 1 + sign;
      while (is_digit(peek(lx, 0))) lx->at++;
    }
  }
  out->text = (bsm_str){lx->file->text.data + begin, lx->at - begin};
  if (peek(lx, 0) == 'j') {
    out->kind = BSM_TOKEN_COMPLEX;
    lx->at++;
  }
  if (is_name(peek(lx, 0))) {
    return bsm_code_error(lx->file, out->pos, BSM_CORRUPT, "malformed number");
  }
  if (out->kind != BSM_TOKEN_INT &&
      !bsm_parse_double(out->text, &out->number)) {
    return bsm_code_error(lx->file, out->pos, BSM_CORRUPT,
                          "number out of range");
  }
  return BSM_OK;
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* One escape, after its backslash. The serializer writes \\ \' \" \n \t \a \b
 * \f \v \r and \ooo; \xHH is read too. *has is false for a joined line. */
static bsm_status read_escape(bsm_lexer *lx, char *byte, bool *has) {
  static const char from[] = "\\'\"ntabfvr";
  static const char to[] = "\\'\"\n\t\a\b\f\v\r";
  const bsm_code_pos pos = here(lx);
  const char c = peek(lx, 0);
  *has = true;
  if (c == '\n') {
    next_line(lx);
    *has = false;
    return BSM_OK;
  }
  lx->at++;
  if (c >= '0' && c <= '7') {
    int value = c - '0';
    for (int i = 0; i < 2 && peek(lx, 0) >= '0' && peek(lx, 0) <= '7'; i++) {
      value = value * 8 + (peek(lx, 0) - '0');
      lx->at++;
    }
    if (value > 255) {
      return bsm_code_error(lx->file, pos, BSM_CORRUPT,
                            "octal escape above \\377");
    }
    *byte = (char)value;
    return BSM_OK;
  }
  if (c == 'x' && hex_digit(peek(lx, 0)) >= 0 && hex_digit(peek(lx, 1)) >= 0) {
    *byte = (char)(hex_digit(peek(lx, 0)) * 16 + hex_digit(peek(lx, 1)));
    lx->at += 2;
    return BSM_OK;
  }
  const char *hit = c ? strchr(from, c) : NULL;
  if (!hit) {
    return bsm_code_error(lx->file, pos, BSM_CORRUPT,
                          "unknown escape in a string");
  }
  *byte = to[hit - from];
  return BSM_OK;
}

/* The end of the string that begins here, without looking at escapes closely:
 * a bound for the decoded size. */
static size_t string_bound(const bsm_lexer *lx, char quote, bool triple) {
  const bsm_str text = lx->file->text;
  size_t i = lx->at;
  for (; i < text.len; i++) {
    if (text.data[i] == '\\') {
      i++;
    } else if (text.data[i] == quote &&
               (!triple || (text.len - i > 2 && text.data[i + 1] == quote &&
                            text.data[i + 2] == quote))) {
      break;
    } else if (text.data[i] == '\n' && !triple) {
      break;
    }
  }
  return (i < text.len ? i : text.len) - lx->at;
}

static bsm_status read_string(bsm_lexer *lx, bsm_token *out) {
  const char quote = peek(lx, 0);
  const bool triple = peek(lx, 1) == quote && peek(lx, 2) == quote;
  const size_t width = triple ? 3 : 1;
  lx->at += width;
  const size_t bound = string_bound(lx, quote, triple);
  if (bound > lx->limits->max_string_bytes) {
    return bsm_code_error(
        lx->file, out->pos, BSM_LIMIT,
        "a string of %zu bytes, the limit max_string_bytes is %llu", bound,
        (unsigned long long)lx->limits->max_string_bytes);
  }
  char *bytes = BSM_NEW_ARRAY(lx->arena, char, bound + 1);
  BSM_TRY_ALLOC(bytes);
  size_t len = 0;
  for (;;) {
    const char c = peek(lx, 0);
    if (at_end(lx) || (c == '\n' && !triple)) {
      return bsm_code_error(lx->file, out->pos, BSM_CORRUPT,
                            "string without an end");
    }
    if (c == quote &&
        (!triple || (peek(lx, 1) == quote && peek(lx, 2) == quote))) {
      lx->at += width;
      break;
    }
    if (c == '\\') {
      bool has;
      lx->at++;
      BSM_TRY(read_escape(lx, &bytes[len], &has));
      if (has) len++;
    } else if (c == '\n') {
      bytes[len++] = c;
      next_line(lx);
    } else {
      bytes[len++] = c;
      lx->at++;
    }
  }
  out->kind = BSM_TOKEN_STRING;
  out->string = (bsm_str){bytes, len};
  return BSM_OK;
}

static bsm_status read_punctuation(bsm_lexer *lx, bsm_token *out) {
  const char c = peek(lx, 0);
  if (at_end(lx) || !c || !strchr("()[]{},:=.-+*/%<>!&|^~@;", c)) {
    return bsm_code_error(lx->file, out->pos, BSM_CORRUPT,
                          "byte 0x%02x begins no token",
                          (unsigned)(unsigned char)c);
  }
  out->text = (bsm_str){lx->file->text.data + lx->at, 1};
  out->kind = (unsigned char)c;
  lx->at++;
  if (c == '-' && peek(lx, 0) == '>') {
    out->kind = BSM_TOKEN_ARROW;
    out->text.len = 2;
    lx->at++;
  } else if (c == '(' || c == '[' || c == '{') {
    lx->brackets++;
  } else if ((c == ')' || c == ']' || c == '}') && lx->brackets > 0) {
    lx->brackets--;
  }
  return BSM_OK;
}

bsm_status bsm_lexer_next(bsm_lexer *lx, bsm_token *out) {
  *out = (bsm_token){0};
  if (lx->line_begins) {
    bool given;
    BSM_TRY(read_indentation(lx, out, &given));
    if (given) return BSM_OK;
  }
  if (lx->dedents > 0) {
    lx->dedents--;
    out->pos = here(lx);
    out->kind = BSM_TOKEN_DEDENT;
    return BSM_OK;
  }
  BSM_TRY(skip_blanks(lx));
  out->pos = here(lx);
  if (at_end(lx)) {
    /* The last line may lack its newline, and blocks may still be open. */
    if (lx->indents.len > 1) {
      lx->dedents = (uint32_t)(lx->indents.len - 1);
      lx->indents.len = 1;
      out->kind = BSM_TOKEN_NEWLINE;
      return BSM_OK;
    }
    out->kind = BSM_TOKEN_END;
    return BSM_OK;
  }
  const char c = peek(lx, 0);
  if (c == '\n') {
    next_line(lx);
    lx->line_begins = true;
    out->kind = BSM_TOKEN_NEWLINE;
    return BSM_OK;
  }
  if (is_name_start(c)) return read_name(lx, out);
  if (is_digit(c) || (c == '.' && is_digit(peek(lx, 1)))) {
    return read_number(lx, out);
  }
  if (c == '\'' || c == '"') return read_string(lx, out);
  return read_punctuation(lx, out);
}

const char *bsm_token_describe(const bsm_token *token, char buffer[64]) {
  switch (token->kind) {
    case BSM_TOKEN_END:
      return "the end of the text";
    case BSM_TOKEN_NEWLINE:
      return "the end of the line";
    case BSM_TOKEN_INDENT:
      return "an indented block";
    case BSM_TOKEN_DEDENT:
      return "the end of the block";
    case BSM_TOKEN_STRING:
      return "a string";
    default:
      break;
  }
  snprintf(buffer, 64, "'%.*s'",
           (int)(token->text.len < 48 ? token->text.len : 48),
           token->text.data);
  return buffer;
}
