/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: sums, means, extrema, norms, variances, arg-extrema, sorting. */
#include <math.h>

#include "conversion/emit.h"

static bool is_number(double value, double wanted) {
  return !(value < wanted) && !(value > wanted);
}

/* The axes of an optional list of dims: None and [] are all. */
static bool axes_of(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                    const bsm_itensor *x, uint32_t *axes) {
  size_t count;
  const int64_t *dims = bsm_arg_unwrap_to_int_list_or_none(args, i, &count);
  return x && bsm_wrap_dims(ctx, dims, count, bsm_rank(x), axes);
}

/* Sums and products of integers are int64; a dtype argument comes first. */
static bsm_itensor *accumulate_dtype(bsm_conversion_ctx *ctx,
                                     const bsm_args *args, size_t dtype_index,
                                     bsm_itensor *x) {
  if (!x) return NULL;
  bsm_dtype dtype = x->dtype;
  if (!bsm_dtype_is_floating(dtype)) dtype = BSM_DTYPE_INT64;
  return bsm_emit_cast(ctx, x, bsm_arg_dtype_or(args, dtype_index, dtype));
}

/* sum, prod over all, over a list of dims, or over one; `variant` is the
 * operation, plus the form. */
enum { ALL = 0x100, LIST = 0x200 };

