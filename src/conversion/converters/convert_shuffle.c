/* SPDX-License-Identifier: Apache-2.0 */
/* Reshapes and permutations: no arithmetic, most of them no copy. */
#include <string.h>

#include "conversion/emit.h"

/* The value as it is: contiguous, detach, dropout in inference. */
static bsm_status convert_pass(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF };
  return bsm_emit_output(ctx, node, 0,
                         bsm_arg_itensor_or_freeze(ctx, args, SELF));
}

/* What changes complex numbers alone. */
static bsm_status convert_real(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(!bsm_dtype_is_complex(x->dtype), "%s of %s", bsm_node_kind(node),
            bsm_dtype_name(x->dtype));
  return bsm_emit_output(ctx, node, 0, x);
}

static bsm_status convert_dropout(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { INPUT, P, TRAIN };
  BSM_CHECK(!bsm_arg_unwrap_to_bool(args, TRAIN) ||
                !(bsm_arg_unwrap_to_double(args, P) > 0),
            "%s in training mode draws random numbers", bsm_node_kind(node));
  return bsm_emit_output(ctx, node, 0,
                         bsm_arg_itensor_or_freeze(ctx, args, INPUT));
}

/* view, reshape; one -1 is inferred. */
static bsm_status convert_reshape(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, SHAPE };
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *shape = bsm_arg_unwrap_to_int_list(args, SHAPE, &count);
  BSM_CHECK(count <= BSM_MAX_RANK, "reshape to %zu dimensions", count);
  if (!x || !shape) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_reshape(ctx, x, bsm_dims_of(shape, count)));
}

/* view_as, reshape_as, expand_as. */
enum { AS_RESHAPE, AS_EXPAND };

static bsm_status convert_as(bsm_conversion_ctx *ctx, const bsm_node *node,
                             const bsm_args *args) {
  enum { SELF, OTHER };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dims dims = bsm_arg_is_itensor(args, OTHER)
                      ? bsm_itensor_dims(bsm_arg_itensor(args, OTHER))
                      : bsm_tensor_dims(bsm_arg_unwrap_to_tensor(args, OTHER));
  return bsm_emit_output(ctx, node, 0,
                         bsm_args_variant(args) == AS_EXPAND
                             ? bsm_emit_expand(ctx, x, dims)
                             : bsm_emit_reshape(ctx, x, dims));
}

static bsm_status convert_flatten(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, START, END };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int32_t start, end;
  bsm_dims dims = {0};
  if (!x ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, START), bsm_rank(x),
                    &start) ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, END), bsm_rank(x), &end)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(start <= end,
            "flatten() has invalid args: start_dim cannot come after end_dim");
  if (bsm_rank(x) == 0) {
    dims = bsm_dims_of((const int64_t[]){1}, 1);
  } else {
    int64_t merged = 1;
    for (int32_t i = start; i <= end; i++) merged *= x->dims.d[i];
    for (int32_t i = 0; i < start; i++) dims.d[dims.rank++] = x->dims.d[i];
    dims.d[dims.rank++] = merged;
    for (int32_t i = end + 1; i < bsm_rank(x); i++) {
      dims.d[dims.rank++] = x->dims.d[i];
    }
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, dims));
}

static bsm_status convert_ravel(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dims flat = {1, {bsm_itensor_numel(x)}};
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, flat));
}

static bsm_status convert_unflatten(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM, SIZES };
  size_t count;
  int32_t axis;
  bsm_dims dims = {0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, SIZES, &count);
  if (!x || !sizes ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                    &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(x) > 0 && count + (size_t)bsm_rank(x) - 1 <= BSM_MAX_RANK,
            "unflatten of dims %s into %zu", bsm_dims_str(x->dims), count);
  int64_t known = 1, missing = -1;
  for (size_t i = 0; i < count; i++) {
    if (sizes[i] == -1) {
      missing = (int64_t)i;
    } else {
      known *= sizes[i];
    }
  }
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    if (i != axis) dims.d[dims.rank++] = x->dims.d[i];
    for (size_t k = 0; i == axis && k < count; k++) {
      bool inferred = (int64_t)k == missing && known != 0;
      dims.d[dims.rank++] = inferred ? x->dims.d[axis] / known : sizes[k];
    }
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, dims));
}

