// SPDX-License-Identifier: Apache-2.0
// Layer and RMS norm of rows that lie together and are short: each thread keeps
// its part of a row in registers, so that memory is read once. Operands:
// output, x, scale, bias. Options: K_OUT, K_IN, K_SCALE, K_BIAS (types of what
// is computed in float), K_HAS_SCALE, K_HAS_BIAS, K_RMS, K_GROUP (threads
// of a row), K_HELD (elements of a thread); of sizes: K_OUTER (loops over
// rows).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_OUTER
#define K_OUTER p.outer_loops
#endif

struct sum {
  DEVICE float operator()(float a, float b) const { return a + b; }
};

KERNEL(row_normalization, bsm_cuda_nested) {
  const grouped<K_GROUP> g;
  const i64 scale_stride = p.inner_strides[2][0];
  const i64 bias_stride = p.inner_strides[3][0];
  const int count = (int)p.inner_count;
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 at[4] = {0, 0, 0, 0};
    seek<4>(K_OUTER, o, p.outer_sizes, p.outer_strides, at);
    float x[K_HELD], total = 0, squares = 0;
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      const int i = g.rank + j * K_GROUP;
      x[j] = i < count ? load<K_IN>(p.address[1], at[1] + i) : 0;
      total += x[j];
    }
    const float mean =
        K_RMS ? 0 : combine<K_GROUP>(total, sum()) / (float)count;
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      const float d = g.rank + j * K_GROUP < count ? x[j] - mean : 0;
      x[j] = d;
      squares += d * d;
    }
    squares = combine<K_GROUP>(squares, sum()) / (float)count;
    const float factor = 1.0f / sqrtf(squares + (float)p.number);
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      const int i = g.rank + j * K_GROUP;
      if (i >= count) continue;
      float y = x[j] * factor;
      if (K_HAS_SCALE) y *= load<K_SCALE>(p.address[2], at[2] + i * scale_stride);
      if (K_HAS_BIAS) y += load<K_BIAS>(p.address[3], at[3] + i * bias_stride);
      store<K_OUT>(p.address[0], at[0] + i, y);
    }
  }
}
