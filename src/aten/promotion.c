/* SPDX-License-Identifier: Apache-2.0 */
/* dtype classes, PyTorch's type promotion, and floats of 16 and 8 bits. */
#include <string.h>

#include "aten/tensor.h"

bool bsm_dtype_is_floating(bsm_dtype d) {
  return (d >= BSM_DTYPE_HALF && d <= BSM_DTYPE_DOUBLE) ||
         d == BSM_DTYPE_BFLOAT16 || bsm_dtype_is_float8(d);
}

bool bsm_dtype_is_float8(bsm_dtype d) {
  return d == BSM_DTYPE_FLOAT8_E5M2 || d == BSM_DTYPE_FLOAT8_E4M3FN;
}

bool bsm_dtype_is_complex(bsm_dtype d) {
  return d >= BSM_DTYPE_COMPLEX_HALF && d <= BSM_DTYPE_COMPLEX_DOUBLE;
}

bool bsm_dtype_is_integral(bsm_dtype d, bool include_bool) {
  return (d >= BSM_DTYPE_UINT8 && d <= BSM_DTYPE_INT64) ||
         (include_bool && d == BSM_DTYPE_BOOL);
}

bsm_dtype bsm_dtype_value_type(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_COMPLEX_HALF:
      return BSM_DTYPE_HALF;
    case BSM_DTYPE_COMPLEX_FLOAT:
      return BSM_DTYPE_FLOAT;
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return BSM_DTYPE_DOUBLE;
    default:
      return d;
  }
}

bsm_dtype bsm_dtype_complex_type(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_COMPLEX_HALF:
      return BSM_DTYPE_COMPLEX_HALF;
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_COMPLEX_FLOAT:
      return BSM_DTYPE_COMPLEX_FLOAT;
    case BSM_DTYPE_DOUBLE:
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return BSM_DTYPE_COMPLEX_DOUBLE;
    default:
      return BSM_DTYPE_UNDEFINED;
  }
}

/* The rank of a dtype among those that promote: -1 for the others. */
static int promotion_index(bsm_dtype d) {
  if (d >= BSM_DTYPE_UINT8 && d <= BSM_DTYPE_COMPLEX_DOUBLE) return (int)d;
  if (d == BSM_DTYPE_BOOL) return 11;
  if (d == BSM_DTYPE_BFLOAT16) return 12;
  return -1;
}

#define U1 BSM_DTYPE_UINT8
#define I1 BSM_DTYPE_INT8
#define I2 BSM_DTYPE_INT16
#define I4 BSM_DTYPE_INT32
#define I8 BSM_DTYPE_INT64
#define F2 BSM_DTYPE_HALF
#define F4 BSM_DTYPE_FLOAT
#define F8 BSM_DTYPE_DOUBLE
#define C2 BSM_DTYPE_COMPLEX_HALF
#define C4 BSM_DTYPE_COMPLEX_FLOAT
#define C8 BSM_DTYPE_COMPLEX_DOUBLE
#define B1 BSM_DTYPE_BOOL
#define BF BSM_DTYPE_BFLOAT16

bsm_dtype bsm_promote_types(bsm_dtype a, bsm_dtype b) {
  static const uint8_t table[13][13] = {
      /*       u1  i1  i2  i4  i8  f2  f4  f8  c2  c4  c8  b1  bf */
      /* u1 */ {U1, I2, I2, I4, I8, F2, F4, F8, C2, C4, C8, U1, BF},
      /* i1 */ {I2, I1, I2, I4, I8, F2, F4, F8, C2, C4, C8, I1, BF},
      /* i2 */ {I2, I2, I2, I4, I8, F2, F4, F8, C2, C4, C8, I2, BF},
      /* i4 */ {I4, I4, I4, I4, I8, F2, F4, F8, C2, C4, C8, I4, BF},
      /* i8 */ {I8, I8, I8, I8, I8, F2, F4, F8, C2, C4, C8, I8, BF},
      /* f2 */ {F2, F2, F2, F2, F2, F2, F4, F8, C2, C4, C8, F2, F4},
      /* f4 */ {F4, F4, F4, F4, F4, F4, F4, F8, C4, C4, C8, F4, F4},
      /* f8 */ {F8, F8, F8, F8, F8, F8, F8, F8, C8, C8, C8, F8, F8},
      /* c2 */ {C2, C2, C2, C2, C2, C2, C4, C8, C2, C4, C8, C2, C4},
      /* c4 */ {C4, C4, C4, C4, C4, C4, C4, C8, C4, C4, C8, C4, C4},
      /* c8 */ {C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8},
      /* b1 */ {U1, I1, I2, I4, I8, F2, F4, F8, C2, C4, C8, B1, BF},
      /* bf */ {BF, BF, BF, BF, BF, F4, F4, F8, C4, C4, C8, BF, BF},
  };
  if (a == b) return a;
  const int i = promotion_index(a), j = promotion_index(b);
  if (i < 0 || j < 0) return BSM_DTYPE_UNDEFINED;
  return (bsm_dtype)table[i][j];
}

