/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tensors that rearrange into matrix or element-wise products:
 * inner, tensordot, chains, kron, bilinear, cross. */
#include "conversion/emit.h"

/* Arguments 0 and 1 in their common dtype; `alike`: one without dims counts for
 * as much as one with them. */
static bool two_of(bsm_conversion_ctx *ctx, const bsm_args *args, bool alike,
                   bsm_itensor **a, bsm_itensor **b) {
  bsm_operand both[2] = {bsm_operand_of(ctx, args, 0),
                         bsm_operand_of(ctx, args, 1)};
  for (int i = 0; i < 2 && alike; i++) {
    both[i].priority = 0;
    if (both[i].tensor) both[i].dtype = both[i].tensor->dtype;
  }
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  *a = bsm_operand_emit(ctx, &both[0], dtype);
  *b = bsm_operand_emit(ctx, &both[1], dtype);
  return *a && *b;
}

static bool two(bsm_conversion_ctx *ctx, const bsm_args *args, bsm_itensor **a,
                bsm_itensor **b) {
  return two_of(ctx, args, false, a, b);
}

static bsm_itensor *product(bsm_conversion_ctx *ctx, bsm_itensor *a,
                            bsm_itensor *b) {
  return bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD);
}

/* [free..., contracted...] of `x` as a matrix, and the free dims. */
static bsm_itensor *contracted(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               const int64_t *dims, size_t count,
                               bsm_dims *free_dims) {
  bsm_dims perm = {0};
  uint32_t used = 0;
  int64_t rows = 1, columns = 1;
  int32_t axis;
  *free_dims = (bsm_dims){0};
  for (size_t i = 0; i < count; i++) {
    if (!bsm_wrap_dim(ctx, dims[i], bsm_rank(x), &axis)) return NULL;
    if (used >> (unsigned)axis & 1u) {
      return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                           "dim %d appears multiple times", (int)axis);
    }
    used |= 1u << (unsigned)axis;
  }
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    if (used >> (unsigned)i & 1u) continue;
    perm.d[perm.rank++] = i;
    free_dims->d[free_dims->rank++] = x->dims.d[i];
    rows *= x->dims.d[i];
  }
  for (size_t i = 0; i < count && perm.rank < BSM_MAX_RANK; i++) {
    if (!bsm_wrap_dim(ctx, dims[i], bsm_rank(x), &axis)) return NULL;
    if (bsm_rank(x) == 0) continue;
    perm.d[perm.rank++] = axis;
    columns *= x->dims.d[axis];
  }
  return bsm_emit_reshape(ctx, bsm_emit_permute(ctx, x, perm),
                          (bsm_dims){2, {rows, columns}});
}

static bsm_itensor *tensordot(bsm_conversion_ctx *ctx, bsm_itensor *a,
                              const int64_t *dims_a, bsm_itensor *b,
                              const int64_t *dims_b, size_t count) {
  bsm_dims left, right;
  a = contracted(ctx, a, dims_a, count, &left);
  b = contracted(ctx, b, dims_b, count, &right);
  if (!a || !b) return NULL;
  if (left.rank + right.rank > BSM_MAX_RANK) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED,
                         "rank %d is above the limit of %d",
                         (int)(left.rank + right.rank), BSM_MAX_RANK);
  }
  for (int32_t i = 0; i < right.rank; i++) left.d[left.rank++] = right.d[i];
  return bsm_emit_reshape(ctx, bsm_emit_matmul(ctx, a, false, b, true), left);
}

static bsm_status convert_tensordot(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, OTHER, DIMS_SELF, DIMS_OTHER };
  bsm_itensor *a, *b;
  size_t count, other;
  const int64_t *dims = bsm_arg_unwrap_to_int_list(args, DIMS_SELF, &count);
  const int64_t *dims_b = bsm_arg_unwrap_to_int_list(args, DIMS_OTHER, &other);
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(count == other && count <= BSM_MAX_RANK,
            "both dimension lists should have same length");
  return bsm_emit_output(ctx, node, 0,
                         tensordot(ctx, a, dims, b, dims_b, count));
}

/* Over the last dims; a number multiplies. */
static bsm_status convert_inner(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  const int64_t last = -1;
  bsm_itensor *a, *b;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  bool number = bsm_rank(a) == 0 || bsm_rank(b) == 0;
  return bsm_emit_output(
      ctx, node, 0,
      number ? product(ctx, a, b) : tensordot(ctx, a, &last, b, &last, 1));
}

