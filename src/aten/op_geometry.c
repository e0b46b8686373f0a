/* SPDX-License-Identifier: Apache-2.0 */
/* The toolkit of the ops: dims, broadcasting, views. */
#include "aten/op_kit.h"

bsm_status bsm_op_wrap_dim(int64_t dim, int64_t rank, int *out) {
  const int64_t n = rank > 0 ? rank : 1;
  *out = 0;
  if (dim < -n || dim >= n) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "Dimension out of range (expected to be in range of [%lld, "
                    "%lld], but got %lld)",
                    (long long)-n, (long long)(n - 1), (long long)dim);
  }
  *out = (int)(dim < 0 ? dim + n : dim);
  return BSM_OK;
}

bsm_status bsm_op_dim_mask(const bsm_ivalue *a, int32_t rank, bool empty_is_all,
                           uint32_t *out) {
  const size_t n = a->tag == BSM_IVALUE_INT ? 1 : op_list_len(a);
  *out = 0;
  if (n == 0 && (op_none(a) || empty_is_all)) {
    *out = (1u << rank) - 1u;
    return BSM_OK;
  }
  for (size_t i = 0; i < n; i++) {
    int dim;
    const int64_t d = a->tag == BSM_IVALUE_INT ? a->u.i : op_list_int(a, i);
    BSM_TRY(bsm_op_wrap_dim(d, rank, &dim));
    if (*out & 1u << dim) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dim %d appears multiple times in the list of dims", dim);
    }
    *out |= 1u << dim;
  }
  return BSM_OK;
}

bsm_status bsm_op_slice_dim(const bsm_ivalue *bounds, int64_t size,
                            bsm_op_slice *out) {
  *out = (bsm_op_slice){0, 1, 0};
  if (op_int(&bounds[2]) <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "slice step must be positive");
  }
  return bsm_op_slice_sequence(bounds, size, out);
}

/* Python's slice.indices(): bounds from the end are negative, those beyond the
 * ends are moved there. */
bsm_status bsm_op_slice_sequence(const bsm_ivalue *bounds, int64_t size,
                                 bsm_op_slice *out) {
  const int64_t step = op_int(&bounds[2]);
  *out = (bsm_op_slice){0, 1, 0};
  if (step == 0) return BSM_FAIL(BSM_RAISED, "slice step cannot be zero");
  const bool back = step < 0;
  int64_t start = op_int_or(&bounds[0], back ? INT64_MAX : 0);
  int64_t end = op_int_or(&bounds[1], back ? INT64_MIN : INT64_MAX);
  if (start < 0) start += size;
  if (end < 0 && end != INT64_MIN) end += size;
  const int64_t low = back ? -1 : 0, high = back ? size - 1 : size;
  start = start < low ? low : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  *out = (bsm_op_slice){start, step, 0};
  if (back ? end < start : start < end) {
    out->count = (back ? end - start + 1 : end - start - 1) / step + 1;
  }
  return BSM_OK;
}

bsm_status bsm_op_broadcast(bsm_dims a, bsm_dims b, bsm_dims *out) {
  bsm_dims r = {a.rank > b.rank ? a.rank : b.rank, {0}};
  for (int32_t i = 0; i < r.rank; i++) {
    const int32_t ia = i - (r.rank - a.rank), ib = i - (r.rank - b.rank);
    const int64_t da = ia >= 0 ? a.d[ia] : 1, db = ib >= 0 ? b.d[ib] : 1;
    if (da != db && da != 1 && db != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "The size of tensor a (%lld) must match the size of "
                      "tensor b (%lld) at non-singleton dimension %d",
                      (long long)da, (long long)db, (int)i);
    }
    r.d[i] = da == 1 ? db : da;
  }
  *out = r;
  return BSM_OK;
}

