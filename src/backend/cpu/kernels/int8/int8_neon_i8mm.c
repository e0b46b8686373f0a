/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes with ARM's instruction for them (FEAT_I8MM). */
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#define VECTOR int32x4_t
#define LANES 4
#define ROWS 6
#define PANELS 1
#define SPLIT 0
#define LOAD(p) vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)(p)))
#define STORE(p, v) __builtin_memcpy(p, &(v), sizeof(v))
#define SPLAT(p) splat(p)
#define DOT(sums, a, b) dot(sums, a, b)
#define PRODUCT bsm_k_int8_product_neon_i8mm
#define NAME "neon_i8mm_6x16"
#define DEPTHWISE NULL

static inline __attribute__((always_inline)) int32x4_t splat(const void *p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return vdupq_n_s32(four);
}
static inline __attribute__((always_inline)) int32x4_t dot(int32x4_t sums,
                                                           int32x4_t a,
                                                           int32x4_t b) {
  return vusdotq_s32(sums, vreinterpretq_u8_s32(a), vreinterpretq_s8_s32(b));
}

extern const struct bsm_k_int8_product bsm_k_int8_product_neon_i8mm;

#include "backend/cpu/kernels/int8/int8_product.inl"
