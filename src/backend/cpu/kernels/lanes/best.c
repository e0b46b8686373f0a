/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest and the least of columns. */
#include "backend/cpu/kernels/lanes/best.h"

/* Whether what was found stays beside another one. */
#define STAYS_GREATEST(b, v) (((b) >= (v)) | ((b) != (b)))
#define STAYS_LEAST(b, v) (((b) <= (v)) | ((v) != (v)))

#define BEST(name, stays)                                                     \
  void name(const float *restrict x, int64_t stride, int32_t rows, int64_t n, \
            float *restrict best, int32_t *restrict index) {                  \
    for (int64_t c = 0; c < n; c++) {                                         \
      best[c] = x[c];                                                         \
      index[c] = 0;                                                           \
    }                                                                         \
    for (int32_t i = 1; i < rows; i++) {                                      \
      const float *row = x + i * stride;                                      \
      for (int64_t c = 0; c < n; c++) {                                       \
        const float b = best[c], v = row[c];                                  \
        const int stay = stays(b, v);                                         \
        best[c] = stay ? b : v;                                               \
        index[c] = stay ? index[c] : i;                                       \
      }                                                                       \
    }                                                                         \
  }
BEST(bsm_k_greatest, STAYS_GREATEST)
BEST(bsm_k_least, STAYS_LEAST)
