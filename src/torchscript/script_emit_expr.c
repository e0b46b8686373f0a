/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: names, attributes, literals, subscripts. */
#include "torchscript/script_emit.h"

bsm_status bsm_se_as_value(bsm_script_emitter *e, bsm_sugar sugar,
                           bsm_code_pos pos, bsm_value **out) {
  switch (sugar.kind) {
    case BSM_SUGAR_VALUE:
      *out = sugar.value;
      return BSM_OK;
    case BSM_SUGAR_VALUES:
      return sugar.count == 0
                 ? bsm_se_constant(e, pos, bsm_iv_none(), NULL, out)
                 : bsm_se_tuple(e, pos, sugar.values, sugar.count, out);
    case BSM_SUGAR_UNUSABLE:
      return bsm_se_error(e, pos, BSM_CORRUPT, "%s", sugar.name);
    case BSM_SUGAR_FUNCTION:
    case BSM_SUGAR_METHOD:
      return bsm_se_error(e, pos, BSM_UNSUPPORTED,
                          "the function '%s' is used as a value",
                          sugar.fn->qualified);
    case BSM_SUGAR_MODULE:
      return bsm_se_error(e, pos, BSM_CORRUPT,
                          "the archive has no class or function '%s'",
                          sugar.name);
    default:
      break;
  }
  return bsm_se_error(e, pos, BSM_CORRUPT, "this is no value");
}

bsm_status bsm_se_value(bsm_script_emitter *e, const bsm_expr *expr,
                        const bsm_type *hint, bsm_value **out) {
  bsm_sugar sugar;
  BSM_TRY(bsm_se_sugar(e, expr, hint, &sugar));
  return bsm_se_as_value(e, sugar, expr->pos, out);
}

static bsm_status constant_sugar(bsm_script_emitter *e, bsm_code_pos pos,
                                 bsm_ivalue value, const bsm_type *type,
                                 bsm_sugar *out) {
  bsm_value *result = NULL;
  BSM_TRY(bsm_se_constant(e, pos, value, type, &result));
  *out = bsm_sugar_value(result);
  return BSM_OK;
}

/* ---- names ---- */

static bsm_status emit_number_name(bsm_script_emitter *e, const bsm_expr *expr,
                                   bool *is, bsm_sugar *out) {
  static const struct {
    const char *name, *number;
    bool imaginary;
  } rows[] = {{"inf", "inf", false},
              {"nan", "nan", false},
              {"infj", "inf", true},
              {"nanj", "nan", true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double number = 0;
    if (strcmp(expr->name, rows[i].name) != 0) continue;
    *is = bsm_parse_double(bsm_str_of(rows[i].number), &number);
    return constant_sugar(
        e, expr->pos,
        rows[i].imaginary ? (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {0, number}}}
                          : bsm_iv_double(number),
        NULL, out);
  }
  *is = false;
  return BSM_OK;
}

/* Locals first, then the names that every file knows. */
static bsm_status emit_name(bsm_script_emitter *e, const bsm_expr *expr,
                            bsm_sugar *out) {
  const bsm_binding *binding = bsm_scope_find(e->scope, expr->name);
  bool is_number;
  if (binding) {
    *out = binding->sugar;
    return BSM_OK;
  }
  *out = (bsm_sugar){.kind = BSM_SUGAR_NAMESPACE};
  if (strcmp(expr->name, "ops") == 0) return BSM_OK;
  out->name = "aten";
  if (strcmp(expr->name, "torch") == 0) return BSM_OK;
  *out = (bsm_sugar){.kind = BSM_SUGAR_MODULE, .name = "__torch__"};
  if (strcmp(expr->name, "__torch__") == 0) return BSM_OK;
  *out = (bsm_sugar){.kind = BSM_SUGAR_CONSTANTS};
  if (strcmp(expr->name, "CONSTANTS") == 0) return BSM_OK;
  BSM_TRY(emit_number_name(e, expr, &is_number, out));
  if (is_number) return BSM_OK;
  *out = (bsm_sugar){.kind = BSM_SUGAR_SPECIAL,
                     .special = bsm_special_find(expr->name)};
  if (out->special) return BSM_OK;
  return bsm_se_error(e, expr->pos, BSM_CORRUPT, "unknown name '%s'",
                      expr->name);
}

