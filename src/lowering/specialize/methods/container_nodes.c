/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, tuples and dicts: they exist only while specialising. */
#include "lowering/specialize/methods/node_handlers.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/values/interpreter.h"

static bsm_status bind(bsm_spec *s, const bsm_node *node, bsm_ivalue value) {
  BSM_TRY(bsm_spec_note_allocation(s, &value));
  return bsm_spec_set(s, bsm_node_out(node, 0), value);
}

static bsm_status list_construct(bsm_spec *s, const bsm_node *node) {
  const bsm_type *type = bsm_node_out(node, 0)->type;
  const bsm_type *elem =
      type && type->kind == BSM_TYPE_LIST ? type->args[0] : NULL;
  bsm_list *list = NULL;
  BSM_TRY(bsm_list_new(s->cx->arena, elem, node->inputs.len, &list));
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &list->items[i]));
  }
  return bind(s, node, bsm_iv_list(list));
}

static bsm_status tuple_construct(bsm_spec *s, const bsm_node *node) {
  const bsm_type *type = bsm_node_out(node, 0)->type;
  bsm_tuple *tuple = NULL;
  BSM_TRY(bsm_tuple_new(s->cx->arena, node->inputs.len, &tuple));
  if (type && type->kind == BSM_TYPE_TUPLE && type->name) {
    tuple->type = type;
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &tuple->items[i]));
  }
  return bind(s, node, bsm_iv_tuple(tuple));
}

static bsm_status dict_construct(bsm_spec *s, const bsm_node *node) {
  const bsm_type *type = bsm_node_out(node, 0)->type;
  const bool typed = type && type->kind == BSM_TYPE_DICT;
  bsm_dict *dict = NULL;
  BSM_TRY(bsm_dict_new(s->cx->arena, typed ? type->args[0] : NULL,
                       typed ? type->args[1] : NULL, &dict));
  for (size_t i = 0; i + 1 < node->inputs.len; i += 2) {
    bsm_ivalue key, value;
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &key));
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i + 1), &value));
    if (bsm_spec_is_symbol(&key)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "a dict key depends on data");
    }
    BSM_TRY(bsm_dict_set(dict, key, value));
  }
  const bsm_ivalue value = {.tag = BSM_IVALUE_DICT, .u = {.dict = dict}};
  return bind(s, node, value);
}

/* A copy of a prim:: node with symbols as inputs, in the residual graph. */
static bsm_status unpack_symbol(bsm_spec *s, const bsm_node *node,
                                bsm_value *from) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *copy = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, node->kind, &copy));
  BSM_TRY(bsm_node_add_input(copy, from));
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *value = NULL;
    bsm_ivalue symbol;
    const bsm_type *type = bsm_node_out(node, i)->type;
    BSM_TRY(bsm_node_add_output(copy, type, &value));
    BSM_TRY(bsm_spec_new_symbol(s, value, type, &symbol));
    bsm_spec_symbol_of(&symbol)->aliased = true;
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), symbol));
  }
  bsm_ir_link(&e, copy);
  return BSM_OK;
}

static bsm_status unpack(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue from;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &from));
  const bsm_dynamic_container *dynamic = bsm_spec_dynamic_find(s, &from);
  if (dynamic || bsm_spec_is_symbol(&from)) {
    bsm_value *value = NULL;
    BSM_TRY(bsm_spec_residual(s, &from, NULL, &value));
    return unpack_symbol(s, node, value);
  }
  const bsm_iv_parts parts = bsm_iv_items_of(&from);
  if (!bsm_iv_is_sequence(&from)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a %s cannot be unpacked",
                    bsm_iv_tag_name(from.tag));
  }
  if (parts.len != node->outputs.len) {
    return BSM_FAIL(BSM_RAISED, "Expected %zu elements in a list but found %zu",
                    node->outputs.len, parts.len);
  }
  for (size_t i = 0; i < parts.len; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), parts.items[i]));
  }
  return BSM_OK;
}

/* A tuple that only the run will tell, such as an item of a dynamic container,
 * as a tuple of symbols. */
