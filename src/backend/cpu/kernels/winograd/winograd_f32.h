/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution with kernels of r x r, r = 3 or 5.
 *
 * An output tile of m x m pixels follows from n x n pixels of input, n = 4, 6
 * or 8 and m = n - r + 1:
 *   V = B^T d B   for each channel of the input tile d,
 *   M = sum over channels of V * U, for each of the n x n positions: products
 *       of matrices, added in the order of the channels,
 *   y = A^T M A   for each output channel.
 * The points of interpolation are 0, infinity and
 *   n = 4: +-1      n = 6: +-sqrt(1/2), +-sqrt(2)      n = 8: +-1, +-2, +-1/2
 * in this order, 0 first and infinity last; B^T has the coefficients of the
 * polynomials with the other points as roots, A^T the powers of the points.
 * What divides them is in U = G g G^T (cpu_winograd.c).
 *
 * A transform is of one tile, vectors along the channels. V and M are padded
 * to whole groups of 16 channels; nothing is aligned. */
#ifndef BSM_KERNELS_WINOGRAD_F32_H_
#define BSM_KERNELS_WINOGRAD_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

/* The largest n. */
#define BSM_K_WINOGRAD_MAX 8
/* V is written in whole groups of so many channels. */
#define BSM_K_WINOGRAD_PAD 16

typedef struct bsm_k_winograd_input {
  const float *const *pixels; /* [n * n], row by row, at the first channel */
  const float *const *next;   /* those of the tile after this one: fetched */
  int64_t channels;
  float *v;           /* of position 0 */
  int64_t v_position; /* floats from one position to the next */
} bsm_k_winograd_input;

typedef struct bsm_k_winograd_output {
  const float *m;     /* of position 0 */
  int64_t m_position; /* floats from one position to the next */
  int64_t channels;
  float *y;               /* the first pixel of the tile */
  int64_t y_row, y_pixel; /* floats */
  int64_t rows, pixels;   /* of the tile that exist: 1 .. m each */
  const float *bias;      /* or NULL */
  const float *residual;  /* or NULL; may be y */
  int64_t residual_row, residual_pixel;
  float lo, hi; /* the clamp after that, keeping NaN; -inf, inf: none */
} bsm_k_winograd_output;

/* The product of one position with one or two panels of U. Whole panels of M
 * are written. */
typedef struct bsm_k_winograd_product {
  const float *v; /* [tiles][channels] */
  int64_t v_row, tiles, channels;
  const float *u; /* [panels][channels][16] */
  float *m;       /* [tiles][16 panels] */
  int64_t m_row;
  const float *next; /* as much of U as this, that is used next */
} bsm_k_winograd_product;

typedef struct bsm_k_winograd {
  const char *name;
  int64_t rows;   /* tiles that a product has in registers: best a multiple */
  int64_t panels; /* that a product takes at most: 1 or 2 */
  void (*product[2])(const bsm_k_winograd_product *args); /* [panels - 1] */
  /* [n / 2 - 2] */
  void (*input[3])(const bsm_k_winograd_input *args);
  /* r = 3 and 5; the second has no n = 4. */
  void (*output[2][3])(const bsm_k_winograd_output *args);
} bsm_k_winograd;

BSM_K_FAMILY(winograd)

#endif /* BSM_KERNELS_WINOGRAD_F32_H_ */
