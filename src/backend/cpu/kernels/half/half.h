/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16, whose sums are floats, and what is made of the
 * sums: half or bfloat16 again.
 *
 * B is packed in panels of 16 columns, in pairs along K: [K / 2][16][2], the
 * order in which one instruction multiplies and adds them. Where there is no
 * such instruction a panel is widened, and multiplied by the kernels of
 * gemm_f32.h. */
#ifndef BSM_KERNELS_HALF_H_
#define BSM_KERNELS_HALF_H_

#include <stdbool.h>
#include <stdint.h>

#include "backend/cpu/kernels/int8/int8.h"

/* Tiles and their sums are those of products of bytes. */
#define BSM_K_HALF_MAX_ROWS BSM_K_INT8_ROWS
#define BSM_K_HALF_MAX_COLUMNS BSM_K_INT8_MAX_COLUMNS
#define BSM_K_HALF_TILE_ROWS 32 /* of bsm_k_half_rows, two panels at a time */
#define BSM_K_HALF_MOST_ROWS 64
#define BSM_K_HALF_PAIR BSM_K_INT8_DEPTH /* bytes */

typedef enum bsm_k_half_type {
  BSM_K_HALF_F16 = 0,
  BSM_K_HALF_BF16 = 1
} bsm_k_half_type;

/* Sums of rows that lie evenly apart, by all panels of a block. A row consists
 * of `taps` runs of elements, which begin at a + offset[tap] and are as far
 * apart in all rows. */
typedef struct bsm_k_half_rows {
  const uint8_t *a;
  int64_t a_stride; /* bytes */
  int64_t rows;     /* 1 .. BSM_K_HALF_TILE_ROWS, or with one panel at a time
                       BSM_K_HALF_MOST_ROWS */
  int64_t taps;
  const int64_t *offset; /* bytes; NULL: 0 */
  int64_t groups;        /* pairs along K, of a tap */
  const int8_t *b;       /* first panel */
  int64_t b_panel;       /* bytes from one panel to the next */
  int64_t panels;
  float *sums;         /* [rows][16 * panels] */
  int64_t sums_stride; /* floats */
} bsm_k_half_rows;

typedef void bsm_k_half_rows_fn(const bsm_k_half_rows *args);

/* v = sum * scale + bias[c], each rounded; plus the residual; then
 * min(max(v, lo), hi), keeping NaN. It is left in `sums`, and with `y` it is
 * rounded and stored. Columns from n on are not touched but for sums and bias,
 * which have whole panels. */
typedef struct bsm_k_half_finish {
  float *sums;
  int64_t sums_stride;
  int64_t rows, n;
  float scale;
  const float *bias;               /* NULL: none */
  int64_t column;                  /* added to the pointers to rows */
  const uint16_t *const *residual; /* [rows]; NULL: none */
  float lo, hi;
  uint16_t *const *y; /* [rows]; NULL: not stored */
} bsm_k_half_finish;

typedef void bsm_k_half_finish_fn(const bsm_k_half_finish *args);

/* By bsm_k_half_type. */
typedef struct bsm_k_half {
  /* to[2 k + i][16] = pair i of b[k][16] for k < pairs. */
  void (*widen_panel[2])(const uint16_t *b, int64_t pairs, float *to);
  bsm_k_half_finish_fn *finish[2];
  /* With instructions that multiply and add pairs of bfloat16, which need
   * `dot_isa`: its tile has pairs where that of bytes has groups of 4, and sums
   * that are floats. Denormals are zeros to it. NULL: there is none. */
  const bsm_k_int8_product *dot;
  bsm_k_half_finish_fn *const *dot_finish; /* of bfloat16, in the same way */
  uint32_t dot_isa;
  /* The same with tiles that are registers, which need `rows_isa`. */
  bsm_k_half_rows_fn *const *rows;
  uint32_t rows_isa;
} bsm_k_half;

BSM_K_FAMILY(half)

#endif /* BSM_KERNELS_HALF_H_ */
