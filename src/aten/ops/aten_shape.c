/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move elements into new tensors: cat, stack, repeat, flip, roll,
 * pad, im2col, ... */
#include "aten/packed/aten_shape.h"
#include "aten/op_kit.h"

/* ---- cat and stack ---- */

/* The legacy empty tensor of shape [0] joins with anything. */
static bool is_nothing(const bsm_tensor *t) {
  return t->sizes.rank == 1 && t->sizes.d[0] == 0;
}

static bsm_status cat_shape(bsm_tensor *const *in, size_t n, int dim,
                            bsm_dims *out) {
  const bsm_tensor *first = NULL;
  for (size_t i = 0; i < n; i++) {
    const bsm_tensor *t = in[i];
    if (is_nothing(t)) continue;
    if (!first) {
      first = t;
      *out = t->sizes;
      continue;
    }
    if (t->sizes.rank != out->rank) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Tensors must have same number of dimensions: got %d and "
                      "%d",
                      (int)out->rank, (int)t->sizes.rank);
    }
    for (int32_t k = 0; k < out->rank; k++) {
      if (k != dim && t->sizes.d[k] != out->d[k]) {
        return BSM_FAIL(
            BSM_INVALID_ARGUMENT,
            "Sizes of tensors must match except in dimension %d. "
            "Expected size %lld but got size %lld for tensor number "
            "%zu in the list.",
            dim, (long long)out->d[k], (long long)t->sizes.d[k], i);
      }
    }
    if (!bsm_i64_add(out->d[dim], t->sizes.d[dim], &out->d[dim])) {
      return BSM_FAIL(BSM_LIMIT, "cat: the result is too large");
    }
  }
  if (!first) *out = op_dims1(0);
  return BSM_OK;
}

static bsm_status cat(bsm_op_ctx *cx, bsm_tensor *const *in, size_t n,
                      int64_t wanted, bsm_tensor **out) {
  if (n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "torch.cat(): expected a non-empty list of Tensors");
  }
  const bsm_tensor *first = in[0];
  for (size_t i = 0; i < n; i++) {
    if (in[i]->sizes.rank == 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "zero-dimensional tensor (at position %zu) cannot be "
                      "concatenated",
                      i);
    }
    if (is_nothing(first)) first = in[i];
  }
  int dim;
  BSM_TRY(bsm_op_wrap_dim(wanted, first->sizes.rank, &dim));
  bsm_dims shape;
  BSM_TRY(cat_shape(in, n, dim, &shape));
  bsm_dtype dtype = in[0]->dtype;
  for (size_t i = 1; i < n; i++) dtype = bsm_promote_types(dtype, in[i]->dtype);
  BSM_TRY(bsm_op_new(cx, dtype, shape, out));
  if (cx->meta) return BSM_OK;
  int64_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (is_nothing(in[i])) continue;
    bsm_tensor *part;
    const int64_t length = in[i]->sizes.d[dim];
    BSM_TRY(bsm_op_narrow(cx, *out, dim, at, length, &part));
    BSM_TRY(bsm_tensor_copy(part, in[i]));
    at += length;
  }
  return BSM_OK;
}

static bsm_status op_cat(OP_PARAMS) {
  (void)self;
  bsm_tensor **in, *out;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  BSM_TRY(cat(cx, in, n, op_int(&args[1]), &out));
  return op_return(outs, out);
}

static bsm_status op_stack(OP_PARAMS) {
  (void)self;
  bsm_tensor **in, *out;
  size_t n;
  int dim;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  if (n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stack expects a non-empty TensorList");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), in[0]->sizes.rank + 1, &dim));
  const bsm_dims shape = in[0]->sizes;
  for (size_t i = 0; i < n; i++) {
    if (!bsm_dims_equal(in[i]->sizes, shape)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "stack expects each tensor to be equal size, but got %s "
                      "at entry 0 and %s at entry %zu",
                      bsm_dims_str(shape), bsm_dims_str(in[i]->sizes), i);
    }
    BSM_TRY(bsm_op_unsqueeze(cx, in[i], dim, &in[i]));
  }
  BSM_TRY(cat(cx, in, n, dim, &out));
  return op_return(outs, out);
}

enum { STACK_H, STACK_V, STACK_D, STACK_COLUMN };

