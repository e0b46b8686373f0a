/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters whose indices are computed at run time, and those that reduce. */
#include <string.h>

#include "conversion/scatter.h"

/* self, dim and index of any of these operators. */
typedef struct scatter_args {
  bsm_itensor *x, *index;
  int32_t axis;
} scatter_args;

static bool read_args(bsm_conversion_ctx *ctx, const bsm_args *args,
                      scatter_args *out) {
  enum { SELF, DIM, INDEX };
  out->x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  out->index = bsm_arg_itensor_or_freeze(ctx, args, INDEX);
  return out->x && out->index &&
         bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(out->x),
                      &out->axis);
}

bsm_status bsm_convert_scatter(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE };
  scatter_args a;
  bsm_itensor *out;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  bool by_index = strncmp(bsm_node_kind(node), "aten::index", 11) == 0;
  bsm_itensor *source = bsm_emit_cast(
      ctx, bsm_arg_itensor_or_freeze(ctx, args, SOURCE), a.x->dtype);
  if (!source) return bsm_ctx_take_error(ctx);
  if (by_index) {
    bsm_dims dims = a.x->dims;
    if (dims.rank) dims.d[a.axis] = bsm_itensor_numel(a.index);
    if (bsm_rank(source) == 0) source = bsm_emit_expand(ctx, source, dims);
    out = bsm_emit_index_write(ctx, a.x, a.axis, a.index, source, false);
  } else {
    if (bsm_rank(source) == 0) {
      source = bsm_emit_expand(ctx, source, a.index->dims);
    }
    out = bsm_emit_scatter(ctx, a.x, a.axis, a.index, source,
                           BSM_SCATTER_ASSIGN, false);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

static bsm_status convert_scatter_add(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE };
  scatter_args a;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  bsm_itensor *source = bsm_arg_itensor_or_freeze(ctx, args, SOURCE);
  BSM_CHECK(!source || source->dtype == a.x->dtype,
            "scatter(): Expected self.dtype to be equal to src.dtype");
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_scatter(ctx, a.x, a.axis, a.index, source,
                                          BSM_SCATTER_ADD, false));
}

/* "mean" is the sum divided by the number of what was added. */
static bsm_itensor *scatter_mean(bsm_conversion_ctx *ctx, const scatter_args *a,
                                 bsm_itensor *source, bool fresh) {
  bsm_dtype dtype = a->x->dtype;
  if (!source || !bsm_dtype_is_floating(dtype)) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED,
                         "scatter_reduce with the mean of %s",
                         bsm_dtype_name(dtype));
  }
  bsm_itensor *one = bsm_emit_int_scalar(ctx, dtype, 1);
  bsm_itensor *ones = bsm_emit_fill(ctx, dtype, source->dims, 1);
  bsm_itensor *count = bsm_emit_scatter(
      ctx, bsm_emit_fill(ctx, dtype, a->x->dims, fresh ? 0 : 1), a->axis,
      a->index, ones, BSM_SCATTER_ADD, false);
  count = bsm_emit_binary(ctx, count, one, BSM_ELEMENT_WISE_MAX);
  bsm_itensor *sum = bsm_emit_scatter(ctx, a->x, a->axis, a->index, source,
                                      BSM_SCATTER_ADD, fresh);
  return bsm_emit_binary(ctx, sum, count, BSM_ELEMENT_WISE_DIV);
}

static bsm_status convert_scatter_reduce(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE, REDUCE, INCLUDE_SELF };
  static const struct {
    const char *name;
    bsm_scatter_mode mode;
  } modes[] = {{"sum", BSM_SCATTER_ADD},
               {"prod", BSM_SCATTER_PROD},
               {"amax", BSM_SCATTER_MAX},
               {"amin", BSM_SCATTER_MIN}};
  scatter_args a;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  bsm_itensor *source = bsm_arg_itensor_or_freeze(ctx, args, SOURCE);
  const char *reduce = bsm_arg_unwrap_to_string(args, REDUCE);
  bool fresh = !bsm_arg_unwrap_to_bool(args, INCLUDE_SELF);
  BSM_CHECK(!source || source->dtype == a.x->dtype,
            "scatter_reduce(): Expected self.dtype to be equal to src.dtype");
  if (strcmp(reduce, "mean") == 0) {
    return bsm_emit_output(ctx, node, 0, scatter_mean(ctx, &a, source, fresh));
  }
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (strcmp(reduce, modes[i].name) != 0) continue;
    return bsm_emit_output(ctx, node, 0,
                           bsm_emit_scatter(ctx, a.x, a.axis, a.index, source,
                                            modes[i].mode, fresh));
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "reduce argument must be either sum, prod, mean, amax or "
                  "amin, got %s",
                  reduce);
}

static bsm_status convert_index_add(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE, ALPHA };
  scatter_args a;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  bsm_itensor *source = bsm_arg_itensor_or_freeze(ctx, args, SOURCE);
  bsm_scalar alpha = bsm_arg_unwrap_to_scalar(args, ALPHA);
  BSM_CHECK(!source || source->dtype == a.x->dtype,
            "index_add_(): self and source must have the same scalar type");
  if (alpha.d < 1 || alpha.d > 1) {
    bsm_operand operand = bsm_operand_of_scalar(alpha);
    source = bsm_emit_binary(ctx, source,
                             bsm_operand_emit(ctx, &operand, a.x->dtype),
                             BSM_ELEMENT_WISE_PROD);
  }
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_index_write(ctx, a.x, a.axis, a.index, source, true));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> "
     "Tensor",
     convert_scatter_add, 0},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, "
     "str reduce, *, bool include_self=True) -> Tensor",
     convert_scatter_reduce, 0},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "
     "Scalar alpha=1) -> Tensor",
     convert_index_add, 0},
};
BSM_CONVERTER_TABLE(scatter, patterns);
