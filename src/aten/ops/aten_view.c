/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that return views: the result shares the storage of the input. */
#include "aten/packed/aten_view.h"
#include "aten/op_kit.h"

/* Fails with "name(): ..." of PyTorch unless the rank is at least one. */
static bsm_status need_dims(const bsm_tensor *t, const char *message) {
  return t->sizes.rank > 0 ? BSM_OK : BSM_FAIL(BSM_OUT_OF_RANGE, "%s", message);
}

static bsm_status op_view(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims dims;
  BSM_TRY(bsm_op_dims(&args[1], &dims));
  BSM_TRY(bsm_op_infer_size(dims, bsm_tensor_numel(t), &dims));
  BSM_TRY(bsm_op_try_view(cx, t, dims, &out));
  if (!out) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "view size is not compatible with input tensor's size and "
                    "stride (at least one dimension spans across two "
                    "contiguous subspaces). Use .reshape(...) instead.");
  }
  return op_return(outs, out);
}

/* view.dtype: the same bytes as another dtype. */
static bsm_status op_view_dtype(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const bsm_dtype dtype = (bsm_dtype)op_int(&args[1]);
  const int64_t from = (int64_t)bsm_dtype_size(t->dtype);
  const int64_t to = (int64_t)bsm_dtype_size(dtype);
  if (to == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unknown dtype %d", (int)dtype);
  }
  BSM_TRY(bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, &out));
  out->dtype = dtype;
  if (from == to) return op_return(outs, out);
  const int32_t last = t->sizes.rank - 1;
  if (last < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "self.dim() cannot be 0 to view %s as %s (different "
                    "element sizes)",
                    bsm_op_type_name(t->dtype), bsm_op_type_name(dtype));
  }
  if (t->strides[last] != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "self.stride(-1) must be 1 to view %s as %s (different "
                    "element sizes), but got %lld",
                    bsm_op_type_name(t->dtype), bsm_op_type_name(dtype),
                    (long long)t->strides[last]);
  }
  bool ok = t->offset * from % to == 0 && t->sizes.d[last] * from % to == 0;
  for (int32_t i = 0; i < last; i++) {
    ok = ok && t->strides[i] * from % to == 0;
    out->strides[i] = t->strides[i] * from / to;
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the sizes, strides and offset must be divisible to view "
                    "%s as %s (different element sizes)",
                    bsm_op_type_name(t->dtype), bsm_op_type_name(dtype));
  }
  out->sizes.d[last] = t->sizes.d[last] * from / to;
  out->offset = t->offset * from / to;
  return op_return(outs, out);
}

enum { RESHAPE_SIZES, RESHAPE_AS, RESHAPE_RAVEL };

static bsm_status op_reshape(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims dims = {1, {-1}};
  if (self->variant == RESHAPE_AS) dims = op_tensor(&args[1])->sizes;
  if (self->variant == RESHAPE_SIZES) BSM_TRY(bsm_op_dims(&args[1], &dims));
  if (self->variant == RESHAPE_RAVEL) dims.d[0] = bsm_tensor_numel(t);
  BSM_TRY(bsm_op_infer_size(dims, bsm_tensor_numel(t), &dims));
  BSM_TRY(bsm_op_reshape(cx, t, dims, &out));
  return op_return(outs, out);
}

static bsm_status op_view_as(OP_PARAMS) {
  const bsm_dims dims = op_tensor(&args[1])->sizes;
  bsm_ivalue with_sizes[2] = {args[0]};
  BSM_TRY(
      bsm_iv_int_list(cx->arena, dims.d, (size_t)dims.rank, &with_sizes[1]));
  return op_view(cx, with_sizes, outs, self);
}

