/* SPDX-License-Identifier: Apache-2.0 */
/* Classes: modules, plain classes, interfaces, NamedTuples, enums. */
#include "torchscript/script_internal.h"

static bool is_base(const bsm_class_def *def, const char *base) {
  return def->base && strcmp(def->base, base) == 0;
}

/* ---- NamedTuple ---- */

static bsm_status make_named_tuple(bsm_script_file *file,
                                   const bsm_class_def *def,
                                   const char *qualified,
                                   const bsm_type **out) {
  bsm_ir_ctx *cx = file->script->cx;
  const char **names = BSM_NEW_ARRAY(cx->arena, const char *, def->field_count);
  const bsm_type **types =
      BSM_NEW_ARRAY(cx->arena, const bsm_type *, def->field_count);
  if (def->field_count) BSM_TRY_ALLOC(names && types);
  /* A tuple has no identity: one that contains itself is no type. */
  BSM_TRY_ALLOC(bsm_strmap_set(cx->arena, &file->script->types,
                               bsm_str_of(qualified), &file->script->absent));
  for (size_t i = 0; i < def->field_count; i++) {
    const bsm_field *field = &def->fields[i];
    if (!field->type) {
      return bsm_code_error(&file->code, field->pos, BSM_CORRUPT,
                            "field '%s' of a NamedTuple without a type",
                            field->name);
    }
    names[i] = field->name;
    BSM_TRY(bsm_script_type(file, field->type, &types[i]));
  }
  *out = bsm_type_named_tuple(cx->types, qualified, names, types,
                              def->field_count);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* ---- fields ---- */

/* An enum item is an object with the slots name and value. */
static bsm_status add_enum_item(bsm_script_file *file, const bsm_field *field,
                                const bsm_type *type) {
  bsm_ir_ctx *cx = file->script->cx;
  bsm_class_constant item = {field->name, {BSM_IVALUE_ENUM, {0}}};
  bool is;
  BSM_TRY(bsm_object_new(cx->arena, type, 2, &item.value.u.object));
  BSM_TRY(bsm_iv_string(cx->arena, bsm_str_of(field->name),
                        &item.value.u.object->slots[0]));
  BSM_TRY(bsm_script_literal(file, field->value, NULL,
                             &item.value.u.object->slots[1], &is));
  if (!is) {
    return bsm_code_error(&file->code, field->pos, BSM_CORRUPT,
                          "an enum value that is no literal");
  }
  BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &type->cls->constants, item));
  return BSM_OK;
}

/* __forward_hooks__ = ["name", ] and its like. */
static bsm_status add_hooks(bsm_script_file *file, const bsm_field *field,
                            bsm_class *cls, bool pre) {
  bsm_ir_ctx *cx = file->script->cx;
  for (size_t i = 0; i < field->value->item_count; i++) {
    const bsm_expr *item = field->value->items[i];
    if (field->value->kind != BSM_EXPR_LIST || item->kind != BSM_EXPR_STRING) {
      return bsm_code_error(&file->code, field->pos, BSM_CORRUPT,
                            "%s is no list of names", field->name);
    }
    const char *name = bsm_intern(&cx->names, item->string);
    BSM_TRY_ALLOC(name);
    BSM_TRY_ALLOC(pre ? bsm_vec_push(cx->arena, &cls->forward_pre_hooks, name)
                      : bsm_vec_push(cx->arena, &cls->forward_hooks, name));
  }
  return BSM_OK;
}

/* NAME : Final[type] = value. What is no literal was folded into the code
 * where it is used, so a constant we cannot read is left out. */
static bsm_status add_constant(bsm_script_file *file, const bsm_field *field,
                               bsm_class *cls) {
  bsm_class_constant constant = {field->name, bsm_iv_none()};
  const bsm_type *type = NULL;
  bool is;
  if (field->type) BSM_TRY(bsm_script_type(file, field->type, &type));
  BSM_TRY(bsm_script_literal(file, field->value, type, &constant.value, &is));
  if (!is) return BSM_OK;
  BSM_TRY_ALLOC(
      bsm_vec_push(file->script->cx->arena, &cls->constants, constant));
  return BSM_OK;
}

