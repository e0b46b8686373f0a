/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of several neighbouring output pixels in a row.
 *
 * y[p][c] = clamp(sum over window rows r and taps t of
 *                 w[r][t][c] * x[r][p * x_pixel + t * x_tap + c]
 *                 + bias[c] + residual[p][c])
 *
 * The caller leaves out window rows and taps that lie in the padding. Touches
 * exactly `channels` floats at each position; nothing is aligned. y may be the
 * residual. */
#ifndef BSM_KERNELS_DEPTHWISE_F32_H_
#define BSM_KERNELS_DEPTHWISE_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_DEPTHWISE_MAX_PIXELS 8

typedef struct bsm_k_depthwise_args {
  const float *const *x; /* [rows]: pixel 0, first tap, first channel */
  const float *const *w; /* [rows] */
  int64_t rows, taps, channels;
  int64_t x_pixel, x_tap, w_tap; /* floats */
  float *y;
  int64_t y_pixel;
  const float *bias;     /* or NULL */
  const float *residual; /* or NULL */
  int64_t residual_pixel;
  float lo, hi; /* -inf, inf: no clamp */
} bsm_k_depthwise_args;

typedef void bsm_k_depthwise_fn(const bsm_k_depthwise_args *args);

typedef struct bsm_k_depthwise {
  const char *name;
  /* [pixels - 1]: any taps. */
  bsm_k_depthwise_fn *any[BSM_K_DEPTHWISE_MAX_PIXELS];
  /* [pixels - 1]: taps = 3 or 5 and x_pixel = x_tap: inputs loaded once. */
  bsm_k_depthwise_fn *taps3[BSM_K_DEPTHWISE_MAX_PIXELS];
  bsm_k_depthwise_fn *taps5[BSM_K_DEPTHWISE_MAX_PIXELS];
} bsm_k_depthwise;

#define X(suffix, bits) extern const bsm_k_depthwise bsm_k_depthwise_##suffix;
BSM_K_ISAS(X)
#undef X

const bsm_k_depthwise *bsm_k_depthwise_select(uint32_t isa);

#endif /* BSM_KERNELS_DEPTHWISE_F32_H_ */
