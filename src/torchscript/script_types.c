/* SPDX-License-Identifier: Apache-2.0 */
/* Types, literals and function schemas from syntax. */
#include "torchscript/script_internal.h"
#include "torchscript/script_parser.h"

const char *bsm_script_type_text(bsm_script *script, const bsm_type *type) {
  bsm_text text;
  bsm_text_init(&text, script->cx->arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  return text.failed ? NULL : text.data;
}

/* ---- types ---- */

static const struct {
  const char *name;
  bsm_type_kind kind;
} simple_types[] = {
    {"Tensor", BSM_TYPE_TENSOR},       {"int", BSM_TYPE_INT},
    {"float", BSM_TYPE_FLOAT},         {"bool", BSM_TYPE_BOOL},
    {"complex", BSM_TYPE_COMPLEX},     {"number", BSM_TYPE_NUMBER},
    {"str", BSM_TYPE_STRING},          {"Device", BSM_TYPE_DEVICE},
    {"Generator", BSM_TYPE_GENERATOR}, {"Stream", BSM_TYPE_STREAM},
    {"Storage", BSM_TYPE_STORAGE},     {"QScheme", BSM_TYPE_QSCHEME},
    {"Capsule", BSM_TYPE_CAPSULE},     {"Any", BSM_TYPE_ANY},
    {"NoneType", BSM_TYPE_NONE},       {"ScalarType", BSM_TYPE_INT},
    {"Layout", BSM_TYPE_INT},          {"MemoryFormat", BSM_TYPE_INT},
};

static bsm_status unknown_type(bsm_script_file *file, const bsm_expr *expr,
                               const char *what) {
  return bsm_code_error(&file->code, expr->pos, BSM_CORRUPT,
                        "%s is no type that is known", what);
}

/* What isinstance(x, list) leaves of an x that may be anything. */
static const char *family_of(const char *name) {
  if (strcmp(name, "list") == 0) return "AnyListType";
  return strcmp(name, "tuple") == 0 ? "AnyTupleType" : NULL;
}

static bsm_status simple_type(bsm_script_file *file, const bsm_expr *expr,
                              const bsm_type **out) {
  const char *family = family_of(expr->name);
  if (family) {
    *out = bsm_type_class(file->script->cx->types, family);
    BSM_TRY_ALLOC(*out);
    return BSM_OK;
  }
  for (size_t i = 0; i < sizeof simple_types / sizeof simple_types[0]; i++) {
    if (strcmp(expr->name, simple_types[i].name) == 0) {
      *out = bsm_type_simple(file->script->cx->types, simple_types[i].kind);
      BSM_TRY_ALLOC(*out);
      return BSM_OK;
    }
  }
  return unknown_type(file, expr, expr->name);
}

/* The text of a dotted name; false when it is something else. */
static bool dotted_name(bsm_text *text, const bsm_expr *expr) {
  if (expr->kind == BSM_EXPR_NAME) {
    bsm_text_puts(text, expr->name);
    return true;
  }
  if (expr->kind != BSM_EXPR_ATTR || !dotted_name(text, expr->items[0])) {
    return false;
  }
  bsm_text_puts(text, ".");
  bsm_text_puts(text, expr->name);
  return true;
}

static bsm_status class_type(bsm_script_file *file, const bsm_expr *expr,
                             const bsm_type **out) {
  bsm_text name;
  bsm_text_init(&name, file->script->cx->arena);
  if (!dotted_name(&name, expr)) return unknown_type(file, expr, "this");
  if (name.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_script_lookup_type(file->script, (bsm_str){name.data, name.len},
                                 out));
  return *out ? BSM_OK : unknown_type(file, expr, name.data);
}

typedef struct type_args {
  const bsm_type **items;
  size_t count;
} type_args;

/* What stands in the brackets: one type, several, or `()` for none. */
static bsm_status read_args(bsm_script_file *file, const bsm_expr *inside,
                            type_args *out) {
  const bool tuple = inside->kind == BSM_EXPR_TUPLE;
  out->count = tuple ? inside->item_count : 1;
  out->items = BSM_NEW_ARRAY(file->script->cx->arena, const bsm_type *,
                             out->count ? out->count : 1);
  BSM_TRY_ALLOC(out->items);
  for (size_t i = 0; i < out->count; i++) {
    BSM_TRY(bsm_script_type(file, tuple ? inside->items[i] : inside,
                            &out->items[i]));
  }
  return BSM_OK;
}

static const bsm_type *generic_type(bsm_type_table *table, const char *name,
                                    const type_args *args, bool *known) {
  const bsm_type **a = args->items;
  *known = true;
  if (strcmp(name, "Tuple") == 0) {
    return bsm_type_tuple(table, a, args->count);
  }
  if (strcmp(name, "Union") == 0 && args->count > 0) {
    return bsm_type_union(table, a, args->count);
  }
  if (strcmp(name, "Dict") == 0 && args->count == 2) {
    return bsm_type_dict(table, a[0], a[1]);
  }
  if (args->count == 1) {
    if (strcmp(name, "Optional") == 0) return bsm_type_optional(table, a[0]);
    if (strcmp(name, "List") == 0) return bsm_type_list(table, a[0]);
    /* Forked calls are made where they are forked, so a future of T is a T;
     * Final[T] only says where the value comes from. */
    if (strcmp(name, "Future") == 0 || strcmp(name, "Await") == 0 ||
        strcmp(name, "Final") == 0 || strcmp(name, "RRef") == 0) {
      return a[0];
    }
  }
  *known = false;
  return NULL;
}

static bsm_status subscript_type(bsm_script_file *file, const bsm_expr *expr,
                                 const bsm_type **out) {
  type_args args;
  bool known;
  if (expr->items[0]->kind != BSM_EXPR_NAME) {
    return unknown_type(file, expr, "this");
  }
  const char *name = expr->items[0]->name;
  const bsm_status status = bsm_script_enter(file->script, "this type");
  if (status) return bsm_code_note(&file->code, expr->pos, status);
  BSM_TRY(read_args(file, expr->items[1], &args));
  file->script->depth--;
  *out = generic_type(file->script->cx->types, name, &args, &known);
  if (!known) return unknown_type(file, expr, name);
  BSM_TRY_ALLOC(*out);
  /* The type table gives up on huge types. */
  if ((*out)->kind == BSM_TYPE_ANY && args.items[0]->kind != BSM_TYPE_ANY) {
    return bsm_code_error(&file->code, expr->pos, BSM_LIMIT,
                          "the type is too large");
  }
  return BSM_OK;
}

bsm_status bsm_script_type(bsm_script_file *file, const bsm_expr *expr,
                           const bsm_type **out) {
  switch (expr->kind) {
    case BSM_EXPR_NONE:
      *out = bsm_type_simple(file->script->cx->types, BSM_TYPE_NONE);
      BSM_TRY_ALLOC(*out);
      return BSM_OK;
    case BSM_EXPR_NAME:
      return simple_type(file, expr, out);
    case BSM_EXPR_ATTR:
      return class_type(file, expr, out);
    case BSM_EXPR_SUBSCRIPT:
      return subscript_type(file, expr, out);
    default:
      return unknown_type(file, expr, "this");
  }
}

bsm_status bsm_script_parse_type(bsm_script *script, bsm_str text,
                                 const bsm_type **out) {
  bsm_ir_ctx *cx = script->cx;
  bsm_script_file file = {.script = script,
                          .code = {"type", BSM_STR(""), text}};
  bsm_expr *expr;
  const uint64_t depth = script->depth;
  BSM_TRY(bsm_parse_expression(cx->arena, &cx->names, &cx->limits, &file.code,
                               &expr));
  const bsm_status status = bsm_script_type(&file, expr, out);
  script->depth = depth;
  return status;
}

/* ---- literals ---- */

static const bsm_type *type_arg(const bsm_type *type, bsm_type_kind kind,
                                size_t index) {
  if (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  return type && type->kind == kind && index < type->arg_count
             ? type->args[index]
             : NULL;
}

static bool wants_float(const bsm_type *type) {
  if (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  return type && type->kind == BSM_TYPE_FLOAT;
}

static bsm_status list_literal(bsm_script_file *file, const bsm_expr *expr,
                               const bsm_type *type, bsm_ivalue *out,
                               bool *is) {
  bsm_arena *arena = file->script->cx->arena;
  const bsm_type *elem = type_arg(type, BSM_TYPE_LIST, 0);
  bsm_list *list;
  BSM_TRY(bsm_list_new(arena, elem, expr->item_count, &list));
  *is = true;
  for (size_t i = 0; i < expr->item_count && *is; i++) {
    BSM_TRY(
        bsm_script_literal(file, expr->items[i], elem, &list->items[i], is));
  }
  if (*is && !elem && list->len > 0) {
    list->elem_type =
        bsm_type_of_value(file->script->cx->types, &list->items[0]);
    BSM_TRY_ALLOC(list->elem_type);
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status tuple_literal(bsm_script_file *file, const bsm_expr *expr,
                                const bsm_type *type, bsm_ivalue *out,
                                bool *is) {
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(file->script->cx->arena, expr->item_count, &tuple));
  *is = true;
  for (size_t i = 0; i < expr->item_count && *is; i++) {
    BSM_TRY(bsm_script_literal(file, expr->items[i],
                               type_arg(type, BSM_TYPE_TUPLE, i),
                               &tuple->items[i], is));
  }
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}

static bsm_status dict_literal(bsm_script_file *file, const bsm_expr *expr,
                               const bsm_type *type, bsm_ivalue *out,
                               bool *is) {
  const bsm_type *key_type = type_arg(type, BSM_TYPE_DICT, 0);
  const bsm_type *value_type = type_arg(type, BSM_TYPE_DICT, 1);
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(file->script->cx->arena, key_type, value_type, &dict));
  *is = true;
  for (size_t i = 0; i + 1 < expr->item_count && *is; i += 2) {
    bsm_ivalue key, value;
    bool is_key;
    BSM_TRY(bsm_script_literal(file, expr->items[i], key_type, &key, &is_key));
    BSM_TRY(
        bsm_script_literal(file, expr->items[i + 1], value_type, &value, is));
    *is = *is && is_key;
    if (*is) BSM_TRY(bsm_dict_set(dict, key, value));
  }
  *out = bsm_iv_dict(dict);
  return BSM_OK;
}

/* inf, nan, and their negatives. */
static bool named_number(const bsm_expr *expr, double *out) {
  if (expr->kind == BSM_EXPR_NEG) {
    const bool is = named_number(expr->items[0], out);
    *out = -*out;
    return is;
  }
  *out = 0;
  if (expr->kind != BSM_EXPR_NAME) return false;
  if (strcmp(expr->name, "inf") == 0 || strcmp(expr->name, "nan") == 0) {
    return bsm_parse_double(bsm_str_of(expr->name), out);
  }
  return false;
}

bsm_status bsm_script_literal(bsm_script_file *file, const bsm_expr *expr,
                              const bsm_type *type, bsm_ivalue *out, bool *is) {
  *is = true;
  switch (expr->kind) {
    case BSM_EXPR_NONE:
      *out = bsm_iv_none();
      return BSM_OK;
    case BSM_EXPR_BOOL:
      *out = bsm_iv_bool(expr->integer != 0);
      return BSM_OK;
    case BSM_EXPR_FLOAT:
      *out = bsm_iv_double(expr->re);
      return BSM_OK;
    case BSM_EXPR_INT:
      *out = wants_float(type) ? bsm_iv_double((double)expr->integer)
                               : bsm_iv_int(expr->integer);
      return BSM_OK;
    case BSM_EXPR_COMPLEX:
      *out = (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {expr->re, expr->im}}};
      return BSM_OK;
    case BSM_EXPR_STRING:
      return bsm_iv_string(file->script->cx->arena, expr->string, out);
    case BSM_EXPR_LIST:
      return list_literal(file, expr, type, out, is);
    case BSM_EXPR_TUPLE:
      return tuple_literal(file, expr, type, out, is);
    case BSM_EXPR_DICT:
      return dict_literal(file, expr, type, out, is);
    default:
      break;
  }
  double number;
  *is = named_number(expr, &number);
  if (*is) *out = bsm_iv_double(number);
  return BSM_OK;
}

/* ---- schemas ---- */

static bsm_status make_arg(bsm_script_fn *fn, size_t index,
                           bsm_schema_arg *out) {
  bsm_script_file *file = fn->file;
  const bsm_param *param = &fn->def->params[index];
  bool is = true;
  *out = (bsm_schema_arg){.name = param->name};
  if (index == 0 && fn->self) {
    out->type = fn->self;
  } else if (param->type) {
    BSM_TRY(bsm_script_type(file, param->type, &out->type));
  } else {
    out->type = bsm_type_simple(file->script->cx->types, BSM_TYPE_TENSOR);
    BSM_TRY_ALLOC(out->type);
  }
  if (!param->value) return BSM_OK;
  out->has_default = true;
  BSM_TRY(bsm_script_literal(file, param->value, out->type, &out->default_value,
                             &is));
  if (is) return BSM_OK;
  return bsm_code_error(&file->code, param->pos, BSM_UNSUPPORTED,
                        "the default of '%s' is no literal", param->name);
}

/* "__torch__.f(int a, Tensor b) -> Tensor", for messages. */
static bsm_status write_text(bsm_script *script, bsm_schema *schema) {
  bsm_text text;
  bsm_text_init(&text, script->cx->arena);
  bsm_text_printf(&text, "%s(", schema->name);
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (i) bsm_text_puts(&text, ", ");
    bsm_type_print(&text, schema->args[i].type, BSM_TYPE_STYLE_IR);
    bsm_text_printf(&text, " %s", schema->args[i].name);
  }
  bsm_text_puts(&text, ") -> ");
  bsm_type_print(&text, schema->returns[0].type, BSM_TYPE_STYLE_IR);
  if (text.failed) return BSM_FAIL_OOM();
  schema->text = text.data;
  return BSM_OK;
}

/* The annotated return type; without one, what the body returns. */
static bsm_status result_type(bsm_script_fn *fn, const bsm_type **out) {
  if (fn->def->result) {
    return bsm_script_type(fn->file, fn->def->result, out);
  }
  bsm_graph *graph = NULL;
  BSM_TRY(bsm_script_enter(fn->file->script, fn->fn.qualified));
  BSM_TRY(bsm_function_graph(&fn->fn, &graph));
  fn->file->script->depth--;
  *out = graph->block->returns->inputs.items[0]->type;
  return BSM_OK;
}

static bsm_status make_schema(bsm_script_fn *fn, bsm_schema **out) {
  bsm_script *script = fn->file->script;
  bsm_arena *arena = script->cx->arena;
  const size_t count = fn->def->param_count;
  bsm_schema *schema = BSM_NEW(arena, bsm_schema);
  BSM_TRY_ALLOC(schema);
  schema->name = schema->qualified = fn->fn.qualified;
  schema->overload = "";
  schema->args = BSM_NEW_ARRAY(arena, bsm_schema_arg, count ? count : 1);
  schema->returns = BSM_NEW(arena, bsm_schema_arg);
  BSM_TRY_ALLOC(schema->args && schema->returns);
  if (fn->self && count == 0) {
    return bsm_code_error(&fn->file->code, fn->def->pos, BSM_CORRUPT,
                          "a method without self");
  }
  for (; schema->arg_count < count; schema->arg_count++) {
    BSM_TRY(make_arg(fn, schema->arg_count, &schema->args[schema->arg_count]));
  }
  schema->returns[0].name = "";
  schema->return_count = 1;
  BSM_TRY(result_type(fn, &schema->returns[0].type));
  *out = schema;
  return write_text(script, schema);
}

bsm_status bsm_script_schema(bsm_function *function, const bsm_schema **out) {
  bsm_script_fn *fn = bsm_script_fn_of(function);
  if (!fn->fn.schema) {
    bsm_schema *schema = NULL;
    if (fn->in_schema) {
      return bsm_code_error(&fn->file->code, fn->def->pos, BSM_UNSUPPORTED,
                            "'%s' calls itself", fn->fn.qualified);
    }
    const uint64_t depth = fn->file->script->depth;
    fn->in_schema = true;
    bsm_status status = make_schema(fn, &schema);
    fn->in_schema = false;
    fn->file->script->depth = depth;
    BSM_TRY(status);
    fn->fn.schema = schema;
  }
  *out = fn->fn.schema;
  return BSM_OK;
}