static bsm_status op_flatten(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int start, end;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &start));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &end));
  if (start > end) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "flatten() has invalid args: start_dim cannot come after "
                    "end_dim");
  }
  if (t->sizes.rank == 0) {
    BSM_TRY(bsm_op_reshape(cx, t, op_dims1(1), &out));
    return op_return(outs, out);
  }
  if (start == end) return op_return(outs, t);
  bsm_dims dims = {0};
  for (int i = 0; i < t->sizes.rank; i++) {
    if (i > start && i <= end) {
      dims.d[dims.rank - 1] *= t->sizes.d[i];
    } else {
      dims.d[dims.rank++] = t->sizes.d[i];
    }
  }
  BSM_TRY(bsm_op_reshape(cx, t, dims, &out));
  return op_return(outs, out);
}

static bsm_status op_unflatten(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims inner, dims = {0};
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  BSM_TRY(bsm_op_dims(&args[2], &inner));
  if (inner.rank == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unflatten: sizes must be non-empty");
  }
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "unflatten: a 0-dim tensor");
  }
  BSM_TRY_NOTE(bsm_op_infer_size(inner, t->sizes.d[dim], &inner),
               "unflatten: Provided sizes don't multiply up to the size of dim "
               "%d (%lld) in the input tensor",
               dim, (long long)t->sizes.d[dim]);
  if (t->sizes.rank - 1 + inner.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  for (int i = 0; i < t->sizes.rank; i++) {
    if (i != dim) {
      dims.d[dims.rank++] = t->sizes.d[i];
      continue;
    }
    for (int k = 0; k < inner.rank; k++) dims.d[dims.rank++] = inner.d[k];
  }
  BSM_TRY(bsm_op_try_view(cx, t, dims, &out));
  if (!out) return BSM_FAIL(BSM_INTERNAL, "unflatten could not be a view");
  return op_return(outs, out);
}

static bsm_status op_permute(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims perm, dims = t->sizes;
  int64_t strides[BSM_MAX_RANK] = {0};
  uint32_t seen = 0;
  BSM_TRY(bsm_op_dims(&args[1], &perm));
  if (perm.rank != t->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "permute(sparse_coo): number of dimensions in the tensor "
                    "input does not match the length of the desired ordering "
                    "of dimensions i.e. input.dim() = %d is not equal to "
                    "len(dims) = %d",
                    (int)t->sizes.rank, (int)perm.rank);
  }
  for (int32_t i = 0; i < perm.rank; i++) {
    int dim;
    BSM_TRY(bsm_op_wrap_dim(perm.d[i], t->sizes.rank, &dim));
    if (seen & 1u << dim) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "permute(): duplicate dims are not allowed.");
    }
    seen |= 1u << dim;
    dims.d[i] = t->sizes.d[dim];
    strides[i] = t->strides[dim];
  }
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset, &out));
  return op_return(outs, out);
}

static bsm_status op_transpose(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int a, b;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &a));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &b));
  BSM_TRY(bsm_op_transpose(cx, t, a, b, &out));
  if (self->flags & BSM_ATEN_INPLACE) {
    *t = *out;
    out = t;
  }
  return op_return(outs, out);
}

enum { T_T, T_NUMPY, T_MATRIX, T_ADJOINT };

/* t(), .T, .mT */
static bsm_status op_t(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int32_t rank = t->sizes.rank;
  if (self->variant == T_T && rank > 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "t() expects a tensor with <= 2 dimensions, but self is "
                    "%dD",
                    (int)rank);
  }
  if ((self->variant == T_MATRIX || self->variant == T_ADJOINT) && rank == 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "tensor.mT is only supported on matrices or batches of "
                    "matrices. Got %d-D tensor.",
                    (int)rank);
  }
  if (self->variant == T_NUMPY) {
    bsm_dims dims = t->sizes;
    int64_t strides[BSM_MAX_RANK] = {0};
    for (int32_t i = 0; i < rank; i++) {
      dims.d[i] = t->sizes.d[rank - 1 - i];
      strides[i] = t->strides[rank - 1 - i];
    }
    BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset, &out));
  } else if (rank < 2) {
    BSM_TRY(
        bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, &out));
  } else {
    BSM_TRY(bsm_op_transpose(cx, t, rank - 2, rank - 1, &out));
  }
  if (self->flags & BSM_ATEN_INPLACE) {
    *t = *out;
    out = t;
  }
  return op_return(outs, out);
}

