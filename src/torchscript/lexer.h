/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the `code/` language: Python's lexical rules, as far as serialized
 * TorchScript uses them. Blocks are INDENT and DEDENT tokens; newlines inside
 * brackets are skipped. */
#ifndef BSM_TORCHSCRIPT_LEXER_H_
#define BSM_TORCHSCRIPT_LEXER_H_

#include "torchscript/code_file.h"

/* Punctuation is its own character: '(' ',' ':' '=' '.' '-' '+' ... */
typedef enum bsm_token_kind {
  BSM_TOKEN_END = 0,
  BSM_TOKEN_NEWLINE = 256,
  BSM_TOKEN_INDENT,
  BSM_TOKEN_DEDENT,
  BSM_TOKEN_NAME,
  BSM_TOKEN_INT,     /* `text` are the digits */
  BSM_TOKEN_FLOAT,   /* `number` */
  BSM_TOKEN_COMPLEX, /* `number` is the imaginary part */
  BSM_TOKEN_STRING,  /* `string`, escapes resolved */
  BSM_TOKEN_ARROW,   /* -> */
  /* Keywords; the lexer knows those that serialized code can contain. */
  BSM_TOKEN_DEF,
  BSM_TOKEN_CLASS,
  BSM_TOKEN_IF,
  BSM_TOKEN_ELSE,
  BSM_TOKEN_WHILE,
  BSM_TOKEN_FOR,
  BSM_TOKEN_IN,
  BSM_TOKEN_RETURN,
  BSM_TOKEN_PASS,
  BSM_TOKEN_WITH,
  BSM_TOKEN_AS,
  BSM_TOKEN_NONE,
  BSM_TOKEN_TRUE,
  BSM_TOKEN_FALSE,
  BSM_TOKEN_IMPORT,
  /* A keyword of Python that the serializer never writes. */
  BSM_TOKEN_OTHER_KEYWORD
} bsm_token_kind;

typedef struct bsm_token {
  int kind; /* bsm_token_kind, or a character */
  bsm_code_pos pos;
  bsm_str text;   /* in the source */
  double number;  /* FLOAT, COMPLEX */
  bsm_str string; /* STRING */
} bsm_token;

typedef struct bsm_lexer {
  const bsm_code_file *file;
  bsm_arena *arena; /* of decoded strings */
  const bsm_limits *limits;
  size_t at;
  uint32_t line;
  size_t line_start; /* offset of the current line */
  uint32_t brackets; /* open ones */
  bool line_begins;  /* the next token is the first of its line */
  uint32_t dedents;  /* still to be given out */
  BSM_VEC(uint32_t) indents;
} bsm_lexer;

/* `limits` must be resolved (no zero left). */
BSM_NODISCARD bsm_status bsm_lexer_init(bsm_lexer *lexer, bsm_arena *arena,
                                        const bsm_code_file *file,
                                        const bsm_limits *limits);
/* The next token; BSM_TOKEN_END for ever at the end. BSM_CORRUPT with the
 * place for a byte that begins no token. */
BSM_NODISCARD bsm_status bsm_lexer_next(bsm_lexer *lexer, bsm_token *out);

/* "a name", "'('", ...: for messages. */
const char *bsm_token_describe(const bsm_token *token, char buffer[64]);

#endif /* BSM_TORCHSCRIPT_LEXER_H_ */