static bsm_status spread_symbol(bsm_spec *s, bsm_ivalue *tuple) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  const bsm_type *type =
      bsm_spec_is_symbol(tuple) ? bsm_spec_symbol_of(tuple)->type : NULL;
  bsm_value *whole = NULL;
  bsm_node *unpack = NULL;
  bsm_tuple *parts = NULL;
  if (!type || type->kind != BSM_TYPE_TUPLE) {
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_symbol_value(s, tuple, &whole));
  BSM_TRY(bsm_tuple_new(s->cx->arena, type->arg_count, &parts));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::TupleUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, whole));
  for (size_t i = 0; i < parts->len; i++) {
    bsm_value *part = NULL;
    BSM_TRY(bsm_node_add_output(unpack, type->args[i], &part));
    BSM_TRY(bsm_spec_new_symbol(s, part, type->args[i], &parts->items[i]));
    bsm_spec_symbol_of(&parts->items[i])->aliased = true;
  }
  bsm_ir_link(&e, unpack);
  *tuple = bsm_iv_tuple(parts);
  return BSM_OK;
}

static bsm_status tuple_index(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue from, index;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &from));
  BSM_TRY(spread_symbol(s, &from));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 1), &index));
  if (from.tag != BSM_IVALUE_TUPLE || index.tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a %s is indexed as a tuple by a %s",
                    bsm_iv_tag_name(from.tag), bsm_iv_tag_name(index.tag));
  }
  const int64_t n = (int64_t)from.u.tuple->len;
  const int64_t i = index.u.i < 0 ? index.u.i + n : index.u.i;
  if (i < 0 || i >= n) {
    return BSM_FAIL(BSM_RAISED, "Tuple index %lld out of range of %lld",
                    (long long)index.u.i, (long long)n);
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), from.u.tuple->items[i]);
}

/* An int given as attribute `name`, or as input `input`. */
static bsm_status int_operand(bsm_spec *s, const bsm_node *node,
                              const char *name, size_t input, int64_t fallback,
                              int64_t *out) {
  const bsm_ivalue *attr = bsm_node_attr_get(node, name);
  bsm_ivalue value = attr ? *attr : bsm_iv_none();
  if (!attr && input < node->inputs.len) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, input), &value));
  }
  *out = value.tag == BSM_IVALUE_INT ? value.u.i : fallback;
  return BSM_OK;
}

static bsm_status tuple_slice(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue from;
  int64_t begin = 0, end = 0;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &from));
  BSM_TRY(spread_symbol(s, &from));
  if (from.tag != BSM_IVALUE_TUPLE) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a %s is sliced as a tuple",
                    bsm_iv_tag_name(from.tag));
  }
  const int64_t n = (int64_t)from.u.tuple->len;
  BSM_TRY(int_operand(s, node, "beg", 1, 0, &begin));
  BSM_TRY(int_operand(s, node, "end", 2, n, &end));
  begin = begin < 0 ? (begin + n < 0 ? 0 : begin + n) : begin > n ? n : begin;
  end = end < 0 ? (end + n < 0 ? 0 : end + n) : end > n ? n : end;
  const size_t len = end > begin ? (size_t)(end - begin) : 0;
  bsm_tuple *tuple = NULL;
  BSM_TRY(bsm_tuple_new(s->cx->arena, len, &tuple));
  for (size_t i = 0; i < len; i++) {
    tuple->items[i] = from.u.tuple->items[(size_t)begin + i];
  }
  return bind(s, node, bsm_iv_tuple(tuple));
}

bsm_status bsm_spec_container_node(bsm_spec *s, const bsm_node *node,
                                   bool *done) {
  static const struct {
    const char *kind;
    bsm_status (*run)(bsm_spec *, const bsm_node *);
    size_t inputs, outputs; /* at least, exactly */
  } rows[] = {
      {"prim::ListConstruct", list_construct, 0, 1},
      {"prim::TupleConstruct", tuple_construct, 0, 1},
      {"prim::DictConstruct", dict_construct, 0, 1},
      {"prim::TupleIndex", tuple_index, 2, 1},
      {"prim::TupleSlice", tuple_slice, 1, 1},
  };
  *done = true;
  if (bsm_node_is(node, "prim::TupleUnpack") ||
      bsm_node_is(node, "prim::ListUnpack")) {
    return node->inputs.len == 1
               ? unpack(s, node)
               : BSM_FAIL(BSM_CORRUPT, "%s of no value", node->kind);
  }
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (!bsm_node_is(node, rows[i].kind)) {
      continue;
    }
    if (node->inputs.len < rows[i].inputs ||
        node->outputs.len != rows[i].outputs) {
      return BSM_FAIL(BSM_CORRUPT, "%s with %zu inputs and %zu outputs",
                      node->kind, node->inputs.len, node->outputs.len);
    }
    return rows[i].run(s, node);
  }
  *done = false;
  return BSM_OK;
}
