/* SPDX-License-Identifier: Apache-2.0 */
/* From abstract values to values of the residual graph, and its nodes. */
#include "lowering/specialize/specialize.h"

bool bsm_spec_visible(const bsm_spec *s, const bsm_value *value) {
  if (!value->node || value->node->block == s->graph->block) {
    return true;
  }
  for (size_t i = s->open_blocks.len; i-- > 0;) {
    if (s->open_blocks.items[i] == value->node->block) {
      return true;
    }
  }
  return false;
}

const bsm_type *bsm_spec_tensor_type(bsm_spec *s, const bsm_tensor *t) {
  return bsm_type_tensor(s->cx->types, t->dtype, t->sizes);
}

/* T? -> T, int[2] -> int[] */
static const bsm_type *plain_type(bsm_spec *s, const bsm_type *type) {
  while (type && type->kind == BSM_TYPE_OPTIONAL) {
    type = type->args[0];
  }
  if (type && type->kind == BSM_TYPE_LIST && type->size > 0) {
    type = bsm_type_list(s->cx->types, type->args[0]);
  }
  return type;
}

static bool is_open_type(const bsm_type *type) {
  return !type || type->kind == BSM_TYPE_VAR || type->kind == BSM_TYPE_ANY ||
         type->kind == BSM_TYPE_NUMBER;
}

/* A node that makes a container of the residual values of `items`. */
static bsm_status construct(bsm_spec *s, const char *kind,
                            const bsm_ivalue *items, size_t n,
                            const bsm_type *item_type, const bsm_type *type,
                            bsm_value **out) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->graph, kind, &node));
  for (size_t i = 0; i < n; i++) {
    bsm_value *value = NULL;
    BSM_TRY(bsm_spec_residual(s, &items[i], item_type, &value));
    BSM_TRY(bsm_node_add_input(node, value));
  }
  BSM_TRY(bsm_node_add_output(node, type, out));
  bsm_ir_link(&e, node);
  return BSM_OK;
}

/* The type of the items where the list itself does not tell it. */
static const bsm_type *item_type(bsm_spec *s, const bsm_list *list) {
  const bsm_type *type = NULL;
  for (size_t i = 0; i < list->len; i++) {
    const bsm_type *own = bsm_spec_type_of(s, &list->items[i]);
    type = type && own && type != own ? bsm_type_unify(s->cx->types, type, own)
                                      : own;
    if (!type) break;
  }
  return type && !is_open_type(type) && type->kind != BSM_TYPE_TENSOR
             ? type
             : bsm_type_simple(s->cx->types, BSM_TYPE_TENSOR);
}

static bsm_status residual_list(bsm_spec *s, const bsm_list *list,
                                const bsm_type *type, bsm_value **out) {
  type = plain_type(s, type);
  const bsm_type *elem = type && type->kind == BSM_TYPE_LIST &&
                                 !is_open_type(type->args[0]) &&
                                 !bsm_type_has_vars(type->args[0])
                             ? type->args[0]
                             : list->elem_type;
  if (!elem || bsm_type_has_vars(elem)) {
    elem = item_type(s, list);
  }
  const bsm_type *list_type = bsm_type_list(s->cx->types, elem);
  BSM_TRY_ALLOC(list_type);
  return construct(s, "prim::ListConstruct", list->items, list->len, elem,
                   list_type, out);
}

static bsm_status residual_dict(bsm_spec *s, const bsm_dict *dict,
                                const bsm_type *type, bsm_value **out) {
  type = plain_type(s, type);
  if (!type || type->kind != BSM_TYPE_DICT || is_open_type(type->args[1])) {
    const bsm_ivalue value = {.tag = BSM_IVALUE_DICT,
                              .u = {.dict = (bsm_dict *)(uintptr_t)dict}};
    type = dict->key_type && dict->value_type
               ? bsm_type_dict(s->cx->types, dict->key_type, dict->value_type)
               : bsm_type_of_value(s->cx->types, &value);
  }
  BSM_TRY_ALLOC(type);
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->graph, "prim::DictConstruct", &node));
  for (size_t i = 0; i < dict->len; i++) {
    bsm_value *key = NULL, *value = NULL;
    BSM_TRY(bsm_spec_residual(s, &dict->keys[i], NULL, &key));
    BSM_TRY(bsm_spec_residual(
        s, &dict->values[i], type->kind == BSM_TYPE_DICT ? type->args[1] : NULL,
        &value));
    BSM_TRY(bsm_node_add_input(node, key));
    BSM_TRY(bsm_node_add_input(node, value));
  }
  BSM_TRY(bsm_node_add_output(node, type, out));
  bsm_ir_link(&e, node);
  return BSM_OK;
}