/* ---- attributes ---- */

/* CONSTANTS.c12 */
static bsm_status emit_table_constant(bsm_script_emitter *e,
                                      const bsm_expr *expr, bsm_sugar *out) {
  const bsm_script *script = e->script;
  int64_t index = -1;
  if (expr->name[0] != 'c' ||
      !bsm_parse_i64(bsm_str_of(expr->name + 1), &index) || index < 0 ||
      (uint64_t)index >= script->constant_count) {
    return bsm_se_error(e, expr->pos, BSM_CORRUPT,
                        "CONSTANTS.%s, but the archive has %zu constants",
                        expr->name, script->constant_count);
  }
  return constant_sugar(e, expr->pos, script->constants[index], NULL, out);
}

/* A step on the way from `__torch__` to a class or function. */
static bsm_status emit_module_member(bsm_script_emitter *e,
                                     const bsm_expr *expr, const char *module,
                                     bsm_sugar *out) {
  char *name = bsm_arena_printf(e->arena, "%s.%s", module, expr->name);
  BSM_TRY_ALLOC(name);
  *out = (bsm_sugar){.kind = BSM_SUGAR_CLASS};
  BSM_TRY(bsm_script_lookup_type(e->script, bsm_str_of(name), &out->type));
  if (out->type) return BSM_OK;
  out->kind = BSM_SUGAR_FUNCTION;
  BSM_TRY(bsm_script_lookup_function(e->script, bsm_str_of(name), &out->fn));
  if (out->fn) return BSM_OK;
  *out = (bsm_sugar){.kind = BSM_SUGAR_MODULE, .name = name};
  return BSM_OK;
}

/* C.__new__, C.method, Color.RED */
static bsm_status emit_class_member(bsm_script_emitter *e, const bsm_expr *expr,
                                    const bsm_type *type, bsm_sugar *out) {
  *out = (bsm_sugar){.kind = BSM_SUGAR_NEW, .type = type};
  if (strcmp(expr->name, "__new__") == 0) return BSM_OK;
  if (type->cls) {
    const bsm_ivalue *item = bsm_class_find_constant(type->cls, expr->name);
    if (item) return constant_sugar(e, expr->pos, *item, type, out);
    *out = (bsm_sugar){.kind = BSM_SUGAR_FUNCTION,
                       .fn = bsm_class_find_method(type->cls, expr->name)};
    if (out->fn) return BSM_OK;
  }
  return bsm_se_error(e, expr->pos, BSM_CORRUPT,
                      "class '%s' has no member '%s'", type->name, expr->name);
}

/* color.value, color.name */
static bsm_status emit_enum_attribute(bsm_script_emitter *e, bsm_value *value,
                                      const char *name, bsm_code_pos pos,
                                      bsm_sugar *out) {
  const bsm_class *cls = value->type->cls;
  bsm_value *result = NULL;
  const bool is_name = strcmp(name, "name") == 0;
  if ((!is_name && strcmp(name, "value") != 0) || cls->constants.len == 0) {
    return bsm_se_error(e, pos, BSM_CORRUPT, "an enum has no attribute '%s'",
                        name);
  }
  const bsm_object *item = cls->constants.items[0].value.u.object;
  BSM_TRY(bsm_se_simple(
      e, pos, is_name ? "prim::EnumName" : "prim::EnumValue", &value, 1,
      bsm_type_of_value(e->cx->types, &item->slots[is_name ? 0 : 1]), &result));
  *out = bsm_sugar_value(result);
  return BSM_OK;
}

static bsm_status emit_get_attr(bsm_script_emitter *e, bsm_value *value,
                                const bsm_attribute *attribute,
                                bsm_code_pos pos, bsm_sugar *out) {
  bsm_node *node = NULL;
  bsm_ivalue name;
  BSM_TRY(
      bsm_se_node(e, pos, "prim::GetAttr", &value, 1, attribute->type, &node));
  BSM_TRY(bsm_iv_string(e->arena, bsm_str_of(attribute->name), &name));
  BSM_TRY(bsm_node_set_attr(node, "name", name));
  *out = bsm_sugar_value(bsm_node_out(node, 0));
  return BSM_OK;
}

/* The methods of packed parameters are operators: that of `unpack` and of what
 * tells the geometry of a convolution. NULL: there is none. */
