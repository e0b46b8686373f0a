/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution of bytes in whole numbers, F(4 x 4, 3 x 3): exact.
 *
 * As in winograd_f32.h, but the points are 0, +-1, +-2 and infinity, and what
 * divides G is left out: its rows are times 4, 6, 6, 24, 24 and 1. Then
 *   V = B^T d B       is at most 100 * 255,
 *   U = G' g G'^T     at most 49 * 128, both int16;
 *   576 y = A' M A'^T  where columns of A' make up for the rows of G'.
 * Sums are modulo 2^32, where 9 has an inverse; 64 y has to fit: sums y are in
 * [-2^25, 2^25). */
#ifndef BSM_KERNELS_INT8_WINOGRAD_H_
#define BSM_KERNELS_INT8_WINOGRAD_H_

#include <stdint.h>

#define BSM_K_INT8_WINOGRAD_IN 6  /* pixels of a side of a tile of input */
#define BSM_K_INT8_WINOGRAD_OUT 4 /* and of output */
#define BSM_K_INT8_WINOGRAD_POSITIONS 36
#define BSM_K_INT8_WINOGRAD_LEAST 16 /* channels of input */
#define BSM_K_INT8_WINOGRAD_LIMIT (INT32_C(1) << 25)

typedef struct bsm_k_int8_winograd_input {
  const uint8_t *const *pixels; /* [36], row by row, at the first channel */
  int64_t channels;             /* at least BSM_K_INT8_WINOGRAD_LEAST */
  int16_t *v;                   /* of position 0 */
  int64_t v_position;           /* elements from one position to the next */
} bsm_k_int8_winograd_input;

/* The product of one position with a panel of 16 columns of U. */
typedef struct bsm_k_int8_winograd_product {
  const int16_t *v; /* [tiles][2 pairs] */
  int64_t v_row, tiles, pairs;
  const int16_t *u; /* [pairs][16][2] */
  int32_t *m;       /* [tiles][16] */
  int64_t m_row;
} bsm_k_int8_winograd_product;

/* Sums of 32 columns of the pixels of a tile that exist. */
typedef struct bsm_k_int8_winograd_output {
  const int32_t *m; /* of position 0 */
  int64_t m_position;
  const int32_t *offset; /* [32], added to sums */
  int64_t rows, pixels;  /* 1 .. 4 each */
  int32_t *sums;         /* [rows][pixels][32] */
} bsm_k_int8_winograd_output;

typedef struct bsm_k_int8_winograd {
  const char *name;
  void (*input)(const bsm_k_int8_winograd_input *args);
  void (*product)(const bsm_k_int8_winograd_product *args);
  void (*output)(const bsm_k_int8_winograd_output *args);
} bsm_k_int8_winograd;

#endif /* BSM_KERNELS_INT8_WINOGRAD_H_ */