static bsm_status convert_permute(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIMS };
  size_t count;
  bsm_dims perm = {0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *dims = bsm_arg_unwrap_to_int_list(args, DIMS, &count);
  if (!x || !dims) return bsm_ctx_take_error(ctx);
  BSM_CHECK(count == (size_t)bsm_rank(x),
            "permute(sparse_coo): number of dimensions in the tensor input "
            "does not match the length of the desired ordering of dimensions "
            "i.e. input.dim() = %d is not equal to len(dims) = %zu",
            (int)bsm_rank(x), count);
  perm.rank = bsm_rank(x);
  for (size_t i = 0; i < count; i++) {
    int32_t axis;
    if (!bsm_wrap_dim(ctx, dims[i], perm.rank, &axis)) break;
    perm.d[i] = axis;
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_permute(ctx, x, perm));
}

static bsm_status convert_transpose(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM0, DIM1 };
  int32_t a, b;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM0), bsm_rank(x), &a) ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM1), bsm_rank(x), &b)) {
    return bsm_ctx_take_error(ctx);
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_transpose(ctx, x, a, b));
}

/* t (at most 2-D), numpy_T (all dims), mT (the last two). */
enum { T_MATRIX, T_ALL, T_LAST, T_ADJOINT };

static bsm_status convert_t(bsm_conversion_ctx *ctx, const bsm_node *node,
                            const bsm_args *args) {
  enum { SELF };
  int variant = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dims perm = {0};
  int32_t rank = bsm_rank(x);
  if (variant == T_ADJOINT) {
    BSM_CHECK(!x || !bsm_dtype_is_complex(x->dtype),
              "the conjugate of a complex tensor");
    variant = T_LAST;
  }
  BSM_CHECK(variant != T_MATRIX || rank <= 2,
            "t() expects a tensor with <= 2 dimensions, but self is %dD",
            (int)rank);
  BSM_CHECK(variant != T_LAST || rank >= 2,
            "tensor.mT is only supported on matrices or batches of matrices");
  perm.rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    perm.d[i] = variant == T_LAST && i < rank - 2 ? i : rank - 1 - i;
  }
  if (variant == T_LAST) {
    perm.d[rank - 2] = rank - 1;
    perm.d[rank - 1] = rank - 2;
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_permute(ctx, x, perm));
}

/* movedim, moveaxis: lists or single ints. */
static bsm_status convert_movedim(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, SOURCE, DESTINATION };
  size_t from_count, to_count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *from = bsm_arg_unwrap_to_int_list(args, SOURCE, &from_count);
  const int64_t *to = bsm_arg_unwrap_to_int_list(args, DESTINATION, &to_count);
  uint32_t from_bits, to_bits;
  int32_t rank = bsm_rank(x);
  bsm_dims perm = {0};
  if (!x || !from || !to ||
      !bsm_wrap_dims(ctx, from, from_count, rank, &from_bits) ||
      !bsm_wrap_dims(ctx, to, to_count, rank, &to_bits)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(from_count == to_count,
            "movedim: Invalid source or destination dims: source (%zu dims) "
            "should contain the same number of dims as destination (%zu dims)",
            from_count, to_count);
  perm.rank = rank;
  for (int32_t i = 0; i < rank; i++) perm.d[i] = -1;
  for (size_t i = 0; i < from_count && rank > 0; i++) {
    perm.d[to[i] < 0 ? to[i] + rank : to[i]] =
        from[i] < 0 ? from[i] + rank : from[i];
  }
  if (from_count == 0) from_bits = 0;
  for (int32_t i = 0, next = 0; i < rank; i++) {
    if (perm.d[i] >= 0) continue;
    while (from_bits >> (unsigned)next & 1u) next++;
    perm.d[i] = next++;
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_permute(ctx, x, perm));
}

/* squeeze of all, one or several dims: dims whose size is not 1 stay. */
static bsm_status convert_squeeze(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIM };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  uint32_t axes = (1u << (unsigned)bsm_rank(x)) - 1, drop = 0;
  if (bsm_args_count(args) > DIM) {
    size_t count;
    const int64_t *dims = bsm_arg_unwrap_to_int_list(args, DIM, &count);
    if (!x || !dims || !bsm_wrap_dims(ctx, dims, count, bsm_rank(x), &axes)) {
      return bsm_ctx_take_error(ctx);
    }
    if (count == 0) axes = 0;
  }
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    if (x->dims.d[i] == 1) drop |= axes & 1u << (unsigned)i;
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_squeeze(ctx, x, drop));
}

