/* SPDX-License-Identifier: Apache-2.0 */
/* See scatter.h. */
#include "conversion/scatter.h"

static bsm_itensor *emit_layer(bsm_conversion_ctx *ctx, bsm_itensor *x,
                               bsm_itensor *index, bsm_itensor *source,
                               bsm_scatter_mode mode, int32_t axis,
                               bsm_scatter_options options) {
  if (!x || !index || !source) return NULL;
  if (index->dtype != BSM_DTYPE_INT32) {
    index = bsm_emit_cast(ctx, index, BSM_DTYPE_INT64);
  }
  bsm_layer *layer =
      bsm_network_add_scatter(ctx->net, x, index, source, mode, axis);
  bsm_scatter_set_reduction(layer, options.reduction, !options.fresh);
  bsm_scatter_set_wrap(layer, options.wrap);
  return bsm_emit(ctx, layer);
}

/* The vector along `axis` that an index repeats over all other dimensions, as
 * index.view(-1, 1).expand_as(source) does; NULL when it is not made so. */
static bsm_itensor *repeated_vector(bsm_conversion_ctx *ctx,
                                    const bsm_itensor *x, int32_t axis,
                                    const bsm_itensor *index) {
  const bsm_layer *layer = index->producer;
  if (!layer || layer->kind != BSM_LAYER_EXPAND) return NULL;
  bsm_itensor *vector = layer->inputs.items[0];
  const int32_t shift = index->dims.rank - vector->dims.rank;
  for (int32_t i = 0; i < index->dims.rank; i++) {
    const int64_t own = i < shift ? 1 : vector->dims.d[i - shift];
    if (own != (i == axis ? index->dims.d[i] : 1)) return NULL;
    if (i != axis && index->dims.d[i] != x->dims.d[i]) return NULL;
  }
  return bsm_emit_reshape(ctx, vector, (bsm_dims){1, {index->dims.d[axis]}});
}

bsm_itensor *bsm_emit_scatter(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bsm_itensor *index,
                              bsm_itensor *source,
                              bsm_scatter_options options) {
  if (!x || !index || !source) return NULL;
  if (bsm_rank(x) == 0) {
    x = bsm_emit_unsqueeze(ctx, x, 0);
    if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
    if (bsm_rank(source) == 0) source = bsm_emit_unsqueeze(ctx, source, 0);
    x = bsm_emit_scatter(ctx, x, 0, index, source, options);
    return bsm_emit_squeeze(ctx, x, 1);
  }
  if (bsm_itensor_numel(index) == 0) return x;
  int32_t rank = bsm_rank(x);
  if (rank == 1) {
    if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
    if (bsm_rank(source) == 0) source = bsm_emit_unsqueeze(ctx, source, 0);
    if (!index || !source) return NULL;
  }
  bool fits = bsm_rank(index) == rank && bsm_rank(source) == rank;
  for (int32_t i = 0; fits && i < rank; i++) {
    fits = index->dims.d[i] <= source->dims.d[i] &&
           (i == axis || index->dims.d[i] <= x->dims.d[i]);
  }
  if (!fits) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "Expected index %s to be no larger than self %s "
                         "apart from dimension %d and to be no larger than src "
                         "%s",
                         bsm_dims_str(index->dims), bsm_dims_str(x->dims),
                         (int)axis, bsm_dims_str(source->dims));
  }
  for (int32_t i = 0; i < rank; i++) {
    source = bsm_emit_slice(ctx, source, i, 0, index->dims.d[i], 1);
  }
  bsm_itensor *vector = repeated_vector(ctx, x, axis, index);
  if (vector) {
    return bsm_emit_index_write(ctx, x, axis, vector, source, options);
  }
  return emit_layer(ctx, x, index, source, BSM_SCATTER_ELEMENT, axis, options);
}

bsm_itensor *bsm_emit_index_write(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  int32_t axis, bsm_itensor *index,
                                  bsm_itensor *source,
                                  bsm_scatter_options options) {
  if (!x || !index || !source) return NULL;
  if (bsm_rank(x) == 0) {
    return bsm_emit_scatter(ctx, x, 0, index, source, options);
  }
  if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
  bsm_dims wanted = x->dims;
  wanted.d[axis] = bsm_itensor_numel(index);
  if (index && bsm_rank(source) < bsm_rank(x) && wanted.d[axis] == 1) {
    source = bsm_emit_unsqueeze(ctx, source, axis); /* one slice, 0-dim index */
  }
  if (!index || !source || bsm_rank(index) != 1 ||
      !bsm_dims_equal(source->dims, wanted)) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "writing dims %s to %lld places along dimension %d of "
                         "dims %s",
                         source ? bsm_dims_str(source->dims) : "?",
                         (long long)wanted.d[axis], (int)axis,
                         bsm_dims_str(x->dims));
  }
  if (wanted.d[axis] == 0) return x;
  return emit_layer(ctx, x, bsm_emit_unsqueeze(ctx, index, 1), source,
                    BSM_SCATTER_ND, axis, options);
}

bsm_itensor *bsm_emit_scatter_counts(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                     bool fresh) {
  return x ? bsm_emit_fill(ctx, x->dtype, x->dims, fresh ? 0 : 1) : NULL;
}

bsm_itensor *bsm_emit_scatter_mean(bsm_conversion_ctx *ctx, bsm_itensor *sum,
                                   bsm_itensor *counts) {
  if (!sum || !counts) return NULL;
  bsm_itensor *one = bsm_emit_int_scalar(ctx, counts->dtype, 1);
  counts = bsm_emit_binary(ctx, counts, one, BSM_ELEMENT_WISE_MAX);
  return bsm_emit_binary(ctx, sum, counts,
                         bsm_dtype_is_floating(sum->dtype)
                             ? BSM_ELEMENT_WISE_DIV
                             : BSM_ELEMENT_WISE_FLOOR_DIV);
}
