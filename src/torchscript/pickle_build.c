/* SPDX-License-Identifier: Apache-2.0 */
/* REDUCE and BUILD: typed lists, devices, enums, objects; and the types that
 * a pickle leaves open, restored from the declarations in code/.
 *
 * Archives of version 1 and 2 do not say what a list or dict holds, and no
 * version names a NamedTuple. The declared type of the attribute does, so it
 * is pushed down into the value, which checks the value on the way: behind
 * this file, a slot holds what its class says. */
#include "ir/graph.h"
#include "quantized/packed_params.h"
#include "torchscript/pickle_internal.h"

/* ---- types ---- */

static bsm_status mismatch(pickle_machine *m, const bsm_ivalue *v,
                           const bsm_type *type) {
  bsm_text text;
  bsm_text_init(&text, &m->scratch);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_PYTHON);
  return BSM_FAIL(BSM_CORRUPT, "%s where %.300s is declared",
                  bsm_pickle_kind(v), text.data);
}

static bsm_status apply(pickle_machine *m, bsm_ivalue *v, const bsm_type *type,
                        unsigned depth);

static bsm_status apply_list(pickle_machine *m, bsm_ivalue *v,
                             const bsm_type *type, unsigned depth) {
  if (v->tag != BSM_IVALUE_LIST) return mismatch(m, v, type);
  bsm_list *list = v->u.list;
  const bsm_type *elem = type->args[0];
  if (list->elem_type == elem) return BSM_OK; /* was checked before */
  if (list->elem_type) return mismatch(m, v, type);
  for (size_t i = 0; i < list->len; i++) {
    BSM_TRY(apply(m, &list->items[i], elem, depth));
  }
  list->elem_type = elem;
  return BSM_OK;
}

static bsm_status apply_dict(pickle_machine *m, bsm_ivalue *v,
                             const bsm_type *type, unsigned depth) {
  if (v->tag != BSM_IVALUE_DICT) return mismatch(m, v, type);
  bsm_dict *dict = v->u.dict;
  const bsm_type *key = type->args[0], *value = type->args[1];
  if (dict->key_type == key && dict->value_type == value) return BSM_OK;
  if (dict->key_type || dict->value_type) return mismatch(m, v, type);
  for (size_t i = 0; i < dict->len; i++) {
    BSM_TRY(apply(m, &dict->keys[i], key, depth));
    BSM_TRY(apply(m, &dict->values[i], value, depth));
  }
  dict->key_type = key;
  dict->value_type = value;
  return BSM_OK;
}

static bsm_status apply_tuple(pickle_machine *m, bsm_ivalue *v,
                              const bsm_type *type, unsigned depth) {
  if (v->tag != BSM_IVALUE_TUPLE || v->u.tuple->len != type->arg_count) {
    return mismatch(m, v, type);
  }
  bsm_tuple *tuple = v->u.tuple;
  if (type->name && tuple->type && tuple->type != type) {
    return mismatch(m, v, type);
  }
  for (size_t i = 0; i < tuple->len; i++) {
    BSM_TRY(apply(m, &tuple->items[i], type->args[i], depth));
  }
  if (type->name) tuple->type = type;
  return BSM_OK;
}

/* The first alternative that fits. */
static bsm_status apply_union(pickle_machine *m, bsm_ivalue *v,
                              const bsm_type *type, unsigned depth) {
  for (size_t i = 0; i < type->arg_count; i++) {
    const bsm_status status = apply(m, v, type->args[i], depth);
    const bsm_code code = bsm_status_code(status);
    if (code != BSM_CORRUPT) return status;
    bsm_status_free(status);
  }
  return mismatch(m, v, type);
}

static bool class_fits(const bsm_ivalue *v, const bsm_type *type) {
  const bsm_class *cls = type->cls;
  if (cls && cls->is_enum) {
    return v->tag == BSM_IVALUE_ENUM && v->u.object->type == type;
  }
  if (v->tag != BSM_IVALUE_OBJECT) return false;
  return v->u.object->type == type || (cls && cls->is_interface);
}