static bsm_status convert_sum(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM, DTYPE };
  int variant = bsm_args_variant(args);
  uint32_t axes;
  bool all = variant & ALL;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (all) {
    axes = (1u << (unsigned)bsm_rank(x)) - 1;
  } else if (!axes_of(ctx, args, DIM, x, &axes)) {
    return bsm_ctx_take_error(ctx);
  }
  x = accumulate_dtype(ctx, args, all ? 1 : DTYPE, x);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_reduce(ctx, x, (bsm_reduce_operation)(variant & 0xff), axes,
                      !all && bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

static bsm_status convert_mean(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM, DTYPE };
  bool all = bsm_args_variant(args) == ALL;
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (all) {
    axes = (1u << (unsigned)bsm_rank(x)) - 1;
  } else if (!axes_of(ctx, args, DIM, x, &axes)) {
    return bsm_ctx_take_error(ctx);
  }
  x = bsm_emit_cast(
      ctx, x, bsm_arg_dtype_or(args, all ? 1 : DTYPE, bsm_itensor_dtype(x)));
  BSM_CHECK(!x || bsm_dtype_is_floating(x->dtype),
            "mean(): could not infer output dtype. Input dtype must be either "
            "a floating point or complex dtype. Got: %s",
            bsm_dtype_name(bsm_itensor_dtype(x)));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes,
                      !all && bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

/* Extrema of bools are any and all. */
static bsm_itensor *extremum(bsm_conversion_ctx *ctx, bsm_itensor *x, bool max,
                             uint32_t axes, bool keep) {
  bsm_reduce_operation operation = max ? BSM_REDUCE_MAX : BSM_REDUCE_MIN;
  if (x && x->dtype == BSM_DTYPE_BOOL) {
    operation = max ? BSM_REDUCE_ANY : BSM_REDUCE_ALL;
  }
  return bsm_emit_reduce(ctx, x, operation, axes, keep);
}

/* max, min over all; amax, amin over dims. */
static bsm_status convert_extremum(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  int variant = bsm_args_variant(args);
  bool keep = false;
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (variant & ALL) {
    axes = (1u << (unsigned)bsm_rank(x)) - 1;
  } else {
    keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
    if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  }
  return bsm_emit_output(
      ctx, node, 0,
      extremum(ctx, x, (variant & 0xff) == BSM_REDUCE_MAX, axes, keep));
}

/* any, all: over everything, one dim, or a list; uint8 stays uint8. An empty
 * list, unlike None, reduces nothing. */
static bsm_status convert_any(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  int variant = bsm_args_variant(args);
  bool keep = false;
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dtype dtype = bsm_itensor_dtype(x);
  if (variant & ALL) {
    axes = (1u << (unsigned)bsm_rank(x)) - 1;
  } else {
    keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
    if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
    size_t count = 1;
    bsm_arg_unwrap_to_int_list_or_none(args, DIM, &count);
    if (count == 0 && !bsm_arg_is_none(args, DIM)) axes = 0;
  }
  x = bsm_emit_cast(ctx, x, BSM_DTYPE_BOOL);
  x = bsm_emit_reduce(ctx, x, (bsm_reduce_operation)(variant & 0xff), axes,
                      keep);
  if (dtype == BSM_DTYPE_UINT8) x = bsm_emit_cast(ctx, x, dtype);
  return bsm_emit_output(ctx, node, 0, x);
}

/* The values and indices of the first `k` along `axis`; a 0-dim tensor is
 * seen as one element. */
static bool top_k(bsm_conversion_ctx *ctx, bsm_itensor *x, bool largest,
                  int64_t k, int32_t axis, bsm_itensor **values,
                  bsm_itensor **indices) {
  *values = *indices = NULL;
  if (!x) return false;
  bool scalar = bsm_rank(x) == 0;
  bool boolean = x->dtype == BSM_DTYPE_BOOL;
  if (scalar) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (boolean) x = bsm_emit_cast(ctx, x, BSM_DTYPE_UINT8);
  if (!x) return false;
  bsm_layer *layer = bsm_network_add_top_k(ctx->net, x, largest, k, axis);
  *values = bsm_emit(ctx, layer);
  *indices = bsm_layer_output(layer, 1);
  if (boolean) *values = bsm_emit_cast(ctx, *values, BSM_DTYPE_BOOL);
  if (scalar) {
    *values = bsm_emit_squeeze(ctx, *values, 1);
    *indices = bsm_emit_squeeze(ctx, *indices, 1);
  }
  return *values && *indices;
}

/* The extreme element along `axis`, where NaN beats everything: a top-k of one
 * takes NaN for the largest, so the least is the largest of the negation. */
static bool extreme(bsm_conversion_ctx *ctx, bsm_itensor *x, bool largest,
                    int32_t axis, bsm_itensor **values, bsm_itensor **indices) {
  if (largest || !x || !bsm_dtype_is_floating(x->dtype)) {
    return top_k(ctx, x, largest, 1, axis, values, indices);
  }
  x = bsm_emit_unary(ctx, x, BSM_UNARY_NEG);
  if (!top_k(ctx, x, true, 1, axis, values, indices)) return false;
  *values = bsm_emit_unary(ctx, *values, BSM_UNARY_NEG);
  return *values != NULL;
}

/* max.dim, min.dim: values and indices along one dim. */
static bsm_status convert_extremum_dim(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  bool largest = bsm_args_variant(args) == BSM_REDUCE_MAX;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values, *indices;
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  bool keep = bsm_arg_unwrap_to_bool(args, KEEPDIM) || bsm_rank(x) == 0;
  uint32_t bit = 1u << (unsigned)axis;
  if (bsm_node_out(node, 1)->uses.len == 0) {
    /* Only the values: a plain reduction. */
    values = extremum(ctx, x, largest, bsm_rank(x) ? bit : 0, keep);
    BSM_TRY(bsm_emit_output(ctx, node, 0, values));
    return bsm_associate_ivalue(ctx, bsm_node_out(node, 1), bsm_iv_none());
  }
  if (!extreme(ctx, x, largest, axis, &values, &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  if (!keep) {
    values = bsm_emit_squeeze(ctx, values, bit);
    indices = bsm_emit_squeeze(ctx, indices, bit);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, values));
  return bsm_emit_output(ctx, node, 1, indices);
}

static bsm_status convert_arg_extremum(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  bool largest = bsm_args_variant(args) == BSM_REDUCE_MAX;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values, *indices;
  int32_t axis = 0;
  if (!x) return bsm_ctx_take_error(ctx);
  bool keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
  int32_t rank = bsm_rank(x);
  if (bsm_arg_is_none(args, DIM)) {
    bsm_dims flat = {1, {bsm_itensor_numel(x)}}, ones = x->dims;
    for (int32_t i = 0; i < rank; i++) ones.d[i] = 1;
    if (!keep) ones.rank = 0;
    if (!extreme(ctx, bsm_emit_reshape(ctx, x, flat), largest, 0, &values,
                 &indices)) {
      return bsm_ctx_take_error(ctx);
    }
    return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, indices, ones));
  }
  if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), rank, &axis) ||
      !extreme(ctx, x, largest, axis, &values, &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  if (!keep && rank > 0) {
    indices = bsm_emit_squeeze(ctx, indices, 1u << (unsigned)axis);
  }
  return bsm_emit_output(ctx, node, 0, indices);
}

