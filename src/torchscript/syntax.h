/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree of a code file, in an arena. */
#ifndef BSM_TORCHSCRIPT_SYNTAX_H_
#define BSM_TORCHSCRIPT_SYNTAX_H_

#include "torchscript/code_file.h"

typedef struct bsm_expr bsm_expr;
typedef struct bsm_stmt bsm_stmt;
typedef struct bsm_def bsm_def;

typedef enum bsm_expr_kind {
  BSM_EXPR_NAME = 0,  /* `name` */
  BSM_EXPR_ATTR,      /* items[0] . name */
  BSM_EXPR_CALL,      /* items[0] ( items[1 ..], keywords ) */
  BSM_EXPR_SUBSCRIPT, /* items[0] [ items[1] ] */
  BSM_EXPR_SLICE,     /* items[0] [ items[1] : items[2] ], either may be NULL */
  BSM_EXPR_INT,
  BSM_EXPR_FLOAT,
  BSM_EXPR_COMPLEX,
  BSM_EXPR_STRING,
  BSM_EXPR_NONE,
  BSM_EXPR_BOOL, /* integer: 0 or 1 */
  BSM_EXPR_LIST,
  BSM_EXPR_TUPLE,
  BSM_EXPR_DICT, /* key, value, key, value, ... */
  BSM_EXPR_NEG   /* - items[0], for what is not a literal: -inf */
} bsm_expr_kind;

typedef struct bsm_keyword {
  const char *name;
  bsm_expr *value;
  bsm_code_pos pos;
} bsm_keyword;

struct bsm_expr {
  bsm_expr_kind kind;
  uint32_t depth; /* of this tree, bounded by the limit max_depth */
  bsm_code_pos pos;
  const char *name; /* interned; NAME, ATTR */
  int64_t integer;
  double re, im; /* FLOAT: re */
  bsm_str string;
  bsm_expr **items;
  size_t item_count;
  bsm_keyword *keywords; /* CALL */
  size_t keyword_count;
};

typedef enum bsm_stmt_kind {
  BSM_STMT_ASSIGN = 0, /* targets = values, or target : type = value */
  BSM_STMT_EXPR,
  BSM_STMT_IF,
  BSM_STMT_WHILE,
  BSM_STMT_FOR,  /* for targets[0] in range(test) */
  BSM_STMT_WITH, /* with test [as targets[0]] */
  BSM_STMT_RETURN,
  BSM_STMT_PASS,
  BSM_STMT_DEF
} bsm_stmt_kind;

typedef struct bsm_stmts {
  bsm_stmt **items;
  size_t count;
} bsm_stmts;

struct bsm_stmt {
  bsm_stmt_kind kind;
  bsm_code_pos pos;
  bsm_expr **targets; /* NAME or ATTR */
  size_t target_count;
  bool unpack;       /* ASSIGN: a comma behind the last target */
  bsm_expr *type;    /* ASSIGN: annotation, or NULL */
  bsm_expr **values; /* ASSIGN, EXPR, RETURN */
  size_t value_count;
  bool value_tuple; /* a comma behind the last value: `return x,` */
  bsm_expr *test;
  bsm_stmts body, other; /* IF, WHILE, FOR, WITH */
  bsm_def *def;
};

typedef struct bsm_param {
  const char *name;
  bsm_expr *type;  /* NULL: none */
  bsm_expr *value; /* default; NULL: none */
  bsm_code_pos pos;
} bsm_param;

struct bsm_def {
  const char *name;
  bsm_code_pos pos;
  bsm_param *params;
  size_t param_count;
  bsm_expr *result; /* return type, or NULL */
  bsm_stmts body;
};

/* `NAME : type`, `NAME : Final[type] = value`, `NAME = value`,
 * `__annotations__["0"] = type`. */
typedef struct bsm_field {
  const char *name;
  bsm_code_pos pos;
  bsm_expr *type;  /* NULL: none */
  bsm_expr *value; /* NULL: none */
} bsm_field;

typedef struct bsm_class_def {
  const char *name;
  const char *base; /* "Module", "NamedTuple", ...; NULL: none */
  bsm_code_pos pos;
  bsm_field *fields;
  size_t field_count;
  bsm_def **methods;
  size_t method_count;
} bsm_class_def;

typedef struct bsm_syntax {
  bsm_class_def **classes;
  size_t class_count;
  bsm_def **defs;
  size_t def_count;
} bsm_syntax;

#endif /* BSM_TORCHSCRIPT_SYNTAX_H_ */