static bool simple_fits(const bsm_ivalue *v, bsm_type_kind kind) {
  switch (kind) {
    case BSM_TYPE_ANY:
      return true;
    case BSM_TYPE_TENSOR:
      return v->tag == BSM_IVALUE_TENSOR;
    case BSM_TYPE_INT:
      return v->tag == BSM_IVALUE_INT;
    case BSM_TYPE_FLOAT:
      return v->tag == BSM_IVALUE_DOUBLE;
    case BSM_TYPE_BOOL:
      return v->tag == BSM_IVALUE_BOOL;
    case BSM_TYPE_COMPLEX:
      return v->tag == BSM_IVALUE_COMPLEX;
    case BSM_TYPE_NUMBER:
      return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
             v->tag == BSM_IVALUE_BOOL || v->tag == BSM_IVALUE_COMPLEX;
    case BSM_TYPE_STRING:
      return v->tag == BSM_IVALUE_STRING;
    case BSM_TYPE_DEVICE:
      return v->tag == BSM_IVALUE_DEVICE;
    case BSM_TYPE_NONE:
      return v->tag == BSM_IVALUE_NONE;
    case BSM_TYPE_QSCHEME: /* an int in files */
      return v->tag == BSM_IVALUE_INT;
    default:
      return false;
  }
}

static bsm_status apply(pickle_machine *m, bsm_ivalue *v, const bsm_type *type,
                        unsigned depth) {
  BSM_TRY(bsm_pickle_charge(m, 1));
  /* The height of the value does not bound Optional[Optional[...]]. */
  if (depth > m->limits.max_depth * 2) {
    return BSM_FAIL(BSM_LIMIT, "a type that nests deeper than %llu, the limit",
                    (unsigned long long)m->limits.max_depth);
  }
  depth++;
  switch (type->kind) {
    case BSM_TYPE_OPTIONAL:
      if (v->tag == BSM_IVALUE_NONE) return BSM_OK;
      return apply(m, v, type->args[0], depth);
    case BSM_TYPE_LIST:
      return apply_list(m, v, type, depth);
    case BSM_TYPE_DICT:
      return apply_dict(m, v, type, depth);
    case BSM_TYPE_TUPLE:
      return apply_tuple(m, v, type, depth);
    case BSM_TYPE_UNION:
      return apply_union(m, v, type, depth);
    case BSM_TYPE_CLASS:
      return class_fits(v, type) ? BSM_OK : mismatch(m, v, type);
    default:
      return simple_fits(v, type->kind) ? BSM_OK : mismatch(m, v, type);
  }
}

bsm_status bsm_pickle_apply_type(pickle_machine *m, bsm_ivalue *v,
                                 const bsm_type *type) {
  return apply(m, v, type, 0);
}

/* ---- REDUCE ---- */

static bsm_status typed_list(pickle_machine *m, const bsm_ivalue *arg,
                             bsm_type_kind kind, bsm_ivalue *out) {
  const bsm_type *elem = bsm_type_simple(m->types, kind);
  const bsm_type *type = elem ? bsm_type_list(m->types, elem) : NULL;
  BSM_TRY_ALLOC(type);
  *out = *arg;
  return bsm_pickle_apply_type(m, out, type);
}

static bsm_status type_tag(pickle_machine *m, const bsm_ivalue *args,
                           bsm_ivalue *out) {
  if ((args[0].tag != BSM_IVALUE_LIST && args[0].tag != BSM_IVALUE_DICT) ||
      args[1].tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_CORRUPT, "restore_type_tag of %s and %s",
                    bsm_pickle_kind(&args[0]), bsm_pickle_kind(&args[1]));
  }
  if (!m->hooks->parse_type) {
    return BSM_FAIL(BSM_CORRUPT, "restore_type_tag where no types can be");
  }
  const bsm_type *type = NULL;
  BSM_TRY(m->hooks->parse_type(m->hooks->user, *args[1].u.s, &type));
  *out = args[0];
  return bsm_pickle_apply_type(m, out, type);
}

static bsm_status make_device(const bsm_ivalue *arg, bsm_ivalue *out) {
  if (arg->tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_CORRUPT, "torch.device of %s", bsm_pickle_kind(arg));
  }
  *out = (bsm_ivalue){.tag = BSM_IVALUE_DEVICE};
  return bsm_pickle_parse_device(*arg->u.s, &out->u.device);
}