static bsm_status move_dims(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims from,
                            bsm_dims to, bsm_tensor **out) {
  int source[BSM_MAX_RANK];
  uint32_t taken = 0, used = 0;
  if (from.rank != to.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "movedim: Invalid source or destination dims: source (%s "
                    "dims) should contain the same number of dims as "
                    "destination (%s dims)",
                    bsm_dims_str(from), bsm_dims_str(to));
  }
  for (int32_t i = 0; i < from.rank; i++) {
    int a, b;
    BSM_TRY(bsm_op_wrap_dim(from.d[i], t->sizes.rank, &a));
    BSM_TRY(bsm_op_wrap_dim(to.d[i], t->sizes.rank, &b));
    if ((used & 1u << a) || (taken & 1u << b)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "movedim: repeated dim in `source` or `destination` (%s, "
                      "%s)",
                      bsm_dims_str(from), bsm_dims_str(to));
    }
    used |= 1u << a;
    taken |= 1u << b;
    source[b] = a;
  }
  int next = 0;
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (!(taken & 1u << i)) {
      while (used & 1u << next) next++;
      source[i] = next++;
    }
    dims.d[i] = t->sizes.d[source[i]];
    strides[i] = t->strides[source[i]];
  }
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

static bsm_status op_movedim(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  bsm_dims from, to;
  BSM_TRY(bsm_op_dims(&args[1], &from));
  BSM_TRY(bsm_op_dims(&args[2], &to));
  BSM_TRY(move_dims(cx, op_tensor(&args[0]), from, to, &out));
  return op_return(outs, out);
}

static bsm_status op_unsqueeze(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank + 1, &dim));
  BSM_TRY(bsm_op_unsqueeze(cx, t, dim, &out));
  if (self->flags & BSM_ATEN_INPLACE) {
    *t = *out;
    out = t;
  }
  return op_return(outs, out);
}

enum { SQUEEZE_ALL, SQUEEZE_DIM, SQUEEZE_DIMS };

static bsm_status op_squeeze(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  uint32_t mask = (1u << t->sizes.rank) - 1u;
  if (self->variant != SQUEEZE_ALL) {
    BSM_TRY(bsm_op_dim_mask(&args[1], t->sizes.rank, false, &mask));
  }
  bsm_dims dims = {0};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if ((mask & 1u << i) && t->sizes.d[i] == 1) continue;
    dims.d[dims.rank] = t->sizes.d[i];
    strides[dims.rank++] = t->strides[i];
  }
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset, &out));
  if (self->flags & BSM_ATEN_INPLACE) {
    *t = *out;
    out = t;
  }
  return op_return(outs, out);
}

enum { EXPAND_SIZES, EXPAND_AS, EXPAND_TO };

static bsm_status op_expand(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims dims;
  if (self->variant == EXPAND_AS) {
    dims = op_tensor(&args[1])->sizes;
  } else {
    BSM_TRY(bsm_op_dims(&args[1], &dims));
    /* PyTorch leaves out what it added itself. */
    if (self->variant == EXPAND_SIZES && op_bool(&args[2]) &&
        dims.rank < t->sizes.rank) {
      return BSM_FAIL(BSM_UNSUPPORTED, "an implicit expand of %s to %d dims",
                      bsm_dims_str(t->sizes), (int)dims.rank);
    }
  }
  BSM_TRY(bsm_op_expand(cx, t, dims, &out));
  return op_return(outs, out);
}

static bsm_status op_select(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  BSM_TRY(need_dims(t, "select() cannot be applied to a 0-dim tensor."));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const int64_t index = op_int(&args[2]), size = t->sizes.d[dim];
  if (index < -size || index >= size) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "select(): index %lld out of range for tensor of size %s "
                    "at dimension %d",
                    (long long)index, bsm_dims_str(t->sizes), dim);
  }
  BSM_TRY(bsm_op_select(cx, t, dim, index < 0 ? index + size : index, &out));
  return op_return(outs, out);
}

