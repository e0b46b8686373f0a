/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of the kinds that move, make or convert elements. */
#include "base/checked.h"
#include "network/network_internal.h"

/* Applies a permutation to dims. */
static bsm_status permute(bsm_dims in, bsm_dims perm, bsm_dims *out) {
  uint32_t seen = 0;
  if (perm.rank != in.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "permutation %s of a tensor with dims %s",
                    bsm_dims_str(perm), bsm_dims_str(in));
  }
  out->rank = in.rank;
  for (int32_t i = 0; i < perm.rank; i++) {
    if (perm.d[i] < 0 || perm.d[i] >= in.rank ||
        (seen >> (unsigned)perm.d[i] & 1u)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s is not a permutation",
                      bsm_dims_str(perm));
    }
    seen |= 1u << (unsigned)perm.d[i];
    out->d[i] = in.d[perm.d[i]];
  }
  return BSM_OK;
}

/* The sizes of a reshape with at most one -1. */
static bsm_status reshape(bsm_dims in, bsm_dims wanted, bsm_dims *out) {
  int64_t have, known = 1;
  int32_t inferred = -1;
  if (wanted.rank < 0 || wanted.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "reshape to rank %d", (int)wanted.rank);
  }
  if (!bsm_count_elements(in, &have)) {
    return BSM_FAIL(BSM_LIMIT, "dims %s are too large", bsm_dims_str(in));
  }
  *out = wanted;
  for (int32_t i = 0; i < wanted.rank; i++) {
    if (wanted.d[i] == -1 && inferred < 0) {
      inferred = i;
    } else if (wanted.d[i] < 0 || !bsm_i64_mul(known, wanted.d[i], &known)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "reshape to %s",
                      bsm_dims_str(wanted));
    }
  }
  if (inferred >= 0) {
    if (known == 0 || have % known != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dims %s with %lld elements do not reshape to %s",
                      bsm_dims_str(in), (long long)have, bsm_dims_str(wanted));
    }
    out->d[inferred] = have / known;
  } else if (known != have) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "dims %s with %lld elements do not reshape to %s",
                    bsm_dims_str(in), (long long)have, bsm_dims_str(wanted));
  }
  return BSM_OK;
}

bsm_status bsm_infer_shuffle(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dims dims = x->dims, next = {0};
  if (layer->p.shuffle.has_first) {
    BSM_TRY(permute(dims, layer->p.shuffle.first_transpose, &next));
    dims = next;
  }
  if (layer->p.shuffle.has_reshape) {
    BSM_TRY(reshape(dims, layer->p.shuffle.reshape, &next));
    dims = next;
  }
  if (layer->p.shuffle.has_second) {
    BSM_TRY(permute(dims, layer->p.shuffle.second_transpose, &next));
    dims = next;
  }
  return bsm_layer_set_output(layer, 0, x->dtype, dims);
}

/* The first and last input index that a slice reads along an axis. */
static bool slice_range(const bsm_layer *layer, int32_t axis, int64_t *low,
                        int64_t *high) {
  int64_t start = layer->p.slice.start.d[axis], last;
  if (!bsm_i64_mul(layer->p.slice.size.d[axis] - 1,
                   layer->p.slice.stride.d[axis], &last) ||
      !bsm_i64_add(last, start, &last)) {
    return false;
  }
  *low = start < last ? start : last;
  *high = start < last ? last : start;
  return true;
}

/* How far outside [0, size) a padding mode may read. */
static bool padding_allows(bsm_padding_mode mode, int64_t size, int64_t low,
                           int64_t high) {
  int64_t before = low < 0 ? -(low + 1) + 1 : 0;
  int64_t after = high >= size ? high - size + 1 : 0;
  switch (mode) {
    case BSM_PADDING_CONSTANT:
      return true;
    case BSM_PADDING_REFLECT:
      return before < size && after < size;
    case BSM_PADDING_REPLICATE:
      return size > 0;
    case BSM_PADDING_CIRCULAR:
      return before <= size && after <= size && size > 0;
  }
  return false;
}