static bsm_status residual_tuple(bsm_spec *s, const bsm_ivalue *value,
                                 bsm_value **out) {
  const bsm_type *type = bsm_spec_type_of(s, value);
  BSM_TRY_ALLOC(type);
  return construct(s, "prim::TupleConstruct", value->u.tuple->items,
                   value->u.tuple->len, NULL, type, out);
}

static bsm_status residual_constant(bsm_spec *s, const bsm_ivalue *value,
                                    const bsm_type *type, bsm_value **out) {
  const bsm_emitter e = bsm_spec_emitter(s);
  type = plain_type(s, type);
  const bool typed = value->tag == BSM_IVALUE_LIST && type &&
                     type->kind == BSM_TYPE_LIST &&
                     !is_open_type(type->args[0]);
  if (value->tag == BSM_IVALUE_LIST) {
    /* A snapshot: the list may be appended to later. */
    const bsm_list *from = value->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->cx->arena, from->elem_type, from->len, &list));
    if (from->len) {
      memcpy(list->items, from->items, from->len * sizeof(*from->items));
    }
    if (typed) {
      list->elem_type = type->args[0];
    }
    return bsm_ir_constant(&e, bsm_iv_list(list), typed ? type : NULL, out);
  }
  return bsm_ir_constant(&e, *value, NULL, out);
}

static bool holds_tensors(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_LIST) {
    const bsm_type *elem = v->u.list->elem_type;
    if (elem && elem->kind == BSM_TYPE_OPTIONAL) {
      elem = elem->args[0];
    }
    if (elem && elem->kind == BSM_TYPE_TENSOR) {
      return true;
    }
    for (size_t i = 0; i < v->u.list->len; i++) {
      if (v->u.list->items[i].tag == BSM_IVALUE_TENSOR) {
        return true;
      }
    }
  }
  return false;
}

/* Whether there is a container inside that the run makes: constants of a graph
 * hold no dicts, and lists only where they have no identity. */
static bool holds_containers(const bsm_spec *s, const bsm_ivalue *v,
                             size_t depth) {
  const bsm_ivalue *items = v->tag == BSM_IVALUE_LIST    ? v->u.list->items
                            : v->tag == BSM_IVALUE_TUPLE ? v->u.tuple->items
                                                         : NULL;
  const size_t n = v->tag == BSM_IVALUE_LIST    ? v->u.list->len
                   : v->tag == BSM_IVALUE_TUPLE ? v->u.tuple->len
                                                : 0;
  bool found = v->tag == BSM_IVALUE_DICT ||
               (v->tag == BSM_IVALUE_LIST && s->literal && depth > 0);
  for (size_t i = 0; i < n && !found && depth < BSM_TYPE_MAX_DEPTH; i++) {
    found = holds_containers(s, &items[i], depth + 1);
  }
  return found;
}

/* What a closed region left of a tensor or box, or NULL. */
static bsm_value *left_by_region(const bsm_spec *s, const bsm_ivalue *value) {
  return s->reading ? bsm_ptrmap_get(&s->reading->values, value->u.container)
                    : NULL;
}

bsm_status bsm_spec_residual_items(bsm_spec *s, const bsm_ivalue *container,
                                   const bsm_type *type, bsm_value **out) {
  bsm_spec_leaves leaves = {false, false};
  if (container->tag == BSM_IVALUE_DICT) {
    return residual_dict(s, container->u.dict, type, out);
  }
  BSM_TRY(bsm_spec_scan(s, container, 0, &leaves));
  if (leaves.meta || leaves.symbol || holds_tensors(container) ||
      holds_containers(s, container, 0) ||
      (type && type->kind == BSM_TYPE_LIST &&
       type->args[0]->kind == BSM_TYPE_TENSOR)) {
    return residual_list(s, container->u.list, type, out);
  }
  return residual_constant(s, container, type, out);
}

