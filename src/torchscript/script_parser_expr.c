/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions. Chains of calls, attributes and subscripts are parsed by a
 * loop, but make a deep tree: the depth of every tree is bounded, so that
 * whoever walks it may recurse. */
#include <inttypes.h>

#include "torchscript/script_parser_internal.h"

bsm_status bsm_expr_new(bsm_parser *p, bsm_expr_kind kind, bsm_code_pos pos,
                        bsm_expr **out) {
  *out = BSM_NEW(p->arena, bsm_expr);
  BSM_TRY_ALLOC(*out);
  (*out)->kind = kind;
  (*out)->pos = pos;
  (*out)->depth = 1;
  return BSM_OK;
}

/* Gives `parent` its children and its depth. */
static bsm_status adopt(bsm_parser *p, bsm_expr *parent, bsm_expr **items,
                        size_t count) {
  parent->items = items;
  parent->item_count = count;
  for (size_t i = 0; i < count; i++) {
    if (items[i] && items[i]->depth >= parent->depth) {
      parent->depth = items[i]->depth + 1;
    }
  }
  for (size_t i = 0; i < parent->keyword_count; i++) {
    if (parent->keywords[i].value->depth >= parent->depth) {
      parent->depth = parent->keywords[i].value->depth + 1;
    }
  }
  if (parent->depth > p->limits->max_depth) {
    return bsm_code_error(
        p->lexer.file, parent->pos, BSM_LIMIT,
        "an expression nested deeper than the limit max_depth (%" PRIu64 ")",
        p->limits->max_depth);
  }
  return BSM_OK;
}

static bsm_status adopt_one(bsm_parser *p, bsm_expr *parent, bsm_expr *child) {
  bsm_expr **items = BSM_NEW_ARRAY(p->arena, bsm_expr *, 1);
  BSM_TRY_ALLOC(items);
  items[0] = child;
  return adopt(p, parent, items, 1);
}

static bool begins_expr(int kind) {
  switch (kind) {
    case BSM_TOKEN_NAME:
    case BSM_TOKEN_INT:
    case BSM_TOKEN_FLOAT:
    case BSM_TOKEN_COMPLEX:
    case BSM_TOKEN_STRING:
    case BSM_TOKEN_NONE:
    case BSM_TOKEN_TRUE:
    case BSM_TOKEN_FALSE:
    case '(':
    case '[':
    case '{':
    case '-':
      return true;
    default:
      return false;
  }
}

bsm_status bsm_parse_expr_list(bsm_parser *p, bsm_expr_list *out) {
  for (;;) {
    bsm_expr *item = NULL;
    BSM_TRY(bsm_parse_expr(p, &item));
    BSM_TRY_ALLOC(bsm_vec_push(p->arena, out, item));
    out->comma = p->token.kind == ',';
    if (!out->comma) return BSM_OK;
    BSM_TRY(bsm_parser_advance(p));
    if (!begins_expr(p->token.kind)) return BSM_OK;
  }
}

/* ---- literals ---- */

static bsm_status parse_int(bsm_parser *p, bool negative, bsm_expr *out) {
  const bsm_str digits = p->token.text;
  char *signed_text = bsm_arena_printf(p->arena, "%s%.*s", negative ? "-" : "",
                                       (int)digits.len, digits.data);
  BSM_TRY_ALLOC(signed_text);
  if (!bsm_parse_i64(bsm_str_of(signed_text), &out->integer)) {
    return bsm_code_error(p->lexer.file, out->pos, BSM_CORRUPT,
                          "an integer beyond 64 bits");
  }
  return bsm_parser_advance(p);
}

/* A number, with the sign in front of it folded in: -9223372036854775808 is
 * an integer. */
static bsm_status parse_number(bsm_parser *p, bsm_code_pos pos, bool negative,
                               bsm_expr **out) {
  const int kind = p->token.kind;
  const double number = negative ? -p->token.number : p->token.number;
  if (kind == BSM_TOKEN_INT) {
    BSM_TRY(bsm_expr_new(p, BSM_EXPR_INT, pos, out));
    return parse_int(p, negative, *out);
  }
  BSM_TRY(bsm_expr_new(
      p, kind == BSM_TOKEN_FLOAT ? BSM_EXPR_FLOAT : BSM_EXPR_COMPLEX, pos,
      out));
  if (kind == BSM_TOKEN_FLOAT) {
    (*out)->re = number;
  } else {
    (*out)->im = number;
  }
  return bsm_parser_advance(p);
}