static bsm_status convert_unsqueeze(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { SELF, DIM };
  int32_t axis;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM),
                          bsm_rank(x) + 1, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_unsqueeze(ctx, x, axis));
}

/* -1 keeps a size; new leading dims need theirs. */
static bsm_status convert_expand(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, SIZE };
  size_t count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *size = bsm_arg_unwrap_to_int_list(args, SIZE, &count);
  if (!x || !size) return bsm_ctx_take_error(ctx);
  BSM_CHECK(count <= BSM_MAX_RANK && count >= (size_t)bsm_rank(x),
            "the number of sizes provided (%zu) must be greater or equal to "
            "the number of dimensions in the tensor (%d)",
            count, (int)bsm_rank(x));
  bsm_dims dims = bsm_dims_of(size, count);
  for (int32_t i = 0; i < dims.rank; i++) {
    int32_t own = i - (dims.rank - bsm_rank(x));
    if (dims.d[i] == -1 && own >= 0) dims.d[i] = x->dims.d[own];
  }
  return bsm_emit_output(ctx, node, 0, bsm_emit_expand(ctx, x, dims));
}

/* One axis after the other: [.., d, ..] -> [.., 1, d, ..] -> [.., r, d, ..]
 * -> [.., r * d, ..]; `inner` repeats each element instead. */
static bsm_itensor *repeat_axis(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int32_t axis, int64_t times, bool inner) {
  if (!x || times == 1) return x;
  bsm_dims merged = x->dims;
  bsm_itensor *out = bsm_emit_unsqueeze(ctx, x, inner ? axis + 1 : axis);
  if (!out) return NULL;
  bsm_dims wide = out->dims;
  wide.d[inner ? axis + 1 : axis] = times;
  merged.d[axis] *= times;
  return bsm_emit_reshape(ctx, bsm_emit_expand(ctx, out, wide), merged);
}

/* repeat, and tile (`variant` 1), whose missing leading repeats are 1. */
static bsm_status convert_repeat(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, REPEATS };
  size_t count;
  int64_t padded[BSM_MAX_RANK];
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *repeats = bsm_arg_unwrap_to_int_list(args, REPEATS, &count);
  if (!x || !repeats) return bsm_ctx_take_error(ctx);
  if (bsm_args_variant(args) && count < (size_t)bsm_rank(x)) {
    size_t missing = (size_t)bsm_rank(x) - count;
    for (size_t i = 0; i < (size_t)bsm_rank(x); i++) {
      padded[i] = i < missing ? 1 : repeats[i - missing];
    }
    repeats = padded;
    count += missing;
  }
  BSM_CHECK(count <= BSM_MAX_RANK && count >= (size_t)bsm_rank(x),
            "Number of dimensions of repeat dims can not be smaller than "
            "number of dimensions of tensor");
  bsm_dims dims = {0};
  dims.rank = (int32_t)count;
  for (int32_t i = 0; i < dims.rank; i++) {
    int32_t own = i - (dims.rank - bsm_rank(x));
    BSM_CHECK(repeats[i] >= 0,
              "Trying to create tensor with negative "
              "dimension: repeats[%d] is %lld",
              (int)i, (long long)repeats[i]);
    dims.d[i] = own < 0 ? 1 : x->dims.d[own];
  }
  x = bsm_emit_reshape(ctx, x, dims);
  for (int32_t i = 0; i < dims.rank; i++) {
    x = repeat_axis(ctx, x, i, repeats[i], false);
  }
  return bsm_emit_output(ctx, node, 0, x);
}

static bsm_status convert_repeat_interleave(bsm_conversion_ctx *ctx,
                                            const bsm_node *node,
                                            const bsm_args *args) {
  enum { SELF, REPEATS, DIM };
  int32_t axis = 0;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t repeats = bsm_arg_unwrap_to_int(args, REPEATS);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(repeats >= 0, "Repeats must be non-negative");
  if (bsm_arg_is_none(args, DIM)) {
    x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {bsm_itensor_numel(x)}});
  } else {
    BSM_CHECK(bsm_rank(x) > 0,
              "Dimension specified as %lld but tensor has no dimensions",
              (long long)bsm_arg_unwrap_to_int(args, DIM));
    if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                      &axis)) {
      return bsm_ctx_take_error(ctx);
    }
  }
  return bsm_emit_output(ctx, node, 0,
                         repeat_axis(ctx, x, axis, repeats, true));
}

