/* SPDX-License-Identifier: Apache-2.0 */
/* Statements, functions and classes; expressions are in script_parser_expr.c.
 */
#include "torchscript/script_parser.h"

#include "torchscript/script_parser_internal.h"

bsm_status bsm_parser_advance(bsm_parser *p) {
  return bsm_lexer_next(&p->lexer, &p->token);
}

bsm_status bsm_parser_unexpected(bsm_parser *p, const char *wanted) {
  char buffer[64];
  if (p->token.kind == BSM_TOKEN_OTHER_KEYWORD) {
    return bsm_code_error(p->lexer.file, p->token.pos, BSM_UNSUPPORTED,
                          "%s is no part of serialized TorchScript",
                          bsm_token_describe(&p->token, buffer));
  }
  return bsm_code_error(p->lexer.file, p->token.pos, BSM_CORRUPT,
                        "expected %s, found %s", wanted,
                        bsm_token_describe(&p->token, buffer));
}

bsm_status bsm_parser_expect(bsm_parser *p, int kind, const char *wanted) {
  if (p->token.kind != kind) return bsm_parser_unexpected(p, wanted);
  return bsm_parser_advance(p);
}

bsm_status bsm_parser_name(bsm_parser *p, const char **out) {
  if (p->token.kind != BSM_TOKEN_NAME) {
    return bsm_parser_unexpected(p, "a name");
  }
  *out = bsm_intern(p->names, p->token.text);
  BSM_TRY_ALLOC(*out);
  return bsm_parser_advance(p);
}

bsm_status bsm_parser_enter(bsm_parser *p) {
  if (p->depth >= p->limits->max_depth) {
    return bsm_code_error(p->lexer.file, p->token.pos, BSM_LIMIT,
                          "nested deeper than the limit max_depth (%llu)",
                          (unsigned long long)p->limits->max_depth);
  }
  p->depth++;
  return BSM_OK;
}

/* A file may end without a newline. */
static bsm_status end_of_line(bsm_parser *p) {
  if (p->token.kind == BSM_TOKEN_END) return BSM_OK;
  return bsm_parser_expect(p, BSM_TOKEN_NEWLINE, "the end of the line");
}

static bsm_status parse_block(bsm_parser *p, bsm_stmts *out);
static bsm_status parse_def(bsm_parser *p, bsm_def **out);

/* ---- statements ---- */

static bsm_status check_target(bsm_parser *p, const bsm_expr *target) {
  if (target->kind == BSM_EXPR_NAME || target->kind == BSM_EXPR_ATTR) {
    return BSM_OK;
  }
  return bsm_code_error(p->lexer.file, target->pos, BSM_CORRUPT,
                        "only a name or an attribute can be assigned to");
}

/* What follows the first expressions of a line: an assignment, or nothing. */
static bsm_status parse_assignment(bsm_parser *p, bsm_expr_list *first,
                                   bsm_stmt *stmt) {
  if (p->token.kind != '=' && p->token.kind != ':') {
    stmt->kind = BSM_STMT_EXPR;
    stmt->values = first->items;
    stmt->value_count = first->len;
    stmt->value_tuple = first->comma;
    return BSM_OK;
  }
  stmt->kind = BSM_STMT_ASSIGN;
  stmt->targets = first->items;
  stmt->target_count = first->len;
  stmt->unpack = first->comma;
  for (size_t i = 0; i < first->len; i++) {
    BSM_TRY(check_target(p, first->items[i]));
  }
  if (p->token.kind == ':') {
    if (first->len != 1 || first->comma) {
      return bsm_parser_unexpected(p, "'='");
    }
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parse_expr(p, &stmt->type));
  }
  BSM_TRY(bsm_parser_expect(p, '=', "'='"));
  bsm_expr_list values = {0};
  BSM_TRY(bsm_parse_expr_list(p, &values));
  stmt->values = values.items;
  stmt->value_count = values.len;
  stmt->value_tuple = values.comma;
  return BSM_OK;
}

static bsm_status parse_if(bsm_parser *p, bsm_stmt *stmt) {
  stmt->kind = BSM_STMT_IF;
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(bsm_parse_expr(p, &stmt->test));
  BSM_TRY(parse_block(p, &stmt->body));
  if (p->token.kind != BSM_TOKEN_ELSE) return BSM_OK;
  BSM_TRY(bsm_parser_advance(p));
  return parse_block(p, &stmt->other);
}

