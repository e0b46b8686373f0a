/* SPDX-License-Identifier: Apache-2.0 */
/* Forms that look like calls: type ascription, casts, isinstance, and Python's
 * builtins. */
#include "torchscript/script_emit.h"

static bsm_status check_count(bsm_script_emitter *e, const bsm_expr *call,
                              const bsm_script_special *self, size_t count) {
  if (call->item_count == count + 1 && call->keyword_count == 0) return BSM_OK;
  return bsm_se_error(e, call->pos, BSM_CORRUPT, "%s takes %zu arguments",
                      self->name, count);
}

/* ---- types as arguments ---- */

static bool is_number(const bsm_type *type) {
  return type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_COMPLEX || type->kind == BSM_TYPE_BOOL;
}

/* annotate(List[float], x.tolist()): the type says what the lists hold. */
static bsm_status emit_tolist(bsm_script_emitter *e, const bsm_expr *call,
                              const bsm_type *type, bsm_value **out) {
  bsm_value *inputs[3];
  int64_t dims = 0;
  const bsm_type *elem = type;
  BSM_TRY(bsm_se_value(e, call->items[0]->items[0], NULL, &inputs[0]));
  for (; elem->kind == BSM_TYPE_LIST; elem = elem->args[0]) dims++;
  if (!is_number(elem) || inputs[0]->type->kind != BSM_TYPE_TENSOR) {
    return bsm_se_error(e, call->pos, BSM_CORRUPT,
                        "tolist of a value of type %s as %s",
                        bsm_script_type_text(e->script, inputs[0]->type),
                        bsm_script_type_text(e->script, type));
  }
  /* PyTorch's numbers for the element types. */
  const int64_t kind = elem->kind == BSM_TYPE_INT       ? 0
                       : elem->kind == BSM_TYPE_FLOAT   ? 1
                       : elem->kind == BSM_TYPE_COMPLEX ? 2
                                                        : 3;
  BSM_TRY(bsm_se_constant(e, call->pos, bsm_iv_int(dims), NULL, &inputs[1]));
  BSM_TRY(bsm_se_constant(e, call->pos, bsm_iv_int(kind), NULL, &inputs[2]));
  return bsm_se_simple(e, call->pos, "prim::tolist", inputs, 3, type, out);
}

static bool is_tolist(const bsm_expr *expr) {
  return expr->kind == BSM_EXPR_CALL && expr->item_count == 1 &&
         expr->items[0]->kind == BSM_EXPR_ATTR &&
         strcmp(expr->items[0]->name, "tolist") == 0;
}

static bsm_status emit_annotate(bsm_script_emitter *e, const bsm_expr *call,
                                const bsm_script_special *self,
                                bsm_sugar *out) {
  const bsm_type *type = NULL;
  bsm_value *value = NULL;
  BSM_TRY(check_count(e, call, self, 2));
  BSM_TRY(bsm_script_type(e->file, call->items[1], &type));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  if (is_tolist(call->items[2])) {
    return emit_tolist(e, call->items[2], type, &out->value);
  }
  BSM_TRY(bsm_se_value(e, call->items[2], type, &value));
  return bsm_se_convert(e, call->pos, value, type, &out->value);
}

static bsm_status emit_unchecked_cast(bsm_script_emitter *e,
                                      const bsm_expr *call,
                                      const bsm_script_special *self,
                                      bsm_sugar *out) {
  const bsm_type *type = NULL;
  bsm_value *value = NULL;
  BSM_TRY(check_count(e, call, self, 2));
  BSM_TRY(bsm_script_type(e->file, call->items[1], &type));
  BSM_TRY(bsm_se_value(e, call->items[2], NULL, &value));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  return bsm_se_simple(e, call->pos, "prim::unchecked_cast", &value, 1, type,
                       &out->value);
}

