/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of attention besides the matrix products: what happens to a row of
 * scores between them, and both products for a few queries, where packing
 * would cost more than it saves.
 *
 * No alignment is needed; exactly the named elements are touched. */
#ifndef BSM_KERNELS_ATTENTION_F32_H_
#define BSM_KERNELS_ATTENTION_F32_H_

#include <stdint.h>

#include "backend/cpu/kernels/kernel_isa.h"

#define BSM_K_ATTENTION_BIASES 2

/* What changes a row of scores; the rows are contiguous. */
typedef struct bsm_k_attention_mask {
  const float *bias[BSM_K_ATTENTION_BIASES]; /* added, NULL: not */
  const uint8_t *keys; /* then `fill` where it is `hidden`; NULL: nowhere */
  uint8_t hidden;      /* 0 or 1; any other byte than 0 counts as 1 */
  float fill;
} bsm_k_attention_mask;

typedef struct bsm_k_attention {
  const char *name;
  /* Masks x[0 .. n-1] in place; the maximum of the results, NaN when there is
   * one; n >= 1. */
  float (*mask)(float *x, int64_t n, const bsm_k_attention_mask *mask);
  /* x = exp(x - max) in place, 0 where that is below 2^-126; returns the sum.
   * max >= x, not infinite. NaN stays. */
  float (*exponentials)(float *x, int64_t n, float max);
  /* x *= factor */
  void (*scale)(float *x, int64_t n, float factor);
  /* scores[j] = scale * (q . k[j]), with `e` elements in q, for j < n; row j of
   * k is at k + j * stride. */
  void (*dot)(const float *q, const float *k, int64_t stride, int64_t n,
              int64_t e, float scale, float *scores);
  /* y[c] = factor * sum over j < n of p[j] * v[j * stride + c], for c < columns
   */
  void (*blend)(const float *p, const float *v, int64_t stride, int64_t n,
                int64_t columns, float factor, float *y);
} bsm_k_attention;

BSM_K_FAMILY(attention)

#endif /* BSM_KERNELS_ATTENTION_F32_H_ */
