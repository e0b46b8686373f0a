/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest and the least of columns; keys of floats. */
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

void bsm_k_order_floats(const float *restrict x, int64_t n, uint32_t flip,
                        uint32_t *restrict keys) {
  const uint32_t sign = (uint32_t)1 << 31;
  for (int64_t i = 0; i < n; i++) {
    uint32_t u;
    __builtin_memcpy(&u, &x[i], sizeof(u));
    const int32_t size = (int32_t)(u & ~sign);
    uint32_t key = u ^ ((uint32_t)((int32_t)u >> 31) | sign);
    key = size == 0 ? sign : key;
    key = size > 0x7f800000 ? UINT32_MAX : key; /* NaN */
    keys[i] = key ^ flip;
  }
}

/* Signed, which is what SSE2 compares. */
void bsm_k_bounds(const uint32_t *keys, int64_t n, uint32_t *least,
                  uint32_t *most) {
  const uint32_t sign = (uint32_t)1 << 31;
  int32_t low = INT32_MAX, high = INT32_MIN;
  for (int64_t i = 0; i < n; i++) {
    const int32_t key = (int32_t)(keys[i] ^ sign);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  *least = (uint32_t)low ^ sign;
  *most = (uint32_t)high ^ sign;
}

int64_t bsm_k_find_less(const uint32_t *keys, int64_t from, int64_t n,
                        uint32_t limit) {
  const uint32_t sign = (uint32_t)1 << 31;
  const int32_t most = (int32_t)(limit ^ sign);
  for (; from + BSM_K_KEYS <= n; from += BSM_K_KEYS) {
    int32_t any = 0;
    for (int i = 0; i < BSM_K_KEYS; i++) {
      any |= (int32_t)(keys[from + i] ^ sign) < most;
    }
    if (any) break;
  }
  return from;
}
