/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: the dispatch by kind and what the rules share.
 *
 * A rule reads a layer's inputs and parameters, checks them, and sets the
 * dtypes and dims of its outputs. All dims are static. */
#include "network/network_internal.h"

#include "base/checked.h"

typedef bsm_status (*infer_fn)(bsm_layer *layer);

/* `outputs` 0: the rule checks the number of outputs. */
static const struct {
  infer_fn infer;
  size_t min_inputs, max_inputs, outputs;
} rules[] = {
    [BSM_LAYER_CONVOLUTION] = {bsm_infer_convolution, 1, 3, 1},
    [BSM_LAYER_DECONVOLUTION] = {bsm_infer_deconvolution, 1, 2, 1},
    [BSM_LAYER_ACTIVATION] = {bsm_infer_activation, 1, 1, 1},
    [BSM_LAYER_POOLING] = {bsm_infer_pooling, 1, 1, 1},
    [BSM_LAYER_SCALE] = {bsm_infer_scale, 1, 1, 1},
    [BSM_LAYER_SOFTMAX] = {bsm_infer_softmax, 1, 1, 1},
    [BSM_LAYER_CONCATENATION] = {bsm_infer_concatenation, 1, SIZE_MAX, 1},
    [BSM_LAYER_ELEMENT_WISE] = {bsm_infer_element_wise, 2, 2, 1},
    [BSM_LAYER_UNARY] = {bsm_infer_unary, 1, 1, 1},
    [BSM_LAYER_SHUFFLE] = {bsm_infer_shuffle, 1, 1, 1},
    [BSM_LAYER_REDUCE] = {bsm_infer_reduce, 1, 1, 1},
    [BSM_LAYER_TOP_K] = {bsm_infer_top_k, 1, 1, 2},
    [BSM_LAYER_SCAN] = {bsm_infer_scan, 1, 1, 0},
    [BSM_LAYER_NON_ZERO] = {bsm_infer_non_zero, 1, 1, 1},
    [BSM_LAYER_NMS] = {bsm_infer_nms, 1, 1, 1},
    [BSM_LAYER_REGIONS] = {bsm_infer_regions, 2, 2, 0},
    [BSM_LAYER_SAMPLE] = {bsm_infer_sample, 2, 2, 1},
    [BSM_LAYER_GATHER] = {bsm_infer_gather, 2, 2, 1},
    [BSM_LAYER_SCATTER] = {bsm_infer_scatter, 3, 3, 1},
    [BSM_LAYER_MATRIX_MULTIPLY] = {bsm_infer_matrix_multiply, 2, SIZE_MAX, 1},
    [BSM_LAYER_CONSTANT] = {bsm_infer_constant, 0, 0, 1},
    [BSM_LAYER_IDENTITY] = {bsm_infer_identity, 1, 1, 1},
    [BSM_LAYER_SLICE] = {bsm_infer_slice, 1, 1, 1},
    [BSM_LAYER_SHAPE] = {bsm_infer_shape, 1, 1, 1},
    [BSM_LAYER_PARAMETRIC_RELU] = {bsm_infer_parametric_relu, 2, 2, 1},
    [BSM_LAYER_RESIZE] = {bsm_infer_resize, 1, 1, 1},
    [BSM_LAYER_SELECT] = {bsm_infer_select, 3, 3, 1},
    [BSM_LAYER_FILL] = {bsm_infer_fill, 0, 0, 1},
    [BSM_LAYER_CAST] = {bsm_infer_cast, 1, 1, 1},
    [BSM_LAYER_NORMALIZATION] = {bsm_infer_normalization, 1, 4, 0},
    [BSM_LAYER_EXPAND] = {bsm_infer_expand, 1, 1, 1},
    [BSM_LAYER_FUSED_ELEMENT_WISE] = {bsm_infer_fused_element_wise, 0, SIZE_MAX,
                                      1},
    [BSM_LAYER_RECURRENT] = {bsm_infer_recurrent, 2, 3, 0},
    [BSM_LAYER_ATEN_CALL] = {bsm_infer_aten_call, 0, SIZE_MAX, 0},
    [BSM_LAYER_PLUGIN] = {bsm_infer_plugin, 0, SIZE_MAX, 0},
    [BSM_LAYER_ATTENTION] = {bsm_infer_attention, 3, 6, 1},
    [BSM_LAYER_QUANTIZE] = {bsm_infer_quantize, 2, 3, 1},
    [BSM_LAYER_DEQUANTIZE] = {bsm_infer_dequantize, 2, 3, 1},
    [BSM_LAYER_INT8_CONVOLUTION] = {bsm_infer_int8_convolution, 1, 2, 1},
};

