/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: the reference op, run on meta tensors of the input types. */
#include "lowering/node_emitter.h"

static bsm_status infer_tensor(const bsm_value *value, bsm_arena *arena,
                               bsm_ivalue *out, bool *known) {
  bsm_dims dims;
  bsm_dtype dtype;
  if (!bsm_value_dims(value, &dims, &dtype)) {
    *known = false;
    return BSM_OK;
  }
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(arena, dtype, dims, true, &t));
  *out = bsm_iv_tensor(t);
  return BSM_OK;
}

bsm_status bsm_infer_argument(const bsm_value *value, bsm_arena *arena,
                              bsm_ivalue *out, bool *known) {
  *known = true;
  const bsm_ivalue *constant = bsm_value_constant(value);
  if (constant) {
    *out = *constant;
    return BSM_OK;
  }
  const bsm_node *list = bsm_value_list_node(value);
  if (!list) {
    return infer_tensor(value, arena, out, known);
  }
  bsm_list *items = NULL;
  const bsm_type *elem =
      value->type && value->type->arg_count ? value->type->args[0] : NULL;
  BSM_TRY(bsm_list_new(arena, elem, list->inputs.len, &items));
  for (size_t i = 0; i < list->inputs.len && *known; i++) {
    const bsm_value *item = bsm_node_in(list, i);
    const bsm_ivalue *c = bsm_value_constant(item);
    if (c) {
      items->items[i] = *c;
    } else {
      BSM_TRY(infer_tensor(item, arena, &items->items[i], known));
    }
  }
  *out = bsm_iv_list(items);
  return BSM_OK;
}

static bsm_status set_types(bsm_node *node, const bsm_ivalue *outs) {
  for (size_t i = 0; i < node->outputs.len; i++) {
    if (outs[i].tag != BSM_IVALUE_TENSOR) {
      continue;
    }
    const bsm_tensor *t = outs[i].u.tensor;
    const bsm_type *type =
        bsm_type_tensor(node->graph->cx->types, t->dtype, t->sizes);
    BSM_TRY_ALLOC(type);
    bsm_node_out(node, i)->type = type;
  }
  return BSM_OK;
}

static bsm_status infer_in(bsm_node *node, const bsm_aten_op *op,
                           bsm_arena *arena) {
  const size_t n = node->inputs.len, m = node->outputs.len;
  bsm_ivalue *args = BSM_NEW_ARRAY(arena, bsm_ivalue, n + 1);
  bsm_ivalue *outs = BSM_NEW_ARRAY(arena, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  bool any_meta = false;
  for (size_t i = 0; i < n; i++) {
    bool known = false;
    BSM_TRY(bsm_infer_argument(bsm_node_in(node, i), arena, &args[i], &known));
    if (!known) {
      return BSM_OK;
    }
    /* Of constants only the shape is used: folding is the work of another pass.
     */
    if (args[i].tag == BSM_IVALUE_TENSOR) {
      any_meta = any_meta || bsm_tensor_is_meta(args[i].u.tensor);
    }
  }
  if (!any_meta && n > 0 && args[0].tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(arena, args[0].u.tensor->dtype,
                           args[0].u.tensor->sizes, true, &t));
    args[0] = bsm_iv_tensor(t);
  }
  bsm_op_ctx cx = {
      .arena = arena, .no_data = true, .logger = node->graph->cx->logger};
  bsm_status st = bsm_aten_call(&cx, op, args, n, outs, m);
  if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
    bsm_status_free(st);
    return BSM_OK;
  }
  BSM_TRY(st);
  return set_types(node, outs);
}

bsm_status bsm_infer_types(bsm_node *node, const bsm_aten_library *aten) {
  if (!node->schema) {
    return BSM_OK;
  }
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(node->schema->qualified));
  if (!op) {
    return BSM_OK;
  }
  bsm_arena scratch;
  bsm_arena_init(&scratch, node->graph->cx->arena->allocator);
  bsm_status st = infer_in(node, op, &scratch);
  bsm_arena_destroy(&scratch);
  return st;
}
