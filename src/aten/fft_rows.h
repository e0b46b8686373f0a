/* SPDX-License-Identifier: Apache-2.0 */
/* What Fourier transforms are made of, for several rows at once.
 *
 * A block holds one complex number of each of `width` rows: the real parts,
 * then the imaginary ones. Rows do not mix and nothing is contracted, so that a
 * row has the same bits whatever the width, and on every CPU. These are leaves:
 * no allocation, no failure. Blocks lie at BSM_FFT_ALIGNMENT. */
#ifndef BSM_ATEN_FFT_ROWS_H_
#define BSM_ATEN_FFT_ROWS_H_

#include "aten/element.h"

enum {
  BSM_FFT_LARGEST_RADIX = 31, /* longer prime factors go to Bluestein */
  BSM_FFT_MAX_FACTORS = 64,
  BSM_FFT_MAX_WIDTH = 8,
  BSM_FFT_ALIGNMENT = 64
};

typedef struct bsm_fft_stage {
  size_t radix, rest; /* rest: product of the radices that follow */
} bsm_fft_stage;

/* A transform of n points by mixed radix. */
typedef struct bsm_fft_mixed {
  size_t n;
  const bsm_c128 *roots; /* root_step apart: e^(-2 pi i k / n) */
  size_t root_step;
  bsm_fft_stage stages[BSM_FFT_MAX_FACTORS];
  int stage_count;
} bsm_fft_mixed;

/* Rows of floats or doubles in memory; distances are bytes. */
typedef struct bsm_fft_rows {
  char *row[BSM_FFT_MAX_WIDTH]; /* `count` rows; more may be read than these */
  int count;
  bool is_float;
  bool is_real;       /* no imaginary parts: zeros, or not wanted */
  bool swapped;       /* real and imaginary parts change places */
  int64_t step;       /* from one number to the next */
  int64_t imaginary;  /* from a real part to its imaginary part */
  double scale;       /* of what is stored */
  const char *window; /* multiplies what is loaded, in the dtype of the rows;
                         laid out as a row; NULL: none */
} bsm_fft_rows;

typedef struct bsm_fft_kernels {
  int width;
  /* n numbers of each row to blocks, and back. */
  void (*load)(const bsm_fft_rows *rows, size_t n, double *out);
  void (*store)(const bsm_fft_rows *rows, size_t n, const double *in);
  /* out[k] = sum of in[j] e^(-2 pi i j k / n). The inverse is that of swapped
   * numbers, swapped. */
  void (*transform)(const bsm_fft_mixed *plan, const double *in, double *out);
  /* out[k] = in[k] by[k]; either may be of swapped numbers. */
  void (*multiply)(const bsm_c128 *by, size_t n, const double *in, double *out,
                   bool swap_in, bool swap_out);
  /* The transform of h numbers z[j] = x[2 j] + i x[2 j + 1] to the first h + 1
   * of that of x, in place; roots[k] = e^(-pi i k / h). */
  void (*split)(const bsm_c128 *roots, size_t h, double *x);
  /* Back, times two, and swapped. */
  void (*join)(const bsm_c128 *roots, size_t h, double *x);
} bsm_fft_kernels;

extern const bsm_fft_kernels bsm_fft_kernels_scalar, bsm_fft_kernels_avx2,
    bsm_fft_kernels_avx512, bsm_fft_kernels_neon;

#endif /* BSM_ATEN_FFT_ROWS_H_ */
