/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX2: as with AVX-512, see int8_avx512.c. */
#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_avx2.h"

#define VECTOR __m256i
#define LANES 8
#define ROWS 4
#define PANELS 1
#define ZERO _mm256_setzero_si256()
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_int8_product_avx2
#define NAME "avx2_4x16"
#define DEPTHWISE NULL

VF_INLINE __m256i splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}
VF_INLINE __m256i dot(__m256i sums, __m256i a, __m256i b) {
  const __m256i a_even = _mm256_and_si256(a, _mm256_set1_epi16(0xff));
  const __m256i a_odd = _mm256_srli_epi16(a, 8);
  const __m256i b_even = _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8);
  const __m256i b_odd = _mm256_srai_epi16(b, 8);
  const __m256i even = _mm256_madd_epi16(a_even, b_even);
  const __m256i odd = _mm256_madd_epi16(a_odd, b_odd);
  return _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}

#include "backend/cpu/kernels/int8/int8_product.inl"
#include "backend/cpu/kernels/int8/int8_rows.inl"

extern const bsm_k_int8_product bsm_k_int8_product_avx2_vnni;

const bsm_k_int8 bsm_k_int8_avx2 = {.product = &bsm_k_int8_product_avx2,
                                    .vnni = &bsm_k_int8_product_avx2_vnni,
                                    .vnni_isa = BSM_K_ISA_AVX_VNNI,
                                    .depthwise = depthwise,
                                    .finish = finish,
                                    .quantize = quantize,
                                    .greatest = greatest,
                                    .widen = widen,
                                    .widen_signed = widen_signed,
                                    .narrow = narrow};
