// SPDX-License-Identifier: Apache-2.0
// Products of at most 4 rows:
//   y[m, n] = act(scale * sum_k A[m, k] B[k, n] + bias[n] + residual[m, n])
// Such a product takes as long as reading B. So threads ask for all of B that
// they can hold before they use any: of weights before the kernel ahead has
// ended. A comes to shared memory, RANGE
// of k at a time, to one half while the other is read. Sums are in float, in a
// fixed order. Options: K_T; K_ACTIVATION; K_ROWS: 1, 2 or 4; K_PIECE: elements
// of B that are loaded at once; K_A: the same of A; K_WEIGHTS: 1: B and the bias
// are there before the kernel begins; K_Y: the type of y, where that is another.
#pragma once
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "pieces.cuh"
#include "sums.cuh"

#ifndef K_Y
#define K_Y K_T
#endif

typedef K_T T;
typedef piece<T, K_PIECE> part_of_b;

enum { THREADS = 256 };

// What a thread brings of all rows to shared memory, RANGE of k at a time: zeros
// where there are none.
template <int RANGE>
struct bringer {
  enum {
    PIECES = K_ROWS * RANGE / K_A,
    OWN = (PIECES + THREADS - 1) / THREADS,
    IN_ROW = RANGE / K_A
  };
  piece<T, K_A> own[OWN];

  // From k0 on, of what lies before `end`.
  DEVICE void load(const bsm_cuda_mma &p, int k0, int end) {
#pragma unroll
    for (int j = 0; j < OWN; j++) {
      const int i = (int)threadIdx.x + j * THREADS;
      const int m = i / IN_ROW, k = k0 + i % IN_ROW * K_A;
      own[j].clear();
      if (m < p.m && k < end) {
        own[j].load((const T *)p.a + m * p.a_row + k * p.a_column);
      }
    }
  }
  DEVICE void store(float (*to)[RANGE]) const {
#pragma unroll
    for (int j = 0; j < OWN; j++) {
      const int i = (int)threadIdx.x + j * THREADS;
      if (PIECES % THREADS && i >= PIECES) continue;
#pragma unroll
      for (int e = 0; e < K_A; e++) {
        to[i / IN_ROW][i % IN_ROW * K_A + e] = own[j].get(e);
      }
    }
  }
};

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
    ((K_Y *)p.y)[m * p.y_row + n] =
        from_float<K_Y>(activate(K_ACTIVATION, x, p.alpha, p.beta));
  }
};
