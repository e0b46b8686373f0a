// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax along one axis: K_GROUP threads for each row. Options:
// K_FROM, K_TO; of the step: K_LOG; of sizes: K_OUTER (loops), K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_LOG
#define K_LOG p.operation
#endif
#ifndef K_OUTER
#define K_OUTER p.outer_loops
#endif

typedef element<K_FROM>::value value;

struct largest {
  DEVICE value operator()(value a, value b) const {
    return a != a || a > b ? a : b;
  }
};
struct sum {
  DEVICE double operator()(double a, double b) const { return a + b; }
};

DEVICE float exponential(float x) { return expf(x); }
DEVICE double exponential(double x) { return exp(x); }
DEVICE float logarithm(float x) { return logf(x); }
DEVICE double logarithm(double x) { return log(x); }

template <int GROUP>
DEVICE void run(const bsm_cuda_nested &p) {
  const grouped<GROUP> g;
  const i64 x_stride = p.inner_strides[1][0], y_stride = p.inner_strides[0][0];
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 at[2] = {0, 0};
    seek<2>(K_OUTER, o, p.outer_sizes, p.outer_strides, at);
    value most = load<K_FROM>(p.address[1], at[1]);
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      most = largest()(most, load<K_FROM>(p.address[1], at[1] + i * x_stride));
    }
    most = combine<GROUP>(most, largest());
    double total_sum = 0;
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      total_sum += (double)exponential(
          load<K_FROM>(p.address[1], at[1] + i * x_stride) - most);
    }
    const value total = (value)combine<GROUP>(total_sum, sum());
    const value shift = K_LOG ? most + logarithm(total) : most;
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      const value x = load<K_FROM>(p.address[1], at[1] + i * x_stride);
      const value y = K_LOG ? (x - most) - logarithm(total)
                          : exponential(x - shift) / total;
      store<K_TO>(p.address[0], at[0] + i * y_stride, y);
    }
  }
}

KERNEL(softmax, bsm_cuda_nested) { RUN_GROUPED(run, p); }
