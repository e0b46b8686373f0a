/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest and the least of columns that lie beside each other, and where
 * they are: plain loops, one instance for all instruction sets. */
#ifndef BSM_KERNELS_BEST_H_
#define BSM_KERNELS_BEST_H_

#include <stdint.h>

/* best[c] = the greatest, or least, of x[i * stride + c] over i < rows, and
 * index[c] the first i where it is, for c < n. NaN is greater than all. */
void bsm_k_greatest(const float *x, int64_t stride, int32_t rows, int64_t n,
                    float *best, int32_t *index);
void bsm_k_least(const float *x, int64_t stride, int32_t rows, int64_t n,
                 float *best, int32_t *index);

#endif /* BSM_KERNELS_BEST_H_ */