/* Adjacent strings are one. */
static bsm_status parse_string(bsm_parser *p, bsm_expr **out) {
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_STRING, p->token.pos, out));
  (*out)->string = p->token.string;
  BSM_TRY(bsm_parser_advance(p));
  if (p->token.kind != BSM_TOKEN_STRING) return BSM_OK;
  bsm_text text;
  bsm_text_init(&text, p->arena);
  bsm_text_append(&text, (*out)->string);
  while (p->token.kind == BSM_TOKEN_STRING) {
    bsm_text_append(&text, p->token.string);
    if (text.failed) return BSM_FAIL_OOM();
    if (text.len > p->limits->max_string_bytes) {
      return bsm_code_error(
          p->lexer.file, (*out)->pos, BSM_LIMIT,
          "a string longer than the limit max_string_bytes (%" PRIu64 ")",
          p->limits->max_string_bytes);
    }
    BSM_TRY(bsm_parser_advance(p));
  }
  (*out)->string = (bsm_str){text.data, text.len};
  return BSM_OK;
}

/* The value of a real part: a literal, inf, nan, or one of these negated. */
static bool real_part(const bsm_expr *e, double *out) {
  if (e->kind == BSM_EXPR_NEG) {
    const bool is = real_part(e->items[0], out);
    *out = -*out;
    return is;
  }
  *out = e->kind == BSM_EXPR_INT ? (double)e->integer : e->re;
  if (e->kind == BSM_EXPR_INT || e->kind == BSM_EXPR_FLOAT) return true;
  if (e->kind != BSM_EXPR_NAME) return false;
  if (strcmp(e->name, "inf") == 0) return bsm_parse_double(BSM_STR("inf"), out);
  return strcmp(e->name, "nan") == 0 && bsm_parse_double(BSM_STR("nan"), out);
}

/* `1.+2.j`, the one infix form there is. */
static bsm_status parse_imaginary(bsm_parser *p, bsm_expr **left) {
  const bool negative = p->token.kind == '-';
  const bsm_code_pos sign = p->token.pos;
  bsm_expr *out = NULL;
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_COMPLEX, (*left)->pos, &out));
  BSM_TRY(bsm_parser_advance(p));
  const bool is_infj = p->token.kind == BSM_TOKEN_NAME &&
                       bsm_str_eq(p->token.text, BSM_STR("infj"));
  const bool is_nanj = p->token.kind == BSM_TOKEN_NAME &&
                       bsm_str_eq(p->token.text, BSM_STR("nanj"));
  if (!real_part(*left, &out->re) ||
      !(p->token.kind == BSM_TOKEN_COMPLEX || is_infj || is_nanj)) {
    return bsm_code_error(p->lexer.file, sign, BSM_UNSUPPORTED,
                          "infix operators are no part of serialized "
                          "TorchScript");
  }
  out->im = p->token.number;
  if (is_infj) (void)bsm_parse_double(BSM_STR("inf"), &out->im);
  if (is_nanj) (void)bsm_parse_double(BSM_STR("nan"), &out->im);
  if (negative) out->im = -out->im;
  *left = out;
  return bsm_parser_advance(p);
}

/* ---- primaries ---- */

/* Up to `close`, which is consumed. */
static bsm_status parse_items(bsm_parser *p, int close, const char *wanted,
                              bsm_expr_list *out) {
  if (p->token.kind != close) BSM_TRY(bsm_parse_expr_list(p, out));
  return bsm_parser_expect(p, close, wanted);
}

static bsm_status parse_parentheses(bsm_parser *p, bsm_expr **out) {
  const bsm_code_pos pos = p->token.pos;
  bsm_expr_list items = {0};
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(parse_items(p, ')', "')'", &items));
  if (items.len == 1 && !items.comma) {
    *out = items.items[0];
    return BSM_OK;
  }
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_TUPLE, pos, out));
  return adopt(p, *out, items.items, items.len);
}

