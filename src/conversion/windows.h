/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows side by side, from which unfold, convolutions with kernels
 * computed at run time, and pooling with indices are made. */
#ifndef BSM_CONVERSION_WINDOWS_H_
#define BSM_CONVERSION_WINDOWS_H_

#include "conversion/emit.h"

/* Of the last `kernel.rank` dimensions; all have that rank. */
typedef struct bsm_windows {
  bsm_dims kernel, stride, padding, post_padding, dilation;
} bsm_windows;

/* The number of windows along each dimension of an input with dims `x`; fails
 * when a window does not fit even once. */
bool bsm_windows_count(bsm_conversion_ctx *ctx, const bsm_windows *windows,
                       bsm_dims x, bsm_dims *out);
/* [N, C, spatial...] -> [N, C, K, count...], where K numbers the places of a
 * window in row-major order; `fill` outside of the input. */
bsm_itensor *bsm_emit_windows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              const bsm_windows *windows, double fill);

#endif /* BSM_CONVERSION_WINDOWS_H_ */
