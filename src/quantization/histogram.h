/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the values of a tensor: a histogram of fixed size, however
 * many values there are.
 *
 * Bins are equally wide and cover -reach to reach, a power of two. When a value
 * is beyond that, the reach doubles and bins are merged in pairs, so one pass
 * over the data is enough, and the order of the data changes nothing but where
 * a value at the edge of two bins is counted. At least half of the bins of the
 * sign with the greater values are in use. */
#ifndef BSM_QUANTIZATION_HISTOGRAM_H_
#define BSM_QUANTIZATION_HISTOGRAM_H_

#include <stdint.h>

#include "bessemer/status.h"

#define BSM_HISTOGRAM_BINS 4096 /* of each sign */

typedef struct bsm_histogram {
  double reach; /* 0: all values so far are zero */
  double least, greatest;
  uint64_t count, zeros; /* zeros are in no bin */
  uint64_t positive[BSM_HISTOGRAM_BINS], negative[BSM_HISTOGRAM_BINS];
} bsm_histogram;

/* A histogram of zeros is empty. BSM_INVALID_ARGUMENT: a value is NaN or
 * infinite, which it names by its index. */
BSM_NODISCARD bsm_status bsm_histogram_add(bsm_histogram *h,
                                           const float *values, uint64_t count);

/* The width of a bin. */
double bsm_histogram_width(const bsm_histogram *h);

#endif /* BSM_QUANTIZATION_HISTOGRAM_H_ */