static bsm_status parse_list(bsm_parser *p, bsm_expr **out) {
  bsm_expr_list items = {0};
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_LIST, p->token.pos, out));
  BSM_TRY(bsm_parser_advance(p));
  BSM_TRY(parse_items(p, ']', "']'", &items));
  return adopt(p, *out, items.items, items.len);
}

static bsm_status parse_dict(bsm_parser *p, bsm_expr **out) {
  bsm_expr_list items = {0};
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_DICT, p->token.pos, out));
  BSM_TRY(bsm_parser_advance(p));
  while (p->token.kind != '}') {
    bsm_expr *key = NULL, *value = NULL;
    BSM_TRY(bsm_parse_expr(p, &key));
    BSM_TRY(bsm_parser_expect(p, ':', "':'"));
    BSM_TRY(bsm_parse_expr(p, &value));
    BSM_TRY_ALLOC(bsm_vec_push(p->arena, &items, key));
    BSM_TRY_ALLOC(bsm_vec_push(p->arena, &items, value));
    if (p->token.kind != ',') break;
    BSM_TRY(bsm_parser_advance(p));
  }
  BSM_TRY(bsm_parser_expect(p, '}', "'}'"));
  return adopt(p, *out, items.items, items.len);
}

static bsm_status parse_primary(bsm_parser *p, bsm_expr **out) {
  const bsm_code_pos pos = p->token.pos;
  switch (p->token.kind) {
    case BSM_TOKEN_NAME:
      BSM_TRY(bsm_expr_new(p, BSM_EXPR_NAME, pos, out));
      return bsm_parser_name(p, &(*out)->name);
    case BSM_TOKEN_INT:
    case BSM_TOKEN_FLOAT:
    case BSM_TOKEN_COMPLEX:
      return parse_number(p, pos, false, out);
    case BSM_TOKEN_STRING:
      return parse_string(p, out);
    case BSM_TOKEN_NONE:
      BSM_TRY(bsm_expr_new(p, BSM_EXPR_NONE, pos, out));
      return bsm_parser_advance(p);
    case BSM_TOKEN_TRUE:
    case BSM_TOKEN_FALSE:
      BSM_TRY(bsm_expr_new(p, BSM_EXPR_BOOL, pos, out));
      (*out)->integer = p->token.kind == BSM_TOKEN_TRUE;
      return bsm_parser_advance(p);
    case '(':
      return parse_parentheses(p, out);
    case '[':
      return parse_list(p, out);
    case '{':
      return parse_dict(p, out);
    default:
      return bsm_parser_unexpected(p, "an expression");
  }
}

/* ---- postfix ---- */

static bsm_status parse_attr(bsm_parser *p, bsm_expr **e) {
  bsm_expr *attr = NULL;
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_ATTR, p->token.pos, &attr));
  BSM_TRY(bsm_parser_advance(p));
  attr->pos = p->token.pos;
  /* `ops.prim.is`, a field called `in`: keywords are names behind a dot. */
  if (p->token.kind < BSM_TOKEN_DEF) {
    BSM_TRY(bsm_parser_name(p, &attr->name));
  } else {
    attr->name = bsm_intern(p->names, p->token.text);
    BSM_TRY_ALLOC(attr->name);
    BSM_TRY(bsm_parser_advance(p));
  }
  BSM_TRY(adopt_one(p, attr, *e));
  *e = attr;
  return BSM_OK;
}

/* f(a, b, name=c, ): keywords behind the positional ones. */
static bsm_status parse_call(bsm_parser *p, bsm_expr **e) {
  bsm_expr_list items = {0};
  BSM_VEC(bsm_keyword) keywords = {0};
  bsm_expr *call = NULL;
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_CALL, (*e)->pos, &call));
  BSM_TRY_ALLOC(bsm_vec_push(p->arena, &items, *e));
  BSM_TRY(bsm_parser_advance(p));
  while (p->token.kind != ')') {
    bsm_expr *arg = NULL;
    BSM_TRY(bsm_parse_expr(p, &arg));
    if (p->token.kind == '=' && arg->kind == BSM_EXPR_NAME) {
      bsm_keyword keyword = {.name = arg->name, .pos = arg->pos};
      BSM_TRY(bsm_parser_advance(p));
      BSM_TRY(bsm_parse_expr(p, &keyword.value));
      BSM_TRY_ALLOC(bsm_vec_push(p->arena, &keywords, keyword));
    } else if (keywords.len > 0) {
      return bsm_code_error(p->lexer.file, arg->pos, BSM_CORRUPT,
                            "a positional argument behind keywords");
    } else {
      BSM_TRY_ALLOC(bsm_vec_push(p->arena, &items, arg));
    }
    if (p->token.kind != ',') break;
    BSM_TRY(bsm_parser_advance(p));
  }
  BSM_TRY(bsm_parser_expect(p, ')', "')'"));
  call->keywords = keywords.items;
  call->keyword_count = keywords.len;
  *e = call;
  return adopt(p, call, items.items, items.len);
}