static bsm_status convert_topk(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, K, DIM, LARGEST };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values, *indices;
  int32_t axis;
  int64_t k = bsm_arg_unwrap_to_int(args, K);
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  int64_t size = bsm_rank(x) ? x->dims.d[axis] : 1;
  BSM_CHECK(bsm_rank(x) > 0 || k == 1, "no element of a number");
  BSM_CHECK(k >= 0 && k <= size, "selected index k out of range: %lld of %lld",
            (long long)k, (long long)size);
  if (!top_k(ctx, x, bsm_arg_unwrap_to_bool(args, LARGEST), k, axis, &values,
             &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, values));
  return bsm_emit_output(ctx, node, 1, indices);
}

/* sort and argsort: all elements of a top-k. `variant`: index of the dim
 * argument, plus ARGSORT. */
enum { ARGSORT = 0x100 };

static bsm_status convert_sort(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  int variant = bsm_args_variant(args);
  size_t dim = (size_t)(variant & 0xff);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  bsm_itensor *values, *indices;
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, dim), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  int64_t size = bsm_rank(x) ? x->dims.d[axis] : 1;
  if (!top_k(ctx, x, bsm_arg_unwrap_to_bool(args, dim + 1), size, axis, &values,
             &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  if (variant & ARGSORT) return bsm_emit_output(ctx, node, 0, indices);
  BSM_TRY(bsm_emit_output(ctx, node, 0, values));
  return bsm_emit_output(ctx, node, 1, indices);
}

static bsm_status convert_msort(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  bsm_itensor *values, *indices;
  if (!x) return bsm_ctx_take_error(ctx);
  const int64_t size = bsm_rank(x) ? x->dims.d[0] : 1;
  if (!top_k(ctx, x, false, size, 0, &values, &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  return bsm_emit_output(ctx, node, 0, values);
}

/* The last of the k smallest. */
static bsm_status convert_kthvalue(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, K, DIM, KEEPDIM };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF), *both[2];
  const int64_t k = bsm_arg_unwrap_to_int(args, K);
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  const int64_t size = bsm_rank(x) ? x->dims.d[axis] : 1;
  BSM_CHECK(k >= 1 && k <= size,
            "kthvalue(): selected number k out of range for dimension %d",
            (int)axis);
  if (!top_k(ctx, x, false, k, axis, &both[0], &both[1])) {
    return bsm_ctx_take_error(ctx);
  }
  for (size_t i = 0; i < 2; i++) {
    if (bsm_rank(x) > 0) {
      both[i] = bsm_emit_slice(ctx, both[i], axis, k - 1, 1, 1);
      if (!bsm_arg_unwrap_to_bool(args, KEEPDIM)) {
        both[i] = bsm_emit_squeeze(ctx, both[i], 1u << (unsigned)axis);
      }
    }
    BSM_TRY(bsm_emit_output(ctx, node, i, both[i]));
  }
  return BSM_OK;
}

static bsm_itensor *variance(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             uint32_t axes, bool keep, double correction) {
  if (!x) return NULL;
  bsm_layer *layer =
      bsm_network_add_reduce(ctx->net, x, BSM_REDUCE_VARIANCE, axes, keep);
  bsm_reduce_set_correction(layer, correction);
  return bsm_emit(ctx, layer);
}

/* var, std, var_mean, std_mean in the forms (unbiased), (dim, unbiased,
 * keepdim) and (dim, correction, keepdim). */
enum { VAR_STD = 1, VAR_MEAN = 2, VAR_DIM = 4, VAR_CORRECTION = 8 };

static bsm_status convert_var(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, DIM, UNBIASED, KEEPDIM };
  int variant = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  double correction = 1;
  bool keep = false;
  uint32_t axes = (1u << (unsigned)bsm_rank(x)) - 1;
  if (variant & VAR_CORRECTION) {
    correction = bsm_arg_unwrap_to_double_or(args, UNBIASED, 1);
  } else if (variant & VAR_DIM) {
    correction = bsm_arg_unwrap_to_bool(args, UNBIASED) ? 1 : 0;
  } else {
    correction = bsm_arg_unwrap_to_bool(args, 1) ? 1 : 0;
  }
  if (variant & (VAR_DIM | VAR_CORRECTION)) {
    keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
    if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_dtype_is_floating(bsm_itensor_dtype(x)),
            "std and var only support floating point and complex dtypes");
  int64_t count = 1;
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    if (axes >> (unsigned)i & 1u) count *= x->dims.d[i];
  }
  /* Equal elements give NaN, others infinity: a rounded mean tells them not
   * apart. */
  BSM_CHECK(count <= 1 || correction < (double)count,
            "a variance of fewer elements than its correction takes off");
  bsm_itensor *out = variance(ctx, x, axes, keep, correction);
  if (variant & VAR_STD) out = bsm_emit_unary(ctx, out, BSM_UNARY_SQRT);
  BSM_TRY(bsm_emit_output(ctx, node, 0, out));
  if (!(variant & VAR_MEAN)) return BSM_OK;
  return bsm_emit_output(ctx, node, 1,
                         bsm_emit_reduce(ctx, x, BSM_REDUCE_AVG, axes, keep));
}

