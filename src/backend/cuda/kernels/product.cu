// SPDX-License-Identifier: Apache-2.0
// Products of matrices with any strides: out = act(scale A B + bias +
// residual). A block makes a tile of one matrix. Options: K_T, K_Y (of
// the output, where it is not K_T); of the step: K_ACTIVATION; of sizes: K_LOOPS
// (over matrices), K_A_ROWS, K_B_ROWS (1: memory goes along the rows).
#ifndef K_ACTIVATION
#define CODES_VARY
#endif
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "tile.cuh"

#ifndef K_Y
#define K_Y K_T
#endif
#ifndef K_ACTIVATION
#define K_ACTIVATION (int)p.activation
#endif
#ifndef K_LOOPS
#define K_LOOPS (int)p.loops
#define K_A_ROWS (p.a_column <= p.a_row)
#define K_B_ROWS (p.b_column <= p.b_row)
#endif

typedef element<K_T>::value value;

KERNEL_OF(TILE_THREADS, product, bsm_cuda_product) {
  __shared__ tiles<value> t;
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  const i64 across = (p.n + TILE_N - 1) / TILE_N;
  const i64 m0 = blockIdx.x / across * TILE_M, n0 = blockIdx.x % across * TILE_N;
  i64 batches = 1;
  for (int i = 0; i < K_LOOPS; i++) batches *= p.batch_sizes[i];
  for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
    i64 a0 = 0, b0 = 0, y0 = 0, r0 = 0, rest = batch;
    UNROLL_LOOPS
    for (int i = K_LOOPS - 1; i >= 0; i--) {
      const i64 at = rest % p.batch_sizes[i];
      rest /= p.batch_sizes[i];
      a0 += at * p.a_batch[i];
      b0 += at * p.b_batch[i];
      y0 += at * p.y_batch[i];
      r0 += at * p.residual_batch[i];
    }
    value sum[4][4] = {};
    for (i64 k0 = 0; k0 < p.k; k0 += TILE_K) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int at = threadIdx.x + TILE_THREADS * i;
        const int am = K_A_ROWS ? at / TILE_K : at % TILE_M;
        const int ak = K_A_ROWS ? at % TILE_K : at / TILE_M;
        const bool a_in = m0 + am < p.m && k0 + ak < p.k;
        t.a[ak][am] = a_in ? load<K_T>(p.a, a0 + (m0 + am) * p.a_row +
                                              (k0 + ak) * p.a_column)
                           : (value)0;
        const int bn = K_B_ROWS ? at % TILE_N : at / TILE_K;
        const int bk = K_B_ROWS ? at / TILE_N : at % TILE_K;
        const bool b_in = n0 + bn < p.n && k0 + bk < p.k;
        t.b[bk][bn] = b_in ? load<K_T>(p.b, b0 + (k0 + bk) * p.b_row +
                                              (n0 + bn) * p.b_column)
                           : (value)0;
      }
      __syncthreads();
      multiply_tiles(t, row, column, sum);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const i64 m = m0 + row + 16 * i, n = n0 + column + 16 * j;
        if (m >= p.m || n >= p.n) continue;
        value x = p.scale == 1 ? sum[i][j] : multiply(sum[i][j], (value)p.scale);
        if (p.bias) x = add(x, load<K_T>(p.bias, n));
        if (p.residual) {
          x = add(x, load<K_T>(p.residual, r0 + m * p.residual_row +
                                               n * p.residual_column));
        }
        store<K_Y>(p.y, y0 + m * p.y_row + n,
                 activate(K_ACTIVATION, x, (value)p.alpha, (value)p.beta));
      }
    }
  }
}
