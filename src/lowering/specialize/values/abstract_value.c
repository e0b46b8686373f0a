/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, dynamic containers, and the types and leaves of abstract values. */
#include "lowering/specialize/values/abstract_value.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"

bsm_status bsm_spec_new_symbol(bsm_spec *s, bsm_value *value,
                               const bsm_type *type, bsm_ivalue *out) {
  bsm_spec_symbol *symbol = BSM_NEW(s->scratch, bsm_spec_symbol);
  BSM_TRY_ALLOC(symbol);
  *symbol = (bsm_spec_symbol){
      .value = value, .type = type, .created = bsm_spec_tick(s)};
  *out = (bsm_ivalue){.tag = BSM_IVALUE_CONTAINER, .u = {.container = symbol}};
  return BSM_OK;
}

/* Where a residual value stops being known: follows it back to an op without
 * a reference implementation, or to the first op that needs data. */
const char *bsm_spec_symbol_origin(const bsm_spec *s, const bsm_ivalue *v) {
  const bsm_value *value = bsm_spec_symbol_of(v)->value;
  const char *kind = "a value never computed";
  for (int steps = 0; value && value->node && steps < 1000; steps++) {
    const bsm_node *node = value->node;
    if (!node->kind[0]) {
      break;
    }
    kind = node->kind;
    if (node->schema && !bsm_spec_find_op(s, node->schema)) {
      return bsm_arena_printf(s->scratch,
                              "%s, which has no reference implementation",
                              node->schema->qualified);
    }
    value = NULL;
    for (size_t i = 0; i < node->inputs.len && !value; i++) {
      bsm_value *in = bsm_node_in(node, i);
      if (!bsm_value_constant(in) && !bsm_type_has_sizes(in->type)) {
        value = in;
      }
    }
  }
  return kind;
}

/* A list of a list of itself sixty times over has 2^60 items, but sixty lists:
 * each container that holds others is looked into once. */
typedef struct scan {
  bsm_spec *s;
  bsm_visited visited;
  bsm_spec_leaves *out;
} scan;

static bsm_status scan_value(scan *c, const bsm_ivalue *value, size_t depth) {
  const bsm_spec *s = c->s;
  bsm_spec_leaves *out = c->out;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %llu deep",
                    (unsigned long long)s->cx->limits.max_depth);
  }
  if (bsm_spec_dynamic_find(s, value)) {
    out->symbol = true;
    return BSM_OK;
  }
  if (value->tag == BSM_IVALUE_TENSOR) {
    out->meta = out->meta || bsm_tensor_is_meta(value->u.tensor);
  }
  out->symbol = out->symbol || bsm_spec_is_symbol(value);
  bool before;
  BSM_TRY(bsm_visit(&c->visited, value, depth, &before));
  if (before) return BSM_OK;
  const bsm_iv_parts parts = bsm_iv_parts_of(value);
  for (size_t i = 0; i < parts.len && !(out->meta && out->symbol); i++) {
    BSM_TRY(scan_value(c, &parts.items[i], depth + 1));
  }
  return BSM_OK;
}

bsm_status bsm_spec_scan(bsm_spec *s, const bsm_ivalue *value,
                         bsm_spec_leaves *out) {
  if (!bsm_iv_is_container(value)) {
    scan leaf = {.s = s, .out = out};
    return scan_value(&leaf, value, 0);
  }
  scan c = {.s = s, .out = out};
  bsm_visited_init(&c.visited, s->cx->arena);
  bsm_status status = scan_value(&c, value, 0);
  bsm_visited_destroy(&c.visited);
  return status;
}

const bsm_type *bsm_spec_tensor_type(bsm_spec *s, const bsm_tensor *t) {
  return bsm_type_tensor(s->cx->types, t->dtype, t->sizes);
}