/* hstack, vstack, dstack, column_stack */
static bsm_status op_stack_axis(OP_PARAMS) {
  bsm_tensor **in, *out;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  if (n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "stack expects a non-empty TensorList");
  }
  for (size_t i = 0; i < n; i++) {
    bsm_tensor *t = in[i];
    const bool column = self->variant == STACK_COLUMN;
    if (t->sizes.rank == 0) BSM_TRY(bsm_op_unsqueeze(cx, t, 0, &t));
    if (column && t->sizes.rank == 1) BSM_TRY(bsm_op_unsqueeze(cx, t, 1, &t));
    if (self->variant == STACK_V || self->variant == STACK_D) {
      if (t->sizes.rank == 1) BSM_TRY(bsm_op_unsqueeze(cx, t, 0, &t));
    }
    if (self->variant == STACK_D && t->sizes.rank == 2) {
      BSM_TRY(bsm_op_unsqueeze(cx, t, 2, &t));
    }
    in[i] = t;
  }
  const int64_t dim = self->variant == STACK_V   ? 0
                      : self->variant == STACK_D ? 2
                      : in[0]->sizes.rank == 1   ? 0
                                                 : 1;
  BSM_TRY(cat(cx, in, n, dim, &out));
  return op_return(outs, out);
}

/* ---- repetition ---- */

static bsm_status repeat(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims times,
                         bsm_tensor **out) {
  if (times.rank < t->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Number of dimensions of repeat dims can not be smaller "
                    "than number of dimensions of tensor");
  }
  bsm_dims shape = times;
  const int32_t lead = times.rank - t->sizes.rank;
  for (int32_t i = 0; i < times.rank; i++) {
    const int64_t size = i >= lead ? t->sizes.d[i - lead] : 1;
    if (times.d[i] < 0 || !bsm_i64_mul(size, times.d[i], &shape.d[i])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Trying to create tensor with negative dimension %lld",
                      (long long)times.d[i]);
    }
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, out));
  if (cx->meta || bsm_tensor_numel(*out) == 0) return BSM_OK;
  /* Each tile is a view of the result. */
  bsm_dims tile = shape;
  for (int32_t i = 0; i < times.rank; i++) {
    tile.d[i] = i >= lead ? t->sizes.d[i - lead] : 1;
  }
  int64_t index[BSM_MAX_RANK] = {0};
  for (;;) {
    int64_t offset = 0;
    for (int32_t i = 0; i < times.rank; i++) {
      offset += index[i] * tile.d[i] * (*out)->strides[i];
    }
    bsm_tensor part = **out;
    part.sizes = tile;
    part.offset = offset;
    BSM_TRY(bsm_tensor_copy(&part, t));
    int32_t i = times.rank - 1;
    while (i >= 0 && ++index[i] == times.d[i]) index[i--] = 0;
    if (i < 0) return BSM_OK;
  }
}

static bsm_status op_repeat(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims times;
  BSM_TRY(bsm_op_dims(&args[1], &times));
  if (self->variant && times.rank < t->sizes.rank) { /* tile: leading ones */
    const int32_t lead = t->sizes.rank - times.rank;
    bsm_dims padded = {t->sizes.rank, {0}};
    for (int32_t i = 0; i < padded.rank; i++) {
      padded.d[i] = i < lead ? 1 : times.d[i - lead];
    }
    times = padded;
  }
  BSM_TRY(repeat(cx, t, times, &out));
  return op_return(outs, out);
}

/* repeat_interleave.self_int(self, repeats, dim, output_size) and
 * .self_Tensor with one count for each slice. */
static bsm_status op_repeat_interleave(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_tensor *counts = op_tensor(&args[1]);
  int dim = 0;
  if (op_none(&args[2])) {
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(bsm_tensor_numel(t)), &t));
  } else {
    if (t->sizes.rank == 0) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "Dimension specified as %lld but tensor has no "
                      "dimensions",
                      (long long)op_int(&args[2]));
    }
    BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  }
  const int64_t size = t->sizes.d[dim];
  if (counts && bsm_tensor_is_meta(counts) && op_none(&args[3])) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "repeat_interleave depends on the repeats");
  }
  const int64_t given = counts ? bsm_tensor_numel(counts) : 1;
  if (given != 1 && given != size) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "repeats must have the same size as input along dim, but "
                    "got repeats.size(0) = %lld and input.size(%d) = %lld",
                    (long long)given, dim, (long long)size);
  }
  const bool known = !counts || !bsm_tensor_is_meta(counts);
  bsm_dims shape = t->sizes;
  shape.d[dim] = op_int_or(&args[3], 0);
  int64_t total = 0;
  for (int64_t i = 0; i < size && known; i++) {
    const int64_t n = counts ? bsm_tensor_get_int(counts, given == 1 ? 0 : i)
                             : op_int(&args[1]);
    if (n < 0 || !bsm_i64_add(total, n, &total)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "repeats can not be negative");
    }
  }
  if (known && op_int_or(&args[3], total) != total) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "repeat_interleave: Invalid output_size, expected %lld but "
                    "got %lld",
                    (long long)total, (long long)op_int(&args[3]));
  }
  if (known) shape.d[dim] = total;
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  int64_t at = 0;
  for (int64_t i = 0; i < size; i++) {
    const int64_t n = counts ? bsm_tensor_get_int(counts, given == 1 ? 0 : i)
                             : op_int(&args[1]);
    bsm_tensor *from, *to;
    BSM_TRY(bsm_op_narrow(cx, t, dim, i, 1, &from));
    BSM_TRY(bsm_op_narrow(cx, out, dim, at, n, &to));
    BSM_TRY(bsm_tensor_copy(to, from));
    at += n;
  }
  return BSM_OK;
}

