// SPDX-License-Identifier: Apache-2.0
// What sums of bytes become: v = (sum + offset) * scale + bias + residual,
// activated; stored as a float, half or bfloat16, or on the grid of the output.
// Each operation is rounded, in this order, as on CPUs: kernels are compiled with
// --fmad=false. Activations are those of activate_sum, whose error no byte shows
// but next to a tie. K_ACTIVATION and K_RESIDUAL (bsm_cuda_int8_numbers) are options,
// or parameters; K_OFFSETS: 0: all offsets are zero. K_FP8: 1: bytes are e4m3,
// and sums are floats.
#pragma once

#ifndef K_FP8
#define K_FP8 0
#endif
#ifndef K_OFFSETS
#define K_OFFSETS !K_FP8
#endif

#if K_FP8
typedef e4m3 byte_of_a, byte_of_b;
typedef float sum_of_bytes;
#else
typedef u8 byte_of_a;
typedef i8 byte_of_b;
typedef i32 sum_of_bytes;
#endif

enum { NO_NUMBERS, BYTES, FLOATS, HALVES, BFLOATS };

// Of one map.
struct int8_column {
  float scale, bias;
  i32 offset;

  DEVICE int8_column() : scale(0), bias(0), offset(0) {}
  DEVICE void load(const bsm_cuda_int8_end &e, int map) {
    const float *columns = (const float *)e.columns;
    scale = columns[map];
    bias = columns[e.maps + map];
    if (K_OFFSETS) offset = ((const i32 *)e.offsets)[map];
  }
  DEVICE float scaled(i32 sum) const {
    return (float)(i32)((u32)sum + (u32)offset) * scale + bias;
  }
  DEVICE float scaled(float sum) const { return sum * scale + bias; }
};

// COUNT columns beside each other, 2 or a multiple of 4, the first of which is
// such a multiple itself, as is the number of all maps.
template <int COUNT>
DEVICE void load_columns(const bsm_cuda_int8_end &e, int map,
                         int8_column *columns) {
  constexpr int SOME = COUNT == 2 ? 2 : 4;
  struct __align__(4 * SOME) floats { float at[SOME]; };
  struct __align__(4 * SOME) integers { i32 at[SOME]; };
  const float *scales = (const float *)e.columns + map;
#pragma unroll
  for (int i = 0; i < COUNT; i += SOME) {
    const floats scale = *(const floats *)(scales + i);
    const floats bias = *(const floats *)(scales + e.maps + i);
    integers offset = {};
    if (K_OFFSETS) {
      offset = *(const integers *)((const i32 *)e.offsets + map + i);
    }
#pragma unroll
    for (int j = 0; j < SOME; j++) {
      columns[i + j].scale = scale.at[j];
      columns[i + j].bias = bias.at[j];
      columns[i + j].offset = offset.at[j];
    }
  }
}

DEVICE float residual_of_byte(const bsm_cuda_int8_end &e, int x) {
  if (K_FP8) return to_float(e4m3{(u8)x}) * e.residual_scale;
  return (float)(x - e.residual_zero) * e.residual_scale;
}

// Of HALVES or BFLOATS.
template <int KIND>
DEVICE float number_of_bits(u16 bits) {
  if constexpr (KIND == HALVES) return to_float(f16{bits});
  return to_float(bf16{bits});
}

// The number of an element of the residual.
DEVICE float load_residual(const bsm_cuda_int8_end &e, int kind, u64 residual,
                           i64 at) {
  switch (kind) {
    case FLOATS: return ((const float *)residual)[at];
    case HALVES: return to_float(((const f16 *)residual)[at]);
    case BFLOATS: return to_float(((const bf16 *)residual)[at]);
    default: return residual_of_byte(e, ((const u8 *)residual)[at]);
  }
}

// The byte of a value, half to even; a NaN becomes the least, or stays one where
// bytes have it.
DEVICE u32 on_grid(const bsm_cuda_int8_end &e, float v) {
  if (K_FP8) return saturate_e4m3(v * e.y_inverse).bits;
  const float least = (float)(e.least - e.y_zero);
  const float greatest = (float)(e.greatest - e.y_zero);
  v = fminf(fmaxf(v * e.y_inverse, least), greatest);
  // A sum beside 3 * 2^22 is rounded to a whole number, which its last bits are:
  // with fewer cycles than a conversion takes.
  return (u32)(__float_as_int(v + 12582912.0f) - 0x4b400000 + e.y_zero);
}

// What is stored of a value.
template <class T>
DEVICE T result_of(const bsm_cuda_int8_end &, float v) {
  return from_float<T>(v);
}
template <>
DEVICE u8 result_of<u8>(const bsm_cuda_int8_end &e, float v) {
  return (u8)on_grid(e, v);
}
template <>
DEVICE e4m3 result_of<e4m3>(const bsm_cuda_int8_end &e, float v) {
  return {(u8)on_grid(e, v)};
}
