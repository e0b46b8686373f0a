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

/* keys[i]: as bsm_order_of_float of x[i] (base/ordering.h), its bits flipped by
 * `flip`. */
void bsm_k_order_floats(const float *restrict x, int64_t n, uint32_t flip,
                        uint32_t *restrict keys);
void bsm_k_bounds(const uint32_t *keys, int64_t n, uint32_t *least,
                  uint32_t *most);
/* The first multiple of BSM_K_KEYS behind `from`, where that many keys have one
 * that is less than `limit`; where there is none, the first with fewer behind
 * it. `from` is such a multiple. */
#define BSM_K_KEYS 16
int64_t bsm_k_find_less(const uint32_t *keys, int64_t from, int64_t n,
                        uint32_t limit);

#endif /* BSM_KERNELS_BEST_H_ */