static bsm_status parse_while(bsm_parser *p, bsm_stmt *stmt) {
  stmt->kind = BSM_STMT_WHILE;
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(bsm_parse_expr(p, &stmt->test));
  return parse_block(p, &stmt->body);
}

static bsm_status new_target(bsm_parser *p, bsm_stmt *stmt) {
  stmt->targets = BSM_NEW_ARRAY(p->arena, bsm_expr *, 1);
  BSM_TRY_ALLOC(stmt->targets);
  stmt->target_count = 1;
  return bsm_expr_new(p, BSM_EXPR_NAME, p->token.pos, &stmt->targets[0]);
}

/* for NAME in range(expr): with the one argument that serialized code has. */
static bsm_status parse_for(bsm_parser *p, bsm_stmt *stmt) {
  stmt->kind = BSM_STMT_FOR;
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(new_target(p, stmt));
  BSM_TRY(bsm_parser_name(p, &stmt->targets[0]->name));
  BSM_TRY(bsm_parser_expect(p, BSM_TOKEN_IN, "'in'"));
  if (p->token.kind != BSM_TOKEN_NAME ||
      !bsm_str_eq(p->token.text, BSM_STR("range"))) {
    return bsm_parser_unexpected(p, "range(...)");
  }
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(bsm_parser_expect(p, '(', "'('"));
  BSM_TRY(bsm_parse_expr(p, &stmt->test));
  if (p->token.kind == ',') BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(bsm_parser_expect(p, ')', "')' after the one argument of range"));
  return parse_block(p, &stmt->body);
}

static bsm_status parse_with(bsm_parser *p, bsm_stmt *stmt) {
  stmt->kind = BSM_STMT_WITH;
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(bsm_parse_expr(p, &stmt->test));
  if (p->token.kind == BSM_TOKEN_AS) {
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(new_target(p, stmt));
    BSM_TRY(bsm_parser_name(p, &stmt->targets[0]->name));
  }
  return parse_block(p, &stmt->body);
}

static bsm_status parse_return(bsm_parser *p, bsm_stmt *stmt) {
  stmt->kind = BSM_STMT_RETURN;
  BSM_TRY(bsm_parser_advance(p));
  if (p->token.kind != BSM_TOKEN_NEWLINE && p->token.kind != BSM_TOKEN_END) {
    bsm_expr_list values = {0};
    BSM_TRY(bsm_parse_expr_list(p, &values));
    stmt->values = values.items;
    stmt->value_count = values.len;
    stmt->value_tuple = values.comma;
  }
  return end_of_line(p);
}

static bsm_status parse_stmt(bsm_parser *p, bsm_stmt **out) {
  bsm_stmt *stmt = BSM_NEW(p->arena, bsm_stmt);
  BSM_TRY_ALLOC(stmt);
  stmt->pos = p->token.pos;
  *out = stmt;
  switch (p->token.kind) {
    case BSM_TOKEN_IF:
      return parse_if(p, stmt);
    case BSM_TOKEN_WHILE:
      return parse_while(p, stmt);
    case BSM_TOKEN_FOR:
      return parse_for(p, stmt);
    case BSM_TOKEN_WITH:
      return parse_with(p, stmt);
    case BSM_TOKEN_RETURN:
      return parse_return(p, stmt);
    case BSM_TOKEN_DEF:
      stmt->kind = BSM_STMT_DEF;
      return parse_def(p, &stmt->def);
    case BSM_TOKEN_PASS:
      stmt->kind = BSM_STMT_PASS;
      BSM_TRY(bsm_parser_advance(p));
      return end_of_line(p);
    default:
      break;
  }
  bsm_expr_list first = {0};
  BSM_TRY(bsm_parse_expr_list(p, &first));
  BSM_TRY(parse_assignment(p, &first, stmt));
  return end_of_line(p);
}

static bsm_status parse_block(bsm_parser *p, bsm_stmts *out) {
  BSM_VEC(bsm_stmt *) stmts = {0};
  BSM_TRY(bsm_parser_enter(p));
  BSM_TRY(bsm_parser_expect(p, ':', "':'"));
  BSM_TRY(bsm_parser_expect(p, BSM_TOKEN_NEWLINE, "the end of the line"));
  BSM_TRY(bsm_parser_expect(p, BSM_TOKEN_INDENT, "an indented block"));
  while (p->token.kind != BSM_TOKEN_DEDENT) {
    bsm_stmt *stmt = NULL;
    BSM_TRY(parse_stmt(p, &stmt));
    BSM_TRY_ALLOC(bsm_vec_push(p->arena, &stmts, stmt));
  }
  BSM_TRY(bsm_parser_advance(p));
  p->depth--;
  *out = (bsm_stmts){stmts.items, stmts.len};
  return BSM_OK;
}