/* ---- reordering ---- */

static bsm_status op_flip(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  uint32_t mask;
  bsm_ivalue dims = args[1];
  if (self->variant != 0) dims = bsm_iv_int(self->variant - 1);
  BSM_TRY(bsm_op_dim_mask(&dims, t->sizes.rank, false, &mask));
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t n = bsm_tensor_numel(t);
  if (cx->meta || n == 0) return BSM_OK;
  const size_t size = bsm_dtype_size(t->dtype);
  char *dst = bsm_tensor_data(out);
  const char *src = bsm_tensor_data(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, from = 0, to = 0;
    for (int32_t d = t->sizes.rank - 1; d >= 0; d--) {
      const int64_t x = rest % t->sizes.d[d];
      rest /= t->sizes.d[d];
      to += x * out->strides[d];
      from += (mask & 1u << d ? t->sizes.d[d] - 1 - x : x) * t->strides[d];
    }
    memcpy(dst + (size_t)to * size, src + (size_t)from * size, size);
  }
  return BSM_OK;
}

static bsm_status roll_one(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                           int64_t shift, bsm_tensor **out) {
  BSM_TRY(bsm_op_new(cx, t->dtype, t->sizes, out));
  const int64_t n = t->sizes.rank ? t->sizes.d[dim] : 1;
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  if (t->sizes.rank == 0) return bsm_tensor_copy(*out, t);
  shift = (shift % n + n) % n;
  bsm_tensor *from, *to;
  BSM_TRY(bsm_op_narrow(cx, t, dim, 0, n - shift, &from));
  BSM_TRY(bsm_op_narrow(cx, *out, dim, shift, n - shift, &to));
  BSM_TRY(bsm_tensor_copy(to, from));
  BSM_TRY(bsm_op_narrow(cx, t, dim, n - shift, shift, &from));
  BSM_TRY(bsm_op_narrow(cx, *out, dim, 0, shift, &to));
  return bsm_tensor_copy(to, from);
}

static bsm_status op_roll(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const size_t shifts = op_list_len(&args[1]), dims = op_list_len(&args[2]);
  if (shifts == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "`shifts` required");
  }
  if (dims == 0) {
    if (shifts != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "shifts and dimensions must align. shifts: %zu, dims:0",
                      shifts);
    }
    const bsm_dims shape = t->sizes;
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(bsm_tensor_numel(t)), &t));
    BSM_TRY(roll_one(cx, t, 0, op_list_int(&args[1], 0), &out));
    BSM_TRY(bsm_op_reshape(cx, out, shape, &out));
    return op_return(outs, out);
  }
  if (shifts != dims) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "shifts and dimensions must align. shifts: %zu, dims:%zu",
                    shifts, dims);
  }
  for (size_t i = 0; i < dims; i++) {
    int dim;
    BSM_TRY(bsm_op_wrap_dim(op_list_int(&args[2], i), t->sizes.rank, &dim));
    BSM_TRY(roll_one(cx, t, dim, op_list_int(&args[1], i), &t));
  }
  return op_return(outs, t);
}

