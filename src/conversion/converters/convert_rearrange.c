/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only choose where each element of the result comes from:
 * diagonal, unfold, rot90, masked_scatter with a constant mask.
 *
 * The reference operator runs now on the positions 0, 1, 2, ... of the data
 * (and of what is scattered into it, numbered after the data); its result says
 * where each element comes from, and one gather does the rest. */
#include "base/checked.h"
#include "conversion/emit.h"

/* Of how many elements positions are worked out and kept in the engine: at
 * most 8 MB each time. Of more, the reference operator runs later. */
#define MAX_POSITIONS ((int64_t)1 << 20)

static bsm_status check_positions(const bsm_node *node, bsm_dims dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (!bsm_i64_mul(count, dims.d[i], &count)) count = INT64_MAX;
    if (count <= 0) return BSM_OK; /* none, or not known */
  }
  BSM_CHECK(count <= MAX_POSITIONS,
            "%s with dims %s, of more than %lld elements", bsm_node_kind(node),
            bsm_dims_str(dims), (long long)MAX_POSITIONS);
  return BSM_OK;
}

/* start, start + 1, ... as an int64 tensor of this shape. */
static bsm_status numbered(bsm_conversion_ctx *ctx, bsm_dims dims,
                           int64_t start, bsm_tensor **out) {
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false, out));
  int64_t *values = bsm_tensor_data(*out);
  for (int64_t i = 0; i < bsm_tensor_numel(*out); i++) values[i] = start + i;
  return BSM_OK;
}

/* The static arguments, with arguments 0 and `source` replaced by positions;
 * `source` 0: only one. */
static bsm_status positions(bsm_conversion_ctx *ctx, const bsm_node *node,
                            const bsm_args *args, size_t source,
                            const bsm_itensor *x, const bsm_itensor *from,
                            bsm_tensor **out) {
  size_t count = bsm_args_count(args);
  bsm_ivalue *values = BSM_NEW_ARRAY(ctx->impl->arena, bsm_ivalue, count);
  bsm_ivalue result;
  bsm_tensor *tensor;
  const bsm_type *type = bsm_node_out(node, 0)->type;
  BSM_TRY_ALLOC(values);
  BSM_TRY(check_positions(node, x->dims));
  if (from) BSM_TRY(check_positions(node, from->dims));
  if (type && type->kind == BSM_TYPE_TENSOR && type->has_dims) {
    BSM_TRY(check_positions(node, type->dims));
  }
  for (size_t i = 0; i < count; i++) {
    if (i == 0) {
      BSM_TRY(numbered(ctx, x->dims, 0, &tensor));
      values[i] = bsm_iv_tensor(tensor);
    } else if (i == source && from) {
      int64_t start = bsm_itensor_numel(x);
      values[i] = bsm_iv_int(start);
      if (bsm_arg_is_itensor(args, i) || bsm_arg_is_tensor(args, i)) {
        BSM_TRY(numbered(ctx, from->dims, start, &tensor));
        values[i] = bsm_iv_tensor(tensor);
      }
    } else {
      BSM_CHECK(
          args->items[i].ivalue && bsm_ivalue_is_static(args->items[i].ivalue),
          "%s: argument %zu is computed at run time; only the data may "
          "be",
          bsm_node_kind(node), i);
      values[i] = *args->items[i].ivalue;
    }
  }
  BSM_TRY(
      bsm_host_call(ctx, bsm_node_qualified(node), values, count, &result, 1));
  BSM_CHECK(result.tag == BSM_IVALUE_TENSOR, "%s gave no tensor",
            bsm_node_kind(node));
  BSM_TRY(check_positions(node, result.u.tensor->sizes));
  return bsm_tensor_contiguous(ctx->impl->arena, result.u.tensor, out);
}

static bsm_itensor *flat(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  return bsm_emit_reshape(ctx, x, (bsm_dims){1, {bsm_itensor_numel(x)}});
}

/* `variant`: the argument that is scattered into argument 0; 0: none. */
static bsm_status convert_rearrange(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  size_t source = (size_t)bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0), *from = NULL;
  bsm_tensor *at;
  if (!x) return bsm_ctx_take_error(ctx);
  if (source) {
    from = bsm_emit_cast(ctx, bsm_arg_itensor_or_freeze(ctx, args, source),
                         x->dtype);
    if (!from) return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(positions(ctx, node, args, source, x, from, &at));
  bsm_itensor *both[2] = {flat(ctx, x), from ? flat(ctx, from) : NULL};
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_gather(ctx, bsm_emit_concat(ctx, both, from ? 2 : 1, 0),
                      bsm_freeze_tensor(ctx, at), BSM_GATHER_DEFAULT, 0));
}

static bsm_status convert_take(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, INDEX };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *index = bsm_arg_itensor_or_freeze(ctx, args, INDEX);
  if (!x || !index) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_gather(ctx, flat(ctx, x), index, BSM_GATHER_DEFAULT, 0));
}

