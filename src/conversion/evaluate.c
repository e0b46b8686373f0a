/* SPDX-License-Identifier: Apache-2.0 */
/* The generic evaluator: a node whose inputs are all static is computed during
 * conversion with the reference library. */
#include "conversion/conversion_internal.h"

bool bsm_node_is_evaluable(const bsm_aten_library *aten, const bsm_node *node) {
  const bsm_aten_op *op =
      bsm_aten_find(aten, bsm_str_of(bsm_node_qualified(node)));
  return op && !(op->flags & (BSM_ATEN_RANDOM | BSM_ATEN_EFFECT)) &&
         node->blocks.len == 0;
}

bsm_status bsm_host_call(bsm_conversion_ctx *ctx, const char *qualified_name,
                         const bsm_ivalue *args, size_t n_args,
                         bsm_ivalue *outs, size_t n_outs) {
  const bsm_aten_op *op =
      bsm_aten_find(ctx->impl->aten, bsm_str_of(qualified_name));
  if (!op) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the reference library has no %s",
                    qualified_name);
  }
  bsm_op_ctx cx = {.arena = ctx->impl->arena, .logger = ctx->logger};
  cx.max_tensor_bytes = (size_t)ctx->impl->graph->cx->limits.max_tensor_bytes;
  cx.work = &ctx->impl->graph->cx->work;
  cx.work->refused = false;
  cx.may_leave = true;
  return bsm_aten_call(&cx, op, args, n_args, outs, n_outs);
}

/* Copies the static inputs; *all is false when one is not static. */
static bsm_status gather_inputs(bsm_conversion_ctx *ctx, const bsm_node *node,
                                bsm_ivalue **out, bool *all) {
  bsm_arena *arena = ctx->impl->arena;
  size_t count = node->inputs.len;
  bsm_ivalue *items = BSM_NEW_ARRAY(arena, bsm_ivalue, count ? count : 1);
  BSM_TRY_ALLOC(items);
  *all = false;
  for (size_t i = 0; i < count; i++) {
    bsm_var var = bsm_ctx_var(ctx, bsm_node_in(node, i));
    if (!var.ivalue || !bsm_ivalue_is_static(var.ivalue)) return BSM_OK;
    items[i] = *var.ivalue;
  }
  *all = true;
  *out = items;
  return BSM_OK;
}

bsm_status bsm_evaluate_node(bsm_conversion_ctx *ctx, const bsm_node *node,
                             bool *done) {
  bsm_conversion_impl *impl = ctx->impl;
  bsm_ivalue *args;
  bool all;
  *done = false;
  if (!bsm_node_is_evaluable(impl->aten, node)) return BSM_OK;
  BSM_TRY(gather_inputs(ctx, node, &args, &all));
  if (!all) return BSM_OK;
  const bsm_aten_op *op =
      bsm_aten_find(impl->aten, bsm_str_of(bsm_node_qualified(node)));
  /* Constants are shared: an in-place op works on a copy. */
  if ((op->flags & BSM_ATEN_INPLACE) && node->inputs.len > 0 &&
      args[0].tag == BSM_IVALUE_TENSOR) {
    BSM_TRY(bsm_tensor_clone(impl->arena, args[0].u.tensor, &args[0].u.tensor));
  }
  size_t outs_count = node->outputs.len;
  bsm_ivalue *outs =
      BSM_NEW_ARRAY(impl->arena, bsm_ivalue, outs_count ? outs_count : 1);
  BSM_TRY_ALLOC(outs);
  bsm_status status = bsm_host_call(ctx, bsm_node_qualified(node), args,
                                    node->inputs.len, outs, outs_count);
  if (bsm_status_code(status) == BSM_LIMIT && impl->graph->cx->work.refused) {
    bsm_status_free(status); /* left to the engine */
    return BSM_OK;
  }
  BSM_TRY(status);
  for (size_t i = 0; i < outs_count; i++) {
    BSM_TRY(
        bsm_associate_value_and_ivalue(ctx, bsm_node_out(node, i), &outs[i]));
  }
  *done = true;
  return BSM_OK;
}
