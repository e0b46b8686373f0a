/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of sorted rows, their most frequent elements and medians of
 * numbers, and histograms. */
#include <math.h>
#include <string.h>

#include "conversion/emit.h"
#include "conversion/scatter.h"

/* ---- sorted rows ---- */

/* Rows [..., n] of what is along an axis, sorted, and where each element was.
 */
typedef struct sorted {
  bsm_itensor *values, *order;
  int64_t n;
} sorted;

static bool sort_along(bsm_conversion_ctx *ctx, bsm_itensor *x, int32_t axis,
                       sorted *out) {
  bsm_dims perm = {bsm_rank(x), {0}};
  for (int32_t i = 0, to = 0; i < perm.rank; i++) {
    if (i != axis) perm.d[to++] = i;
  }
  perm.d[perm.rank - 1] = axis;
  out->n = x->dims.d[axis];
  x = bsm_emit_permute(ctx, x, perm);
  if (!x) return false;
  bsm_layer *layer =
      bsm_network_add_top_k(ctx->net, x, false, out->n, perm.rank - 1);
  out->values = bsm_emit(ctx, layer);
  out->order = layer ? bsm_layer_output(layer, 1) : NULL;
  return out->values && out->order;
}

/* ---- quantiles ---- */

/* Which of the sorted elements a quantile is: `rank` counts from 0. */
typedef struct place {
  bsm_itensor *below, *above, *weight; /* above NULL: below alone */
} place;

static place place_of(bsm_conversion_ctx *ctx, bsm_itensor *rank,
                      const char *how) {
  place p = {NULL, NULL, NULL};
  if (strcmp(how, "lower") == 0) {
    rank = bsm_emit_unary(ctx, rank, BSM_UNARY_FLOOR);
  } else if (strcmp(how, "higher") == 0) {
    rank = bsm_emit_unary(ctx, rank, BSM_UNARY_CEIL);
  } else if (strcmp(how, "nearest") == 0) {
    rank = bsm_emit_unary(ctx, rank, BSM_UNARY_ROUND);
  } else {
    bsm_itensor *floor = bsm_emit_unary(ctx, rank, BSM_UNARY_FLOOR);
    p.above = bsm_emit_unary(ctx, rank, BSM_UNARY_CEIL);
    p.weight = strcmp(how, "midpoint") == 0 && rank
                   ? bsm_emit_scalar(ctx, rank->dtype, 0.5)
                   : bsm_emit_binary(ctx, rank, floor, BSM_ELEMENT_WISE_SUB);
    rank = floor;
  }
  p.below = bsm_emit_cast(ctx, rank, BSM_DTYPE_INT64);
  p.above = bsm_emit_cast(ctx, p.above, BSM_DTYPE_INT64);
  return p;
}

/* Element `at` of each row [..., n]: for each of the places that are the same
 * in all rows, [Q], or for those of each row, [..., Q]. */
static bsm_itensor *pick(bsm_conversion_ctx *ctx, bsm_itensor *rows,
                         bsm_itensor *at) {
  if (!rows || !at) return NULL;
  const bool same = bsm_rank(at) == 1 && bsm_rank(rows) > 1;
  return bsm_emit_gather(
      ctx, rows, at,
      same || bsm_rank(rows) == 1 ? BSM_GATHER_DEFAULT : BSM_GATHER_ELEMENT,
      bsm_rank(rows) - 1);
}

/* Where quantiles [Q] are in sorted rows [..., n]; `skips`: among the elements
 * that are no NaN, which is as in each row. */
static bsm_itensor *ranks(bsm_conversion_ctx *ctx, bsm_itensor *rows,
                          bsm_itensor *q, bool skips) {
  if (!rows || !q) return NULL;
  const int32_t axis = bsm_rank(rows) - 1;
  bsm_itensor *last =
      bsm_emit_scalar(ctx, q->dtype, (double)(rows->dims.d[axis] - 1));
  if (skips) {
    bsm_itensor *is_number = bsm_emit_unary(
        ctx, bsm_emit_unary(ctx, rows, BSM_UNARY_ISNAN), BSM_UNARY_NOT);
    last = bsm_emit_reduce(ctx, bsm_emit_cast(ctx, is_number, q->dtype),
                           BSM_REDUCE_SUM, 1u << (unsigned)axis, true);
    last = bsm_emit_binary(ctx, last, bsm_emit_scalar(ctx, q->dtype, 1),
                           BSM_ELEMENT_WISE_SUB);
    last = bsm_emit_binary(ctx, last, bsm_emit_scalar(ctx, q->dtype, 0),
                           BSM_ELEMENT_WISE_MAX);
  }
  return bsm_emit_binary(ctx, q, last, BSM_ELEMENT_WISE_PROD);
}