bsm_status bsm_infer_slice(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dims size = layer->p.slice.size;
  bool empty = false;
  if (size.rank != x->dims.rank || layer->p.slice.start.rank != x->dims.rank ||
      layer->p.slice.stride.rank != x->dims.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "start, size and stride of a slice need the rank of the "
                    "input, %d",
                    (int)x->dims.rank);
  }
  for (int32_t i = 0; i < size.rank; i++) {
    if (size.d[i] < 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "slice size %s is negative",
                      bsm_dims_str(size));
    }
    empty |= size.d[i] == 0;
  }
  for (int32_t i = 0; i < size.rank && !empty; i++) {
    int64_t low, high;
    if (!slice_range(layer, i, &low, &high)) {
      return BSM_FAIL(BSM_LIMIT, "slice of dimension %d overflows", (int)i);
    }
    if (low >= 0 && high < x->dims.d[i]) continue;
    if (!layer->p.slice.has_mode) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "slice reads %lld to %lld of dimension %d, which has "
                      "%lld elements",
                      (long long)low, (long long)high, (int)i,
                      (long long)x->dims.d[i]);
    }
    if (!padding_allows(layer->p.slice.mode, x->dims.d[i], low, high)) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "%s padding of dimension %d with %lld elements cannot "
                      "reach %lld to %lld",
                      bsm_padding_mode_name(layer->p.slice.mode), (int)i,
                      (long long)x->dims.d[i], (long long)low, (long long)high);
    }
  }
  return bsm_layer_set_output(layer, 0, x->dtype, size);
}

static bsm_status check_axis(int32_t axis, int32_t rank) {
  if (axis < 0 || axis >= rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "axis %d of a tensor of rank %d",
                    (int)axis, (int)rank);
  }
  return BSM_OK;
}

static bsm_status gather_default(bsm_layer *layer, bsm_dims data,
                                 bsm_dims indices, bsm_dims *out) {
  int32_t axis = layer->p.gather.axis;
  BSM_TRY(check_axis(axis, data.rank));
  if (data.rank - 1 + indices.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "gather gives rank %d, the limit is %d",
                    (int)(data.rank - 1 + indices.rank), BSM_MAX_RANK);
  }
  int32_t n = 0;
  for (int32_t i = 0; i < axis; i++) out->d[n++] = data.d[i];
  for (int32_t i = 0; i < indices.rank; i++) out->d[n++] = indices.d[i];
  for (int32_t i = axis + 1; i < data.rank; i++) out->d[n++] = data.d[i];
  out->rank = n;
  return BSM_OK;
}

static bsm_status gather_element(bsm_layer *layer, bsm_dims data,
                                 bsm_dims indices, bsm_dims *out) {
  BSM_TRY(check_axis(layer->p.gather.axis, data.rank));
  bool fits = data.rank == indices.rank;
  for (int32_t i = 0; fits && i < data.rank; i++) {
    fits = i == layer->p.gather.axis || indices.d[i] <= data.d[i];
  }
  if (!fits) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "gather of elements: indices %s do not fit data %s",
                    bsm_dims_str(indices), bsm_dims_str(data));
  }
  *out = indices;
  return BSM_OK;
}

static bsm_status gather_nd(bsm_dims data, bsm_dims indices, bsm_dims *out) {
  if (indices.rank < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "gather: the indices are 0-dim");
  }
  int64_t depth = indices.d[indices.rank - 1];
  if (depth < 1 || depth > data.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "gather: indices %s name %lld dimensions of data %s",
                    bsm_dims_str(indices), (long long)depth,
                    bsm_dims_str(data));
  }
  int32_t n = indices.rank - 1;
  if (n + data.rank - (int32_t)depth > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "gather gives rank %d",
                    (int)(n + data.rank - (int32_t)depth));
  }
  for (int32_t i = 0; i < n; i++) out->d[i] = indices.d[i];
  for (int32_t i = (int32_t)depth; i < data.rank; i++) out->d[n++] = data.d[i];
  out->rank = n;
  return BSM_OK;
}

