/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of a few input maps that lie in planes: one row of outputs.
 *
 * y[p][n] = clamp(sum over rows i, maps m, taps t of
 *                 x[i * x_row + m * x_map + t * x_tap + p * stride]
 *                 * w[panel of n][((i * taps + t) * maps + m) * 16 + n % 16]
 *                 + bias[n])
 *
 * The sum is taken in the order of rows, maps, taps for every element, so that
 * tiles may end anywhere. The stride is 1, 2 or 4. x is read exactly, w in
 * whole rows of a panel, y written up to column n; nothing is aligned. */
#ifndef BSM_KERNELS_PLANAR_F32_H_
#define BSM_KERNELS_PLANAR_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_PLANAR_PANEL 16
#define BSM_K_PLANAR_STRIDES 3 /* 1, 2, 4 */

typedef struct bsm_k_planar_args {
  const float *x;
  int64_t x_row, x_map, x_tap;
  int64_t rows, maps, taps;
  const float *w;
  int64_t w_panel; /* floats from one panel to the next */
  float *y;
  int64_t y_pixel;
  int64_t pixels, columns;
  const float *bias; /* or NULL */
  float lo, hi;      /* -inf, inf: no clamp */
  int fetches;       /* y is in no near cache: ask for it early */
} bsm_k_planar_args;

typedef struct bsm_k_planar {
  const char *name;
  void (*row[BSM_K_PLANAR_STRIDES])(const bsm_k_planar_args *args);
} bsm_k_planar;

BSM_K_FAMILY(planar)

#endif /* BSM_KERNELS_PLANAR_F32_H_ */
