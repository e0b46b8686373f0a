/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, sixteen elements at once, with AVX-512. What is left of a
 * row is masked. */
#include <immintrin.h>

#include "backend/cpu/kernels/convert/half_convert.h"

/* A NaN, whose bits the instruction would keep in part, becomes the quiet one.
 */
static inline __m256i narrow_half16(__m512 x) {
  const __mmask16 odd = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_set1_epi32(0x7fc00000);
  const __m512i sign = _mm512_set1_epi32((int)0x80000000);
  /* The sign of x, the rest of the quiet NaN. */
  const __m512i bits = _mm512_castps_si512(x);
  x = _mm512_castsi512_ps(
      _mm512_mask_ternarylogic_epi32(bits, odd, sign, quiet, 0xea));
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* The upper halves of floats that are rounded to bfloat16. */
static inline __m512i upper_half16(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i even =
      _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff));
  const __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, up), 16);
  return _mm512_mask_mov_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                               _mm512_set1_epi32(0x7fc0));
}

static inline __m512 widen_half16(__m256i h) {
  return _mm512_cvtph_ps(h);
}
static inline __m512 widen_bfloat16(__m256i h) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline __m256i narrow_bfloat16(__m512 x) {
  return _mm512_cvtepi32_epi16(upper_half16(x));
}
static inline __m512 round_half16(__m512 x) {
  return _mm512_cvtph_ps(narrow_half16(x));
}
static inline __m512 round_bfloat16(__m512 x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(upper_half16(x), 16));
}

#define LOAD_float(k, p) _mm512_maskz_loadu_ps(k, p)
#define LOAD_uint16_t(k, p) _mm256_maskz_loadu_epi16(k, p)
#define STORE_float(p, k, v) _mm512_mask_storeu_ps(p, k, v)
#define STORE_uint16_t(p, k, v) _mm256_mask_storeu_epi16(p, k, v)
#define EACH(name, from_type, to_type)                                     \
  static void name(const from_type *from, int64_t n, to_type *to) {        \
    for (int64_t i = 0; i < n; i += 16) {                                  \
      const __mmask16 k =                                                  \
          (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);         \
      STORE_##to_type(to + i, k, name##16(LOAD_##from_type(k, from + i))); \
    }                                                                      \
  }
EACH(widen_half, uint16_t, float)
EACH(narrow_half, float, uint16_t)
EACH(round_half, float, float)
EACH(widen_bfloat, uint16_t, float)
EACH(narrow_bfloat, float, uint16_t)
EACH(round_bfloat, float, float)

const bsm_k_convert bsm_k_convert_avx512 = {widen_half,  widen_bfloat,
                                            narrow_half, narrow_bfloat,
                                            round_half,  round_bfloat};
