/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of function schemas:
 *
 *   schema   := name ['.' overload] '(' args ')' '->' returns
 *   args     := [arg {',' arg}]     arg := '*' | '...' | type name ['='
 * default] returns  := '...' | ret | '(' [ret {',' ret}] ')'    ret := type
 * [name]
 *
 * Defaults are read as values of the argument's type: `0` for int[2] is
 * [0, 0], `1` for float is 1.0. */
#include "ir/schema.h"

#include "ir/cursor.h"

typedef BSM_VEC(bsm_schema_arg) arg_vec;

typedef struct schema_reader {
  bsm_cursor c;
  bsm_type_table *types;
  bsm_arena *arena;
} schema_reader;

/* ---- defaults ---- */

/* Words that stand for integers in defaults of some versions of PyTorch. */
static const struct int_word {
  const char *word;
  int64_t value;
} int_words[] = {
    {"contiguous_format", 0},
    {"preserve_format", 1},
    {"channels_last", 2},
    {"channels_last_3d", 3},
    {"strided", 0},
    {"Mean", 1},
    {"Sum", 2},
    {"long", 4},
    {"float", 6},
    {"double", 7},
    {"bool", 11},
};

static bsm_status read_value(schema_reader *r, const bsm_type *type,
                             bsm_ivalue *out);

/* A word: None, True, False, inf, nan, or a name of an integer. */
static bsm_status read_word(schema_reader *r, bsm_ivalue *out) {
  bsm_cursor *c = &r->c;
  size_t start = c->pos;
  bsm_str word = bsm_cursor_name(c, false);
  if (bsm_str_eq(word, BSM_STR("None"))) {
    *out = bsm_iv_none();
    return BSM_OK;
  }
  if (bsm_str_eq(word, BSM_STR("True")) || bsm_str_eq(word, BSM_STR("False"))) {
    *out = bsm_iv_bool(word.len == 4);
    return BSM_OK;
  }
  for (size_t i = 0; i < sizeof int_words / sizeof int_words[0]; i++) {
    if (bsm_str_eq(word, bsm_str_of(int_words[i].word))) {
      *out = bsm_iv_int(int_words[i].value);
      return BSM_OK;
    }
  }
  c->pos = start;
  return bsm_cursor_number(c, out);
}