static bsm_status op_slice(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  BSM_TRY(need_dims(t, "slice() cannot be applied to a 0-dim tensor."));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  bsm_op_slice slice;
  BSM_TRY(bsm_op_slice_dim(&args[2], t->sizes.d[dim], &slice));
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK];
  memcpy(strides, t->strides, sizeof(strides));
  dims.d[dim] = slice.count;
  /* A stride that no second element uses may overflow. */
  if (!bsm_i64_mul(strides[dim], slice.step, &strides[dim])) strides[dim] = 1;
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides,
                          t->offset + slice.start * t->strides[dim], &out));
  return op_return(outs, out);
}

static bsm_status op_narrow(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  BSM_TRY(need_dims(t, "narrow() cannot be applied to a 0-dim tensor."));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const bsm_tensor *at = op_tensor(&args[2]);
  if (at && bsm_tensor_is_meta(at)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "narrow depends on the start tensor");
  }
  if (at && (at->sizes.rank != 0 || !bsm_dtype_is_integral(at->dtype, false))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "start must be an 0-dim integral Tensor.");
  }
  int64_t start = at ? bsm_tensor_get_int(at, 0) : op_int(&args[2]);
  const int64_t length = op_int(&args[3]), size = t->sizes.d[dim];
  if (length < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "narrow(): length must be non-negative.");
  }
  if (start < -size || start > size) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "start out of range (expected to be in range of [%lld, "
                    "%lld], but got %lld)",
                    (long long)-size, (long long)size, (long long)start);
  }
  if (start < 0) start += size;
  if (length > size - start) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "start (%lld) + length (%lld) exceeds dimension size "
                    "(%lld).",
                    (long long)start, (long long)length, (long long)size);
  }
  BSM_TRY(bsm_op_narrow(cx, t, dim, start, length, &out));
  return op_return(outs, out);
}

/* Cuts `t` along `dim` at the given lengths. */
static bsm_status cut(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                      const int64_t *lengths, size_t n, bsm_ivalue *out) {
  bsm_tensor **parts = BSM_NEW_ARRAY(cx->arena, bsm_tensor *, n + 1);
  BSM_TRY_ALLOC(parts);
  int64_t start = 0;
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_op_narrow(cx, t, dim, start, lengths[i], &parts[i]));
    start += lengths[i];
  }
  return bsm_iv_tensor_list(cx->arena, parts, n, out);
}

static bsm_status split_by(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                           int64_t size, bsm_ivalue *out) {
  const int64_t total = t->sizes.d[dim];
  if (size < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "split expects split_size be non-negative, but got "
                    "split_size=%lld",
                    (long long)size);
  }
  if (size == 0 && total != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "split_size can only be 0 if dimension size is 0, but got "
                    "dimension size of %lld",
                    (long long)total);
  }
  int64_t n = size == 0 ? 1 : total / size + (total % size != 0);
  if (n == 0) n = 1;
  int64_t *lengths = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n);
  BSM_TRY_ALLOC(lengths);
  for (int64_t i = 0; i < n; i++) lengths[i] = size;
  lengths[n - 1] = size == 0 ? 0 : total - size * (n - 1);
  return cut(cx, t, dim, lengths, (size_t)n, out);
}

static bsm_status split_at(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                           const bsm_ivalue *sizes, bsm_ivalue *out) {
  const size_t n = op_list_len(sizes);
  int64_t *lengths = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1), sum = 0;
  BSM_TRY_ALLOC(lengths);
  for (size_t i = 0; i < n; i++) {
    lengths[i] = op_list_int(sizes, i);
    if (lengths[i] < 0 || !bsm_i64_add(sum, lengths[i], &sum)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "split_with_sizes expects split_sizes have only "
                      "non-negative entries, but got %lld",
                      (long long)lengths[i]);
    }
  }
  if (sum != t->sizes.d[dim]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "split_with_sizes expects split_sizes to sum exactly to "
                    "%lld (input tensor's size at dimension %d), but got a sum "
                    "of %lld",
                    (long long)t->sizes.d[dim], dim, (long long)sum);
  }
  return cut(cx, t, dim, lengths, n, out);
}