/* Kinds that take elements of any dtype: they move elements unchanged, or check
 * the dtype themselves. */
static bool takes_any_dtype(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_SLICE: /* except where it pads or reads backwards */
      for (int32_t i = 0; i < layer->p.slice.stride.rank; i++) {
        if (layer->p.slice.stride.d[i] < 0) return false;
      }
      return !layer->p.slice.has_mode;
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_SHAPE:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_ATEN_CALL:
    case BSM_LAYER_PLUGIN:
      return true;
    default:
      return false;
  }
}

/* What makes float8 of floats, multiplies it and makes floats of it. */
static bool takes_float8(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CAST:
    case BSM_LAYER_QUANTIZE:
    case BSM_LAYER_DEQUANTIZE:
    case BSM_LAYER_INT8_CONVOLUTION:
    case BSM_LAYER_FUSED_ELEMENT_WISE:
      return true;
    default:
      return false;
  }
}

static bool computes(const bsm_layer *layer, bsm_dtype dtype) {
  return bsm_network_computes(dtype) ||
         (dtype == BSM_DTYPE_FLOAT8_E4M3FN && takes_float8(layer));
}

static bsm_status check_dtypes(const bsm_layer *layer) {
  if (takes_any_dtype(layer)) return BSM_OK;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype dtype = layer->inputs.items[i]->dtype;
    if (!computes(layer, dtype)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "%s of %s",
                      bsm_layer_kind_name(layer->kind), bsm_dtype_name(dtype));
    }
  }
  const bsm_dtype to = layer->kind == BSM_LAYER_CAST   ? layer->p.cast.dtype
                       : layer->kind == BSM_LAYER_FILL ? layer->p.fill.dtype
                                                       : BSM_DTYPE_FLOAT;
  if (!computes(layer, to)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s to %s",
                    bsm_layer_kind_name(layer->kind), bsm_dtype_name(to));
  }
  return BSM_OK;
}

bsm_status bsm_layer_infer(bsm_layer *layer) {
  char label[BSM_LAYER_LABEL_SIZE];
  if ((unsigned)layer->kind >= sizeof(rules) / sizeof(rules[0]) ||
      !rules[layer->kind].infer) {
    return BSM_FAIL(BSM_INTERNAL, "no layer kind %d", (int)layer->kind);
  }
  if (layer->inputs.len < rules[layer->kind].min_inputs ||
      layer->inputs.len > rules[layer->kind].max_inputs ||
      (rules[layer->kind].outputs &&
       layer->outputs.len != rules[layer->kind].outputs)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "layer %s has %zu inputs and %zu outputs",
                    bsm_layer_label(layer, label, sizeof label),
                    layer->inputs.len, layer->outputs.len);
  }
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_dims dims = layer->inputs.items[i]->dims;
    for (int32_t d = 0; d < dims.rank; d++) {
      if (dims.d[d] < 0) {
        return BSM_FAIL(
            BSM_UNSUPPORTED, "layer %s: input %zu has a dynamic dimension: %s",
            bsm_layer_label(layer, label, sizeof label), i, bsm_dims_str(dims));
      }
    }
  }
  BSM_TRY_NOTE(check_dtypes(layer), "in layer %s",
               bsm_layer_label(layer, label, sizeof label));
  BSM_TRY_NOTE(rules[layer->kind].infer(layer), "in layer %s",
               bsm_layer_label(layer, label, sizeof label));
  return BSM_OK;
}

