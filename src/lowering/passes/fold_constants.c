/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what other passes have made constant: a transposed weight, a scale.
 *
 * Requires:    a functional graph.
 * Establishes: no pure op with a reference implementation has only constants
 *              as inputs, but those that take more work than max_work, or more
 *              memory than there is.
 * Breaks:      may leave dead constants. */
#include "lowering/pass.h"

/* The constant value of an input: a constant, or a list of constants. */
static bsm_status constant_input(const bsm_value *value, bsm_arena *arena,
                                 bsm_ivalue *out, bool *is) {
  const bsm_ivalue *c = bsm_value_constant(value);
  const bsm_node *list = bsm_value_list_node(value);
  *is = c || list;
  if (c) {
    *out = *c;
    return BSM_OK;
  }
  if (!list) {
    return BSM_OK;
  }
  bsm_list *items = NULL;
  BSM_TRY(bsm_list_new(arena, value->type->args[0], list->inputs.len, &items));
  for (size_t i = 0; i < list->inputs.len && *is; i++) {
    c = bsm_value_constant(bsm_node_in(list, i));
    *is = c != NULL;
    items->items[i] = c ? *c : bsm_iv_none();
  }
  *out = bsm_iv_list(items);
  return BSM_OK;
}

static bsm_status replace(bsm_node *node, const bsm_aten_library *aten,
                          const bsm_ivalue *outs) {
  const bsm_node_emitter e = bsm_node_emitter_before(node, aten);
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_value *old = bsm_node_out(node, i), *value = NULL;
    const bsm_type *type =
        outs[i].tag == BSM_IVALUE_TENSOR
            ? bsm_type_tensor(node->graph->cx->types, outs[i].u.tensor->dtype,
                              outs[i].u.tensor->sizes)
            : old->type;
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_ir_constant(&e, outs[i], type, &value));
    BSM_TRY(bsm_rewrite_value(node->graph, old, value));
  }
  bsm_node_destroy(node);
  return BSM_OK;
}

static bool all_plain(const bsm_ivalue *outs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (outs[i].tag == BSM_IVALUE_LIST || outs[i].tag == BSM_IVALUE_DICT ||
        outs[i].tag == BSM_IVALUE_CONTAINER) {
      return false;
    }
  }
  return n > 0;
}

static bsm_status fold_node(bsm_node *node, const bsm_aten_library *aten,
                            const void *user) {
  (void)user;
  if (!node->schema || !bsm_node_is_pure(node, aten)) {
    return BSM_OK;
  }
  bsm_arena *arena = node->graph->cx->arena;
  const size_t n = node->inputs.len, m = node->outputs.len;
  bool constant = true;
  /* The cheap test comes first: most nodes have an input that is not constant.
   */
  for (size_t i = 0; i < n && constant; i++) {
    const bsm_value *v = bsm_node_in(node, i);
    constant = bsm_value_constant(v) || bsm_value_list_node(v);
  }
  if (!constant) {
    return BSM_OK;
  }
  bsm_ivalue *args = BSM_NEW_ARRAY(arena, bsm_ivalue, n + 1);
  bsm_ivalue *outs = BSM_NEW_ARRAY(arena, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  for (size_t i = 0; i < n && constant; i++) {
    BSM_TRY(constant_input(bsm_node_in(node, i), arena, &args[i], &constant));
  }
  if (!constant) {
    return BSM_OK;
  }
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(node->schema->qualified));
  const bsm_limits *limits = &node->graph->cx->limits;
  bsm_op_ctx cx = {.arena = arena,
                   .logger = node->graph->cx->logger,
                   .max_tensor_bytes = (size_t)limits->max_tensor_bytes,
                   .work = &node->graph->cx->work,
                   .may_leave = true};
  bsm_status st = bsm_aten_call(&cx, op, args, n, outs, m);
  if (st && bsm_status_code(st) != BSM_OUT_OF_MEMORY) {
    bsm_status_free(st); /* it raises when the engine runs it, or is too much */
    return BSM_OK;
  }
  BSM_TRY(st);
  return all_plain(outs, m) ? replace(node, aten, outs) : BSM_OK;
}

bsm_status bsm_lower_fold_constants(bsm_graph *graph,
                                    const bsm_aten_library *aten) {
  return bsm_visit_nodes(graph, aten, fold_node, NULL);
}
