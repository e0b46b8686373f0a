/* SPDX-License-Identifier: Apache-2.0 */
/* scatter and its kin: writes along one dimension to places that an index
 * tensor names. */
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

/* PyTorch's names of reductions: the older ones of scatter.reduce too. */
static bool read_reduction(const char *name, bsm_scatter_reduction *out,
                           bool *mean) {
  static const struct {
    const char *name;
    bsm_scatter_reduction reduction;
  } all[] = {{"sum", BSM_SCATTER_ADD},  {"add", BSM_SCATTER_ADD},
             {"prod", BSM_SCATTER_MUL}, {"multiply", BSM_SCATTER_MUL},
             {"amax", BSM_SCATTER_MAX}, {"amin", BSM_SCATTER_MIN},
             {"mean", BSM_SCATTER_ADD}};
  *mean = strcmp(name, "mean") == 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(name, all[i].name) != 0) continue;
    *out = all[i].reduction;
    return true;
  }
  return false;
}

typedef bsm_itensor *(*write_fn)(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 int32_t axis, bsm_itensor *index,
                                 bsm_itensor *source,
                                 bsm_scatter_options options);

static bsm_itensor *write_mean(bsm_conversion_ctx *ctx, const scatter_args *a,
                               bsm_itensor *source, write_fn write,
                               bool fresh) {
  if (!source) return NULL;
  const bsm_scatter_options options = {BSM_SCATTER_ADD, fresh, false};
  const bsm_scatter_options add = {BSM_SCATTER_ADD, false, false};
  bsm_itensor *ones = bsm_emit_fill(ctx, a->x->dtype, source->dims, 1);
  bsm_itensor *counts = write(ctx, bsm_emit_scatter_counts(ctx, a->x, fresh),
                              a->axis, a->index, ones, add);
  return bsm_emit_scatter_mean(
      ctx, write(ctx, a->x, a->axis, a->index, source, options), counts);
}

/* A constant or computed source, of the data's dtype: of one element when it
 * is a number. */
static bsm_itensor *read_source(bsm_conversion_ctx *ctx, const bsm_args *args,
                                size_t i, const scatter_args *a) {
  return bsm_emit_cast(ctx, bsm_arg_itensor_or_freeze(ctx, args, i),
                       a->x->dtype);
}

/* scatter.src, scatter.value, scatter.reduce and scatter.value_reduce: with
 * `variant`, a reduction follows. A value is expanded to the index. */
static bsm_status convert_scatter(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE, REDUCE };
  scatter_args a;
  bsm_scatter_options options = {BSM_SCATTER_ASSIGN, false, false};
  bool mean = false;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  if (bsm_args_variant(args)) {
    const char *name = bsm_arg_unwrap_to_string(args, REDUCE);
    BSM_CHECK(name && read_reduction(name, &options.reduction, &mean) && !mean,
              "scatter: reduce argument must be either add or multiply, got "
              "%s",
              name ? name : "nothing");
  }
  bsm_itensor *source = read_source(ctx, args, SOURCE, &a);
  if (!source) return bsm_ctx_take_error(ctx);
  if (bsm_rank(source) == 0 && !bsm_arg_is_itensor(args, SOURCE)) {
    source = bsm_emit_expand(ctx, source, a.index->dims);
  }
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_scatter(ctx, a.x, a.axis, a.index, source, options));
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
  const bsm_scatter_options add = {BSM_SCATTER_ADD, false, false};
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_scatter(ctx, a.x, a.axis, a.index, source, add));
}