static bsm_status emit_uninitialized(bsm_script_emitter *e,
                                     const bsm_expr *call,
                                     const bsm_script_special *self,
                                     bsm_sugar *out) {
  const bsm_type *type = NULL;
  BSM_TRY(check_count(e, call, self, 1));
  BSM_TRY(bsm_script_type(e->file, call->items[1], &type));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  return bsm_se_simple(e, call->pos, "prim::Uninitialized", NULL, 0, type,
                       &out->value);
}

/* ---- isinstance ---- */

typedef struct alternatives {
  const bsm_type **items;
  size_t len, cap;
} alternatives;

/* isinstance(x, list): every list that an x of its type can be. */
static bsm_status add_family(bsm_script_emitter *e, const bsm_type *type,
                             bsm_type_kind kind, alternatives *out) {
  if (type->kind == kind) {
    BSM_TRY_ALLOC(bsm_vec_push(e->arena, out, type));
  } else if (type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_UNION) {
    for (size_t i = 0; i < type->arg_count; i++) {
      if (type->args[i]->kind != kind) continue;
      BSM_TRY_ALLOC(bsm_vec_push(e->arena, out, type->args[i]));
    }
  } else if (type->kind == BSM_TYPE_ANY) {
    const bsm_type *family = bsm_type_class(
        e->cx->types, kind == BSM_TYPE_LIST ? "AnyListType" : "AnyTupleType");
    BSM_TRY_ALLOC(family && bsm_vec_push(e->arena, out, family));
  }
  return BSM_OK;
}

static bsm_status add_alternative(bsm_script_emitter *e, const bsm_expr *expr,
                                  const bsm_type *type, alternatives *out) {
  const bsm_type *item = NULL;
  if (expr->kind == BSM_EXPR_NAME && strcmp(expr->name, "list") == 0) {
    return add_family(e, type, BSM_TYPE_LIST, out);
  }
  if (expr->kind == BSM_EXPR_NAME && strcmp(expr->name, "tuple") == 0) {
    return add_family(e, type, BSM_TYPE_TUPLE, out);
  }
  BSM_TRY(bsm_script_type(e->file, expr, &item));
  BSM_TRY_ALLOC(bsm_vec_push(e->arena, out, item));
  return BSM_OK;
}

static bool is_one_of(const bsm_type *type, const alternatives *alt) {
  for (size_t i = 0; i < alt->len; i++) {
    if (bsm_type_is_subtype(type, alt->items[i])) return true;
  }
  return false;
}

/* Whether a value of static type `type` may turn out to be one of them. */
static bool may_be_one_of(const bsm_type *type, const alternatives *alt) {
  const bool open = type->kind == BSM_TYPE_ANY ||
                    type->kind == BSM_TYPE_OPTIONAL ||
                    type->kind == BSM_TYPE_UNION;
  for (size_t i = 0; i < alt->len; i++) {
    if (type->kind == BSM_TYPE_ANY) return true;
    if (bsm_type_is_subtype(alt->items[i], type)) return true;
    for (size_t k = 0; open && k < type->arg_count; k++) {
      if (bsm_type_is_subtype(type->args[k], alt->items[i])) return true;
    }
  }
  return false;
}

