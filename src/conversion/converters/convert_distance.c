/* SPDX-License-Identifier: Apache-2.0 */
/* Distances and similarities of vectors. */
#include "conversion/emit.h"

/* Two tensors in their common floating dtype. */
static bool two(bsm_conversion_ctx *ctx, const bsm_args *args, bsm_itensor **a,
                bsm_itensor **b) {
  bsm_operand both[2] = {bsm_operand_of(ctx, args, 0),
                         bsm_operand_of(ctx, args, 1)};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  if (!bsm_dtype_is_floating(dtype)) dtype = BSM_DTYPE_FLOAT;
  *a = bsm_operand_emit(ctx, &both[0], dtype);
  *b = bsm_operand_emit(ctx, &both[1], dtype);
  return *a && *b;
}

static bsm_status convert_pairwise_distance(bsm_conversion_ctx *ctx,
                                            const bsm_node *node,
                                            const bsm_args *args) {
  enum { X1, X2, P, EPS, KEEPDIM };
  bsm_itensor *a, *b;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  bsm_itensor *eps =
      bsm_emit_scalar(ctx, a->dtype, bsm_arg_unwrap_to_double(args, EPS));
  a = bsm_emit_binary(ctx, bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUB),
                      eps, BSM_ELEMENT_WISE_SUM);
  if (!a) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(a) > 0, "pairwise_distance of 0-dim tensors");
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_p_norm(ctx, a, bsm_arg_unwrap_to_double(args, P),
                      1u << (unsigned)(bsm_rank(a) - 1),
                      bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

/* x / max(|x|, eps) */
static bsm_itensor *unit(bsm_conversion_ctx *ctx, bsm_itensor *x, uint32_t axes,
                         double eps) {
  if (!x) return NULL;
  bsm_itensor *length = bsm_emit_p_norm(ctx, x, 2, axes, true);
  length = bsm_emit_binary(ctx, length, bsm_emit_scalar(ctx, x->dtype, eps),
                           BSM_ELEMENT_WISE_MAX);
  return bsm_emit_binary(ctx, x, length, BSM_ELEMENT_WISE_DIV);
}

/* The dims broadcast first, so that `dim` counts in the common shape. */
static bsm_status convert_cosine_similarity(bsm_conversion_ctx *ctx,
                                            const bsm_node *node,
                                            const bsm_args *args) {
  enum { X1, X2, DIM, EPS };
  bsm_itensor *a, *b;
  int32_t axis;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(a) > bsm_rank(b) ? bsm_rank(a) : bsm_rank(b);
  if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), rank, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  bsm_dims common = {0};
  common.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    int32_t ia = i - (rank - bsm_rank(a)), ib = i - (rank - bsm_rank(b));
    int64_t da = ia < 0 ? 1 : a->dims.d[ia], db = ib < 0 ? 1 : b->dims.d[ib];
    common.d[i] = da == 1 ? db : da;
  }
  uint32_t axes = rank ? 1u << (unsigned)axis : 0;
  double eps = bsm_arg_unwrap_to_double(args, EPS);
  a = unit(ctx, bsm_emit_expand(ctx, a, common), axes, eps);
  b = unit(ctx, bsm_emit_expand(ctx, b, common), axes, eps);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_reduce(ctx, bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD),
                      BSM_REDUCE_SUM, axes, false));
}

/* [.., P, M] and [.., R, M] -> [.., P, R]. */
static bsm_status convert_cdist(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { X1, X2, P };
  bsm_itensor *a, *b;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(a) >= 2 && bsm_rank(b) >= 2,
            "cdist only supports at least 2D tensors, X1 got: %dD, X2 got: %dD",
            (int)bsm_rank(a), (int)bsm_rank(b));
  a = bsm_emit_unsqueeze(ctx, a, bsm_rank(a) - 1);
  b = bsm_emit_unsqueeze(ctx, b, bsm_rank(b) - 2);
  a = bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUB);
  if (!a) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_p_norm(ctx, a, bsm_arg_unwrap_to_double(args, P),
                      1u << (unsigned)(bsm_rank(a) - 1), false));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2, float "
     "eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
     convert_pairwise_distance, 0},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float "
     "eps=1e-08) -> Tensor",
     convert_cosine_similarity, 0},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> "
     "Tensor",
     convert_cdist, 0},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) "
     "-> Tensor",
     convert_cdist, 0},
};
BSM_CONVERTER_TABLE(distance, patterns);