static uint32_t float_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof(bits));
  return bits;
}

static float bits_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof(v));
  return v;
}

float bsm_half_to_float(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return bits_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) {
    return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
  }
  /* Zero or subnormal: the mantissa counts units of 2^-24. */
  const float magnitude = (float)mantissa * 0x1p-24f;
  return bits_float(sign | float_bits(magnitude));
}

/* Without branches, so that loops of it become vectors. */
static inline uint16_t half_of(float value) {
  const uint32_t bits = float_bits(value);
  const int32_t magnitude = (int32_t)(bits & 0x7fffffffu);
  const uint32_t kept = (uint32_t)magnitude >> 13;
  /* To nearest, ties to even; a carry goes on into the exponent. */
  const uint32_t normal =
      ((uint32_t)magnitude + 0xfffu + (kept & 1u) - (112u << 23)) >> 13;
  /* Half a unit of this sum is half a unit of 2^-24, so it rounds to them. */
  const float shifted = bits_float((uint32_t)magnitude) + 0.5f;
  const uint32_t subnormal = float_bits(shifted) - float_bits(0.5f);
  uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x47800000 ? 0x7c00u : half;
  /* NaN: keep what fits of the payload. */
  half = magnitude > 0x7f800000 ? 0x7e00u | (kept & 0x3ffu) : half;
  return (uint16_t)((bits >> 16 & 0x8000u) | half);
}

uint16_t bsm_float_to_half(float value) {
  return half_of(value);
}

void bsm_floats_to_half(const float *values, size_t count, uint16_t *halves) {
  enum { BLOCK = 64 }; /* known to the compiler, which makes vectors of it */
  for (; count >= BLOCK; count -= BLOCK, values += BLOCK, halves += BLOCK) {
    for (int i = 0; i < BLOCK; i++) halves[i] = half_of(values[i]);
  }
  for (size_t i = 0; i < count; i++) halves[i] = half_of(values[i]);
}

float bsm_bfloat16_to_float(uint16_t bits) {
  return bits_float((uint32_t)bits << 16);
}

uint16_t bsm_float_to_bfloat16(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0; /* as c10 */
  const uint32_t round = 0x7fffu + ((bits >> 16) & 1u);
  return (uint16_t)((bits + round) >> 16);
}

float bsm_float8_to_float(bsm_dtype dtype, uint8_t bits) {
  /* The upper half of a float16. */
  if (dtype == BSM_DTYPE_FLOAT8_E5M2) {
    return bsm_half_to_float((uint16_t)(bits << 8));
  }
  const uint32_t sign = (uint32_t)(bits & 0x80u) << 24;
  const uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7f) return bits_float(sign | 0x7fc00000u);
  if (magnitude >= 8) {
    return bits_float(sign | ((magnitude << 20) + 0x3c000000u));
  }
  return bits_float(sign | float_bits((float)magnitude * 0x1p-9f));
}

uint8_t bsm_float_to_float8(bsm_dtype dtype, float value) {
  const bool wide = dtype == BSM_DTYPE_FLOAT8_E5M2; /* in exponents */
  const uint32_t shift = wide ? 21 : 20;
  const uint32_t least = (wide ? 113u : 121u) << 23; /* of normal numbers */
  const uint32_t bits = float_bits(value), sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) return (uint8_t)(sign | 0x7f);
  if (magnitude < least) { /* the adder rounds to whole units of the last bit */
    const float units = wide ? 0x1p7f : 0x1p14f;
    result = float_bits(bits_float(magnitude) + units) - float_bits(units);
  } else {
    const uint32_t odd = magnitude >> shift & 1u;
    result =
        (magnitude - (least - (1u << 23)) + (1u << (shift - 1)) - 1 + odd) >>
        shift;
  }
  /* What is too great is infinite, or NaN where there are no infinities. */
  const uint32_t most = wide ? 0x7c : 0x7f;
  return (uint8_t)(sign | (result < most ? result : most));
}
