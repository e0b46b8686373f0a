/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative sums, products, extrema and logarithms of sums. */
#include "conversion/emit.h"

/* Scans along the dim of arg 1; NULL with the failure recorded. A 0-dim tensor
 * is seen as one element, and bool as numbers. `indices` may be NULL. */
static bsm_itensor *scan(bsm_conversion_ctx *ctx, const bsm_args *args,
                         bsm_itensor *x, bsm_scan_operation operation,
                         bsm_itensor **indices) {
  enum { DIM = 1 };
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return NULL;
  }
  const bool is_scalar = bsm_rank(x) == 0;
  const bsm_dtype dtype = x->dtype;
  if (is_scalar) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (dtype == BSM_DTYPE_BOOL) x = bsm_emit_cast(ctx, x, BSM_DTYPE_UINT8);
  if (!x) return NULL;
  bsm_layer *layer = bsm_network_add_scan(ctx->net, x, operation, axis);
  bsm_itensor *values = bsm_emit(ctx, layer);
  if (indices) *indices = bsm_layer_output(layer, 1);
  values = bsm_emit_cast(ctx, values, dtype);
  if (is_scalar) {
    values = bsm_emit_squeeze(ctx, values, 1);
    if (indices) *indices = bsm_emit_squeeze(ctx, *indices, 1);
  }
  return values;
}

/* cumsum and cumprod: integers become int64; a dtype argument comes first. */
static bsm_status convert_cumulative(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, DIM, DTYPE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  const bsm_dtype dtype =
      bsm_dtype_is_floating(x->dtype) ? x->dtype : BSM_DTYPE_INT64;
  x = bsm_emit_cast(ctx, x, bsm_arg_dtype_or(args, DTYPE, dtype));
  return bsm_emit_output(
      ctx, node, 0,
      scan(ctx, args, x, (bsm_scan_operation)bsm_args_variant(args), NULL));
}

static bsm_status convert_log_cumulative(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  return bsm_emit_output(
      ctx, node, 0,
      scan(ctx, args, bsm_arg_itensor_or_freeze(ctx, args, 0),
           BSM_SCAN_LOG_SUM_EXP, NULL));
}

/* cummax and cummin */
static bsm_status convert_extrema(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  bsm_itensor *indices = NULL;
  bsm_itensor *values =
      scan(ctx, args, bsm_arg_itensor_or_freeze(ctx, args, 0),
           (bsm_scan_operation)bsm_args_variant(args), &indices);
  BSM_TRY(bsm_emit_output(ctx, node, 0, values));
  return bsm_emit_output(ctx, node, 1, indices);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     convert_cumulative, BSM_SCAN_SUM},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     convert_cumulative, BSM_SCAN_PROD},
    {"aten::logcumsumexp(Tensor self, int dim) -> Tensor",
     convert_log_cumulative, 0},
    {"aten::_logcumsumexp(Tensor self, int dim) -> Tensor",
     convert_log_cumulative, 0},
    {"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     convert_extrema, BSM_SCAN_MAX},
    {"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     convert_extrema, BSM_SCAN_MIN},
};
BSM_CONVERTER_TABLE(scan, patterns);
