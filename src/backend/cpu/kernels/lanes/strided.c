/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over a line, a stride apart. */
#include "backend/cpu/kernels/lanes/strided.h"

#define GREATER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define SUM(a, b) ((a) + (b))
#define BLOCK 256 /* stays in the nearest cache over all taps */

/* A stride of two, the most common one, has loops of its own: they become
 * vectors. */
#define EACH(combine, stride)                             \
  for (int64_t i = 0; i < n; i++) y[i] = x[i * (stride)]; \
  for (int64_t t = 1; t < taps; t++) {                    \
    const float *from = x + t * step;                     \
    for (int64_t i = 0; i < n; i++) {                     \
      const float a = y[i], b = from[i * (stride)];       \
      y[i] = combine(a, b);                               \
    }                                                     \
  }

#define STRIDED(name, combine)                                          \
  static void name##_block(const float *restrict x, int64_t stride,     \
                           int64_t taps, int64_t step, int64_t n,       \
                           float *restrict y) {                         \
    if (stride == 2) {                                                  \
      EACH(combine, 2)                                                  \
    } else {                                                            \
      EACH(combine, stride)                                             \
    }                                                                   \
  }                                                                     \
  void name(const float *x, int64_t stride, int64_t taps, int64_t step, \
            int64_t n, float *y) {                                      \
    for (; n > 0; n -= BLOCK, x += BLOCK * stride, y += BLOCK) {        \
      name##_block(x, stride, taps, step, n < BLOCK ? n : BLOCK, y);    \
    }                                                                   \
  }
STRIDED(bsm_k_strided_max, GREATER)
STRIDED(bsm_k_strided_sum, SUM)

void bsm_k_scale(const float *x, const float *factor, int64_t n, float *y) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor[i];
}

void bsm_k_running_sums(const float *restrict x, int64_t n,
                        double *restrict total, float *restrict y) {
  for (int64_t i = 0; i < n; i++) {
    total[i] += (double)x[i];
    y[i] = (float)total[i];
  }
}