static const char *packed_operator(bsm_script_emitter *e, const char *class,
                                   const char *method) {
  static const struct {
    const char *class, *methods, *op;
  } rows[] = {
      {"Conv2dPackedParamsBase",
       " unpack stride padding output_padding dilation groups transpose ",
       "conv2d"},
      {"Conv3dPackedParamsBase",
       " unpack stride padding output_padding dilation groups transpose ",
       "conv3d"},
      {"LinearPackedParamsBase", " unpack ", "linear"},
      {"EmbeddingPackedParamsBase", " unpack ", "embedding_bag"},
  };
  const char *last = strrchr(class, '.') + 1;
  const char *padded = bsm_arena_printf(e->arena, " %s ", method);
  for (size_t i = 0; padded && i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].class, last) == 0 && strstr(rows[i].methods, padded)) {
      return bsm_arena_printf(e->arena, "quantized::%s_%s", rows[i].op, method);
    }
  }
  return NULL;
}

static bsm_status emit_object_attribute(bsm_script_emitter *e, bsm_value *value,
                                        const char *name, bsm_code_pos pos,
                                        bsm_sugar *out) {
  const bsm_class *cls = value->type->cls;
  if (cls->is_enum) return emit_enum_attribute(e, value, name, pos, out);
  const int64_t slot = bsm_class_find_attribute(cls, name);
  if (slot >= 0) {
    return emit_get_attr(e, value, &cls->attributes.items[slot], pos, out);
  }
  *out = (bsm_sugar){.kind = BSM_SUGAR_METHOD,
                     .value = value,
                     .name = name,
                     .fn = bsm_class_find_method(cls, name)};
  if (out->fn) return BSM_OK;
  const bsm_ivalue *constant = bsm_class_find_constant(cls, name);
  if (constant) return constant_sugar(e, pos, *constant, NULL, out);
  const bool torchbind = bsm_str_starts_with(
      bsm_str_of(cls->name), BSM_STR("__torch__.torch.classes."));
  const char *op = torchbind ? packed_operator(e, cls->name, name) : NULL;
  if (op) {
    *out = (bsm_sugar){.kind = BSM_SUGAR_OPERATOR, .name = op, .value = value};
    return BSM_OK;
  }
  return bsm_se_error(
      e, pos, torchbind ? BSM_UNSUPPORTED : BSM_CORRUPT,
      torchbind ? "class '%s' is written in C++ and its method '%s' is unknown"
                : "class '%s' has no attribute or method '%s'",
      cls->name, name);
}

bsm_status bsm_se_attribute(bsm_script_emitter *e, bsm_value *value,
                            const char *name, bsm_code_pos pos,
                            bsm_sugar *out) {
  const bsm_type *type = value->type;
  if (type->kind == BSM_TYPE_CLASS && type->cls) {
    return emit_object_attribute(e, value, name, pos, out);
  }
  if (type->kind == BSM_TYPE_TUPLE && type->field_names) {
    for (size_t i = 0; i < type->arg_count; i++) {
      bsm_value *inputs[2] = {value, NULL}, *result;
      if (strcmp(type->field_names[i], name) != 0) continue;
      BSM_TRY(
          bsm_se_constant(e, pos, bsm_iv_int((int64_t)i), NULL, &inputs[1]));
      BSM_TRY(bsm_se_simple(e, pos, "prim::TupleIndex", inputs, 2,
                            type->args[i], &result));
      *out = bsm_sugar_value(result);
      return BSM_OK;
    }
  }
  /* x.abs() is torch.abs(x). */
  char *op = bsm_arena_printf(e->arena, "aten::%s", name);
  BSM_TRY_ALLOC(op);
  *out = (bsm_sugar){.kind = BSM_SUGAR_OPERATOR, .name = op, .value = value};
  return BSM_OK;
}

static bsm_status emit_namespace_member(bsm_script_emitter *e,
                                        const bsm_expr *expr, const char *space,
                                        bsm_sugar *out) {
  /* ops.prim, and torch.autograd.grad which is aten::grad. */
  if (!space || strcmp(expr->name, "autograd") == 0) {
    *out = (bsm_sugar){.kind = BSM_SUGAR_NAMESPACE,
                       .name = space ? space : expr->name};
    return BSM_OK;
  }
  char *op = bsm_arena_printf(e->arena, "%s::%s", space, expr->name);
  BSM_TRY_ALLOC(op);
  *out = (bsm_sugar){.kind = BSM_SUGAR_OPERATOR, .name = op};
  return BSM_OK;
}

