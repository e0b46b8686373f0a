/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of doubles with NEON, which every 64-bit ARM has. See
 * doubles_avx512.h. */
#ifndef BSM_KERNELS_DOUBLES_NEON_H_
#define BSM_KERNELS_DOUBLES_NEON_H_

#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_neon.h"

#define VD_W 2

typedef float64x2_t vd;
typedef uint64x2_t vdm;

VF_INLINE vd vd_load_floats(const float *p, int64_t n) {
  const float32x2_t none = vdup_n_f32(0.0f);
  return vcvt_f64_f32(n < VD_W ? vld1_lane_f32(p, none, 0) : vld1_f32(p));
}
VF_INLINE void vd_store_floats(float *p, vd a, int64_t n) {
  const float32x2_t floats = vcvt_f32_f64(a);
  if (n < VD_W) {
    vst1_lane_f32(p, floats, 0);
  } else {
    vst1_f32(p, floats);
  }
}
/* Integers as their bits. */
VF_INLINE vd vd_load_bits(const int64_t *p) {
  return vreinterpretq_f64_s64(vld1q_s64(p));
}
VF_INLINE void vd_store_bits(int64_t *p, vd a) {
  vst1q_s64(p, vreinterpretq_s64_f64(a));
}
VF_INLINE vd vd_to_float(vd a) {
  return vcvt_f64_f32(vcvt_f32_f64(a));
}
VF_INLINE vd vd_set(double x) {
  return vdupq_n_f64(x);
}
VF_INLINE vd vd_add(vd a, vd b) {
  return vaddq_f64(a, b);
}
VF_INLINE vd vd_sub(vd a, vd b) {
  return vsubq_f64(a, b);
}
VF_INLINE vd vd_mul(vd a, vd b) {
  return vmulq_f64(a, b);
}
VF_INLINE vd vd_div(vd a, vd b) {
  return vdivq_f64(a, b);
}
VF_INLINE vd vd_fma(vd a, vd b, vd c) {
  return vfmaq_f64(c, a, b);
}
VF_INLINE vd vd_fnma(vd a, vd b, vd c) {
  return vfmsq_f64(c, a, b);
}
VF_INLINE vd vd_max(vd a, vd b) {
  return vbslq_f64(vcgtq_f64(a, b), a, b);
}
VF_INLINE vd vd_min(vd a, vd b) {
  return vbslq_f64(vcltq_f64(a, b), a, b);
}
VF_INLINE vd vd_sqrt(vd a) {
  return vsqrtq_f64(a);
}
VF_INLINE vd vd_round(vd a) {
  return vrndnq_f64(a);
}
VF_INLINE vd vd_floor(vd a) {
  return vrndmq_f64(a);
}
VF_INLINE vd vd_trunc(vd a) {
  return vrndq_f64(a);
}
VF_INLINE uint64x2_t vd_bits(vd a) {
  return vreinterpretq_u64_f64(a);
}
VF_INLINE vd vd_of_bits(uint64x2_t a) {
  return vreinterpretq_f64_u64(a);
}
VF_INLINE vd vd_and(vd a, vd b) {
  return vd_of_bits(vandq_u64(vd_bits(a), vd_bits(b)));
}
VF_INLINE vd vd_or(vd a, vd b) {
  return vd_of_bits(vorrq_u64(vd_bits(a), vd_bits(b)));
}
VF_INLINE vd vd_xor(vd a, vd b) {
  return vd_of_bits(veorq_u64(vd_bits(a), vd_bits(b)));
}
VF_INLINE vd vd_add_bits(vd a, vd b) {
  return vd_of_bits(vaddq_u64(vd_bits(a), vd_bits(b)));
}
VF_INLINE vd vd_shl(vd a, const int n) {
  return vd_of_bits(vshlq_u64(vd_bits(a), vdupq_n_s64(n)));
}
VF_INLINE vd vd_shr(vd a, const int n) {
  return vd_of_bits(vshlq_u64(vd_bits(a), vdupq_n_s64(-n)));
}
VF_INLINE vdm vd_lt(vd a, vd b) {
  return vcltq_f64(a, b);
}
VF_INLINE vdm vd_le(vd a, vd b) {
  return vcleq_f64(a, b);
}
VF_INLINE vdm vd_eq(vd a, vd b) {
  return vceqq_f64(a, b);
}
VF_INLINE vdm vd_negative(vd a) {
  return vcltzq_s64(vreinterpretq_s64_f64(a));
}
VF_INLINE bool vdm_any(vdm m) {
  return (vgetq_lane_u64(m, 0) | vgetq_lane_u64(m, 1)) != 0;
}
VF_INLINE bool vdm_all(vdm m) {
  return (vgetq_lane_u64(m, 0) & vgetq_lane_u64(m, 1)) != 0;
}
VF_INLINE vd vd_select(vdm m, vd yes, vd no) {
  return vbslq_f64(m, yes, no);
}

#endif /* BSM_KERNELS_DOUBLES_NEON_H_ */