static bsm_status make_complex(const bsm_ivalue *args, bsm_ivalue *out) {
  if (args[0].tag != BSM_IVALUE_DOUBLE || args[1].tag != BSM_IVALUE_DOUBLE) {
    return BSM_FAIL(BSM_CORRUPT, "complex of %s and %s",
                    bsm_pickle_kind(&args[0]), bsm_pickle_kind(&args[1]));
  }
  *out = (bsm_ivalue){.tag = BSM_IVALUE_COMPLEX,
                      .u.c = {args[0].u.d, args[1].u.d}};
  return BSM_OK;
}

/* (function, class, arguments, attributes): a tensor with attributes of
 * Python's, which mean nothing here. */
static bsm_status rebuild_from_type(pickle_machine *m, const bsm_ivalue *args,
                                    bsm_ivalue *out) {
  const pickle_private *function = bsm_pickle_as(&args[0], PICKLE_FUNCTION);
  if (!function || function->u.function == PICKLE_REBUILD_FROM_TYPE ||
      !bsm_pickle_as(&args[1], PICKLE_TENSOR_TYPE)) {
    return BSM_FAIL(BSM_CORRUPT, "a tensor made from %s and %s",
                    bsm_pickle_kind(&args[0]), bsm_pickle_kind(&args[1]));
  }
  BSM_TRY(bsm_pickle_reduce(m, &args[0], &args[2], out));
  if (out->tag == BSM_IVALUE_TENSOR) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "a tensor that is %s", bsm_pickle_kind(out));
}

/* (tensor, requires_grad, hooks[, attributes]) */
static bsm_status rebuild_parameter(const bsm_ivalue *args, bsm_ivalue *out) {
  if (args[0].tag != BSM_IVALUE_TENSOR || args[1].tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_CORRUPT, "a parameter made from %s and %s",
                    bsm_pickle_kind(&args[0]), bsm_pickle_kind(&args[1]));
  }
  *out = args[0];
  return BSM_OK;
}

static bsm_status call(pickle_machine *m, pickle_function function,
                       const bsm_tuple *args, bsm_ivalue *out) {
  const bsm_ivalue *arg = args->items;
  switch (function) {
    case PICKLE_REBUILD_TENSOR:
      return bsm_pickle_rebuild_tensor(m, args, out);
    case PICKLE_REBUILD_QTENSOR:
      return bsm_pickle_rebuild_qtensor(m, args, out);
    case PICKLE_REBUILD_SPARSE:
      return BSM_FAIL(BSM_UNSUPPORTED, "sparse tensors are not supported");
    case PICKLE_REBUILD_PARAMETER:
    case PICKLE_REBUILD_PARAMETER_WITH_STATE:
      return rebuild_parameter(arg, out);
    case PICKLE_REBUILD_FROM_TYPE:
      return rebuild_from_type(m, arg, out);
    case PICKLE_INT_LIST:
      return typed_list(m, arg, BSM_TYPE_INT, out);
    case PICKLE_DOUBLE_LIST:
      return typed_list(m, arg, BSM_TYPE_FLOAT, out);
    case PICKLE_BOOL_LIST:
      return typed_list(m, arg, BSM_TYPE_BOOL, out);
    case PICKLE_TENSOR_LIST:
      return typed_list(m, arg, BSM_TYPE_TENSOR, out);
    case PICKLE_TYPE_TAG:
      return type_tag(m, arg, out);
    case PICKLE_DEVICE:
      return make_device(arg, out);
    case PICKLE_COMPLEX:
      return make_complex(arg, out);
    case PICKLE_ORDERED_DICT:
      return bsm_pickle_new_dict(m, out);
  }
  return BSM_FAIL(BSM_INTERNAL, "unknown function %d", (int)function);
}

static bsm_status new_object(pickle_machine *m, const bsm_type *type,
                             size_t slots, pickle_object **out) {
  pickle_object *body = BSM_NEW(m->arena, pickle_object);
  BSM_TRY_ALLOC(body);
  body->object.type = type;
  body->object.len = slots;
  body->object.slots = BSM_NEW_ARRAY(m->arena, bsm_ivalue, slots);
  BSM_TRY_ALLOC(body->object.slots);
  body->meta.height = 1;
  *out = body;
  return BSM_OK;
}

