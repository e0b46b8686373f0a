/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of the kernels in plain C: vectors of one element. It
 * is the reference of the others and what machines without a vector path run.
 * See simd_avx512.h. */
#ifndef BSM_KERNELS_SIMD_SCALAR_H_
#define BSM_KERNELS_SIMD_SCALAR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VF_W 1
#define VF_INLINE static inline __attribute__((always_inline, unused))

typedef float vf;
typedef int32_t vi;
typedef int32_t vm;

VF_INLINE vf vf_load(const float *p) {
  return *p;
}
VF_INLINE void vf_store(float *p, vf a) {
  *p = a;
}
VF_INLINE vf vf_load_n(const float *p, int64_t n) {
  return n > 0 ? *p : 0.0f;
}
VF_INLINE void vf_store_n(float *p, vf a, int64_t n) {
  if (n > 0) *p = a;
}
VF_INLINE void vf_store_from(float *p, vf a, int64_t n) {
  if (n == 0) *p = a;
}
#include "backend/cpu/kernels/simd/parts_by_count.inl"
VF_INLINE vf vf_keep(vf a) {
  return a;
}
VF_INLINE vf vf_set(float x) {
  return x;
}
VF_INLINE vf vf_zero(void) {
  return 0.0f;
}
VF_INLINE vf vf_add(vf a, vf b) {
  return a + b;
}
VF_INLINE vf vf_sub(vf a, vf b) {
  return a - b;
}
VF_INLINE vf vf_mul(vf a, vf b) {
  return a * b;
}
VF_INLINE vf vf_div(vf a, vf b) {
  return a / b;
}
VF_INLINE vf vf_fma(vf a, vf b, vf c) {
  return a * b + c;
}
VF_INLINE vf vf_fnma(vf a, vf b, vf c) {
  return c - a * b;
}
VF_INLINE vf vf_max(vf a, vf b) {
  return a > b ? a : b;
}
VF_INLINE vf vf_min(vf a, vf b) {
  return a < b ? a : b;
}
VF_INLINE vf vf_sqrt(vf a) {
  return __builtin_sqrtf(a);
}
VF_INLINE vf vf_abs(vf a) {
  return __builtin_fabsf(a);
}
VF_INLINE vf vf_neg(vf a) {
  return -a;
}
VF_INLINE vf vf_copysign(vf magnitude, vf sign) {
  return __builtin_copysignf(magnitude, sign);
}
/* From 2^23 on every float is an integer. */
VF_INLINE vf vf_round(vf a) {
  const float big = 8388608.0f;
  if (!(__builtin_fabsf(a) < big)) return a;
  const float m = __builtin_copysignf(big, a);
  const float r = a + m;
  return __builtin_copysignf(r - m, a);
}
VF_INLINE vf vf_trunc(vf a) {
  if (!(__builtin_fabsf(a) < 8388608.0f)) return a;
  return __builtin_copysignf((float)(int32_t)a, a);
}
VF_INLINE vf vf_floor(vf a) {
  const float t = vf_trunc(a);
  return t > a ? t - 1.0f : t;
}
VF_INLINE vf vf_ceil(vf a) {
  const float t = vf_trunc(a);
  return t < a ? __builtin_copysignf(t + 1.0f, a) : t;
}
VF_INLINE vm vf_lt(vf a, vf b) {
  return a < b;
}
VF_INLINE vm vf_le(vf a, vf b) {
  return a <= b;
}
VF_INLINE vm vf_gt(vf a, vf b) {
  return a > b;
}
VF_INLINE vm vf_ge(vf a, vf b) {
  return a >= b;
}
VF_INLINE vm vf_eq(vf a, vf b) {
  return a == b;
}
VF_INLINE vm vf_is_nan(vf a) {
  return a != a;
}
VF_INLINE bool vm_all(vm m) {
  return m != 0;
}
VF_INLINE vf vf_select(vm m, vf yes, vf no) {
  return m ? yes : no;
}
VF_INLINE void vm_store_bytes(uint8_t *p, vm m) {
  *p = m != 0;
}
VF_INLINE vm vm_load_bytes(const uint8_t *p) {
  return *p != 0;
}
VF_INLINE vi vf_to_int(vf a) {
  const float r = vf_round(a);
  if (!(r >= -2147483648.0f && r < 2147483648.0f)) return INT32_MIN;
  return (int32_t)r;
}
VF_INLINE vf vi_to_float(vi a) {
  return (float)a;
}
VF_INLINE vi vf_bits(vf a) {
  union {
    float f;
    int32_t i;
  } u = {.f = a};
  return u.i;
}
VF_INLINE vf vi_as_float(vi a) {
  union {
    int32_t i;
    float f;
  } u = {.i = a};
  return u.f;
}
VF_INLINE vi vi_load(const int32_t *p) {
  return *p;
}
VF_INLINE void vi_store(int32_t *p, vi a) {
  *p = a;
}
VF_INLINE vi vi_load_bytes(const uint8_t *p) {
  return *p;
}
VF_INLINE vi vi_load_signed(const int8_t *p) {
  return *p;
}
VF_INLINE void vi_store_bytes(uint8_t *p, vi a) {
  *p = (uint8_t)a;
}
VF_INLINE vi vi_set(int32_t x) {
  return x;
}
VF_INLINE vi vi_add(vi a, vi b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
VF_INLINE vi vi_sub(vi a, vi b) {
  return (int32_t)((uint32_t)a - (uint32_t)b);
}
VF_INLINE vi vi_mul_short(vi a, vi b) {
  return a * b;
}
VF_INLINE vi vi_and(vi a, vi b) {
  return a & b;
}
VF_INLINE vi vi_shl(vi a, int n) {
  return (int32_t)((uint32_t)a << n);
}
VF_INLINE vi vi_sar(vi a, int n) {
  return a >> n;
}
typedef uint16_t vh;
VF_INLINE vh vh_load(const uint16_t *p) {
  return *p;
}
VF_INLINE void vh_store(uint16_t *p, vh a) {
  *p = a;
}
/* Rebiases the exponent by a product, which makes denormals normal; infinity
 * and NaN come out as numbers from 2^16 on and get their exponent back. */
VF_INLINE vf vf_of_half(vh h) {
  const int32_t a = h & 0x7fff;
  const int32_t sign = (int32_t)((uint32_t)(h & 0x8000) << 16);
  const vi r = vf_bits(vi_as_float(a << 13) * 0x1p112f);
  return vi_as_float(r | (a >= 0x7c00 ? 0x7f800000 : 0) |
                     (a > 0x7c00 ? 0x400000 : 0) | sign);
}
VF_INLINE vf vf_of_bfloat16(vh h) {
  return vi_as_float((int32_t)((uint32_t)h << 16));
}
VF_INLINE vh vh_half_of(vf f) {
  const vi bits = vf_bits(f), a = bits & 0x7fffffff;
  /* Denormal or zero: the adder rounds. */
  const vi small = vf_bits(vi_as_float(a) + 0.5f) - 0x3f000000;
  const vi normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  vi r = a < 0x38800000 ? small : normal;
  r = a >= 0x477ff000 ? 0x7c00 : r;
  r = a > 0x7f800000 ? 0x7e00 : r;
  return (vh)(r | ((bits >> 16) & 0x8000));
}
VF_INLINE vh vh_bfloat16_of(vf f) {
  const uint32_t u = (uint32_t)vf_bits(f);
  const uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (vh)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : r);
}
VF_INLINE vf vi_nibble(vi a, const int i) {
  return (float)((int32_t)((uint32_t)a << (28 - 4 * i)) >> 28);
}
VF_INLINE vf vf_permute(vf a, vi lanes) {
  (void)lanes;
  return a;
}
VF_INLINE float vf_sum(vf a) {
  return a;
}
VF_INLINE float vf_max_of(vf a) {
  return a;
}

#endif /* BSM_KERNELS_SIMD_SCALAR_H_ */
