/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over a line, a stride apart, factors and sums of its elements: plain
 * loops, one instance for all instruction sets. */
#ifndef BSM_KERNELS_STRIDED_H_
#define BSM_KERNELS_STRIDED_H_

#include <stdint.h>

/* y[i] = the greatest, keeping NaN, or the sum of x[i * stride + t * step] over
 * t < taps, in their order, for i < n. */
void bsm_k_strided_max(const float *x, int64_t stride, int64_t taps,
                       int64_t step, int64_t n, float *y);
void bsm_k_strided_sum(const float *x, int64_t stride, int64_t taps,
                       int64_t step, int64_t n, float *y);
/* y[i] = x[i] * factor[i] */
void bsm_k_scale(const float *x, const float *factor, int64_t n, float *y);
/* total[i] += x[i], which is y[i] */
void bsm_k_running_sums(const float *x, int64_t n, double *total, float *y);

#endif /* BSM_KERNELS_STRIDED_H_ */
