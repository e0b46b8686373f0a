/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of columns that lie beside each other, in double or int64: plain
 * loops that every compiler makes vectors of. One instance for all instruction
 * sets, so that all give the same bits. */
#ifndef BSM_KERNELS_LANES_H_
#define BSM_KERNELS_LANES_H_

#include <stdint.h>

/* Floating-point: the greatest and the least keep NaN. Integers wrap, and have
 * no BSM_K_LANES_SQUARES of differences. */
typedef enum bsm_k_lanes_op {
  BSM_K_LANES_SUM,
  BSM_K_LANES_PROD,
  BSM_K_LANES_MAX,
  BSM_K_LANES_MIN,
  BSM_K_LANES_ANY, /* 1 or 0: whether one is not 0 */
  BSM_K_LANES_ALL,
  BSM_K_LANES_ABS,    /* the sum of absolute values */
  BSM_K_LANES_SQUARES /* the sum of (x - mean)^2 */
} bsm_k_lanes_op;

/* total[i] op= x[r * stride + i] for r < rows, in their order, and i < n.
 * mean[i]: of BSM_K_LANES_SQUARES. */
void bsm_k_lanes_f32(bsm_k_lanes_op op, const float *x, int64_t stride,
                     int64_t rows, int64_t n, const double *mean,
                     double *total);
void bsm_k_lanes_f64(bsm_k_lanes_op op, const double *x, int64_t stride,
                     int64_t rows, int64_t n, const double *mean,
                     double *total);
void bsm_k_lanes_i64(bsm_k_lanes_op op, const int64_t *x, int64_t stride,
                     int64_t rows, int64_t n, int64_t *total);

/* BSM_K_LANES_SUM, which wraps around, _MAX or _MIN of n > 0 integers side by
 * side. Of truth values, where all but 0 are 1, the sum alone. */
int64_t bsm_k_row_u8(bsm_k_lanes_op op, const uint8_t *x, int64_t n);
int64_t bsm_k_row_i8(bsm_k_lanes_op op, const int8_t *x, int64_t n);
int64_t bsm_k_row_i16(bsm_k_lanes_op op, const int16_t *x, int64_t n);
int64_t bsm_k_row_i32(bsm_k_lanes_op op, const int32_t *x, int64_t n);
int64_t bsm_k_row_i64(bsm_k_lanes_op op, const int64_t *x, int64_t n);
int64_t bsm_k_row_truth(const uint8_t *x, int64_t n);

#endif /* BSM_KERNELS_LANES_H_ */
