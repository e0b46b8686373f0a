/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what DEQUANTIZE makes of constants. */
#include "builder/fold_dequantize.h"

#include "builder/constants.h"

static const bsm_weights *constant_of_bytes(const bsm_itensor *t) {
  const bsm_weights *w = bsm_constant_of(t, BSM_DTYPE_INT8);
  if (!w) w = bsm_constant_of(t, BSM_DTYPE_UINT8);
  return w ? w : bsm_constant_of(t, BSM_DTYPE_FLOAT8_E4M3FN);
}

static float number_of(const bsm_weights *q, int64_t i) {
  switch (q->dtype) {
    case BSM_DTYPE_INT8:
      return (float)((const int8_t *)q->values)[i];
    case BSM_DTYPE_UINT8:
      return (float)((const uint8_t *)q->values)[i];
    default:
      return (float)bsm_constant_number(q, i);
  }
}

/* How many elements apart the places of an axis are. */
static int64_t step_of(bsm_dims dims, int32_t axis) {
  int64_t step = 1;
  for (int32_t i = axis + 1; i < dims.rank; i++) step *= dims.d[i];
  return step;
}

bsm_status bsm_fold_dequantize(bsm_layer *layer, bool *folded) {
  const size_t inputs = layer->inputs.len;
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_weights *q = constant_of_bytes(x);
  const bsm_weights *scale =
      bsm_constant_of(layer->inputs.items[1], BSM_DTYPE_FLOAT);
  const bsm_weights *zero =
      inputs > 2 ? bsm_constant_of(layer->inputs.items[2], BSM_DTYPE_FLOAT)
                 : NULL;
  const int32_t axis = layer->p.dequantize.axis;
  *folded = q && scale && (zero || inputs < 3) &&
            layer->p.dequantize.dtype == BSM_DTYPE_FLOAT;
  if (!*folded) return BSM_OK;
  float *to = BSM_NEW_ARRAY(layer->net->arena, float, (size_t)q->count + 1);
  BSM_TRY_ALLOC(to);
  const int64_t step = axis < 0 ? 1 : step_of(x->dims, axis);
  const int64_t places = axis < 0 ? 1 : x->dims.d[axis];
  const float *scales = scale->values;
  const float *zeros = zero ? zero->values : NULL;
  for (int64_t i = 0; i < q->count; i++) {
    const int64_t at = i / step % places;
    to[i] = (number_of(q, i) - (zeros ? zeros[at] : 0.0f)) * scales[at];
  }
  layer->kind = BSM_LAYER_CONSTANT;
  layer->inputs.len = 0;
  layer->p.constant.deferred = (bsm_deferred){0};
  layer->p.constant.weights = (bsm_weights){.dtype = BSM_DTYPE_FLOAT,
                                            .values = to,
                                            .count = q->count,
                                            .shape = x->dims};
  return BSM_OK;
}
