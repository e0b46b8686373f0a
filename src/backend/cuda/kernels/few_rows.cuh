// SPDX-License-Identifier: Apache-2.0
// Products of at most 4 rows:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// Such a product takes as long as reading B. So threads ask for all of B that
// they can hold before they use any: of weights before the kernel ahead has
// ended. A comes to shared memory, RANGE of k at a time. Sums are in float, in a
// fixed order. Options: K_T; K_ACTIVATION; K_ROWS: 1, 2 or 4; K_PIECE: elements
// of B that are loaded at once; K_A: the same of A; K_WEIGHTS: 1: B and the bias
// are there before the kernel begins.
#pragma once
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "pieces.cuh"
#include "sums.cuh"

typedef K_T T;
typedef piece<T, K_PIECE> part_of_b;

enum { THREADS = 256 };

// k0 to k0 + RANGE of all rows, zeros where there are none.
template <int RANGE>
DEVICE void bring_a(const bsm_cuda_mma &p, int k0, float (*to)[RANGE]) {
  const T *a = (const T *)p.a;
#pragma unroll 4
  for (int i = (int)threadIdx.x; i < K_ROWS * RANGE / K_A; i += THREADS) {
    const int m = i / (RANGE / K_A), at = i % (RANGE / K_A) * K_A, k = k0 + at;
    piece<T, K_A> x;
    x.clear();
    if (m < p.m && k < p.k) x.load(a + m * p.a_row + k * p.a_column);
#pragma unroll
    for (int e = 0; e < K_A; e++) to[m][at + e] = x.get(e);
  }
}

// One number of the output, and what is added to its sum.
struct finisher {
  int m, n;
  bool makes;
  float bias, residual;

  DEVICE finisher(const bsm_cuda_mma &p, int m_, int n_)
      : m(m_), n(n_), makes(m_ < p.m && n_ < p.n), bias(0), residual(0) {}
  DEVICE void load_bias(const bsm_cuda_mma &p) {
    if (makes && p.bias) bias = to_float(((const T *)p.bias)[n]);
  }
  DEVICE void load_residual(const bsm_cuda_mma &p) {
    if (!makes || !p.residual) return;
    residual = to_float(((const T *)p.residual)[m * p.residual_row +
                                                n * p.residual_column]);
  }
  DEVICE void store(const bsm_cuda_mma &p, float sum) const {
    const float x = sum * p.scale + bias + residual;
    if (!makes) return;
    ((T *)p.y)[m * p.y_row + n] =
        from_float<T>(activate(K_ACTIVATION, x, p.alpha, p.beta));
  }
};
