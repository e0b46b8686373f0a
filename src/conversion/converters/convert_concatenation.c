/* SPDX-License-Identifier: Apache-2.0 */
/* cat, stack and their relatives, with promotion to the common dtype. */
#include "conversion/emit.h"

/* result_type of a list of tensors: promotion is associative among those with
 * dimensions, and among those without. */
static bsm_dtype common_dtype(bsm_itensor *const *xs, size_t count) {
  bsm_operand classes[2] = {{0}, {0}};
  classes[0].missing = classes[1].missing = true;
  for (size_t i = 0; i < count; i++) {
    bsm_operand next = bsm_operand_of_itensor(xs[i]);
    bsm_operand *same = &classes[next.priority ? 1 : 0];
    if (same->missing) {
      *same = next;
    } else {
      same->dtype = bsm_promote_types(same->dtype, next.dtype);
    }
  }
  return bsm_operands_dtype(classes, 2);
}

/* PyTorch skips 1-D empty tensors in cat. */
static bool is_skipped(const bsm_itensor *x) {
  return x->dims.rank == 1 && x->dims.d[0] == 0;
}

static bsm_status list_arg(bsm_conversion_ctx *ctx, const bsm_args *args,
                           bsm_itensor ***out, size_t *count) {
  bsm_itensor *const *xs = bsm_arg_unwrap_to_itensor_list(ctx, args, 0, count);
  if (!xs) return bsm_ctx_take_error(ctx);
  BSM_CHECK(*count > 0, "expected a non-empty list of Tensors");
  bsm_itensor **copy = bsm_conversion_alloc(ctx, *count * sizeof *copy);
  BSM_TRY_ALLOC(copy);
  for (size_t i = 0; i < *count; i++) {
    if (!xs[i]) {
      BSM_TRY(bsm_ctx_take_error(ctx));
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "element %zu of the list is None",
                      i);
    }
    copy[i] = xs[i];
  }
  *out = copy;
  return BSM_OK;
}

static bsm_status convert_cat(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { TENSORS, DIM };
  bsm_itensor **xs;
  size_t count, kept = 0;
  int32_t axis;
  BSM_TRY(list_arg(ctx, args, &xs, &count));
  bsm_dtype dtype = common_dtype(xs, count);
  int32_t rank = 1;
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(bsm_rank(xs[i]) > 0,
              "zero-dimensional tensor (at position %zu) cannot be "
              "concatenated",
              i);
    if (!is_skipped(xs[i])) rank = bsm_rank(xs[i]);
  }
  if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), rank, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  for (size_t i = 0; i < count; i++) {
    if (is_skipped(xs[i])) continue;
    xs[kept++] = bsm_emit_cast(ctx, xs[i], dtype);
  }
  if (kept == 0) xs[kept++] = bsm_emit_cast(ctx, xs[0], dtype);
  return bsm_emit_output(ctx, node, 0, bsm_emit_concat(ctx, xs, kept, axis));
}

static bsm_status convert_stack(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { TENSORS, DIM };
  bsm_itensor **xs;
  size_t count;
  int32_t axis;
  BSM_TRY(list_arg(ctx, args, &xs, &count));
  bsm_dtype dtype = common_dtype(xs, count);
  if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(xs[0]) + 1,
                    &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(bsm_dims_equal(xs[i]->dims, xs[0]->dims),
              "stack expects each tensor to be equal size, but got %s at entry "
              "0 and %s at entry %zu",
              bsm_dims_str(xs[0]->dims), bsm_dims_str(xs[i]->dims), i);
  }
  for (size_t i = 0; i < count; i++) {
    xs[i] = bsm_emit_unsqueeze(ctx, bsm_emit_cast(ctx, xs[i], dtype), axis);
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_concat(ctx, xs, count, axis));
}

/* What each tensor becomes before hstack, vstack, dstack and column_stack join
 * them along `axis`. */
enum { STACK_H, STACK_V, STACK_D, STACK_COLUMN };

static bsm_itensor *at_least(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             int form) {
  while (x && bsm_rank(x) == 0) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (form == STACK_H || !x) return x;
  if (bsm_rank(x) == 1) {
    x = bsm_emit_unsqueeze(ctx, x, form == STACK_COLUMN ? 1 : 0);
  }
  if (form == STACK_D && bsm_rank(x) == 2) x = bsm_emit_unsqueeze(ctx, x, 2);
  return x;
}

static bsm_status convert_stack_form(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  bsm_itensor **xs;
  size_t count;
  int form = bsm_args_variant(args);
  BSM_TRY(list_arg(ctx, args, &xs, &count));
  /* Numbers become vectors before their dtypes are compared. */
  bsm_dtype dtype = xs[0]->dtype;
  for (size_t i = 1; i < count; i++) {
    dtype = bsm_promote_types(dtype, xs[i]->dtype);
  }
  for (size_t i = 0; i < count; i++) {
    xs[i] = at_least(ctx, bsm_emit_cast(ctx, xs[i], dtype), form);
  }
  int32_t axis = form == STACK_V                           ? 0
                 : form == STACK_D                         ? 2
                 : form == STACK_H && bsm_rank(xs[0]) == 1 ? 0
                                                           : 1;
  return bsm_emit_output(ctx, node, 0, bsm_emit_concat(ctx, xs, count, axis));
}

/* `x` with `before` and `after` zeros along the last axis. */
static bsm_itensor *between_zeros(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  int64_t before, int64_t after) {
  if (!x) return NULL;
  bsm_dims start = {0}, size = x->dims, stride = {0};
  int32_t last = size.rank - 1;
  start.rank = stride.rank = size.rank;
  for (int32_t i = 0; i < size.rank; i++) stride.d[i] = 1;
  start.d[last] = -before;
  size.d[last] += before + after;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, size, stride);
  bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, 0);
  return bsm_emit(ctx, layer);
}

/* Matrices along the diagonal, zeros elsewhere. */
static bsm_status convert_block_diag(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  bsm_itensor **xs;
  size_t count;
  int64_t columns = 0, before = 0;
  BSM_TRY(list_arg(ctx, args, &xs, &count));
  bsm_dtype dtype = common_dtype(xs, count);
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(
        bsm_rank(xs[i]) <= 2,
        "torch.block_diag: Input tensors must have 2 or fewer dimensions");
    xs[i] = at_least(ctx, bsm_emit_cast(ctx, xs[i], dtype), STACK_V);
    if (!xs[i]) return bsm_ctx_take_error(ctx);
    columns += xs[i]->dims.d[1];
  }
  for (size_t i = 0; i < count; i++) {
    int64_t own = xs[i]->dims.d[1];
    xs[i] = between_zeros(ctx, xs[i], before, columns - before - own);
    before += own;
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_concat(ctx, xs, count, 0));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", convert_cat, 0},
    {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", convert_cat, 0},
    {"aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", convert_cat,
     0},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", convert_stack, 0},
    {"aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", convert_stack, 0},
    {"aten::hstack(Tensor[] tensors) -> Tensor", convert_stack_form, STACK_H},
    {"aten::vstack(Tensor[] tensors) -> Tensor", convert_stack_form, STACK_V},
    {"aten::row_stack(Tensor[] tensors) -> Tensor", convert_stack_form,
     STACK_V},
    {"aten::dstack(Tensor[] tensors) -> Tensor", convert_stack_form, STACK_D},
    {"aten::column_stack(Tensor[] tensors) -> Tensor", convert_stack_form,
     STACK_COLUMN},
    {"aten::block_diag(Tensor[] tensors) -> Tensor", convert_block_diag, 0},
};
BSM_CONVERTER_TABLE(concatenation, patterns);