/* [*, C r r, H, W] -> [*, C, H r, W r], and back. */
static bsm_status convert_pixel_shuffle(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum { SELF, FACTOR };
  bool back = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t r = bsm_arg_unwrap_to_int(args, FACTOR);
  int32_t rank = bsm_rank(x), n = rank - 3;
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(rank >= 3 && rank + 2 <= BSM_MAX_RANK && r > 0 && r < (1 << 20),
            "pixel_shuffle by %lld of dims %s", (long long)r,
            bsm_dims_str(x->dims));
  int64_t c = x->dims.d[n], h = x->dims.d[n + 1], w = x->dims.d[n + 2];
  BSM_CHECK(back ? h % r == 0 && w % r == 0 : c % (r * r) == 0,
            "pixel_shuffle by %lld of dims %s: not divisible", (long long)r,
            bsm_dims_str(x->dims));
  bsm_dims split = x->dims, perm = {0}, merged = x->dims;
  split.rank = perm.rank = rank + 2;
  for (int32_t i = 0; i < perm.rank; i++) perm.d[i] = i;
  if (back) {
    int64_t parts[] = {c, h / r, r, w / r, r};
    int32_t order[] = {0, 2, 4, 1, 3};
    for (int32_t i = 0; i < 5; i++) split.d[n + i] = parts[i];
    for (int32_t i = 0; i < 5; i++) perm.d[n + i] = n + order[i];
    merged.d[n] = c * r * r;
    merged.d[n + 1] = h / r;
    merged.d[n + 2] = w / r;
  } else {
    int64_t parts[] = {c / (r * r), r, r, h, w};
    int32_t order[] = {0, 3, 1, 4, 2};
    for (int32_t i = 0; i < 5; i++) split.d[n + i] = parts[i];
    for (int32_t i = 0; i < 5; i++) perm.d[n + i] = n + order[i];
    merged.d[n] = c / (r * r);
    merged.d[n + 1] = h * r;
    merged.d[n + 2] = w * r;
  }
  x = bsm_emit_permute(ctx, bsm_emit_reshape(ctx, x, split), perm);
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, merged));
}

static bsm_status convert_channel_shuffle(bsm_conversion_ctx *ctx,
                                          const bsm_node *node,
                                          const bsm_args *args) {
  enum { SELF, GROUPS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t groups = bsm_arg_unwrap_to_int(args, GROUPS);
  int32_t rank = bsm_rank(x);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(rank >= 3 && rank < BSM_MAX_RANK && groups > 0 &&
                x->dims.d[1] % groups == 0,
            "channel_shuffle of dims %s into %lld groups",
            bsm_dims_str(x->dims), (long long)groups);
  bsm_dims whole = x->dims, split = {0};
  split.rank = rank + 1;
  split.d[0] = whole.d[0];
  split.d[1] = groups;
  split.d[2] = whole.d[1] / groups;
  for (int32_t i = 2; i < rank; i++) split.d[i + 1] = whole.d[i];
  x = bsm_emit_transpose(ctx, bsm_emit_reshape(ctx, x, split), 1, 2);
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, whole));
}

static bsm_itensor *roll_axis(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, int64_t shift) {
  int64_t size = x ? x->dims.d[axis] : 0;
  if (size == 0) return x;
  shift %= size;
  if (shift < 0) shift += size;
  if (shift == 0) return x;
  bsm_itensor *parts[2] = {bsm_emit_slice(ctx, x, axis, size - shift, shift, 1),
                           bsm_emit_slice(ctx, x, axis, 0, size - shift, 1)};
  return bsm_emit_concat(ctx, parts, 2, axis);
}

