/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of doubles with AVX-512, for functions of floats that are computed
 * in double and rounded once.
 *
 * doubles_avx2.h, doubles_avx512.h and doubles_neon.h define the same names.
 * vd: VD_W doubles; vdm: as many booleans. There is none in plain C: without
 * vectors the C library is as good. */
#ifndef BSM_KERNELS_DOUBLES_AVX512_H_
#define BSM_KERNELS_DOUBLES_AVX512_H_

#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_avx512.h"

#define VD_W 8

typedef __m512d vd;
typedef __mmask8 vdm;

/* Of n floats, or of VD_W where n is more; what is missing is 0. */
VF_INLINE __mmask8 vdm_first(int64_t n) {
  return (__mmask8)(n < VD_W ? (1u << (uint32_t)n) - 1u : 0xffu);
}
VF_INLINE vd vd_load_floats(const float *p, int64_t n) {
  return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(vdm_first(n), p));
}
VF_INLINE void vd_store_floats(float *p, vd a, int64_t n) {
  _mm256_mask_storeu_ps(p, vdm_first(n), _mm512_cvtpd_ps(a));
}
/* Integers as their bits. */
VF_INLINE vd vd_load_bits(const int64_t *p) {
  return _mm512_loadu_pd(p);
}
VF_INLINE void vd_store_bits(int64_t *p, vd a) {
  _mm512_storeu_pd(p, a);
}
/* Rounded to a float. */
VF_INLINE vd vd_to_float(vd a) {
  return _mm512_cvtps_pd(_mm512_cvtpd_ps(a));
}
VF_INLINE vd vd_set(double x) {
  return _mm512_set1_pd(x);
}
VF_INLINE vd vd_add(vd a, vd b) {
  return _mm512_add_pd(a, b);
}
VF_INLINE vd vd_sub(vd a, vd b) {
  return _mm512_sub_pd(a, b);
}
VF_INLINE vd vd_mul(vd a, vd b) {
  return _mm512_mul_pd(a, b);
}
VF_INLINE vd vd_div(vd a, vd b) {
  return _mm512_div_pd(a, b);
}
/* a * b + c and c - a * b */
VF_INLINE vd vd_fma(vd a, vd b, vd c) {
  return _mm512_fmadd_pd(a, b, c);
}
VF_INLINE vd vd_fnma(vd a, vd b, vd c) {
  return _mm512_fnmadd_pd(a, b, c);
}
/* The second operand when either is NaN. */
VF_INLINE vd vd_max(vd a, vd b) {
  return _mm512_max_pd(a, b);
}
VF_INLINE vd vd_min(vd a, vd b) {
  return _mm512_min_pd(a, b);
}
VF_INLINE vd vd_sqrt(vd a) {
  return _mm512_sqrt_pd(a);
}
VF_INLINE vd vd_round(vd a) { /* to nearest, ties to even */
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_floor(vd a) {
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_trunc(vd a) {
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
VF_INLINE vd vd_and(vd a, vd b) {
  return _mm512_and_pd(a, b);
}
VF_INLINE vd vd_or(vd a, vd b) {
  return _mm512_or_pd(a, b);
}
VF_INLINE vd vd_xor(vd a, vd b) {
  return _mm512_xor_pd(a, b);
}
/* Their bits as integers: added, and moved by a constant. */
VF_INLINE vd vd_add_bits(vd a, vd b) {
  return _mm512_castsi512_pd(
      _mm512_add_epi64(_mm512_castpd_si512(a), _mm512_castpd_si512(b)));
}
VF_INLINE vd vd_shl(vd a, const int n) {
  return _mm512_castsi512_pd(
      _mm512_slli_epi64(_mm512_castpd_si512(a), (unsigned)n));
}
VF_INLINE vd vd_shr(vd a, const int n) {
  return _mm512_castsi512_pd(
      _mm512_srli_epi64(_mm512_castpd_si512(a), (unsigned)n));
}
/* Ordered comparisons: false for NaN. */
VF_INLINE vdm vd_lt(vd a, vd b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
}
VF_INLINE vdm vd_le(vd a, vd b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}
VF_INLINE vdm vd_eq(vd a, vd b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}
/* Whether the sign is set, also that of zero. */
VF_INLINE vdm vd_negative(vd a) {
  return _mm512_movepi64_mask(_mm512_castpd_si512(a));
}
VF_INLINE bool vdm_any(vdm m) {
  return m != 0;
}
VF_INLINE bool vdm_all(vdm m) {
  return m == 0xff;
}
VF_INLINE vd vd_select(vdm m, vd yes, vd no) {
  return _mm512_mask_blend_pd(m, no, yes);
}

#endif /* BSM_KERNELS_DOUBLES_AVX512_H_ */
