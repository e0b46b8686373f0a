/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of output rows, and convolution of groups of few maps.
 *
 * y[r][p][c] = clamp(sum over the taps t of w[t][c] * (the input pixel of t)[c]
 *                    + bias[c] + residual[r][p][c])
 *
 * Inputs are told by pointers to pixels, so that a pixel in the padding is a
 * pointer to zeros and rows may lie anywhere. The sum is taken in the order of
 * the taps, whichever kernel computes it. Touches exactly `channels` floats at
 * each pointer; nothing is aligned. y may be the residual.
 *
 * With groups of g = 2, 4 or 8 maps the product of a tap is a sum over the g
 * inputs of c's group: w[t][i][c] * (the input pixel of t)[c - c % g + i], in
 * the order of the taps and then of the maps. `channels` is in whole groups. */
#ifndef BSM_KERNELS_DEPTHWISE_F32_H_
#define BSM_KERNELS_DEPTHWISE_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

/* Output rows of one call, window sizes and strides of the square kernels. */
#define BSM_K_DEPTHWISE_MAX_ROWS 2
#define BSM_K_DEPTHWISE_WINDOWS 3 /* 3, 5, 7 */
#define BSM_K_DEPTHWISE_MAX_WINDOW 7
#define BSM_K_DEPTHWISE_MAX_STRIDE 2

typedef struct bsm_k_depthwise_args {
  /* Square windows: x[i][j], input row i and column j of the block: output
   * (r, p) reads rows r * stride .. and columns p * stride .. of it.
   * Any window: x[t][p], tap t of output p of one row. */
  const float *const *const *x;
  /* [taps][w_tap]; groups: [panels of 16 channels][taps][maps][16], panels
   * being w_panel apart */
  const float *w;
  int64_t w_tap, w_panel;
  int64_t maps; /* of a group */
  int64_t taps; /* any window */
  /* Any window: the taps of a line of it, where x[t + 1] is x[t] + 1 within
   * the line; else 1. */
  int64_t line;
  int64_t pixels, channels;
  float *y;
  int64_t y_row, y_pixel;
  const float *bias;     /* or NULL */
  const float *residual; /* or NULL */
  int64_t residual_row, residual_pixel;
  float lo, hi; /* -inf, inf: no clamp */
} bsm_k_depthwise_args;

typedef void bsm_k_depthwise_fn(const bsm_k_depthwise_args *args);

typedef struct bsm_k_depthwise {
  const char *name;
  bsm_k_depthwise_fn *any; /* one row */
  /* Groups: one row of any window; a square window of 3, [stride - 1]. */
  bsm_k_depthwise_fn *any_groups;
  bsm_k_depthwise_fn *square_groups[BSM_K_DEPTHWISE_MAX_STRIDE];
  /* [(window - 3) / 2][stride - 1][rows - 1]; NULL: fewer rows at once. */
  bsm_k_depthwise_fn
      *square[BSM_K_DEPTHWISE_WINDOWS][BSM_K_DEPTHWISE_MAX_STRIDE]
             [BSM_K_DEPTHWISE_MAX_ROWS];
} bsm_k_depthwise;

BSM_K_FAMILY(depthwise)

#endif /* BSM_KERNELS_DEPTHWISE_F32_H_ */
