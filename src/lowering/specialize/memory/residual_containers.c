/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and constants as values of the residual graph. */
#include "lowering/specialize/memory/residual_containers.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

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
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, kind, &node));
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
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::DictConstruct", &node));
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

bsm_status bsm_spec_residual_tuple(bsm_spec *s, const bsm_ivalue *value,
                                   bsm_value **out) {
  const bsm_type *type = bsm_spec_type_of(s, value);
  BSM_TRY_ALLOC(type);
  return construct(s, "prim::TupleConstruct", value->u.tuple->items,
                   value->u.tuple->len, NULL, type, out);
}

bsm_status bsm_spec_residual_constant(bsm_spec *s, const bsm_ivalue *value,
                                      const bsm_type *type, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  type = plain_type(s, type);
  const bool typed = value->tag == BSM_IVALUE_LIST && type &&
                     type->kind == BSM_TYPE_LIST &&
                     !is_open_type(type->args[0]);
  if (value->tag == BSM_IVALUE_LIST) {
    /* A snapshot: the list may be appended to later. */
    const bsm_list *from = value->u.list;
    bsm_ivalue list;
    BSM_TRY(bsm_iv_list_of(s->cx->arena,
                           typed ? type->args[0] : from->elem_type, from->items,
                           from->len, &list));
    return bsm_ir_constant(&e, list, typed ? type : NULL, out);
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

/* Whether the run has to make a container that is inside: constants of a graph
 * hold no dicts, and hold lists only where these have no identity. */
static bsm_status find_containers(const bsm_spec *s, const bsm_ivalue *v,
                                  bsm_visited *visited, size_t depth,
                                  bool *found) {
  const bsm_iv_parts parts = bsm_iv_parts_of(v);
  bool before;
  *found = *found || v->tag == BSM_IVALUE_DICT ||
           (v->tag == BSM_IVALUE_LIST && bsm_spec_containers_have_identity(s) &&
            depth > 0);
  BSM_TRY(bsm_visit(visited, v, depth, &before));
  for (size_t i = 0;
       i < parts.len && !*found && !before && depth < BSM_TYPE_MAX_DEPTH; i++) {
    BSM_TRY(find_containers(s, &parts.items[i], visited, depth + 1, found));
  }
  return BSM_OK;
}

static bsm_status holds_containers(const bsm_spec *s, const bsm_ivalue *v,
                                   bool *out) {
  bsm_visited visited;
  *out = false;
  bsm_visited_init(&visited, s->scratch);
  bsm_status status = find_containers(s, v, &visited, 0, out);
  bsm_visited_destroy(&visited);
  return status;
}

bsm_status bsm_spec_residual_items(bsm_spec *s, const bsm_ivalue *container,
                                   const bsm_type *type, bsm_value **out) {
  bsm_spec_leaves leaves = {false, false};
  if (container->tag == BSM_IVALUE_DICT) {
    return residual_dict(s, container->u.dict, type, out);
  }
  BSM_TRY(bsm_spec_scan(s, container, &leaves));
  bool nested;
  BSM_TRY(holds_containers(s, container, &nested));
  if (leaves.meta || leaves.symbol || holds_tensors(container) || nested ||
      (type && type->kind == BSM_TYPE_LIST &&
       type->args[0]->kind == BSM_TYPE_TENSOR)) {
    return residual_list(s, container->u.list, type, out);
  }
  return bsm_spec_residual_constant(s, container, type, out);
}

/* A copy of a container, to be written to. */
bsm_status bsm_spec_copy_container(bsm_spec *s, bsm_value *from,
                                   const bsm_type *type, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::CopyContainer", &node));
  BSM_TRY(bsm_node_add_input(node, from));
  BSM_TRY(bsm_node_add_output(node, type, out));
  bsm_ir_link(&e, node);
  return BSM_OK;
}