enum { SPLIT_SIZE, SPLIT_SIZES, SPLIT_CHUNK };

static bsm_status op_split(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  int dim;
  BSM_TRY(need_dims(t, "split expects at least a 1-dimensional tensor"));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  if (self->variant == SPLIT_SIZES) {
    return split_at(cx, t, dim, &args[1], &outs[0]);
  }
  int64_t size = op_int(&args[1]);
  if (self->variant == SPLIT_CHUNK) {
    const int64_t chunks = size, total = t->sizes.d[dim];
    if (chunks <= 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "chunk expects `chunks` to be greater than 0, got: %lld",
                      (long long)chunks);
    }
    size = total / chunks + (total % chunks != 0);
    if (size == 0) { /* `chunks` empty pieces */
      if (chunks > 1000000) {
        return BSM_FAIL(BSM_LIMIT, "%lld chunks", (long long)chunks);
      }
      int64_t *zeros = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)chunks);
      BSM_TRY_ALLOC(zeros);
      return cut(cx, t, dim, zeros, (size_t)chunks, &outs[0]);
    }
  }
  return split_by(cx, t, dim, size, &outs[0]);
}

/* tensor_split.sections and .indices. */
static bsm_status op_tensor_split(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  int dim;
  BSM_TRY(
      need_dims(t, "tensor_split expected at least a 1-dimensional tensor"));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &dim));
  const int64_t size = t->sizes.d[dim];
  const bool at = args[1].tag == BSM_IVALUE_LIST;
  const int64_t n = at ? (int64_t)op_list_len(&args[1]) + 1 : op_int(&args[1]);
  if (n <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "number of sections must be larger than 0, got %lld",
                    (long long)n);
  }
  if (n > 1000000) {
    return BSM_FAIL(BSM_LIMIT,
                    "tensor_split: there may be 1000000 sections, got %lld",
                    (long long)n);
  }
  bsm_tensor **parts = BSM_NEW_ARRAY(cx->arena, bsm_tensor *, (size_t)n);
  BSM_TRY_ALLOC(parts);
  int64_t start = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t end = size;
    if (at && i < n - 1) {
      end = op_list_int(&args[1], (size_t)i);
      if (end < 0) end += size;
      end = end < 0 ? 0 : end > size ? size : end;
    } else if (!at) {
      end = start + size / n + (i < size % n);
    }
    const int64_t length = end > start ? end - start : 0;
    BSM_TRY(bsm_op_narrow(cx, t, dim, start, length, &parts[i]));
    start = end;
  }
  return bsm_iv_tensor_list(cx->arena, parts, (size_t)n, &outs[0]);
}

static bsm_status op_unbind(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  int dim;
  BSM_TRY(
      need_dims(t, "Dimension specified as 0 but tensor has no dimensions"));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const size_t n = (size_t)t->sizes.d[dim];
  bsm_tensor **parts = BSM_NEW_ARRAY(cx->arena, bsm_tensor *, n + 1);
  BSM_TRY_ALLOC(parts);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_op_select(cx, t, dim, (int64_t)i, &parts[i]));
  }
  return bsm_iv_tensor_list(cx->arena, parts, n, &outs[0]);
}

static bsm_status op_as_strided(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  bsm_dims sizes, strides;
  BSM_TRY(bsm_op_dims(&args[1], &sizes));
  BSM_TRY(bsm_op_dims(&args[2], &strides));
  if (sizes.rank != strides.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mismatch in length of strides and shape");
  }
  BSM_TRY(bsm_tensor_from_storage(cx->arena, t->storage, t->dtype, sizes,
                                  strides.d, op_int_or(&args[3], t->offset),
                                  &out));
  if (self->flags & BSM_ATEN_INPLACE) {
    *t = *out;
    out = t;
  }
  return op_return(outs, out);
}

