/* SPDX-License-Identifier: Apache-2.0 */
/* A position in a text that is being parsed: what the readers of types,
 * schemas and IR text share. White space (newlines too) and nothing else is
 * skipped between pieces. */
#ifndef BSM_IR_CURSOR_H_
#define BSM_IR_CURSOR_H_

#include "base/strings.h"
#include "ir/type.h"

typedef struct bsm_cursor {
  bsm_str text;
  size_t pos;
  const char *name; /* of the text, for messages */
  size_t depth;     /* of what is being read */
  size_t max_depth;
  size_t max_string; /* bytes of one literal */
  bsm_arena *arena;  /* for messages and literals */
} bsm_cursor;

/* A failure at the current position: "name:line:column: message". */
BSM_NODISCARD bsm_status bsm_cursor_fail(const bsm_cursor *c, bsm_code code,
                                         const char *format, ...)
    BSM_PRINTF(3, 4);
/* 1-based line and column of a position. */
void bsm_cursor_place(const bsm_cursor *c, size_t pos, uint32_t *line,
                      uint32_t *col);

/* The next character after white space; '\0' at the end. */
char bsm_cursor_peek(bsm_cursor *c);
/* Skips white space and then `piece`, if it is next. */
bool bsm_cursor_accept(bsm_cursor *c, const char *piece);
BSM_NODISCARD bsm_status bsm_cursor_expect(bsm_cursor *c, const char *piece);
/* A name of letters, digits, '_' and, with `dots`, inner '.'; empty when there
 * is none. Does not start with a digit. */
bsm_str bsm_cursor_name(bsm_cursor *c, bool dots);
/* As bsm_cursor_accept for a whole word. */
bool bsm_cursor_word(bsm_cursor *c, const char *word);

/* Number, with sign: an integer, or a double ("1.", "1e5", "inf", "nan"). */
BSM_NODISCARD bsm_status bsm_cursor_number(bsm_cursor *c, bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_cursor_int(bsm_cursor *c, int64_t *out);
/* A quoted string with the escapes of TorchScript, decoded in the arena. */
BSM_NODISCARD bsm_status bsm_cursor_string(bsm_cursor *c, bsm_str *out);

/* Enters and leaves a nested construct; fails when nested too deeply. */
BSM_NODISCARD bsm_status bsm_cursor_enter(bsm_cursor *c);
static inline void bsm_cursor_leave(bsm_cursor *c) {
  c->depth--;
}

/* A type in either style, without the alias annotations of schemas. */
BSM_NODISCARD bsm_status bsm_cursor_type(bsm_cursor *c, bsm_type_table *types,
                                         const bsm_type **out);

/* A type as schemas write it, with "(a!)" annotations, which are collected. */
typedef struct bsm_alias_text {
  bool any, write;
  bsm_str text; /* the first one, between the parentheses */
} bsm_alias_text;
BSM_NODISCARD bsm_status bsm_cursor_schema_type(bsm_cursor *c,
                                                bsm_type_table *types,
                                                bsm_alias_text *alias,
                                                const bsm_type **out);

#endif /* BSM_IR_CURSOR_H_ */
