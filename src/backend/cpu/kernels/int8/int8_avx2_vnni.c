/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with the instruction for them in vectors of 32 bytes
 * (AVX-VNNI). */
#include <immintrin.h>

#define VECTOR __m256i
#define LANES 8
#define ROWS 6
#define PANELS 1
#define SPLIT 0
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) _mm256_dpbusd_avx_epi32(sums, a, b)
#define PRODUCT bsm_k_int8_product_avx2_vnni
#define NAME "avx2_vnni_6x16"
#define DEPTHWISE depthwise_by_fours
#define DOT_OF_TAPS(sums, a, b) _mm256_dpbusd_avx_epi32(sums, a, b)
#define MASKED 0

static inline __attribute__((always_inline)) __m256i splat(const void *p) {
  int four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}

extern const struct bsm_k_int8_product bsm_k_int8_product_avx2_vnni;

#include "backend/cpu/kernels/int8/int8_depthwise.inl"
#include "backend/cpu/kernels/int8/int8_product.inl"