static bsm_status emit_attr(bsm_script_emitter *e, const bsm_expr *expr,
                            bsm_sugar *out) {
  bsm_sugar base;
  bsm_value *value = NULL;
  BSM_TRY(bsm_se_sugar(e, expr->items[0], NULL, &base));
  switch (base.kind) {
    case BSM_SUGAR_NAMESPACE:
      return emit_namespace_member(e, expr, base.name, out);
    case BSM_SUGAR_MODULE:
      return emit_module_member(e, expr, base.name, out);
    case BSM_SUGAR_CLASS:
      return emit_class_member(e, expr, base.type, out);
    case BSM_SUGAR_CONSTANTS:
      return emit_table_constant(e, expr, out);
    default:
      break;
  }
  BSM_TRY(bsm_se_as_value(e, base, expr->pos, &value));
  return bsm_se_attribute(e, value, expr->name, expr->pos, out);
}

/* ---- containers ---- */

static bsm_status emit_items(bsm_script_emitter *e, const bsm_expr *expr,
                             const bsm_type *hint, bsm_value ***out) {
  bsm_value **values =
      BSM_NEW_ARRAY(e->arena, bsm_value *, expr->item_count + 1);
  BSM_TRY_ALLOC(values);
  for (size_t i = 0; i < expr->item_count; i++) {
    BSM_TRY(bsm_se_value(e, expr->items[i], hint, &values[i]));
  }
  *out = values;
  return BSM_OK;
}

static bool is_int_literal(const bsm_value *value) {
  const bsm_ivalue *constant = bsm_value_constant(value);
  return constant && constant->tag == BSM_IVALUE_INT;
}

/* The common type of the values at first, first + step, ... With floats among
 * them, integer literals are floats too: the serializer drops the point of
 * large integral ones. */
static bsm_status common_type(bsm_script_emitter *e, bsm_code_pos pos,
                              bsm_value **values, size_t first, size_t step,
                              size_t count, const bsm_type **out) {
  bsm_type_table *types = e->cx->types;
  const bsm_type *real = bsm_type_simple(types, BSM_TYPE_FLOAT);
  bool any_float = false;
  BSM_TRY_ALLOC(real);
  for (size_t i = first; i < count; i += step) {
    any_float |= values[i]->type == real;
  }
  const bsm_type *type = NULL;
  for (size_t i = first; i < count; i += step) {
    const bsm_type *own =
        any_float && is_int_literal(values[i]) ? real : values[i]->type;
    const bsm_type *both = type ? bsm_type_unify(types, type, own) : own;
    if (!both) {
      return bsm_se_error(e, pos, BSM_CORRUPT,
                          "elements of types %s and %s in one container",
                          bsm_script_type_text(e->script, type),
                          bsm_script_type_text(e->script, own));
    }
    type = both;
  }
  for (size_t i = first; i < count; i += step) {
    BSM_TRY(bsm_se_convert(e, pos, values[i], type, &values[i]));
  }
  *out = type;
  return BSM_OK;
}

static const bsm_type *hinted(const bsm_type *hint, bsm_type_kind kind) {
  if (hint && hint->kind == BSM_TYPE_OPTIONAL) hint = hint->args[0];
  return hint && hint->kind == kind ? hint : NULL;
}

static bsm_status emit_list(bsm_script_emitter *e, const bsm_expr *expr,
                            const bsm_type *hint, bsm_value **out) {
  bsm_value **values = NULL;
  const bsm_type *list = hinted(hint, BSM_TYPE_LIST);
  const bsm_type *elem = list ? list->args[0] : NULL;
  const size_t count = expr->item_count;
  BSM_TRY(emit_items(e, expr, elem, &values));
  if (elem) {
    for (size_t i = 0; i < count; i++) {
      BSM_TRY(
          bsm_se_convert(e, expr->items[i]->pos, values[i], elem, &values[i]));
    }
  } else if (count > 0) {
    BSM_TRY(common_type(e, expr->pos, values, 0, 1, count, &elem));
  } else {
    elem = bsm_type_simple(e->cx->types, BSM_TYPE_TENSOR);
  }
  BSM_TRY_ALLOC(elem);
  return bsm_se_simple(e, expr->pos, "prim::ListConstruct", values, count,
                       bsm_type_list(e->cx->types, elem), out);
}