bsm_status bsm_infer_gather(bsm_layer *layer) {
  const bsm_itensor *data = layer->inputs.items[0];
  const bsm_itensor *indices = layer->inputs.items[1];
  bsm_dims out = {0};
  if (indices->dtype != BSM_DTYPE_INT64 && indices->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "gather: indices are %s, int64 or int32 is needed",
                    bsm_dtype_name(indices->dtype));
  }
  switch (layer->p.gather.mode) {
    case BSM_GATHER_DEFAULT:
    case BSM_GATHER_SELECT:
      BSM_TRY(gather_default(layer, data->dims, indices->dims, &out));
      break;
    case BSM_GATHER_ELEMENT:
      BSM_TRY(gather_element(layer, data->dims, indices->dims, &out));
      break;
    case BSM_GATHER_ND:
      BSM_TRY(gather_nd(data->dims, indices->dims, &out));
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "gather mode %d",
                      (int)layer->p.gather.mode);
  }
  return bsm_layer_set_output(layer, 0, data->dtype, out);
}

/* The dims that the updates of a scatter of slices have. */
static bsm_status scatter_slices(int32_t axis, bsm_dims data, bsm_dims indices,
                                 bsm_dims *out) {
  if (indices.rank < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "scatter: the indices are 0-dim");
  }
  int64_t depth = indices.d[indices.rank - 1];
  if (axis < 0 || depth < 1 || depth > data.rank - axis) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scatter: indices %s name %lld dimensions from %d of data "
                    "%s",
                    bsm_dims_str(indices), (long long)depth, (int)axis,
                    bsm_dims_str(data));
  }
  int32_t n = 0;
  if (indices.rank - 1 + data.rank - (int32_t)depth > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "scatter: updates of rank %d",
                    (int)(indices.rank - 1 + data.rank - (int32_t)depth));
  }
  for (int32_t i = 0; i < axis; i++) out->d[n++] = data.d[i];
  for (int32_t i = 0; i < indices.rank - 1; i++) out->d[n++] = indices.d[i];
  for (int32_t i = axis + (int32_t)depth; i < data.rank; i++) {
    out->d[n++] = data.d[i];
  }
  out->rank = n;
  return BSM_OK;
}

static bsm_status scatter_elements(int32_t axis, bsm_dims data,
                                   bsm_dims indices, bsm_dims *out) {
  BSM_TRY(check_axis(axis, data.rank));
  bool fits = data.rank == indices.rank;
  for (int32_t i = 0; fits && i < data.rank; i++) {
    fits = i == axis || indices.d[i] <= data.d[i];
  }
  if (!fits) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scatter of elements: indices %s do not fit data %s",
                    bsm_dims_str(indices), bsm_dims_str(data));
  }
  *out = indices;
  return BSM_OK;
}

bsm_status bsm_infer_scatter(bsm_layer *layer) {
  const bsm_itensor *data = layer->inputs.items[0];
  const bsm_itensor *indices = layer->inputs.items[1];
  const bsm_itensor *updates = layer->inputs.items[2];
  const int32_t axis = layer->p.scatter.axis;
  bsm_dims wanted = {0};
  if (indices->dtype != BSM_DTYPE_INT64 && indices->dtype != BSM_DTYPE_INT32) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scatter: indices are %s, int64 or int32 is needed",
                    bsm_dtype_name(indices->dtype));
  }
  if (updates->dtype != data->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "scatter: updates of %s for %s",
                    bsm_dtype_name(updates->dtype),
                    bsm_dtype_name(data->dtype));
  }
  if ((unsigned)layer->p.scatter.reduction > BSM_SCATTER_MAX) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "scatter reduction %d",
                    (int)layer->p.scatter.reduction);
  }
  if (layer->p.scatter.mode == BSM_SCATTER_ND) {
    BSM_TRY(scatter_slices(axis, data->dims, indices->dims, &wanted));
  } else {
    BSM_TRY(scatter_elements(axis, data->dims, indices->dims, &wanted));
  }
  if (!bsm_same_dims(updates->dims, wanted)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "scatter: updates have dims %s, indices %s of data %s "
                    "want %s",
                    bsm_dims_str(updates->dims), bsm_dims_str(indices->dims),
                    bsm_dims_str(data->dims), bsm_dims_str(wanted));
  }
  return bsm_layer_set_output(layer, 0, data->dtype, data->dims);
}