/* tril and triu: a constant mask; `variant` 1: upper. */
static bsm_status convert_triangle(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, DIAGONAL };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t diagonal = bsm_arg_unwrap_to_int(args, DIAGONAL);
  bsm_tensor *mask;
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) >= 2,
            "%s: input tensor must have at least 2 dimensions",
            bsm_node_kind(node));
  int64_t rows = x->dims.d[bsm_rank(x) - 2], cols = x->dims.d[bsm_rank(x) - 1];
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_BOOL,
                         (bsm_dims){2, {rows, cols}}, false, &mask));
  uint8_t *keep = bsm_tensor_data(mask);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      keep[i * cols + j] =
          bsm_args_variant(args) ? j - i >= diagonal : j - i <= diagonal;
    }
  }
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_select(ctx, bsm_freeze_tensor(ctx, mask), x,
                      bsm_emit_int_scalar(ctx, x->dtype, 0)));
}

/* Where diag_embed takes each element from: its diagonal numbers x from 1, and
 * 0 is elsewhere. */
static bsm_status embedded(bsm_conversion_ctx *ctx, const bsm_node *node,
                           bsm_dims x, int64_t offset, int32_t dim1,
                           int32_t dim2, bsm_tensor **out) {
  bsm_dims dims = {0};
  int64_t size = x.d[x.rank - 1] + (offset < 0 ? -offset : offset);
  bsm_tensor *from;
  bsm_ivalue values[4], diagonal;
  dims.rank = x.rank + 1;
  for (int32_t i = 0, next = 0; i < dims.rank; i++) {
    dims.d[i] = i == dim1 || i == dim2 ? size : x.d[next++];
  }
  BSM_TRY(check_positions(node, dims));
  BSM_TRY(numbered(ctx, x, 1, &from));
  BSM_TRY(bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false, out));
  values[0] = bsm_iv_tensor(*out);
  values[1] = bsm_iv_int(offset);
  values[2] = bsm_iv_int(dim1);
  values[3] = bsm_iv_int(dim2);
  BSM_TRY(bsm_host_call(ctx, "aten::diagonal", values, 4, &diagonal, 1));
  BSM_CHECK(diagonal.tag == BSM_IVALUE_TENSOR, "diagonal gave no tensor");
  return bsm_tensor_copy(diagonal.u.tensor, from);
}

/* x, whose elements `at` numbers from 1, and 0 elsewhere. */
static bsm_itensor *among_zeros(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                const bsm_tensor *at) {
  bsm_itensor *both[2] = {bsm_emit_fill(ctx, x->dtype, (bsm_dims){1, {1}}, 0),
                          flat(ctx, x)};
  return bsm_emit_gather(ctx, bsm_emit_concat(ctx, both, 2, 0),
                         bsm_freeze_tensor(ctx, at), BSM_GATHER_DEFAULT, 0);
}

static bsm_status convert_diag_embed(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, OFFSET, DIM1, DIM2 };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t offset = bsm_arg_unwrap_to_int(args, OFFSET);
  int32_t dim1, dim2;
  bsm_tensor *at;
  if (!x ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM1), bsm_rank(x) + 1,
                    &dim1) ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM2), bsm_rank(x) + 1,
                    &dim2)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(x) > 0 && bsm_rank(x) < BSM_MAX_RANK && dim1 != dim2 &&
                offset > -INT32_MAX && offset < INT32_MAX,
            "diag_embed of dims %s along %d and %d, offset %lld",
            bsm_dims_str(x->dims), (int)dim1, (int)dim2, (long long)offset);
  BSM_TRY(embedded(ctx, node, x->dims, offset, dim1, dim2, &at));
  return bsm_emit_output(ctx, node, 0, among_zeros(ctx, x, at));
}

/* diag: the diagonal of a matrix, or the matrix of a vector; diagflat
 * (`variant` 1): that of all elements. */
static bsm_status convert_diag(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, OFFSET };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t offset = bsm_arg_unwrap_to_int(args, OFFSET);
  bsm_tensor *at;
  if (!x) return bsm_ctx_take_error(ctx);
  if (bsm_args_variant(args)) {
    x = flat(ctx, x);
  } else if (bsm_rank(x) == 2) {
    BSM_TRY(positions(ctx, node, args, 0, x, NULL, &at));
    return bsm_emit_output(
        ctx, node, 0,
        bsm_emit_gather(ctx, flat(ctx, x), bsm_freeze_tensor(ctx, at),
                        BSM_GATHER_DEFAULT, 0));
  }
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) == 1 && offset > -INT32_MAX && offset < INT32_MAX,
            "diag of dims %s, diagonal %lld", bsm_dims_str(x->dims),
            (long long)offset);
  BSM_TRY(embedded(ctx, node, x->dims, offset, 0, 1, &at));
  return bsm_emit_output(ctx, node, 0, among_zeros(ctx, x, at));
}