static bsm_status emit_dict(bsm_script_emitter *e, const bsm_expr *expr,
                            const bsm_type *hint, bsm_value **out) {
  bsm_type_table *types = e->cx->types;
  const bsm_type *dict = hinted(hint, BSM_TYPE_DICT);
  const size_t count = expr->item_count;
  bsm_value **values = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  const bsm_type *key = bsm_type_simple(types, BSM_TYPE_STRING);
  const bsm_type *value = bsm_type_simple(types, BSM_TYPE_TENSOR);
  BSM_TRY_ALLOC(values && key && value);
  for (size_t i = 0; i < count; i++) {
    const bsm_type *wanted = dict ? dict->args[i % 2] : NULL;
    BSM_TRY(bsm_se_value(e, expr->items[i], wanted, &values[i]));
    if (!wanted) continue;
    BSM_TRY(
        bsm_se_convert(e, expr->items[i]->pos, values[i], wanted, &values[i]));
  }
  if (dict) {
    key = dict->args[0];
    value = dict->args[1];
  } else if (count > 0) {
    BSM_TRY(common_type(e, expr->pos, values, 0, 2, count, &key));
    BSM_TRY(common_type(e, expr->pos, values, 1, 2, count, &value));
  }
  return bsm_se_simple(e, expr->pos, "prim::DictConstruct", values, count,
                       bsm_type_dict(types, key, value), out);
}