static bsm_status emit_isinstance(bsm_script_emitter *e, const bsm_expr *call,
                                  const bsm_script_special *self,
                                  bsm_sugar *out) {
  alternatives alt = {0};
  bsm_value *value = NULL;
  bsm_node *node = NULL;
  bsm_tuple *types;
  BSM_TRY(check_count(e, call, self, 2));
  BSM_TRY(bsm_se_value(e, call->items[1], NULL, &value));
  const bsm_expr *list = call->items[2];
  const bool several = list->kind == BSM_EXPR_TUPLE;
  for (size_t i = 0; i < (several ? list->item_count : 1); i++) {
    BSM_TRY(
        add_alternative(e, several ? list->items[i] : list, value->type, &alt));
  }
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  const bool is = is_one_of(value->type, &alt);
  if (is || !may_be_one_of(value->type, &alt)) {
    return bsm_se_constant(e, call->pos, bsm_iv_bool(is), NULL, &out->value);
  }
  const bsm_type *result = bsm_type_simple(e->cx->types, BSM_TYPE_BOOL);
  BSM_TRY_ALLOC(result);
  BSM_TRY(
      bsm_se_node(e, call->pos, "prim::isinstance", &value, 1, result, &node));
  BSM_TRY(bsm_tuple_new(e->arena, 0, &types));
  types->type = bsm_type_tuple(e->cx->types, alt.items, alt.len);
  BSM_TRY_ALLOC(types->type);
  out->value = bsm_node_out(node, 0);
  return bsm_node_set_attr(node, "types", bsm_iv_tuple(types));
}

/* ---- attributes, forks, print ---- */

static bsm_status emit_getattr(bsm_script_emitter *e, const bsm_expr *call,
                               const bsm_script_special *self, bsm_sugar *out) {
  bsm_value *value = NULL;
  BSM_TRY(check_count(e, call, self, 2));
  BSM_TRY(bsm_se_value(e, call->items[1], NULL, &value));
  if (call->items[2]->kind != BSM_EXPR_STRING) {
    return bsm_se_error(e, call->items[2]->pos, BSM_CORRUPT,
                        "the name of an attribute is no literal");
  }
  const char *name = bsm_intern(&e->cx->names, call->items[2]->string);
  BSM_TRY_ALLOC(name);
  return bsm_se_attribute(e, value, name, call->pos, out);
}

/* fork(f): f is called right here. */
static bsm_status emit_fork(bsm_script_emitter *e, const bsm_expr *call,
                            const bsm_script_special *self, bsm_sugar *out) {
  bsm_sugar callee;
  bsm_se_args args;
  if (call->item_count < 2) return check_count(e, call, self, 1);
  BSM_TRY(bsm_se_sugar(e, call->items[1], NULL, &callee));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  if (callee.kind == BSM_SUGAR_CLOSURE) {
    BSM_TRY(check_count(e, call, self, 1));
    return bsm_se_closure(e, callee.def, call->pos, &out->value);
  }
  /* The function is the first of the arguments: leave it out. */
  bsm_expr rest = *call;
  rest.items++;
  rest.item_count--;
  if (callee.kind == BSM_SUGAR_FUNCTION) {
    BSM_TRY(bsm_se_gather(e, &rest, NULL, &args));
    return bsm_se_invoke(e, callee.fn, NULL, call->pos, &args, &out->value);
  }
  if (callee.kind == BSM_SUGAR_METHOD) {
    BSM_TRY(bsm_se_gather(e, &rest, callee.value, &args));
    return bsm_se_invoke(e, callee.fn, callee.name, call->pos, &args,
                         &out->value);
  }
  return bsm_se_error(e, call->pos, BSM_CORRUPT, "this cannot be forked");
}

static bsm_status emit_print(bsm_script_emitter *e, const bsm_expr *call,
                             const bsm_script_special *self, bsm_sugar *out) {
  bsm_se_args args;
  bsm_node *node = NULL;
  (void)self;
  BSM_TRY(bsm_se_gather(e, call, NULL, &args));
  BSM_TRY(bsm_se_node(e, call->pos, "prim::Print", args.values, args.count,
                      NULL, &node));
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUES};
  return BSM_OK;
}

/* ---- casts and builtins ---- */

/* int(x): nothing for what is an int already. */
static bsm_status emit_cast(bsm_script_emitter *e, const bsm_expr *call,
                            const bsm_script_special *self, bsm_sugar *out) {
  bsm_se_args args;
  BSM_TRY(bsm_se_gather(e, call, NULL, &args));
  if (args.count == 1 && args.values[0]->type->kind == self->cast) {
    *out = bsm_sugar_value(args.values[0]);
    return BSM_OK;
  }
  return bsm_se_operator(e, self->op, call->pos, &args, out);
}