/* Sliding windows along one dim, which become a last dim. */
static bsm_status op_unfold(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int dim;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  const int64_t size = op_int(&args[2]), step = op_int(&args[3]);
  const int64_t max = t->sizes.rank == 0 ? 1 : t->sizes.d[dim];
  if (size < 0 || size > max) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "maximum size for tensor at dimension %d is %lld but size "
                    "is %lld",
                    dim, (long long)max, (long long)size);
  }
  if (step <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "step is %lld but must be > 0",
                    (long long)step);
  }
  if (t->sizes.rank >= BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK];
  memcpy(strides, t->strides, sizeof(strides));
  strides[dims.rank] = dims.rank == 0 ? 1 : strides[dim];
  dims.d[dims.rank] = size;
  if (dims.rank > 0) {
    dims.d[dim] = (max - size) / step + 1;
    if (!bsm_i64_mul(strides[dim], step, &strides[dim])) strides[dim] = 1;
  }
  dims.rank++;
  int64_t n;
  if (!bsm_dims_numel(dims, &n)) {
    return BSM_FAIL(BSM_LIMIT, "unfold: %s is too large", bsm_dims_str(dims));
  }
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset, &out));
  return op_return(outs, out);
}

static bsm_status op_diagonal(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  int a, b;
  if (t->sizes.rank < 2) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "diagonal() needs a tensor of at least 2 dimensions");
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[2]), t->sizes.rank, &a));
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[3]), t->sizes.rank, &b));
  if (a == b) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "diagonal dimensions cannot be identical %lld, %lld",
                    (long long)op_int(&args[2]), (long long)op_int(&args[3]));
  }
  const int64_t shift = op_int(&args[1]);
  const int64_t rows_left = t->sizes.d[a], cols_left = t->sizes.d[b];
  int64_t n = 0, offset = t->offset;
  if (shift >= 0 && shift < cols_left) {
    n = rows_left < cols_left - shift ? rows_left : cols_left - shift;
    offset += shift * t->strides[b];
  } else if (shift < 0 && shift > -rows_left) {
    n = rows_left + shift < cols_left ? rows_left + shift : cols_left;
    offset -= shift * t->strides[a];
  }
  bsm_dims dims = {0};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    if (i == a || i == b) continue;
    dims.d[dims.rank] = t->sizes.d[i];
    strides[dims.rank++] = t->strides[i];
  }
  dims.d[dims.rank] = n;
  strides[dims.rank++] = t->strides[a] + t->strides[b];
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, n ? offset : t->offset,
                          &out));
  return op_return(outs, out);
}

/* alias, detach: the same tensor as another object. */
static bsm_status op_alias(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (self->flags & BSM_ATEN_INPLACE) return op_return(outs, t);
  BSM_TRY(bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, &out));
  return op_return(outs, out);
}

static bsm_status op_broadcast_tensors(OP_PARAMS) {
  (void)self;
  bsm_tensor **in;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  bsm_dims shape = {0};
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_op_broadcast(shape, in[i]->sizes, &shape));
  }
  for (size_t i = 0; i < n; i++)
    BSM_TRY(bsm_op_expand(cx, in[i], shape, &in[i]));
  return bsm_iv_tensor_list(cx->arena, in, n, &outs[0]);
}

