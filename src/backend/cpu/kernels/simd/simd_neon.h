/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of the kernels, with NEON, which every 64-bit ARM has.
 * See simd_avx512.h. Where the instructions of ARM answer otherwise than those
 * of x86 - the greater of two that are not ordered, integers out of range -
 * they are made to agree. */
#ifndef BSM_KERNELS_SIMD_NEON_H_
#define BSM_KERNELS_SIMD_NEON_H_

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VF_W 4
#define VF_INLINE static inline __attribute__((always_inline, unused))

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

VF_INLINE vf vf_load(const float *p) {
  return vld1q_f32(p);
}
VF_INLINE void vf_store(float *p, vf a) {
  vst1q_f32(p, a);
}
VF_INLINE vf vf_load_n(const float *p, int64_t n) {
  if (n >= 4) return vld1q_f32(p);
  vf a = vdupq_n_f32(0.0f);
  if (n >= 2) {
    a = vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f));
    return n > 2 ? vld1q_lane_f32(p + 2, a, 2) : a;
  }
  return n > 0 ? vld1q_lane_f32(p, a, 0) : a;
}
VF_INLINE void vf_store_n(float *p, vf a, int64_t n) {
  if (n >= 4) {
    vst1q_f32(p, a);
  } else if (n >= 2) {
    vst1_f32(p, vget_low_f32(a));
    if (n > 2) vst1q_lane_f32(p + 2, a, 2);
  } else if (n > 0) {
    vst1q_lane_f32(p, a, 0);
  }
}
VF_INLINE void vf_store_from(float *p, vf a, int64_t n) {
  if (n <= 0) {
    vst1q_f32(p, a);
    return;
  }
  if (n == 1) vst1q_lane_f32(p + 1, a, 1);
  if (n < 3) {
    vst1_f32(p + 2, vget_high_f32(a));
  } else if (n == 3) {
    vst1q_lane_f32(p + 3, a, 3);
  }
}
#include "backend/cpu/kernels/simd/parts_by_count.inl"
VF_INLINE vf vf_keep(vf a) {
  __asm__("" : "+w"(a));
  return a;
}
VF_INLINE vf vf_set(float x) {
  return vdupq_n_f32(x);
}
VF_INLINE vf vf_zero(void) {
  return vdupq_n_f32(0.0f);
}
VF_INLINE vf vf_add(vf a, vf b) {
  return vaddq_f32(a, b);
}
VF_INLINE vf vf_sub(vf a, vf b) {
  return vsubq_f32(a, b);
}
VF_INLINE vf vf_mul(vf a, vf b) {
  return vmulq_f32(a, b);
}
VF_INLINE vf vf_div(vf a, vf b) {
  return vdivq_f32(a, b);
}
VF_INLINE vf vf_fma(vf a, vf b, vf c) {
  return vfmaq_f32(c, a, b);
}
VF_INLINE vf vf_fnma(vf a, vf b, vf c) {
  return vfmsq_f32(c, a, b);
}
VF_INLINE vf vf_max(vf a, vf b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
VF_INLINE vf vf_min(vf a, vf b) {
  return vbslq_f32(vcltq_f32(a, b), a, b);
}
VF_INLINE vf vf_sqrt(vf a) {
  return vsqrtq_f32(a);
}
VF_INLINE vf vf_abs(vf a) {
  return vabsq_f32(a);
}
VF_INLINE vf vf_neg(vf a) {
  return vnegq_f32(a);
}
VF_INLINE vf vf_copysign(vf magnitude, vf sign) {
  return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}
VF_INLINE vf vf_round(vf a) {
  return vrndnq_f32(a);
}
VF_INLINE vf vf_floor(vf a) {
  return vrndmq_f32(a);
}
VF_INLINE vf vf_ceil(vf a) {
  return vrndpq_f32(a);
}
VF_INLINE vf vf_trunc(vf a) {
  return vrndq_f32(a);
}
VF_INLINE vm vf_lt(vf a, vf b) {
  return vcltq_f32(a, b);
}
VF_INLINE vm vf_le(vf a, vf b) {
  return vcleq_f32(a, b);
}
VF_INLINE vm vf_gt(vf a, vf b) {
  return vcgtq_f32(a, b);
}
VF_INLINE vm vf_ge(vf a, vf b) {
  return vcgeq_f32(a, b);
}
VF_INLINE vm vf_eq(vf a, vf b) {
  return vceqq_f32(a, b);
}
VF_INLINE vm vf_is_nan(vf a) {
  return vmvnq_u32(vceqq_f32(a, a));
}
VF_INLINE bool vm_all(vm m) {
  return vminvq_u32(m) != 0;
}
VF_INLINE vf vf_select(vm m, vf yes, vf no) {
  return vbslq_f32(m, yes, no);
}
VF_INLINE void vm_store_bytes(uint8_t *p, vm m) {
  const uint16x4_t words = vmovn_u32(vshrq_n_u32(m, 31));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
  vst1_lane_u32((uint32_t *)(void *)p, vreinterpret_u32_u8(bytes), 0);
}
/* Four bytes, twice. */
VF_INLINE uint8x8_t vb_load(const void *p) {
  uint32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return vreinterpret_u8_u32(vdup_n_u32(four));
}
VF_INLINE vi vi_load_bytes(const uint8_t *p) {
  const uint16x4_t words = vget_low_u16(vmovl_u8(vb_load(p)));
  return vreinterpretq_s32_u32(vmovl_u16(words));
}
VF_INLINE vi vi_load_signed(const int8_t *p) {
  const int8x8_t bytes = vreinterpret_s8_u8(vb_load(p));
  return vmovl_s16(vget_low_s16(vmovl_s8(bytes)));
}
VF_INLINE vm vm_load_bytes(const uint8_t *p) {
  return vcgtq_s32(vi_load_bytes(p), vdupq_n_s32(0));
}
/* The least int32 for what is out of range, and for NaN. */
VF_INLINE vi vf_to_int(vf a) {
  const vm fits = vcltq_f32(a, vdupq_n_f32(2147483648.0f));
  return vbslq_s32(fits, vcvtnq_s32_f32(a), vdupq_n_s32(INT32_MIN));
}
VF_INLINE vf vi_to_float(vi a) {
  return vcvtq_f32_s32(a);
}
VF_INLINE vi vf_bits(vf a) {
  return vreinterpretq_s32_f32(a);
}
VF_INLINE vf vi_as_float(vi a) {
  return vreinterpretq_f32_s32(a);
}
VF_INLINE vi vi_load(const int32_t *p) {
  return vld1q_s32(p);
}
VF_INLINE void vi_store(int32_t *p, vi a) {
  vst1q_s32(p, a);
}
VF_INLINE void vi_store_bytes(uint8_t *p, vi a) {
  const uint16x4_t words = vqmovun_s32(a);
  const uint8x8_t bytes = vqmovn_u16(vcombine_u16(words, words));
  const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  __builtin_memcpy(p, &four, sizeof(four));
}
VF_INLINE vi vi_set(int32_t x) {
  return vdupq_n_s32(x);
}
VF_INLINE vi vi_add(vi a, vi b) {
  return vaddq_s32(a, b);
}
VF_INLINE vi vi_sub(vi a, vi b) {
  return vsubq_s32(a, b);
}
VF_INLINE vi vi_mul_short(vi a, vi b) {
  return vmulq_s32(a, b);
}
VF_INLINE vi vi_and(vi a, vi b) {
  return vandq_s32(a, b);
}
VF_INLINE vi vi_shl(vi a, int n) {
  return vshlq_s32(a, vdupq_n_s32(n));
}
VF_INLINE vi vi_sar(vi a, int n) {
  return vshlq_s32(a, vdupq_n_s32(-n));
}
typedef uint16x4_t vh;
VF_INLINE vh vh_load(const uint16_t *p) {
  return vld1_u16(p);
}
VF_INLINE void vh_store(uint16_t *p, vh a) {
  vst1_u16(p, a);
}
VF_INLINE vf vf_of_half(vh a) {
  return vcvt_f32_f16(vreinterpret_f16_u16(a));
}
VF_INLINE vf vf_of_bfloat16(vh a) {
  return vreinterpretq_f32_u32(vshll_n_u16(a, 16));
}
VF_INLINE vh vh_half_of(vf x) {
  const uint32x4_t sign =
      vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u));
  const uint32x4_t quiet = vorrq_u32(sign, vdupq_n_u32(0x7fc00000u));
  x = vbslq_f32(vceqq_f32(x, x), x, vreinterpretq_f32_u32(quiet));
  return vreinterpret_u16_f16(vcvt_f16_f32(x));
}
VF_INLINE vh vh_bfloat16_of(vf x) {
  const uint32x4_t u = vreinterpretq_u32_f32(x);
  const uint32x4_t even = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
  const uint32x4_t up = vaddq_u32(even, vdupq_n_u32(0x7fff));
  const uint32x4_t r = vshrq_n_u32(vaddq_u32(u, up), 16);
  return vmovn_u32(vbslq_u32(vceqq_f32(x, x), r, vdupq_n_u32(0x7fc0)));
}
VF_INLINE vf vi_nibble(vi a, const int i) {
  const vi top = vshlq_s32(a, vdupq_n_s32(28 - 4 * i));
  return vcvtq_f32_s32(vshrq_n_s32(top, 28));
}
/* Lane i of the result is lane lanes[i] of a. */
VF_INLINE vf vf_permute(vf a, vi lanes) {
  const uint32x4_t first =
      vmulq_u32(vreinterpretq_u32_s32(lanes), vdupq_n_u32(0x04040404));
  const uint8x16_t bytes =
      vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x03020100)));
  return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(a), bytes));
}
VF_INLINE float vf_sum(vf a) {
  const float32x2_t pair = vadd_f32(vget_low_f32(a), vget_high_f32(a));
  return vget_lane_f32(vpadd_f32(pair, pair), 0);
}
VF_INLINE float vf_max_of(vf a) {
  float32x2_t x = vget_low_f32(a), y = vget_high_f32(a);
  x = vbsl_f32(vcgt_f32(x, y), x, y);
  y = vrev64_f32(x);
  return vget_lane_f32(vbsl_f32(vcgt_f32(x, y), x, y), 0);
}

#endif /* BSM_KERNELS_SIMD_NEON_H_ */
