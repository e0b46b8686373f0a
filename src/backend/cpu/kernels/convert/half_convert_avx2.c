/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, eight elements at once, with F16C and AVX2. */
#include <immintrin.h>
#include <stdint.h>

/* A NaN, whose bits the instruction would keep in part, becomes the quiet one.
 */
static inline __m128i narrow_half8(__m256 x) {
  const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
  const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  const __m256 odd = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  x = _mm256_blendv_ps(x, _mm256_or_ps(sign, quiet), odd);
  return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* The upper halves of floats that are rounded to bfloat16. */
static inline __m256i round_bfloat8(__m256 x) {
  const __m256i u = _mm256_castps_si256(x);
  const __m256i even =
      _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff));
  const __m256i mask = _mm256_set1_epi32((int)0xffff0000);
  const __m256i r = _mm256_and_si256(_mm256_add_epi32(u, up), mask);
  const __m256 odd = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  return _mm256_blendv_epi8(r, _mm256_set1_epi32(0x7fc00000),
                            _mm256_castps_si256(odd));
}

static inline __m256 load_floats(const void *from) {
  return _mm256_loadu_ps(from);
}

static inline void widen_half_block(const void *from, void *to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)));
}
static inline void narrow_half_block(const void *from, void *to) {
  _mm_storeu_si128(to, narrow_half8(load_floats(from)));
}
static inline void round_half_block(const void *from, void *to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(narrow_half8(load_floats(from))));
}
static inline void widen_bfloat_block(const void *from, void *to) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
  _mm256_storeu_si256(to, _mm256_slli_epi32(wide, 16));
}
static inline void narrow_bfloat_block(const void *from, void *to) {
  const __m256i r = _mm256_srli_epi32(round_bfloat8(load_floats(from)), 16);
  _mm_storeu_si128(to, _mm_packus_epi32(_mm256_castsi256_si128(r),
                                        _mm256_extracti128_si256(r, 1)));
}
static inline void round_bfloat_block(const void *from, void *to) {
  _mm256_storeu_si256(to, round_bfloat8(load_floats(from)));
}

#define BSM_K_SUFFIX avx2
#define BLOCK 8
#include "backend/cpu/kernels/convert/half_convert_blocks.inl"