static bsm_status op_meshgrid(OP_PARAMS) {
  (void)self;
  bsm_tensor **in;
  size_t n;
  BSM_TRY(bsm_op_tensors(cx, &args[0], &in, &n));
  bool xy = false;
  if (self->variant) {
    const bsm_str how = op_str(&args[1]);
    xy = bsm_str_eq(how, BSM_STR("xy"));
    if (!xy && !bsm_str_eq(how, BSM_STR("ij"))) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.meshgrid: indexing must be one of \"xy\" or "
                      "\"ij\", but received: %.*s",
                      (int)how.len, how.data);
    }
  }
  if (n == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "meshgrid expects a non-empty TensorList");
  }
  if (n > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "meshgrid of %zu tensors", n);
  }
  bsm_dims shape = {(int32_t)n, {0}};
  xy = xy && n >= 2;
  for (size_t i = 0; i < n; i++) {
    if (in[i]->sizes.rank > 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.meshgrid: Expected 0D or 1D tensor in the tensor "
                      "list but got: %s",
                      bsm_dims_str(in[i]->sizes));
    }
    if (in[i]->dtype != in[0]->dtype) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "torch.meshgrid expects all tensors to have the same "
                      "dtype");
    }
    shape.d[i] = bsm_tensor_numel(in[i]);
  }
  for (size_t i = 0; i < n; i++) {
    bsm_dims dims = {(int32_t)n, {0}};
    for (size_t k = 0; k < n; k++) dims.d[k] = k == i ? shape.d[i] : 1;
    BSM_TRY(bsm_op_reshape(cx, in[i], dims, &in[i]));
    BSM_TRY(bsm_op_expand(cx, in[i], shape, &in[i]));
  }
  if (xy) {
    /* As "ij" of the first two swapped, and the axes swapped back. */
    for (size_t i = 0; i < n; i++) {
      BSM_TRY(bsm_op_transpose(cx, in[i], 0, 1, &in[i]));
    }
  }
  return bsm_iv_tensor_list(cx->arena, in, n, &outs[0]);
}