bsm_itensor *bsm_emit_p_norm(bsm_conversion_ctx *ctx, bsm_itensor *x, double p,
                             uint32_t axes, bool keep) {
  if (!x) return NULL;
  if (is_number(p, 2)) {
    return bsm_emit_reduce(ctx, x, BSM_REDUCE_L2, axes, keep);
  }
  if (is_number(p, 1)) {
    return bsm_emit_reduce(ctx, x, BSM_REDUCE_L1, axes, keep);
  }
  bsm_itensor *size = bsm_emit_unary(ctx, x, BSM_UNARY_ABS);
  if (isinf(p)) {
    return bsm_emit_reduce(ctx, size, p > 0 ? BSM_REDUCE_MAX : BSM_REDUCE_MIN,
                           axes, keep);
  }
  if (is_number(p, 0)) {
    size = bsm_emit_cast(ctx, bsm_emit_cast(ctx, x, BSM_DTYPE_BOOL), x->dtype);
    return bsm_emit_reduce(ctx, size, BSM_REDUCE_SUM, axes, keep);
  }
  if (fabs(p) < 0.125) {
    /* Its root would make a rounding error many times as large. */
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "a norm of a degree near zero");
  }
  size = bsm_emit_binary(ctx, size, bsm_emit_scalar(ctx, x->dtype, p),
                         BSM_ELEMENT_WISE_POW);
  size = bsm_emit_reduce(ctx, size, BSM_REDUCE_SUM, axes, keep);
  return bsm_emit_binary(ctx, size, bsm_emit_scalar(ctx, x->dtype, 1 / p),
                         BSM_ELEMENT_WISE_POW);
}

/* norm and linalg_vector_norm: (self, p [, dim [, keepdim]] [, dtype]). */
enum { NORM_DIM = 1, NORM_DTYPE = 2, NORM_DTYPE_ONLY = 4 };

static bsm_status convert_norm(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, P, DIM, KEEPDIM, DTYPE };
  int variant = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  double p = bsm_arg_unwrap_to_double_or(args, P, 2);
  uint32_t axes = (1u << (unsigned)bsm_rank(x)) - 1;
  bool keep = false;
  bsm_dtype dtype = bsm_itensor_dtype(x);
  if (variant & NORM_DIM) {
    keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
    if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  }
  if (variant & NORM_DTYPE) dtype = bsm_arg_dtype_or(args, DTYPE, dtype);
  if (variant & NORM_DTYPE_ONLY) dtype = bsm_arg_dtype_or(args, 2, dtype);
  x = bsm_emit_cast(ctx, x, dtype);
  BSM_CHECK(bsm_dtype_is_floating(dtype),
            "norm(): the input is %s, floating point is needed",
            bsm_dtype_name(dtype));
  return bsm_emit_output(ctx, node, 0, bsm_emit_p_norm(ctx, x, p, axes, keep));
}

