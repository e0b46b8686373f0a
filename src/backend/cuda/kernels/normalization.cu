// SPDX-License-Identifier: Apache-2.0
// Layer, K_RMS, group and instance norm: K_GROUP threads for each set of elements
// that are normalised together. Operands: output, x, scale, bias. Options: K_OUT,
// K_IN, K_SCALE, K_BIAS (types), K_HAS_SCALE, K_HAS_BIAS, K_RMS, K_OUTER, K_INNER (loops),
// K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

typedef element<K_IN>::value value;

struct sum {
  DEVICE double operator()(double a, double b) const { return a + b; }
};

KERNEL(normalization, bsm_cuda_nested) {
  const grouped<K_GROUP> g;
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 outer[4] = {0, 0, 0, 0};
    seek<K_OUTER, 4>(o, p.outer_sizes, p.outer_strides, outer);
    double total = 0, squares = 0;
    if (!K_RMS) {
      for (i64 i = g.rank; i < p.inner_count; i += K_GROUP) {
        i64 at[4] = {outer[0], outer[1], outer[2], outer[3]};
        seek<K_INNER, 2>(i, p.inner_sizes, p.inner_strides, at);
        total += (double)load<K_IN>(p.address[1], at[1]);
      }
      total = combine<K_GROUP>(total, sum()) / (double)p.inner_count;
    }
    for (i64 i = g.rank; i < p.inner_count; i += K_GROUP) {
      i64 at[4] = {outer[0], outer[1], outer[2], outer[3]};
      seek<K_INNER, 2>(i, p.inner_sizes, p.inner_strides, at);
      const double d = (double)load<K_IN>(p.address[1], at[1]) - total;
      squares += d * d;
    }
    squares = combine<K_GROUP>(squares, sum()) / (double)p.inner_count;
    const value factor = (value)(1.0 / sqrt(squares + p.number));
    for (i64 i = g.rank; i < p.inner_count; i += K_GROUP) {
      i64 at[4] = {outer[0], outer[1], outer[2], outer[3]};
      seek<K_INNER, 4>(i, p.inner_sizes, p.inner_strides, at);
      value y = (value)((double)load<K_IN>(p.address[1], at[1]) - total) * factor;
      if (K_HAS_SCALE) y *= convert<value>::from(load<K_SCALE>(p.address[2], at[2]));
      if (K_HAS_BIAS) y += convert<value>::from(load<K_BIAS>(p.address[3], at[3]));
      store<K_OUT>(p.address[0], at[0], convert<element<K_OUT>::value>::from(y));
    }
  }
}