/* Remembers a member's name; one that is there already is an error. */
static bsm_status add_name(bsm_script_file *file, bsm_code_pos pos,
                           const char *name, bsm_strmap *names) {
  if (bsm_strmap_get(names, bsm_str_of(name))) {
    return bsm_code_error(&file->code, pos, BSM_CORRUPT,
                          "'%s' is declared twice", name);
  }
  BSM_TRY_ALLOC(
      bsm_strmap_set(file->script->cx->arena, names, bsm_str_of(name), names));
  return BSM_OK;
}

static bsm_status add_field(bsm_script_file *file, const bsm_field *field,
                            const bsm_type *type, bsm_strmap *names) {
  bsm_class *cls = type->cls;
  if (field->value) {
    if (cls->is_enum) return add_enum_item(file, field, type);
    if (strcmp(field->name, "__forward_hooks__") == 0) {
      return add_hooks(file, field, cls, false);
    }
    if (strcmp(field->name, "__forward_pre_hooks__") == 0) {
      return add_hooks(file, field, cls, true);
    }
    /* These only classify attributes. */
    if (strcmp(field->name, "__parameters__") == 0 ||
        strcmp(field->name, "__buffers__") == 0) {
      return BSM_OK;
    }
    return add_constant(file, field, cls);
  }
  bsm_attribute attribute = {field->name, NULL};
  BSM_TRY(add_name(file, field->pos, field->name, names));
  BSM_TRY(bsm_script_type(file, field->type, &attribute.type));
  BSM_TRY_ALLOC(
      bsm_vec_push(file->script->cx->arena, &cls->attributes, attribute));
  return BSM_OK;
}

static bsm_status add_methods(bsm_script_file *file, const bsm_class_def *def,
                              const bsm_type *type, bsm_strmap *names) {
  for (size_t i = 0; i < def->method_count; i++) {
    bsm_function *fn = NULL;
    BSM_TRY(add_name(file, def->methods[i]->pos, def->methods[i]->name, names));
    BSM_TRY(bsm_script_fn_new(file, def->methods[i], type, type->name, &fn));
    BSM_TRY_ALLOC(
        bsm_vec_push(file->script->cx->arena, &type->cls->methods, fn));
  }
  return BSM_OK;
}

bsm_status bsm_script_make_class(bsm_script_file *file,
                                 const bsm_class_def *def,
                                 const char *qualified, const bsm_type **out) {
  bsm_script *script = file->script;
  if (is_base(def, "NamedTuple")) {
    return make_named_tuple(file, def, qualified, out);
  }
  const bsm_type *type = bsm_type_class(script->cx->types, qualified);
  BSM_TRY_ALLOC(type);
  type->cls->is_module = is_base(def, "Module");
  type->cls->is_enum = is_base(def, "Enum");
  type->cls->is_interface =
      is_base(def, "Interface") || is_base(def, "ModuleInterface");
  if (def->base && !type->cls->is_module && !type->cls->is_enum &&
      !type->cls->is_interface) {
    return bsm_code_error(&file->code, def->pos, BSM_UNSUPPORTED,
                          "a class of kind '%s'", def->base);
  }
  /* Known from here on: its own members may mention it. */
  BSM_TRY_ALLOC(bsm_strmap_set(script->cx->arena, &script->types,
                               bsm_str_of(qualified), (void *)(uintptr_t)type));
  bsm_strmap attributes = {0}, methods = {0};
  BSM_TRY(add_methods(file, def, type, &methods));
  for (size_t i = 0; i < def->field_count; i++) {
    BSM_TRY(add_field(file, &def->fields[i], type, &attributes));
  }
  *out = type;
  return BSM_OK;
}