/* rot90(self, k, dims): flips and transposes. */
static bsm_status op_rot90(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (op_list_len(&args[2]) != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected total rotation dims == 2, but got dims = %zu",
                    op_list_len(&args[2]));
  }
  int a, b;
  BSM_TRY(bsm_op_wrap_dim(op_list_int(&args[2], 0), t->sizes.rank, &a));
  BSM_TRY(bsm_op_wrap_dim(op_list_int(&args[2], 1), t->sizes.rank, &b));
  if (a == b || t->sizes.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected rotation dims to be different, but got dim0 = "
                    "%lld and dim1 = %lld",
                    (long long)op_list_int(&args[2], 0),
                    (long long)op_list_int(&args[2], 1));
  }
  const int64_t k = (op_int(&args[1]) % 4 + 4) % 4;
  const bsm_tensor *src = t;
  bsm_dims shape = t->sizes;
  if (k % 2) {
    shape.d[a] = t->sizes.d[b];
    shape.d[b] = t->sizes.d[a];
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t n = bsm_tensor_numel(out);
  if (cx->meta) return BSM_OK;
  const size_t size = bsm_dtype_size(t->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t x[BSM_MAX_RANK], rest = i, from = 0;
    for (int32_t d = shape.rank - 1; d >= 0; d--) {
      x[d] = rest % shape.d[d];
      rest /= shape.d[d];
    }
    const int64_t xa = x[a], xb = x[b];
    if (k == 1) {
      x[a] = xb;
      x[b] = src->sizes.d[b] - 1 - xa;
    } else if (k == 2) {
      x[a] = src->sizes.d[a] - 1 - xa;
      x[b] = src->sizes.d[b] - 1 - xb;
    } else if (k == 3) {
      x[a] = src->sizes.d[a] - 1 - xb;
      x[b] = xa;
    }
    for (int32_t d = 0; d < shape.rank; d++) from += x[d] * src->strides[d];
    memcpy((char *)bsm_tensor_data(out) + (size_t)i * size,
           (const char *)bsm_tensor_data(src) + (size_t)from * size, size);
  }
  return BSM_OK;
}

/* ---- padding ---- */

enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* The source position of position `i` of a padded dimension. */
static int64_t pad_source(int32_t mode, int64_t i, int64_t n, int64_t low,
                          int64_t high) {
  if (mode == PAD_REFLECT) {
    if (i < 0) i = -i;
    return i >= n ? 2 * n - 2 - i : i;
  }
  if (mode == PAD_REPLICATE) return i < 0 ? 0 : i >= n ? n - 1 : i;
  /* Circular: around what a negative padding leaves. */
  const int64_t start = low < 0 ? -low : 0;
  const int64_t kept = n - start - (high < 0 ? -high : 0);
  if (kept <= 0) return 0;
  return start + ((i - start) % kept + kept) % kept;
}

static bsm_status check_pad(int32_t mode, const bsm_tensor *t, bsm_dims pad,
                            bsm_dims *shape) {
  const int32_t dims = pad.rank / 2;
  if (pad.rank % 2 != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Padding length must be divisible by 2");
  }
  if (dims > t->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Padding length should be less than or equal to two times "
                    "the input dimension but got padding length %d and input "
                    "of dimension %d",
                    (int)pad.rank, (int)t->sizes.rank);
  }
  *shape = t->sizes;
  for (int32_t k = 0; k < dims; k++) {
    const int32_t d = t->sizes.rank - 1 - k;
    const int64_t n = t->sizes.d[d], low = pad.d[2 * k],
                  high = pad.d[2 * k + 1];
    if (mode == PAD_REFLECT && (low >= n || high >= n)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Argument #4: Padding size should be less than the "
                      "corresponding input dimension, but got: padding (%lld, "
                      "%lld) at dimension %d of input %s",
                      (long long)low, (long long)high, (int)d,
                      bsm_dims_str(t->sizes));
    }
    if (mode == PAD_CIRCULAR && (low > n || high > n)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Padding value causes wrapping around more than once.");
    }
    if (!bsm_i64_add(n, low, &shape->d[d]) ||
        !bsm_i64_add(shape->d[d], high, &shape->d[d]) || shape->d[d] < 0 ||
        (mode != PAD_CONSTANT && n == 0)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "The input size %lld, plus negative padding %lld and "
                      "%lld, resulted in a negative output size, which is "
                      "invalid. Check dimension %d of your input.",
                      (long long)n, (long long)low, (long long)high, (int)d);
    }
  }
  return BSM_OK;
}

static bsm_status pad_constant(bsm_op_ctx *cx, const bsm_tensor *t,
                               bsm_dims pad, const bsm_ivalue *value,
                               const bsm_tensor *out) {
  bsm_tensor *one, *from, *to;
  BSM_TRY(bsm_op_wrap(cx, value, &one));
  BSM_TRY(bsm_tensor_copy(out, one));
  BSM_TRY(
      bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, &from));
  BSM_TRY(bsm_tensor_view(cx->arena, out, out->sizes, out->strides, out->offset,
                          &to));
  for (int32_t k = 0; k < pad.rank / 2; k++) {
    const int32_t d = t->sizes.rank - 1 - k;
    const int64_t low = pad.d[2 * k], high = pad.d[2 * k + 1];
    const int64_t skip = low < 0 ? -low : 0, drop = high < 0 ? -high : 0;
    int64_t keep = t->sizes.d[d] - skip - drop;
    if (keep < 0) keep = 0;
    BSM_TRY(bsm_op_narrow(cx, from, d, skip, keep, &from));
    BSM_TRY(bsm_op_narrow(cx, to, d, low > 0 ? low : 0, keep, &to));
  }
  return bsm_tensor_copy(to, from);
}

