// SPDX-License-Identifier: Apache-2.0
// What sums of bytes become: v = (sum + offset) * scale + bias + residual,
// activated; stored as a float, half or bfloat16, or on the grid of the output.
// Each operation is rounded, in this order, as on CPUs: kernels are compiled with
// --fmad=false. K_ACTIVATION and K_RESIDUAL (bsm_cuda_int8_numbers) are options,
// or parameters; K_OFFSETS: 0: all offsets are zero.
#pragma once

#ifndef K_OFFSETS
#define K_OFFSETS 1
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

// Half to even; a NaN becomes the least.
DEVICE u32 on_grid(const bsm_cuda_int8_end &e, float v) {
  const float least = (float)(e.least - e.y_zero);
  const float greatest = (float)(e.greatest - e.y_zero);
  v = fminf(fmaxf(v * e.y_inverse, least), greatest);
  return (u32)(__float2int_rn(v) + e.y_zero);
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
