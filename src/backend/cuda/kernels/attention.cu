// SPDX-License-Identifier: Apache-2.0
// out = softmax(mask(scale Q K^T)) V: a block for each query. Keys are taken in
// chunks of one for each thread; what was summed is scaled down when a chunk
// has a greater score. Options: K_T; of the step: K_BIASES, K_MASK (0, 1:
// keep, 2: hide), K_CAUSAL, K_CLEARS; of sizes: K_HEADS (loops), K_COLUMNS (sums
// of a thread).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_BIASES
#define K_BIASES p.biases
#define K_MASK p.mask
#define K_CAUSAL p.causal
#define K_CLEARS p.clears
#endif
#ifndef K_HEADS
#define K_HEADS p.loops
#define K_COLUMNS 8
#endif

enum { OUT, Q, K, V, BIAS, MASK = BIAS + 2, OPERANDS, THREADS = 128 };

typedef element<K_T>::value value;

struct largest {
  DEVICE value operator()(value a, value b) const {
    return a != a || a > b ? a : b;
  }
};
struct sum {
  DEVICE value operator()(value a, value b) const { return a + b; }
};
DEVICE float exponential(float x) { return expf(x); }
DEVICE double exponential(double x) { return exp(x); }

KERNEL_OF(THREADS, attention, bsm_cuda_attention) {
  __shared__ value weights[THREADS];
  const i64 rows = p.heads * p.queries;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const i64 query = r % p.queries;
    i64 at[OPERANDS] = {};
    seek<OPERANDS>(K_HEADS, r / p.queries, p.head_sizes, p.head_strides, at);
    for (int k = 0; k < OPERANDS; k++) {
      if (k != K && k != V) at[k] += query * p.row[k];
    }
    value most = lowest(value()), total = 0;
    value mine[K_COLUMNS] = {};
    // A causal query sees the keys up to its diagonal.
    i64 seen = p.keys;
    if (K_CAUSAL) {
      seen = query + p.diagonal + 1;
      seen = seen < 0 ? 0 : seen > p.keys ? p.keys : seen;
    }
    for (i64 first = 0; first < seen; first += THREADS) {
      const i64 key = first + threadIdx.x;
      value score = lowest(value());
      if (key < seen) {
        value dot = 0;
        for (i64 e = 0; e < p.depth; e++) {
          dot = add_product(
              dot, load<K_T>(p.address[Q], at[Q] + e * p.column[Q]),
              load<K_T>(p.address[K],
                        at[K] + key * p.row[K] + e * p.column[K]));
        }
        score = dot * (value)p.scale;
        for (int b = 0; b < K_BIASES; b++) {
          score += load<K_T>(p.address[BIAS + b],
                             at[BIAS + b] + key * p.column[BIAS + b]);
        }
        if (K_MASK) {
          const bool m = load<bool>(p.address[MASK], at[MASK] + key * p.column[MASK]);
          if (m == (K_MASK == 2)) score = (value)p.fill;
        }
      }
      const value greatest = largest()(most, combine<THREADS>(score, largest()));
      // All of them -inf: the differences would be NaN.
      const value base = greatest == lowest(value()) ? 0 : greatest;
      const value shrink = most == lowest(value()) ? 0 : exponential(most - base);
      const value w = key < seen ? exponential(score - base) : 0;
      most = greatest;
      total = add_product(combine<THREADS>(w, sum()), total, shrink);
      weights[threadIdx.x] = w;
      __syncthreads();
      const i64 here = seen - first < THREADS ? seen - first : THREADS;
#pragma unroll
      for (int c = 0; c < K_COLUMNS; c++) {
        const i64 column = threadIdx.x + (i64)c * THREADS;
        if (column >= p.width) continue;
        value s = mine[c] * shrink;
        for (i64 k = 0; k < here; k++) {
          s = add_product(s, weights[k],
                          load<K_T>(p.address[V], at[V] +
                                                      (first + k) * p.row[V] +
                                                      column * p.column[V]));
        }
        mine[c] = s;
      }
      __syncthreads();
    }
#pragma unroll
    for (int c = 0; c < K_COLUMNS; c++) {
      const i64 column = threadIdx.x + (i64)c * THREADS;
      if (column >= p.width) continue;
      // Without keys, PyTorch multiplies nothing with nothing.
      const bool clears = p.keys == 0 || (K_CLEARS && total == 0);
      const value y = clears ? (value)0 : mine[c] / total;
      store<K_T>(p.address[OUT], at[OUT] + column * p.column[OUT], y);
    }
  }
}
