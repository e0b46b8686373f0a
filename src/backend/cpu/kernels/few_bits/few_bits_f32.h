/* SPDX-License-Identifier: Apache-2.0 */
/* Products of floats with a matrix of few bits, whose numbers are made floats
 * on the way: for few rows, where reading the matrix takes the time.
 *
 * A panel has 16 columns. Its codes are
 *   8 bits  int8 [k][16], with one float scale for each column;
 *   4 bits  uint32 [k / 8 rounded up][16]: eight numbers of one column from -8
 *           to 7, the first in the lowest bits, zeros behind the end; with a
 *           bfloat16 scale for each column and each `group` of k.
 * A number of the matrix is a code times its scale. */
#ifndef BSM_KERNELS_FEW_BITS_F32_H_
#define BSM_KERNELS_FEW_BITS_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_FEW_BITS_PANEL 16
#define BSM_K_FEW_BITS_MAX_ROWS 4
#define BSM_K_FEW_BITS_CODES 8 /* of 4 bits in a word */

typedef struct bsm_k_few_bits_panel {
  const void *codes;
  const void *scales; /* float [16], or uint16 [groups][16] */
  int64_t k;
  int64_t group; /* of 4 bits: a multiple of 8 */
} bsm_k_few_bits_panel;

/* sums[r][c] = sum of a[r][k] times the matrix, which is read once. */
typedef struct bsm_k_few_bits_product {
  bsm_k_few_bits_panel b;
  const float *const *a; /* [rows][k] */
  int64_t rows;          /* 1 .. BSM_K_FEW_BITS_MAX_ROWS */
  float *sums;           /* [rows][16], the rows `stride` apart */
  int64_t stride;
} bsm_k_few_bits_product;

typedef struct bsm_k_few_bits {
  const char *name;
  void (*multiply_8)(const bsm_k_few_bits_product *args);
  void (*multiply_4)(const bsm_k_few_bits_product *args);
  /* Writes the panel as floats, [k][16]. */
  void (*widen_8)(const bsm_k_few_bits_panel *panel, float *to);
  void (*widen_4)(const bsm_k_few_bits_panel *panel, float *to);
} bsm_k_few_bits;

BSM_K_FAMILY(few_bits)

#endif /* BSM_KERNELS_FEW_BITS_F32_H_ */