bool bsm_count_elements(bsm_dims dims, int64_t *out) {
  int64_t count = 1;
  bool empty = false;
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] < 0) return false;
    if (dims.d[i] == 0) {
      empty = true;
    } else if (!bsm_i64_mul(count, dims.d[i], &count)) {
      return false;
    }
  }
  *out = empty ? 0 : count;
  return true;
}

bsm_status bsm_layer_set_output(bsm_layer *layer, size_t index, bsm_dtype dtype,
                                bsm_dims dims) {
  int64_t count, bytes;
  if (dims.rank < 0 || dims.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "rank %d is above the limit of %d",
                    (int)dims.rank, BSM_MAX_RANK);
  }
  if (!bsm_count_elements(dims, &count) ||
      !bsm_i64_mul(count, (int64_t)bsm_dtype_size(dtype), &bytes)) {
    return BSM_FAIL(BSM_LIMIT, "dims %s are negative or too large",
                    bsm_dims_str(dims));
  }
  if (!bsm_network_dtype_ok(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dtype %s is not supported",
                    bsm_dtype_name(dtype));
  }
  bsm_itensor *tensor = layer->outputs.items[index];
  for (int32_t i = dims.rank; i < BSM_MAX_RANK; i++) dims.d[i] = 0;
  tensor->dtype = dtype;
  tensor->dims = dims;
  return BSM_OK;
}

bool bsm_same_dims(bsm_dims a, bsm_dims b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; i++) {
    if (a.d[i] != b.d[i]) return false;
  }
  return true;
}

bsm_dims bsm_dims_fill(int32_t rank, int64_t value) {
  bsm_dims dims = {0};
  dims.rank = rank;
  for (int32_t i = 0; i < rank && i < BSM_MAX_RANK; i++) dims.d[i] = value;
  return dims;
}

bsm_status bsm_broadcast_dims(bsm_dims a, bsm_dims b, bsm_dims *out) {
  bsm_dims dims = {0};
  dims.rank = a.rank > b.rank ? a.rank : b.rank;
  for (int32_t i = 1; i <= dims.rank; i++) {
    int64_t x = i <= a.rank ? a.d[a.rank - i] : 1;
    int64_t y = i <= b.rank ? b.d[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dims %s and %s do not broadcast together",
                      bsm_dims_str(a), bsm_dims_str(b));
    }
    dims.d[dims.rank - i] = x == 1 ? y : x;
  }
  *out = dims;
  return BSM_OK;
}

bool bsm_dims_broadcast_to(bsm_dims from, bsm_dims to) {
  if (from.rank > to.rank) return false;
  for (int32_t i = 1; i <= from.rank; i++) {
    int64_t x = from.d[from.rank - i];
    if (x != 1 && x != to.d[to.rank - i]) return false;
  }
  return true;
}

bool bsm_network_is_floating(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_FLOAT ||
         dtype == BSM_DTYPE_DOUBLE || dtype == BSM_DTYPE_BFLOAT16;
}

bool bsm_network_dtype_ok(bsm_dtype dtype) {
  return bsm_dtype_size(dtype) != 0;
}

bool bsm_network_computes(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
    case BSM_DTYPE_INT32:
    case BSM_DTYPE_INT64:
    case BSM_DTYPE_BOOL:
      return true;
    case BSM_DTYPE_COMPLEX_HALF:
    case BSM_DTYPE_COMPLEX_FLOAT:
    case BSM_DTYPE_COMPLEX_DOUBLE:
    case BSM_DTYPE_QINT8:
    case BSM_DTYPE_QUINT8:
    case BSM_DTYPE_QINT32:
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
    case BSM_DTYPE_UNDEFINED:
      return false;
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
    case BSM_DTYPE_BFLOAT16:
      return true;
  }
  return false;
}