/* "[a, b]" of elements of `elem`. */
static bsm_status read_list(schema_reader *r, const bsm_type *elem,
                            bsm_ivalue *out) {
  bsm_list *list;
  BSM_TRY(bsm_cursor_enter(&r->c));
  BSM_TRY(bsm_list_new(r->arena, elem, 0, &list));
  BSM_TRY(bsm_cursor_expect(&r->c, "["));
  if (!bsm_cursor_accept(&r->c, "]")) {
    do {
      bsm_ivalue item;
      BSM_TRY(read_value(r, elem, &item));
      BSM_TRY(bsm_list_append(list, item));
    } while (bsm_cursor_accept(&r->c, ","));
    BSM_TRY(bsm_cursor_expect(&r->c, "]"));
  }
  bsm_cursor_leave(&r->c);
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* One value for int[N]: a list of N of it. */
static bsm_status repeat_value(schema_reader *r, const bsm_type *type,
                               bsm_ivalue *out) {
  bsm_ivalue item;
  bsm_list *list;
  BSM_TRY(read_value(r, type->args[0], &item));
  if (item.tag == BSM_IVALUE_NONE) {
    *out = item;
    return BSM_OK;
  }
  if (type->size <= 0) {
    return bsm_cursor_fail(&r->c, BSM_CORRUPT,
                           "one value as the default of a list");
  }
  BSM_TRY(bsm_list_new(r->arena, type->args[0], 0, &list));
  for (int64_t i = 0; i < type->size; i++) BSM_TRY(bsm_list_append(list, item));
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* Whether a value read for a type of this kind is one, after conversion. */
static bool fits(bsm_type_kind kind, bsm_ivalue *value) {
  switch (kind) {
    case BSM_TYPE_FLOAT:
      if (value->tag == BSM_IVALUE_INT) {
        *value = bsm_iv_double((double)value->u.i);
      }
      return value->tag == BSM_IVALUE_DOUBLE;
    case BSM_TYPE_INT:
      return value->tag == BSM_IVALUE_INT;
    case BSM_TYPE_BOOL:
      if (value->tag == BSM_IVALUE_INT) {
        *value = bsm_iv_bool(value->u.i != 0);
      }
      return value->tag == BSM_IVALUE_BOOL;
    case BSM_TYPE_STRING:
    case BSM_TYPE_DEVICE:
      return value->tag == BSM_IVALUE_STRING;
    case BSM_TYPE_NUMBER:
    case BSM_TYPE_COMPLEX:
      return value->tag == BSM_IVALUE_INT || value->tag == BSM_IVALUE_DOUBLE ||
             value->tag == BSM_IVALUE_BOOL;
    case BSM_TYPE_ANY:
    case BSM_TYPE_VAR:
      return true;
    default:
      return false;
  }
}

static bsm_status read_value(schema_reader *r, const bsm_type *type,
                             bsm_ivalue *out) {
  char ch = bsm_cursor_peek(&r->c);
  bool optional = type->kind == BSM_TYPE_OPTIONAL;
  if (optional) type = type->args[0];
  if (type->kind == BSM_TYPE_LIST) {
    if (ch == '[') return read_list(r, type->args[0], out);
    size_t start = r->c.pos;
    if (bsm_cursor_word(&r->c, "None")) {
      *out = bsm_iv_none();
      return BSM_OK;
    }
    r->c.pos = start;
    return repeat_value(r, type, out);
  }
  size_t start = r->c.pos;
  if (ch == '"' || ch == '\'') {
    bsm_str text;
    BSM_TRY(bsm_cursor_string(&r->c, &text));
    BSM_TRY(bsm_iv_string(r->arena, text, out));
  } else {
    BSM_TRY(read_word(r, out));
  }
  /* Old schemas give None to a Tensor that is not marked optional. */
  if (out->tag == BSM_IVALUE_NONE || fits(type->kind, out)) return BSM_OK;
  r->c.pos = start;
  return bsm_cursor_fail(&r->c, BSM_CORRUPT, "default of another type than %s",
                         bsm_type_str(r->arena, type));
}

/* ---- arguments and returns ---- */

static bsm_status copy_str(schema_reader *r, bsm_str text, const char **out) {
  *out = bsm_arena_strndup(r->arena, text.data, text.len);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status read_type(schema_reader *r, bsm_schema_arg *arg) {
  bsm_alias_text alias = {0};
  BSM_TRY(bsm_cursor_schema_type(&r->c, r->types, &alias, &arg->type));
  arg->has_alias = alias.any;
  arg->is_write = alias.write;
  return alias.any ? copy_str(r, alias.text, &arg->alias) : BSM_OK;
}

static bsm_status read_arg(schema_reader *r, bsm_schema_arg *arg) {
  BSM_TRY(read_type(r, arg));
  bsm_str name = bsm_cursor_name(&r->c, false);
  if (!name.len) {
    return bsm_cursor_fail(&r->c, BSM_CORRUPT, "expected an argument's name");
  }
  BSM_TRY(copy_str(r, name, &arg->name));
  if (bsm_cursor_accept(&r->c, "[")) { /* "int stride[2]=1" of old versions */
    int64_t size;
    BSM_TRY(bsm_cursor_int(&r->c, &size));
    BSM_TRY(bsm_cursor_expect(&r->c, "]"));
    arg->type = bsm_type_sized_list(r->types, arg->type, size);
    BSM_TRY_ALLOC(arg->type);
  }
  if (bsm_cursor_accept(&r->c, "=")) {
    arg->has_default = true;
    return read_value(r, arg->type, &arg->default_value);
  }
  return BSM_OK;
}

static bsm_status read_args(schema_reader *r, bsm_schema *schema) {
  arg_vec args = {0};
  bool kwarg_only = false;
  BSM_TRY(bsm_cursor_expect(&r->c, "("));
  if (!bsm_cursor_accept(&r->c, ")")) {
    do {
      if (schema->is_vararg) {
        return bsm_cursor_fail(&r->c, BSM_CORRUPT, "argument after '...'");
      }
      if (bsm_cursor_accept(&r->c, "...")) {
        schema->is_vararg = true;
        continue;
      }
      if (bsm_cursor_accept(&r->c, "*")) {
        kwarg_only = true;
        continue;
      }
      bsm_schema_arg arg = {.name = "", .kwarg_only = kwarg_only};
      BSM_TRY(read_arg(r, &arg));
      if (!bsm_vec_push(r->arena, &args, arg)) return BSM_FAIL_OOM();
    } while (bsm_cursor_accept(&r->c, ","));
    BSM_TRY(bsm_cursor_expect(&r->c, ")"));
  }
  schema->args = args.items;
  schema->arg_count = args.len;
  return BSM_OK;
}

static bsm_status read_return(schema_reader *r, bsm_schema *schema,
                              arg_vec *returns) {
  if (bsm_cursor_accept(&r->c, "...")) {
    schema->is_varret = true;
    return BSM_OK;
  }
  bsm_schema_arg ret = {.name = ""};
  BSM_TRY(read_type(r, &ret));
  bsm_str name = bsm_cursor_name(&r->c, false);
  if (name.len) BSM_TRY(copy_str(r, name, &ret.name));
  return bsm_vec_push(r->arena, returns, ret) ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status read_returns(schema_reader *r, bsm_schema *schema) {
  arg_vec returns = {0};
  BSM_TRY(bsm_cursor_expect(&r->c, "->"));
  if (!bsm_cursor_accept(&r->c, "(")) {
    BSM_TRY(read_return(r, schema, &returns));
  } else if (!bsm_cursor_accept(&r->c, ")")) {
    do {
      BSM_TRY(read_return(r, schema, &returns));
    } while (bsm_cursor_accept(&r->c, ","));
    BSM_TRY(bsm_cursor_expect(&r->c, ")"));
  }
  schema->returns = returns.items;
  schema->return_count = returns.len;
  return BSM_OK;
}

/* "aten::add.Tensor": everything up to the parenthesis. */
static bsm_status read_name(schema_reader *r, bsm_schema *schema) {
  bsm_cursor *c = &r->c;
  (void)bsm_cursor_peek(c);
  size_t start = c->pos, dot = 0;
  bool namespaced = false;
  bsm_str part = bsm_cursor_name(c, false);
  if (part.len && bsm_cursor_accept(c, "::")) {
    namespaced = true;
    part = bsm_cursor_name(c, false);
  }
  if (!part.len || !namespaced) {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected 'namespace::name'");
  }
  size_t end = c->pos;
  if (c->pos < c->text.len && c->text.data[c->pos] == '.') {
    dot = c->pos++;
    if (!bsm_cursor_name(c, true).len) {
      return bsm_cursor_fail(c, BSM_CORRUPT, "expected an overload's name");
    }
  }
  const char *text = c->text.data;
  BSM_TRY(copy_str(r, (bsm_str){text + start, end - start}, &schema->name));
  BSM_TRY(
      copy_str(r, (bsm_str){text + start, c->pos - start}, &schema->qualified));
  schema->overload = dot ? schema->qualified + (dot + 1 - start) : "";
  return BSM_OK;
}

bsm_status bsm_schema_parse(bsm_type_table *types, bsm_arena *arena,
                            bsm_str text, bsm_schema **out) {
  *out = NULL;
  bsm_schema *schema = BSM_NEW(arena, bsm_schema);
  BSM_TRY_ALLOC(schema);
  schema_reader r = {.c = {.name = "schema",
                           .max_depth = 64,
                           .max_string = 1u << 16,
                           .arena = arena},
                     .types = types,
                     .arena = arena};
  BSM_TRY(copy_str(&r, text, &schema->text));
  r.c.text = (bsm_str){schema->text, text.len};
  bsm_status status = read_name(&r, schema);
  if (!status) status = read_args(&r, schema);
  if (!status) status = read_returns(&r, schema);
  if (!status && (bsm_cursor_peek(&r.c) != '\0' || r.c.pos < text.len)) {
    status = bsm_cursor_fail(&r.c, BSM_CORRUPT, "text after the schema");
  }
  if (status) {
    return bsm_status_note(status, "in schema '%.200s'", schema->text);
  }
  *out = schema;
  return BSM_OK;
}
