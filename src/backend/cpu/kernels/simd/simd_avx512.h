/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of the kernels, with AVX-512 (F, DQ, BW, VL).
 *
 * simd_scalar.h, simd_avx2.h, simd_avx512.h and simd_neon.h define the same
 * names, so that one body (.inl) is compiled once for each. vf: VF_W floats;
 * vi: as many int32; vm: as many booleans. vf_load_n and vf_store_n touch
 * exactly n elements, 0 <= n <= VF_W; vf_store_from all of a vector's but the
 * first n. vp: how many, made once for many loads and stores: of any n,
 * vp_first takes the nearest from 0 to VF_W. */
#ifndef BSM_KERNELS_SIMD_AVX512_H_
#define BSM_KERNELS_SIMD_AVX512_H_

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VF_W 16
#define VF_INLINE static inline __attribute__((always_inline, unused))

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

VF_INLINE vm vm_first(int64_t n) {
  return (vm)((1u << (uint32_t)n) - 1u);
}
VF_INLINE vf vf_load(const float *p) {
  return _mm512_loadu_ps(p);
}
VF_INLINE void vf_store(float *p, vf a) {
  _mm512_storeu_ps(p, a);
}
typedef __mmask16 vp;
#define VF_PARTS_COST 0 /* beside the whole, a load of a part */
VF_INLINE vp vp_first(int64_t n) {
  return n >= VF_W ? (vp)0xffff : n > 0 ? vm_first(n) : (vp)0;
}
VF_INLINE vf vf_load_p(const float *p, vp part) {
  return _mm512_maskz_loadu_ps(part, p);
}
VF_INLINE void vf_store_p(float *p, vf a, vp part) {
  _mm512_mask_storeu_ps(p, part, a);
}
VF_INLINE vf vf_load_n(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps(vm_first(n), p);
}
VF_INLINE void vf_store_n(float *p, vf a, int64_t n) {
  _mm512_mask_storeu_ps(p, vm_first(n), a);
}
VF_INLINE void vf_store_from(float *p, vf a, int64_t n) {
  _mm512_mask_storeu_ps(p, (vm)~vm_first(n), a);
}
/* Keeps a loaded vector in a register: compilers like to load it again for each
 * multiply-add. */
VF_INLINE vf vf_keep(vf a) {
  __asm__("" : "+v"(a));
  return a;
}
VF_INLINE vf vf_set(float x) {
  return _mm512_set1_ps(x);
}
VF_INLINE vf vf_zero(void) {
  return _mm512_setzero_ps();
}
VF_INLINE vf vf_add(vf a, vf b) {
  return _mm512_add_ps(a, b);
}
VF_INLINE vf vf_sub(vf a, vf b) {
  return _mm512_sub_ps(a, b);
}
VF_INLINE vf vf_mul(vf a, vf b) {
  return _mm512_mul_ps(a, b);
}
VF_INLINE vf vf_div(vf a, vf b) {
  return _mm512_div_ps(a, b);
}
/* a * b + c and c - a * b */
VF_INLINE vf vf_fma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
}
VF_INLINE vf vf_fnma(vf a, vf b, vf c) {
  return _mm512_fnmadd_ps(a, b, c);
}
/* The second operand when either is NaN. */
VF_INLINE vf vf_max(vf a, vf b) {
  return _mm512_max_ps(a, b);
}
VF_INLINE vf vf_min(vf a, vf b) {
  return _mm512_min_ps(a, b);
}
VF_INLINE vf vf_sqrt(vf a) {
  return _mm512_sqrt_ps(a);
}
VF_INLINE vf vf_abs(vf a) {
  return _mm512_abs_ps(a);
}
VF_INLINE vf vf_neg(vf a) {
  return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}
