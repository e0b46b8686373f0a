/* SPDX-License-Identifier: Apache-2.0 */
/* See scatter.h. */
#include "conversion/scatter.h"

#include <math.h>

/* Comparisons beyond which this way makes no sense. */
#define COMPARISONS_MAX ((int64_t)1 << 28)

static bool affordable(bsm_conversion_ctx *ctx, int64_t places,
                       int64_t indices) {
  if (indices == 0 || places <= COMPARISONS_MAX / indices) return true;
  bsm_emit_fail(ctx, BSM_UNSUPPORTED,
                "a scatter of %lld indices, computed at run time, over %lld "
                "places",
                (long long)indices, (long long)places);
  return false;
}

/* 0, 1, ... as [.., count, 1] or [.., count] to compare with. */
static bsm_itensor *counting(bsm_conversion_ctx *ctx, int64_t count,
                             bool column) {
  bsm_itensor *x = bsm_emit_arange(ctx, 0, count, 1);
  return column ? bsm_emit_reshape(ctx, x, (bsm_dims){2, {count, 1}}) : x;
}

/* mask [.., n, m]: whether index m names place n. */
static bsm_itensor *named(bsm_conversion_ctx *ctx, bsm_itensor *index,
                          int64_t n) {
  index = bsm_emit_cast(ctx, index, BSM_DTYPE_INT64);
  index = bsm_emit_unsqueeze(ctx, index, bsm_rank(index) - 1);
  return bsm_emit_binary(ctx, index, counting(ctx, n, true),
                         BSM_ELEMENT_WISE_EQUAL);
}

/* [.., n]: the last of the m that names each place, or -1. */
static bsm_itensor *last_named(bsm_conversion_ctx *ctx, bsm_itensor *mask) {
  if (!mask) return NULL;
  int32_t last = bsm_rank(mask) - 1;
  bsm_itensor *which =
      bsm_emit_select(ctx, mask, counting(ctx, mask->dims.d[last], false),
                      bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, -1));
  return bsm_emit_reduce(ctx, which, BSM_REDUCE_MAX, 1u << (unsigned)last,
                         false);
}

static bsm_itensor *compare_zero(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_element_wise_operation operation) {
  return bsm_emit_binary(ctx, x, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0),
                         operation);
}

/* Pads the end of each dim to `dims` with `fill`. */
static bsm_itensor *grown(bsm_conversion_ctx *ctx, bsm_itensor *x,
                          bsm_dims dims, double fill) {
  bsm_dims start = {0}, stride = {0};
  if (!x || bsm_dims_equal(x->dims, dims)) return x;
  start.rank = stride.rank = dims.rank;
  for (int32_t i = 0; i < dims.rank; i++) stride.d[i] = 1;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, dims, stride);
  bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, fill);
  return bsm_emit(ctx, layer);
}

typedef struct reduction {
  bsm_reduce_operation reduce;
  bsm_element_wise_operation combine;
  bsm_itensor *neutral;
} reduction;

/* A neutral element that any value replaces: for extrema the extreme of the
 * other side. */
static reduction reduction_of(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                              bsm_scatter_mode mode) {
  bool floating = bsm_dtype_is_floating(dtype);
  int64_t most = dtype == BSM_DTYPE_INT32   ? INT32_MAX
                 : dtype == BSM_DTYPE_INT16 ? INT16_MAX
                 : dtype == BSM_DTYPE_INT8  ? INT8_MAX
                 : dtype == BSM_DTYPE_UINT8 ? UINT8_MAX
                                            : INT64_MAX;
  int64_t least = dtype == BSM_DTYPE_UINT8 ? 0 : -most - 1;
  switch (mode) {
    case BSM_SCATTER_PROD:
      return (reduction){BSM_REDUCE_PROD, BSM_ELEMENT_WISE_PROD,
                         bsm_emit_int_scalar(ctx, dtype, 1)};
    case BSM_SCATTER_MAX:
      return (reduction){BSM_REDUCE_MAX, BSM_ELEMENT_WISE_MAX,
                         floating ? bsm_emit_scalar(ctx, dtype, -INFINITY)
                                  : bsm_emit_int_scalar(ctx, dtype, least)};
    case BSM_SCATTER_MIN:
      return (reduction){BSM_REDUCE_MIN, BSM_ELEMENT_WISE_MIN,
                         floating ? bsm_emit_scalar(ctx, dtype, INFINITY)
                                  : bsm_emit_int_scalar(ctx, dtype, most)};
    default:
      return (reduction){BSM_REDUCE_SUM, BSM_ELEMENT_WISE_SUM,
                         bsm_emit_int_scalar(ctx, dtype, 0)};
  }
}