bsm_status bsm_spec_without_data(bsm_spec *s, bsm_ivalue *value) {
  if (value->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *t = value->u.tensor;
    bsm_tensor *meta = NULL;
    if (bsm_spec_strides_matter(s) && bsm_tensor_is_meta(t)) {
      return BSM_OK; /* with the strides that it has */
    }
    BSM_TRY(bsm_tensor_new(s->scratch, t->dtype, t->sizes, true, &meta));
    meta->wrapped_number = t->wrapped_number;
    *value = bsm_iv_tensor(meta);
  } else if (value->tag == BSM_IVALUE_LIST) {
    const bsm_list *from = value->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
    for (size_t i = 0; i < from->len; i++) {
      list->items[i] = from->items[i];
      if (from->items[i].tag == BSM_IVALUE_TENSOR) {
        BSM_TRY(bsm_spec_without_data(s, &list->items[i]));
      }
    }
    *value = bsm_iv_list(list);
  }
  return BSM_OK;
}

bsm_status bsm_spec_drop_data(bsm_spec *s, bsm_ivalue *v) {
  if (v->tag != BSM_IVALUE_TENSOR || bsm_tensor_is_meta(v->u.tensor)) {
    return BSM_OK;
  }
  bsm_tensor *t = BSM_NEW(s->scratch, bsm_tensor);
  bsm_storage *storage = BSM_NEW(s->scratch, bsm_storage);
  BSM_TRY_ALLOC(t && storage);
  *storage = (bsm_storage){.size = v->u.tensor->storage->size, .meta = true};
  *t = *v->u.tensor;
  t->storage = storage;
  v->u.tensor = t;
  return BSM_OK;
}

bsm_dynamic_container *bsm_spec_dynamic_find(const bsm_spec *s,
                                             const bsm_ivalue *value) {
  const bool container =
      value->tag == BSM_IVALUE_LIST || value->tag == BSM_IVALUE_DICT;
  return container && s->dynamic.len
             ? bsm_ptrmap_get(&s->dynamic, value->u.container)
             : NULL;
}

bsm_status bsm_spec_spread_undefined(bsm_spec *s, const bsm_ivalue *tuple,
                                     bsm_ivalue *out) {
  bsm_tuple *own = NULL;
  BSM_TRY(bsm_tuple_new(s->cx->arena, tuple->u.tuple->len, &own));
  own->type = tuple->u.tuple->type;
  for (size_t i = 0; i < own->len; i++) {
    BSM_TRY(bsm_spec_new_symbol(s, NULL,
                                bsm_spec_type_of(s, &tuple->u.tuple->items[i]),
                                &own->items[i]));
  }
  *out = bsm_iv_tuple(own);
  return BSM_OK;
}

/* With the types of symbols inside. */
static const bsm_type *tuple_type(bsm_spec *s, const bsm_tuple *tuple) {
  const bsm_type *named = tuple->type;
  const bsm_type **types =
      BSM_NEW_ARRAY(s->scratch, const bsm_type *, tuple->len + 1);
  if (!types || ++s->at.depth > s->cx->limits.max_depth) {
    if (types) s->at.depth--;
    return NULL;
  }
  bool failed = false;
  for (size_t i = 0; i < tuple->len && !failed; i++) {
    types[i] = bsm_spec_type_of(s, &tuple->items[i]);
    failed = !types[i];
  }
  s->at.depth--;
  if (failed) return NULL;
  return named && named->field_names && named->arg_count == tuple->len
             ? bsm_type_named_tuple(s->cx->types, named->name,
                                    named->field_names, types, tuple->len)
             : bsm_type_tuple(s->cx->types, types, tuple->len);
}

const bsm_type *bsm_spec_type_of(bsm_spec *s, const bsm_ivalue *v) {
  const bsm_dynamic_container *dynamic = bsm_spec_dynamic_find(s, v);
  if (dynamic) {
    return dynamic->type;
  }
  if (bsm_spec_is_symbol(v)) {
    return bsm_spec_symbol_of(v)->type;
  }
  if (v->tag == BSM_IVALUE_TUPLE) {
    const bsm_type *type = tuple_type(s, v->u.tuple);
    if (type) return type;
  }
  return v->tag == BSM_IVALUE_TENSOR ? bsm_spec_tensor_type(s, v->u.tensor)
                                     : bsm_type_of_value(s->cx->types, v);
}
