/* SPDX-License-Identifier: Apache-2.0 */
/* How far two arrays of equally many elements are from each other. */
#ifndef BSM_TOOLS_TENSOR_COMPARE_H_
#define BSM_TOOLS_TENSOR_COMPARE_H_

#include <stdbool.h>

#include "bessemer/types.h"

typedef struct bsm_array_stats {
  double least, greatest; /* of finite elements; 0 when there are none */
  double mean, rms;       /* of finite elements */
  size_t nans, infinities;
} bsm_array_stats;

#define BSM_VALUE_BINS 32
/* Bin 0: equal; then by decades of |a - b| / scale, below 1e-9 to above 1. */
#define BSM_ERROR_BINS 12

typedef struct bsm_comparison {
  size_t count; /* of elements */
  bsm_array_stats expected, actual;
  /* The largest |difference|, and that divided by the largest |expected|
   * element. Infinite when one has a NaN or an infinity where the other has
   * not. */
  double max_error, relative;
  double rms_error; /* the root mean square, divided by that of expected */
  size_t worst;     /* the element with the largest difference */
  double worst_expected, worst_actual;
  size_t differing; /* elements that are not equal */
  /* Histograms of the values, over the range of both, and of the errors. */
  double bins_from, bins_to;
  size_t expected_bins[BSM_VALUE_BINS], actual_bins[BSM_VALUE_BINS];
  size_t error_bins[BSM_ERROR_BINS];
} bsm_comparison;

void bsm_compare_arrays(const bsm_array *expected, const bsm_array *actual,
                        size_t count, bsm_comparison *out);

#endif /* BSM_TOOLS_TENSOR_COMPARE_H_ */