static const bsm_aten_op rows[] = {
    OP("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", op_view, 0,
       BSM_ATEN_VIEW),
    OP("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
       op_view_dtype, 0, BSM_ATEN_VIEW),
    OP("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", op_view_as,
       0, BSM_ATEN_VIEW),
    OP("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", op_view, 0,
       0),
    OP("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", op_reshape,
       RESHAPE_SIZES, 0),
    OP("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
       op_reshape, RESHAPE_AS, 0),
    OP("aten::ravel(Tensor(a) self) -> Tensor(a)", op_reshape, RESHAPE_RAVEL,
       0),
    OP("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int "
       "end_dim=-1) -> Tensor(a)",
       op_flatten, 0, 0),
    OP("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> "
       "Tensor(a)",
       op_unflatten, 0, BSM_ATEN_VIEW),
    OP("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", op_permute, 0,
       BSM_ATEN_VIEW),
    OP("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
       op_transpose, 0, BSM_ATEN_VIEW),
    OP("aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
       op_transpose, 0, BSM_ATEN_INPLACE),
    OP("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
       op_transpose, 0, BSM_ATEN_VIEW),
    OP("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
       op_transpose, 0, BSM_ATEN_VIEW),
    OP("aten::t(Tensor(a) self) -> Tensor(a)", op_t, T_T, BSM_ATEN_VIEW),
    OP("aten::t_(Tensor(a!) self) -> Tensor(a!)", op_t, T_T, BSM_ATEN_INPLACE),
    OP("aten::numpy_T(Tensor(a) self) -> Tensor(a)", op_t, T_NUMPY,
       BSM_ATEN_VIEW),
    OP("aten::mT(Tensor(a) self) -> Tensor(a)", op_t, T_MATRIX, BSM_ATEN_VIEW),
    OP("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) "
       "-> Tensor(a)",
       op_movedim, 0, BSM_ATEN_VIEW),
    OP("aten::movedim.int(Tensor(a) self, int source, int destination) -> "
       "Tensor(a)",
       op_movedim, 0, BSM_ATEN_VIEW),
    OP("aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] "
       "destination) "
       "-> Tensor(a)",
       op_movedim, 0, BSM_ATEN_VIEW),
    OP("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> "
       "Tensor(a)",
       op_movedim, 0, BSM_ATEN_VIEW),
    OP("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", op_unsqueeze, 0,
       BSM_ATEN_VIEW),
    OP("aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", op_unsqueeze,
       0, BSM_ATEN_INPLACE),
    OP("aten::squeeze(Tensor(a) self) -> Tensor(a)", op_squeeze, SQUEEZE_ALL,
       BSM_ATEN_VIEW),
    OP("aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", op_squeeze, SQUEEZE_ALL,
       BSM_ATEN_INPLACE),
    OP("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", op_squeeze,
       SQUEEZE_DIM, BSM_ATEN_VIEW),
    OP("aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", op_squeeze,
       SQUEEZE_DIM, BSM_ATEN_INPLACE),
    OP("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", op_squeeze,
       SQUEEZE_DIMS, BSM_ATEN_VIEW),
    OP("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> "
       "Tensor(a)",
       op_expand, EXPAND_SIZES, BSM_ATEN_VIEW),
    OP("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", op_expand,
       EXPAND_AS, BSM_ATEN_VIEW),
    OP("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
       op_expand, EXPAND_TO, BSM_ATEN_VIEW),
    OP("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
       op_select, 0, BSM_ATEN_VIEW),
    OP("aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
       "SymInt? end=None, SymInt step=1) -> Tensor(a)",
       op_slice, 0, BSM_ATEN_VIEW),
    OP("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> "
       "Tensor(a)",
       op_narrow, 0, BSM_ATEN_VIEW),
    OP("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt "
       "length) -> Tensor(a)",
       op_narrow, 0, BSM_ATEN_VIEW),
    OP("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) "
       "-> "
       "Tensor(a)[]",
       op_split, SPLIT_SIZE, BSM_ATEN_VIEW),
    OP("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) "
       "-> Tensor(a)[]",
       op_split, SPLIT_SIZES, BSM_ATEN_VIEW),
    OP("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int "
       "dim=0) -> Tensor(a)[]",
       op_split, SPLIT_SIZES, BSM_ATEN_VIEW),
    OP("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
       op_split, SPLIT_CHUNK, BSM_ATEN_VIEW),
    /* They share memory as their safe forms do; only autograd is not told. */
    OP("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) "
       "-> "
       "Tensor[]",
       op_split, SPLIT_SIZE, BSM_ATEN_VIEW),
    OP("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int "
       "dim=0) -> Tensor[]",
       op_split, SPLIT_SIZES, BSM_ATEN_VIEW),
    OP("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
       op_split, SPLIT_CHUNK, BSM_ATEN_VIEW),
    OP("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int "
       "dim=0) -> Tensor(a)[]",
       op_tensor_split, 0, 0),
    OP("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int "
       "dim=0) -> Tensor(a)[]",
       op_tensor_split, 0, 0),
    OP("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
       op_unbind, 0, BSM_ATEN_VIEW),
    OP("aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
       "SymInt? "
       "storage_offset=None) -> Tensor(a)",
       op_as_strided, 0, BSM_ATEN_VIEW),
    OP("aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, "
       "SymInt? storage_offset=None) -> Tensor(a!)",
       op_as_strided, 0, BSM_ATEN_INPLACE),
    OP("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> "
       "Tensor(a)",
       op_unfold, 0, BSM_ATEN_VIEW),
    OP("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) "
       "-> "
       "Tensor(a)",
       op_diagonal, 0, BSM_ATEN_VIEW),
    OP("aten::alias(Tensor(a) self) -> Tensor(a)", op_alias, 0, BSM_ATEN_VIEW),
    OP("aten::detach(Tensor(a) self) -> Tensor(a)", op_alias, 0, BSM_ATEN_VIEW),
    OP("aten::detach_(Tensor(a!) self) -> Tensor(a!)", op_alias, 0,
       BSM_ATEN_INPLACE),
    OP("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
       op_broadcast_tensors, 0, 0),
    OP("aten::meshgrid(Tensor[] tensors) -> Tensor[]", op_meshgrid, 0, 0),
    OP("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       op_meshgrid, 1, 0),
};
BSM_ATEN_TABLE(view, rows);