static bsm_status convert_roll(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, SHIFTS, DIMS };
  size_t shift_count, dim_count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *shifts =
      bsm_arg_unwrap_to_int_list(args, SHIFTS, &shift_count);
  const int64_t *dims = bsm_arg_unwrap_to_int_list(args, DIMS, &dim_count);
  if (!x || !shifts || !dims) return bsm_ctx_take_error(ctx);
  if (dim_count == 0 && shift_count == 1) {
    bsm_dims whole = x->dims, flat = {1, {bsm_itensor_numel(x)}};
    x = roll_axis(ctx, bsm_emit_reshape(ctx, x, flat), 0, shifts[0]);
    return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, whole));
  }
  BSM_CHECK(dim_count == shift_count && dim_count > 0,
            "shifts and dimensions must align. shifts: %zu, dims:%zu",
            shift_count, dim_count);
  for (size_t i = 0; i < dim_count; i++) {
    int32_t axis;
    if (!bsm_wrap_dim(ctx, dims[i], bsm_rank(x), &axis)) break;
    if (bsm_rank(x) > 0) x = roll_axis(ctx, x, axis, shifts[i]);
  }
  return bsm_emit_output(ctx, node, 0, x);
}

/* fft_fftshift: a roll by half of each dim; `variant` 1, fft_ifftshift: by the
 * rest of it. */
static bsm_status convert_fftshift(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, DIMS };
  const bool back = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  int64_t all[BSM_MAX_RANK];
  const int64_t *dims = all;
  if (!x) return bsm_ctx_take_error(ctx);
  size_t count = (size_t)bsm_rank(x);
  for (size_t i = 0; i < count; i++) all[i] = (int64_t)i;
  if (!bsm_arg_is_none(args, DIMS)) {
    dims = bsm_arg_unwrap_to_int_list(args, DIMS, &count);
    if (!dims) return bsm_ctx_take_error(ctx);
  }
  for (size_t i = 0; i < count && x; i++) {
    int32_t axis;
    if (!bsm_wrap_dim(ctx, dims[i], bsm_rank(x), &axis)) break;
    if (bsm_rank(x) == 0) continue;
    const int64_t size = x->dims.d[axis];
    x = roll_axis(ctx, x, axis, back ? size - size / 2 : size / 2);
  }
  return bsm_emit_output(ctx, node, 0, x);
}

/* flip; flipud and fliplr, whose dim is `variant` - 1. */
static bsm_status convert_flip(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, DIMS };
  size_t count = 1;
  uint32_t axes = 0;
  int64_t fixed = bsm_args_variant(args) - 1;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *dims = &fixed;
  if (fixed < 0) dims = bsm_arg_unwrap_to_int_list(args, DIMS, &count);
  if (!x || !dims || !bsm_wrap_dims(ctx, dims, count, bsm_rank(x), &axes)) {
    return bsm_ctx_take_error(ctx);
  }
  if (count == 0 || bsm_rank(x) == 0 || bsm_itensor_numel(x) == 0) {
    return bsm_emit_output(ctx, node, 0, x);
  }
  bsm_dims start = x->dims, stride = x->dims;
  for (int32_t i = 0; i < bsm_rank(x); i++) {
    bool flipped = axes >> (unsigned)i & 1u;
    start.d[i] = flipped ? x->dims.d[i] - 1 : 0;
    stride.d[i] = flipped ? -1 : 1;
  }
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit(ctx, bsm_network_add_slice(ctx->net, x, start,
                                                             x->dims, stride)));
}