/* ---- functions ---- */

static bsm_status parse_param(bsm_parser *p, bsm_param *out) {
  *out = (bsm_param){.pos = p->token.pos};
  BSM_TRY(bsm_parser_name(p, &out->name));
  if (p->token.kind == ':') {
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parse_expr(p, &out->type));
  }
  if (p->token.kind == '=') {
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parse_expr(p, &out->value));
  }
  return BSM_OK;
}

static bsm_status parse_def(bsm_parser *p, bsm_def **out) {
  BSM_VEC(bsm_param) params = {0};
  bsm_def *def = BSM_NEW(p->arena, bsm_def);
  BSM_TRY_ALLOC(def);
  BSM_TRY(bsm_parser_advance(p));
  def->pos = p->token.pos;
  BSM_TRY(bsm_parser_name(p, &def->name));
  BSM_TRY(bsm_parser_expect(p, '(', "'('"));
  while (p->token.kind != ')') {
    bsm_param param;
    BSM_TRY(parse_param(p, &param));
    BSM_TRY_ALLOC(bsm_vec_push(p->arena, &params, param));
    if (p->token.kind != ',') break;
    BSM_TRY(bsm_parser_advance(p));
  }
  BSM_TRY(bsm_parser_expect(p, ')', "')'"));
  if (p->token.kind == BSM_TOKEN_ARROW) {
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parse_expr(p, &def->result));
  }
  BSM_TRY(parse_block(p, &def->body));
  def->params = params.items;
  def->param_count = params.len;
  *out = def;
  return BSM_OK;
}

/* ---- classes ---- */

static bool is_text(const char *name, const char *text) {
  return strcmp(name, text) == 0;
}

/* The rest of `__annotations__ = []` or `__annotations__["0"] = type`: the
 * second declares an attribute whose name is not an identifier. */
static bsm_status parse_annotations(bsm_parser *p, bsm_field *out, bool *has) {
  *has = p->token.kind == '[';
  if (*has) {
    BSM_TRY(bsm_parser_advance(p));
    if (p->token.kind != BSM_TOKEN_STRING) {
      return bsm_parser_unexpected(p, "the name of an attribute");
    }
    out->name = bsm_intern(p->names, p->token.string);
    BSM_TRY_ALLOC(out->name);
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parser_expect(p, ']', "']'"));
  }
  BSM_TRY(bsm_parser_expect(p, '=', "'='"));
  return bsm_parse_expr(p, &out->type);
}

static bsm_status parse_field(bsm_parser *p, bsm_field *out, bool *has) {
  *out = (bsm_field){.pos = p->token.pos};
  *has = true;
  BSM_TRY(bsm_parser_name(p, &out->name));
  if (is_text(out->name, "__annotations__")) {
    BSM_TRY(parse_annotations(p, out, has));
    return end_of_line(p);
  }
  if (p->token.kind == ':') {
    BSM_TRY(bsm_parser_advance(p));
    BSM_TRY(bsm_parse_expr(p, &out->type));
    if (p->token.kind == '=') {
      BSM_TRY(bsm_parser_advance(p));
      BSM_TRY(bsm_parse_expr(p, &out->value));
    }
    return end_of_line(p);
  }
  BSM_TRY(bsm_parser_expect(p, '=', "':' or '='"));
  BSM_TRY(bsm_parse_expr(p, &out->value));
  return end_of_line(p);
}

static bsm_status parse_members(bsm_parser *p, bsm_class_def *cls) {
  BSM_VEC(bsm_field) fields = {0};
  BSM_VEC(bsm_def *) methods = {0};
  while (p->token.kind != BSM_TOKEN_DEDENT) {
    if (p->token.kind == BSM_TOKEN_DEF) {
      bsm_def *def = NULL;
      BSM_TRY(parse_def(p, &def));
      BSM_TRY_ALLOC(bsm_vec_push(p->arena, &methods, def));
    } else if (p->token.kind == BSM_TOKEN_PASS) {
      BSM_TRY(bsm_parser_advance(p));
      BSM_TRY(end_of_line(p));
    } else {
      bsm_field field;
      bool has;
      BSM_TRY(parse_field(p, &field, &has));
      if (has) BSM_TRY_ALLOC(bsm_vec_push(p->arena, &fields, field));
    }
  }
  cls->fields = fields.items;
  cls->field_count = fields.len;
  cls->methods = methods.items;
  cls->method_count = methods.len;
  return bsm_parser_advance(p);
}