bsm_status bsm_infer_concatenation(bsm_layer *layer) {
  const bsm_itensor *first = layer->inputs.items[0];
  int32_t axis = layer->p.concatenation.axis;
  bsm_dims out = first->dims;
  BSM_TRY(check_axis(axis, out.rank));
  for (size_t i = 1; i < layer->inputs.len; i++) {
    const bsm_itensor *x = layer->inputs.items[i];
    bool same = x->dims.rank == out.rank && x->dtype == first->dtype;
    for (int32_t d = 0; same && d < out.rank; d++) {
      same = d == axis || x->dims.d[d] == out.d[d];
    }
    if (!same) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "concatenation along axis %d: input %zu is %s%s, input 0 "
                      "is %s%s",
                      (int)axis, i, bsm_dtype_name(x->dtype),
                      bsm_dims_str(x->dims), bsm_dtype_name(first->dtype),
                      bsm_dims_str(first->dims));
    }
    if (!bsm_i64_add(out.d[axis], x->dims.d[axis], &out.d[axis])) {
      return BSM_FAIL(BSM_LIMIT, "concatenation overflows");
    }
  }
  return bsm_layer_set_output(layer, 0, first->dtype, out);
}

bsm_status bsm_infer_expand(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dims dims = layer->p.expand.dims;
  if (!bsm_dims_broadcast_to(x->dims, dims)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "dims %s do not expand to %s",
                    bsm_dims_str(x->dims), bsm_dims_str(dims));
  }
  return bsm_layer_set_output(layer, 0, x->dtype, dims);
}

bsm_status bsm_infer_resize(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dims size = layer->p.resize.output_size, out = x->dims;
  bool nearest = layer->p.resize.mode == BSM_RESIZE_NEAREST ||
                 layer->p.resize.mode == BSM_RESIZE_NEAREST_EXACT;
  if (size.rank < 1 || size.rank > BSM_MAX_SPATIAL || size.rank > out.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "resize of %d dimensions of a tensor with dims %s",
                    (int)size.rank, bsm_dims_str(out));
  }
  if (layer->p.resize.mode == BSM_RESIZE_CUBIC && size.rank != 2) {
    return BSM_FAIL(BSM_UNSUPPORTED, "cubic resize of %d dimensions",
                    (int)size.rank);
  }
  if (!nearest && !bsm_network_is_floating(x->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s resize of %s",
                    bsm_resize_name(layer->p.resize.mode),
                    bsm_dtype_name(x->dtype));
  }
  for (int32_t i = 0; i < size.rank; i++) {
    int32_t axis = out.rank - size.rank + i;
    if (size.d[i] < 1 || out.d[axis] < 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "resize from dims %s to %s: sizes must be positive",
                      bsm_dims_str(x->dims), bsm_dims_str(size));
    }
    out.d[axis] = size.d[i];
  }
  return bsm_layer_set_output(layer, 0, x->dtype, out);
}

bsm_status bsm_infer_identity(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

bsm_status bsm_infer_shape(bsm_layer *layer) {
  bsm_dims dims = {1, {layer->inputs.items[0]->dims.rank}};
  return bsm_layer_set_output(layer, 0, BSM_DTYPE_INT64, dims);
}

bsm_status bsm_infer_constant(bsm_layer *layer) {
  const bsm_weights *w = &layer->p.constant.weights;
  int64_t count;
  if (!bsm_count_elements(w->shape, &count) || count != w->count ||
      (count > 0 && !w->values)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a constant with dims %s has %lld elements",
                    bsm_dims_str(w->shape), (long long)w->count);
  }
  return bsm_layer_set_output(layer, 0, w->dtype, w->shape);
}

bsm_status bsm_infer_fill(bsm_layer *layer) {
  return bsm_layer_set_output(layer, 0, layer->p.fill.dtype,
                              layer->p.fill.dims);
}

bsm_status bsm_infer_cast(bsm_layer *layer) {
  return bsm_layer_set_output(layer, 0, layer->p.cast.dtype,
                              layer->inputs.items[0]->dims);
}