static bsm_status pad(bsm_op_ctx *cx, int32_t mode, const bsm_tensor *t,
                      bsm_dims pads, const bsm_ivalue *value,
                      bsm_tensor **out) {
  bsm_dims shape;
  BSM_TRY(check_pad(mode, t, pads, &shape));
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, out));
  const int64_t n = bsm_tensor_numel(*out);
  if (cx->meta || n == 0) return BSM_OK;
  if (mode == PAD_CONSTANT) return pad_constant(cx, t, pads, value, *out);
  const size_t size = bsm_dtype_size(t->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, from = 0;
    for (int32_t d = shape.rank - 1; d >= 0; d--) {
      int64_t x = rest % shape.d[d];
      rest /= shape.d[d];
      const int32_t k = shape.rank - 1 - d;
      if (2 * k < pads.rank) {
        x = pad_source(mode, x - pads.d[2 * k], t->sizes.d[d], pads.d[2 * k],
                       pads.d[2 * k + 1]);
      }
      from += x * t->strides[d];
    }
    memcpy((char *)bsm_tensor_data(*out) + (size_t)i * size,
           (const char *)bsm_tensor_data(t) + (size_t)from * size, size);
  }
  return BSM_OK;
}

/* constant_pad_nd(self, pad, value) */
static bsm_status op_constant_pad(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_dims pads;
  BSM_TRY(bsm_op_dims(&args[1], &pads));
  BSM_TRY(pad(cx, PAD_CONSTANT, op_tensor(&args[0]), pads, &args[2], &out));
  return op_return(outs, out);
}

/* reflection_pad1d(self, padding) and the like: the mode is the variant / 4,
 * the number of padded dims the rest. */
static bsm_status op_pad_nd(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims pads;
  const int32_t dims = self->variant % 4;
  BSM_TRY(bsm_op_dims(&args[1], &pads));
  if (pads.rank != 2 * dims) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "padding size is expected to be %d",
                    (int)(2 * dims));
  }
  if (t->sizes.rank != dims + 1 && t->sizes.rank != dims + 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected %dD or %dD input tensor with possibly 0 batch "
                    "size and other non-zero dimensions for input, but got: %s",
                    (int)dims + 1, (int)dims + 2, bsm_dims_str(t->sizes));
  }
  BSM_TRY(pad(cx, self->variant / 4, t, pads, NULL, &out));
  return op_return(outs, out);
}

/* pad(self, pad, mode, value) */
static bsm_status op_pad(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_ivalue zero = bsm_iv_double(0.0);
  bsm_dims pads;
  int32_t mode = -1;
  BSM_TRY(bsm_op_dims(&args[1], &pads));
  if (self->variant) {
    /* at::padding_mode: reflect, replicate, circular, constant */
    mode = (int32_t)op_int(&args[2]);
    mode = mode < 0 || mode > 3 ? -1 : (mode + 1) % 4;
  } else {
    static const char *const names[] = {"constant", "reflect", "replicate",
                                        "circular"};
    for (int i = 0; i < 4; i++) {
      if (bsm_str_eq(op_str(&args[2]), bsm_str_of(names[i]))) mode = i;
    }
  }
  if (mode < 0 || mode > 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Unrecognised padding mode %.*s",
                    (int)op_str(&args[2]).len, op_str(&args[2]).data);
  }
  if (mode != PAD_CONSTANT) {
    if (!op_none(&args[3]) && op_double(&args[3]) != 0.0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Padding mode \"%s\" doesn't take in value argument",
                      mode == PAD_REFLECT ? "reflect" : "replicate");
    }
    const int32_t dims = pads.rank / 2;
    const bool fits = dims >= 1 && dims <= 3 &&
                      (t->sizes.rank == dims + 1 || t->sizes.rank == dims + 2);
    if (mode != PAD_CIRCULAR && !fits) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Only 2D, 3D, 4D, 5D padding with non-constant padding "
                      "are supported for now");
    }
  }
  BSM_TRY(pad(cx, mode, t, pads, op_none(&args[3]) ? &zero : &args[3], &out));
  return op_return(outs, out);
}