/* Of sorted rows: [..., Q]. NaN in a row is its last element, and then the
 * result, unless it is left out. */
static bsm_itensor *quantiles(bsm_conversion_ctx *ctx, bsm_itensor *rows,
                              bsm_itensor *q, const char *how, bool skips) {
  const place p = place_of(ctx, ranks(ctx, rows, q, skips), how);
  bsm_itensor *y = pick(ctx, rows, p.below);
  if (p.above) y = bsm_emit_lerp(ctx, y, pick(ctx, rows, p.above), p.weight);
  if (skips || !y) return y;
  const int32_t axis = bsm_rank(rows) - 1;
  bsm_itensor *last =
      bsm_emit_slice(ctx, rows, axis, rows->dims.d[axis] - 1, 1, 1);
  return bsm_emit_select(ctx, bsm_emit_unary(ctx, last, BSM_UNARY_ISNAN), last,
                         y);
}

/* [..., Q] as the result has it: Q first, when the quantiles are a vector, and
 * the dim that was reduced when it is kept. */
static bsm_itensor *arrange(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            bool is_vector, int32_t axis, bool keep,
                            int32_t kept_rank) {
  const int32_t rank = bsm_rank(x);
  bsm_dims perm = {rank, {rank - 1}};
  for (int32_t i = 1; i < rank; i++) perm.d[i] = i - 1;
  x = is_vector ? bsm_emit_permute(ctx, x, perm)
                : bsm_emit_squeeze(ctx, x, 1u << (unsigned)(rank - 1));
  const int32_t first = is_vector ? 1 : 0;
  if (!keep) return x;
  if (axis >= 0) return bsm_emit_unsqueeze(ctx, x, first + axis);
  for (int32_t i = 0; i < kept_rank; i++) {
    x = bsm_emit_unsqueeze(ctx, x, first);
  }
  return x;
}

/* quantile and nanquantile: `variant` is which. */
enum { WITH_NAN, WITHOUT_NAN };

static bsm_status convert_quantile(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, Q, DIM, KEEPDIM, INTERPOLATION };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_itensor *q =
      bsm_arg_is_itensor(args, Q) || bsm_arg_is_tensor(args, Q)
          ? bsm_arg_itensor_or_freeze(ctx, args, Q)
          : bsm_emit_scalar(ctx, x->dtype, bsm_arg_unwrap_to_double(args, Q));
  const char *how = bsm_arg_unwrap_to_string_or(args, INTERPOLATION, "linear");
  const int32_t rank = bsm_rank(x);
  int32_t axis = 0;
  bool all = bsm_arg_is_none(args, DIM);
  if (!q) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_itensor_numel(x) > 0 && bsm_rank(q) <= 1 &&
                bsm_itensor_numel(q) > 0 && q->dtype == x->dtype,
            "quantile of %s, of quantiles %s", bsm_dims_str(x->dims),
            bsm_dims_str(q->dims));
  if (all || rank == 0) {
    x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {bsm_itensor_numel(x)}});
  } else if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), rank,
                           &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  if (!x) return bsm_ctx_take_error(ctx);
  const bool is_vector = bsm_rank(q) == 1;
  if (!is_vector) q = bsm_emit_unsqueeze(ctx, q, 0);
  sorted s;
  if (!sort_along(ctx, x, axis, &s)) return bsm_ctx_take_error(ctx);
  bsm_itensor *y =
      quantiles(ctx, s.values, q, how, bsm_args_variant(args) == WITHOUT_NAN);
  if (!y) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      arrange(ctx, y, is_vector, all || rank == 0 ? -1 : axis,
              bsm_arg_unwrap_to_bool(args, KEEPDIM), rank));
}

/* ---- modes and medians ---- */

/* The first place of the longest run of equal elements, at which it ends. A run
 * begins where an element differs from the one before. */