static bsm_status emit_tuple(bsm_script_emitter *e, const bsm_expr *expr,
                             const bsm_type *hint, bsm_value **out) {
  const bsm_type *tuple = hinted(hint, BSM_TYPE_TUPLE);
  const size_t count = expr->item_count;
  bsm_value **values = BSM_NEW_ARRAY(e->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(values);
  for (size_t i = 0; i < count; i++) {
    const bsm_type *wanted =
        tuple && tuple->arg_count == count ? tuple->args[i] : NULL;
    BSM_TRY(bsm_se_value(e, expr->items[i], wanted, &values[i]));
  }
  return bsm_se_tuple(e, expr->pos, values, count, out);
}

/* ---- subscripts ---- */

/* An index that is not a literal needs elements of one type. */
static bsm_status emit_tuple_at(bsm_script_emitter *e, const bsm_expr *expr,
                                bsm_value *const inputs[2], bsm_value **out) {
  const bsm_type *type = inputs[0]->type;
  bool same = type->arg_count > 0 && inputs[1]->type->kind == BSM_TYPE_INT;
  for (size_t i = 1; i < type->arg_count; i++) {
    same &= type->args[i] == type->args[0];
  }
  if (!same) {
    return bsm_se_error(e, expr->items[1]->pos, BSM_UNSUPPORTED,
                        "the index of a tuple of several types is no literal");
  }
  return bsm_se_simple(e, expr->pos, "prim::TupleIndex", inputs, 2,
                       type->args[0], out);
}

/* The index of a tuple's element; negative ones count from the end. */
static bsm_status emit_tuple_index(bsm_script_emitter *e, const bsm_expr *expr,
                                   bsm_value *tuple, bsm_value **out) {
  const bsm_type *type = tuple->type;
  bsm_value *inputs[2] = {tuple, NULL};
  BSM_TRY(bsm_se_value(e, expr->items[1], NULL, &inputs[1]));
  const bsm_ivalue *index = bsm_value_constant(inputs[1]);
  if (!index || index->tag != BSM_IVALUE_INT) {
    return emit_tuple_at(e, expr, inputs, out);
  }
  const int64_t count = (int64_t)type->arg_count;
  if (index->u.i < -count || index->u.i >= count) {
    return bsm_se_error(e, expr->items[1]->pos, BSM_CORRUPT,
                        "index %lld of a tuple of %lld", (long long)index->u.i,
                        (long long)count);
  }
  const int64_t at = index->u.i < 0 ? index->u.i + count : index->u.i;
  return bsm_se_simple(e, expr->pos, "prim::TupleIndex", inputs, 2,
                       type->args[at], out);
}

/* A module of a ModuleList or ModuleDict: which one, the specialiser knows. */
static bsm_status emit_module_at(bsm_script_emitter *e, const bsm_expr *expr,
                                 bsm_value *modules, const bsm_type *hint,
                                 bsm_value **out) {
  bsm_value *inputs[2] = {modules, NULL};
  const bsm_type *type = hinted(hint, BSM_TYPE_CLASS);
  if (!modules->type->cls || !modules->type->cls->is_module || !type) {
    return bsm_se_error(e, expr->pos, BSM_UNSUPPORTED,
                        "an element of an object of class %s",
                        modules->type->cls ? modules->type->cls->name : "?");
  }
  BSM_TRY(bsm_se_value(e, expr->items[1], NULL, &inputs[1]));
  return bsm_se_simple(e, expr->pos, "prim::ModuleContainerIndex", inputs, 2,
                       type, out);
}

static bsm_status emit_subscript(bsm_script_emitter *e, const bsm_expr *expr,
                                 const bsm_type *hint, bsm_sugar *out) {
  bsm_value *inputs[3];
  bsm_se_args args;
  BSM_TRY(bsm_se_value(e, expr->items[0], NULL, &inputs[0]));
  const bsm_type *type = inputs[0]->type;
  if (type->kind == BSM_TYPE_TUPLE) {
    *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
    return emit_tuple_index(e, expr, inputs[0], &out->value);
  }
  if (type->kind == BSM_TYPE_CLASS) {
    *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
    return emit_module_at(e, expr, inputs[0], hint, &out->value);
  }
  if (type->kind == BSM_TYPE_TENSOR) { /* x[i] along the first dimension */
    BSM_TRY(bsm_se_constant(e, expr->pos, bsm_iv_int(0), NULL, &inputs[1]));
    BSM_TRY(bsm_se_value(e, expr->items[1], NULL, &inputs[2]));
    BSM_TRY(bsm_se_pack(e, inputs, 3, &args));
    return bsm_se_operator(e, "aten::select", expr->pos, &args, out);
  }
  BSM_TRY(bsm_se_value(e, expr->items[1], NULL, &inputs[1]));
  BSM_TRY(bsm_se_pack(e, inputs, 2, &args));
  return bsm_se_operator(e, "aten::__getitem__", expr->pos, &args, out);
}

/* One bound of a tuple's slice: a literal, within the tuple. */
static bsm_status slice_bound(bsm_script_emitter *e, const bsm_expr *bound,
                              int64_t fallback, int64_t count, int64_t *out) {
  bsm_ivalue value = bsm_iv_int(fallback);
  bool is = true;
  if (bound) {
    BSM_TRY(bsm_script_literal(e->file, bound, NULL, &value, &is));
    if (!is || value.tag != BSM_IVALUE_INT) {
      return bsm_se_error(e, bound->pos, BSM_UNSUPPORTED,
                          "the bound of a tuple's slice is no literal");
    }
  }
  *out =
      value.u.i < 0 ? (value.u.i < -count ? 0 : value.u.i + count) : value.u.i;
  if (*out > count) *out = count;
  return BSM_OK;
}

static bsm_status emit_tuple_slice(bsm_script_emitter *e, const bsm_expr *expr,
                                   bsm_value *tuple, bsm_value **out) {
  const int64_t count = (int64_t)tuple->type->arg_count;
  int64_t begin, end;
  bsm_node *node = NULL;
  BSM_TRY(slice_bound(e, expr->items[1], 0, count, &begin));
  BSM_TRY(slice_bound(e, expr->items[2], count, count, &end));
  if (end < begin) end = begin;
  const bsm_type *type = bsm_type_tuple(e->cx->types, tuple->type->args + begin,
                                        (size_t)(end - begin));
  BSM_TRY_ALLOC(type);
  BSM_TRY(
      bsm_se_node(e, expr->pos, "prim::TupleSlice", &tuple, 1, type, &node));
  BSM_TRY(bsm_node_set_attr(node, "beg", bsm_iv_int(begin)));
  BSM_TRY(bsm_node_set_attr(node, "end", bsm_iv_int(end)));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

static bsm_status emit_slice(bsm_script_emitter *e, const bsm_expr *expr,
                             bsm_sugar *out) {
  bsm_value *inputs[4];
  bsm_se_args args;
  size_t count = 1;
  BSM_TRY(bsm_se_value(e, expr->items[0], NULL, &inputs[0]));
  if (inputs[0]->type->kind == BSM_TYPE_TUPLE) {
    *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
    return emit_tuple_slice(e, expr, inputs[0], &out->value);
  }
  if (inputs[0]->type->kind == BSM_TYPE_TENSOR) {
    BSM_TRY(
        bsm_se_constant(e, expr->pos, bsm_iv_int(0), NULL, &inputs[count++]));
  }
  for (size_t i = 1; i <= 2; i++) {
    if (expr->items[i]) {
      BSM_TRY(bsm_se_value(e, expr->items[i], NULL, &inputs[count++]));
    } else {
      BSM_TRY(
          bsm_se_constant(e, expr->pos, bsm_iv_none(), NULL, &inputs[count++]));
    }
  }
  BSM_TRY(bsm_se_pack(e, inputs, count, &args));
  return bsm_se_operator(e, "aten::slice", expr->pos, &args, out);
}

/* ---- all of them ---- */

static bsm_status emit_negative(bsm_script_emitter *e, const bsm_expr *expr,
                                bsm_sugar *out) {
  bsm_value *value = NULL;
  bsm_se_args args;
  BSM_TRY(bsm_se_value(e, expr->items[0], NULL, &value));
  const bsm_ivalue *constant = bsm_value_constant(value);
  if (constant && constant->tag == BSM_IVALUE_DOUBLE) { /* -inf */
    return constant_sugar(e, expr->pos, bsm_iv_double(-constant->u.d), NULL,
                          out);
  }
  BSM_TRY(bsm_se_pack(e, &value, 1, &args));
  return bsm_se_operator(e, "aten::neg", expr->pos, &args, out);
}

/* A None that is wanted as T? is one. */
static bsm_status emit_none(bsm_script_emitter *e, const bsm_expr *expr,
                            const bsm_type *hint, bsm_sugar *out) {
  const bool typed = hint && hint->kind == BSM_TYPE_OPTIONAL;
  return constant_sugar(e, expr->pos, bsm_iv_none(), typed ? hint : NULL, out);
}

static bsm_status emit_expr(bsm_script_emitter *e, const bsm_expr *expr,
                            const bsm_type *hint, bsm_sugar *out) {
  bsm_ivalue literal;
  bool is;
  *out = (bsm_sugar){.kind = BSM_SUGAR_VALUE};
  switch (expr->kind) {
    case BSM_EXPR_NAME:
      return emit_name(e, expr, out);
    case BSM_EXPR_ATTR:
      return emit_attr(e, expr, out);
    case BSM_EXPR_CALL:
      return bsm_se_call(e, expr, out);
    case BSM_EXPR_SUBSCRIPT:
      return emit_subscript(e, expr, hint, out);
    case BSM_EXPR_SLICE:
      return emit_slice(e, expr, out);
    case BSM_EXPR_NEG:
      return emit_negative(e, expr, out);
    case BSM_EXPR_LIST:
      return emit_list(e, expr, hint, &out->value);
    case BSM_EXPR_TUPLE:
      return emit_tuple(e, expr, hint, &out->value);
    case BSM_EXPR_DICT:
      return emit_dict(e, expr, hint, &out->value);
    case BSM_EXPR_NONE:
      return emit_none(e, expr, hint, out);
    case BSM_EXPR_INT:
    case BSM_EXPR_FLOAT:
    case BSM_EXPR_COMPLEX:
    case BSM_EXPR_STRING:
    case BSM_EXPR_BOOL:
      break;
  }
  BSM_TRY(bsm_script_literal(e->file, expr, hint, &literal, &is));
  return constant_sugar(e, expr->pos, literal, NULL, out);
}

bsm_status bsm_se_sugar(bsm_script_emitter *e, const bsm_expr *expr,
                        const bsm_type *hint, bsm_sugar *out) {
  const bsm_status status = bsm_script_enter(e->script, "this expression");
  if (status) return bsm_code_note(&e->file->code, expr->pos, status);
  BSM_TRY(emit_expr(e, expr, hint, out));
  e->script->depth--;
  return BSM_OK;
}
