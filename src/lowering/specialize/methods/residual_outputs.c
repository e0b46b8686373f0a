/* SPDX-License-Identifier: Apache-2.0 */
/* The result of the method as outputs of the residual graph. */
#include "lowering/specialize/methods/residual_outputs.h"

#include <inttypes.h>

#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/world_set.h"

/* The graph's output of that value: one is enough for a value returned twice.
 */
static bsm_status output_index(bsm_spec *s, bsm_value *value, size_t *out) {
  bsm_block *block = s->residual.graph->block;
  for (size_t i = 0; i < value->uses.len; i++) {
    if (value->uses.items[i].user == block->returns) {
      *out = value->uses.items[i].index;
      return BSM_OK;
    }
  }
  *out = block->returns->inputs.len;
  return bsm_block_add_output(block, value);
}

/* The type of what only the run tells: the declared one where it says more. */
static const bsm_type *type_of_value(const bsm_type *own,
                                     const bsm_type *declared) {
  const bool open = !declared || declared->kind == BSM_TYPE_ANY ||
                    declared->kind == BSM_TYPE_VAR ||
                    declared->kind == BSM_TYPE_UNION ||
                    declared->kind == BSM_TYPE_NUMBER;
  return open && own ? own : declared;
}

/* A Scalar counts too: mostly it becomes the tensor that it was read from. */
static bool is_number(const bsm_type *type) {
  return type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_NUMBER;
}

/* A value that the run computes. */
static bsm_status add_output(bsm_spec *s, const bsm_ivalue *value,
                             const bsm_type *declared, bsm_lowered_leaf *leaf) {
  bsm_value *residual = NULL;
  *leaf = (bsm_lowered_leaf){.is_output = true, .dims = {.rank = -1}};
  leaf->type = bsm_spec_type_of(s, value);
  BSM_TRY(bsm_spec_residual(s, value, NULL, &residual));
  BSM_TRY(output_index(s, residual, &leaf->output));
  if (value->tag == BSM_IVALUE_TENSOR ||
      (residual->type && residual->type->kind == BSM_TYPE_TENSOR)) {
    if (value->tag == BSM_IVALUE_TENSOR || !leaf->type) {
      leaf->type = bsm_type_simple(s->cx->types, BSM_TYPE_TENSOR);
    }
    if (bsm_spec_is_symbol(value)) {
      leaf->dims = bsm_world_set_dims(&s->worlds, value);
    }
  } else if (!residual->type || !is_number(residual->type)) {
    leaf->is_value = true;
    leaf->type = type_of_value(leaf->type, declared);
  }
  if (!leaf->type) leaf->type = bsm_type_simple(s->cx->types, BSM_TYPE_ANY);
  BSM_TRY_ALLOC(leaf->type);
  return BSM_OK;
}

/* Whether only the run tells what the value is, or how many parts it has. */
static bool is_open(const bsm_spec *s, const bsm_ivalue *value) {
  return bsm_spec_dynamic_find(s, value) || bsm_spec_is_symbol(value);
}

static bsm_status add_leaf(bsm_spec *s, const bsm_ivalue *value,
                           const bsm_type *declared, bsm_spec_outputs *list) {
  bsm_lowered_leaf leaf = {.dims = {.rank = -1}, .constant = *value};
  if (value->tag == BSM_IVALUE_TENSOR || is_open(s, value)) {
    BSM_TRY(add_output(s, value, declared, &leaf));
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &list->leaves, leaf));
  return BSM_OK;
}

bsm_status bsm_spec_add_result_node(bsm_spec *s, const bsm_lowered_node *node,
                                    bsm_spec_outputs *list) {
  /* A list of the same list twice, and so on, grows without end. */
  if (list->nodes.len >= s->cx->limits.max_nodes) {
    return BSM_FAIL(BSM_LIMIT,
                    "the result has more values than the limit max_nodes "
                    "(%" PRIu64 ") allows",
                    s->cx->limits.max_nodes);
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &list->nodes, *node));
  return BSM_OK;
}

/* The declared type of part `i` of a container; NULL: not known. */
static const bsm_type *part_type(const bsm_type *type, size_t i) {
  while (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  if (!type) return NULL;
  switch (type->kind) {
    case BSM_TYPE_LIST:
      return type->args[0];
    case BSM_TYPE_DICT:
      return type->args[1];
    case BSM_TYPE_TUPLE:
      return i < type->arg_count ? type->args[i] : NULL;
    default:
      return NULL;
  }
}

bsm_status bsm_spec_flatten(bsm_spec *s, const bsm_ivalue *value,
                            const bsm_ivalue *key, const bsm_type *declared,
                            size_t depth, bsm_spec_outputs *list) {
  const bsm_ivalue *items = NULL, *keys = NULL;
  bsm_lowered_node node = {.tag = value->tag};
  if (key) node.key = *key;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "the result is nested too deep");
  }
  if (is_open(s, value)) node.tag = BSM_IVALUE_CONTAINER;
  switch (node.tag) {
    case BSM_IVALUE_LIST:
      items = value->u.list->items;
      node.child_count = value->u.list->len;
      break;
    case BSM_IVALUE_TUPLE:
      items = value->u.tuple->items;
      node.child_count = value->u.tuple->len;
      node.type = value->u.tuple->type;
      break;
    case BSM_IVALUE_DICT:
      items = value->u.dict->values;
      keys = value->u.dict->keys;
      node.child_count = value->u.dict->len;
      break;
    case BSM_IVALUE_OBJECT:
      items = value->u.object->slots;
      node.child_count = value->u.object->len;
      node.type = value->u.object->type;
      break;
    default:
      BSM_TRY(bsm_spec_add_result_node(s, &node, list));
      return add_leaf(s, value, declared, list);
  }
  BSM_TRY(bsm_spec_add_result_node(s, &node, list));
  for (size_t i = 0; i < node.child_count; i++) {
    BSM_TRY(bsm_spec_flatten(s, &items[i], keys ? &keys[i] : NULL,
                             part_type(declared, i), depth + 1, list));
  }
  return BSM_OK;
}