#define DROPOUT(name)                                                      \
  {"aten::" name "(Tensor input, float p, bool train) -> Tensor",          \
   convert_dropout, 0},                                                    \
  {                                                                        \
    "aten::" name "_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", \
        convert_dropout, 0                                                 \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat "
     "memory_format=contiguous_format) -> Tensor(a)",
     convert_pass, 0},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     convert_pass, 0},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", convert_pass, 0},
    {"aten::detach_(Tensor(a!) self) -> Tensor(a!)", convert_pass, 0},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", convert_pass, 0},
    {"aten::_lazy_clone(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::lift(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", convert_real, 0},
    {"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", convert_real, 0},
    {"aten::conj(Tensor(a) self) -> Tensor(a)", convert_real, 0},
    {"aten::conj_physical(Tensor self) -> Tensor", convert_real, 0},
    {"aten::real(Tensor(a) self) -> Tensor(a)", convert_real, 0},
    {"aten::alias_copy(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::detach_copy(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::positive(Tensor(a) self) -> Tensor(a)", convert_pass, 0},
    {"aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> "
     "Tensor(a!)",
     convert_pass, 0},
    {"trt::const(Tensor self) -> Tensor", convert_pass, 0},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", convert_pass, 0},
    DROPOUT("dropout"),
    DROPOUT("feature_dropout"),
    DROPOUT("alpha_dropout"),
    DROPOUT("feature_alpha_dropout"),
    {"aten::view(Tensor(a) self, int[] size) -> Tensor(a)", convert_reshape, 0},
    {"aten::reshape(Tensor(a) self, int[] shape) -> Tensor(a)", convert_reshape,
     0},
    {"aten::_unsafe_view(Tensor self, int[] size) -> Tensor", convert_reshape,
     0},
    {"aten::_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> "
     "Tensor(a)",
     convert_reshape, 0},
    {"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", convert_as,
     AS_RESHAPE},
    {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", convert_as,
     AS_RESHAPE},
    {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", convert_as,
     AS_EXPAND},
    {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int "
     "end_dim=-1) -> Tensor(a)",
     convert_flatten, 0},
    {"aten::ravel(Tensor(a) self) -> Tensor(a)", convert_ravel, 0},
    {"aten::unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
     convert_unflatten, 0},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", convert_permute,
     0},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     convert_transpose, 0},
    {"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
     convert_transpose, 0},
    {"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     convert_transpose, 0},
    {"aten::t(Tensor(a) self) -> Tensor(a)", convert_t, T_MATRIX},
    {"aten::numpy_T(Tensor(a) self) -> Tensor(a)", convert_t, T_ALL},
    {"aten::mT(Tensor(a) self) -> Tensor(a)", convert_t, T_LAST},
    {"aten::adjoint(Tensor(a) self) -> Tensor(a)", convert_t, T_ADJOINT},
    {"aten::mH(Tensor(a) self) -> Tensor(a)", convert_t, T_ADJOINT},
    {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) "
     "-> Tensor(a)",
     convert_movedim, 0},
    {"aten::movedim.int(Tensor(a) self, int source, int destination) -> "
     "Tensor(a)",
     convert_movedim, 0},
    {"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) "
     "-> Tensor(a)",
     convert_movedim, 0},
    {"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> "
     "Tensor(a)",
     convert_movedim, 0},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", convert_squeeze, 0},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", convert_squeeze,
     0},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
     convert_squeeze, 0},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", convert_unsqueeze,
     0},
    {"aten::expand(Tensor(a) self, int[] size, *, bool implicit=False) -> "
     "Tensor(a)",
     convert_expand, 0},
    {"aten::broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
     convert_expand, 0},
    {"aten::view_copy(Tensor self, int[] size) -> Tensor", convert_reshape, 0},
    {"aten::_reshape_copy(Tensor self, int[] size) -> Tensor", convert_reshape,
     0},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", convert_permute,
     0},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
     convert_transpose, 0},
    {"aten::t_copy(Tensor self) -> Tensor", convert_t, T_MATRIX},
    {"aten::squeeze_copy(Tensor self) -> Tensor", convert_squeeze, 0},
    {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", convert_squeeze,
     0},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
     convert_squeeze, 0},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", convert_unsqueeze,
     0},
    {"aten::expand_copy(Tensor self, int[] size, *, bool implicit=False) -> "
     "Tensor",
     convert_expand, 0},
    {"aten::repeat(Tensor self, int[] repeats) -> Tensor", convert_repeat, 0},
    {"aten::tile(Tensor self, int[] dims) -> Tensor", convert_repeat, 1},
    {"aten::repeat_interleave.self_int(Tensor self, int repeats, int? "
     "dim=None, *, int? output_size=None) -> Tensor",
     convert_repeat_interleave, 0},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     convert_pixel_shuffle, 0},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     convert_pixel_shuffle, 1},
    {"aten::channel_shuffle(Tensor self, int groups) -> Tensor",
     convert_channel_shuffle, 0},
    {"aten::native_channel_shuffle(Tensor self, int groups) -> Tensor",
     convert_channel_shuffle, 0},
    {"aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
     convert_roll, 0},
    {"aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
     convert_fftshift, 0},
    {"aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
     convert_fftshift, 1},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", convert_flip, 0},
    {"aten::flipud(Tensor self) -> Tensor", convert_flip, 1},
    {"aten::fliplr(Tensor self) -> Tensor", convert_flip, 2},
};
BSM_CONVERTER_TABLE(shuffle, patterns);
