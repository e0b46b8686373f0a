/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and tuples whose elements may be tensors of the network, each in a
 * TensorContainer. Other lists and tuples are evaluated in the same way. */
#include "aten/ivalue_parts.h"
#include "conversion/emit.h"

/* What a value stands for, as an ivalue. */
static bsm_status as_ivalue(bsm_conversion_ctx *ctx, const bsm_value *value,
                            bsm_ivalue *out) {
  bsm_var var = bsm_ctx_var(ctx, value);
  if (var.itensor) return bsm_iv_container(ctx, var.itensor, out);
  if (var.ivalue) {
    *out = *var.ivalue;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s has neither a tensor nor a static value",
                  bsm_value_text(ctx, value));
}

static bsm_status construct_list(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 int variant, bool *done) {
  bsm_list *list;
  const bsm_type *type = bsm_node_out(node, 0)->type;
  (void)variant;
  BSM_TRY(
      bsm_list_new(ctx->impl->arena,
                   type && type->kind == BSM_TYPE_LIST ? type->args[0] : NULL,
                   node->inputs.len, &list));
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(as_ivalue(ctx, bsm_node_in(node, i), &list->items[i]));
  }
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), bsm_iv_list(list));
}

static bsm_status construct_tuple(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  int variant, bool *done) {
  bsm_tuple *tuple;
  (void)variant;
  BSM_TRY(bsm_tuple_new(ctx->impl->arena, node->inputs.len, &tuple));
  for (size_t i = 0; i < node->inputs.len; i++) {
    BSM_TRY(as_ivalue(ctx, bsm_node_in(node, i), &tuple->items[i]));
  }
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), bsm_iv_tuple(tuple));
}

/* The elements of input 0, a list or a tuple. */
static bsm_status elements(bsm_conversion_ctx *ctx, const bsm_node *node,
                           const bsm_ivalue **items, size_t *count) {
  bsm_var var = bsm_ctx_var(ctx, bsm_node_in(node, 0));
  if (var.ivalue && bsm_iv_is_sequence(var.ivalue)) {
    const bsm_iv_parts parts = bsm_iv_items_of(var.ivalue);
    *items = parts.items;
    *count = parts.len;
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s is not a list or tuple known now",
                  bsm_value_text(ctx, bsm_node_in(node, 0)));
}

static bsm_status unpack(bsm_conversion_ctx *ctx, const bsm_node *node,
                         int variant, bool *done) {
  const bsm_ivalue *items;
  size_t count;
  (void)variant;
  BSM_TRY(elements(ctx, node, &items, &count));
  if (count != node->outputs.len) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%zu elements are unpacked into %zu values", count,
                    node->outputs.len);
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(
        bsm_associate_value_and_ivalue(ctx, bsm_node_out(node, i), &items[i]));
  }
  *done = true;
  return BSM_OK;
}

/* An int that is known now; false when it is not. */
static bool static_int(bsm_conversion_ctx *ctx, const bsm_value *value,
                       int64_t *out) {
  bsm_var var = bsm_ctx_var(ctx, value);
  if (!var.ivalue || var.ivalue->tag != BSM_IVALUE_INT) return false;
  *out = var.ivalue->u.i;
  return true;
}

/* __getitem__ of lists and prim::TupleIndex. */
static bsm_status get_item(bsm_conversion_ctx *ctx, const bsm_node *node,
                           int variant, bool *done) {
  const bsm_ivalue *items;
  size_t count;
  int64_t index;
  (void)variant;
  BSM_TRY(elements(ctx, node, &items, &count));
  if (!static_int(ctx, bsm_node_in(node, 1), &index)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the index of a list is computed at "
                    "run time");
  }
  if (index < 0) index += (int64_t)count;
  if (index < 0 || index >= (int64_t)count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "list index out of range: %lld of %zu",
                    (long long)index, count);
  }
  *done = true;
  return bsm_associate_value_and_ivalue(ctx, bsm_node_out(node, 0),
                                        &items[index]);
}

static bsm_status length(bsm_conversion_ctx *ctx, const bsm_node *node,
                         int variant, bool *done) {
  const bsm_ivalue *items;
  size_t count;
  (void)variant;
  BSM_TRY(elements(ctx, node, &items, &count));
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0),
                              bsm_iv_int((int64_t)count));
}

/* A new list of both. */
static bsm_status concatenate(bsm_conversion_ctx *ctx, const bsm_node *node,
                              int variant, bool *done) {
  bsm_var a = bsm_ctx_var(ctx, bsm_node_in(node, 0));
  bsm_var b = bsm_ctx_var(ctx, bsm_node_in(node, 1));
  bsm_list *list;
  (void)variant;
  if (!a.ivalue || !b.ivalue || a.ivalue->tag != BSM_IVALUE_LIST ||
      b.ivalue->tag != BSM_IVALUE_LIST) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "adding what are not lists");
  }
  const bsm_list *x = a.ivalue->u.list, *y = b.ivalue->u.list;
  BSM_TRY(bsm_list_new(ctx->impl->arena, x->elem_type, 0, &list));
  for (size_t i = 0; i < x->len; i++) {
    BSM_TRY(bsm_list_append(list, x->items[i]));
  }
  for (size_t i = 0; i < y->len; i++) {
    BSM_TRY(bsm_list_append(list, y->items[i]));
  }
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), bsm_iv_list(list));
}

/* Returns the value itself: casts that matter only to the type checker. */
static bsm_status pass(bsm_conversion_ctx *ctx, const bsm_node *node,
                       int variant, bool *done) {
  bsm_var var = bsm_ctx_var(ctx, bsm_node_in(node, 0));
  (void)variant;
  if (!var.itensor && !var.ivalue) return BSM_OK;
  *done = true;
  return bsm_associate_var(ctx, bsm_node_out(node, 0), var);
}

static const bsm_evaluator_pattern patterns[] = {
    {"prim::ListConstruct", construct_list, 0, false},
    {"prim::TupleConstruct", construct_tuple, 0, false},
    {"prim::ListUnpack", unpack, 0, false},
    {"prim::TupleUnpack", unpack, 0, false},
    {"prim::TupleIndex", get_item, 0, false},
    {"aten::__getitem__.t", get_item, 0, false},
    {"aten::len.t", length, 0, true},
    {"aten::add.t", concatenate, 0, false},
    {"prim::unchecked_cast", pass, 0, false},
    {"aten::_unwrap_optional", pass, 0, false},
};
BSM_EVALUATOR_TABLE(lists, patterns);
