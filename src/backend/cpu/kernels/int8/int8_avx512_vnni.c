/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX-512's instruction for them. */
#include <immintrin.h>

#define VECTOR __m512i
#define LANES 16
#define ROWS 12
#define PANELS 2
#define SPLIT 0
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) _mm512_dpbusd_epi32(sums, a, b)
#define PRODUCT bsm_k_int8_product_avx512_vnni
#define NAME "avx512_vnni_12x32"
#define DEPTHWISE depthwise_by_fours
#define DOT_OF_TAPS(sums, a, b) _mm256_dpbusd_epi32(sums, a, b)
#define MASKED 0

static inline __attribute__((always_inline)) __m512i splat(const void *p) {
  int four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm512_set1_epi32(four);
}

extern const struct bsm_k_int8_product bsm_k_int8_product_avx512_vnni;

#include "backend/cpu/kernels/int8/int8_depthwise.inl"
#include "backend/cpu/kernels/int8/int8_product.inl"