/* The item of an enum class with that value: slots name and value. */
static bsm_status make_enum(pickle_machine *m, const bsm_type *type,
                            const bsm_ivalue *value, bsm_ivalue *out) {
  const bsm_class *cls = type->cls;
  for (size_t i = 0; i < cls->constants.len; i++) {
    const bsm_class_constant *item = &cls->constants.items[i];
    /* The constant may be the bare value, or already the enum item. */
    const bsm_ivalue *bare =
        item->value.tag == BSM_IVALUE_ENUM && item->value.u.object->len == 2
            ? &item->value.u.object->slots[1]
            : &item->value;
    if (bare->tag != value->tag || !bsm_iv_equal(bare, value)) continue;
    pickle_object *body;
    BSM_TRY(new_object(m, type, 2, &body));
    body->meta.sealed = true;
    BSM_TRY(bsm_iv_string(m->arena, bsm_str_of(item->name),
                          &body->object.slots[0]));
    body->object.slots[1] = *bare;
    *out = (bsm_ivalue){BSM_IVALUE_ENUM, {.object = &body->object}};
    return BSM_OK;
  }
  return BSM_FAIL(BSM_CORRUPT, "enum %s has no item of that value", cls->name);
}

bsm_status bsm_pickle_reduce(pickle_machine *m, const bsm_ivalue *callee,
                             const bsm_ivalue *arg, bsm_ivalue *out) {
  const pickle_private *cls = bsm_pickle_as(callee, PICKLE_CLASS);
  if (cls && cls->u.cls->cls->is_enum) {
    return make_enum(m, cls->u.cls, arg, out);
  }
  const pickle_private *function = bsm_pickle_as(callee, PICKLE_FUNCTION);
  if (!function) {
    return BSM_FAIL(BSM_CORRUPT, "calls %s", bsm_pickle_kind(callee));
  }
  const pickle_private *private_args = bsm_pickle_as(arg, PICKLE_ARGS);
  const bsm_tuple *args = private_args                   ? &private_args->u.args
                          : arg->tag == BSM_IVALUE_TUPLE ? arg->u.tuple
                                                         : NULL;
  if (!args) {
    return BSM_FAIL(BSM_CORRUPT, "calls a function with %s",
                    bsm_pickle_kind(arg));
  }
  size_t least, most;
  const char *name =
      bsm_pickle_function_arity(function->u.function, &least, &most);
  if (args->len < least || args->len > most) {
    return BSM_FAIL(BSM_CORRUPT, "calls %s with %zu arguments", name,
                    args->len);
  }
  BSM_TRY_NOTE(call(m, function->u.function, args, out), "in %s", name);
  return BSM_OK;
}

/* ---- BUILD ---- */

/* The position of an attribute in the state: writers keep the order. */
static size_t find_attribute(const pickle_dict *state, const char *name,
                             size_t guess) {
  const bsm_dict *dict = &state->dict;
  const bsm_str text = bsm_str_of(name);
  if (guess < dict->len && bsm_str_eq(*dict->keys[guess].u.s, text)) {
    return guess;
  }
  const bsm_ivalue key = {BSM_IVALUE_STRING, {.s = &text}};
  return bsm_pickle_dict_find(state, &key);
}

/* Fills the slots from a dict of all attributes. */
static bsm_status fill_slots(pickle_machine *m, pickle_object *body,
                             const bsm_ivalue *state) {
  const bsm_class *cls = body->object.type->cls;
  if (state->tag != BSM_IVALUE_DICT) {
    return BSM_FAIL(BSM_CORRUPT, "the state of class %s is %s", cls->name,
                    bsm_pickle_kind(state));
  }
  pickle_dict *dict = (pickle_dict *)state->u.dict;
  if (dict->dict.len && dict->dict.keys[0].tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_CORRUPT, "the state of class %s is no attributes",
                    cls->name);
  }
  bool *known = BSM_NEW_ARRAY(&m->scratch, bool, dict->dict.len);
  BSM_TRY_ALLOC(known);
  for (size_t i = 0; i < cls->attributes.len; i++) {
    const bsm_attribute *attribute = &cls->attributes.items[i];
    const size_t at = find_attribute(dict, attribute->name, i);
    if (at == dict->dict.len) {
      return BSM_FAIL(BSM_CORRUPT, "attribute \"%s\" of class %s is missing",
                      attribute->name, cls->name);
    }
    known[at] = true;
    bsm_ivalue *slot = &body->object.slots[i];
    *slot = dict->dict.values[at];
    BSM_TRY_NOTE(bsm_pickle_apply_type(m, slot, attribute->type),
                 "in attribute \"%s\" of class %s", attribute->name, cls->name);
    BSM_TRY(bsm_pickle_put(m, slot, &body->meta.height));
  }
  for (size_t i = 0; i < dict->dict.len; i++) {
    const bsm_str name = *dict->dict.keys[i].u.s;
    if (known[i]) continue;
    return BSM_FAIL(BSM_CORRUPT, "class %s has no attribute \"%.*s\"",
                    cls->name, name.len < 60 ? (int)name.len : 60, name.data);
  }
  return BSM_OK;
}