VF_INLINE vf vf_copysign(vf magnitude, vf sign) {
  const vf bit = _mm512_set1_ps(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(bit, magnitude),
                      _mm512_and_ps(bit, sign));
}
VF_INLINE vf vf_round(vf a) { /* to nearest, ties to even */
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vf vf_floor(vf a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
VF_INLINE vf vf_ceil(vf a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
VF_INLINE vf vf_trunc(vf a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
/* Ordered comparisons: false for NaN. */
VF_INLINE vm vf_lt(vf a, vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
VF_INLINE vm vf_le(vf a, vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
VF_INLINE vm vf_gt(vf a, vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
VF_INLINE vm vf_ge(vf a, vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}
VF_INLINE vm vf_eq(vf a, vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
VF_INLINE vm vf_is_nan(vf a) {
  return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
VF_INLINE bool vm_all(vm m) {
  return m == 0xffff;
}
VF_INLINE vf vf_select(vm m, vf yes, vf no) {
  return _mm512_mask_blend_ps(m, no, yes);
}
/* VF_W bytes: 1 and 0; and back, true for what is not 0. */
VF_INLINE void vm_store_bytes(uint8_t *p, vm m) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm_maskz_set1_epi8(m, 1));
}
VF_INLINE vm vm_load_bytes(const uint8_t *p) {
  const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
  return _mm_test_epi8_mask(v, v);
}
VF_INLINE vi vf_to_int(vf a) {
  return _mm512_cvtps_epi32(a);
} /* nearest */
VF_INLINE vf vi_to_float(vi a) {
  return _mm512_cvtepi32_ps(a);
}
VF_INLINE vi vf_bits(vf a) {
  return _mm512_castps_si512(a);
}
VF_INLINE vf vi_as_float(vi a) {
  return _mm512_castsi512_ps(a);
}
/* VF_W int32; VF_W uint8 as int32, and back; VF_W int8. */
VF_INLINE vi vi_load(const int32_t *p) {
  return _mm512_loadu_si512(p);
}
VF_INLINE void vi_store(int32_t *p, vi a) {
  _mm512_storeu_si512(p, a);
}
VF_INLINE vi vi_load_bytes(const uint8_t *p) {
  return _mm512_cvtepu8_epi32(
      _mm_loadu_si128((const __m128i *)(const void *)p));
}
VF_INLINE vi vi_load_signed(const int8_t *p) {
  return _mm512_cvtepi8_epi32(
      _mm_loadu_si128((const __m128i *)(const void *)p));
}
VF_INLINE void vi_store_bytes(uint8_t *p, vi a) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(a));
}
VF_INLINE vi vi_set(int32_t x) {
  return _mm512_set1_epi32(x);
}
VF_INLINE vi vi_add(vi a, vi b) {
  return _mm512_add_epi32(a, b);
}
VF_INLINE vi vi_sub(vi a, vi b) {
  return _mm512_sub_epi32(a, b);
}
/* Products of what fits into 16 bits. */
VF_INLINE vi vi_mul_short(vi a, vi b) {
  return _mm512_madd_epi16(a, b);
}
/* sums + the four products of uint8 and int8 in each lane; the sums of pairs of
 * them have to be int16. */
VF_INLINE vi vi_add_byte_products(vi sums, vi a, vi b) {
  return _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b),
                                                  _mm512_set1_epi16(1)));
}
VF_INLINE vi vi_and(vi a, vi b) {
  return _mm512_and_si512(a, b);
}
VF_INLINE vi vi_shl(vi a, int n) {
  return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n));
}
VF_INLINE vi vi_sar(vi a, int n) {
  return _mm512_sra_epi32(a, _mm_cvtsi32_si128(n));
}
/* VF_W half or bfloat16: loaded and stored, as floats, and rounded to nearest
 * even; of every NaN the quiet one is made, of half with its sign. */
typedef __m256i vh;
VF_INLINE vh vh_load(const uint16_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
VF_INLINE void vh_store(uint16_t *p, vh a) {
  _mm256_storeu_si256((__m256i *)(void *)p, a);
}
VF_INLINE vf vf_of_half(vh a) {
  return _mm512_cvtph_ps(a);
}
VF_INLINE vf vf_of_bfloat16(vh a) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16));
}
/* A NaN's bits the instruction would keep in part. */
VF_INLINE vh vh_half_of(vf x) {
  const __mmask16 odd = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_set1_epi32(0x7fc00000);
  const __m512i sign = _mm512_set1_epi32((int)0x80000000);
  /* The sign of x, the rest of the quiet NaN. */
  const __m512i bits = _mm512_castps_si512(x);
  x = _mm512_castsi512_ps(
      _mm512_mask_ternarylogic_epi32(bits, odd, sign, quiet, 0xea));
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vh vh_bfloat16_of(vf x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i even =
      _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff));
  const __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, up), 16);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(
      r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc0)));
}
/* The bits 4 i to 4 i + 3 as a number from -8 to 7; i is a constant. */
VF_INLINE vf vi_nibble(vi a, const int i) {
  const __m512 numbers =
      _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
  /* Of each index the permutation takes the lowest four bits. */
  return _mm512_permutexvar_ps(_mm512_srli_epi32(a, (unsigned)i * 4), numbers);
}
/* a[lanes[i]] for each i. */
VF_INLINE vf vf_permute(vf a, vi lanes) {
  return _mm512_permutexvar_ps(lanes, a);
}
/* The sum and the maximum of the elements, in an order of their own. */
VF_INLINE float vf_sum(vf a) {
  const __m256 lo = _mm512_castps512_ps256(a);
  const __m256 hi = _mm512_extractf32x8_ps(a, 1);
  const __m256 s = _mm256_add_ps(lo, hi);
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  q = _mm_add_ss(q, _mm_shuffle_ps(q, q, 1));
  return _mm_cvtss_f32(q);
}
VF_INLINE float vf_max_of(vf a) {
  return _mm512_reduce_max_ps(a);
}

#endif /* BSM_KERNELS_SIMD_AVX512_H_ */
