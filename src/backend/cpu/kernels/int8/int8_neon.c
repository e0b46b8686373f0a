/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with NEON: in words, which hold a product of two bytes,
 * whose sums of two are made in int32. */
#include <stdbool.h>

#include "backend/cpu/kernels/simd/simd_neon.h"

#define LOOK_UP look_up_quarters

/* Indexes that a quarter of the table does not have leave what is there. */
static void look_up_quarters(const uint8_t *x, int64_t n, const uint8_t *table,
                             uint8_t *y) {
  uint8x16x4_t quarters[4];
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 4; k++) {
      quarters[i].val[k] = vld1q_u8(table + 64 * i + 16 * k);
    }
  }
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    uint8x16_t at = vld1q_u8(x + i);
    uint8x16_t v = vqtbl4q_u8(quarters[0], at);
    for (int k = 1; k < 4; k++) {
      at = vsubq_u8(at, vdupq_n_u8(64));
      v = vqtbx4q_u8(v, quarters[k], at);
    }
    vst1q_u8(y + i, v);
  }
  for (; i < n; i++) y[i] = table[x[i]];
}

#define VECTOR int32x4_t
#define LANES 4
#define ROWS 4
#define PANELS 1
#define SPLIT 0
#define LOAD(p) load(p)
#define STORE(p, v) __builtin_memcpy(p, &(v), sizeof(v))
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_int8_product_neon
#define NAME "neon_4x16"
#define DEPTHWISE NULL

VF_INLINE int32x4_t load(const void *p) {
  return vreinterpretq_s32_u8(vld1q_u8(p));
}
VF_INLINE int32x4_t splat(const uint8_t *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return vdupq_n_s32(four);
}
/* Sums of two products each, of 8 bytes. */
VF_INLINE int32x4_t pairs(uint8x8_t a, int8x8_t b) {
  const int16x8_t wide = vreinterpretq_s16_u16(vmovl_u8(a));
  return vpaddlq_s16(vmulq_s16(wide, vmovl_s8(b)));
}
VF_INLINE int32x4_t dot(int32x4_t sums, int32x4_t a, int32x4_t b) {
  const uint8x16_t x = vreinterpretq_u8_s32(a);
  const int8x16_t y = vreinterpretq_s8_s32(b);
  const int32x4_t low = pairs(vget_low_u8(x), vget_low_s8(y));
  const int32x4_t high = pairs(vget_high_u8(x), vget_high_s8(y));
  return vaddq_s32(sums, vpaddq_s32(low, high));
}

#include "backend/cpu/kernels/int8/int8_product.inl"
#include "backend/cpu/kernels/int8/int8_rows.inl"

extern const bsm_k_int8_product bsm_k_int8_product_neon_i8mm;

const bsm_k_int8 bsm_k_int8_neon =
    INT8_TABLE(&bsm_k_int8_product_neon, &bsm_k_int8_product_neon_i8mm,
               BSM_K_ISA_I8MM, NULL, NULL);