/* Lets the owner run __setstate__, and checks what it left behind. */
static bsm_status run_set_state(pickle_machine *m, pickle_object *body,
                                const bsm_function *method,
                                const bsm_ivalue *state) {
  const bsm_class *cls = body->object.type->cls;
  bsm_ivalue argument = *state;
  BSM_TRY(bsm_pickle_put(m, &argument, &body->meta.height));
  const bsm_schema *schema = method->schema;
  if (schema && schema->arg_count == 2) {
    BSM_TRY_NOTE(bsm_pickle_apply_type(m, &argument, schema->args[1].type),
                 "in the state of class %s", cls->name);
  }
  if (!m->hooks->set_state) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "objects of class %s are restored by its __setstate__, "
                    "which cannot be run here",
                    cls->name);
  }
  BSM_TRY(m->hooks->set_state(m->hooks->user, &body->object, argument));
  for (size_t i = 0; i < cls->attributes.len; i++) {
    const bsm_attribute *attribute = &cls->attributes.items[i];
    /* What a call leaves that could not be computed. */
    if (body->object.slots[i].tag == BSM_IVALUE_CONTAINER) {
      return BSM_FAIL(
          BSM_UNSUPPORTED,
          "attribute \"%s\" of class %s is made by an operator "
          "that cannot run when loading (quantized modules pack their "
          "weights so: convert the model back to floats)",
          attribute->name, cls->name);
    }
    BSM_TRY_NOTE(
        bsm_pickle_apply_type(m, &body->object.slots[i], attribute->type),
        "in attribute \"%s\" of class %s, after its __setstate__",
        attribute->name, cls->name);
  }
  return BSM_OK;
}

/* Packed parameters have no code, but states that are known. */
static bsm_status build_packed(pickle_machine *m, const bsm_type *type,
                               const bsm_ivalue *state, bsm_ivalue *out) {
  bsm_ivalue made;
  pickle_object *body = NULL;
  uint32_t height = 1;
  BSM_TRY(bsm_pickle_put(m, state, &height));
  BSM_TRY(bsm_packed_from_state(m->arena, bsm_str_of(type->cls->name), state,
                                &made));
  BSM_TRY(new_object(m, type, made.u.object->len, &body));
  memcpy(body->object.slots, made.u.object->slots,
         body->object.len * sizeof(bsm_ivalue));
  body->meta.height = height;
  *out = bsm_iv_object(&body->object);
  return BSM_OK;
}

bsm_status bsm_pickle_build(pickle_machine *m, const bsm_type *type,
                            const bsm_ivalue *state, bsm_ivalue *out) {
  const bsm_class *cls = type->cls;
  pickle_object *body = NULL;
  if (cls->is_enum) {
    return BSM_FAIL(BSM_CORRUPT, "an instance of enum %s with a state",
                    cls->name);
  }
  if (bsm_is_packed_class(bsm_str_of(cls->name))) {
    return build_packed(m, type, state, out);
  }
  BSM_TRY(new_object(m, type, cls->attributes.len, &body));
  const bsm_function *set_state = bsm_class_find_method(cls, "__setstate__");
  if (set_state && bsm_class_find_method(cls, "__getstate__")) {
    BSM_TRY(run_set_state(m, body, set_state, state));
  } else {
    BSM_TRY(fill_slots(m, body, state));
  }
  *out = bsm_iv_object(&body->object);
  return BSM_OK;
}
