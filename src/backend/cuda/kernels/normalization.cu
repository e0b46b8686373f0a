// SPDX-License-Identifier: Apache-2.0
// Layer, RMS, group and instance norm: K_GROUP threads for each set of elements
// that are normalised together. Operands: output, x, scale, bias, and the output
// on a grid of bytes. Options:
// K_OUT, K_IN, K_SCALE, K_BIAS (types); of the step: K_HAS_SCALE, K_HAS_BIAS,
// K_RMS, K_HAS_BYTES; of sizes: K_OUTER, K_INNER (loops), K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "grid.cuh"

#ifndef K_RMS
#define K_RMS p.operation
#define K_HAS_SCALE (p.address[2] != 0)
#define K_HAS_BIAS (p.address[3] != 0)
#define K_HAS_BYTES (p.address[4] != 0)
#endif
#ifndef K_OUTER
#define K_OUTER p.outer_loops
#define K_INNER p.inner_loops
#endif

typedef element<K_IN>::value value;

struct sum {
  DEVICE double operator()(double a, double b) const { return a + b; }
};

template <int GROUP>
DEVICE void run(const bsm_cuda_nested &p) {
  const grouped<GROUP> g;
  byte_grid grid;
  if (K_HAS_BYTES) grid.load(p.grid);
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 outer[5] = {0, 0, 0, 0, 0};
    seek<5>(K_OUTER, o, p.outer_sizes, p.outer_strides, outer);
    double total = 0, squares = 0;
    if (!K_RMS) {
      for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
        i64 at[2] = {outer[0], outer[1]};
        seek<2>(K_INNER, i, p.inner_sizes, p.inner_strides, at);
        total += (double)load<K_IN>(p.address[1], at[1]);
      }
      total = combine<GROUP>(total, sum()) / (double)p.inner_count;
    }
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      i64 at[2] = {outer[0], outer[1]};
      seek<2>(K_INNER, i, p.inner_sizes, p.inner_strides, at);
      const double d = (double)load<K_IN>(p.address[1], at[1]) - total;
      squares += d * d;
    }
    squares = combine<GROUP>(squares, sum()) / (double)p.inner_count;
    const value factor = (value)(1.0 / sqrt(squares + p.number));
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      i64 at[5] = {outer[0], outer[1], outer[2], outer[3], outer[4]};
      seek<5>(K_INNER, i, p.inner_sizes, p.inner_strides, at);
      value y = (value)((double)load<K_IN>(p.address[1], at[1]) - total) * factor;
      if (K_HAS_SCALE) y *= convert<value>::from(load<K_SCALE>(p.address[2], at[2]));
      if (K_HAS_BIAS) y += convert<value>::from(load<K_BIAS>(p.address[3], at[3]));
      store<K_OUT>(p.address[0], at[0], y);
      if (K_HAS_BYTES) {
        ((u8 *)p.address[4])[at[4]] =
            grid.place((float)load<K_OUT>(p.address[0], at[0]));
      }
    }
  }
}

KERNEL(normalization, bsm_cuda_nested) { RUN_GROUPED(run, p); }