static bsm_status parse_class(bsm_parser *p, bsm_class_def **out) {
  bsm_class_def *cls = BSM_NEW(p->arena, bsm_class_def);
  BSM_TRY_ALLOC(cls);
  BSM_TRY(bsm_parser_advance(p));
  cls->pos = p->token.pos;
  BSM_TRY(bsm_parser_name(p, &cls->name));
  if (p->token.kind == '(') {
    BSM_TRY(bsm_parser_advance(p));
    if (p->token.kind != ')') BSM_TRY(bsm_parser_name(p, &cls->base));
    BSM_TRY(bsm_parser_expect(p, ')', "')'"));
  }
  BSM_TRY(bsm_parser_expect(p, ':', "':'"));
  BSM_TRY(bsm_parser_expect(p, BSM_TOKEN_NEWLINE, "the end of the line"));
  *out = cls;
  /* A class without members is written without a body (torch 1.4). */
  if (p->token.kind != BSM_TOKEN_INDENT) return BSM_OK;
  BSM_TRY(bsm_parser_advance(p));
  return parse_members(p, cls);
}

/* ---- files ---- */

/* `op_version_set = 1` and `import __torch__.a` of old files say nothing that
 * the archive does not say elsewhere. */
static bsm_status skip_line(bsm_parser *p) {
  while (p->token.kind != BSM_TOKEN_NEWLINE && p->token.kind != BSM_TOKEN_END) {
    BSM_TRY(bsm_parser_advance(p));
  }
  return end_of_line(p);
}

static bsm_status parser_init(bsm_parser *p, bsm_arena *arena,
                              bsm_interner *names, const bsm_limits *limits,
                              const bsm_code_file *file) {
  *p = (bsm_parser){.arena = arena, .names = names, .limits = limits};
  BSM_TRY(bsm_lexer_init(&p->lexer, arena, file, limits));
  return bsm_parser_advance(p);
}

bsm_status bsm_parse_file(bsm_arena *arena, bsm_interner *names,
                          const bsm_limits *limits, const bsm_code_file *file,
                          bsm_syntax *out) {
  bsm_parser p;
  BSM_VEC(bsm_class_def *) classes = {0};
  BSM_VEC(bsm_def *) defs = {0};
  BSM_TRY(parser_init(&p, arena, names, limits, file));
  while (p.token.kind != BSM_TOKEN_END) {
    if (p.token.kind == BSM_TOKEN_CLASS) {
      bsm_class_def *cls = NULL;
      BSM_TRY(parse_class(&p, &cls));
      BSM_TRY_ALLOC(bsm_vec_push(arena, &classes, cls));
    } else if (p.token.kind == BSM_TOKEN_DEF) {
      bsm_def *def = NULL;
      BSM_TRY(parse_def(&p, &def));
      BSM_TRY_ALLOC(bsm_vec_push(arena, &defs, def));
    } else if (p.token.kind == BSM_TOKEN_IMPORT ||
               (p.token.kind == BSM_TOKEN_NAME &&
                bsm_str_eq(p.token.text, BSM_STR("op_version_set")))) {
      BSM_TRY(skip_line(&p));
    } else {
      return bsm_parser_unexpected(&p, "a class or a function");
    }
  }
  *out = (bsm_syntax){classes.items, classes.len, defs.items, defs.len};
  return BSM_OK;
}

bsm_status bsm_parse_expression(bsm_arena *arena, bsm_interner *names,
                                const bsm_limits *limits,
                                const bsm_code_file *file, bsm_expr **out) {
  bsm_parser p;
  BSM_TRY(parser_init(&p, arena, names, limits, file));
  BSM_TRY(bsm_parse_expr(&p, out));
  if (p.token.kind == BSM_TOKEN_NEWLINE) BSM_TRY(bsm_parser_advance(&p));
  if (p.token.kind == BSM_TOKEN_END) return BSM_OK;
  return bsm_parser_unexpected(&p, "the end of the text");
}