bsm_status bsm_spec_residual(bsm_spec *s, const bsm_ivalue *value,
                             const bsm_type *type, bsm_value **out) {
  const bool container =
      value->tag == BSM_IVALUE_LIST || value->tag == BSM_IVALUE_DICT;
  if (s->literal && container) {
    BSM_TRY(bsm_spec_box_up(s, value)); /* it has identity */
  }
  const bsm_spec_box *box = bsm_spec_box_find(s, value);
  if (box || value->tag == BSM_IVALUE_TENSOR || bsm_spec_is_symbol(value)) {
    *out = left_by_region(s, value);
    if (*out) {
      return BSM_OK;
    }
  }
  if (box) {
    *out = box->value;
    return BSM_OK;
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      return bsm_spec_tensor_value(s, value->u.tensor, out);
    case BSM_IVALUE_CONTAINER:
      return bsm_spec_symbol_value(s, value, out);
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_FUNCTION:
    case BSM_IVALUE_ENUM:
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "a value of kind %s would be needed when the engine runs",
                      bsm_iv_tag_name(value->tag));
    case BSM_IVALUE_LIST:
    case BSM_IVALUE_DICT:
      return bsm_spec_residual_items(s, value, type, out);
    case BSM_IVALUE_TUPLE:
      return residual_tuple(s, value, out);
    default:
      return residual_constant(s, value, type, out);
  }
}

static const char *output_name(const bsm_spec *s, size_t i, size_t n) {
  const bsm_node *node = s->node;
  if (!node || node->outputs.len != n || i >= n) {
    return NULL;
  }
  return bsm_node_out(node, i)->debug_name;
}

/* The outputs of a Tensor[] node, unpacked. */
static bsm_status bind_list(bsm_spec *s, bsm_value *value, bsm_list *list) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_node *unpack = NULL;
  BSM_TRY(bsm_node_create(s->graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < list->len; i++) {
    if (list->items[i].tag != BSM_IVALUE_TENSOR) {
      return BSM_FAIL(BSM_INTERNAL, "a list of results holds a %s",
                      bsm_iv_tag_name(list->items[i].tag));
    }
    bsm_tensor *t = list->items[i].u.tensor;
    const bsm_type *type = bsm_spec_tensor_type(s, t);
    BSM_TRY_ALLOC(type);
    bsm_value *item = NULL;
    BSM_TRY(bsm_node_add_output(unpack, type, &item));
    BSM_TRY(bsm_spec_bind_base(s, t, item));
  }
  bsm_ir_link(&e, unpack);
  return BSM_OK;
}

/* The type of output `i` where nothing better is known. */
static const bsm_type *declared_type(const bsm_spec *s,
                                     const bsm_schema *schema, size_t i) {
  const bsm_type *type =
      i < schema->return_count ? schema->returns[i].type : NULL;
  if (s->node && s->node->schema == schema && i < s->node->outputs.len) {
    const bsm_type *of_node = bsm_node_out(s->node, i)->type;
    if (of_node && (!type || type->kind != BSM_TYPE_TENSOR)) {
      return of_node;
    }
  }
  return type;
}

static bsm_status bind_output(bsm_spec *s, const bsm_schema *schema, size_t i,
                              size_t n, bsm_value *value, bsm_ivalue *out) {
  const char *name = output_name(s, i, n);
  if (name) {
    BSM_TRY(bsm_value_set_name(s->graph, value, name));
  }
  if (out->tag == BSM_IVALUE_TENSOR) {
    value->type = bsm_spec_tensor_type(s, out->u.tensor);
    BSM_TRY_ALLOC(value->type);
    return bsm_spec_bind_base(s, out->u.tensor, value);
  }
  if (out->tag == BSM_IVALUE_LIST) {
    return bind_list(s, value, out->u.list);
  }
  value->type = declared_type(s, schema, i);
  if (!value->type) {
    value->type = bsm_type_simple(s->cx->types, BSM_TYPE_ANY);
  }
  return bsm_spec_new_symbol(s, value, value->type, out);
}

bsm_status bsm_spec_emit(bsm_spec *s, const bsm_schema *schema,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_value **inputs = BSM_NEW_ARRAY(s->stack, bsm_value *, n + 1);
  BSM_TRY_ALLOC(inputs);
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = i < schema->arg_count ? schema->args[i].type : NULL;
    BSM_TRY(s->literal
                ? bsm_spec_literal_argument(s, &args[i], type, &inputs[i])
                : bsm_spec_residual(s, &args[i], type, &inputs[i]));
  }
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_schema(s->graph, schema, &node));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  if (node->outputs.len != n_outs) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s has %zu results here, %zu expected",
                    schema->qualified, node->outputs.len, n_outs);
  }
  bsm_ir_link(&e, node);
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(bind_output(s, schema, i, n_outs, bsm_node_out(node, i), &outs[i]));
  }
  return BSM_OK;
}