/* scatter_reduce, and with `variant` index_reduce, whose index is a vector. */
static bsm_status convert_reduce(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE, REDUCE, INCLUDE_SELF };
  scatter_args a;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  const write_fn write =
      bsm_args_variant(args) ? bsm_emit_index_write : bsm_emit_scatter;
  bsm_itensor *source = bsm_arg_itensor_or_freeze(ctx, args, SOURCE);
  const char *name = bsm_arg_unwrap_to_string(args, REDUCE);
  bsm_scatter_options options = {
      BSM_SCATTER_ASSIGN, !bsm_arg_unwrap_to_bool(args, INCLUDE_SELF), false};
  bool mean;
  BSM_CHECK(!bsm_args_variant(args) || !name || strcmp(name, "sum") != 0,
            "reduce argument must be either prod, mean, amax or amin");
  BSM_CHECK(!source || source->dtype == a.x->dtype,
            "%s(): Expected self.dtype to be equal to src.dtype",
            bsm_node_kind(node));
  BSM_CHECK(name && read_reduction(name, &options.reduction, &mean),
            "reduce argument must be either sum, prod, mean, amax or amin, "
            "got %s",
            name ? name : "nothing");
  bsm_itensor *out = mean ? write_mean(ctx, &a, source, write, options.fresh)
                          : write(ctx, a.x, a.axis, a.index, source, options);
  return bsm_emit_output(ctx, node, 0, out);
}

/* index_copy, and with `variant` index_fill, whose negative indices count from
 * the end. */
static bsm_status convert_index_copy(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, DIM, INDEX, SOURCE };
  const bool fill = bsm_args_variant(args) != 0;
  scatter_args a;
  if (!read_args(ctx, args, &a)) return bsm_ctx_take_error(ctx);
  bsm_itensor *source = read_source(ctx, args, SOURCE, &a);
  if (!source) return bsm_ctx_take_error(ctx);
  bsm_dims dims = a.x->dims;
  if (dims.rank) dims.d[a.axis] = bsm_itensor_numel(a.index);
  BSM_CHECK(!fill || bsm_rank(source) == 0,
            "index_fill_ only supports a 0-dimensional value tensor, but got "
            "tensor with %d dimension(s)",
            (int)bsm_rank(source));
  /* A scalar takes any number of indices. */
  const bool scalar = fill && dims.rank == 0;
  if (scalar) {
    a.x = bsm_emit_unsqueeze(ctx, a.x, 0);
    dims = (bsm_dims){1, {bsm_itensor_numel(a.index)}};
  }
  if (fill || bsm_rank(source) == 0) {
    source = bsm_emit_expand(ctx, source, dims);
  }
  const bsm_scatter_options options = {BSM_SCATTER_ASSIGN, false, fill};
  bsm_itensor *out =
      bsm_emit_index_write(ctx, a.x, a.axis, a.index, source, options);
  if (scalar) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
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
    BSM_CHECK(a.x->dtype != BSM_DTYPE_BOOL, "index_add: a factor of bools");
    bsm_operand operand = bsm_operand_of_scalar(alpha);
    source = bsm_emit_binary(ctx, source,
                             bsm_operand_emit(ctx, &operand, a.x->dtype),
                             BSM_ELEMENT_WISE_PROD);
  }
  const bsm_scatter_options add = {BSM_SCATTER_ADD, false, false};
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_index_write(ctx, a.x, a.axis, a.index, source, add));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> "
     "Tensor",
     convert_scatter, 0},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> "
     "Tensor",
     convert_scatter, 0},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, "
     "str reduce) -> Tensor",
     convert_scatter, 1},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar "
     "value, *, str reduce) -> Tensor",
     convert_scatter, 1},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> "
     "Tensor",
     convert_scatter_add, 0},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, "
     "str reduce, *, bool include_self=True) -> Tensor",
     convert_reduce, 0},
    {"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, "
     "str reduce, *, bool include_self=True) -> Tensor",
     convert_reduce, 1},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> "
     "Tensor",
     convert_index_copy, 0},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar "
     "value) -> Tensor",
     convert_index_copy, 1},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor "
     "value) -> Tensor",
     convert_index_copy, 1},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "
     "Scalar alpha=1) -> Tensor",
     convert_index_add, 0},
};
BSM_CONVERTER_TABLE(scatter, patterns);