/* ---- pixel and channel shuffles ---- */

/* One permuted view of a reshaped tensor, made contiguous and reshaped. */
static bsm_status shuffle(bsm_op_ctx *cx, bsm_tensor *t, bsm_dims split,
                          const int *perm, bsm_dims shape, bsm_tensor **out) {
  bsm_tensor *view;
  bsm_dims dims = split;
  int64_t strides[BSM_MAX_RANK] = {0};
  BSM_TRY(bsm_op_reshape(cx, t, split, &view));
  for (int32_t i = 0; i < split.rank; i++) {
    dims.d[i] = view->sizes.d[perm[i]];
    strides[i] = view->strides[perm[i]];
  }
  BSM_TRY(bsm_tensor_view(cx->arena, view, dims, strides, view->offset, &view));
  BSM_TRY(bsm_tensor_clone(cx->arena, view, &view));
  return bsm_op_reshape(cx, view, shape, out);
}

enum { PIXEL_SHUFFLE, PIXEL_UNSHUFFLE };

static bsm_status op_pixel_shuffle(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  static const int up[] = {0, 1, 4, 2, 5, 3}, down[] = {0, 1, 3, 5, 2, 4};
  const int64_t r = op_int(&args[1]);
  const bool is_up = self->variant == PIXEL_SHUFFLE;
  if (t->sizes.rank < 3 || r <= 0 || r > 1 << 15) {
    const bool is_limit = t->sizes.rank >= 3 && r > 0;
    return BSM_FAIL(is_limit ? BSM_LIMIT : BSM_INVALID_ARGUMENT,
                    "pixel_shuffle expects input to have at least 3 "
                    "dimensions and a positive factor, but got input with %d "
                    "dimension(s) and factor %lld",
                    (int)t->sizes.rank, (long long)r);
  }
  const int32_t rank = t->sizes.rank;
  const int64_t c = t->sizes.d[rank - 3], h = t->sizes.d[rank - 2],
                w = t->sizes.d[rank - 1];
  if (is_up ? c % (r * r) != 0 : h % r != 0 || w % r != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "pixel_shuffle: shape %s is not divisible by the factor "
                    "%lld",
                    bsm_dims_str(t->sizes), (long long)r);
  }
  int64_t batch = 1;
  bsm_dims shape = t->sizes;
  for (int32_t i = 0; i < rank - 3; i++) batch *= t->sizes.d[i];
  shape.d[rank - 3] = is_up ? c / (r * r) : c * r * r;
  shape.d[rank - 2] = is_up ? h * r : h / r;
  shape.d[rank - 1] = is_up ? w * r : w / r;
  const bsm_dims split = is_up ? (bsm_dims){6, {batch, c / (r * r), r, r, h, w}}
                               : (bsm_dims){6, {batch, c, h / r, r, w / r, r}};
  BSM_TRY(shuffle(cx, t, split, is_up ? up : down, shape, &out));
  return op_return(outs, out);
}

static bsm_status op_channel_shuffle(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  static const int perm[] = {0, 2, 1, 3};
  const int64_t groups = op_int(&args[1]);
  if (t->sizes.rank < 3 || groups <= 0 || t->sizes.d[1] % groups != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "channel_shuffle: shape %s does not divide into %lld "
                    "groups of channels",
                    bsm_dims_str(t->sizes), (long long)groups);
  }
  int64_t inner = 1;
  for (int32_t i = 2; i < t->sizes.rank; i++) inner *= t->sizes.d[i];
  BSM_TRY(shuffle(
      cx, t, op_dims4(t->sizes.d[0], groups, t->sizes.d[1] / groups, inner),
      perm, t->sizes, &out));
  return op_return(outs, out);
}

/* ---- im2col and col2im ---- */

typedef struct col_params {
  int64_t kernel[2], dilation[2], padding[2], stride[2], out[2];
} col_params;

static bsm_status read_col(const bsm_ivalue *args, const int64_t *size,
                           col_params *p) {
  BSM_TRY(bsm_op_ints(&args[0], 2, NULL, "kernel_size", p->kernel));
  BSM_TRY(bsm_op_ints(&args[1], 2, NULL, "dilation", p->dilation));
  BSM_TRY(bsm_op_ints(&args[2], 2, NULL, "padding", p->padding));
  BSM_TRY(bsm_op_ints(&args[3], 2, NULL, "stride", p->stride));
  for (int i = 0; i < 2; i++) {
    const bool small = p->kernel[i] < 1 << 20 && p->dilation[i] < 1 << 20 &&
                       p->padding[i] < 1 << 30 && size[i] >= 0 &&
                       size[i] < (int64_t)1 << 40;
    if (!small || p->kernel[i] <= 0 || p->dilation[i] <= 0 ||
        p->padding[i] < 0 || p->stride[i] <= 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "kernel size, dilation and stride should be greater than "
                      "zero");
    }
    const int64_t span =
        size[i] + 2 * p->padding[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;
    p->out[i] = span < 0 ? 0 : span / p->stride[i] + 1;
    if (p->out[i] <= 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the calculated shape of the array of sliding blocks is "
                      "not positive");
    }
  }
  return BSM_OK;
}

