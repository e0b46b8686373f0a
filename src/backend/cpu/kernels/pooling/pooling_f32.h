/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of channels-last images of floats, and the maximum of bfloat16: a run
 * of outputs whose windows have the same size. No alignment is needed; exactly
 * the named elements are touched. */
#ifndef BSM_KERNELS_POOLING_F32_H_
#define BSM_KERNELS_POOLING_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

/* Output i < pixels, channel c < channels:
 *   y[i * y_pixel + c] = over a < taps[0], b < taps[1], d < taps[2] of
 *     x[i * x_pixel + a * step[0] + b * step[1] + d * step[2] + c]
 * the maximum, keeping NaN, or `factor` times the sum. taps >= 1. */
typedef struct bsm_k_pooling_args {
  const void *x; /* float, or uint16_t */
  void *y;
  int64_t pixels, channels;
  int64_t x_pixel, y_pixel;
  int64_t taps[3], step[3];
  float factor;
} bsm_k_pooling_args;

typedef struct bsm_k_pooling {
  const char *name;
  void (*max)(const bsm_k_pooling_args *args);
  void (*average)(const bsm_k_pooling_args *args);
  void (*max_bfloat)(const bsm_k_pooling_args *args);
} bsm_k_pooling;

BSM_K_FAMILY(pooling)

#endif /* BSM_KERNELS_POOLING_F32_H_ */
