/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16 with NEON, four elements at once. */
#include <arm_neon.h>
#include <stdint.h>

/* A NaN, whose bits the instruction would keep in part, becomes the quiet one.
 */
static inline uint16x4_t narrow_half4(float32x4_t x) {
  const uint32x4_t sign =
      vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u));
  const uint32x4_t quiet = vorrq_u32(sign, vdupq_n_u32(0x7fc00000u));
  x = vbslq_f32(vceqq_f32(x, x), x, vreinterpretq_f32_u32(quiet));
  return vreinterpret_u16_f16(vcvt_f16_f32(x));
}

static inline float32x4_t widen_half4(uint16x4_t x) {
  return vcvt_f32_f16(vreinterpret_f16_u16(x));
}

/* Floats that are rounded to bfloat16, whose upper halves they are. */
static inline uint32x4_t round_bfloat4(float32x4_t x) {
  const uint32x4_t u = vreinterpretq_u32_f32(x);
  const uint32x4_t even = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
  const uint32x4_t up = vaddq_u32(even, vdupq_n_u32(0x7fff));
  const uint32x4_t r = vandq_u32(vaddq_u32(u, up), vdupq_n_u32(0xffff0000u));
  return vbslq_u32(vceqq_f32(x, x), r, vdupq_n_u32(0x7fc00000u));
}

static inline void widen_half_block(const uint16_t *from, float *to) {
  vst1q_f32(to, widen_half4(vld1_u16(from)));
}
static inline void narrow_half_block(const float *from, uint16_t *to) {
  vst1_u16(to, narrow_half4(vld1q_f32(from)));
}
static inline void round_half_block(const float *from, float *to) {
  vst1q_f32(to, widen_half4(narrow_half4(vld1q_f32(from))));
}
static inline void widen_bfloat_block(const uint16_t *from, float *to) {
  const uint32x4_t wide = vshll_n_u16(vld1_u16(from), 16);
  vst1q_f32(to, vreinterpretq_f32_u32(wide));
}
static inline void narrow_bfloat_block(const float *from, uint16_t *to) {
  vst1_u16(to, vshrn_n_u32(round_bfloat4(vld1q_f32(from)), 16));
}
static inline void round_bfloat_block(const float *from, float *to) {
  vst1q_f32(to, vreinterpretq_f32_u32(round_bfloat4(vld1q_f32(from))));
}

#define BSM_K_SUFFIX neon
#define BLOCK 4
#include "backend/cpu/kernels/convert/half_convert_blocks.inl"