static bsm_itensor *longest_run(bsm_conversion_ctx *ctx, const sorted *s) {
  const int32_t axis = bsm_rank(s->values) - 1;
  bsm_dims ones = s->values->dims;
  ones.d[axis] = 1;
  if (s->n == 1) return bsm_emit_fill(ctx, BSM_DTYPE_INT64, ones, 0);
  bsm_itensor *same =
      bsm_emit_binary(ctx, bsm_emit_slice(ctx, s->values, axis, 1, s->n - 1, 1),
                      bsm_emit_slice(ctx, s->values, axis, 0, s->n - 1, 1),
                      BSM_ELEMENT_WISE_EQUAL);
  bsm_itensor *at = bsm_emit_arange(ctx, 1, s->n - 1, 1);
  bsm_itensor *start = bsm_emit_select(
      ctx, same, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0), at);
  if (!start) return NULL;
  start =
      bsm_emit(ctx, bsm_network_add_scan(ctx->net, start, BSM_SCAN_MAX, axis));
  bsm_itensor *const lengths[] = {
      bsm_emit_fill(ctx, BSM_DTYPE_INT64, ones, 0),
      bsm_emit_binary(ctx, at, start, BSM_ELEMENT_WISE_SUB)};
  bsm_itensor *all = lengths[1] ? bsm_emit_concat(ctx, lengths, 2, axis) : NULL;
  if (!all) return NULL;
  return bsm_layer_output(bsm_network_add_top_k(ctx->net, all, true, 1, axis),
                          1);
}

/* The lower median of those that are no NaN; of NaN alone, the first. */
static bsm_itensor *median_of_numbers(bsm_conversion_ctx *ctx,
                                      const sorted *s) {
  const int32_t axis = bsm_rank(s->values) - 1;
  bsm_dims ones = s->values->dims;
  ones.d[axis] = 1;
  if (!bsm_dtype_is_floating(s->values->dtype)) {
    return bsm_emit_fill(ctx, BSM_DTYPE_INT64, ones, (double)((s->n - 1) / 2));
  }
  bsm_itensor *is_number = bsm_emit_unary(
      ctx, bsm_emit_unary(ctx, s->values, BSM_UNARY_ISNAN), BSM_UNARY_NOT);
  bsm_itensor *last =
      bsm_emit_reduce(ctx, bsm_emit_cast(ctx, is_number, BSM_DTYPE_INT64),
                      BSM_REDUCE_SUM, 1u << (unsigned)axis, true);
  last =
      bsm_emit_binary(ctx, last, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 1),
                      BSM_ELEMENT_WISE_SUB);
  last =
      bsm_emit_binary(ctx, last, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0),
                      BSM_ELEMENT_WISE_MAX);
  return bsm_emit_binary(ctx, last,
                         bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 2),
                         BSM_ELEMENT_WISE_FLOOR_DIV);
}

/* mode, nanmedian.dim, and nanmedian of all elements. */
enum { MODE, NANMEDIAN, NANMEDIAN_OF_ALL };
/* Elements that PyTorch sorts by insertion, which is stable. */
#define STABLE_SORT 16

static bsm_status convert_place(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  const int which = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  const bool all = which == NANMEDIAN_OF_ALL, flat = all || bsm_rank(x) == 0;
  const bsm_dtype dtype = x->dtype;
  int32_t axis = 0;
  BSM_CHECK(bsm_itensor_numel(x) > 0, "the %s of no elements",
            which == MODE ? "mode" : "median");
  if (!all && !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                            &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  /* Of equal elements PyTorch names the one that its sort leaves behind. */
  BSM_CHECK(which != MODE || flat || x->dims.d[axis] <= STABLE_SORT ||
                !bsm_output_is_used(node, 1),
            "the places of modes of more than %d", STABLE_SORT);
  if (flat) x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {bsm_itensor_numel(x)}});
  if (dtype == BSM_DTYPE_BOOL) x = bsm_emit_cast(ctx, x, BSM_DTYPE_UINT8);
  sorted s;
  if (!x || !sort_along(ctx, x, axis, &s)) return bsm_ctx_take_error(ctx);
  const int32_t last = bsm_rank(x) - 1;
  bsm_itensor *at =
      which == MODE ? longest_run(ctx, &s) : median_of_numbers(ctx, &s);
  bsm_itensor *outs[2] = {s.values, s.order};
  for (int i = 0; i < (all ? 1 : 2); i++) {
    if (!at) return bsm_ctx_take_error(ctx);
    bsm_itensor *y =
        bsm_emit_gather(ctx, outs[i], at, BSM_GATHER_ELEMENT, last);
    y = bsm_emit_squeeze(ctx, y, 1u << (unsigned)last);
    if (!flat && bsm_arg_unwrap_to_bool(args, KEEPDIM)) {
      y = bsm_emit_unsqueeze(ctx, y, axis);
    }
    if (i == 0) y = bsm_emit_cast(ctx, y, dtype);
    BSM_TRY(bsm_emit_output(ctx, node, (size_t)i, y));
  }
  return BSM_OK;
}

/* ---- histograms ---- */

/* The range of a histogram, as 0-dim tensors: that which is given, or that of
 * the elements; where it is one number, by one more on both sides. */
typedef struct range {
  bsm_itensor *low, *high;
} range;