static bsm_status convert_frobenius(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_p_norm(ctx, x, 2, axes, bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

/* log(sum(exp(x - m))) + m, where m is the maximum, or 0 when infinite. */
static bsm_status convert_logsumexp(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  uint32_t axes;
  bsm_itensor *x =
      bsm_emit_to_floating(ctx, bsm_arg_itensor_or_freeze(ctx, args, SELF));
  bool keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    BSM_CHECK(!(axes >> (unsigned)i & 1u) || x->dims.d[i] > 0,
              "logsumexp over nothing");
  }
  bsm_itensor *m = bsm_emit_reduce(ctx, x, BSM_REDUCE_MAX, axes, true);
  m = bsm_emit_select(ctx, bsm_emit_unary(ctx, m, BSM_UNARY_ISINF),
                      bsm_emit_scalar(ctx, x->dtype, 0), m);
  bsm_itensor *sum = bsm_emit_unary(
      ctx, bsm_emit_binary(ctx, x, m, BSM_ELEMENT_WISE_SUB), BSM_UNARY_EXP);
  sum = bsm_emit_reduce(ctx, sum, BSM_REDUCE_SUM, axes, true);
  bsm_itensor *out = bsm_emit_binary(
      ctx, bsm_emit_unary(ctx, sum, BSM_UNARY_LOG), m, BSM_ELEMENT_WISE_SUM);
  if (!keep) out = bsm_emit_squeeze(ctx, out, axes);
  return bsm_emit_output(ctx, node, 0, out);
}

/* nansum: NaN counts as 0; the sum itself is convert_sum's. */
static bsm_status convert_nansum(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM, DTYPE };
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  if (bsm_dtype_is_floating(x->dtype)) {
    x = bsm_emit_select(ctx, bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN),
                        bsm_emit_scalar(ctx, x->dtype, 0), x);
  }
  x = accumulate_dtype(ctx, args, DTYPE, x);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_reduce(ctx, x, BSM_REDUCE_SUM, axes,
                      bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

/* nanmean: of what is no NaN; of nothing it is one. Both the sum and the count
 * are of the dtype before they are divided. */
static bsm_status convert_nanmean(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM, DTYPE };
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const bool keep = bsm_arg_unwrap_to_bool(args, KEEPDIM);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_dtype_is_floating(x->dtype),
            "nanmean(): expected input to have floating point dtype");
  const bsm_dtype dtype = bsm_arg_dtype_or(args, DTYPE, x->dtype);
  BSM_CHECK(bsm_dtype_is_floating(dtype), "nanmean to %s",
            bsm_dtype_name(dtype));
  /* 16 bits would not count far. */
  x = bsm_emit_cast(ctx, x, dtype);
  if (bsm_dtype_size(dtype) < 4) x = bsm_emit_cast(ctx, x, BSM_DTYPE_FLOAT);
  if (!x) return bsm_ctx_take_error(ctx);
  bsm_itensor *none = bsm_emit_unary(ctx, x, BSM_UNARY_ISNAN);
  bsm_itensor *zero = bsm_emit_scalar(ctx, x->dtype, 0);
  bsm_itensor *sum = bsm_emit_reduce(ctx, bsm_emit_select(ctx, none, zero, x),
                                     BSM_REDUCE_SUM, axes, keep);
  bsm_itensor *count = bsm_emit_reduce(
      ctx, bsm_emit_select(ctx, none, zero, bsm_emit_scalar(ctx, x->dtype, 1)),
      BSM_REDUCE_SUM, axes, keep);
  bsm_itensor *out =
      bsm_emit_binary(ctx, bsm_emit_cast(ctx, sum, dtype),
                      bsm_emit_cast(ctx, count, dtype), BSM_ELEMENT_WISE_DIV);
  return bsm_emit_output(ctx, node, 0, out);
}

static bsm_status convert_count_nonzero(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum { SELF, DIM };
  uint32_t axes;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  x = bsm_emit_cast(ctx, bsm_emit_cast(ctx, x, BSM_DTYPE_BOOL),
                    BSM_DTYPE_INT64);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_reduce(ctx, x, BSM_REDUCE_SUM, axes, false));
}

static bsm_status convert_aminmax(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  const bool all = bsm_args_variant(args) == ALL;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  uint32_t axes = x ? (1u << (unsigned)bsm_rank(x)) - 1 : 0;
  bool keep = !all && bsm_arg_unwrap_to_bool(args, KEEPDIM);
  if (!x || (!all && !axes_of(ctx, args, DIM, x, &axes))) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, extremum(ctx, x, false, axes, keep)));
  return bsm_emit_output(ctx, node, 1, extremum(ctx, x, true, axes, keep));
}

