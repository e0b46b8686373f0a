/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of the kernels, with AVX2, FMA and F16C. See
 * simd_avx512.h. */
#ifndef BSM_KERNELS_SIMD_AVX2_H_
#define BSM_KERNELS_SIMD_AVX2_H_

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VF_W 8
#define VF_INLINE static inline __attribute__((always_inline, unused))

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

VF_INLINE __m256i vf_first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
VF_INLINE vf vf_load(const float *p) {
  return _mm256_loadu_ps(p);
}
VF_INLINE void vf_store(float *p, vf a) {
  _mm256_storeu_ps(p, a);
}
/* No lane is less than a number below 0, all are less than one from VF_W on. */
typedef __m256i vp;
#define VF_PARTS_COST 1
VF_INLINE vp vp_first(int64_t n) {
  return vf_first(n < VF_W ? n : VF_W);
}
VF_INLINE vf vf_load_p(const float *p, vp part) {
  return _mm256_maskload_ps(p, part);
}
VF_INLINE void vf_store_p(float *p, vf a, vp part) {
  _mm256_maskstore_ps(p, part, a);
}
VF_INLINE vf vf_load_n(const float *p, int64_t n) {
  return _mm256_maskload_ps(p, vf_first(n));
}
VF_INLINE void vf_store_n(float *p, vf a, int64_t n) {
  _mm256_maskstore_ps(p, vf_first(n), a);
}
VF_INLINE void vf_store_from(float *p, vf a, int64_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i before = _mm256_set1_epi32((int32_t)n - 1);
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(lanes, before), a);
}
VF_INLINE vf vf_keep(vf a) {
  __asm__("" : "+x"(a));
  return a;
}
VF_INLINE vf vf_set(float x) {
  return _mm256_set1_ps(x);
}
VF_INLINE vf vf_zero(void) {
  return _mm256_setzero_ps();
}
VF_INLINE vf vf_add(vf a, vf b) {
  return _mm256_add_ps(a, b);
}
VF_INLINE vf vf_sub(vf a, vf b) {
  return _mm256_sub_ps(a, b);
}
VF_INLINE vf vf_mul(vf a, vf b) {
  return _mm256_mul_ps(a, b);
}
VF_INLINE vf vf_div(vf a, vf b) {
  return _mm256_div_ps(a, b);
}
VF_INLINE vf vf_fma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
VF_INLINE vf vf_fnma(vf a, vf b, vf c) {
  return _mm256_fnmadd_ps(a, b, c);
}
VF_INLINE vf vf_max(vf a, vf b) {
  return _mm256_max_ps(a, b);
}
VF_INLINE vf vf_min(vf a, vf b) {
  return _mm256_min_ps(a, b);
}
VF_INLINE vf vf_sqrt(vf a) {
  return _mm256_sqrt_ps(a);
}
VF_INLINE vf vf_abs(vf a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
VF_INLINE vf vf_neg(vf a) {
  return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f));
}
VF_INLINE vf vf_copysign(vf magnitude, vf sign) {
  const vf bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude),
                      _mm256_and_ps(bit, sign));
}
VF_INLINE vf vf_round(vf a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vf vf_floor(vf a) {
  return _mm256_floor_ps(a);
}
VF_INLINE vf vf_ceil(vf a) {
  return _mm256_ceil_ps(a);
}
VF_INLINE vf vf_trunc(vf a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
VF_INLINE vm vf_lt(vf a, vf b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
VF_INLINE vm vf_le(vf a, vf b) {
  return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
VF_INLINE vm vf_gt(vf a, vf b) {
  return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
VF_INLINE vm vf_ge(vf a, vf b) {
  return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
}
VF_INLINE vm vf_eq(vf a, vf b) {
  return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
VF_INLINE vm vf_is_nan(vf a) {
  return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
VF_INLINE bool vm_all(vm m) {
  return _mm256_movemask_ps(m) == 255;
}
VF_INLINE vf vf_select(vm m, vf yes, vf no) {
  return _mm256_blendv_ps(no, yes, m);
}
VF_INLINE void vm_store_bytes(uint8_t *p, vm m) {
  const __m256i v = _mm256_castps_si256(m);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v),
                                        _mm256_extracti128_si256(v, 1));
  const __m128i bytes = _mm_packs_epi16(words, words);
  _mm_storel_epi64((__m128i *)(void *)p,
                   _mm_and_si128(bytes, _mm_set1_epi8(1)));
}
VF_INLINE vm vm_load_bytes(const uint8_t *p) {
  const __m256i v =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(v, _mm256_setzero_si256()));
}
VF_INLINE vi vf_to_int(vf a) {
  return _mm256_cvtps_epi32(a);
}
VF_INLINE vf vi_to_float(vi a) {
  return _mm256_cvtepi32_ps(a);
}
VF_INLINE vi vf_bits(vf a) {
  return _mm256_castps_si256(a);
}
VF_INLINE vf vi_as_float(vi a) {
  return _mm256_castsi256_ps(a);
}
VF_INLINE vi vi_load(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
VF_INLINE void vi_store(int32_t *p, vi a) {
  _mm256_storeu_si256((__m256i *)(void *)p, a);
}
VF_INLINE vi vi_load_bytes(const uint8_t *p) {
  return _mm256_cvtepu8_epi32(
      _mm_loadl_epi64((const __m128i *)(const void *)p));
}
VF_INLINE vi vi_load_signed(const int8_t *p) {
  return _mm256_cvtepi8_epi32(
      _mm_loadl_epi64((const __m128i *)(const void *)p));
}
VF_INLINE void vi_store_bytes(uint8_t *p, vi a) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(a),
                                         _mm256_extracti128_si256(a, 1));
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(words, words));
}
VF_INLINE vi vi_set(int32_t x) {
  return _mm256_set1_epi32(x);
}
VF_INLINE vi vi_add(vi a, vi b) {
  return _mm256_add_epi32(a, b);
}
VF_INLINE vi vi_sub(vi a, vi b) {
  return _mm256_sub_epi32(a, b);
}
VF_INLINE vi vi_mul_short(vi a, vi b) {
  return _mm256_madd_epi16(a, b);
}
VF_INLINE vi vi_add_byte_products(vi sums, vi a, vi b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b),
                                                  _mm256_set1_epi16(1)));
}
VF_INLINE vi vi_and(vi a, vi b) {
  return _mm256_and_si256(a, b);
}
VF_INLINE vi vi_shl(vi a, int n) {
  return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n));
}
VF_INLINE vi vi_sar(vi a, int n) {
  return _mm256_sra_epi32(a, _mm_cvtsi32_si128(n));
}
typedef __m128i vh;
VF_INLINE vh vh_load(const uint16_t *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}
VF_INLINE void vh_store(uint16_t *p, vh a) {
  _mm_storeu_si128((__m128i *)(void *)p, a);
}
VF_INLINE vf vf_of_half(vh a) {
  return _mm256_cvtph_ps(a);
}
VF_INLINE vf vf_of_bfloat16(vh a) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16));
}
VF_INLINE vh vh_half_of(vf x) {
  const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f));
  const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  const __m256 odd = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  x = _mm256_blendv_ps(x, _mm256_or_ps(sign, quiet), odd);
  return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vh vh_bfloat16_of(vf x) {
  const __m256i u = _mm256_castps_si256(x);
  const __m256i even =
      _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff));
  const __m256 odd = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  const __m256i r =
      _mm256_blendv_epi8(_mm256_srli_epi32(_mm256_add_epi32(u, up), 16),
                         _mm256_set1_epi32(0x7fc0), _mm256_castps_si256(odd));
  return _mm_packus_epi32(_mm256_castsi256_si128(r),
                          _mm256_extracti128_si256(r, 1));
}
VF_INLINE vf vi_nibble(vi a, const int i) {
  return _mm256_cvtepi32_ps(
      _mm256_srai_epi32(_mm256_slli_epi32(a, 28 - 4 * i), 28));
}
VF_INLINE vf vf_permute(vf a, vi lanes) {
  return _mm256_permutevar8x32_ps(a, lanes);
}
VF_INLINE float vf_sum(vf a) {
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  q = _mm_add_ss(q, _mm_shuffle_ps(q, q, 1));
  return _mm_cvtss_f32(q);
}
VF_INLINE float vf_max_of(vf a) {
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  q = _mm_max_ss(q, _mm_shuffle_ps(q, q, 1));
  return _mm_cvtss_f32(q);
}

#endif /* BSM_KERNELS_SIMD_AVX2_H_ */