static bsm_status emit_builtin(bsm_script_emitter *e, const bsm_expr *call,
                               const bsm_script_special *self, bsm_sugar *out) {
  bsm_se_args args;
  BSM_TRY(bsm_se_gather(e, call, NULL, &args));
  return bsm_se_operator(e, self->op, call->pos, &args, out);
}

static const bsm_script_special specials[] = {
    {"annotate", emit_annotate, NULL, BSM_TYPE_ANY},
    {"unchecked_cast", emit_unchecked_cast, NULL, BSM_TYPE_ANY},
    {"uninitialized", emit_uninitialized, NULL, BSM_TYPE_ANY},
    {"isinstance", emit_isinstance, NULL, BSM_TYPE_ANY},
    {"getattr", emit_getattr, NULL, BSM_TYPE_ANY},
    {"fork", emit_fork, NULL, BSM_TYPE_ANY},
    {"awaitable", emit_fork, NULL, BSM_TYPE_ANY},
    {"print", emit_print, NULL, BSM_TYPE_ANY},
    {"int", emit_cast, "aten::Int", BSM_TYPE_INT},
    {"float", emit_cast, "aten::Float", BSM_TYPE_FLOAT},
    {"bool", emit_cast, "aten::Bool", BSM_TYPE_BOOL},
    {"complex", emit_cast, "aten::Complex", BSM_TYPE_COMPLEX},
    {"str", emit_cast, "aten::str", BSM_TYPE_STRING},
    {"len", emit_builtin, "aten::len", BSM_TYPE_ANY},
    {"sorted", emit_builtin, "aten::sorted", BSM_TYPE_ANY},
    {"min", emit_builtin, "prim::min", BSM_TYPE_ANY},
    {"max", emit_builtin, "prim::max", BSM_TYPE_ANY},
    {"abs", emit_builtin, "prim::abs", BSM_TYPE_ANY},
    {"all", emit_builtin, "aten::all", BSM_TYPE_ANY},
    {"any", emit_builtin, "aten::any", BSM_TYPE_ANY},
    {"divmod", emit_builtin, "aten::divmod", BSM_TYPE_ANY},
    {"sum", emit_builtin, "aten::sum", BSM_TYPE_ANY},
    {"round", emit_builtin, "aten::round", BSM_TYPE_ANY},
    {"pow", emit_builtin, "aten::pow", BSM_TYPE_ANY},
    {"hash", emit_builtin, "aten::hash", BSM_TYPE_ANY},
    {"hex", emit_builtin, "aten::hex", BSM_TYPE_ANY},
    {"oct", emit_builtin, "aten::oct", BSM_TYPE_ANY},
    {"bin", emit_builtin, "aten::bin", BSM_TYPE_ANY},
    {"id", emit_builtin, "prim::id", BSM_TYPE_ANY},
    {"ord", emit_builtin, "aten::ord", BSM_TYPE_ANY},
    {"chr", emit_builtin, "aten::chr", BSM_TYPE_ANY},
};

const bsm_script_special *bsm_special_find(const char *name) {
  for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
    if (strcmp(specials[i].name, name) == 0) return &specials[i];
  }
  return NULL;
}

bsm_status bsm_se_condition(bsm_script_emitter *e, const bsm_expr *expr,
                            bsm_value **out) {
  bsm_sugar sugar;
  bsm_se_args args;
  BSM_TRY(bsm_se_value(e, expr, NULL, out));
  if ((*out)->type->kind == BSM_TYPE_BOOL) return BSM_OK;
  BSM_TRY(bsm_se_pack(e, out, 1, &args));
  BSM_TRY(bsm_se_operator(e, "aten::Bool", expr->pos, &args, &sugar));
  return bsm_se_as_value(e, sugar, expr->pos, out);
}
