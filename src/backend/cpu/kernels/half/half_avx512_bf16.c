/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 with AVX-512's instruction for pairs of them. */
#include <immintrin.h>

#define VECTOR __m512
#define LANES 16
#define ROWS 12
#define PANELS 2
#define SPLIT 0
#define ZERO _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_half_dot_avx512_bf16
#define NAME "avx512_bf16_12x32"
#define DEPTHWISE NULL

static inline __attribute__((always_inline)) __m512 splat(const void *p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof(pair));
  return _mm512_castsi512_ps(_mm512_set1_epi32(pair));
}

static inline __attribute__((always_inline)) __m512 dot(__m512 sums, __m512 a,
                                                        __m512 b) {
  return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
}

extern const struct bsm_k_int8_product bsm_k_half_dot_avx512_bf16;

#include "backend/cpu/kernels/int8/int8_product.inl"