/* The lower median along `axis`: of the sorted elements the one in the middle,
 * or the first NaN of those that have one. */
static bool median(bsm_conversion_ctx *ctx, bsm_itensor *x, int32_t axis,
                   bsm_itensor **values, bsm_itensor **indices) {
  bsm_itensor *sorted, *order, *most[2];
  int64_t size = bsm_rank(x) ? x->dims.d[axis] : 1;
  if (!x || size == 0 || !top_k(ctx, x, false, size, axis, &sorted, &order)) {
    return false;
  }
  bsm_itensor *middle[2] = {sorted, order};
  if (bsm_rank(x) > 0) {
    for (int i = 0; i < 2; i++) {
      middle[i] = bsm_emit_slice(ctx, middle[i], axis, (size - 1) / 2, 1, 1);
    }
    if (bsm_dtype_is_floating(x->dtype)) {
      /* The largest one: NaN is before all others, the first before the rest.
       */
      if (!top_k(ctx, x, true, 1, axis, &most[0], &most[1])) return false;
      bsm_itensor *bad = bsm_emit_unary(ctx, most[0], BSM_UNARY_ISNAN);
      for (int i = 0; i < 2; i++) {
        middle[i] = bsm_emit_select(ctx, bad, most[i], middle[i]);
      }
    }
  }
  *values = middle[0];
  *indices = middle[1];
  return *values && *indices;
}

static bsm_status convert_median(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, KEEPDIM };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *values, *indices;
  bool all = bsm_args_variant(args) == ALL;
  int32_t axis = 0;
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_itensor_numel(x) > 0, "median of no elements");
  if (all) {
    x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {bsm_itensor_numel(x)}});
  } else if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                           &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  if (!x || !median(ctx, x, axis, &values, &indices)) {
    return bsm_ctx_take_error(ctx);
  }
  if (bsm_rank(x) > 0 && (all || !bsm_arg_unwrap_to_bool(args, KEEPDIM))) {
    values = bsm_emit_squeeze(ctx, values, 1u << (unsigned)axis);
    indices = bsm_emit_squeeze(ctx, indices, 1u << (unsigned)axis);
  }
  BSM_TRY(bsm_emit_output(ctx, node, 0, values));
  return all ? BSM_OK : bsm_emit_output(ctx, node, 1, indices);
}

/* The norms of vectors and the Frobenius norm: ord None, "fro" or, over one
 * dim, a number. The others need singular values or sums of columns. */
static bsm_status convert_linalg_norm(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, ORD, DIM, KEEPDIM, DTYPE };
  uint32_t axes;
  double p = 2;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!axes_of(ctx, args, DIM, x, &axes)) return bsm_ctx_take_error(ctx);
  bool one = axes != 0 && (axes & (axes - 1)) == 0;
  if (bsm_arg_is_string(args, ORD)) {
    const char *ord = bsm_arg_unwrap_to_string(args, ORD);
    BSM_CHECK(ord[0] == 'f', "the matrix norm of order %s", ord);
  } else if (!bsm_arg_is_none(args, ORD)) {
    p = bsm_arg_unwrap_to_double(args, ORD);
    BSM_CHECK(one, "the matrix norm of order %g", p);
  }
  x = bsm_emit_cast(ctx, x, bsm_arg_dtype_or(args, DTYPE, x->dtype));
  BSM_CHECK(bsm_dtype_is_floating(bsm_itensor_dtype(x)),
            "linalg.norm: the input is %s, floating point is needed",
            bsm_dtype_name(bsm_itensor_dtype(x)));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_p_norm(ctx, x, p, axes, bsm_arg_unwrap_to_bool(args, KEEPDIM)));
}

