/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of doubles with AVX2 and FMA. See doubles_avx512.h. */
#ifndef BSM_KERNELS_DOUBLES_AVX2_H_
#define BSM_KERNELS_DOUBLES_AVX2_H_

#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_avx2.h"

#define VD_W 4

typedef __m256d vd;
typedef __m256d vdm;

VF_INLINE __m128i vd_first(int64_t n) {
  const int32_t most = n < VD_W ? (int32_t)n : VD_W;
  return _mm_cmpgt_epi32(_mm_set1_epi32(most), _mm_setr_epi32(0, 1, 2, 3));
}
VF_INLINE vd vd_load_floats(const float *p, int64_t n) {
  return _mm256_cvtps_pd(_mm_maskload_ps(p, vd_first(n)));
}
VF_INLINE void vd_store_floats(float *p, vd a, int64_t n) {
  _mm_maskstore_ps(p, vd_first(n), _mm256_cvtpd_ps(a));
}
/* Integers as their bits. */
VF_INLINE vd vd_load_bits(const int64_t *p) {
  return _mm256_loadu_pd((const double *)(const void *)p);
}
VF_INLINE void vd_store_bits(int64_t *p, vd a) {
  _mm256_storeu_pd((double *)(void *)p, a);
}
/* Rounded to a float. */
VF_INLINE vd vd_to_float(vd a) {
  return _mm256_cvtps_pd(_mm256_cvtpd_ps(a));
}
VF_INLINE vd vd_set(double x) {
  return _mm256_set1_pd(x);
}
VF_INLINE vd vd_add(vd a, vd b) {
  return _mm256_add_pd(a, b);
}
VF_INLINE vd vd_sub(vd a, vd b) {
  return _mm256_sub_pd(a, b);
}
VF_INLINE vd vd_mul(vd a, vd b) {
  return _mm256_mul_pd(a, b);
}
VF_INLINE vd vd_div(vd a, vd b) {
  return _mm256_div_pd(a, b);
}
/* a * b + c and c - a * b */
VF_INLINE vd vd_fma(vd a, vd b, vd c) {
  return _mm256_fmadd_pd(a, b, c);
}
VF_INLINE vd vd_fnma(vd a, vd b, vd c) {
  return _mm256_fnmadd_pd(a, b, c);
}
/* The second operand when either is NaN. */
VF_INLINE vd vd_max(vd a, vd b) {
  return _mm256_max_pd(a, b);
}
VF_INLINE vd vd_min(vd a, vd b) {
  return _mm256_min_pd(a, b);
}
VF_INLINE vd vd_sqrt(vd a) {
  return _mm256_sqrt_pd(a);
}
VF_INLINE vd vd_round(vd a) { /* to nearest, ties to even */
  return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_floor(vd a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_trunc(vd a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_and(vd a, vd b) {
  return _mm256_and_pd(a, b);
}
VF_INLINE vd vd_or(vd a, vd b) {
  return _mm256_or_pd(a, b);
}
VF_INLINE vd vd_xor(vd a, vd b) {
  return _mm256_xor_pd(a, b);
}
/* Their bits as integers: added, and moved by a constant. */
VF_INLINE vd vd_add_bits(vd a, vd b) {
  return _mm256_castsi256_pd(
      _mm256_add_epi64(_mm256_castpd_si256(a), _mm256_castpd_si256(b)));
}
VF_INLINE vd vd_shl(vd a, const int n) {
  return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a), n));
}
VF_INLINE vd vd_shr(vd a, const int n) {
  return _mm256_castsi256_pd(_mm256_srli_epi64(_mm256_castpd_si256(a), n));
}
/* Ordered comparisons: false for NaN. */
VF_INLINE vdm vd_lt(vd a, vd b) {
  return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}
VF_INLINE vdm vd_le(vd a, vd b) {
  return _mm256_cmp_pd(a, b, _CMP_LE_OQ);
}
VF_INLINE vdm vd_eq(vd a, vd b) {
  return _mm256_cmp_pd(a, b, _CMP_EQ_OQ);
}
/* Whether the sign is set, also that of zero. */
VF_INLINE vdm vd_negative(vd a) {
  return a; /* selections look at signs alone */
}
VF_INLINE bool vdm_any(vdm m) {
  return _mm256_movemask_pd(m) != 0;
}
VF_INLINE bool vdm_all(vdm m) {
  return _mm256_movemask_pd(m) == 15;
}
VF_INLINE vd vd_select(vdm m, vd yes, vd no) {
  return _mm256_blendv_pd(no, yes, m);
}

#endif /* BSM_KERNELS_DOUBLES_AVX2_H_ */
