/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplication micro-kernels: C tile = epilogue(A rows * B panels).
 *
 * One kernel serves matrix products and convolutions. A is given by row
 * pointers: K is a sequence of `taps` runs of `kc` contiguous floats, and for
 * each tap there is one pointer for each row of the tile. A plain product has
 * one tap; an indirect convolution has one for each kernel position, and
 * padding is a pointer to a row of zeros.
 *
 * B is packed in panels of 16 columns, each [K][16], the last one filled with
 * zeros. C and the residual are given by row pointers too, so a tile may end
 * anywhere. Nothing is aligned; A is read exactly, B in whole panel rows, C,
 * bias and residual up to column n.
 *
 * For each element of C the products are added in the order of K, starting
 * from zero, the bias with BSM_K_GEMM_BIAS_FIRST, or a partial sum with
 * BSM_K_GEMM_ACCUMULATE (not both); so neither the size of a tile
 * nor cutting K into several calls changes the bits. (The `thin` kernels have
 * an order of their own.) C may be the residual, element by element. */
#ifndef BSM_KERNELS_GEMM_F32_H_
#define BSM_KERNELS_GEMM_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_PANEL 16
#define BSM_K_HALF_PANEL 8
#define BSM_K_GEMM_MAX_ROWS 16
#define BSM_K_GEMM_MAX_THIN 4

enum {
  BSM_K_GEMM_ACCUMULATE = 1, /* start from `from` */
  BSM_K_GEMM_SCALE = 2,      /* then * scale */
  BSM_K_GEMM_BIAS = 4,       /* then + bias[column] */
  BSM_K_GEMM_RESIDUAL = 8,   /* then + residual */
  BSM_K_GEMM_CLAMP = 16,     /* then min(max(x, lo), hi), keeping NaN */
  BSM_K_GEMM_FETCH = 32, /* C and the residual come from memory: ask early */
  BSM_K_GEMM_BIAS_FIRST = 64 /* start from bias[column]: costs less than BIAS */
};

typedef struct bsm_k_gemm_args {
  const float *const *a; /* [taps][rows] */
  int64_t a_offset;      /* added to each pointer of a */
  int64_t taps, kc;
  const float *b;          /* first panel, at the first k */
  int64_t b_tap;           /* floats from one tap to the next, in a panel */
  const int64_t *tap_list; /* which tap of B each tap is; NULL: 0, 1, ... */
  int64_t b_panel;         /* floats from one panel to the next */
  float *const *c;         /* [rows], at the first column */
  int64_t c_offset;
  float *const *from; /* [rows]: partial sums, at column 0 of the tile */
  int64_t n;          /* columns of C to write, 1 .. columns of the kernel */
  const float *bias;
  const float *const *residual; /* [rows] */
  int64_t residual_offset;
  uint32_t flags;
  float scale, lo, hi;
  /* What will be read next, or NULL: from here on, `fetch_lines` lines of 16
   * floats are asked for in each `fetch_steps` (of the kernels) of each tap. */
  const float *fetch;
  int64_t fetch_lines;
  /* Rows of A that will be read next: `kc` floats of each, from ahead_offset
   * on, are asked for in each tap. */
  const float *const *ahead;
  int64_t ahead_rows, ahead_offset;
} bsm_k_gemm_args;

typedef void bsm_k_gemm_fn(const bsm_k_gemm_args *args);

typedef struct bsm_k_gemm {
  const char *name;
  int32_t max_rows;     /* of a tile */
  int32_t columns;      /* of a full tile: 16 or 32 */
  int32_t fetch_steps;  /* of K for each line that is fetched; 0: never */
  int32_t thin_columns; /* of a thin tile: 16 or 32 */
  /* [rows - 1]: tiles of `columns`, of one panel, and of its first half. */
  bsm_k_gemm_fn *full[BSM_K_GEMM_MAX_ROWS];
  bsm_k_gemm_fn *single[BSM_K_GEMM_MAX_ROWS];
  bsm_k_gemm_fn *half[BSM_K_GEMM_MAX_ROWS];
  /* [rows - 1]: K split over several accumulators: for few rows, where B is
   * read once. */
  bsm_k_gemm_fn *thin[BSM_K_GEMM_MAX_THIN];
} bsm_k_gemm;

BSM_K_FAMILY(gemm)

#endif /* BSM_KERNELS_GEMM_F32_H_ */