/* The order of the products changes only rounding: from the left. */
static bsm_status convert_chain(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  size_t count;
  bsm_itensor *const *xs = bsm_arg_unwrap_to_itensor_list(ctx, args, 0, &count);
  if (!xs) return bsm_ctx_take_error(ctx);
  BSM_CHECK(count > 0, "expected at least one matrix");
  bsm_itensor *out = xs[0];
  for (size_t i = 1; i < count; i++) {
    out = bsm_emit_torch_matmul(ctx, out, xs[i]);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

/* [a0, 1, a1, 1, ...] * [1, b0, 1, b1, ...], dims merged in pairs. */
static bsm_status convert_kron(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  bsm_itensor *a, *b;
  bsm_dims wide_a = {0}, wide_b = {0}, out = {0};
  /* PyTorch multiplies views of as many dims. */
  if (!two_of(ctx, args, true, &a, &b)) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(a) > bsm_rank(b) ? bsm_rank(a) : bsm_rank(b);
  BSM_CHECK(2 * rank <= BSM_MAX_RANK, "kron of dims %s and %s",
            bsm_dims_str(a->dims), bsm_dims_str(b->dims));
  wide_a.rank = wide_b.rank = 2 * rank;
  out.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    int32_t ia = i - (rank - bsm_rank(a)), ib = i - (rank - bsm_rank(b));
    wide_a.d[2 * i] = ia < 0 ? 1 : a->dims.d[ia];
    wide_a.d[2 * i + 1] = wide_b.d[2 * i] = 1;
    wide_b.d[2 * i + 1] = ib < 0 ? 1 : b->dims.d[ib];
    out.d[i] = wide_a.d[2 * i] * wide_b.d[2 * i + 1];
  }
  bsm_itensor *all = product(ctx, bsm_emit_reshape(ctx, a, wide_a),
                             bsm_emit_reshape(ctx, b, wide_b));
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, all, out));
}

/* out[.., o] = sum over i, j of x1[.., i] w[o, i, j] x2[.., j] + bias[o]: one
 * matrix multiply with w as [I, O * J], one sum over j. */
static bsm_status convert_bilinear(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { X1, X2, WEIGHT, BIAS };
  bsm_itensor *a, *b;
  bsm_itensor *w = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  if (!two(ctx, args, &a, &b) || !w) return bsm_ctx_take_error(ctx);
  int32_t rank = bsm_rank(a);
  BSM_CHECK(rank >= 1 && rank == bsm_rank(b) && bsm_rank(w) == 3 &&
                rank < BSM_MAX_RANK && a->dims.d[rank - 1] == w->dims.d[1] &&
                b->dims.d[rank - 1] == w->dims.d[2],
            "bilinear: inputs with dims %s and %s, a weight with dims %s",
            bsm_dims_str(a->dims), bsm_dims_str(b->dims),
            bsm_dims_str(w->dims));
  int64_t o = w->dims.d[0], i = w->dims.d[1], j = w->dims.d[2];
  bsm_dims wide = a->dims;
  wide.d[rank - 1] = o;
  wide.d[wide.rank++] = j;
  w = bsm_emit_reshape(ctx, bsm_emit_transpose(ctx, w, 0, 1),
                       (bsm_dims){2, {i, o * j}});
  a = bsm_emit_reshape(ctx, bsm_emit_torch_matmul(ctx, a, w), wide);
  a = product(ctx, a, bsm_emit_unsqueeze(ctx, b, rank - 1));
  if (!a) return bsm_ctx_take_error(ctx);
  a = bsm_emit_reduce(ctx, a, BSM_REDUCE_SUM, 1u << (unsigned)rank, false);
  bsm_operand bias = bsm_operand_of(ctx, args, BIAS);
  if (!bias.missing && a) {
    a = bsm_emit_binary(ctx, a, bsm_operand_emit(ctx, &bias, a->dtype),
                        BSM_ELEMENT_WISE_SUM);
  }
  return bsm_emit_output(ctx, node, 0, a);
}

/* x[first], x[first + 1], x[first + 2] modulo 3 along the axis. */
static bsm_itensor *turned(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           int32_t axis, int64_t first) {
  bsm_itensor *parts[2] = {bsm_emit_slice(ctx, x, axis, first, 3 - first, 1),
                           bsm_emit_slice(ctx, x, axis, 0, first, 1)};
  return bsm_emit_concat(ctx, parts, 2, axis);
}

/* A missing dim is the first of size 3. */
static bsm_status convert_cross(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, OTHER, DIM };
  bsm_itensor *a, *b;
  int32_t axis = 0;
  if (!two(ctx, args, &a, &b)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(a) == bsm_rank(b),
            "cross: inputs must have the same number of dimensions");
  if (bsm_arg_is_none(args, DIM)) {
    while (axis < bsm_rank(a) && a->dims.d[axis] != 3) axis++;
  } else if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(a),
                           &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(axis < bsm_rank(a) && a->dims.d[axis] == 3 && b->dims.d[axis] == 3,
            "cross: no dimension of size 3 in %s and %s", bsm_dims_str(a->dims),
            bsm_dims_str(b->dims));
  bsm_itensor *plus =
      product(ctx, turned(ctx, a, axis, 1), turned(ctx, b, axis, 2));
  bsm_itensor *minus =
      product(ctx, turned(ctx, a, axis, 2), turned(ctx, b, axis, 1));
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_binary(ctx, plus, minus, BSM_ELEMENT_WISE_SUB));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] "
     "dims_other) -> Tensor",
     convert_tensordot, 0},
    {"aten::inner(Tensor self, Tensor other) -> Tensor", convert_inner, 0},
    {"aten::chain_matmul(Tensor[] matrices) -> Tensor", convert_chain, 0},
    {"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", convert_chain, 0},
    {"aten::kron(Tensor self, Tensor other) -> Tensor", convert_kron, 0},
    {"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? "
     "bias=None) -> Tensor",
     convert_bilinear, 0},
    {"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
     convert_cross, 0},
    {"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
     convert_cross, 0},
};
BSM_CONVERTER_TABLE(products, patterns);