#define VAR(name, flags)                                                     \
  {"aten::" name "(Tensor self, bool unbiased=True) -> Tensor", convert_var, \
   flags},                                                                   \
      {"aten::" name                                                         \
       ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool "            \
       "keepdim=False) -> Tensor",                                           \
       convert_var, flags | VAR_DIM},                                        \
      {"aten::" name                                                         \
       ".correction(Tensor self, int[1]? dim=None, *, Scalar? "              \
       "correction=None, bool keepdim=False) -> Tensor",                     \
       convert_var, flags | VAR_CORRECTION},                                 \
      {"aten::" name                                                         \
       "_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",         \
       convert_var, flags | VAR_MEAN},                                       \
      {"aten::" name                                                         \
       "_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, "            \
       "bool keepdim=False) -> (Tensor, Tensor)",                            \
       convert_var, flags | VAR_MEAN | VAR_DIM},                             \
  {                                                                          \
    "aten::" name                                                            \
    "_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "            \
    "correction=None, bool keepdim=False) -> (Tensor, Tensor)",              \
        convert_var, flags | VAR_MEAN | VAR_CORRECTION                       \
  }
#define EXTREMUM(name, operation)                                    \
  {"aten::" name "(Tensor self) -> Tensor", convert_extremum,        \
   operation | ALL},                                                 \
      {"aten::" name                                                 \
       ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "  \
       "values, Tensor indices)",                                    \
       convert_extremum_dim, operation},                             \
      {"aten::a" name                                                \
       "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", \
       convert_extremum, operation},                                 \
  {                                                                  \
    "aten::arg" name                                                 \
    "(Tensor self, int? dim=None, bool keepdim=False) -> "           \
    "Tensor",                                                        \
        convert_arg_extremum, operation                              \
  }
#define ANY(name, operation)                                               \
  {"aten::" name "(Tensor self) -> Tensor", convert_any, operation | ALL}, \
      {"aten::" name                                                       \
       ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor",         \
       convert_any, operation},                                            \
  {                                                                        \
    "aten::" name                                                          \
    ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> "          \
    "Tensor",                                                              \
        convert_any, operation                                             \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     convert_nansum, 0},
    {"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     convert_nanmean, 0},
    {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
     convert_count_nonzero, 0},
    {"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
     convert_count_nonzero, 0},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> "
     "(Tensor min, Tensor max)",
     convert_aminmax, 0},
    {"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", convert_aminmax, ALL},
    {"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, "
     "Tensor)",
     convert_aminmax, 0},
    {"aten::median(Tensor self) -> Tensor", convert_median, ALL},
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
     "values, Tensor indices)",
     convert_median, 0},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool "
     "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     convert_linalg_norm, 0},
    {"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool "
     "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     convert_linalg_norm, 0},
    {"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] "
     "dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     convert_linalg_norm, 0},
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", convert_sum,
     BSM_REDUCE_SUM | ALL},
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     convert_sum, BSM_REDUCE_SUM | LIST},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     convert_sum, BSM_REDUCE_PROD | ALL},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     convert_sum, BSM_REDUCE_PROD},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     convert_mean, ALL},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     convert_mean, LIST},
    EXTREMUM("max", BSM_REDUCE_MAX),
    EXTREMUM("min", BSM_REDUCE_MIN),
    ANY("any", BSM_REDUCE_ANY),
    ANY("all", BSM_REDUCE_ALL),
    VAR("var", 0),
    VAR("std", VAR_STD),
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", convert_norm, 0},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool "
     "keepdim=False) -> Tensor",
     convert_norm, NORM_DIM},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool "
     "keepdim, *, ScalarType dtype) -> Tensor",
     convert_norm, NORM_DIM | NORM_DTYPE},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) "
     "-> Tensor",
     convert_norm, NORM_DTYPE_ONLY},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
     "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     convert_norm, NORM_DIM | NORM_DTYPE},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> "
     "Tensor",
     convert_frobenius, 0},
    {"aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool "
     "sorted=True) -> (Tensor values, Tensor indices)",
     convert_topk, 0},
    {"aten::msort(Tensor self) -> Tensor", convert_msort, 0},
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor "
     "values, Tensor indices)",
     convert_sort, 1},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool "
     "descending=False) -> (Tensor values, Tensor indices)",
     convert_sort, 2},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
     convert_sort, 1 | ARGSORT},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool "
     "descending=False) -> Tensor",
     convert_sort, 2 | ARGSORT},
    {"aten::kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> "
     "(Tensor values, Tensor indices)",
     convert_kthvalue, 0},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     convert_logsumexp, 0},
    {"aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> "
     "Tensor",
     convert_logsumexp, 0},
};
BSM_CONVERTER_TABLE(reduce, patterns);