bsm_status bsm_op_expand(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims dims,
                         bsm_tensor **out) {
  int64_t strides[BSM_MAX_RANK] = {0};
  if (dims.rank < t->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expand: the number of sizes provided (%d) must be greater "
                    "or equal to the number of dimensions in the tensor (%d)",
                    (int)dims.rank, (int)t->sizes.rank);
  }
  for (int32_t i = dims.rank - 1; i >= 0; i--) {
    const int32_t k = i - (dims.rank - t->sizes.rank);
    const int64_t size = k >= 0 ? t->sizes.d[k] : 1;
    /* PyTorch's strides: a new leading dim continues the next one. */
    strides[i] = k >= 0              ? t->strides[k]
                 : i + 1 < dims.rank ? dims.d[i + 1] * strides[i + 1]
                                     : 1;
    if (dims.d[i] == -1) {
      if (k < 0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "The expanded size of the tensor (-1) isn't allowed in "
                        "a leading, non-existing dimension %d",
                        (int)i);
      }
      dims.d[i] = size;
    }
    if (dims.d[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "expand: invalid size %lld in dimension %d",
                      (long long)dims.d[i], (int)i);
    }
    if (dims.d[i] == size) continue;
    if (size != 1) {
      return BSM_FAIL(
          BSM_INVALID_ARGUMENT,
          "The expanded size of the tensor (%lld) must match the existing size "
          "(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor "
          "sizes: %s",
          (long long)dims.d[i], (long long)size, (int)i, bsm_dims_str(dims),
          bsm_dims_str(t->sizes));
    }
    strides[i] = 0;
  }
  int64_t n;
  if (!bsm_dims_numel(dims, &n)) {
    return BSM_FAIL(BSM_LIMIT, "expand: %s is too large", bsm_dims_str(dims));
  }
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

/* at::detail::computeStride: false when the view needs a copy. */
static bool view_strides(const bsm_tensor *t, bsm_dims dims, int64_t *strides) {
  const int64_t numel = bsm_tensor_numel(t);
  if (numel == 0) {
    if (bsm_dims_equal(t->sizes, dims)) {
      memcpy(strides, t->strides, sizeof(t->strides));
    } else {
      bsm_contiguous_strides(dims, strides);
    }
    return true;
  }
  if (t->sizes.rank == 0) {
    for (int32_t i = 0; i < dims.rank; i++) strides[i] = 1;
    return true;
  }
  int32_t view_d = dims.rank - 1;
  int64_t base = t->strides[t->sizes.rank - 1];
  int64_t tensor_n = 1, view_n = 1;
  for (int32_t d = t->sizes.rank - 1; d >= 0; d--) {
    tensor_n *= t->sizes.d[d];
    const bool chunk_end = d == 0 || (t->sizes.d[d - 1] != 1 &&
                                      t->strides[d - 1] != tensor_n * base);
    if (!chunk_end) continue;
    while (view_d >= 0 && (view_n < tensor_n || dims.d[view_d] == 1)) {
      strides[view_d] = view_n * base;
      view_n *= dims.d[view_d];
      view_d--;
    }
    if (view_n != tensor_n) return false;
    if (d > 0) {
      base = t->strides[d - 1];
      tensor_n = 1;
      view_n = 1;
    }
  }
  return view_d == -1;
}

bsm_status bsm_op_try_view(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims dims,
                           bsm_tensor **out) {
  int64_t strides[BSM_MAX_RANK] = {0};
  *out = NULL;
  int64_t wanted; /* the last line of defence: memory would be left */
  if (!bsm_dims_numel(dims, &wanted)) {
    return BSM_FAIL(BSM_LIMIT, "the shape %s is too large", bsm_dims_str(dims));
  }
  if (wanted != bsm_tensor_numel(t)) {
    return BSM_FAIL(BSM_INTERNAL, "a view of %s as %s", bsm_dims_str(t->sizes),
                    bsm_dims_str(dims));
  }
  if (!view_strides(t, dims, strides)) return BSM_OK;
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

bsm_status bsm_op_reshape(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims dims,
                          bsm_tensor **out) {
  BSM_TRY(bsm_op_try_view(cx, t, dims, out));
  if (*out) return BSM_OK;
  bsm_tensor *copy;
  BSM_TRY(bsm_tensor_clone(cx->arena, t, &copy));
  return bsm_op_try_view(cx, copy, dims, out);
}

bsm_status bsm_op_infer_size(bsm_dims shape, int64_t numel, bsm_dims *out) {
  int64_t n = 1;
  int32_t infer = -1;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (shape.d[i] == -1) {
      if (infer >= 0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT,
                        "only one dimension can be inferred");
      }
      infer = i;
    } else if (shape.d[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "invalid shape dimension %lld",
                      (long long)shape.d[i]);
    } else if (!bsm_i64_mul(n, shape.d[i], &n)) {
      return BSM_FAIL(BSM_LIMIT, "the shape %s is too large",
                      bsm_dims_str(shape));
    }
  }
  *out = shape;
  if (infer < 0 && n == numel) return BSM_OK;
  if (infer >= 0 && n > 0 && numel % n == 0) {
    out->d[infer] = numel / n;
    return BSM_OK;
  }
  if (infer >= 0 && n == 0 && numel == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "cannot reshape tensor of 0 elements into shape %s because "
                    "the unspecified dimension size -1 can be any value and is "
                    "ambiguous",
                    bsm_dims_str(shape));
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "shape '%s' is invalid for input of size %lld",
                  bsm_dims_str(shape), (long long)numel);
}