static range range_of(bsm_conversion_ctx *ctx, bsm_itensor *x, double low,
                      double high) {
  if (low < high) {
    return (range){bsm_emit_scalar(ctx, x->dtype, low),
                   bsm_emit_scalar(ctx, x->dtype, high)};
  }
  const uint32_t all = 1;
  bsm_itensor *least = bsm_emit_reduce(ctx, x, BSM_REDUCE_MIN, all, false);
  bsm_itensor *most = bsm_emit_reduce(ctx, x, BSM_REDUCE_MAX, all, false);
  bsm_itensor *one = bsm_emit_scalar(ctx, x->dtype, 1);
  bsm_itensor *same = bsm_emit_binary(ctx, least, most, BSM_ELEMENT_WISE_EQUAL);
  return (range){
      bsm_emit_select(ctx, same,
                      bsm_emit_binary(ctx, least, one, BSM_ELEMENT_WISE_SUB),
                      least),
      bsm_emit_select(ctx, same,
                      bsm_emit_binary(ctx, most, one, BSM_ELEMENT_WISE_SUM),
                      most)};
}

/* The bin of each element; that behind the last for those in none. */
static bsm_itensor *bin_of(bsm_conversion_ctx *ctx, bsm_itensor *x, range r,
                           int64_t bins) {
  bsm_itensor *inside = bsm_emit_binary(
      ctx, bsm_emit_binary(ctx, x, r.low, BSM_ELEMENT_WISE_GREATER_EQUAL),
      bsm_emit_binary(ctx, x, r.high, BSM_ELEMENT_WISE_LESS_EQUAL),
      BSM_ELEMENT_WISE_AND);
  bsm_itensor *at = bsm_emit_binary(ctx, x, r.low, BSM_ELEMENT_WISE_SUB);
  at = bsm_emit_binary(ctx, at, bsm_emit_scalar(ctx, x->dtype, (double)bins),
                       BSM_ELEMENT_WISE_PROD);
  at = bsm_emit_binary(
      ctx, at, bsm_emit_binary(ctx, r.high, r.low, BSM_ELEMENT_WISE_SUB),
      BSM_ELEMENT_WISE_DIV);
  at = bsm_emit_activation(ctx, at, BSM_ACTIVATION_CLIP, 0, (double)(bins - 1));
  at = bsm_emit_select(ctx, inside, at,
                       bsm_emit_scalar(ctx, x->dtype, (double)bins));
  return bsm_emit_cast(ctx, at, BSM_DTYPE_INT64);
}

static bsm_status convert_histc(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, BINS, MIN, MAX };
  const bsm_scatter_options add = {.reduction = BSM_SCATTER_ADD};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  const int64_t bins = bsm_arg_unwrap_to_int(args, BINS);
  const double low = bsm_arg_unwrap_to_double(args, MIN);
  const double high = bsm_arg_unwrap_to_double(args, MAX);
  const int64_t n = bsm_itensor_numel(x);
  BSM_CHECK(n > 0 && bins > 0 && bins < 1 << 22 && low <= high &&
                isfinite(low) && isfinite(high),
            "histc of %s with %lld bins from %g to %g", bsm_dims_str(x->dims),
            (long long)bins, low, high);
  /* Narrower ones hold neither the numbers of bins nor counts. */
  BSM_CHECK(x->dtype == BSM_DTYPE_FLOAT || x->dtype == BSM_DTYPE_DOUBLE,
            "histc of %s", bsm_dtype_name(x->dtype));
  x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {n}});
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_itensor *at = bin_of(ctx, x, range_of(ctx, x, low, high), bins);
  bsm_itensor *counts = bsm_emit_scatter(
      ctx, bsm_emit_fill(ctx, x->dtype, (bsm_dims){1, {bins + 1}}, 0), 0, at,
      bsm_emit_fill(ctx, x->dtype, (bsm_dims){1, {n}}, 1), add);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_slice(ctx, counts, 0, 0, bins, 1));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, "
     "*, str interpolation=\"linear\") -> Tensor",
     convert_quantile, WITH_NAN},
    {"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool "
     "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
     convert_quantile, WITH_NAN},
    {"aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool "
     "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
     convert_quantile, WITHOUT_NAN},
    {"aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool "
     "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
     convert_quantile, WITHOUT_NAN},
    {"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor "
     "values, Tensor indices)",
     convert_place, MODE},
    {"aten::nanmedian(Tensor self) -> Tensor", convert_place, NANMEDIAN_OF_ALL},
    {"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
     "values, Tensor indices)",
     convert_place, NANMEDIAN},
    {"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> "
     "Tensor",
     convert_histc, 0},
};
BSM_CONVERTER_TABLE(statistics, patterns);