/* Adds (or, for im2col, moves) between an image and its columns. */
static void walk_columns(const col_params *p, const int64_t *size,
                         int64_t planes, double *image, double *columns,
                         bool gather) {
  const int64_t blocks = p->out[0] * p->out[1];
  for (int64_t c = 0; c < planes; c++) {
    for (int64_t k = 0; k < p->kernel[0] * p->kernel[1]; k++) {
      const int64_t kh = k / p->kernel[1], kw = k % p->kernel[1];
      double *row = columns + (c * p->kernel[0] * p->kernel[1] + k) * blocks;
      for (int64_t b = 0; b < blocks; b++) {
        const int64_t y =
            b / p->out[1] * p->stride[0] - p->padding[0] + kh * p->dilation[0];
        const int64_t x =
            b % p->out[1] * p->stride[1] - p->padding[1] + kw * p->dilation[1];
        if (y < 0 || y >= size[0] || x < 0 || x >= size[1]) continue;
        double *at = image + (c * size[0] + y) * size[1] + x;
        if (gather) {
          row[b] = *at;
        } else {
          *at += row[b];
        }
      }
    }
  }
}

/* im2col(self, kernel_size, dilation, padding, stride) */
static bsm_status op_im2col(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bool batched = t->sizes.rank == 4;
  col_params p;
  if (!batched && t->sizes.rank != 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected 3D or 4D (batch mode) tensor with possibly 0 "
                    "batch size and other non-zero dimensions for input, but "
                    "got: %s",
                    bsm_dims_str(t->sizes));
  }
  const int64_t *size = &t->sizes.d[t->sizes.rank - 2];
  const int64_t planes = t->sizes.d[t->sizes.rank - 3];
  const int64_t batch = batched ? t->sizes.d[0] : 1;
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(read_col(&args[1], size, &p));
  const int64_t rows_out = planes * p.kernel[0] * p.kernel[1];
  const int64_t blocks = p.out[0] * p.out[1];
  BSM_TRY(bsm_op_new(
      cx, t->dtype,
      batched ? op_dims3(batch, rows_out, blocks) : op_dims2(rows_out, blocks),
      &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  double *image = bsm_op_load_all(cx, t), *columns = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(image);
  BSM_TRY_ALLOC(columns);
  walk_columns(&p, size, planes, image, columns, true);
  for (int64_t b = 1; b < batch; b++) {
    walk_columns(&p, size, planes, image + b * planes * size[0] * size[1],
                 columns + b * rows_out * blocks, true);
  }
  bsm_op_store_all(out, columns);
  return BSM_OK;
}

/* col2im(self, output_size, kernel_size, dilation, padding, stride) */
static bsm_status op_col2im(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bool batched = t->sizes.rank == 3;
  col_params p;
  int64_t size[2];
  if (!batched && t->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected 2D or 3D (batch mode) tensor for input with "
                    "possibly 0 batch size and non-zero dimensions for input, "
                    "but got: %s",
                    bsm_dims_str(t->sizes));
  }
  BSM_TRY(bsm_op_real(t));
  BSM_TRY(bsm_op_ints(&args[1], 2, NULL, "output_size", size));
  BSM_TRY(read_col(&args[2], size, &p));
  const int64_t area = p.kernel[0] * p.kernel[1];
  const int64_t rows_in = t->sizes.d[t->sizes.rank - 2];
  const int64_t blocks = p.out[0] * p.out[1];
  if (rows_in % area != 0 || t->sizes.d[t->sizes.rank - 1] != blocks) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Given output_size, kernel_size and the others, expected "
                    "%lld columns and a multiple of %lld rows, but got input "
                    "of shape %s",
                    (long long)blocks, (long long)area, bsm_dims_str(t->sizes));
  }
  const int64_t planes = rows_in / area, batch = batched ? t->sizes.d[0] : 1;
  BSM_TRY(bsm_op_new(cx, t->dtype,
                     batched ? op_dims4(batch, planes, size[0], size[1])
                             : op_dims3(planes, size[0], size[1]),
                     &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  double *columns = bsm_op_load_all(cx, t), *image = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(image);
  BSM_TRY_ALLOC(columns);
  for (int64_t b = 0; b < batch; b++) {
    walk_columns(&p, size, planes, image + b * planes * size[0] * size[1],
                 columns + b * rows_in * blocks, false);
  }
  bsm_op_store_all(out, image);
  return BSM_OK;
}

/* diff(self, n, dim, prepend, append) */
static bsm_status op_diff(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  int dim;
  int64_t n = op_int(&args[1]);
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "diff expects input to be at least one-dimensional");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  if (n < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "order must be non-negative but got %lld", (long long)n);
  }
  bsm_tensor *parts[3];
  size_t count = 0;
  if (n > 0 && !op_none(&args[3])) parts[count++] = op_tensor(&args[3]);
  parts[count++] = t;
  if (n > 0 && !op_none(&args[4])) parts[count++] = op_tensor(&args[4]);
  if (count > 1) BSM_TRY(cat(cx, parts, count, dim, &t));
  if (n > t->sizes.d[dim]) n = t->sizes.d[dim];
  for (int64_t i = 0; i < n; i++) {
    bsm_tensor *a, *b;
    const int64_t m = t->sizes.d[dim] - 1;
    BSM_TRY(bsm_op_narrow(cx, t, dim, 1, m, &a));
    BSM_TRY(bsm_op_narrow(cx, t, dim, 0, m, &b));
    if (t->dtype == BSM_DTYPE_BOOL) {
      /* xor of bools: their sum's low bit, by comparing */
      BSM_TRY(bsm_op_not_equal(cx, a, b, &t));
    } else {
      BSM_TRY(bsm_op_add(cx, a, b, -1.0, &t));
    }
  }
  return op_return(outs, t);
}

