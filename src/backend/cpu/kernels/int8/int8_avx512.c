/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with AVX-512: in words, of even and odd bytes apart, whose
 * products are summed in pairs without saturating. */
#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_avx512.h"

#define VECTOR __m512i
#define LANES 16
#define ROWS 8
#define PANELS 2
#define ZERO _mm512_setzero_si512()
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_int8_product_avx512
#define NAME "avx512_8x32"
#define DEPTHWISE NULL

VF_INLINE __m512i splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm512_set1_epi32(four);
}
VF_INLINE __m512i dot(__m512i sums, __m512i a, __m512i b) {
  const __m512i a_even = _mm512_and_si512(a, _mm512_set1_epi16(0xff));
  const __m512i a_odd = _mm512_srli_epi16(a, 8);
  const __m512i b_even = _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8);
  const __m512i b_odd = _mm512_srai_epi16(b, 8);
  const __m512i even = _mm512_madd_epi16(a_even, b_even);
  const __m512i odd = _mm512_madd_epi16(a_odd, b_odd);
  return _mm512_add_epi32(sums, _mm512_add_epi32(even, odd));
}

#include "backend/cpu/kernels/int8/int8_product.inl"
#include "backend/cpu/kernels/int8/int8_rows.inl"

extern const bsm_k_int8_product bsm_k_int8_product_avx512_vnni;

const bsm_k_int8 bsm_k_int8_avx512 = {.product = &bsm_k_int8_product_avx512,
                                      .vnni = &bsm_k_int8_product_avx512_vnni,
                                      .vnni_isa = BSM_K_ISA_AVX512_VNNI,
                                      .depthwise = depthwise,
                                      .finish = finish,
                                      .quantize = quantize,
                                      .greatest = greatest,
                                      .widen = widen,
                                      .widen_signed = widen_signed,
                                      .narrow = narrow};