/* Along the last axis. */
static bsm_itensor *scatter_last(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_itensor *index, bsm_itensor *source,
                                 bsm_scatter_mode mode, bool fresh) {
  int32_t last = bsm_rank(x) - 1;
  uint32_t inner = 1u << (unsigned)(last + 1);
  bsm_itensor *mask = named(ctx, index, x->dims.d[last]), *hit = NULL, *value;
  if (!mask) return NULL;
  if (mode == BSM_SCATTER_ASSIGN) {
    bsm_itensor *which = last_named(ctx, mask);
    hit = compare_zero(ctx, which, BSM_ELEMENT_WISE_GREATER_EQUAL);
    value = bsm_emit_gather(ctx, source,
                            compare_zero(ctx, which, BSM_ELEMENT_WISE_MAX),
                            BSM_GATHER_ELEMENT, last);
  } else {
    reduction r = reduction_of(ctx, x->dtype, mode);
    value = bsm_emit_select(ctx, mask, bsm_emit_unsqueeze(ctx, source, last),
                            r.neutral);
    value = bsm_emit_reduce(ctx, value, r.reduce, inner, false);
    hit = bsm_emit_reduce(ctx, mask, BSM_REDUCE_ANY, inner, false);
    if (mode == BSM_SCATTER_ADD && !fresh) {
      return bsm_emit_binary(ctx, x, grown(ctx, value, x->dims, 0),
                             BSM_ELEMENT_WISE_SUM);
    }
    value = grown(ctx, value, x->dims, 0);
    if (!fresh) value = bsm_emit_binary(ctx, x, value, r.combine);
  }
  return bsm_emit_select(ctx, grown(ctx, hit, x->dims, 0),
                         grown(ctx, value, x->dims, 0), x);
}

bsm_itensor *bsm_emit_scatter(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bsm_itensor *index,
                              bsm_itensor *source, bsm_scatter_mode mode,
                              bool fresh) {
  if (!x || !index || !source) return NULL;
  if (bsm_rank(x) == 0) {
    x = bsm_emit_unsqueeze(ctx, x, 0);
    if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
    if (bsm_rank(source) == 0) source = bsm_emit_unsqueeze(ctx, source, 0);
    x = bsm_emit_scatter(ctx, x, 0, index, source, mode, fresh);
    return bsm_emit_squeeze(ctx, x, 1);
  }
  int32_t rank = bsm_rank(x);
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
  int64_t count = bsm_itensor_numel(index);
  if (count == 0) return x;
  if (!affordable(ctx, x->dims.d[axis], count)) return NULL;
  for (int32_t i = 0; i < rank; i++) {
    source = bsm_emit_slice(ctx, source, i, 0, index->dims.d[i], 1);
  }
  x = bsm_emit_transpose(ctx, x, axis, rank - 1);
  index = bsm_emit_transpose(ctx, index, axis, rank - 1);
  source = bsm_emit_transpose(ctx, source, axis, rank - 1);
  if (!x || !index || !source) return NULL;
  x = scatter_last(ctx, x, index, source, mode, fresh);
  return bsm_emit_transpose(ctx, x, axis, rank - 1);
}

bsm_itensor *bsm_emit_index_write(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                  int32_t axis, bsm_itensor *index,
                                  bsm_itensor *source, bool add) {
  if (!x || !index || !source) return NULL;
  if (bsm_rank(x) == 0) {
    return bsm_emit_scatter(ctx, x, 0, index, source,
                            add ? BSM_SCATTER_ADD : BSM_SCATTER_ASSIGN, false);
  }
  if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
  bsm_dims wanted = x->dims;
  wanted.d[axis] = bsm_itensor_numel(index);
  if (!index || bsm_rank(index) != 1 || !bsm_dims_equal(source->dims, wanted)) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "writing dims %s to %lld places along dimension %d of "
                         "dims %s",
                         bsm_dims_str(source->dims), (long long)wanted.d[axis],
                         (int)axis, bsm_dims_str(x->dims));
  }
  if (wanted.d[axis] == 0) return x;
  if (add) { /* the same index for every element */
    bsm_dims column = x->dims;
    for (int32_t i = 0; i < column.rank; i++) column.d[i] = 1;
    column.d[axis] = wanted.d[axis];
    index = bsm_emit_expand(ctx, bsm_emit_reshape(ctx, index, column), wanted);
    return bsm_emit_scatter(ctx, x, axis, index, source, BSM_SCATTER_ADD,
                            false);
  }
  if (!affordable(ctx, x->dims.d[axis], wanted.d[axis])) return NULL;
  bsm_itensor *which = last_named(ctx, named(ctx, index, x->dims.d[axis]));
  bsm_itensor *value = bsm_emit_gather(
      ctx, source, compare_zero(ctx, which, BSM_ELEMENT_WISE_MAX),
      BSM_GATHER_DEFAULT, axis);
  bsm_dims along = x->dims;
  for (int32_t i = 0; i < along.rank; i++) {
    if (i != axis) along.d[i] = 1;
  }
  bsm_itensor *hit = compare_zero(ctx, which, BSM_ELEMENT_WISE_GREATER_EQUAL);
  return bsm_emit_select(ctx, bsm_emit_reshape(ctx, hit, along), value, x);
}