static const bsm_aten_op rows[] = {
    OP("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", op_cat, 0, 0),
    OP("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", op_cat, 0, 0),
    OP("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", op_cat, 0,
       0),
    OP("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", op_stack, 0, 0),
    OP("aten::hstack(Tensor[] tensors) -> Tensor", op_stack_axis, STACK_H, 0),
    OP("aten::vstack(Tensor[] tensors) -> Tensor", op_stack_axis, STACK_V, 0),
    OP("aten::dstack(Tensor[] tensors) -> Tensor", op_stack_axis, STACK_D, 0),
    OP("aten::column_stack(Tensor[] tensors) -> Tensor", op_stack_axis,
       STACK_COLUMN, 0),
    OP("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", op_repeat, 0,
       0),
    OP("aten::tile(Tensor self, SymInt[] dims) -> Tensor", op_repeat, 1, 0),
    OP("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? "
       "dim=None, *, SymInt? output_size=None) -> Tensor",
       op_repeat_interleave, 0, 0),
    OP("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? "
       "dim=None, *, SymInt? output_size=None) -> Tensor",
       op_repeat_interleave, 0, 0),
    OP("aten::flip(Tensor self, int[] dims) -> Tensor", op_flip, 0, 0),
    OP("aten::fliplr(Tensor self) -> Tensor", op_flip, 2, 0),
    OP("aten::flipud(Tensor self) -> Tensor", op_flip, 1, 0),
    OP("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
       op_roll, 0, 0),
    OP("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
       op_rot90, 0, 0),
    OP("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> "
       "Tensor",
       op_constant_pad, 0, 0),
    OP("aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
       op_pad_nd, 5, 0),
    OP("aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
       op_pad_nd, 6, 0),
    OP("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
       op_pad_nd, 7, 0),
    OP("aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
       op_pad_nd, 9, 0),
    OP("aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
       op_pad_nd, 10, 0),
    OP("aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
       op_pad_nd, 11, 0),
    OP("aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? "
       "value=None) -> Tensor",
       op_pad, 0, 0),
    OP("aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? "
       "value=None) "
       "-> Tensor",
       op_pad, 1, 0),
    OP("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
       op_pixel_shuffle, PIXEL_SHUFFLE, 0),
    OP("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
       op_pixel_shuffle, PIXEL_UNSHUFFLE, 0),
    OP("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
       op_channel_shuffle, 0, 0),
    OP("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] "
       "padding, int[2] stride) -> Tensor",
       op_im2col, 0, 0),
    OP("aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, "
       "int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       op_col2im, 0, 0),
    OP("aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
       "Tensor? append=None) -> Tensor",
       op_diff, 0, 0),
};
BSM_ATEN_TABLE(shape, rows);
