/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrators: from the histogram of a tensor, the range that is quantized.
 *
 * Each finds a threshold t for the magnitude of values; the range is what the
 * values take of -t to t, and always has zero in it.
 *
 *   min-max     no value is clipped
 *   percentile  so many of a hundred values are within the threshold
 *   entropy     the least divergence (Kullback, Leibler) between the values
 *               clipped at t, and the same in 128 steps: as TensorRT's
 *   mse         the least mean square error of 255 steps over the range */
#ifndef BSM_QUANTIZATION_CALIBRATORS_H_
#define BSM_QUANTIZATION_CALIBRATORS_H_

#include "bessemer/calibration.h"
#include "quantization/histogram.h"

typedef struct bsm_range {
  double low, high; /* low <= 0 <= high */
} bsm_range;

/* The range of a histogram that has values. Both ends are 0 when all values
 * are. `percentile`: for that method, above 0 and at most 100. */
bsm_range bsm_calibrate_range(const bsm_histogram *h,
                              bsm_calibration_method method, double percentile);

#endif /* BSM_QUANTIZATION_CALIBRATORS_H_ */