bsm_status bsm_op_transpose(bsm_op_ctx *cx, const bsm_tensor *t, int dim0,
                            int dim1, bsm_tensor **out) {
  BSM_TRY(bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, out));
  if (t->sizes.rank == 0) return BSM_OK;
  (*out)->sizes.d[dim0] = t->sizes.d[dim1];
  (*out)->sizes.d[dim1] = t->sizes.d[dim0];
  (*out)->strides[dim0] = t->strides[dim1];
  (*out)->strides[dim1] = t->strides[dim0];
  return BSM_OK;
}

bsm_status bsm_op_narrow(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                         int64_t start, int64_t length, bsm_tensor **out) {
  bsm_dims dims = t->sizes;
  dims.d[dim] = length;
  return bsm_tensor_view(cx->arena, t, dims, t->strides,
                         t->offset + start * t->strides[dim], out);
}

bsm_status bsm_op_select(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                         int64_t index, bsm_tensor **out) {
  bsm_dims dims = {t->sizes.rank - 1, {0}};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int32_t i = 0, k = 0; i < t->sizes.rank; i++) {
    if (i == dim) continue;
    dims.d[k] = t->sizes.d[i];
    strides[k++] = t->strides[i];
  }
  return bsm_tensor_view(cx->arena, t, dims, strides,
                         t->offset + index * t->strides[dim], out);
}

/* The product as a stride. Where it does not fit, the dimension has one element
 * or none, and its stride says nothing. */
static int64_t times(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

bsm_status bsm_op_unsqueeze(bsm_op_ctx *cx, const bsm_tensor *t, int dim,
                            bsm_tensor **out) {
  if (t->sizes.rank == BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  bsm_dims dims = {t->sizes.rank + 1, {0}};
  int64_t strides[BSM_MAX_RANK] = {0};
  for (int32_t i = 0, k = 0; i < dims.rank; i++) {
    if (i == dim) {
      dims.d[i] = 1;
      strides[i] = k < t->sizes.rank ? times(t->sizes.d[k], t->strides[k]) : 1;
    } else {
      dims.d[i] = t->sizes.d[k];
      strides[i] = t->strides[k++];
    }
  }
  return bsm_tensor_view(cx->arena, t, dims, strides, t->offset, out);
}

bsm_status bsm_op_view_as_real(bsm_op_ctx *cx, const bsm_tensor *t,
                               bsm_tensor **out) {
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK] = {0};
  if (!bsm_dtype_is_complex(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "view_as_real is only supported for complex tensors");
  }
  if (dims.rank == BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "a tensor of more than %d dimensions",
                    BSM_MAX_RANK);
  }
  for (int32_t i = 0; i < dims.rank; i++) {
    strides[i] = times(t->strides[i], 2);
  }
  strides[dims.rank] = 1;
  dims.d[dims.rank++] = 2;
  BSM_TRY(
      bsm_tensor_view(cx->arena, t, dims, strides, times(t->offset, 2), out));
  (*out)->dtype = bsm_dtype_value_type(t->dtype);
  return BSM_OK;
}

bsm_status bsm_op_view_as_complex(bsm_op_ctx *cx, const bsm_tensor *t,
                                  bsm_tensor **out) {
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK] = {0};
  const bsm_dtype d = t->dtype;
  if (d != BSM_DTYPE_HALF && d != BSM_DTYPE_FLOAT && d != BSM_DTYPE_DOUBLE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "view_as_complex is only supported for half, float and "
                    "double tensors, but got a tensor of scalar type: %s",
                    bsm_op_type_name(d));
  }
  if (dims.rank == 0 || dims.d[dims.rank - 1] != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    dims.rank == 0
                        ? "Input tensor must have one or more dimensions"
                        : "Tensor must have a last dimension of size 2");
  }
  dims.rank--;
  if (t->strides[dims.rank] != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Tensor must have a last dimension with stride 1");
  }
  for (int32_t i = 0; i < dims.rank; i++) {
    if (t->strides[i] % 2 != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Tensor must have a stride divisible by 2 for all but "
                      "last dimension");
    }
    strides[i] = t->strides[i] / 2;
  }
  if (t->offset % 2 != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Tensor must have a storage_offset divisible by 2");
  }
  BSM_TRY(bsm_tensor_view(cx->arena, t, dims, strides, t->offset / 2, out));
  (*out)->dtype = bsm_dtype_complex_type(d);
  return BSM_OK;
}