/* x[i], x[a, b] (a type's arguments), x[from:to]. */
static bsm_status parse_subscript(bsm_parser *p, bsm_expr **e) {
  bsm_expr **items = BSM_NEW_ARRAY(p->arena, bsm_expr *, 3);
  bsm_expr_list inside = {0};
  bsm_expr *out = NULL;
  BSM_TRY_ALLOC(items);
  const bsm_code_pos pos = p->token.pos;
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_SUBSCRIPT, (*e)->pos, &out));
  BSM_TRY(bsm_parser_advance(p));
  items[0] = *e;
  *e = out;
  if (p->token.kind != ':') BSM_TRY(bsm_parse_expr_list(p, &inside));
  if (p->token.kind == ':' && inside.len <= 1 && !inside.comma) {
    out->kind = BSM_EXPR_SLICE;
    if (inside.len == 1) items[1] = inside.items[0];
    BSM_TRY(bsm_parser_advance(p));
    if (p->token.kind != ']') BSM_TRY(bsm_parse_expr(p, &items[2]));
    BSM_TRY(bsm_parser_expect(p, ']', "']'"));
    return adopt(p, out, items, 3);
  }
  BSM_TRY(bsm_parser_expect(p, ']', "']'"));
  items[1] = inside.items[0];
  if (inside.len > 1 || inside.comma) {
    BSM_TRY(bsm_expr_new(p, BSM_EXPR_TUPLE, pos, &items[1]));
    BSM_TRY(adopt(p, items[1], inside.items, inside.len));
  }
  return adopt(p, out, items, 2);
}

static bsm_status parse_postfix(bsm_parser *p, bsm_expr **out) {
  BSM_TRY(parse_primary(p, out));
  for (;;) {
    switch (p->token.kind) {
      case '.':
        BSM_TRY(parse_attr(p, out));
        break;
      case '(':
        BSM_TRY(parse_call(p, out));
        break;
      case '[':
        BSM_TRY(parse_subscript(p, out));
        break;
      default:
        return BSM_OK;
    }
  }
}

static bool is_number(int kind) {
  return kind == BSM_TOKEN_INT || kind == BSM_TOKEN_FLOAT ||
         kind == BSM_TOKEN_COMPLEX;
}

static bsm_status parse_unary(bsm_parser *p, bsm_expr **out) {
  if (p->token.kind != '-') return parse_postfix(p, out);
  const bsm_code_pos pos = p->token.pos;
  BSM_TRY(bsm_parser_advance(p));
  if (is_number(p->token.kind)) return parse_number(p, pos, true, out);
  bsm_expr *operand = NULL;
  BSM_TRY(bsm_parser_enter(p));
  BSM_TRY(parse_unary(p, &operand));
  p->depth--;
  BSM_TRY(bsm_expr_new(p, BSM_EXPR_NEG, pos, out));
  return adopt_one(p, *out, operand);
}

bsm_status bsm_parse_expr(bsm_parser *p, bsm_expr **out) {
  char buffer[64];
  BSM_TRY(bsm_parser_enter(p));
  BSM_TRY(parse_unary(p, out));
  if (p->token.kind == '+' || p->token.kind == '-') {
    BSM_TRY(parse_imaginary(p, out));
  }
  p->depth--;
  if (p->token.kind < 256 && p->token.kind != BSM_TOKEN_END &&
      strchr("+-*/%<>!&|^~@;", p->token.kind)) {
    return bsm_code_error(
        p->lexer.file, p->token.pos, BSM_UNSUPPORTED,
        "the operator %s is no part of serialized TorchScript",
        bsm_token_describe(&p->token, buffer));
  }
  return BSM_OK;
}
