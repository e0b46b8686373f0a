/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16, one element at a time without branches, so that the
 * compiler uses the vectors that every machine has. */
#include "backend/cpu/kernels/convert/half_convert.h"

typedef union bits32 {
  float f;
  int32_t i;
} bits32;

/* Rebiases the exponent by a product, which makes denormals normal; infinity
 * and NaN come out as numbers from 2^16 on and get their exponent back. */
static inline float half_to_float(uint16_t h) {
  const int32_t a = h & 0x7fff;
  const int32_t sign = (int32_t)((uint32_t)(h & 0x8000) << 16);
  bits32 r = {.i = a << 13};
  r.f *= 0x1p112f;
  r.i |= (a >= 0x7c00 ? 0x7f800000 : 0) | (a > 0x7c00 ? 0x400000 : 0) | sign;
  return r.f;
}

static inline uint16_t float_to_half(float f) {
  bits32 v = {.f = f};
  const int32_t sign = (v.i >> 16) & 0x8000;
  v.i &= 0x7fffffff;
  const int32_t a = v.i;
  /* Denormal or zero: the adder rounds. */
  bits32 small = {.f = v.f + 0.5f};
  small.i -= 0x3f000000;
  const int32_t normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  int32_t r = a < 0x38800000 ? small.i : normal;
  r = a >= 0x477ff000 ? 0x7c00 : r;
  r = a > 0x7f800000 ? 0x7e00 : r;
  return (uint16_t)(r | sign);
}

static inline float bfloat_to_float(uint16_t h) {
  const bits32 v = {.i = (int32_t)((uint32_t)h << 16)};
  return v.f;
}

static inline uint16_t float_to_bfloat(float f) {
  const bits32 v = {.f = f};
  const uint32_t u = (uint32_t)v.i;
  const uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (uint16_t)((v.i & 0x7fffffff) > 0x7f800000 ? 0x7fc0u : r);
}

static void widen_half(const uint16_t *from, int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) to[i] = half_to_float(from[i]);
}

static void narrow_half(const float *from, int64_t n, uint16_t *to) {
  for (int64_t i = 0; i < n; i++) to[i] = float_to_half(from[i]);
}

static void round_half(const float *from, int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) {
    to[i] = half_to_float(float_to_half(from[i]));
  }
}

static void widen_bfloat(const uint16_t *from, int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) to[i] = bfloat_to_float(from[i]);
}

static void narrow_bfloat(const float *from, int64_t n, uint16_t *to) {
  for (int64_t i = 0; i < n; i++) to[i] = float_to_bfloat(from[i]);
}

static void round_bfloat(const float *from, int64_t n, float *to) {
  for (int64_t i = 0; i < n; i++) {
    to[i] = bfloat_to_float(float_to_bfloat(from[i]));
  }
}

const bsm_k_convert bsm_k_convert_scalar = {widen_half,  widen_bfloat,
                                            narrow_half, narrow_bfloat,
                                            round_half,  round_bfloat};
