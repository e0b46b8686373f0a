// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax of short rows: each thread keeps its part of a row in
// registers, so that memory is read once. Options: K_FROM, K_TO (types of what
// is computed in float), K_LOG, K_GROUP (threads of a row), K_HELD
// (elements of a thread); of sizes: K_OUTER (loops over rows).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_OUTER
#define K_OUTER p.outer_loops
#endif

struct largest {
  DEVICE float operator()(float a, float b) const {
    return a != a || a > b ? a : b;
  }
};
struct sum {
  DEVICE float operator()(float a, float b) const { return a + b; }
};

KERNEL(row_softmax, bsm_cuda_nested) {
  const grouped<K_GROUP> g;
  const i64 x_stride = p.inner_strides[1][0], y_stride = p.inner_strides[0][0];
  const int count = (int)p.inner_count;
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 at[2] = {0, 0};
    seek<2>(K_OUTER, o, p.outer_sizes, p.outer_strides, at);
    float x[K_HELD], most = lowest(0.0f), total = 0;
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      const int i = g.rank + j * K_GROUP;
      x[j] = i < count ? load<K_FROM>(p.address[1], at[1] + i * x_stride)
                       : lowest(0.0f);
      most = largest()(most, x[j]);
    }
    most = combine<K_GROUP>(most, largest());
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      x[j] = x[j] - most;
      // Of a row of -inf the differences are NaN; what is no element is not.
      if (g.rank + j * K_GROUP < count) total += expf(x[j]);
    }
    total = combine<K_GROUP>(total, sum());
    const float log_total = K_LOG ? logf(total) : 0;
#pragma unroll
    for (int j = 0; j < K_HELD; j++) {
      const int i = g.rank + j * K_GROUP;
      if (i >= count) continue;
      store<K_TO>(p.address[0], at[0] + i * y_stride,
                  K_LOG ? x[j] - log_total : expf(x[j]) / total);
    }
  }
}
