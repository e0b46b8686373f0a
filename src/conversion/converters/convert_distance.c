/* SPDX-License-Identifier: Apache-2.0 */
/* Distances and similarities of vectors. */
#include <math.h>

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

/* ---- cdist: [.., P, M] and [.., R, M] -> [.., P, R] ---- */

/* Columns up to which their differences are summed one after the other, which
 * is faster than to keep all differences. */
enum { FEW_COLUMNS = 8 };

/* Of a product whose small results are differences of great numbers. */
static bsm_itensor *exact(bsm_itensor *x) {
  if (x && x->producer) x->producer->cancels = true;
  return x;
}

/* [x * scale, ...] of the columns of x, the sums of their squares, and ones. */
static bsm_itensor *with_squares(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 double scale, bool ones_first) {
  if (!x) return NULL;
  const int32_t last = bsm_rank(x) - 1;
  bsm_dims dims = x->dims;
  dims.d[last] = 1;
  bsm_itensor *ones = bsm_emit_fill(ctx, x->dtype, dims, 1);
  bsm_itensor *squares = bsm_emit_reduce(
      ctx, exact(bsm_emit_binary(ctx, x, x, BSM_ELEMENT_WISE_PROD)),
      BSM_REDUCE_SUM, 1u << (unsigned)last, true);
  exact(squares);
  if (scale != 1) {
    x = exact(bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, x->dtype, scale),
                              BSM_ELEMENT_WISE_PROD));
  }
  bsm_itensor *all[] = {x, ones_first ? ones : squares,
                        ones_first ? squares : ones};
  return exact(bsm_emit_concat(ctx, all, 3, last));
}

/* By |a - b|^2 = |a|^2 + |b|^2 - 2 a b, as PyTorch computes it. */
static bsm_itensor *by_product(bsm_conversion_ctx *ctx, bsm_itensor *a,
                               bsm_itensor *b) {
  a = with_squares(ctx, a, -2, false);
  b = with_squares(ctx, b, 1, true);
  b = bsm_emit_transpose(ctx, b, bsm_rank(b) - 2, bsm_rank(b) - 1);
  a = exact(bsm_emit_torch_matmul(ctx, a, b));
  if (!a) return NULL;
  a = bsm_emit_binary(ctx, a, bsm_emit_scalar(ctx, a->dtype, 0),
                      BSM_ELEMENT_WISE_MAX);
  return exact(bsm_emit_unary(ctx, exact(a), BSM_UNARY_SQRT));
}

/* By the differences of one column after the other; p is 1, 2 or infinite. */
static bsm_itensor *by_columns(bsm_conversion_ctx *ctx, bsm_itensor *a,
                               bsm_itensor *b, double p) {
  const int64_t columns = a->dims.d[bsm_rank(a) - 1];
  bsm_itensor *sum = NULL;
  b = bsm_emit_transpose(ctx, b, bsm_rank(b) - 2, bsm_rank(b) - 1);
  for (int64_t k = 0; k < columns; k++) {
    bsm_itensor *term = bsm_emit_binary(
        ctx, bsm_emit_slice(ctx, a, bsm_rank(a) - 1, k, 1, 1),
        bsm_emit_slice(ctx, b, bsm_rank(b) - 2, k, 1, 1), BSM_ELEMENT_WISE_SUB);
    term = p == 2 ? bsm_emit_binary(ctx, term, term, BSM_ELEMENT_WISE_PROD)
                  : bsm_emit_unary(ctx, term, BSM_UNARY_ABS);
    sum = k == 0 ? term
                 : bsm_emit_binary(
                       ctx, sum, term,
                       isinf(p) ? BSM_ELEMENT_WISE_MAX : BSM_ELEMENT_WISE_SUM);
  }
  return p == 2 ? bsm_emit_unary(ctx, sum, BSM_UNARY_SQRT) : sum;
}

/* All differences, then norms of them. */
static bsm_itensor *by_differences(bsm_conversion_ctx *ctx, bsm_itensor *a,
                                   bsm_itensor *b, double p) {
  a = bsm_emit_unsqueeze(ctx, a, bsm_rank(a) - 1);
  b = bsm_emit_unsqueeze(ctx, b, bsm_rank(b) - 2);
  a = bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_SUB);
  return a ? bsm_emit_p_norm(ctx, a, p, 1u << (unsigned)(bsm_rank(a) - 1),
                             false)
           : NULL;
}

static bsm_status convert_cdist(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { X1, X2, P, COMPUTE_MODE };
  enum { WHERE_LARGE, ALWAYS, NEVER }; /* products */
  bsm_itensor *a, *b, *out;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  const int32_t ra = bsm_rank(a), rb = bsm_rank(b);
  BSM_CHECK(ra >= 2 && rb >= 2,
            "cdist only supports at least 2D tensors, X1 got: %dD, X2 got: %dD",
            (int)ra, (int)rb);
  const double p = bsm_arg_unwrap_to_double(args, P);
  const int64_t columns = a->dims.d[ra - 1];
  BSM_CHECK(columns == b->dims.d[rb - 1],
            "cdist of %lld columns and %lld columns", (long long)columns,
            (long long)b->dims.d[rb - 1]);
  const int64_t mode =
      bsm_arg_unwrap_to_int_or(args, COMPUTE_MODE, WHERE_LARGE);
  const bool products =
      p == 2 && a->dtype == BSM_DTYPE_FLOAT && mode != NEVER &&
      (mode == ALWAYS || a->dims.d[ra - 2] > 25 || b->dims.d[rb - 2] > 25);
  if (products) {
    out = by_product(ctx, a, b);
  } else if (columns > 0 && columns <= FEW_COLUMNS &&
             (p == 1 || p == 2 || (isinf(p) && p > 0))) {
    out = by_columns(ctx, a, b, p);
  } else {
    out = by_differences(ctx, a, b, columns == 0 ? 1 : p);
  }
  return bsm_emit_output(ctx, node, 0, out);
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