/* The sum of the diagonal. */
static bsm_status convert_trace(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) == 2, "trace: expected a matrix, but got dims %s",
            bsm_dims_str(x->dims));
  int64_t rows = x->dims.d[0], columns = x->dims.d[1];
  int64_t count = rows < columns ? rows : columns;
  if (!bsm_dtype_is_floating(x->dtype)) {
    x = bsm_emit_cast(ctx, x, BSM_DTYPE_INT64);
  }
  x = bsm_emit_slice(ctx, flat(ctx, x), 0, 0, count, columns + 1);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_reduce(ctx, x, BSM_REDUCE_SUM, 1, false));
}

/* The tensors of a list, broadcast together. */
static bsm_status convert_broadcast_tensors(bsm_conversion_ctx *ctx,
                                            const bsm_node *node,
                                            const bsm_args *args) {
  size_t count;
  bsm_itensor *const *xs = bsm_arg_unwrap_to_itensor_list(ctx, args, 0, &count);
  bsm_itensor **out = bsm_conversion_alloc(ctx, (count + 1) * sizeof *out);
  bsm_dims dims = {0};
  BSM_TRY_ALLOC(out);
  for (size_t i = 0; i < count; i++) {
    if (!xs[i]) return bsm_ctx_take_error(ctx);
    for (int32_t k = 1; k <= bsm_rank(xs[i]); k++) {
      int64_t size = xs[i]->dims.d[bsm_rank(xs[i]) - k];
      if (k > dims.rank) {
        for (int32_t m = dims.rank; m > 0; m--) dims.d[m] = dims.d[m - 1];
        dims.d[0] = size;
        dims.rank++;
      } else if (dims.d[dims.rank - k] == 1) {
        dims.d[dims.rank - k] = size;
      }
    }
  }
  for (size_t i = 0; i < count; i++) {
    out[i] = bsm_emit_expand(ctx, xs[i], dims);
    if (!out[i]) return bsm_ctx_take_error(ctx);
  }
  return bsm_associate_value_and_itensor_list(ctx, bsm_node_output(node, 0),
                                              out, count);
}

/* meshgrid of vectors, "ij" or "xy". */
static bsm_status convert_meshgrid(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { TENSORS, INDEXING };
  size_t count;
  bsm_itensor *const *xs =
      bsm_arg_unwrap_to_itensor_list(ctx, args, TENSORS, &count);
  bool swap = bsm_args_count(args) > INDEXING &&
              bsm_arg_unwrap_to_string(args, INDEXING)[0] == 'x' && count >= 2;
  bsm_itensor **out = bsm_conversion_alloc(ctx, (count + 1) * sizeof *out);
  bsm_dims grid = {0};
  BSM_TRY_ALLOC(out);
  BSM_CHECK(count <= BSM_MAX_RANK, "meshgrid of %zu tensors", count);
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(xs[i] && bsm_rank(xs[i]) <= 1,
              "torch.meshgrid: Expected 0D or 1D tensor");
    size_t axis = swap && i < 2 ? 1 - i : i;
    grid.d[axis] = bsm_itensor_numel(xs[i]);
    grid.rank++;
  }
  for (size_t i = 0; i < count; i++) {
    size_t axis = swap && i < 2 ? 1 - i : i;
    bsm_dims own = {0};
    own.rank = grid.rank;
    for (int32_t k = 0; k < own.rank; k++) own.d[k] = 1;
    own.d[axis] = grid.d[axis];
    out[i] = bsm_emit_expand(ctx, bsm_emit_reshape(ctx, xs[i], own), grid);
    if (!out[i]) return bsm_ctx_take_error(ctx);
  }
  return bsm_associate_value_and_itensor_list(ctx, bsm_node_output(node, 0),
                                              out, count);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> "
     "Tensor",
     convert_diag_embed, 0},
    {"aten::diag(Tensor self, int diagonal=0) -> Tensor", convert_diag, 0},
    {"aten::diagflat(Tensor self, int offset=0) -> Tensor", convert_diag, 1},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int "
     "dim1=0, int dim2=1) -> Tensor",
     convert_rearrange, 1},
    {"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int "
     "dim2=-1) -> Tensor(a)",
     convert_rearrange, 0},
    {"aten::combinations(Tensor self, int r=2, bool with_replacement=False) "
     "-> Tensor",
     convert_rearrange, 0},
    {"aten::trace(Tensor self) -> Tensor", convert_trace, 0},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor(a)",
     convert_rearrange, 0},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> "
     "Tensor(a)",
     convert_rearrange, 0},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) "
     "-> Tensor",
     convert_rearrange, 0},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> "
     "Tensor",
     convert_rearrange, 0},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
     convert_rearrange, 0},
    {"aten::take(Tensor self, Tensor index) -> Tensor", convert_take, 0},
    {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? "
     "dim=None, *, int? output_size=None) -> Tensor",
     convert_rearrange, 0},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor",
     convert_rearrange, 0},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     convert_rearrange, 2},
    {"aten::tril(Tensor self, int diagonal=0) -> Tensor", convert_triangle, 0},
    {"aten::triu(Tensor self, int diagonal=0) -> Tensor", convert_triangle, 1},
    {"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
     convert_broadcast_tensors, 0},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", convert_meshgrid, 0},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
     convert_meshgrid, 0},
};
BSM_CONVERTER_TABLE(rearrange, patterns);
