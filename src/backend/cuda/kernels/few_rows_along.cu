// SPDX-License-Identifier: Apache-2.0
// Products of few rows, when B has the elements of k together (few_rows.cuh):
// K_LANES lanes of a warp have a column, and share k. Option besides: K_LANES: a
// power of two, 32 at most.
// grid: (blocks of columns)
#include "few_rows.cuh"

// HELD: pieces of B that a thread asks for.
enum { HELD = 4, RANGE = K_LANES * K_PIECE * HELD };

// Numbers of a row of A that belong to a piece of B.
DEVICE void load_row(const float *from, float (&x)[K_PIECE]) {
  if constexpr (K_PIECE % 4 == 0) {
#pragma unroll
    for (int e = 0; e < K_PIECE; e += 4) {
      const float4 v = *(const float4 *)(from + e);
      x[e] = v.x;
      x[e + 1] = v.y;
      x[e + 2] = v.z;
      x[e + 3] = v.w;
    }
  } else {
#pragma unroll
    for (int e = 0; e < K_PIECE; e++) x[e] = from[e];
  }
}

EARLY_KERNEL_OF(THREADS, few_rows_along, bsm_cuda_mma) {
  __shared__ __align__(16) float a[2][K_ROWS][RANGE];
  const int thread = (int)threadIdx.x, lane = thread % K_LANES;
  const int n = (int)blockIdx.x * (THREADS / K_LANES) + thread / K_LANES;
  // Which rows a lane has in the end; where there are fewer, some have the same.
  enum { OWN = spread<K_ROWS, K_LANES>::OWN };
  const int row = spread_index<K_ROWS, K_LANES>(lane, 0);
  part_of_b b[HELD];
  float sums[K_ROWS], bias = 0;
#pragma unroll
  for (int m = 0; m < K_ROWS; m++) sums[m] = 0;
  auto load_b = [&](int i, int k0) {
    const int k = k0 + (i * K_LANES + lane) * K_PIECE;
    b[i].clear();
    if (k < p.k && n < p.n) {
      b[i].load((const T *)p.b + (i64)n * p.b_column + k);
    }
  };
  if (!K_WEIGHTS) wait_for_previous();
#pragma unroll
  for (int i = 0; i < HELD; i++) load_b(i, 0);
  if (n < p.n && p.bias) bias = to_float(((const T *)p.bias)[n]);
  if (K_WEIGHTS) wait_for_previous();
  bringer<RANGE> bring;
  bring.load(p, 0, p.k);
  bring.store(a[0]);
  for (int k0 = 0, half = 0; k0 < p.k; k0 += RANGE, half ^= 1) {
    const bool more = k0 + RANGE < p.k;
    __syncthreads();
    if (more) bring.load(p, k0 + RANGE, p.k);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
#pragma unroll
      for (int m = 0; m < K_ROWS; m++) {
        float x[K_PIECE];
        load_row(&a[half][m][(i * K_LANES + lane) * K_PIECE], x);
#pragma unroll
        for (int e = 0; e < K_PIECE; e++) {
          sums[m] = fmaf(x[e], b[i].get(e), sums[m]);
        }
      }
    }
    if (more) {
#pragma unroll
      for (int i = 0; i < HELD; i++) load_b(i, k0 + RANGE);
      bring.store(a[half ^ 1]);
    }
  }
  spread_sums<K_ROWS, K_LANES / 2, 1>(sums);
#pragma unroll
  for (int i = 0; i < OWN; i++) {
    finisher finish(p, row + i, n);
    finish.bias = bias;
    finish.load_residual(p);
    finish.store(p, sums[i]);
  }
}
