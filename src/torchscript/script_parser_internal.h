/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the parser share. */
#ifndef BSM_TORCHSCRIPT_SCRIPT_PARSER_INTERNAL_H_
#define BSM_TORCHSCRIPT_SCRIPT_PARSER_INTERNAL_H_

#include "torchscript/lexer.h"
#include "torchscript/syntax.h"

typedef struct bsm_parser {
  bsm_lexer lexer;
  bsm_token token; /* the one ahead */
  bsm_arena *arena;
  bsm_interner *names;
  const bsm_limits *limits;
  uint64_t depth; /* of the recursion */
} bsm_parser;

/* Expressions with commas between; `comma`: one behind the last. */
typedef struct bsm_expr_list {
  bsm_expr **items;
  size_t len, cap;
  bool comma;
} bsm_expr_list;

bsm_status bsm_parser_advance(bsm_parser *p);
bsm_status bsm_parser_expect(bsm_parser *p, int kind, const char *wanted);
bsm_status bsm_parser_unexpected(bsm_parser *p, const char *wanted);
bsm_status bsm_parser_name(bsm_parser *p, const char **out);
/* One level deeper, or BSM_LIMIT; the caller decrements p->depth. */
bsm_status bsm_parser_enter(bsm_parser *p);

bsm_status bsm_expr_new(bsm_parser *p, bsm_expr_kind kind, bsm_code_pos pos,
                        bsm_expr **out);
bsm_status bsm_parse_expr(bsm_parser *p, bsm_expr **out);
/* At least one expression, up to what is no ',' */
bsm_status bsm_parse_expr_list(bsm_parser *p, bsm_expr_list *out);

#endif /* BSM_TORCHSCRIPT_SCRIPT_PARSER_INTERNAL_H_ */
