/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on rows of floats: reductions, softmax, normalisation, pooling,
 * packing. No alignment is needed; exactly the named elements are touched. */
#ifndef BSM_KERNELS_ROWS_H_
#define BSM_KERNELS_ROWS_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

/* y[r][i] = clamp(x[r][i] * scale + shift) for r < rows, i < n, rows being
 * x_row, y_row, .. elements apart. scale and shift are [r][i] with `along`,
 * else [r]; NULL: none. y may be x, or a scale or shift of the same place. */
typedef struct bsm_k_affine {
  const float *x, *scale, *shift;
  float *y;
  int64_t rows, n, x_row, y_row, scale_row, shift_row;
  int along, clamps;
  float lo, hi;
} bsm_k_affine;

/* y[r][i] = (x[r][i] - mean[i]) * factor[i] + shift[i], and that times
 * row_scale[r] plus row_shift[r] where these are not NULL, for r < rows, i < n,
 * rows being x_row and y_row elements apart. y may be x. */
typedef struct bsm_k_center {
  const float *x, *mean, *factor, *shift, *row_scale, *row_shift;
  float *y;
  int64_t rows, n, x_row, y_row;
} bsm_k_center;

#define BSM_K_TRANSPOSE 8

typedef struct bsm_k_rows {
  const char *name;

  /* to[i][0..15] = from[i * k_stride + c * n_stride] for c < n <= 16, zeros
   * from n on, for i < k: a panel of a packed matrix. */
  void (*pack_panel)(const float *from, int64_t k, int64_t n, int64_t k_stride,
                     int64_t n_stride, float *to);
  /* y[i][0..15] = x[i][0..15] * scale[i] for i < k: a panel. */
  void (*scale_panel)(const float *x, const float *scale, int64_t k, float *y);
  /* y[i][j] = x[j][i] for i < rows, j < columns; strides between rows. Fast for
   * whole squares of BSM_K_TRANSPOSE. */
  void (*transpose)(const float *x, int64_t x_stride, float *y,
                    int64_t y_stride, int64_t rows, int64_t columns);

  /* Sums run in several partial sums: accurate for a few thousand elements. */
  float (*sum)(const float *x, int64_t n);
  /* The sum of (x - mean)^2. */
  float (*sum_squares)(const float *x, int64_t n, float mean);
  /* NaN when there is one; n >= 1. */
  float (*max)(const float *x, int64_t n);
  float (*min)(const float *x, int64_t n);

  /* y = exp(x - max(x)) / sum, or its logarithm; n >= 1; y may be x. */
  void (*softmax)(const float *x, float *y, int64_t n);
  void (*log_softmax)(const float *x, float *y, int64_t n);
  /* The same for each of `columns` columns x[i * x_stride + c], i < n. */
  void (*softmax_columns)(const float *x, int64_t x_stride, float *y,
                          int64_t y_stride, int64_t n, int64_t columns);
  void (*log_softmax_columns)(const float *x, int64_t x_stride, float *y,
                              int64_t y_stride, int64_t n, int64_t columns);
  /* y = (x - mean) * factor [* scale] [+ bias]; y may be x. */
  void (*normalize)(const float *x, float *y, int64_t n, float mean,
                    float factor, const float *scale, const float *bias);
  /* y[i] = x[i] * scale[i] + shift[i]; y may be x. */
  void (*affine)(const float *x, float *y, int64_t n, const float *scale,
                 const float *shift);
  void (*affine_rows)(const bsm_k_affine *args);
  /* y = (x - mean) * factor + shift, each rounded; y may be x. */
  void (*center)(const float *x, float *y, int64_t n, float mean, float factor,
                 float shift);
  void (*center_columns)(const bsm_k_center *args);
  /* y[i] = sum of x[r * stride + i] over r < rows, in their order; of
   * (x - mean[i])^2; the greatest and the least, keeping NaN; rows > 0 */
  void (*sum_columns)(const float *x, int64_t stride, int64_t rows, float *y,
                      int64_t n);
  void (*square_columns)(const float *x, int64_t stride, int64_t rows,
                         const float *mean, float *y, int64_t n);
  /* Both sums of x - mean[i]: of it, and of its squares. */
  void (*moment_columns)(const float *x, int64_t stride, int64_t rows,
                         const float *mean, float *sum, float *squares,
                         int64_t n);
  void (*max_columns)(const float *x, int64_t stride, int64_t rows, float *y,
                      int64_t n);
  void (*min_columns)(const float *x, int64_t stride, int64_t rows, float *y,
                      int64_t n);
  /* y[i] = sum of x[offsets[k] + i] * weights[k] over k < count, count > 0 */
  void (*weighted)(float *y, const float *x, int64_t n, const int64_t *offsets,
                   const float *weights, int count);
} bsm_k_rows;

BSM_K_FAMILY(rows)

#endif /* BSM_KERNELS_ROWS_H_ */
