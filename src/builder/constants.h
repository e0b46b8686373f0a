/* SPDX-License-Identifier: Apache-2.0 */
/* How passes read constants: as numbers, whatever the floating dtype. */
#ifndef BSM_BUILDER_CONSTANTS_H_
#define BSM_BUILDER_CONSTANTS_H_

#include <float.h>
#include <math.h>

#include "aten/tensor.h"
#include "network/layer.h"

/* The constant behind a tensor, if it has that dtype and no conversion of it is
 * deferred; otherwise NULL. */
static inline const bsm_weights *bsm_constant_of(const bsm_itensor *t,
                                                 bsm_dtype dtype) {
  const bsm_layer *layer = t->producer;
  const bool here = layer && layer->kind == BSM_LAYER_CONSTANT &&
                    !layer->p.constant.deferred.cast;
  return here && layer->p.constant.weights.dtype == dtype
             ? &layer->p.constant.weights
             : NULL;
}

/* values[index] of weights of a floating dtype; NaN for any other. */
static inline double bsm_constant_number(const bsm_weights *w, int64_t index) {
  switch (w->dtype) {
    case BSM_DTYPE_FLOAT:
      return (double)((const float *)w->values)[index];
    case BSM_DTYPE_DOUBLE:
      return ((const double *)w->values)[index];
    case BSM_DTYPE_HALF:
      return (double)bsm_half_to_float(((const uint16_t *)w->values)[index]);
    case BSM_DTYPE_BFLOAT16:
      return (double)bsm_bfloat16_to_float(
          ((const uint16_t *)w->values)[index]);
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return (double)bsm_float8_to_float(w->dtype,
                                         ((const uint8_t *)w->values)[index]);
    default:
      return (double)NAN;
  }
}

static inline bool bsm_constant_is_floating_or_empty(const bsm_weights *w) {
  return w->count == 0 || bsm_dtype_is_floating(w->dtype);
}

/* The number for a map, of weights that are one for all maps or one for each;
 * `fallback` when there are none. */
static inline double bsm_constant_number_or(const bsm_weights *w, int64_t map,
                                            double fallback) {
  return w->count ? bsm_constant_number(w, w->count == 1 ? 0 : map) : fallback;
}

/* The greatest finite number of a dtype that kernels have. */
#define BSM_LARGEST_HALF 65504.0

static inline double bsm_largest_number(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF     ? BSM_LARGEST_HALF
         : dtype == BSM_DTYPE_DOUBLE ? DBL_MAX
                                     : (double)FLT_MAX;
}

/* The greatest magnitude that is no NaN. */
static inline double bsm_constant_greatest(const bsm_weights *w) {
  double greatest = 0;
  if (w->dtype == BSM_DTYPE_FLOAT) { /* most are, and they are many */
    const float *values = w->values;
    float most = 0;
    for (int64_t i = 0; i < w->count; i++) most = fmaxf(most, fabsf(values[i]));
    return (double)most;
  }
  for (int64_t i = 0; i < w->count; i++) {
    greatest = fmax(greatest, fabs(bsm_constant_number(w, i)));
  }
  return greatest;
}

/* What the sums of a column of a matrix product are multiplied by, ahead of the
 * bias. */
static inline double bsm_matrix_factor(const bsm_layer *product,
                                       int64_t column) {
  const double *factor = product->p.matrix_multiply.factor;
  return product->p.matrix_multiply.scale * (factor ? factor[column] : 1);
}

/* Sets values[index] of a floating dtype to `number`, rounded; for half and
 * bfloat16 it is rounded to float first. */
static inline void bsm_constant_store(bsm_dtype dtype, void *values,
                                      int64_t index, double number) {
  switch (dtype) {
    case BSM_DTYPE_DOUBLE:
      ((double *)values)[index] = number;
      break;
    case BSM_DTYPE_HALF:
      ((uint16_t *)values)[index] = bsm_float_to_half((float)number);
      break;
    case BSM_DTYPE_BFLOAT16:
      ((uint16_t *)values)[index] = bsm_float_to_bfloat16((float)number);
      break;
    default:
      ((float *)values)[index] = (float)number;
      break;
  }
}

#endif /* BSM_BUILDER_CONSTANTS_H_ */
