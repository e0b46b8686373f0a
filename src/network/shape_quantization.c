/* SPDX-License-Identifier: Apache-2.0 */
/* The shape and dtype rules of layers of quantized values. */
#include <math.h>

#include "network/network_internal.h"

bool bsm_quantize_range(bsm_dtype dtype, double *least, double *greatest) {
  switch (dtype) {
    case BSM_DTYPE_INT8:
      *least = INT8_MIN;
      *greatest = INT8_MAX;
      return true;
    case BSM_DTYPE_UINT8:
      *least = 0;
      *greatest = UINT8_MAX;
      return true;
    case BSM_DTYPE_INT16:
      *least = INT16_MIN;
      *greatest = INT16_MAX;
      return true;
    case BSM_DTYPE_INT32:
      *least = INT32_MIN;
      *greatest = INT32_MAX;
      return true;
    case BSM_DTYPE_FLOAT8_E4M3FN:
      *least = -BSM_FLOAT8_MOST;
      *greatest = BSM_FLOAT8_MOST;
      return true;
    default:
      return false;
  }
}

bsm_dtype bsm_quantize_compute_dtype(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_DOUBLE ? dtype : BSM_DTYPE_FLOAT;
}

/* A scale or zero point has one element, or one for each place of `axis`. */
static bsm_status check_elements(const bsm_layer *layer, size_t input,
                                 int32_t axis) {
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_itensor *t = layer->inputs.items[input];
  const char *what = input == 1 ? "scale" : "zero point";
  int64_t count;
  if (axis < -1 || axis >= x->dims.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "%s: axis %d of dims %s",
                    bsm_layer_kind_name(layer->kind), (int)axis,
                    bsm_dims_str(x->dims));
  }
  const bool fits = axis < 0
                        ? bsm_count_elements(t->dims, &count) && count == 1
                        : t->dims.rank == 1 && t->dims.d[0] == x->dims.d[axis];
  if (fits) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s: a %s of dims %s for an input of dims %s, %s",
                  bsm_layer_kind_name(layer->kind), what, bsm_dims_str(t->dims),
                  bsm_dims_str(x->dims),
                  axis < 0 ? "which needs one element"
                           : "which needs one for each place of the axis");
}

static bsm_status check_parameters(const bsm_layer *layer, int32_t axis) {
  const bsm_dtype scale = layer->inputs.items[1]->dtype;
  if (!bsm_network_is_floating(scale)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s: a scale of %s",
                    bsm_layer_kind_name(layer->kind), bsm_dtype_name(scale));
  }
  for (size_t i = 1; i < layer->inputs.len; i++) {
    BSM_TRY(check_elements(layer, i, axis));
  }
  return BSM_OK;
}

/* Where there is a range, the limits are whole numbers in it. */
static bsm_status check_range(const bsm_layer *layer) {
  const double low = layer->p.quantize.least;
  const double high = layer->p.quantize.greatest;
  double least, greatest;
  const bool whole =
      bsm_quantize_range(layer->p.quantize.dtype, &least, &greatest);
  if (!whole || (low <= high && low >= least && high <= greatest &&
                 !(low < nearbyint(low) || low > nearbyint(low)) &&
                 !(high < nearbyint(high) || high > nearbyint(high)))) {
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "quantize: the range %g to %g of %s",
                  low, high, bsm_dtype_name(layer->p.quantize.dtype));
}

bsm_status bsm_infer_quantize(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_dtype dtype = layer->p.quantize.dtype;
  const bsm_dtype computes = bsm_quantize_compute_dtype(x->dtype);
  double least, greatest;
  if (!bsm_network_is_floating(x->dtype) ||
      (dtype != computes && !bsm_quantize_range(dtype, &least, &greatest))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "quantize of %s to %s",
                    bsm_dtype_name(x->dtype), bsm_dtype_name(dtype));
  }
  BSM_TRY(check_parameters(layer, layer->p.quantize.axis));
  if (layer->inputs.len == 3 && dtype == BSM_DTYPE_FLOAT8_E4M3FN) {
    return BSM_FAIL(BSM_UNSUPPORTED, "quantize to %s with a zero point",
                    bsm_dtype_name(dtype));
  }
  if (layer->inputs.len == 3 && layer->inputs.items[2]->dtype != computes) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "quantize: a zero point of %s: %s is needed",
                    bsm_dtype_name(layer->inputs.items[2]->dtype),
                    bsm_dtype_name(computes));
  }
  if ((unsigned)layer->p.quantize.nan > BSM_QUANTIZE_NAN_OR_HUGE_LEAST) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "quantize: treatment %d of NaN",
                    (int)layer->p.quantize.nan);
  }
  BSM_TRY(check_range(layer));
  return bsm_layer_set_output(layer, 0, dtype, x->dims);
}

bsm_status bsm_infer_dequantize(bsm_layer *layer) {
  const bsm_itensor *q = layer->inputs.items[0];
  const bsm_dtype dtype = layer->p.dequantize.dtype;
  if (q->dtype == BSM_DTYPE_BOOL || !bsm_network_is_floating(dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dequantize of %s to %s",
                    bsm_dtype_name(q->dtype), bsm_dtype_name(dtype));
  }
  BSM_TRY(check_parameters(layer, layer->p.dequantize.axis));
  if (layer->inputs.len == 3) {
    const bsm_dtype zero = layer->inputs.items[2]->dtype;
    if (zero == BSM_DTYPE_BOOL || (bsm_network_is_floating(zero) &&
                                   zero != layer->inputs.items[1]->dtype)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "dequantize: a zero point of %s for a scale of %s",
                      bsm_dtype_name(zero),
                      bsm_dtype_name(layer->inputs.items[1]->dtype));
    }
  }
  return bsm_layer_set_output(layer, 0, dtype, q->dims);
}

/* The target that has made the layer knows the dims. */
bsm_status bsm_infer_int8_convolution(bsm_layer *layer) {
  const bool has_residual = layer->p.int8_convolution.epilogue.has_residual;
  const bsm_dims dims = layer->p.int8_convolution.dims;
  const bsm_dtype x = layer->inputs.items[0]->dtype;
  if ((x != BSM_DTYPE_UINT8 && x != BSM_DTYPE_FLOAT8_E4M3FN) ||
      layer->inputs.len != (has_residual ? 2u : 1u) ||
      (has_residual && !bsm_same_dims(layer->inputs.items[1]->dims, dims))) {
    return BSM_FAIL(BSM_INTERNAL, "int8_convolution of %s and %zu inputs",
                    bsm_dtype_name(x), layer->inputs.len);
  }
  return bsm_layer_set_output(
      layer, 0,
      layer->p.int8_convolution.quantizes ? x : layer->p.int8_convolution.dtype,
      dims);
}
