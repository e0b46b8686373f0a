/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on numbers and 0-dim tensors that the reference library does not
 * have. */
#include "conversion/emit.h"

/* A number becomes a 0-dim tensor: int64, float64 or bool. */
static bsm_status number_to_tensor(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, int variant,
                                   bool *done) {
  bsm_var var = bsm_ctx_var(ctx, bsm_node_in(node, 0));
  bsm_arena *arena = ctx->impl->arena;
  bsm_tensor *tensor;
  (void)variant;
  if (!var.ivalue) return BSM_OK;
  switch (var.ivalue->tag) {
    case BSM_IVALUE_INT:
      BSM_TRY(bsm_tensor_from_int(arena, BSM_DTYPE_INT64, var.ivalue->u.i,
                                  &tensor));
      break;
    case BSM_IVALUE_BOOL:
      BSM_TRY(
          bsm_tensor_from_int(arena, BSM_DTYPE_BOOL, var.ivalue->u.b, &tensor));
      break;
    case BSM_IVALUE_DOUBLE:
      BSM_TRY(bsm_tensor_from_double(arena, BSM_DTYPE_DOUBLE, var.ivalue->u.d,
                                     &tensor));
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "a %s becomes a tensor",
                      bsm_iv_tag_name(var.ivalue->tag));
  }
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0),
                              bsm_iv_tensor(tensor));
}

/* A message of the model's is logged; the model goes on. */
static bsm_status warn(bsm_conversion_ctx *ctx, const bsm_node *node,
                       int variant, bool *done) {
  bsm_var var = {0};
  (void)variant;
  if (node->inputs.len > 0) var = bsm_ctx_var(ctx, bsm_node_in(node, 0));
  if (var.ivalue && var.ivalue->tag == BSM_IVALUE_STRING) {
    BSM_LOG_WARNING("warning of the model: %.*s", (int)var.ivalue->u.s->len,
                    var.ivalue->u.s->data);
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(bsm_associate_ivalue(ctx, bsm_node_out(node, i), bsm_iv_none()));
  }
  *done = true;
  return BSM_OK;
}

static const bsm_evaluator_pattern patterns[] = {
    {"prim::NumToTensor", number_to_tensor, 0, false},
    {"aten::warn", warn, 0, false},
    {"prim::Print", warn, 0, false},
};
BSM_EVALUATOR_TABLE(numbers, patterns);
