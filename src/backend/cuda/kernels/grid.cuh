// SPDX-License-Identifier: Apache-2.0
// Values on the grid of bytes that a QUANTIZE layer has, whose numbers are
// floats in memory: the reciprocal of the scale, the zero point, the range. Where
// that begins below zero, bytes are e4m3, and it is all of them.
#pragma once

struct byte_grid {
  float inverse, zero, least, greatest;

  DEVICE void load(u64 address) {
    const float *numbers = (const float *)address;
    inverse = numbers[0];
    zero = numbers[1];
    least = numbers[2];
    greatest = numbers[3];
  }
  // Half to even; a NaN becomes the least, or stays one where bytes have it.
  DEVICE u8 place(float v) const {
    if (least < 0) return saturate_e4m3(v * inverse).bits;
    v = fminf(fmaxf(v * inverse, least - zero), greatest - zero);
    return (u8)(__float2int_rn(v) + (i32)zero);
  }
};
